//! Files: a folder for each kind that is read, and in `shared` what all have in common:
//! reading with an end, and writing whole or not at all.

mod bills;
mod estate;
mod history;
mod nvidia_smi;
mod planned;
mod prices;
mod report;
mod request_counts;
mod run_report;
mod samples;
mod shared;
mod terraform;
mod units;

pub use bills::{BillError, BillOptions, read_bill, read_bill_of};
pub use estate::{
    CommitmentsError, Demo, EstateError, Keep, Recorder, Recording, RecordingError, Replaced,
    commitments_schema, demo_estate, estate_schema, parse_estate, read_commitments, read_estate,
    write_estate, write_recorded,
};
pub use history::{
    History, HistoryError, HourRun, Imported, ROLLED_UP, ROLLUP_PERIOD_SECONDS, Recorded, Records,
    StoredMachine, StoredRuns, import_rollups,
};
pub use planned::{MOST_ARRIVALS, MOST_SAMPLES, read_arrivals, read_demand, read_jobs};
pub use prices::{OwnPricesError, read_own_prices, read_price_cache, write_price_cache};
pub use report::{REPORT_VERSIONS, ReportError, read_report};
pub use request_counts::{MOST_COUNTS, RequestCountsError, read_request_counts};
pub use run_report::read_run_report;
pub use samples::{
    ReadOptions, SAMPLES_VERSION, SampleFormat, SampleReader, SampleWriter, SamplesError,
    open_samples,
};
pub use shared::bounded::read_written_text;
pub(super) use shared::bounded::{AtMost, bounded, short_rows};
pub use shared::csv_lines::RowsError;
pub use shared::json::{InvalidJson, InvalidValue};
pub(super) use shared::json::{TextOrNumber, at, read_json, read_json_file};
pub(super) use shared::write::write_once;
pub use shared::write::{
    OwnFile, append_private, create_private, remove_temporary_files, try_writing, write_private,
    write_whole,
};
pub use terraform::{TerraformError, read_terraform_plan};
pub use units::{count_lines, count_lines_since, read_dated_units, read_units, unit_count};

/// The version of the estate format that this program reads and writes.
pub const ESTATE_VERSION: &str = "1";
