//! `--format slack`: an answer in Block Kit, as an incoming webhook takes it.

use super::{Doc, Table, Value, shown};
use crate::report::shared::slack::{
    MOST_BLOCKS, MOST_IN_MESSAGE, Message, command, context, escape, section, sentence,
};
use crate::report::shared::text::{counted, fit, json_document};
use serde_json::Value as Json;

/// Rows of a sheet before the rest is counted: with them a section stays below its limit.
const SHOWN: usize = 8;
/// Columns of a cell.
const CELL_WIDTH: usize = 60;

/// What makes a block of a text.
type Block = fn(&str) -> Json;
type Text = (Block, String);

/// An answer as a message for Slack: the headline, the figures, and as much of everything else
/// as a message holds.
///
/// # Errors
/// When a value cannot be written as JSON.
pub fn doc_slack(answer: &Doc) -> Result<String, serde_json::Error> {
    let mut texts: Vec<Text> = vec![(section, format!("*{}*", sentence(&answer.headline)))];
    if !answer.given.is_empty() {
        let given = answer.given.iter();
        let given =
            given.map(|input| format!("{}: {}", input.name, sentence(&shown(&input.value))));
        texts.push((context, given.collect::<Vec<_>>().join(" · ")));
    }
    let tables = answer.said().flat_map(|table| table.screens(false));
    texts.extend(tables.map(|table| (section as Block, rows(&table))));
    let caveats = answer.caveats.iter();
    texts.extend(caveats.map(|caveat| (context as Block, format!("! {}", sentence(caveat)))));
    texts.extend(answer.missing.iter().map(|gap| {
        let words = format!("{}: {}", gap.what, gap.remedy);
        (context as Block, format!("missing: {}", sentence(&words)))
    }));
    let next = answer.next.iter().map(|words| command(words)).collect::<Vec<_>>().join("\n");
    let mut used = next.chars().count();
    let fits = |(_, words): &&Text| {
        used += words.chars().count();
        used <= MOST_IN_MESSAGE
    };
    // The last two blocks say what is left out and what to type next.
    let room = MOST_BLOCKS - 2;
    let most = texts.iter().take(room).take_while(fits).count();
    let mut blocks: Vec<Json> = texts[..most].iter().map(|(block, words)| block(words)).collect();
    let hidden = texts.len() - most;
    if hidden > 0 {
        let more = counted(hidden, "more part", "more parts");
        blocks.push(context(&format!("… and {more}: see `--format markdown`")));
    }
    if !next.is_empty() {
        blocks.push(section(&next));
    }
    json_document(&Message { text: escape(&answer.headline), blocks })
}

/// A line for each row, below one with the names of the columns.
fn rows(sheet: &Table) -> String {
    let mut lines = vec![format!("*{}*", sentence(&sheet.title))];
    if sheet.rows.is_empty() {
        if sheet.columns.is_empty() {
            lines.extend(sheet.notes.iter().map(|note| sentence(note)));
        } else {
            lines.push("none".to_owned());
        }
        return lines.join("\n");
    }
    let columns = sheet.on_screen(false).into_iter();
    let (places, titles): (Vec<usize>, Vec<String>) =
        columns.map(|(place, column)| (place, sentence(&column.title))).unzip();
    lines.push(format!("_{}_", titles.join(" · ")));
    for row in sheet.rows.iter().take(SHOWN) {
        let cells = places.iter().filter_map(|place| row.get(*place));
        lines.push(cells.map(cell).collect::<Vec<_>>().join(" · "));
    }
    let rest = sheet.rows.len().saturating_sub(SHOWN);
    if rest > 0 {
        let (singular, many) = sheet.noun;
        let more = counted(rest, &format!("more {singular}"), &format!("more {many}"));
        lines.push(format!("… and {more}"));
    }
    lines.join("\n")
}

/// A cell; words from outside are code, so that no emphasis or emoji is made of them.
fn cell(figure: &Value) -> String {
    let words = fit(&shown(figure), CELL_WIDTH);
    match figure {
        Value::Text(_) => command(&words),
        _ => escape(&words),
    }
}
