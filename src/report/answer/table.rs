//! Tables of an answer for a terminal.

use super::{Answer, Column, Figure, Printed, Sheet};
use crate::domain::separated;
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::TableStyle;
use crate::report::shared::text::{
    ABSENT, count, fit, money, percent, safe, unit_price, wrap, yes_or_no,
};
use std::fmt::Write;

/// Rows of a sheet that are shown unless it is wide.
const SHOWN: usize = 20;

/// Columns of a text in a cell before it is cut, and of a sentence. JSON and CSV have all of it.
const LONGEST_CELL: usize = 480;
const LONGEST_SENTENCE: usize = 1_600;

/// An answer as text. Lines of files and commands are never cut, so that they can be
/// copied.
pub fn answer_table(answer: &Answer, style: TableStyle) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_answer(answer, style, &mut out);
    out
}

fn write_answer(answer: &Answer, style: TableStyle, out: &mut String) -> std::fmt::Result {
    let headline = fit(&answer.headline, LONGEST_SENTENCE);
    for line in wrap(&headline, style.width) {
        writeln!(out, "{}", style.heading(&line))?;
    }
    writeln!(out)?;
    given(answer, style, out)?;
    steps(answer, style, out)?;
    for sheet in &answer.sheets {
        rows(sheet, style, out)?;
    }
    list("CAVEATS", answer.caveats.iter().cloned(), style, out)?;
    let missing = answer.missing.iter();
    let missing = missing.map(|one| format!("{}: {}", one.what, one.remedy));
    list("MISSING DATA", missing, style, out)?;
    for file in &answer.files {
        printed(file, style, out)?;
    }
    if !answer.next.is_empty() {
        writeln!(out, "{}", style.heading("NEXT"))?;
        for command in &answer.next {
            writeln!(out, "  {}", safe(command))?;
        }
    }
    Ok(())
}

fn given(answer: &Answer, style: TableStyle, out: &mut String) -> std::fmt::Result {
    if answer.given.is_empty() {
        return Ok(());
    }
    let mut table = PlainTable::new(&["GIVEN", "VALUE", "SOURCE"], [1]);
    for one in &answer.given {
        let source = fit(&one.source, LONGEST_CELL);
        table.row(vec![one.name.to_owned(), shown(&one.value), source]);
    }
    out.push_str(&table.wrapped(style));
    Ok(())
}

fn steps(answer: &Answer, style: TableStyle, out: &mut String) -> std::fmt::Result {
    if answer.steps.is_empty() {
        return Ok(());
    }
    let mut table = PlainTable::new(&["STEP", "ARITHMETIC", "RESULT"], [2]);
    for step in &answer.steps {
        let cells = [&step.name, &step.arithmetic].map(|text| safe(text));
        let [name, arithmetic] = cells;
        table.row(vec![name, arithmetic, shown(&step.result)]);
    }
    out.push_str(&table.wrapped(style));
    Ok(())
}

fn rows(sheet: &Sheet, style: TableStyle, out: &mut String) -> std::fmt::Result {
    writeln!(out, "{}", style.heading(&fit(&sheet.title, style.width)))?;
    if sheet.rows.is_empty() {
        return writeln!(out, "  none\n");
    }
    let places: Vec<usize> = (0..sheet.columns.len())
        .filter(|place| style.wide || !sheet.columns[*place].is_detail)
        .collect();
    let header = |place: &usize| -> String {
        let Column { title, .. } = sheet.columns[*place];
        title.to_uppercase()
    };
    let header: Vec<String> = places.iter().map(header).collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let is_number = |place: &usize| {
        let mut known = sheet.rows.iter().filter_map(|row| row.get(*place));
        known.any(|one| *one != Figure::Absent && !one.is_words())
    };
    let numbers = places.iter().enumerate();
    let numbers = numbers.filter(|(_, place)| is_number(place));
    let mut table = PlainTable::new(&header, numbers.map(|(index, _)| index));
    let most = style.shown(sheet.rows.len(), SHOWN);
    for row in &sheet.rows[..most] {
        let cells = places
            .iter()
            .map(|place| row.get(*place).map_or(String::new(), shown))
            .map(|cell| fit(&cell, LONGEST_CELL));
        table.row(cells.collect());
    }
    let text = table.wrapped(style);
    out.push_str(text.trim_end_matches('\n'));
    out.push('\n');
    let (one, many) = sheet.noun;
    style.left_out(sheet.rows.len() - most, one, many, None, out)?;
    writeln!(out)
}

fn list(
    title: &str,
    items: impl Iterator<Item = String>,
    style: TableStyle,
    out: &mut String,
) -> std::fmt::Result {
    let mut items = items.peekable();
    if items.peek().is_none() {
        return Ok(());
    }
    writeln!(out, "{}", style.heading(title))?;
    for item in items {
        let item = fit(&item, LONGEST_SENTENCE);
        for (index, line) in wrap(&item, style.width.saturating_sub(4))
            .iter()
            .enumerate()
        {
            writeln!(out, "  {}{line}", if index == 0 { "" } else { "  " })?;
        }
    }
    writeln!(out)
}

fn printed(file: &Printed, style: TableStyle, out: &mut String) -> std::fmt::Result {
    writeln!(out, "{}", style.heading(&safe(&file.name)))?;
    for line in wrap(&file.purpose, style.width.saturating_sub(2)) {
        writeln!(out, "  {line}")?;
    }
    writeln!(out)?;
    for line in file.text.lines() {
        writeln!(out, "{}", safe(line))?;
    }
    writeln!(out)
}

/// A figure as people read it.
pub(in crate::report) fn shown(figure: &Figure) -> String {
    match figure {
        Figure::Absent => ABSENT.to_owned(),
        Figure::Text(text) => safe(text),
        Figure::Time(at) => at.strftime("%Y-%m-%d %H:%M").to_string(),
        Figure::Date(day) => day.to_string(),
        Figure::Flag(flag) => yes_or_no(*flag).to_owned(),
        Figure::Count(number) => count(*number),
        Figure::Number(value, decimals) => number(*value, *decimals),
        Figure::Percent(value) => percent(*value),
        Figure::Money(amount) => money(*amount),
        Figure::Price(price) => unit_price(*price),
    }
}

/// A number with separators before its decimals.
fn number(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let sign = if value < 0.0 && text.contains(|c| ('1'..='9').contains(&c)) {
        "-"
    } else {
        ""
    };
    match text.split_once('.') {
        Some((whole, rest)) => format!("{sign}{}.{rest}", separated(whole)),
        None => format!("{sign}{}", separated(&text)),
    }
}
