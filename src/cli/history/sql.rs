//! `gpucost history sql`: statements for archives of any size, on an engine.

use crate::cli::args::{OutputArgs, names_of};
use crate::cli::{ExitCode, Failure, Io, Outcome, choices, flags, output, refusal, refuse_if};
use crate::domain::{SeriesSource, safe};
use crate::report::archive_sql::{
    BillFormat, BillLines, Dialect, Key, Measure, PointColumns, Points, Table, TimeUnit,
    bill_script, days_of, is_csv, measures, point_columns, usage_script,
};
use clap::ArgGroup;
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

flags! {
    /// `gpucost history sql`.
    #[command(group = ArgGroup::new("from").args(["table", "source"]).required(true).multiple(true))]
    pub(in crate::cli) struct SqlArgs {
        /// Engine that will run the statements
        dialect: Dialect = arg(long, value_parser = DIALECTS);
        /// Table of the engine; dots separate catalog, schema and table
        table: Option<String> = arg(long, value_name = "NAME");
        /// File or folder to read instead of a table; a folder ends with a slash
        source: Option<String> = arg(long, value_name = "PATH");
        /// Columns of the points, as `KEY=NAME` with the keys account, region, instance, gpu,
        /// metric, ts and value [default: the names of the keys; no column of account and region]
        columns: Vec<String> = arg(long, value_name = "KEY=NAME[,KEY=NAME…]", conflicts_with = "bill");
        /// Metrics of the points, as `METRIC=NAME`, with a scale such as `*100` or `/1048576`
        /// after the name [default: every metric under its own name]
        metric_map: Vec<String> = arg(long, value_name = "METRIC=NAME[,METRIC=NAME…]", conflicts_with = "bill");
        /// Account of all points, where they have no column of it
        account: Option<String> = arg(long, value_name = "ID", conflicts_with = "bill");
        /// Region of all points, where they have no column of it
        region: Option<String> = arg(long, value_name = "R", conflicts_with = "bill");
        /// What the column of times holds
        time_unit: TimeUnit = arg(long, value_parser = TIME_UNITS, default_value = "seconds", value_name = "UNIT", conflicts_with = "bill");
        /// Days of UTC to add up, the first and the last [default: all]
        days: Option<Range<i64>> = arg(long, value_name = "DAY[..DAY]", value_parser = |text: &str| days_of(text).ok_or("expected a day such as 2026-11-22, or 2026-11-20..2026-11-22"), conflicts_with = "bill");
        /// Count one of several points of a series with the same time
        distinct: bool = arg(long, conflicts_with = "bill");
        /// Who measured, as a history names it
        measured_by: SeriesSource = arg(long, value_name = "SOURCE", value_parser = |text: &str| SeriesSource::from_name(text).ok_or_else(|| names_of(SeriesSource::NAMES)), default_value = "prometheus", conflicts_with = "bill");
        /// Print only the statements of these tables
        only: Vec<Table> = arg(long, value_name = "TABLE[,TABLE…]", value_parser = |text: &str| Table::from_name(text).ok_or_else(|| names_of(&Table::ALL.map(Table::name))), value_delimiter = ',', conflicts_with = "bill");
        /// Copy each result to files in this directory, for `history import`
        copy_to: Option<String> = arg(long, value_name = "DIR", conflicts_with = "bill");
        /// Read a bill of this format instead of points
        bill: Option<BillFormat> = arg(long, value_parser = BILLS, value_name = "FORMAT", help_heading = "Bills");
        /// Columns that the bill has, of those that few bills have
        with_column: Vec<String> = arg(long, value_name = "NAME[,NAME…]", value_delimiter = ',', requires = "bill", help_heading = "Bills");
        /// Columns that the bill does not have, of those that most bills have
        without_column: Vec<String> = arg(long, value_name = "NAME[,NAME…]", value_delimiter = ',', requires = "bill", help_heading = "Bills");
        out: OutputArgs = command(flatten);
    }
}

/// What files are called as a table.
const POINTS: &str = "points";
const BILL: &str = "bill";

