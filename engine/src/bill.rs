//! `gpucost-engine bill`: a bill to hours of resources.

use crate::args::BillArgs;
use crate::counts::first;
use crate::failure::{Failure, Result};
use crate::names::Fnv;
use crate::history::{BESIDE, Manifest, publish_list, stamp, texts, unnamed};
use crate::inputs::{Inputs, register_own};
use crate::progress::{Progress, separated};
use crate::rollup::plain;
use crate::session::{Sessions, rows, stream};
use crate::sql::{BillFormat, BillLines, Dialect, bill_statement, lines_statement};
use crate::table::{Most, TableWriter, Written};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use futures_util::TryStreamExt;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// What the files are called in statements, and their hours.
const LINES: &str = "lines";
const HOURS: &str = "bill_hours";
/// Files of bills are read row by row.
const MOST: Most = Most { rows: u64::MAX, bytes: u64::MAX };
/// `2026-10` of a day of the month.
const MONTH: usize = 7;

/// Adds up a bill. Nothing is written unless all of it was read.
///
/// # Errors
/// When the bill cannot be read, or is not what it is said to be.
pub async fn run(args: &BillArgs, progress: &Progress) -> Result<()> {
    args.common.check_out()?;
    let sessions = Sessions::open(&args.common, progress).await?;
    let inputs = Inputs::find(&args.common.input, &sessions.archive, None).await?;
    let lines = described(args.format.format(), &inputs)?;
    inputs.register(&sessions.archive, LINES, &columns(lines.format, &inputs))?;
    let checked = rows(&sessions.archive, &lines_statement(&lines)).await?;
    let (all, counted) = (first(&checked, "n")?, first(&checked, "counted")?);
    if let Some(rows) = inputs.rows().filter(|rows| *rows != all) {
        return Err(Failure::unexpected(format!(
            "{} rows were read, and the footers of the files say {}",
            separated(all),
            separated(rows)
        ))
        .with_hint("a file changed or went while it was read; run it again"));
    }
    progress.say(&format!(
        "{} lines; {} copies of divided instances do not count",
        separated(all),
        separated(all - counted.min(all))
    ));
    let hours = sessions.stage(&bill_statement(&lines)).await?;
    register_own(&sessions.own, HOURS, &[hours])?;
    let sums = rows(&sessions.own, &format!("select sum(n) as n from {HOURS}")).await?;
    if first(&sums, "n")? != counted {
        return Err(Failure::unexpected(format!(
            "{} lines were added up, and the files have {}",
            separated(first(&sums, "n")?),
            separated(counted)
        ))
        .with_hint("a file changed or went while it was read; run it again"));
    }
    let count = write(&sessions, args, progress).await?;
    progress.say(&format!("wrote {count} billing periods to {}", args.common.out.display()));
    Ok(())
}

/// The bill with the columns that it has.
fn described(format: BillFormat, inputs: &Inputs) -> Result<BillLines> {
    let has = |name: &str| inputs.schema.field_with_name(name).is_ok();
    if let Some(missing) = format.required().find(|name| !has(name)) {
        return Err(Failure::input(format!("the bill has no column `{missing}`")).with_hint(
            format!(
                "choose another `--format`; the columns are {}",
                inputs.column_names().join(", ")
            ),
        ));
    }
    let owned = |(name, _): (&str, bool)| name.to_owned();
    let rare = format.known().filter(|(name, usual)| !usual && has(name));
    let gone = format.known().filter(|(name, usual)| *usual && !has(name));
    Ok(BillLines {
        dialect: Dialect::DataFusion,
        from: LINES.to_owned(),
        format,
        with: rare.map(owned).collect(),
        without: gone.map(owned).collect(),
        is_text: inputs.format.is_csv(),
    })
}

/// The columns that are read. Those of CSV are all of the file, in its order, as texts, so
/// that no account loses its zeros and no amount a digit.
fn columns(format: BillFormat, inputs: &Inputs) -> Vec<Field> {
    let is_known = |name: &str| format.known().any(|(known, _)| known == name);
    let fields = inputs.schema.fields().iter();
    let fields = fields.filter(|field| inputs.format.is_csv() || is_known(field.name()));
    let fields = fields.map(|field| Field::new(field.name(), plain(field.data_type()), true));
    fields.collect()
}

/// Writes the hours of each billing period, and then the lists that make them count.
async fn write(sessions: &Sessions, args: &BillArgs, progress: &Progress) -> Result<usize> {
    let folder = args.common.out.join(BESIDE);
    let order = ["period", "account", "region", "resource", "hour", "kind", "purchase_option"];
    let order: Vec<String> = order.iter().map(|name| format!("\"{name}\"")).collect();
    let text = format!("select * from {HOURS} order by {}", order.join(", "));
    let mut sorted = stream(&sessions.own, &text).await?;
    let mut open: Option<(String, TableWriter)> = None;
    let mut done: BTreeMap<String, Written> = BTreeMap::new();
    while let Some(batch) = sorted.try_next().await? {
        for (period, rows) in by_period(&batch)? {
            if open.as_ref().is_none_or(|(known, _)| *known != period) {
                if let Some((period, writer)) = open.take() {
                    done.insert(period, writer.finish()?);
                }
                let inside = folder.join("bill").join(format!("period={period}"));
                let writer = TableWriter::new("bill", of(&batch.schema()), &inside, MOST)?;
                open = Some((period, writer));
            }
            if let Some((_, writer)) = &mut open {
                writer.write(&rows)?;
            }
        }
    }
    if let Some((period, writer)) = open.take() {
        done.insert(period, writer.finish()?);
    }
    progress.say("  bill");
    publish(&folder, &args.common.input, done)
}

/// Gives every file its name, and lists last those that make a reading count.
fn publish(folder: &Path, inputs: &[String], done: BTreeMap<String, Written>) -> Result<usize> {
    let mut named = Fnv::default();
    for input in inputs {
        named.add(input);
    }
    let id = format!("{}-{}", stamp(SystemTime::now()), named.hex());
    let mut lists = Vec::new();
    for (period, written) in done {
        let name = format!("period={period}");
        let path = folder.join("bill").join(&name).join(format!("{id}.parquet"));
        let seals = BTreeMap::from([("bill".to_owned(), written.seal)]);
        written.path.persist_noclobber(&path).map_err(|error| unnamed(&path, &error.error))?;
        let list = folder.join("bill_run").join(&name).join(format!("{id}.json"));
        lists.push((list, Manifest::of(seals)));
    }
    for (path, list) in &lists {
        publish_list(path, list)?;
    }
    Ok(lists.len())
}

/// The rows of each month, side by side.
fn by_period(batch: &RecordBatch) -> Result<Vec<(String, RecordBatch)>> {
    let periods = texts(batch, 0)?;
    let month = |row: usize| periods.value(row).get(..MONTH).unwrap_or_default();
    let mut all = Vec::new();
    let mut from = 0;
    while from < batch.num_rows() {
        let rest = from + 1..batch.num_rows();
        let end = rest.clone().find(|row| month(*row) != month(from)).unwrap_or(rest.end);
        all.push((month(from).to_owned(), batch.slice(from, end - from)));
        from = end;
    }
    Ok(all)
}

/// The columns of a file: plain texts, numbers and decimals.
fn of(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| {
        let kind = match field.data_type() {
            DataType::Utf8View | DataType::LargeUtf8 => DataType::Utf8,
            other => other.clone(),
        };
        Field::new(field.name(), kind, true)
    });
    Arc::new(Schema::new(fields.collect::<Vec<Field>>()))
}
