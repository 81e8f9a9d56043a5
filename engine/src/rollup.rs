//! `gpucost-engine rollup`: points to a history.

use crate::args::RollupArgs;
use crate::counts::{Seen, Totals, check_gpus, duplicates, seen, totals};
use crate::failure::{Failure, Result};
use crate::history::Runs;
use crate::inputs::{Format, Inputs, register_own};
use crate::progress::{Progress, separated};
use crate::session::{Sessions, rows, stream};
use crate::sql::{
    Dialect, Key, PointColumns, Points, Table, TimeUnit, date_of, duplicates_statement, measures,
    point_columns, rows_statement, statements,
};
use datafusion::arrow::datatypes::{DataType, Field};
use futures_util::TryStreamExt;
use std::ops::Range;

/// What the files are called in statements.
const POINTS: &str = "points";
/// Points added up by series and five minutes.
const PERIODS: &str = "periods";
/// Adds up an archive. Nothing is written unless all of it was read.
///
/// # Errors
/// When the archive cannot be read, or is not what it is said to be.
pub async fn run(args: &RollupArgs, progress: &Progress) -> Result<()> {
    args.common.check_out()?;
    let sessions = Sessions::open(&args.common, progress).await?;
    let named = named(args)?;
    let all = Inputs::find(&args.common.input, &sessions.archive, Some(&named.time)).await?;
    let mut points = described(args, named, &all)?;
    let columns = columns(&points, &all)?;
    let inputs = match &points.days {
        Some(days) => asked_for(&all, &points, days)?,
        None => all,
    };
    inputs.register(&sessions.archive, POINTS, &columns)?;
    progress.say(&format!(
        "{} files, {} bytes{}",
        separated(inputs.count() as u64),
        separated(inputs.bytes()),
        inputs.rows().map_or_else(String::new, |rows| format!(", {} rows", separated(rows)))
    ));
    let seen = seen(&rows(&sessions.archive, &rows_statement(&points)).await?)?;
    seen.check(&inputs, &points)?;
    progress.say(&seen.line());
    let mut runs = Runs::new(&args.common.out);
    let mut added = 0;
    let chunks = chunks(&seen, &points);
    for (number, days) in chunks.iter().enumerate() {
        points.days = Some(days.clone());
        progress.say(&format!(
            "{} to {} ({} of {})",
            date_of(days.start),
            date_of(days.end - 1),
            number + 1,
            chunks.len()
        ));
        let inputs = of_days(&inputs, &points, days);
        if inputs.count() == 0 {
            continue;
        }
        sessions.archive.deregister_table(POINTS)?;
        inputs.register(&sessions.archive, POINTS, &columns)?;
        added += chunk(&sessions, &mut points, &mut runs, progress).await?;
    }
    if added != seen.points {
        return Err(Failure::unexpected(format!(
            "{} points were added up, and the files have {}",
            separated(added),
            separated(seen.points)
        ))
        .with_hint("the files changed while they were read; run it again"));
    }
    let count = runs.publish()?;
    progress.say(&format!(
        "wrote {} runs of {} points to {}",
        separated(count as u64),
        separated(added),
        args.common.out.display()
    ));
    Ok(())
}

/// The columns as the flags name them.
fn named(args: &RollupArgs) -> Result<PointColumns> {
    let (account, region) = (args.account.as_deref(), args.region.as_deref());
    let columns =
        point_columns(&args.columns, account.unwrap_or_default(), region.unwrap_or_default());
    columns.map_err(|message| {
        Failure::input(message).with_hint("for example: `--columns instance=host,ts=time`")
    })
}

/// The files that may have points of some days.
fn of_days(inputs: &Inputs, points: &Points, days: &Range<i64>) -> Inputs {
    match points.times(days) {
        Some(times) => inputs.within(&times),
        None => inputs.clone(),
    }
}