pub(super) fn run(args: &SqlArgs, io: &mut Io<'_>) -> Outcome {
    let text = match args.bill {
        Some(format) => {
            let (before, from) = relation(args, BILL)?;
            let known: Vec<&str> = format.known().map(|(name, _)| name).collect();
            for name in args.with_column.iter().chain(&args.without_column) {
                refuse_if!(!known.contains(&name.as_str());
                    "no statement reads the column `{name}`";
                    "the columns are: {}", known.join(", "));
            }
            before
                + &bill_script(&BillLines {
                    dialect: args.dialect,
                    from,
                    format,
                    with: args.with_column.clone(),
                    without: args.without_column.clone(),
                    is_text: args.source.as_deref().is_some_and(is_csv),
                })
        }
        None => {
            let (before, from) = relation(args, POINTS)?;
            let points = points(args, from)?;
            let copies = copies(args)?;
            let tables = match args.only.as_slice() {
                [] if copies.is_some() => &Table::READ[..],
                [] => &Table::ALL[..],
                only => only,
            };
            before + &usage_script(&points, tables, copies)
        }
    };
    output::document(&text, &args.out, io)?;
    Ok(ExitCode::Done)
}

/// The directory that results are copied to.
fn copies(args: &SqlArgs) -> Outcome<Option<&str>> {
    let Some(folder) = args.copy_to.as_deref() else { return Ok(None) };
    if args.dialect != Dialect::DuckDb {
        let error = "`--copy-to` is for DuckDB: other engines write files by other means";
        return Err(refusal!("{error}";
            "docs/scale.md says what the files of other engines must be"));
    }
    if folder.is_empty() {
        return Err(refusal!("`--copy-to` has no name"; "for example: `--copy-to tables`"));
    }
    check_names([folder].into_iter())?;
    Ok(Some(folder.trim_end_matches('/')))
}

fn points(args: &SqlArgs, from: String) -> Outcome<Points> {
    let account = args.account.as_deref().unwrap_or_default();
    let region = args.region.as_deref().unwrap_or_default();
    let columns = point_columns(&args.columns, account, region)
        .map_err(anyhow::Error::msg)
        .map_err(Failure::hinted("for example: `--columns instance=host,ts=time`"))?;
    let measures = measures(&args.metric_map).map_err(anyhow::Error::msg).map_err(
        Failure::hinted("for example: `--metric-map gpu_utilization=DCGM_FI_DEV_GPU_UTIL`"),
    )?;
    check_names(names(&columns, &measures))?;
    Ok(Points {
        dialect: args.dialect,
        from,
        columns,
        time_unit: args.time_unit,
        measures,
        source: args.measured_by.name().to_owned(),
        days: args.days.clone(),
        is_distinct: args.distinct,
    })
}

/// What comes before the statements, and what each reads.
fn relation(args: &SqlArgs, name: &str) -> Outcome<(String, String)> {
    let dialect = args.dialect;
    let table = args.table.as_deref().unwrap_or(name);
    check_names([table].into_iter().chain(args.source.as_deref()))?;
    refuse_if!(table.is_empty() || table.split('.').any(str::is_empty);
        "`--table` has a part without a name";
        "for example: `--table lake.points`");
    let Some(path) = &args.source else { return Ok((String::new(), dialect.table(table))) };
    dialect.files(table, path).ok_or_else(|| {
        let what = match dialect {
            Dialect::Spark => "Spark reads CSV only as a table",
            _ => "this engine reads only tables",
        };
        refusal!("{what}"; "create a table or a view of the files, and use `--table`")
    })
}

fn names<'a>(columns: &'a PointColumns, measures: &'a [Measure]) -> impl Iterator<Item = &'a str> {
    let texts = [&columns.account, &columns.region].into_iter().map(|key| match key {
        Key::Column(text) | Key::Text(text) => text,
    });
    let columns = [&columns.instance, &columns.metric, &columns.time, &columns.value]
        .into_iter()
        .chain(&columns.gpu);
    texts.chain(columns).chain(measures.iter().map(|measure| &measure.name)).map(String::as_str)
}

/// A statement has names as they are, so that one with a control character would reach the
/// terminal, or end a line.
fn check_names<'a>(mut names: impl Iterator<Item = &'a str>) -> Outcome<()> {
    match names.find(|name| safe(name) != *name) {
        None => Ok(()),
        Some(name) => Err(refusal!("`{}` has a control character", safe(name);
            "create a view with other names, and use `--table`")),
    }
}
