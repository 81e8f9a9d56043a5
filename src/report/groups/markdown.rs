//! `--group-by` in a comment.

use super::{NO_VALUE, cells, unpriced_note};
use crate::analysis::{GroupSums, Groups};
use crate::report::shared::markdown::escape::code;
use crate::report::shared::markdown::page::{Row, Section, figures, named};

/// Their total, then every group, most expensive first: what does not fit is the cheapest.
pub(in crate::report) fn groups_section(groups: &Groups) -> Section {
    let keys = groups.keys.iter().map(|key| named(&key.to_string()));
    let columns = keys.chain([
        figures("GPUs"),
        figures("cost"),
        figures("useful"),
        figures("idle"),
        figures("unmeasured"),
        figures("stopped"),
        figures("savings"),
    ]);
    let mut total = vec![String::new(); groups.keys.len()];
    if let Some(first) = total.first_mut() {
        "**total**".clone_into(first);
    }
    let rows = groups.rows.iter().map(|row| {
        let values = row.values.iter().map(|value| match value.as_deref() {
            None => NO_VALUE.to_owned(),
            Some("") => "\"\"".to_owned(),
            Some(value) => code(value),
        });
        group_row(values.collect(), &row.sums)
    });
    let note = unpriced_note(groups).map_or(String::new(), |note| format!("; {note}"));
    Section {
        title: format!("Monthly cost by group{note}"),
        folded: true,
        columns: columns.collect(),
        rows: std::iter::once(group_row(total, &groups.total))
            .chain(rows)
            .collect(),
        noun: ("group", "groups"),
    }
}

fn group_row(mut names: Vec<String>, sums: &GroupSums) -> Row {
    names.extend(cells(sums));
    let row = Row::of_cells(&names);
    match sums.monthly_cost {
        Some(cost) => row.worth(cost),
        None => row,
    }
}
