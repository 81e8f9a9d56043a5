//! Flags of `gpucost history sql`.

use crate::cli::args::{OutputArgs, valid};
use crate::cli::choices::choices;
use crate::domain::SeriesSource;
use crate::report::archive_sql::{BillFormat, Dialect, Table, TimeUnit, days_of};
use clap::{ArgGroup, Args};
use std::ops::Range;

choices! {
    DIALECTS: Dialect {
        "datafusion" = DataFusion, "DataFusion, and Ballista";
        "duckdb" = DuckDb, "DuckDB";
        "spark" = Spark, "Spark, Databricks and Sail";
        "trino" = Trino, "Trino and Athena";
    }
    TIME_UNITS: TimeUnit {
        "seconds" = Seconds, "Seconds since 1970, as a number";
        "milliseconds" = Milliseconds, "Milliseconds since 1970, as a number";
        "microseconds" = Microseconds, "Microseconds since 1970, as a number";
        "nanoseconds" = Nanoseconds, "Nanoseconds since 1970, as a number";
        "timestamp" = Timestamp, "A time of UTC, as the engine's own type or as text";
    }
    BILLS: BillFormat {
        "cur2" = Cur2, "AWS Cost and Usage Report 2.0, or the version before it as Parquet";
        "legacy-cur" = LegacyCur, "AWS Cost and Usage Report before 2.0, as CSV";
        "focus" = Focus, "FOCUS 1.0 to 1.3";
    }
}

fn days(text: &str) -> Result<Range<i64>, String> {
    days_of(text)
        .ok_or_else(|| "expected a day such as 2026-11-22, or 2026-11-20..2026-11-22".to_owned())
}

fn table(text: &str) -> Result<Table, String> {
    Table::from_name(text).ok_or_else(|| {
        let names = Table::ALL.map(Table::name);
        format!("valid values: {}", names.join(", "))
    })
}

fn source(text: &str) -> Result<SeriesSource, String> {
    valid(SeriesSource::from_name(text), SeriesSource::NAMES)
}

/// `gpucost history sql`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("from").args(["table", "source"]).required(true).multiple(true))]
pub(in crate::cli) struct SqlArgs {
    /// Engine that will run the statements
    #[arg(long, value_parser = DIALECTS)]
    pub dialect: Dialect,
    /// Table of the engine; dots separate catalog, schema and table
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// File or folder to read instead of a table; a folder ends with a slash
    #[arg(long, value_name = "PATH")]
    pub source: Option<String>,
    /// Columns of the points, as `KEY=NAME` with the keys account, region, instance, gpu,
    /// metric, ts and value [default: the names of the keys; no column of account and region]
    #[arg(long, value_name = "KEY=NAME[,KEY=NAME…]", conflicts_with = "bill")]
    pub columns: Vec<String>,
    /// Metrics of the points, as `METRIC=NAME`, with a scale such as `*100` or `/1048576`
    /// after the name [default: every metric under its own name]
    #[arg(long, value_name = "METRIC=NAME[,METRIC=NAME…]", conflicts_with = "bill")]
    pub metric_map: Vec<String>,
    /// Account of all points, where they have no column of it
    #[arg(long, value_name = "ID", conflicts_with = "bill")]
    pub account: Option<String>,
    /// Region of all points, where they have no column of it
    #[arg(long, value_name = "R", conflicts_with = "bill")]
    pub region: Option<String>,
    /// What the column of times holds
    #[arg(long, value_parser = TIME_UNITS, default_value = "seconds", value_name = "UNIT", conflicts_with = "bill")]
    pub time_unit: TimeUnit,
    /// Days of UTC to add up, the first and the last [default: all]
    #[arg(long, value_name = "DAY[..DAY]", value_parser = days, conflicts_with = "bill")]
    pub days: Option<Range<i64>>,
    /// Count one of several points of a series with the same time
    #[arg(long, conflicts_with = "bill")]
    pub distinct: bool,
    /// Who measured, as a history names it
    #[arg(long, value_name = "SOURCE", value_parser = source, default_value = "prometheus", conflicts_with = "bill")]
    pub measured_by: SeriesSource,
    /// Print only the statements of these tables
    #[arg(long, value_name = "TABLE[,TABLE…]", value_parser = table, value_delimiter = ',', conflicts_with = "bill")]
    pub only: Vec<Table>,
    /// Copy each result to files in this directory, for `history import`
    #[arg(long, value_name = "DIR", conflicts_with = "bill")]
    pub copy_to: Option<String>,
    /// Read a bill of this format instead of points
    #[arg(long, value_parser = BILLS, value_name = "FORMAT", help_heading = "Bills")]
    pub bill: Option<BillFormat>,
    /// Columns that the bill has, of those that few bills have
    #[arg(
        long,
        value_name = "NAME[,NAME…]",
        value_delimiter = ',',
        requires = "bill",
        help_heading = "Bills"
    )]
    pub with_column: Vec<String>,
    /// Columns that the bill does not have, of those that most bills have
    #[arg(
        long,
        value_name = "NAME[,NAME…]",
        value_delimiter = ',',
        requires = "bill",
        help_heading = "Bills"
    )]
    pub without_column: Vec<String>,
    #[command(flatten)]
    pub out: OutputArgs,
}
