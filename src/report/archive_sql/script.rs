//! All statements of an archive or a bill as one text, each with a line that says what it
//! gives.

use super::bill::{BillLines, bill_statement, lines_statement};
use super::checks::{crowded_statement, duplicates_statement, rows_statement};
use super::dialect::Dialect;
use super::layout::Table;
use super::points::Points;
use super::usage::statements;

/// What is read from files that an engine knows as a table alone.
pub fn files_as_table(dialect: Dialect, name: &str, path: &str) -> Option<String> {
    let is_csv = [".csv", ".csv.gz"].iter().any(|end| path.ends_with(end));
    let (name, path) = (dialect.table(name), dialect.text(path));
    match dialect {
        Dialect::DataFusion if is_csv => Some(format!(
            "create external table {name} stored as csv location {path} \
             options ('format.has_header' 'true');\n\n"
        )),
        Dialect::DataFusion => Some(format!(
            "create external table {name} stored as parquet location {path};\n\n"
        )),
        _ => None,
    }
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
        push(&mut text, &crowded_statement(points));
    }
    for (number, one) in statements(points, None).iter().enumerate() {
        if !tables.contains(&one.table) {
            continue;
        }
        let gauge = one.gauge.map(|gauge| format!(": {}", gauge.name()));
        let (table, gauge) = (one.table.name(), gauge.unwrap_or_default());
        text.push_str(&format!("-- {table}{gauge}\n"));
        match copies {
            None => push(&mut text, &one.text),
            Some(folder) => {
                let folder = points.dialect.text(&format!("{folder}/{table}"));
                let options = copy_options(number);
                push(
                    &mut text,
                    &format!("copy (\n{}\n) to {folder} ({options})", one.text),
                );
            }
        }
    }
    text
}

/// How DuckDB writes files that gpucost reads, those of each statement under a name of their
/// own.
fn copy_options(number: usize) -> String {
    format!(
        "format parquet, compression gzip, row_group_size 61440, partition_by (dt), \
         filename_pattern 'part-{number:02}-{{i}}', overwrite_or_ignore true"
    )
}

/// The check of a bill, and the statement of its hours.
pub fn bill_script(lines: &BillLines) -> String {
    let mut text = String::from(
        "-- Check first: `n` must be the rows of the files, and the `n` of the result must add\n\
         -- up to `counted`.\n",
    );
    push(&mut text, &lines_statement(lines));
    text.push_str("-- bill\n");
    push(&mut text, &bill_statement(lines));
    text
}

fn push(text: &mut String, statement: &str) {
    text.push_str(statement);
    text.push_str(";\n\n");
}
