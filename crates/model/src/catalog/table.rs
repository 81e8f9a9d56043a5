//! Reading the files of the catalog.

use std::cmp::Ordering;

/// An unquoted CSV file, sorted by its leading columns: rows are found by
/// bisection and only those are parsed, so a start costs nothing.
pub(super) struct SortedTable(Vec<&'static str>);

impl SortedTable {
    /// The rows of a file, without its header.
    pub(super) fn new(text: &'static str) -> Self {
        Self(text.lines().skip(1).collect())
    }

    /// The rows whose leading cells are these; without any, all.
    pub(super) fn rows(&self, key: &[&str]) -> &[&'static str] {
        // A name with a comma would read as two cells.
        if key.iter().any(|cell| cell.contains(',')) {
            return &[];
        }
        let from = self.0.partition_point(|row| leading(row, key).is_lt());
        let rows = &self.0[from..];
        &rows[..rows.partition_point(|row| leading(row, key).is_eq())]
    }

    /// The cells of the one row with this key.
    pub(super) fn row(&self, key: &[&str]) -> Option<Vec<&'static str>> {
        Some(self.rows(key).first()?.split(',').collect())
    }
}

/// How the leading cells of a row compare. No cell has a character before the comma.
fn leading(row: &str, key: &[&str]) -> Ordering {
    let mut rest = row.as_bytes();
    for cell in key {
        let (own, after) = rest.split_at(cell.len().min(rest.len()));
        let order = own.cmp(cell.as_bytes());
        if order.is_ne() {
            return order;
        }
        rest = match after.split_first() {
            Some((b',', next)) => next,
            Some(_) => return Ordering::Greater,
            None => after,
        };
    }
    Ordering::Equal
}

/// One row by column name; an empty cell is absent.
pub(super) struct Row {
    header: csv::StringRecord,
    record: csv::StringRecord,
}

impl Row {
    /// A cell.
    pub(super) fn get(&self, column: &str) -> Option<&str> {
        let index = self.header.iter().position(|name| name == column)?;
        self.record.get(index).filter(|cell| !cell.is_empty())
    }

    /// A cell that is not text.
    pub(super) fn parsed<T: std::str::FromStr>(&self, column: &str) -> Option<T> {
        self.get(column)?.parse().ok()
    }
}

/// The rows of a small file.
pub(super) fn rows(text: &'static str) -> impl Iterator<Item = Row> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().cloned().unwrap_or_default();
    let records = reader.into_records().filter_map(Result::ok);
    records.map(move |record| Row { header: header.clone(), record })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_their_leading_cells() {
        let table = SortedTable::new("a,b,c\nx,1,p\nx,2,q\ny,1,r\n");
        assert_eq!(table.rows(&["x"]), ["x,1,p", "x,2,q"]);
        assert_eq!(table.row(&["y", "1"]), Some(vec!["y", "1", "r"]));
        assert_eq!(table.row(&["x", "3"]), None);
        assert!(table.rows(&["z"]).is_empty());
        assert!(table.rows(&["x,1"]).is_empty());
        assert!(table.rows(&["x", "1,p"]).is_empty());
        let table = SortedTable::new("a,b\na-b,1\na.b,2\nab,3\nab1,4\nb,5\n");
        for (name, value) in [("a-b", "1"), ("a.b", "2"), ("ab", "3"), ("ab1", "4"), ("b", "5")] {
            assert_eq!(table.row(&[name]), Some(vec![name, value]));
        }
        for name in ["", "a", "a+b", "ab ", "ab10", "c"] {
            assert_eq!(table.row(&[name]), None, "{name}");
        }
    }
}
