//! `--group-by` for people: a section below the audit's table.

use super::sheet::{Sheet, SheetRow};
use crate::analysis::Grouping;
use crate::domain::Money;
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::TableStyle;
use crate::report::shared::text::{fit, safe};
use std::fmt::Write;

const SHOWN_GROUPS: usize = 20;
const VALUE_WIDTH: usize = 24;

/// The section below the table of an audit.
pub fn groups_section(by: &Grouping, style: TableStyle) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = draw(&Sheet::of(by), style, &mut out);
    out
}

fn draw(sheet: &Sheet<'_>, style: TableStyle, out: &mut String) -> std::fmt::Result {
    let title = format!(
        "COST PER MONTH BY {}",
        safe(&sheet.keys.join(", ")).to_uppercase()
    );
    writeln!(out, "\n{}", style.heading(&fit(&title, style.width)))?;
    let keys = sheet
        .keys
        .iter()
        .map(|key| fit(&key.to_uppercase(), VALUE_WIDTH));
    let titles = sheet.titles.iter().map(|title| title.to_uppercase());
    let header: Vec<String> = keys.chain(titles).collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let figures = sheet.keys.len();
    // Where the amounts need the room, the GPUs of workloads are left out.
    let gpus = header.get(figures).filter(|title| **title == "GPUS");
    let spare: Vec<usize> = gpus.map(|_| figures).into_iter().collect();
    let mut table = PlainTable::new(&header, figures..header.len()).whole(&spare);
    let shown = style.shown(sheet.rows.len(), SHOWN_GROUPS);
    for row in &sheet.rows[..shown] {
        let names = row.names.iter();
        let names = names.map(|name| name.shown(|value| fit(value, VALUE_WIDTH)));
        table.row(names.chain(row.figures.iter().cloned()).collect());
    }
    let rest = &sheet.rows[shown..];
    let mut total = vec![String::new(); sheet.keys.len()];
    if let Some(first) = total.first_mut() {
        "total".clone_into(first);
    }
    table.row([&total[..], &sheet.total[..]].concat());
    for line in table.lines_in(style, 2) {
        writeln!(out, "  {line}")?;
    }
    style.left_out(rest.len(), "group", "groups", worth(rest), out)?;
    for note in &sheet.notes {
        writeln!(out, "  {note}")?;
    }
    Ok(())
}

/// What some rows cost together.
fn worth(rows: &[SheetRow<'_>]) -> Option<Money> {
    let costs = rows.iter().filter_map(|row| row.cost);
    costs.reduce(|sum, part| Money::new(sum.amount() + part.amount(), sum.currency()))
}
