//! Tables of a document for a terminal.

use super::{Doc, Head, Level, Plot, Printed, Table, Value, shown};
use crate::report::shared::gaps::gap_section;
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::{TableStyle, columns_left_out};
use crate::report::shared::text::{fit, hanging, safe, wrap, written};
use std::fmt::Write;

/// Rows of a sheet that are shown unless it is wide.
const SHOWN: usize = 20;

/// Tables below the heading of another that are shown unless it is wide.
const MOST_PARTS: usize = 12;

/// Columns of a text in a cell before it is cut, and of a sentence. JSON and CSV have all of it.
const LONGEST_CELL: usize = 480;
/// The same where a row has more than so many cells.
const LONGEST_OF_MANY: usize = 120;
const MANY: usize = 8;
const LONGEST_SENTENCE: usize = 1_600;

/// A document as text. Lines of files and commands are never cut, so that they can be
/// copied.
pub fn doc_table(doc: &Doc, style: TableStyle) -> String {
    written(|out| write_doc(doc, style, out))
}

fn write_doc(doc: &Doc, style: TableStyle, out: &mut String) -> std::fmt::Result {
    for line in wrap(&fit(&doc.headline, LONGEST_SENTENCE), style.width) {
        writeln!(out, "{}", style.heading(&line))?;
    }
    for line in &doc.about {
        hanging("", 0, &fit(line, LONGEST_SENTENCE), style.width, out)?;
    }
    writeln!(out)?;
    let given = doc.given.iter().map(|input| {
        let source = fit(&input.source, LONGEST_CELL);
        [input.name.to_owned(), shown(&input.value), source]
    });
    three(["GIVEN", "VALUE", "SOURCE"], 1, given, style, out);
    let steps = doc.steps.iter().map(|step| {
        let (name, arithmetic) = (safe(&step.name), safe(&step.arithmetic));
        [name, arithmetic, shown(&step.result)]
    });
    three(["STEP", "ARITHMETIC", "RESULT"], 2, steps, style, out);
    for table in doc.said() {
        let parts = table.screens(style.wide);
        // Beside the heading of a table of tables.
        let most = style.shown(parts.len() - 1, MOST_PARTS) + 1;
        for part in &parts[..most] {
            rows(part, style, out)?;
        }
        let (singular, many) = table.noun;
        if most < parts.len() {
            style.skipped(parts.len() - most, singular, many, None, out)?;
            // They stand below the last part, which is not shown.
            notes(table, &[], style, out)?;
        }
    }
    if style.lists_members() {
        sketches(&doc.plots, style, out)?;
    }
    // Gaps have a section with their hints.
    for (title, sentences) in doc.remarks().into_iter().take(2) {
        list(&title.to_uppercase(), &sentences, style, out)?;
    }
    gap_section(doc.gaps.as_deref().unwrap_or_default(), style, out)?;
    for file in &doc.files {
        printed(file, style, out)?;
    }
    if !doc.next.is_empty() {
        writeln!(out, "{}", style.heading("NEXT"))?;
        for command in &doc.next {
            writeln!(out, "  {}", safe(command))?;
        }
    }
    for line in wrap(&doc.closing, style.width) {
        writeln!(out, "{}", style.heading(&line))?;
    }
    Ok(())
}

/// Three columns, of which one has figures; nothing without rows.
fn three(
    header: [&str; 3],
    figures: usize,
    rows: impl Iterator<Item = [String; 3]>,
    style: TableStyle,
    out: &mut String,
) {
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return;
    }
    let mut table = PlainTable::new(&header, [figures]);
    rows.for_each(|cells| table.row(cells.into()));
    out.push_str(&table.wrapped(style));
}

/// Characters that are no line of their own below a row.
const FEW_WORDS: usize = 15;
/// Characters of a line from which on a sentence below a row may take two: a screen of wide lines
/// has fewer of them.
const WIDE: usize = 84;

/// Heads of columns with their places.
type Columns<'a> = Vec<(usize, &'a Head)>;

