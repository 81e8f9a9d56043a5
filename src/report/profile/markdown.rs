//! A run for a comment or a notebook: `gpucost profile --format markdown`.

use super::ProfileReport;
use super::blocks::{Block, blocks, facts};
use super::table::title;
use super::words::headline;
use crate::report::shared::markdown::escape::{code, text};
use crate::report::shared::markdown::page::{Page, Row, Section, figures, words};

/// The summary of a run as GitHub-flavoured Markdown, below the size of a comment.
pub fn profile_markdown(report: &ProfileReport) -> String {
    let mut head = format!("### GPU run: {}\n\n", text(&title(&report.profile)));
    for sentence in headline(report) {
        head.push_str(&format!("{}\n\n", text(&sentence)));
    }
    for (name, words) in facts(report) {
        head.push_str(&format!("- {name}: {}\n", text(&words)));
    }
    head.push('\n');
    let page = Page {
        head,
        sections: blocks(report).iter().map(section).collect(),
        foot: String::new(),
        again: "gpucost profile --format json".to_owned(),
    };
    page.text()
}

fn section(block: &Block) -> Section {
    let column = |column: &(&'static str, bool)| {
        let (title, is_figure) = *column;
        if is_figure {
            figures(title)
        } else {
            words(title)
        }
    };
    let cell = |(cell, (title, _)): (&String, &(&'static str, bool))| {
        // Names of programs are whatever a process calls itself.
        if block.key == "processes" && *title == "name" {
            code(cell)
        } else {
            text(cell)
        }
    };
    let row = |cells: &Vec<String>| {
        let escaped: Vec<String> = cells.iter().zip(block.columns).map(cell).collect();
        Row::of_cells(&escaped)
    };
    Section {
        title: block.title.to_owned(),
        folded: !["gpus", "work", "alerts"].contains(&block.key),
        columns: block.columns.iter().map(column).collect(),
        rows: block.rows.iter().map(row).collect(),
        noun: ("row", "rows"),
    }
}
