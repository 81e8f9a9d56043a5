//! Statements that turn archives of points into the tables of a history, and bills into
//! hours of resources. They are text, so that any engine can run them where the data is: the
//! templates are beside this file, and [`Dialect`] is the one place where engines differ.
//!
//! A statement is a scan, group-bys and nothing else: no join, no union, no limit. Sums are of
//! whole numbers, so that they are the same in any order. The arithmetic is that of
//! `usage`, bucket for bucket; `docs/scale.md` says where it must end.
//!
//! `gpucost-engine` is built with these files as well, so that they use the standard library
//! alone.

mod bill;
mod bill_columns;
mod checks;
mod days;
mod dialect;
mod flags;
mod gauge;
mod layout;
mod points;
mod script;
mod series;
mod template;
mod usage;

pub use bill::{BILL, BillLines, bill_statement, lines_statement};
pub use bill_columns::BillFormat;
pub use checks::{duplicates_statement, rows_statement};
pub use days::{date_of, days_of};
pub use dialect::{Dialect, NoFiles, TimeUnit, is_csv};
pub use flags::{measures, point_columns};
pub use gauge::Gauge;
pub use layout::{Kind, Table};
pub use points::{BadMeasure, Key, Measure, PointColumns, Points};
pub use script::{bill_script, files_as_table, usage_script};
pub use usage::{ASKED, Statement, statements};

#[cfg(test)]
mod tests;
