//! Lists of real figures, and what of them the catalog has.

use crate::support::data::shared;
use rust_decimal::Decimal;
use std::collections::HashMap;
use std::path::Path;

/// One line of a list by the names of its columns.
pub struct Line(HashMap<String, String>);

impl Line {
    /// A cell; the column must be there.
    pub fn get(&self, column: &str) -> &str {
        self.0.get(column).unwrap_or_else(|| panic!("the list has a column {column}"))
    }

    /// A cell that holds a number or nothing; without trailing zeros.
    pub fn amount(&self, column: &str) -> Option<Decimal> {
        let cell = self.get(column);
        (!cell.is_empty()).then(|| cell.parse::<Decimal>().expect("a number").normalize())
    }
}

/// The lines of a price list, when it is at hand.
pub fn lines(list: &str) -> Option<Vec<Line>> {
    Some(lines_of(&shared(list, "prices")?.join(list)))
}

/// The lines of a file of the catalog.
pub fn book(file: &str) -> Vec<Line> {
    lines_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("pricing-data").join(file))
}

fn lines_of(path: &Path) -> Vec<Line> {
    let mut reader = csv::Reader::from_path(path).expect("the list opens");
    reader.deserialize().map(|line| Line(line.expect("a whole line"))).collect()
}

/// How much of a list the catalog has.
pub struct Tally {
    list: String,
    pub compared: usize,
    pub missing: Vec<String>,
}

impl Tally {
    pub fn of(list: &str) -> Self {
        Self { list: list.to_owned(), compared: 0, missing: Vec::new() }
    }

    /// Compares a listed figure with what the catalog says of it.
    pub fn compare<T: PartialEq + std::fmt::Debug>(
        &mut self,
        what: &str,
        listed: T,
        book: Option<T>,
    ) {
        match book {
            None => self.missing.push(what.to_owned()),
            Some(book) => {
                assert_eq!(book, listed, "{}: {what}", self.list);
                self.compared += 1;
            }
        }
    }

    /// Says how much was compared, and that nothing is missing.
    pub fn complete(self) -> usize {
        println!("{}: {} compared, {} missing", self.list, self.compared, self.missing.len());
        assert_eq!(self.missing, Vec::<String>::new(), "{}", self.list);
        self.compared
    }
}
