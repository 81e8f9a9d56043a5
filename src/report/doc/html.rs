//! `--format html`: one file for readers away from a terminal. No network and no script.

use super::plot::plots;
use super::{Doc, Step, Table, shown};
use crate::report::shared::markup::{NAME, Page, SENTENCE, begin, cut};

/// A document as a page that stands alone.
pub fn doc_html(doc: &Doc) -> String {
    let mut page = begin(&doc.headline);
    page.fill("<header>\n<h1>gpucost {}</h1>\n", &[&doc.name]);
    for line in std::iter::once(&doc.headline).chain(&doc.about) {
        page.fill("<p class=\"scope\">{}</p>\n", &[&cut(line, SENTENCE)]);
    }
    page.markup("</header>\n<main>\n");
    body(doc, &mut page);
    if !doc.closing.is_empty() {
        page.fill("<p><b>{}</b></p>\n", &[&cut(&doc.closing, SENTENCE)]);
    }
    page.markup("</main>\n</body>\n</html>\n");
    page.finish()
}

/// Everything below the headline.
fn body(doc: &Doc, page: &mut Page) {
    let given = doc.given.iter();
    let given =
        given.map(|input| format!("{}: {} ({})", input.name, shown(&input.value), input.source));
    notes("Given", &given.collect::<Vec<_>>(), page);
    if !doc.steps.is_empty() {
        let cells = |Step { name, arithmetic, result }: &Step| {
            vec![name.clone(), arithmetic.clone(), shown(result)]
        };
        let columns = [("step", false), ("arithmetic", false), ("result", true)];
        list("arithmetic", "Arithmetic", &columns, doc.steps.iter().map(cells), page);
    }
    for table in doc.said() {
        for (number, part) in table.screens(true).iter().enumerate() {
            section(part, number, page);
        }
    }
    plots(&doc.plots, page);
    for (name, lines) in doc.remarks() {
        notes(name, &lines, page);
    }
    notes("Next", &doc.next, page);
}

/// A table; `number` tells those of one key apart.
fn section(table: &Table, number: usize, page: &mut Page) {
    let title = title(&table.title);
    if table.columns.is_empty() {
        page.fill("<h2>{}</h2>\n", &[&title]);
        return notes_of(table, page);
    }
    let heads = table.on_screen(true);
    let is_figures = |place: usize| place > 0 && table.is_figures(place);
    let columns = heads.iter().map(|(place, head)| (head.title.as_ref(), is_figures(*place)));
    let rows = table.rows.iter().map(|row| {
        heads.iter().map(|(place, _)| row.get(*place).map_or(String::new(), shown)).collect()
    });
    let key = match number {
        0 => table.key.to_owned(),
        _ => format!("{}-{number}", table.key),
    };
    list(&key, &title, &columns.collect::<Vec<_>>(), rows, page);
    notes_of(table, page);
}

/// A section with one table below its heading. The first column names the rows; a title stands
/// with whether its column has figures.
fn list(
    key: &str,
    title: &str,
    columns: &[(&str, bool)],
    rows: impl Iterator<Item = Vec<String>>,
    page: &mut Page,
) {
    page.fill("<section id=\"{}\">\n<h2>{}</h2>\n", &[&key, &title]);
    page.markup("<div class=\"scroll\" role=\"region\" tabindex=\"0\" ");
    page.fill("aria-label=\"{}\">\n<table class=\"list\">\n<thead><tr>", &[&title]);
    for (title, is_figure) in columns {
        let cell = match is_figure {
            true => "<th scope=\"col\" class=\"n\">{}</th>",
            false => "<th scope=\"col\">{}</th>",
        };
        page.fill(cell, &[title]);
    }
    page.markup("</tr></thead>\n<tbody>\n");
    for row in rows {
        page.markup("<tr>");
        for (place, (cell, (_, is_figure))) in row.iter().zip(columns).enumerate() {
            let (markup, most) = match is_figure {
                _ if place == 0 => ("<th scope=\"row\">{}</th>", NAME),
                true => ("<td class=\"n\">{}</td>", NAME),
                false if cell.contains(' ') => ("<td class=\"words\">{}</td>", SENTENCE),
                false => ("<td>{}</td>", SENTENCE),
            };
            page.fill(markup, &[&cut(cell, most)]);
        }
        page.markup("</tr>\n");
    }
    page.markup("</tbody>\n</table>\n</div>\n</section>\n");
}

fn notes_of(table: &Table, page: &mut Page) {
    for note in &table.notes {
        page.fill("<p class=\"note\">{}</p>\n", &[&cut(note, SENTENCE)]);
    }
}

/// A heading of a table as one of a page: its words in capitals are for terminals.
fn title(text: &str) -> String {
    let (head, rest) = text.split_once("  ").unwrap_or((text, ""));
    let word = |(place, word): (usize, &str)| match word {
        "AWS" | "CPU" | "EC2" | "GPU" | "MIG" | "VRAM" => word.to_owned(),
        "GPUS" => "GPUs".to_owned(),
        _ if place == 0 => format!("{}{}", &word[..1], word[1..].to_lowercase()),
        _ => word.to_lowercase(),
    };
    // What is not in capitals is a name, or says itself how it is written.
    let is_heading = head.is_ascii() && head == head.to_uppercase();
    let head = match is_heading {
        true => head.split_whitespace().enumerate().map(word).collect::<Vec<_>>().join(" "),
        false => head.to_owned(),
    };
    match rest {
        "" => head,
        rest => format!("{head}: {rest}"),
    }
}

fn notes(name: &'static str, lines: &[String], page: &mut Page) {
    if lines.is_empty() {
        return;
    }
    page.fill("<section>\n<h2>{}</h2>\n<ul>\n", &[&name]);
    for line in lines {
        page.fill("<li>{}</li>\n", &[&cut(line, SENTENCE)]);
    }
    page.markup("</ul>\n</section>\n");
}
