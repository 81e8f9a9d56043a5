//! Statements that show whether an archive can be added up.

use super::points::Points;
use super::template::fill;

const ROWS: &str = include_str!("check_rows.sql");
const DUPLICATES: &str = include_str!("check_duplicates.sql");

/// How many rows each metric of an archive has, under its name in it: all rows (`n`), those
/// without a machine or a time (`unplaced`), those without a value (`absent`), those that are
/// added up, valid or not (`points`), and the seconds of the first and the last.
pub fn rows_statement(points: &Points) -> String {
    let dialect = points.dialect;
    let text = fill(
        ROWS,
        &[
            ("metric_column", &dialect.ident(&points.columns.metric)),
            ("value_column", &dialect.ident(&points.columns.value)),
            ("text", dialect.text_type()),
            ("placed", &points.placed()),
            ("condition", &points.parts(|_| true).condition()),
            ("second", &points.second()),
            ("points", &points.from),
        ],
    );
    text + dialect.settings()
}

/// In how many periods points may have come twice (`crowded`): two of them lie within five
/// seconds. It groups as the statements of the tables do.
pub fn crowded_statement(points: &Points) -> String {
    let periods = points.parts(|_| true).periods();
    let settings = points.dialect.settings();
    format!("select coalesce(sum(p.crowded), 0) as crowded\nfrom (\n{periods}\n) as p{settings}")
}

/// How many times of series have several points (`times`), how many points are too many
/// (`duplicates`), and at how many times they differ (`conflicts`). It groups all points by
/// time, which costs several times as much as everything else together.
pub fn duplicates_statement(points: &Points) -> String {
    let parts = points.parts(|_| true);
    let dialect = points.dialect;
    let text = fill(
        DUPLICATES,
        &[
            ("groups", &parts.groups()),
            ("metric_column", &dialect.ident(&points.columns.metric)),
            ("value", &dialect.ident(&points.columns.value)),
            ("points", &points.from),
            ("where", &parts.condition()),
        ],
    );
    text + dialect.settings()
}
