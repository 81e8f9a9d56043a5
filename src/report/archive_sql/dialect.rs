//! The words in which engines differ. Everything else of a statement is the same for all of
//! them.

/// An engine that runs the statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    DataFusion,
    DuckDb,
    /// Spark from 3.4 on, and Sail.
    Spark,
    /// Trino, and Athena.
    Trino,
}

/// What a column of times holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// Numbers since 1970.
    Seconds,
    Milliseconds,
    Microseconds,
    Nanoseconds,
    /// Times of UTC, as a type of the engine or as text.
    Timestamp,
}

impl TimeUnit {
    /// How many are a second; `None` of what is not a number.
    pub(super) fn per_second(self) -> Option<i64> {
        match self {
            Self::Seconds => Some(1),
            Self::Milliseconds => Some(1_000),
            Self::Microseconds => Some(1_000_000),
            Self::Nanoseconds => Some(1_000_000_000),
            Self::Timestamp => None,
        }
    }
}

/// Files cannot be named in a statement of this engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoFiles;

/// Whether a path is one of CSV files, packed or not.
pub fn is_csv(path: &str) -> bool {
    [".csv", ".csv.gz"].iter().any(|end| path.ends_with(end))
}

/// What is read from files that an engine knows as a table alone.
pub fn files_as_table(dialect: Dialect, name: &str, path: &str) -> Option<String> {
    let (name, place) = (dialect.table(name), dialect.text(path));
    let (kind, options) = match is_csv(path) {
        true => ("csv", " options ('format.has_header' 'true')"),
        false => ("parquet", ""),
    };
    (dialect == Dialect::DataFusion).then(|| {
        format!("create external table {name} stored as {kind} location {place}{options};\n\n")
    })
}

/// The words of a dialect, which stand for `{name}` in statements.
pub(super) struct Words {
    quote: &'static str,
    pub(super) text: &'static str,
    /// The type of single precision.
    real: &'static str,
    /// The aggregate of all bits.
    bit_or: &'static str,
    /// What the first group of a regular expression matched, in what replaces it.
    pub(super) group: &'static str,
    /// The day `{day}`, counted from 1970, as text such as `2026-11-22`.
    date: &'static str,
    /// The time `{time}` as seconds since 1970, a double.
    seconds: &'static str,
}

const DATAFUSION: Words = Words {
    quote: "\"",
    text: "varchar",
    real: "real",
    bit_or: "bit_or",
    group: "\\1",
    date: "cast(cast(cast({day} as int) as date) as varchar)",
    seconds: "cast(cast({time} as timestamp) as bigint) / 1e9",
};
const DUCKDB: Words = Words {
    date: "cast(date '1970-01-01' + cast({day} as integer) as varchar)",
    seconds: "epoch(cast({time} as timestamp))",
    ..DATAFUSION
};
const SPARK: Words = Words {
    quote: "`",
    text: "string",
    real: "float",
    group: "$1",
    date: "cast(date_add(date '1970-01-01', cast({day} as int)) as string)",
    seconds: "cast(cast({time} as timestamp) as double)",
    ..DATAFUSION
};
const TRINO: Words = Words {
    bit_or: "bitwise_or_agg",
    group: "$1",
    date: "cast(date_add('day', {day}, date '1970-01-01') as varchar)",
    seconds: "to_unixtime(cast({time} as timestamp))",
    ..DATAFUSION
};

impl Dialect {
    pub(super) fn words(self) -> &'static Words {
        match self {
            Self::DataFusion => &DATAFUSION,
            Self::DuckDb => &DUCKDB,
            Self::Spark => &SPARK,
            Self::Trino => &TRINO,
        }
    }

    /// A text of this repository in the words of the dialect.
    pub(super) fn worded(self, text: &str) -> String {
        let words = self.words();
        text.replace("{q}", words.quote)
            .replace("{text}", words.text)
            .replace("{real}", words.real)
            .replace("{bit_or}", words.bit_or)
    }

    /// A name of a column, quoted.
    pub fn ident(self, name: &str) -> String {
        let quote = self.words().quote;
        format!("{quote}{}{quote}", name.replace(quote, &quote.repeat(2)))
    }

    /// A name of a table, of which dots separate the parts, quoted.
    pub fn table(self, name: &str) -> String {
        let parts: Vec<String> = name.split('.').map(|part| self.ident(part)).collect();
        parts.join(".")
    }

    /// A text, quoted.
    pub fn text(self, text: &str) -> String {
        match self {
            Self::Spark => {
                let text = text.replace('\\', "\\\\").replace('\'', "\\'");
                format!("'{text}'")
            }
            _ => format!("'{}'", text.replace('\'', "''")),
        }
    }

    /// What comes after `from` to read files as a table.
    ///
    /// # Errors
    /// When the engine reads no files that it does not know as a table.
    pub fn files(self, path: &str) -> Result<String, NoFiles> {
        let is_csv = is_csv(path);
        match self {
            Self::DuckDb if is_csv => Ok(format!("read_csv({})", self.text(path))),
            Self::DuckDb => {
                let folder = path.strip_suffix('/');
                let all = folder.map(|folder| format!("{folder}/**/*.parquet"));
                let all = self.text(all.as_deref().unwrap_or(path));
                Ok(format!("read_parquet({all})"))
            }
            Self::Spark if !is_csv => Ok(format!("parquet.{}", self.ident(path))),
            _ => Err(NoFiles),
        }
    }

    /// A day, counted from 1970, as text such as `2026-11-22`.
    pub(super) fn date(self, day: &str) -> String {
        self.words().date.replace("{day}", day)
    }

    /// A quoted column of times as seconds since 1970, a double.
    pub(super) fn seconds(self, column: &str, unit: TimeUnit) -> String {
        match unit.per_second() {
            Some(1) => format!("cast({column} as double)"),
            Some(many) => format!("cast({column} as double) / {many}"),
            None => self.words().seconds.replace("{time}", column),
        }
    }
}
