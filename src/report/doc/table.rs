//! Tables of a document for a terminal.

use super::{Doc, Head, Level, Plot, Printed, Table, Value, shown};
use crate::report::shared::gaps::gap_section;
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::{Screen, TableStyle};
use crate::report::shared::text::{fit, safe, wrap};

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
    let mut screen = Screen { style, text: String::new() };
    screen.headings(&fit(&doc.headline, LONGEST_SENTENCE));
    for line in &doc.about {
        screen.hanging("", 0, &fit(line, LONGEST_SENTENCE));
    }
    screen.line("");
    let given = doc.given.iter().map(|input| {
        [input.name.to_owned(), shown(&input.value), fit(&input.source, LONGEST_CELL)]
    });
    three(["GIVEN", "VALUE", "SOURCE"], 1, given, &mut screen);
    let steps = doc.steps.iter().map(|step| {
        let (name, arithmetic) = (safe(&step.name), safe(&step.arithmetic));
        [name, arithmetic, shown(&step.result)]
    });
    three(["STEP", "ARITHMETIC", "RESULT"], 2, steps, &mut screen);
    for table in doc.said() {
        let parts = table.screens(style.wide);
        // Beside the heading of a table of tables.
        let most = style.shown(parts.len() - 1, MOST_PARTS) + 1;
        for part in &parts[..most] {
            rows(part, &mut screen);
        }
        if most < parts.len() {
            screen.skipped(parts.len() - most, table.noun, None);
            // They stand below the last part, which is not shown.
            notes(table, &[], &mut screen);
        }
    }
    for plot in doc.plots.iter().filter(|_| style.lists_members()) {
        sketch(plot, &mut screen);
    }
    // Gaps have a section with their hints.
    for (title, sentences) in doc.remarks().into_iter().take(2).filter(|(_, all)| !all.is_empty()) {
        screen.heading(&title.to_uppercase());
        for sentence in sentences {
            screen.hanging("  ", 4, &fit(&sentence, LONGEST_SENTENCE));
        }
        screen.line("");
    }
    gap_section(doc.gaps.as_deref().unwrap_or_default(), &mut screen);
    for Printed { name, purpose, text } in &doc.files {
        screen.heading(&safe(name));
        screen.hanging("  ", 2, purpose);
        screen.line("");
        text.lines().for_each(|line| screen.line(&safe(line)));
        screen.line("");
    }
    if !doc.next.is_empty() {
        screen.heading("NEXT");
        doc.next.iter().for_each(|command| screen.line(&format!("  {}", safe(command))));
    }
    screen.headings(&doc.closing);
    screen.text
}

/// Three columns, of which one has figures; nothing without rows.
fn three(
    header: [&str; 3],
    figures: usize,
    rows: impl Iterator<Item = [String; 3]>,
    screen: &mut Screen,
) {
    let rows: Vec<Vec<String>> = rows.map(Vec::from).collect();
    if !rows.is_empty() {
        let header = header.map(str::to_owned).into();
        let table = PlainTable { header, rows, numbers: vec![figures], ..PlainTable::default() };
        screen.line(&(table.wrapped(screen.style).join("\n") + "\n"));
    }
}

/// Characters that are no line of their own below a row.
const FEW_WORDS: usize = 15;
/// Characters of a line from which on a sentence below a row may take two: a screen of wide lines
/// has fewer of them.
const WIDE: usize = 84;

/// Heads of columns with their places.
type Columns<'a> = Vec<(usize, &'a Head)>;

