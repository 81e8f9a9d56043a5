//! The tables of a history, in order of their columns, the statements that give them, and the checks
//! of an archive.

use super::dialect::{CHECKS, block, blocks, check, expanded, fill};
use super::points::Points;

const USAGE: &str = include_str!("usage.sql");
/// What statements have in common. Sums of points are kept as whole readings, and 2^-40 of one.
const COMMON: &str = include_str!("common.sql");

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
    let statements = blocks(USAGE).filter_map(|(title, text)| {
        let table = Table::from_name(title.split(':').next()?)?;
        Some(Statement { table, title, text: filled(points, text, periods) })
    });
    statements.collect()
}

fn filled(points: &Points, text: &str, periods: Option<&str>) -> String {
    let dialect = points.dialect;
    let mut text = expanded(text, COMMON);
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
    let doublings = (1..=13).map(|shift: u32| {
        let (end, first, wide) = (1_u64 << (shift + 11), shift * 1_024, 1_u64 << shift);
        format!(" when p.step < {end} then {first} + floor(p.step / {wide})")
    });
    let doublings: String = doublings.collect();
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
    let mut text = check("rows said", &rows_statement(points));
    text += &match points.is_distinct {
        true => check("duplicates said", &duplicates_statement(points)),
        // Two points of a period that lie within five seconds.
        false => {
            let crowded = filled(points, block(CHECKS, "crowded"), None);
            check("crowded said", &crowded)
        }
    };
    for (number, query) in statements(points, None).iter().enumerate() {
        if !tables.contains(&query.table) {
            continue;
        }
        let copied = copies.map(|folder| {
            // Files that gpucost reads, those of each statement under a name of their own.
            let folder = format!("{folder}/{}", query.table.name());
            let values = [
                ("statement", query.text.as_str()),
                ("folder", &points.dialect.text(&folder)),
                ("number", &format!("{number:02}")),
            ];
            fill(block(CHECKS, "copy"), &values)
        });
        let statement = copied.as_ref().unwrap_or(&query.text);
        text += &format!("-- {}\n{statement};\n\n", query.title);
    }
    text
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Always there.
    Text,
    /// May be absent.
    Whole,
    /// May be absent.
    Real,
}

macro_rules! tables {
    ($($(#[$doc:meta])* $table:ident = $name:literal { $($kind:ident $($column:literal)*;)* })*) => {
        /// A table of a history.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Table {
            $($(#[$doc])* $table),*
        }

        impl Table {
            pub const ALL: [Self; 5] = [$(Self::$table),*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$table => $name),* }
            }

            /// Its columns. A statement gives one more at the end: `dt`, the day as text.
            pub fn columns(self) -> &'static [(&'static str, Kind)] {
                match self { $(Self::$table => &[$($(($column, Kind::$kind),)*)*]),* }
            }
        }
    };
}

tables! {
    Asked = "usage_asked" {
        Text "account" "region" "instance" "asked"; Whole "period_seconds";
    }
    Series = "usage_series" {
        Text "account" "region" "instance" "metric"; Whole "gpu";
        Text "statistic" "source" "joined_by"; Whole "is_empty" "n" "period_seconds";
        Real "min" "max";
        Whole "sum" "n_active" "first" "last" "not_a_number" "negative" "over_100" "duplicate" "future";
    }
    Grid = "usage_grid" {
        Text "account" "region" "instance" "metric" "source";
        Whole "period" "n" "sum" "max" "n_max" "works";
    }
    Hist = "usage_hist" {
        Text "account" "region" "instance" "metric"; Whole "gpu"; Text "statistic";
        Whole "bucket" "n";
    }
    /// Hours of each series. gpucost does not read it.
    Hour = "usage_hour" {
        Text "account" "region" "instance" "metric"; Whole "gpu" "hour" "n" "sum";
        Real "min" "max"; Whole "n_active";
    }
}

impl Table {
    /// Those that gpucost reads.
    pub const READ: [Self; 4] = [Self::Asked, Self::Series, Self::Grid, Self::Hist];

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }
}
