//! `--format markdown`: an answer for a wiki, a ticket or a message, what it says first.

use super::table::shown;
use super::{Answer, Column, Figure, Sheet};
use crate::report::shared::markdown::escape::{command, text};
use crate::report::shared::text::counted;
use std::fmt::Write;

/// Rows of a sheet before the rest is counted.
const SHOWN: usize = 20;

/// An answer as GitHub-flavoured Markdown. Words from outside are shown and never read as
/// markup, links or mentions.
pub fn answer_markdown(answer: &Answer) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = draw(answer, &mut out);
    out
}

fn draw(answer: &Answer, out: &mut String) -> std::fmt::Result {
    writeln!(out, "### {}", text(&answer.headline))?;
    if !answer.given.is_empty() {
        let given = answer.given.iter();
        let given = given.map(|one| format!("{}: {}", one.name, text(&shown(&one.value))));
        writeln!(out, "\n{}", given.collect::<Vec<_>>().join(" · "))?;
    }
    for step in &answer.steps {
        let [name, arithmetic] = [&step.name, &step.arithmetic].map(|words| text(words));
        let result = text(&shown(&step.result));
        writeln!(out, "\n- {name}: {arithmetic} → {result}")?;
    }
    for sheet in &answer.sheets {
        rows(sheet, out)?;
    }
    list("Caveats", answer.caveats.iter().map(|one| text(one)), out)?;
    let missing = answer.missing.iter();
    let missing = missing.map(|one| text(&format!("{}: {}", one.what, one.remedy)));
    list("Missing data", missing, out)?;
    list("Next", answer.next.iter().map(|one| command(one)), out)
}

fn rows(sheet: &Sheet, out: &mut String) -> std::fmt::Result {
    writeln!(out, "\n**{}**\n", text(&sheet.title))?;
    if sheet.rows.is_empty() {
        return writeln!(out, "none");
    }
    let columns = sheet.columns.iter().enumerate();
    let columns: Vec<(usize, &Column)> = columns.filter(|(_, one)| !one.is_detail).collect();
    let is_number = |place: usize| {
        let mut known = sheet.rows.iter().filter_map(|row| row.get(place));
        known.any(|one| *one != Figure::Absent && !one.is_words())
    };
    let titles = columns.iter().map(|(_, column)| column.title);
    writeln!(out, "| {} |", titles.collect::<Vec<_>>().join(" | "))?;
    let rule = |(place, _): &(usize, &Column)| if is_number(*place) { "--:" } else { "---" };
    let rules = columns.iter().map(rule);
    writeln!(out, "| {} |", rules.collect::<Vec<_>>().join(" | "))?;
    for row in sheet.rows.iter().take(SHOWN) {
        let cells = columns.iter().map(|(place, _)| cell(row.get(*place)));
        writeln!(out, "| {} |", cells.collect::<Vec<_>>().join(" | "))?;
    }
    let rest = sheet.rows.len().saturating_sub(SHOWN);
    if rest > 0 {
        let (one, many) = sheet.noun;
        let rest = counted(rest as u64, &format!("more {one}"), &format!("more {many}"));
        writeln!(out, "\n… and {rest}: see `--format json`")?;
    }
    Ok(())
}

fn cell(figure: Option<&Figure>) -> String {
    figure.map_or_else(String::new, |figure| text(&shown(figure)))
}

fn list(title: &str, items: impl Iterator<Item = String>, out: &mut String) -> std::fmt::Result {
    let mut items = items.peekable();
    if items.peek().is_none() {
        return Ok(());
    }
    writeln!(out, "\n**{title}**\n")?;
    for item in items {
        writeln!(out, "- {item}")?;
    }
    Ok(())
}
