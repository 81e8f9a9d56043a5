//! How engines differ: quotes, names of types, a few functions. Everything else of a
//! statement is the same for all of them.

/// An engine that runs the statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    DataFusion,
    DuckDb,
    /// Spark from 3.4 on, and Sail.
    Spark,
    /// Trino, and Athena.
    Trino,
    ClickHouse,
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

impl Dialect {
    /// A name of a column, quoted.
    pub fn ident(self, name: &str) -> String {
        match self {
            Self::Spark => format!("`{}`", name.replace('`', "``")),
            Self::ClickHouse => {
                let name = name.replace('\\', "\\\\").replace('"', "\"\"");
                format!("\"{name}\"")
            }
            Self::DataFusion | Self::DuckDb | Self::Trino => {
                format!("\"{}\"", name.replace('"', "\"\""))
            }
        }
    }

    /// A name of a table, of which dots separate the parts, quoted.
    pub fn table(self, name: &str) -> String {
        let parts: Vec<String> = name.split('.').map(|part| self.ident(part)).collect();
        parts.join(".")
    }

    /// A text, quoted.
    pub fn text(self, text: &str) -> String {
        match self {
            Self::Spark | Self::ClickHouse => {
                let text = text.replace('\\', "\\\\").replace('\'', "\\'");
                format!("'{text}'")
            }
            Self::DataFusion | Self::DuckDb | Self::Trino => {
                format!("'{}'", text.replace('\'', "''"))
            }
        }
    }

    /// What comes after `from` to read files as a table.
    ///
    /// # Errors
    /// When the engine reads no files that it does not know as a table.
    pub fn files(self, path: &str) -> Result<String, NoFiles> {
        let is_csv = is_csv(path);
        let inside = |pattern: &str| match path.strip_suffix('/') {
            Some(folder) => self.text(&format!("{folder}/{pattern}")),
            None => self.text(path),
        };
        match self {
            Self::DuckDb if is_csv => Ok(format!("read_csv({})", self.text(path))),
            Self::DuckDb => Ok(format!("read_parquet({})", inside("**/*.parquet"))),
            Self::Spark if !is_csv => Ok(format!("parquet.{}", self.ident(path))),
            Self::ClickHouse => {
                let function = if path.contains("://") { "s3" } else { "file" };
                let format = if is_csv { "CSVWithNames" } else { "Parquet" };
                Ok(format!("{function}({}, {format})", inside("**/*.parquet")))
            }
            Self::DataFusion | Self::Spark | Self::Trino => Err(NoFiles),
        }
    }

    pub(super) fn text_type(self) -> &'static str {
        match self {
            Self::DataFusion | Self::DuckDb | Self::Trino => "varchar",
            Self::Spark => "string",
            Self::ClickHouse => "String",
        }
    }

    pub(super) fn whole_type(self) -> &'static str {
        match self {
            Self::ClickHouse => "Int64",
            _ => "bigint",
        }
    }

    /// The type of single precision.
    pub(super) fn single_type(self) -> &'static str {
        match self {
            Self::Spark => "float",
            Self::ClickHouse => "Float32",
            Self::DataFusion | Self::DuckDb | Self::Trino => "real",
        }
    }

    /// The type of exact amounts: a difference of two has room in 38 digits, and so has a sum.
    pub(super) fn amount_type(self) -> &'static str {
        match self {
            Self::ClickHouse => "Decimal(28, 12)",
            _ => "decimal(28, 12)",
        }
    }

    /// The type of their sums.
    pub(super) fn sum_type(self) -> &'static str {
        match self {
            Self::ClickHouse => "Decimal(38, 12)",
            _ => "decimal(38, 12)",
        }
    }

    pub(super) fn no_whole(self) -> &'static str {
        match self {
            Self::ClickHouse => "cast(null as Nullable(Int64))",
            _ => "cast(null as bigint)",
        }
    }

    pub(super) fn no_real(self) -> &'static str {
        match self {
            Self::ClickHouse => "cast(null as Nullable(Float64))",
            _ => "cast(null as double)",
        }
    }

    pub(super) fn no_amount(self) -> &'static str {
        match self {
            Self::ClickHouse => "cast(null as Nullable(Decimal(28, 12)))",
            _ => "cast(null as decimal(28, 12))",
        }
    }

    /// The aggregate of all bits.
    pub(super) fn bit_or(self) -> &'static str {
        match self {
            Self::Trino => "bitwise_or_agg",
            Self::ClickHouse => "groupBitOr",
            Self::DataFusion | Self::DuckDb | Self::Spark => "bit_or",
        }
    }

    /// A day, counted from 1970, as text such as `2026-11-22`.
    pub(super) fn day_text(self, day: &str) -> String {
        match self {
            Self::DataFusion => format!("cast(cast(cast({day} as int) as date) as varchar)"),
            Self::DuckDb => {
                format!("cast(date '1970-01-01' + cast({day} as integer) as varchar)")
            }
            Self::Spark => {
                format!("cast(date_add(date '1970-01-01', cast({day} as int)) as string)")
            }
            Self::Trino => format!("cast(date_add('day', {day}, date '1970-01-01') as varchar)"),
            Self::ClickHouse => format!("toString(toDate32({day}))"),
        }
    }

    /// A quoted column of times as seconds since 1970, a double.
    pub(super) fn seconds(self, column: &str, unit: TimeUnit) -> String {
        match unit.per_second() {
            Some(1) => format!("cast({column} as double)"),
            Some(many) => format!("cast({column} as double) / {many}"),
            None => match self {
                Self::DataFusion => {
                    format!("cast(cast({column} as timestamp) as bigint) / 1e9")
                }
                Self::DuckDb => format!("epoch(cast({column} as timestamp))"),
                Self::Spark => format!("cast(cast({column} as timestamp) as double)"),
                Self::Trino => format!("to_unixtime(cast({column} as timestamp))"),
                Self::ClickHouse => format!(
                    "toUnixTimestamp64Milli(parseDateTime64BestEffort(toString({column}), 3, \
                     'UTC')) / 1e3"
                ),
            },
        }
    }

    /// A text in which the first match of a regular expression is replaced.
    pub(super) fn replaced(self, text: &str, pattern: &str, with: &str) -> String {
        let function = match self {
            Self::ClickHouse => "replaceRegexpOne",
            _ => "regexp_replace",
        };
        format!(
            "{function}({text}, {}, {})",
            self.text(pattern),
            self.text(with)
        )
    }

    /// What the first group of a regular expression matched, in what replaces it.
    pub(super) fn first_group(self) -> &'static str {
        match self {
            Self::Spark | Self::Trino => "$1",
            Self::DataFusion | Self::DuckDb | Self::ClickHouse => "\\1",
        }
    }

    /// What comes after a statement.
    pub(super) fn settings(self) -> &'static str {
        match self {
            // What is absent stays absent, and a column is meant where an alias has its name.
            Self::ClickHouse => {
                "\nsettings cast_keep_nullable = 1, prefer_column_name_to_alias = 1"
            }
            _ => "",
        }
    }
}
