//! `--format markdown`: a document for a wiki, a ticket or a message, what it says first.

use super::{Doc, Head, Level, Table, Value, shown};
use crate::report::shared::markdown::{command, text};
use crate::report::shared::style::worth_words;
use crate::report::shared::text::counted;

/// Rows of a sheet, and items of a list, before the rest is counted.
const SHOWN: usize = 20;
/// Characters of a cell and of a sentence, of which marks that combine take no column.
const LONGEST_CELL: usize = 300;
const LONGEST_SENTENCE: usize = 1_600;
/// Bytes before which rows, notes and items end and the rest of them is counted: a comment has
/// room for 65,536, with the titles.
const FULL: usize = 56_000;

/// A document as GitHub-flavoured Markdown. Words from outside are shown and never read as
/// markup, links or mentions.
pub fn doc_markdown(doc: &Doc) -> String {
    let mut out = format!("### {}\n", text(&doc.headline));
    for line in &doc.about {
        out += &format!("\n{}\n", text(line));
    }
    if !doc.given.is_empty() {
        let given = doc.given.iter().map(|input| {
            let source = text(&input.source);
            format!("{}: {} ({source})", input.name, text(&shown(&input.value)))
        });
        out += &format!("\n{}\n", given.collect::<Vec<_>>().join(" · "));
    }
    for step in &doc.steps {
        let [name, arithmetic] = [&step.name, &step.arithmetic].map(|words| text(words));
        out += &format!("\n- {name}: {arithmetic} → {}\n", text(&shown(&step.result)));
    }
    for part in doc.said().flat_map(|table| table.screens(false)) {
        rows(&part, &mut out);
    }
    for (title, sentences) in doc.remarks() {
        list(title, sentences.iter().map(|sentence| text(sentence)), &mut out);
    }
    list("Next", doc.next.iter().map(|words| command(words)), &mut out);
    if !doc.closing.is_empty() {
        out += &format!("\n**{}**\n", text(&doc.closing));
    }
    out
}

fn rows(table: &Table, out: &mut String) {
    if table.is_folded {
        *out += &format!("\n<details>\n<summary>{}</summary>\n", text(&table.title));
    } else if !table.title.is_empty() {
        *out += &format!("\n**{}**\n", text(&table.title));
    }
    if !table.columns.is_empty() {
        cells(table, out);
    }
    items("\n", table.notes.iter().map(|note| text(note)), out);
    if table.is_folded {
        *out += "\n</details>\n";
    }
}

fn cells(table: &Table, out: &mut String) {
    let mut drawn = 0;
    if table.rows.is_empty() {
        *out += "\nnone\n";
    } else {
        let columns = table.on_screen(false);
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        *out += "\n";
        *out += &line(columns.iter().map(|(_, head)| text(&head.title)).collect());
        let rule = |place: usize| if table.is_figures(place) { "--:" } else { "---" };
        *out += &line(columns.iter().map(|(place, _)| rule(*place).to_owned()).collect());
        for row in table.rows.iter().take(table.most.unwrap_or(SHOWN)) {
            let cells = columns.iter().map(|(place, head)| cell(head, row.get(*place)));
            let line = line(cells.collect());
            if out.len() + line.len() > FULL {
                break;
            }
            *out += &line;
            drawn += 1;
        }
    }
    let rest = table.rows.len() - drawn;
    if rest > 0 {
        let (singular, many) = table.noun;
        let rest = counted(rest, &format!("more {singular}"), &format!("more {many}"));
        let worth = worth_words(table.worth_behind(drawn));
        *out += &format!("\n… and {rest}{worth}: see `--format json`\n");
    }
}

fn cell(head: &Head, value: Option<&Value>) -> String {
    let words = value.map_or_else(String::new, shown);
    let most = match head.level {
        Level::Below | Level::Titled => LONGEST_SENTENCE,
        _ => LONGEST_CELL,
    };
    text(&words.chars().take(most).collect::<String>())
}

fn list(title: &str, items: impl Iterator<Item = String>, out: &mut String) {
    let mut items = items.peekable();
    if items.peek().is_some() {
        *out += &format!("\n**{title}**\n\n");
        self::items("- ", items, out);
    }
}

/// Lines behind a mark, as many as are usual and as there is room for.
fn items(mark: &str, lines: impl Iterator<Item = String>, out: &mut String) {
    let mut lines = lines.enumerate();
    while let Some((drawn, line)) = lines.next() {
        if drawn == SHOWN || out.len() + line.len() > FULL {
            let rest = counted(1 + lines.count(), "more line", "more lines");
            *out += &format!("\n… and {rest}: see `--format json`\n");
            return;
        }
        *out += &format!("{mark}{line}\n");
    }
}

#[cfg(test)]
mod tests {
    use super::super::column;
    use super::*;

    #[test]
    fn a_comment_ends_before_it_is_full_and_counts_the_rest() {
        let name = "n".repeat(290);
        let blank = Head { level: Level::Screen, ..column("blank", "blank") };
        let table = Table {
            title: "ROWS".to_owned(),
            noun: ("row", "rows"),
            columns: [vec![column("name", "name"); 9], vec![blank]].concat(),
            rows: vec![[vec![Value::text(name.as_str()); 9], vec![Value::Absent]].concat(); 30],
            notes: vec![name.clone(); 30],
            is_folded: true,
            ..Table::default()
        };
        let doc = Doc {
            tables: vec![table.clone(), table],
            caveats: vec![name.clone(); 30],
            ..Doc::default()
        };
        let markdown = doc_markdown(&doc);
        assert!((50_000..=65_536).contains(&markdown.len()));
        assert!(markdown.contains("<summary>ROWS</summary>"), "{markdown}");
        assert!(!markdown.contains("blank"), "{markdown}");
        let hidden = |noun: &str| -> usize {
            let lines = markdown.lines().filter_map(|line| {
                let (number, rest) = line.strip_prefix("… and ")?.split_once(" more ")?;
                rest.starts_with(noun).then(|| number.parse::<usize>().expect("a number"))
            });
            lines.sum()
        };
        let shown = |begin: &str| markdown.lines().filter(|line| line.starts_with(begin)).count();
        assert_eq!(shown("| nn") + hidden("row"), 60);
        // The notes of both tables, and the caveats.
        assert_eq!(shown("nn") + shown("- nn") + hidden("line"), 90);
    }
}
