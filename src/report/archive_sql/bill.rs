//! The statement that adds up lines of a bill by resource and hour.
//!
//! Amortized costs of AWS are as its Cloud Intelligence Dashboards define them
//! (`cid/builtin/core/data/queries/cid/summary_view.sql` of 2026-08-14).

use super::dialect::{CHECKS, Dialect, block, check, expanded, fill};

const BILL: &str = include_str!("bill.sql");
/// A column in each line: what statements call it, what it is read as, whether a bill has it,
/// and what bills call it; of AWS, the second name is that of [`BillFormat::LegacyCur`].
const COLUMNS: &str = include_str!("bill_columns.txt");

/// A format of bills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BillFormat {
    /// Version 2 of AWS's Cost and Usage Report; the version before it, as Parquet.
    Cur2,
    /// The version before it, as CSV.
    LegacyCur,
    /// FOCUS, 1.0 to 1.3.
    Focus,
}

struct Column {
    /// What statements call it.
    own: &'static str,
    /// Its name in the bill.
    name: &'static str,
    read: &'static str,
    need: &'static str,
}

/// Lines of a bill, and how an engine reads them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillLines {
    pub dialect: Dialect,
    /// What comes after `from`, quoted.
    pub from: String,
    pub format: BillFormat,
    /// Columns that are there though few bills have them.
    pub with: Vec<String>,
    /// Columns that are not there though most bills have them.
    pub without: Vec<String>,
    /// Whether amounts may be texts, in which a word stands for none, as in CSV.
    pub is_text: bool,
}

/// The hours of resources. Amounts are decimals with twelve places, each beside the number of
/// lines that state it: a difference of two has room in 38 digits, and so has a sum.
pub fn bill_statement(lines: &BillLines) -> String {
    let mut hours = block(BILL, "hours").to_owned();
    for part in ["line", "otherwise"] {
        hours = hours.replace(&format!("{{{part}}}"), lines.format.part(part));
    }
    filled(lines, &lines.dialect.worded(&expanded(&hours, BILL)))
}

fn filled(lines: &BillLines, text: &str) -> String {
    fill(
        text,
        &[
            ("period", &lines.dialect.date("b.first_day")),
            ("columns", &lines.columns()),
            ("lines", &lines.from),
            ("counted", lines.format.part("counted")),
        ],
    )
}

/// How many lines there are (`n`), and how many are added up (`counted`): all but copies of
/// instances that are divided among pods.
pub fn lines_statement(lines: &BillLines) -> String {
    filled(lines, block(CHECKS, "lines"))
}

/// The check of a bill, and the statement of its hours.
pub fn bill_script(lines: &BillLines) -> String {
    let check = check("lines said", &lines_statement(lines));
    format!("{check}-- bill\n{};\n\n", bill_statement(lines))
}

impl BillLines {
    /// The columns of the bill under the names of the statement.
    fn columns(&self) -> String {
        let columns = self.format.columns();
        let columns = columns.map(|column| format!("{} as {}", self.read(&column), column.own));
        columns.collect::<Vec<String>>().join(",\n        ")
    }

    fn read(&self, column: &Column) -> String {
        let is_in = |names: &[String]| names.iter().any(|name| name == column.name);
        let is_there = match column.need {
            "usual" => !is_in(&self.without),
            "rare" => is_in(&self.with),
            _ => true,
        };
        let title = match (column.read, is_there) {
            ("amount", true) if self.is_text => "column of amount in text".to_owned(),
            (read, true) => format!("column of {read}"),
            (read, false) => format!("no column of {read}"),
        };
        let text = self.dialect.worded(&expanded(block(BILL, &title), BILL));
        text.replace("{column}", &self.dialect.ident(column.name))
    }
}

impl BillFormat {
    /// The title of what is written for it, and of its columns.
    fn title(self) -> &'static str {
        if matches!(self, Self::Cur2 | Self::LegacyCur) { "cur" } else { "focus" }
    }

    /// A part of the statement that differs between formats.
    fn part(self, name: &str) -> &'static str {
        block(BILL, &format!("{} {name}", self.title()))
    }

    fn columns(self) -> impl Iterator<Item = Column> {
        let place = usize::from(self == Self::LegacyCur);
        block(COLUMNS, self.title()).lines().filter_map(move |line| {
            let mut cells = line.split_whitespace();
            Some(Column {
                own: cells.next()?,
                read: cells.next()?,
                need: cells.next()?,
                name: cells.nth(place)?,
            })
        })
    }

    /// The names of the columns without which a table is not a bill of this format.
    pub fn required(self) -> impl Iterator<Item = &'static str> {
        self.columns().filter(|column| column.need == "required").map(|column| column.name)
    }

    /// The names of all columns that statements read, and whether each is expected.
    pub fn known(self) -> impl Iterator<Item = (&'static str, bool)> {
        self.columns().map(|column| (column.name, column.need != "rare"))
    }
}
