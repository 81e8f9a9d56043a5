//! `--group-by` for people: a section below the audit's table.

use super::{NO_VALUE, cells, names, unpriced_note};
use crate::analysis::{GroupRow, Groups};
use crate::domain::Money;
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::{TableStyle, left_out};
use crate::report::shared::text::{fit, safe};
use std::fmt::Write;

const SHOWN_GROUPS: usize = 20;
const VALUE_WIDTH: usize = 24;

/// The section below the table of an audit.
pub fn groups_section(groups: &Groups, style: TableStyle) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = draw(groups, style, &mut out);
    out
}

fn draw(groups: &Groups, style: TableStyle, out: &mut String) -> std::fmt::Result {
    let title = format!(
        "COST PER MONTH BY {}",
        safe(&names(groups).join(", ")).to_uppercase()
    );
    writeln!(out, "\n{}", style.heading(&fit(&title, style.width)))?;
    let keys: Vec<String> = groups
        .keys
        .iter()
        .map(|key| fit(&key.to_string().to_uppercase(), VALUE_WIDTH))
        .collect();
    let figures = [
        "GPUS",
        "COST",
        "USEFUL",
        "IDLE",
        "UNMEASURED",
        "STOPPED",
        "SAVINGS",
    ];
    let header: Vec<&str> = keys.iter().map(String::as_str).chain(figures).collect();
    let mut table = PlainTable::new(&header, keys.len()..header.len());
    let shown = style.shown(groups.rows.len(), SHOWN_GROUPS);
    for row in &groups.rows[..shown] {
        let values = row.values.iter().map(|value| shown_value(value.as_deref()));
        table.row(values.chain(cells(&row.sums)).collect());
    }
    let rest = &groups.rows[shown..];
    let mut total = vec![String::new(); groups.keys.len()];
    if let Some(first) = total.first_mut() {
        "total".clone_into(first);
    }
    table.row(total.into_iter().chain(cells(&groups.total)).collect());
    for line in table.lines() {
        writeln!(out, "  {line}")?;
    }
    left_out(rest.len(), "group", "groups", worth(rest), out)?;
    match unpriced_note(groups) {
        Some(note) => writeln!(out, "  {note}"),
        None => Ok(()),
    }
}

/// What some rows cost together.
fn worth(rows: &[GroupRow]) -> Option<Money> {
    let costs = rows.iter().filter_map(|row| row.sums.monthly_cost);
    costs.reduce(|sum, part| Money::new(sum.amount() + part.amount(), sum.currency()))
}

fn shown_value(value: Option<&str>) -> String {
    match value {
        None => NO_VALUE.to_owned(),
        Some("") => "\"\"".to_owned(),
        Some(value) => fit(value, VALUE_WIDTH),
    }
}