/// The files that may have points of the days that were asked for.
///
/// # Errors
/// When there are none.
fn asked_for(all: &Inputs, points: &Points, days: &Range<i64>) -> Result<Inputs> {
    let inputs = of_days(all, points, days);
    match (all.times(), points.times(days)) {
        (Some((first, last)), Some(times)) if inputs.count() == 0 => Err(Failure::input(
            "no file of the archive has points of these days",
        )
        .with_hint(format!(
            "the column of times has {first} to {last}, and the days are {} to {}: choose other \
             `--days`, or another `--time-unit`",
            times.start,
            times.end - 1
        ))),
        _ => Ok(inputs),
    }
}

/// The archive as the flags describe it.
fn described(args: &RollupArgs, columns: PointColumns, inputs: &Inputs) -> Result<Points> {
    let measures = measures(&args.metric_map).map_err(|message| {
        Failure::input(message)
            .with_hint("for example: `--metric-map gpu_utilization=DCGM_FI_DEV_GPU_UTIL`")
    })?;
    // A type of times says what it holds.
    let time = inputs.schema.field_with_name(&columns.time).ok();
    let is_typed = time.is_some_and(|field| {
        matches!(field.data_type(), DataType::Timestamp(..) | DataType::Date32 | DataType::Date64)
    });
    Ok(Points {
        dialect: Dialect::DataFusion,
        from: POINTS.to_owned(),
        columns,
        time_unit: if is_typed { TimeUnit::Timestamp } else { args.time_unit.unit() },
        measures,
        source: args.measured_by.clone(),
        days: args.days.clone(),
        is_distinct: false,
    })
}

/// The columns that are read. Those of CSV are all of the file, in its order.
fn columns(points: &Points, inputs: &Inputs) -> Result<Vec<Field>> {
    let named = &points.columns;
    let mut wanted = vec![&named.instance, &named.metric, &named.time, &named.value];
    for key in [&named.account, &named.region] {
        if let Key::Column(column) = key {
            wanted.push(column);
        }
    }
    wanted.extend(&named.gpu);
    for name in &wanted {
        if inputs.schema.field_with_name(name).is_err() {
            return Err(Failure::input(format!("the archive has no column `{name}`")).with_hint(
                format!(
                    "its columns are {}; map them with `--columns`, where `gpu=` says that there \
                     is not a column of GPUs",
                    inputs.column_names().join(", ")
                ),
            ));
        }
    }
    let is_number = points.time_unit != TimeUnit::Timestamp;
    let of_csv = |name: &String| match name {
        name if *name == named.time && is_number => DataType::Int64,
        name if *name == named.value => DataType::Float64,
        _ => DataType::Utf8View,
    };
    let fields = inputs.schema.fields().iter();
    let fields = fields.filter(|field| inputs.format.is_csv() || wanted.contains(&field.name()));
    let fields = fields.map(|field| {
        let kind = if inputs.format.is_csv() {
            of_csv(field.name())
        } else if inputs.format == Format::Arrow {
            // Read as it is written: the engine does not convert it.
            field.data_type().clone()
        } else {
            plain(field.data_type())
        };
        Field::new(field.name(), kind, true)
    });
    Ok(fields.collect())
}

/// Texts as the engine groups them fastest; everything else as it is.
pub fn plain(kind: &DataType) -> DataType {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8View,
        DataType::Dictionary(_, value) => plain(value),
        other => other.clone(),
    }
}

/// The days that are added up at once: one, so that what is grouped stays small. Where times
/// are no numbers, a scan of a day would read all of them, and all days are added up at once.
fn chunks(seen: &Seen, points: &Points) -> Vec<Range<i64>> {
    let Some(days) = seen.days(points.days.as_ref()) else { return Vec::new() };
    match points.time_unit {
        TimeUnit::Timestamp => vec![days],
        _ => days.map(|day| day..day + 1).collect(),
    }
}

