//! Logs of `nvidia-smi`: the CSV of `--query-gpu` and the XML of `-q -x`, as
//! people have them, with whatever got between the lines.

mod columns;
mod csv_log;
mod csv_rows;
mod device;
mod figure;
mod samples;
mod tally;
#[cfg(test)]
mod tests;
mod time;
mod xml_log;

pub(super) use csv_log::CsvLog;
pub(super) use xml_log::{XmlLog, is_xml};
