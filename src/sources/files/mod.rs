//! Files: recorded estates, the demos, and writing whole or not at all.

mod bounded;
mod commitments;
mod demo;
mod estate_error;
mod estate_fields;
mod estate_read;
mod estate_write;
mod nvidia_smi;
mod own_file;
mod own_prices;
mod plain_text;
mod price_cache;
mod report_read;
mod samples;
mod terraform;
mod wire;
mod write;

pub(crate) use bounded::read_written_text;
pub use commitments::{CommitmentsError, read_commitments};
pub use demo::{Demo, demo_estate};
pub use estate_error::InvalidValue;
pub use estate_read::{EstateError, parse_estate, read_estate};
pub use estate_write::write_estate;
pub use own_file::{OwnFile, create_private};
pub use own_prices::{OwnPricesError, read_own_prices};
pub use price_cache::{read_price_cache, write_price_cache};
pub use report_read::{REPORT_VERSIONS, ReportError, read_report};
pub use samples::{
    ReadOptions, SAMPLES_VERSION, SampleFormat, SampleReader, SampleWriter, SamplesError,
    open_samples,
};
pub use terraform::{TerraformError, read_terraform_plan};
pub use write::{remove_temporary_files, try_writing, write_private, write_whole};

/// The version of the estate format that this program reads and writes.
pub const ESTATE_VERSION: &str = "1";