/// Adds up some days. How many points they have.
async fn chunk(
    sessions: &Sessions,
    points: &mut Points,
    runs: &mut Runs,
    progress: &Progress,
) -> Result<u64> {
    points.is_distinct = false;
    let mut source = Source::of(sessions, points).await?;
    let mut found = source.totals(sessions).await?;
    if found.crowded > 0 {
        let twice = rows(&sessions.archive, &duplicates_statement(points)).await?;
        let twice = duplicates(&twice)?;
        if twice.conflicts > 0 {
            return Err(Failure::input(format!(
                "{} times of series have several points with different values",
                separated(twice.conflicts)
            ))
            .with_hint(
                "a series is an account, region, instance, GPU and metric: map columns that tell \
                 series apart with `--columns`, or leave one of two sources out",
            ));
        }
        if twice.duplicates > 0 {
            progress
                .say(&format!("{} points came twice, and count once", separated(twice.duplicates)));
            points.is_distinct = true;
            source = Source::of(sessions, points).await?;
            found = source.totals(sessions).await?;
        }
    }
    for table in Table::ALL {
        tables(sessions, points, &source, table, runs).await?;
        progress.say(&format!("  {}", table.name()));
    }
    Ok(found.points())
}

/// What the statements of tables read: periods in the work folder, or points on a cluster.
struct Source {
    is_staged: bool,
    /// What comes after `from`.
    from: String,
}

impl Source {
    async fn of(sessions: &Sessions, points: &Points) -> Result<Self> {
        let statement = points.periods();
        if sessions.is_remote {
            return Ok(Self { is_staged: false, from: format!("({statement})") });
        }
        let periods = sessions.stage(&statement).await?;
        sessions.own.deregister_table(PERIODS)?;
        register_own(&sessions.own, PERIODS, &[periods])?;
        Ok(Self { is_staged: true, from: PERIODS.to_owned() })
    }

    async fn totals(&self, sessions: &Sessions) -> Result<Totals> {
        let text = format!(
            "select sum(p.n) as n, sum(p.not_a_number + p.negative + p.over_100) as dropped, \
             sum(p.duplicate) as duplicate, sum(p.crowded) as crowded from {} as p",
            self.from
        );
        totals(&rows(&sessions.archive, &text).await?)
    }
}

/// Makes the rows of a table: those of each statement first, then all of them in order.
async fn tables(
    sessions: &Sessions,
    points: &Points,
    source: &Source,
    table: Table,
    runs: &mut Runs,
) -> Result<()> {
    let periods = source.is_staged.then_some(PERIODS);
    let mut parts = Vec::new();
    for one in statements(points, periods) {
        if one.table == table {
            parts.push(sessions.stage(&one.text).await?);
        }
    }
    if parts.is_empty() {
        return Ok(());
    }
    sessions.own.deregister_table(table.name())?;
    register_own(&sessions.own, table.name(), &parts)?;
    let mut sorted = stream(&sessions.own, &in_order(table)).await?;
    while let Some(batch) = sorted.try_next().await? {
        check_gpus(table, &batch)?;
        runs.add(table, &batch)?;
    }
    runs.close(table)?;
    sessions.own.deregister_table(table.name())?;
    for part in &parts {
        // The folder goes in the end.
        let _ = std::fs::remove_file(part);
    }
    Ok(())
}

/// All rows of a table, those of a file side by side, and those of a series in order.
fn in_order(table: Table) -> String {
    let keys: &[&str] = match table {
        Table::Asked => &[],
        Table::Series => &["metric", "gpu", "statistic"],
        Table::Grid => &["metric", "period"],
        Table::Hist => &["metric", "gpu", "statistic", "bucket"],
        Table::Hour => &["metric", "gpu", "hour"],
    };
    let all = ["dt", "account", "region", "instance"].iter().chain(keys);
    let all: Vec<String> = all.map(|key| format!("\"{key}\"")).collect();
    format!("select * from {} order by {}", table.name(), all.join(", "))
}
