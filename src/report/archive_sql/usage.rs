//! The statements of the tables of usage, and the checks of an archive.

use super::layout::Table;
use super::points::Points;
use super::text::{block, blocks, fill, push};

const USAGE: &str = include_str!("usage.sql");
const CHECKS: &str = include_str!("checks.sql");

/// What a run that was made from an archive is said to have asked.
pub const ASKED: &str = "rollup";

/// A statement whose result is rows of a table, with the day as `dt` after its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub table: Table,
    /// The table, and what of it.
    pub title: &'static str,
    /// Without a semicolon.
    pub text: String,
}

/// The statements that give all tables. They read the points themselves, or, where its name is
/// given, a table with the result of [`Points::periods`].
pub fn statements(points: &Points, periods: Option<&str>) -> Vec<Statement> {
    let all = blocks(USAGE).filter_map(|(title, text)| {
        let table = Table::from_name(title.split(':').next()?)?;
        let text = filled(points, text, periods);
        Some(Statement { table, title, text })
    });
    all.collect()
}

/// What statements have in common, each before those that it is made of.
const COMMON: [(&str, &str); 8] = [
    (
        "hours",
        "      select p.account, p.region, p.instance, p.gpu, p.metric, {hour} as period,
        sum(p.n) as n, sum(p.whole) as whole, sum(p.part) as part, {drops}
      from {periods} as p
      group by p.account, p.region, p.instance, p.gpu, p.metric, {hour}",
    ),
    (
        "hour",
        "cast(floor(cast(p.period as double) / 3600) as bigint) * 3600",
    ),
    (
        "dropped",
        "cast(g.not_a_number as bigint) as not_a_number,
  cast(g.negative as bigint) as negative,
  cast(g.over_100 as bigint) as over_100,
  cast(g.duplicate as bigint) as duplicate,
  cast(0 as bigint) as future,
  {dt} as dt",
    ),
    (
        "drops",
        "sum(p.not_a_number) as not_a_number,
    sum(p.negative) as negative, sum(p.over_100) as over_100, sum(p.duplicate) as duplicate",
    ),
    (
        "machine",
        "cast(g.account as {text}) as account, cast(g.region as {text}) as region,
  cast(g.instance as {text}) as instance",
    ),
    (
        "day",
        "cast(floor(cast(p.period as double) / 86400) as bigint)",
    ),
    ("mean", "{total} / p.n"),
    // Whole readings, and 2^-40 of one.
    (
        "total",
        "(cast(p.whole as double) + cast(p.part as double) / 1099511627776)",
    ),
];

fn filled(points: &Points, text: &str, periods: Option<&str>) -> String {
    let dialect = points.dialect;
    let mut text = text.to_owned();
    for (name, common) in COMMON {
        text = text.replace(&format!("{{{name}}}"), common);
    }
    for (name, value) in [("low", "g.low"), ("high", "g.high"), ("value", "p.value")] {
        text = text.replace(&format!("{{wide_{name}}}"), &widened(value));
    }
    let text = text.replace("{mebibytes}", &mebibytes());
    let source = match periods {
        Some(name) => name.to_owned(),
        None => format!("(\n{}\n)", points.periods()),
    };
    fill(
        &dialect.worded(&text),
        &[
            ("points", &points.rows()),
            ("periods", &source),
            ("source", &dialect.text(&points.source)),
            ("asked", &dialect.text(ASKED)),
            ("dt", &dialect.date("g.day")),
        ],
    )
}

/// The decimal with four places that a value of single precision stands for, as
/// `usage::series` widens it.
fn widened(value: &str) -> String {
    let rounded = format!("floor({value} * 10000 + 0.5) / 10000");
    format!(
        "case when cast({rounded} as {{real}}) = cast({value} as {{real}}) \
         then {rounded} else {value} end"
    )
}

/// The bucket of whole MiB or watts, `p.step`, as `usage::Scale` counts them: one by one below 2,048,
/// and then in 1,024 steps for each doubling, up to 16 TiB.
fn mebibytes() -> String {
    let doublings: String = (1..=13)
        .map(|shift: u32| {
            let (end, first, wide) = (1_u64 << (shift + 11), shift * 1_024, 1_u64 << shift);
            format!(" when p.step < {end} then {first} + floor(p.step / {wide})")
        })
        .collect();
    // 2^24 itself is the first step of the fourteenth doubling, which has no other.
    format!("case when p.step < 2048 then p.step{doublings} else 15360 end")
}

/// How many rows each metric of an archive has, under its name in it: all rows (`n`), those
/// without a machine or a time (`unplaced`), those without a value (`absent`), those that are
/// added up, valid or not (`points`), and the seconds of the first and the last.
pub fn rows_statement(points: &Points) -> String {
    filled(points, block(CHECKS, "rows"), None)
}

/// How many times of series have several points (`times`), how many points are too many
/// (`duplicates`), and at how many times they differ (`conflicts`). It groups all points by
/// time, which costs several times as much as everything else together.
pub fn duplicates_statement(points: &Points) -> String {
    filled(points, block(CHECKS, "duplicates"), None)
}

/// The checks of an archive, and the statements of some tables. Where a directory is given,
/// DuckDB copies each result to files in it.
pub fn usage_script(points: &Points, tables: &[Table], copies: Option<&str>) -> String {
    let mut text = String::from(
        "-- Check first: `unplaced` must be 0. The rows of the result must add up to the rows\n\
         -- of the files, and `points` is what the statements below add up.\n",
    );
    push(&mut text, &rows_statement(points));
    if points.is_distinct {
        text.push_str(
            "-- Check first: `conflicts` must be 0. Of points with the same time, the largest\n\
             -- counts. If `times` is 0, the statements without --distinct give the same.\n",
        );
        push(&mut text, &duplicates_statement(points));
    } else {
        text.push_str(
            "-- Check first: `crowded` must be 0. If it is not, points may have come twice, or lie\n\
             -- within five seconds: print the statements with --distinct, which cost several\n\
             -- times as much.\n",
        );
        // Two points of a period that lie within five seconds.
        push(&mut text, &filled(points, block(CHECKS, "crowded"), None));
    }
    for (number, one) in statements(points, None).iter().enumerate() {
        if !tables.contains(&one.table) {
            continue;
        }
        text.push_str(&format!("-- {}\n", one.title));
        match copies {
            None => push(&mut text, &one.text),
            Some(folder) => {
                let folder = format!("{folder}/{}", one.table.name());
                let folder = points.dialect.text(&folder);
                // Files that gpucost reads, those of each statement under a name of their own.
                let statement = format!(
                    "copy (\n{}\n) to {folder} (format parquet, compression gzip, \
                     row_group_size 61440, partition_by (dt), \
                     filename_pattern 'part-{number:02}-{{i}}', overwrite_or_ignore true)",
                    one.text
                );
                push(&mut text, &statement);
            }
        }
    }
    text
}
