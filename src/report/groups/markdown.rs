//! `--group-by` in a comment.

use super::sheet::Sheet;
use crate::analysis::Grouping;
use crate::domain::Money;
use crate::report::shared::markdown::escape::code;
use crate::report::shared::markdown::page::{Row, Section, figures, named};

/// Their total, then every group, most expensive first: what does not fit is the cheapest.
pub(in crate::report) fn groups_section(by: &Grouping) -> Section {
    let sheet = Sheet::of(by);
    let keys = sheet.keys.iter().map(|key| named(key));
    let titles = sheet.titles.iter().copied().map(figures);
    let columns = keys.chain(titles).collect();
    let mut total = vec![String::new(); sheet.keys.len()];
    if let Some(first) = total.first_mut() {
        "**total**".clone_into(first);
    }
    let rows = sheet.rows.iter().map(|row| {
        let names = row.names.iter().map(|name| name.shown(code));
        sheet_row(names.collect(), &row.figures, row.cost)
    });
    let notes = sheet.notes.iter().map(|note| format!("; {note}"));
    Section {
        title: format!("Monthly cost by group{}", notes.collect::<String>()),
        folded: true,
        columns,
        rows: std::iter::once(sheet_row(total, &sheet.total, None))
            .chain(rows)
            .collect(),
        noun: ("group", "groups"),
    }
}

fn sheet_row(names: Vec<String>, figures: &[String], cost: Option<Money>) -> Row {
    let row = Row::of_cells(&[&names[..], figures].concat());
    match cost {
        Some(cost) => row.worth(cost),
        None => row,
    }
}
