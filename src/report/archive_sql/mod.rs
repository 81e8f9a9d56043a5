//! Statements that turn archives of points into the tables of a history, and bills into
//! hours of resources. They are text, so that any engine can run them where the data is: the
//! `.sql` files beside this one, in which [`Dialect`] puts the few words that differ.
//!
//! A statement is a scan, group-bys and nothing else: no join, no union, no limit. Sums are of
//! whole numbers, so that they are the same in any order. The arithmetic is that of
//! `usage`, bucket for bucket; `docs/scale.md` says where it must end.
//!
//! `gpucost-engine` is built with these files as well, so that they use the standard library
//! alone.

mod bill;
mod dialect;
mod flags;
mod points;
mod usage;

pub use bill::{BillFormat, BillLines, bill_script, bill_statement, lines_statement};
pub use dialect::{Dialect, TimeUnit, is_csv};
pub use flags::{date_of, days_of, measures, point_columns};
pub use points::{GAUGES, Key, Measure, PointColumns, Points};
pub use usage::{
    ASKED, Kind, Statement, Table, duplicates_statement, rows_statement, statements, usage_script,
};

#[cfg(test)]
mod tests;