fn rows(table: &Table, screen: &mut Screen) {
    let style = screen.style;
    let title = fit(&table.title, LONGEST_CELL);
    if title.contains("  ") {
        screen.title(&title)
    } else {
        screen.headings(&title)
    }
    if table.columns.is_empty() || table.rows.is_empty() {
        if !table.columns.is_empty() && table.notes.is_empty() {
            screen.line("  none");
        }
        return notes(table, &[], screen);
    }
    let heads = table.on_screen(style.wide).into_iter();
    let (below, heads): (Columns<'_>, Columns<'_>) =
        heads.partition(|(_, head)| matches!(head.level, Level::Below | Level::Titled));
    let header = heads.iter().map(|(_, head)| safe(&head.title.to_uppercase())).collect();
    let is_figures = |index: &usize| table.is_figures(heads[*index].0);
    let numbers: Vec<usize> = (0..heads.len()).filter(is_figures).collect();
    let orders = heads.iter().map(|(_, head)| match head.level {
        Level::Narrow(order) | Level::Spare(order) => order,
        _ => 0,
    });
    let mut spare: Vec<(u8, usize)> = orders.zip(0..).filter(|(order, _)| *order > 0).collect();
    spare.sort_unstable_by(|left, right| right.cmp(left));
    let spare: Vec<usize> = spare.into_iter().map(|(_, index)| index).collect();
    // In a list of a few, what several rows say alike stands once.
    let is_brief = table.most.is_some() && !below.is_empty() && !style.lists_members();
    let places: Vec<usize> = heads.iter().chain(&below).map(|(place, _)| *place).collect();
    let says_alike = |left: &Vec<Value>, right: &Vec<Value>| {
        is_brief && places.iter().all(|place| left.get(*place) == right.get(*place))
    };
    let runs: Vec<&[Vec<Value>]> = table.rows.chunk_by(says_alike).collect();
    let runs = &runs[..style.shown(runs.len(), table.most.unwrap_or(SHOWN))];
    let most = runs.iter().map(|run| run.len()).sum();
    let longest = match heads.len() {
        0..=MANY => LONGEST_CELL,
        _ => LONGEST_OF_MANY,
    };
    let rows = runs.iter().map(|run| {
        let cells = heads.iter().map(|(place, _)| run[0].get(*place).map_or(String::new(), shown));
        let mut cells: Vec<String> = cells.map(|cell| fit(&cell, longest)).collect();
        if let (Some(cell), 2..) = (cells.first_mut(), run.len()) {
            *cell = format!("{} × {cell}", run.len());
        }
        cells
    });
    // Where a screen has words of its own, the name of a row gives way.
    let is_own = |(_, head): &(usize, &Head)| matches!(head.level, Level::Spare(_));
    let name = (0..heads.len()).find(|index| !is_figures(index));
    let gives = name.filter(|_| heads.iter().any(is_own));
    let drawn = PlainTable { header, rows: rows.collect(), numbers, gives, spare };
    let mut dropped = Vec::new();
    if below.is_empty() {
        let lines = match drawn.spare.is_empty() {
            true => drawn.wrapped(style),
            false => drawn.lines_in(style),
        };
        dropped = drawn.skipped(style);
        screen.line(lines.join("\n").trim_end_matches('\n'));
    } else {
        listed(&drawn, runs.iter().map(|run| &run[0]), &below, screen);
    }
    screen.skipped(table.rows.len() - most, table.noun, table.worth_behind(most));
    notes(table, &dropped, screen);
}

/// Rows without a header, each with its sentences below it: a line each, unless every row is
/// shown with all it says.
fn listed<'a>(
    drawn: &PlainTable,
    rows: impl Iterator<Item = &'a Vec<Value>>,
    below: &[(usize, &Head)],
    screen: &mut Screen,
) {
    let style = screen.style;
    for (lines, row) in drawn.rows_in(style, 2).iter().zip(rows) {
        lines.iter().for_each(|line| screen.line(&format!("  {line}")));
        for (place, head) in below {
            let Some(value) = row.get(*place).filter(|value| **value != Value::Absent) else {
                continue;
            };
            let sentence = match head.level {
                Level::Titled => format!("{}: {}", head.title, shown(value)),
                _ => shown(value),
            };
            let sentence = match style.lists_members() {
                true => fit(&sentence, LONGEST_SENTENCE),
                false => beginning(&sentence, style.width.saturating_sub(6)).to_owned(),
            };
            screen.hanging("      ", 6, &sentence);
        }
    }
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

/// A plot as bars of characters.
fn sketch(plot: &Plot, screen: &mut Screen) {
    screen.heading(&plot.title.to_uppercase());
    for (name, line) in plot.lines(screen.style.ascii) {
        screen.line(&format!("  {name}  {line}"));
    }
    plot.notes.iter().for_each(|note| screen.hanging("  ", 2, note));
    screen.line("");
}

/// What stands below the rows, and which columns the width has no room for.
fn notes(table: &Table, dropped: &[String], screen: &mut Screen) {
    for note in &table.notes {
        screen.hanging("  ", 2, &fit(note, LONGEST_SENTENCE));
    }
    if !dropped.is_empty() {
        let (width, names) = (screen.style.width, dropped.join(", "));
        let how = "`--format wide` shows every column";
        let hidden = format!("hidden at {width} columns: {names}; {how}");
        screen.hanging("  ", 2, &fit(&hidden, LONGEST_SENTENCE));
    }
    screen.line("");
}
