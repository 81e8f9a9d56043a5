//! `--format slack`: an answer in Block Kit, as an incoming webhook takes it.

use crate::report::doc::{Doc, Table, Value, shown};
use crate::report::shared::markdown::{SENTENCE_WIDTH, bounded};
use crate::report::shared::text::{counted, fit, json_document};
use serde::Serialize;
use serde_json::{Value as Json, json};

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
    let most = texts.iter().take(MOST_BLOCKS - 2).take_while(fits).count();
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
    if let Value::Text(_) = figure { command(&words) } else { escape(&words) }
}

/// Blocks of one message.
pub const MOST_BLOCKS: usize = 50;
/// Characters of one text.
const MOST_IN_TEXT: usize = 3_000;
/// Characters of all blocks together. Slack states no such limit and refuses
/// messages beyond about 13 000.
pub const MOST_IN_MESSAGE: usize = 10_000;

#[derive(Serialize)]
pub struct Message {
    /// What a notification shows.
    pub text: String,
    pub blocks: Vec<Json>,
}

/// A paragraph.
pub fn section(text: &str) -> Json {
    json!({"type": "section", "text": mrkdwn(text)})
}

/// A line in small letters.
pub fn context(text: &str) -> Json {
    json!({"type": "context", "elements": [mrkdwn(text)]})
}

/// Text in which nothing but what is written becomes a link or a mention.
fn mrkdwn(text: &str) -> Json {
    json!({"type": "mrkdwn", "verbatim": true, "text": cut(text, MOST_IN_TEXT)})
}

/// A text from outside, bounded.
pub fn sentence(text: &str) -> String {
    escape(&bounded(text, SENTENCE_WIDTH))
}

/// A text as code. A backtick would end it, and cannot be escaped.
pub fn command(shown: &str) -> String {
    format!("`{}`", escape(&shown.replace('`', "'")))
}

/// The three characters that Slack gives a meaning.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// At most so many characters, and never half of an entity.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut shown: String = text.chars().take(most - 1).collect();
    if let Some(start) = shown.rfind('&').filter(|start| !shown[*start..].contains(';')) {
        shown.truncate(start);
    }
    shown.push('…');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_person_is_called() {
        assert_eq!(sentence("<!channel> & <@U1>"), "&lt;!channel&gt; &amp; &lt;@U1&gt;");
        assert_eq!(command("a`b<c>"), "`a'b&lt;c&gt;`");
    }

    #[test]
    fn an_entity_is_cut_whole() {
        assert_eq!(cut("abcd", 4), "abcd");
        assert_eq!(cut("abcde", 4), "abc…");
        assert_eq!(cut("a&amp;bcd", 5), "a…");
    }
}
