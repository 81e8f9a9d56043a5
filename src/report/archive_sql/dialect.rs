//! The words in which engines differ, and texts with names in braces. Everything else of a statement
//! is the same for all engines.

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

/// Whether a path is one of CSV files, packed or not.
pub fn is_csv(path: &str) -> bool {
    [".csv", ".csv.gz"].iter().any(|end| path.ends_with(end))
}

/// The words in which engines differ, which stand for `{name}` in statements, in the order of
/// [`Dialect`].
const WORDS: [(&str, [&str; 4]); 7] = [
    // What quotes a name.
    ("q", ["\"", "\"", "`", "\""]),
    ("text", ["varchar", "varchar", "string", "varchar"]),
    // The type of single precision.
    ("real", ["real", "real", "float", "real"]),
    // The aggregate of all bits.
    ("bit_or", ["bit_or", "bit_or", "bit_or", "bitwise_or_agg"]),
    // What the first group of a regular expression matched, in what replaces it.
    ("group", ["\\1", "\\1", "$1", "$1"]),
    // The day `{day}`, counted from 1970, as text such as `2026-11-22`.
    (
        "date",
        [
            "cast(cast(cast({day} as int) as date) as varchar)",
            "cast(date '1970-01-01' + cast({day} as integer) as varchar)",
            "cast(date_add(date '1970-01-01', cast({day} as int)) as string)",
            "cast(date_add('day', {day}, date '1970-01-01') as varchar)",
        ],
    ),
    // The time `{column}` as seconds since 1970, a double.
    (
        "seconds",
        [
            "cast(cast({column} as timestamp) as bigint) / 1e9",
            "epoch(cast({column} as timestamp))", "cast(cast({column} as timestamp) as double)",
            "to_unixtime(cast({column} as timestamp))",
        ],
    ),
];

impl Dialect {
    /// A text of this repository in the words of the dialect.
    pub(super) fn worded(self, text: &str) -> String {
        WORDS.iter().fold(text.to_owned(), |text, (name, words)| {
            text.replace(&format!("{{{name}}}"), words[self as usize])
        })
    }

    /// A name of a column, quoted.
    pub fn ident(self, name: &str) -> String {
        let quote = self.worded("{q}");
        format!("{quote}{}{quote}", name.replace(&quote, &quote.repeat(2)))
    }

    /// A name of a table, of which dots separate the parts, quoted.
    pub fn table(self, name: &str) -> String {
        name.split('.').map(|part| self.ident(part)).collect::<Vec<_>>().join(".")
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

    /// What comes before statements that read files, and what comes after `from` in them, where
    /// an engine that reads tables alone calls the files by a name; `None` of an engine that does
    /// not read such files.
    pub fn files(self, name: &str, path: &str) -> Option<(String, String)> {
        let (is_csv, place) = (is_csv(path), self.text(path));
        let from = match self {
            Self::DataFusion => {
                let name = self.table(name);
                let kind = if is_csv { "csv" } else { "parquet" };
                let header = " options ('format.has_header' 'true')";
                let options = if is_csv { header } else { "" };
                let table = format!("{name} stored as {kind} location {place}{options}");
                return Some((format!("create external table {table};\n\n"), name));
            }
            Self::DuckDb if is_csv => format!("read_csv({place})"),
            Self::DuckDb => match path.strip_suffix('/') {
                Some(folder) => {
                    let inside = self.text(&format!("{folder}/**/*.parquet"));
                    format!("read_parquet({inside})")
                }
                None => format!("read_parquet({place})"),
            },
            Self::Spark if !is_csv => format!("parquet.{}", self.ident(path)),
            _ => return None,
        };
        Some((String::new(), from))
    }

    /// A day, counted from 1970, as text such as `2026-11-22`.
    pub(super) fn date(self, day: &str) -> String {
        self.worded("{date}").replace("{day}", day)
    }

    /// A quoted column of times as seconds since 1970, a double.
    pub(super) fn seconds(self, column: &str, unit: TimeUnit) -> String {
        match unit.per_second() {
            Some(1) => format!("cast({column} as double)"),
            Some(many) => format!("cast({column} as double) / {many}"),
            None => self.worded("{seconds}").replace("{column}", column),
        }
    }
}

/// Statements that check what is read, and what scripts say of each.
pub(super) const CHECKS: &str = include_str!("checks.sql");

/// The block of a file under a title, of blocks that empty lines separate and that begin with
/// `-- TITLE`.
pub(super) fn block(file: &'static str, title: &str) -> &'static str {
    blocks(file).find(|(own, _)| *own == title).map_or("", |(_, text)| text)
}

/// All blocks of a file, each with its title.
pub(super) fn blocks(file: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    file.trim_end().split("\n\n").filter_map(|block| block.strip_prefix("-- ")?.split_once('\n'))
}

/// A template with the blocks of a file in place of their titles in braces. A block may have
/// the titles of those after it.
pub(super) fn expanded(template: &str, file: &'static str) -> String {
    blocks(file).fold(template.to_owned(), |text, (title, block)| {
        text.replace(&format!("{{{title}}}"), block)
    })
}

/// A template with a text in place of each `{name}`. What is put in is not read again, so
/// that a column may be called `{name}` as well. A name that is not among the values stays.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len() * 2);
    let mut parts = template.trim_end().split('{');
    text.extend(parts.next());
    for part in parts {
        let known = part.split_once('}').and_then(|(name, rest)| {
            let (_, value) = values.iter().find(|(known, _)| *known == name)?;
            Some((*value, rest))
        });
        match known {
            Some((value, rest)) => text.extend([value, rest]),
            None => text.extend(["{", part]),
        }
    }
    text
}

/// A statement of a check, after what scripts say of it.
pub(super) fn check(said: &str, statement: &str) -> String {
    format!("{}\n{statement};\n\n", block(CHECKS, said))
}
