//! Logs of `nvidia-smi`: the CSV of `--query-gpu` and the XML of `-q -x`, as
//! people have them, with whatever got between the lines.

mod columns;
mod csv_log;
mod csv_rows;
mod figure;
mod samples;
#[cfg(test)]
mod tests;
mod time;
mod xml_log;

pub(super) use csv_log::open as open_csv;
pub(super) use xml_log::{is_xml, open as open_xml};
