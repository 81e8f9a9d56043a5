//! A page that stays below the size of a comment: sections take turns in the
//! order of their weight, and what does not fit is counted.

use super::escape::command;
use crate::report::shared::text::counted;
use std::borrow::Cow;

/// Bytes of a page. GitHub takes 65 536 characters; what is left is for words
/// that a pipeline adds.
pub(in crate::report) const MOST_BYTES: usize = 65_000;

/// A list or table with a title.
pub(in crate::report) struct Section {
    /// In own words only: nothing here is escaped.
    pub(in crate::report) title: String,
    /// Whether it is shown only when somebody opens it.
    pub(in crate::report) folded: bool,
    /// The header of a table; nothing for a list.
    pub(in crate::report) columns: Cow<'static, [Column]>,
    /// Its rows, most important first.
    pub(in crate::report) rows: Vec<Row>,
    /// What a row is, for one and for many.
    pub(in crate::report) noun: (&'static str, &'static str),
}

#[derive(Clone)]
pub(in crate::report) struct Column {
    title: &'static str,
    to_the_right: bool,
}

pub(in crate::report) const fn words(title: &'static str) -> Column {
    Column {
        title,
        to_the_right: false,
    }
}

pub(in crate::report) const fn figures(title: &'static str) -> Column {
    Column {
        title,
        to_the_right: true,
    }
}

pub(in crate::report) struct Row {
    line: String,
}

impl Row {
    /// Of a table, from cells that are escaped.
    pub(in crate::report) fn of_cells(cells: &[String]) -> Self {
        Self {
            line: format!("| {} |\n", cells.join(" | ")),
        }
    }

    /// Of a list, from a line that is escaped.
    pub(in crate::report) fn of_list(line: &str) -> Self {
        Self {
            line: format!("- {line}\n"),
        }
    }
}

/// A page: what is always there, and sections between.
pub(in crate::report) struct Page {
    /// The headline and what stands below it.
    pub(in crate::report) head: String,
    /// The sections, most important first; empty ones are left out.
    pub(in crate::report) sections: Vec<Section>,
    pub(in crate::report) foot: String,
    /// The command that shows everything, of bounded length.
    pub(in crate::report) again: String,
}

impl Page {
    /// The whole text. A section gets at most half of the room that is left, the
    /// last one all of it.
    pub(in crate::report) fn text(self) -> String {
        let again = format!("run {}", command(&self.again));
        let sections: Vec<&Section> = self
            .sections
            .iter()
            .filter(|section| !section.rows.is_empty())
            .collect();
        let frames: usize = sections.iter().map(|one| one.frame_bytes(&again)).sum();
        let mut left = MOST_BYTES.saturating_sub(self.head.len() + self.foot.len() + frames);
        let mut text = self.head;
        for (index, section) in sections.iter().enumerate() {
            let is_last = index + 1 == sections.len();
            let room = if is_last { left } else { left / 2 };
            let (shown, taken) = section.fitting(room);
            left -= taken;
            section.draw(shown, &again, &mut text);
        }
        text.push_str(&self.foot);
        text
    }
}

impl Section {
    /// How many rows fit, and their bytes.
    fn fitting(&self, room: usize) -> (usize, usize) {
        let mut taken = 0;
        for (index, row) in self.rows.iter().enumerate() {
            if taken + row.line.len() > room {
                return (index, taken);
            }
            taken += row.line.len();
        }
        (self.rows.len(), taken)
    }

    /// At most so many bytes besides its rows.
    fn frame_bytes(&self, again: &str) -> usize {
        // The sum of some rows may take more digits than that of all.
        let digits = 40;
        let frame = self.opening().len() + self.closing().len();
        frame + self.left_out(0, again).len() + digits
    }

    fn opening(&self) -> String {
        let mut text = if self.folded {
            format!("<details>\n<summary>{}</summary>\n\n", self.title)
        } else {
            format!("**{}**\n\n", self.title)
        };
        if !self.columns.is_empty() {
            let line = |cell: fn(&Column) -> &'static str| {
                let cells: Vec<&str> = self.columns.iter().map(cell).collect();
                format!("| {} |\n", cells.join(" | "))
            };
            text.push_str(&line(|column| column.title));
            text.push_str(&line(|column| match column.to_the_right {
                true => "--:",
                false => "---",
            }));
        }
        text
    }

    fn closing(&self) -> &'static str {
        if self.folded {
            "\n</details>\n\n"
        } else {
            "\n"
        }
    }

    /// What is said about the rows after so many.
    fn left_out(&self, shown: usize, again: &str) -> String {
        let hidden = &self.rows[shown..];
        if hidden.is_empty() {
            return String::new();
        }
        let (one, many) = self.noun;
        let rows = counted(
            hidden.len() as u64,
            &format!("more {one}"),
            &format!("more {many}"),
        );
        format!("\n… and {rows}: {again}\n")
    }

    fn draw(&self, shown: usize, again: &str, out: &mut String) {
        out.push_str(&self.opening());
        for row in &self.rows[..shown] {
            out.push_str(&row.line);
        }
        out.push_str(&self.left_out(shown, again));
        out.push_str(self.closing());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(rows: usize, bytes: usize) -> String {
        let row = || Row::of_list(&"x".repeat(bytes));
        let section = |folded| Section {
            title: "Plan".to_owned(),
            folded,
            columns: Cow::Borrowed(&[]),
            rows: (0..rows).map(|_| row()).collect(),
            noun: ("action", "actions"),
        };
        let page = Page {
            head: "### head\n\n".to_owned(),
            sections: vec![section(false), section(true)],
            foot: "foot\n".to_owned(),
            again: "gpucost audit --demo".to_owned(),
        };
        page.text()
    }

    #[test]
    fn what_fits_is_whole() {
        let text = page(2, 3);
        assert_eq!(
            text,
            "### head\n\n**Plan**\n\n- xxx\n- xxx\n\n<details>\n<summary>Plan</summary>\n\n\
             - xxx\n- xxx\n\n</details>\n\nfoot\n"
        );
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        for rows in [100, 1_000, 50_000] {
            let text = page(rows, 97);
            assert!(text.len() <= MOST_BYTES, "{} bytes", text.len());
            let shown = text.matches("- xxx").count();
            let hidden: Vec<u64> = text
                .lines()
                .filter_map(|line| line.strip_prefix("… and "))
                .map(|line| {
                    let (number, rest) = line.split_once(" more actions").expect("a number");
                    let number: u64 = number.replace(',', "").parse().expect("a number");
                    assert_eq!(rest, ": run `gpucost audit --demo`");
                    number
                })
                .collect();
            assert_eq!(shown as u64 + hidden.iter().sum::<u64>(), 2 * rows as u64);
            // A hundred rows of a hundred bytes in each of two sections fit.
            assert_eq!(hidden.is_empty(), rows == 100);
        }
    }

    #[test]
    fn a_row_larger_than_the_page_is_left_out_by_count() {
        let text = page(1, 100_000);
        assert!(text.len() <= MOST_BYTES, "{} bytes", text.len());
        assert_eq!(text.matches("… and 1 more action: run").count(), 2);
    }
}
