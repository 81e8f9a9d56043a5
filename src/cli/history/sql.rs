//! `gpucost history sql`: statements for archives of any size, on an engine.

use super::sql_args::SqlArgs;
use crate::cli::exit::{ExitCode, Failure};
use crate::cli::{Io, output};
use crate::domain::safe;
use crate::report::archive_sql::{
    BillLines, Dialect, Key, Measure, PointColumns, Points, Table, bill_script, is_csv, measures,
    point_columns, usage_script,
};

/// What files are called as a table.
const POINTS: &str = "points";
const BILL: &str = "bill";

pub(super) fn run(args: &SqlArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let text = match args.bill {
        Some(format) => {
            let (before, from) = relation(args, BILL)?;
            let known: Vec<&str> = format.known().map(|(name, _)| name).collect();
            for name in args.with_column.iter().chain(&args.without_column) {
                if !known.contains(&name.as_str()) {
                    return Err(Failure::input(format!("no statement reads the column `{name}`"))
                        .with_hint(format!("the columns are: {}", known.join(", "))));
                }
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
fn copies(args: &SqlArgs) -> Result<Option<&str>, Failure> {
    let Some(folder) = args.copy_to.as_deref() else {
        return Ok(None);
    };
    if args.dialect != Dialect::DuckDb {
        return Err(Failure::input(
            "`--copy-to` is for DuckDB: other engines write files by other means",
        )
        .with_hint("docs/scale.md says what the files of other engines must be"));
    }
    if folder.is_empty() {
        return Err(
            Failure::input("`--copy-to` has no name").with_hint("for example: `--copy-to tables`")
        );
    }
    check_names([folder].into_iter())?;
    Ok(Some(folder.trim_end_matches('/')))
}

fn points(args: &SqlArgs, from: String) -> Result<Points, Failure> {
    let account = args.account.as_deref().unwrap_or_default();
    let region = args.region.as_deref().unwrap_or_default();
    let columns = point_columns(&args.columns, account, region);
    let columns = columns.map_err(|message| {
        Failure::input(message).with_hint("for example: `--columns instance=host,ts=time`")
    })?;
    let measures = measures(&args.metric_map).map_err(|message| {
        Failure::input(message)
            .with_hint("for example: `--metric-map gpu_utilization=DCGM_FI_DEV_GPU_UTIL`")
    })?;
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
fn relation(args: &SqlArgs, name: &str) -> Result<(String, String), Failure> {
    let dialect = args.dialect;
    let table = args.table.as_deref().unwrap_or(name);
    check_names([table].into_iter().chain(args.source.as_deref()))?;
    if table.is_empty() || table.split('.').any(str::is_empty) {
        return Err(Failure::input("`--table` has a part without a name")
            .with_hint("for example: `--table lake.points`"));
    }
    let Some(path) = &args.source else {
        return Ok((String::new(), dialect.table(table)));
    };
    dialect.files(table, path).ok_or_else(|| {
        let what = match dialect {
            Dialect::Spark => "Spark reads CSV only as a table",
            _ => "this engine reads only tables",
        };
        Failure::input(what).with_hint("create a table or a view of the files, and use `--table`")
    })
}

fn names<'a>(columns: &'a PointColumns, measures: &'a [Measure]) -> impl Iterator<Item = &'a str> {
    let texts = [&columns.account, &columns.region].into_iter();
    let texts = texts.map(|key| match key {
        Key::Column(text) | Key::Text(text) => text,
    });
    let columns = [&columns.instance, &columns.metric, &columns.time, &columns.value]
        .into_iter()
        .chain(&columns.gpu);
    let measures = measures.iter().map(|measure| &measure.name);
    texts.chain(columns).chain(measures).map(String::as_str)
}

/// A statement has names as they are, so that one with a control character would reach the
/// terminal, or end a line.
fn check_names<'a>(mut names: impl Iterator<Item = &'a str>) -> Result<(), Failure> {
    match names.find(|name| safe(name) != *name) {
        None => Ok(()),
        Some(name) => Err(Failure::input(format!("`{}` has a control character", safe(name)))
            .with_hint("create a view with other names, and use `--table`")),
    }
}