fn rows(table: &Table, style: TableStyle, out: &mut String) -> std::fmt::Result {
    if !table.title.is_empty() {
        let title = fit(&table.title, LONGEST_CELL);
        if title.contains("  ") {
            style.title(&title, out)?;
        } else {
            for line in wrap(&title, style.width) {
                writeln!(out, "{}", style.heading(&line))?;
            }
        }
    }
    if table.columns.is_empty() || table.rows.is_empty() {
        if !table.columns.is_empty() && table.notes.is_empty() {
            writeln!(out, "  none")?;
        }
        return notes(table, &[], style, out);
    }
    let heads = table.on_screen(style.wide).into_iter();
    let (below, heads): (Columns<'_>, Columns<'_>) =
        heads.partition(|(_, head)| matches!(head.level, Level::Below | Level::Titled));
    let titles = heads.iter().map(|(_, head)| safe(&head.title.to_uppercase()));
    let titles: Vec<String> = titles.collect();
    let header: Vec<&str> = titles.iter().map(String::as_str).collect();
    let figures = heads.iter().map(|(place, _)| table.is_figures(*place));
    let figures = (0..).zip(figures).filter(|(_, is_figures)| *is_figures);
    let mut drawn = PlainTable::new(&header, figures.map(|(index, _)| index));
    let orders = heads.iter().map(|(_, head)| match head.level {
        Level::Narrow(order) | Level::Spare(order) => order,
        _ => 0,
    });
    let mut spare: Vec<(u8, usize)> = orders.zip(0..).filter(|(order, _)| *order > 0).collect();
    spare.sort_unstable_by(|left, right| right.cmp(left));
    let spare: Vec<usize> = spare.into_iter().map(|(_, index)| index).collect();
    let most = style.shown(table.rows.len(), table.most.unwrap_or(SHOWN));
    let longest = match heads.len() {
        0..=MANY => LONGEST_CELL,
        _ => LONGEST_OF_MANY,
    };
    for row in &table.rows[..most] {
        let cells = heads.iter().map(|(place, _)| row.get(*place));
        drawn.row(cells.map(|cell| fit(&cell.map_or(String::new(), shown), longest)).collect());
    }
    // Where a screen has words of its own, the name of a row gives way.
    let is_own = |(_, head): &(usize, &Head)| matches!(head.level, Level::Spare(_));
    let name = (heads.iter()).position(|(place, _)| !table.is_figures(*place));
    drawn = match name.filter(|_| heads.iter().any(is_own)) {
        Some(name) => drawn.giving(name, &spare),
        None if spare.is_empty() && below.is_empty() => drawn,
        None => drawn.whole(&spare),
    };
    let (singular, many) = table.noun;
    let worth = table.worth_behind(most);
    if !below.is_empty() {
        listed(&drawn, &table.rows, &below, style, out)?;
        style.skipped(table.rows.len() - most, singular, many, worth, out)?;
        return notes(table, &[], style, out);
    }
    let mut dropped = Vec::new();
    let text = if spare.is_empty() {
        drawn.wrapped(style)
    } else {
        dropped = drawn.skipped(style, 0);
        drawn.text(style)
    };
    out.push_str(text.trim_end_matches('\n'));
    out.push('\n');
    style.skipped(table.rows.len() - most, singular, many, worth, out)?;
    notes(table, &dropped, style, out)
}

/// Rows without a header, each with its sentences below it: a line each, unless every row is
/// shown with all it says.
fn listed(
    drawn: &PlainTable,
    rows: &[Vec<Value>],
    below: &[(usize, &Head)],
    style: TableStyle,
    out: &mut String,
) -> std::fmt::Result {
    let lines = drawn.rows_in(style, 2);
    for (lines, row) in lines.iter().zip(rows) {
        for line in lines {
            writeln!(out, "  {line}")?;
        }
        let sentences = below.iter().filter_map(|(place, head)| {
            Some((shown(row.get(*place).filter(|value| **value != Value::Absent)?), head))
        });
        for (sentence, head) in sentences {
            let sentence = match head.level {
                Level::Titled => format!("{}: {sentence}", head.title),
                _ => sentence,
            };
            let sentence = match style.lists_members() {
                true => fit(&sentence, LONGEST_SENTENCE),
                false => beginning(&sentence, style.width.saturating_sub(6)).to_owned(),
            };
            hanging("      ", 6, &sentence, style.width, out)?;
        }
    }
    Ok(())
}

/// As many parts of a sentence as a line has room for, or two of a wide terminal, without a few words
/// alone on the second; a semicolon ends a part.
fn beginning(sentence: &str, width: usize) -> &str {
    let ends = sentence.match_indices("; ").map(|(end, _)| end);
    let parts = ends.chain([sentence.len()]).map(|end| &sentence[..end]);
    let first = parts.clone().next().unwrap_or(sentence);
    let fits = |part: &&str| match wrap(part, width).as_slice() {
        [] | [_] => true,
        [_, second] => width >= WIDE && second.len() >= FEW_WORDS,
        _ => false,
    };
    parts.filter(fits).last().unwrap_or(first)
}

/// Plots as bars of characters.
fn sketches(plots: &[Plot], style: TableStyle, out: &mut String) -> std::fmt::Result {
    for plot in plots {
        writeln!(out, "{}", style.heading(&plot.title.to_uppercase()))?;
        for (name, line) in plot.lines(style.ascii) {
            writeln!(out, "  {name}  {line}")?;
        }
        for note in &plot.notes {
            hanging("  ", 2, note, style.width, out)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// What stands below the rows, and which columns the width has no room for.
fn notes(
    table: &Table,
    dropped: &[String],
    style: TableStyle,
    out: &mut String,
) -> std::fmt::Result {
    for note in table.notes.iter().chain(&columns_left_out(dropped, style)) {
        hanging("  ", 2, &fit(note, LONGEST_SENTENCE), style.width, out)?;
    }
    writeln!(out)
}

fn list(title: &str, items: &[String], style: TableStyle, out: &mut String) -> std::fmt::Result {
    if items.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", style.heading(title))?;
    for item in items {
        let item = fit(item, LONGEST_SENTENCE);
        for (index, line) in (0..).zip(wrap(&item, style.width.saturating_sub(4))) {
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
