//! Flags.

use crate::failure::Failure;
use crate::sql::{BillFormat, TimeUnit, days_of};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ops::Range;
use std::path::PathBuf;

/// Archives of GPU metrics and bills of any size, for gpucost
#[derive(Debug, Parser)]
#[command(name = "gpucost-engine", version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Turn an archive of points into a history, as gpucost keeps it
    ///
    /// The rows are those that gpucost keeps of the same points. Nothing is written unless all
    /// rows of all files were read.
    Rollup(Box<RollupArgs>),
    /// Turn a bill into hours of resources
    Bill(Box<BillArgs>),
}

/// What both commands have.
#[derive(Debug, Args)]
pub struct CommonArgs {
    /// File, folder or `s3://BUCKET/PREFIX` of Parquet, CSV or Arrow files (can be repeated)
    #[arg(long, value_name = "PATH", required = true)]
    pub input: Vec<String>,
    /// Folder of the history
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Memory for adding up; what does not fit is written to the work folder
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "1GiB")]
    pub memory: u64,
    /// Folder for intermediate results [default: that of the system]
    #[arg(long, value_name = "DIR")]
    pub work_dir: Option<PathBuf>,
    /// Most that intermediate results may take on disk
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "100GiB")]
    pub work_limit: u64,
    /// Threads, and parts of a statement on a cluster [default: one for each core, on a cluster
    /// of its executors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Where statements run: `embedded`, or `ballista://HOST:PORT`
    #[arg(long, value_name = "ENGINE", default_value = "embedded")]
    pub engine: String,
    /// Print only errors to stderr
    #[arg(long, short)]
    pub quiet: bool,
}

impl CommonArgs {
    /// # Errors
    /// When the history is not to be in a folder.
    pub fn check_out(&self) -> Result<(), Failure> {
        if self.out.to_string_lossy().contains("://") {
            return Err(Failure::input("a history is written to a folder")
                .with_hint("write it to a folder with `--out`, and copy that"));
        }
        Ok(())
    }
}

#[derive(Debug, Args)]
pub struct RollupArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Columns of the points, as `KEY=NAME` with the keys account, region, instance, gpu,
    /// metric, ts and value [default: the names of the keys; no column of account and region]
    #[arg(long, value_name = "KEY=NAME[,KEY=NAME…]")]
    pub columns: Vec<String>,
    /// Metrics of the points, as `METRIC=NAME`, with a scale such as `*100` or `/1048576`
    /// after the name [default: every metric under its own name]
    #[arg(long, value_name = "METRIC=NAME[,METRIC=NAME…]")]
    pub metric_map: Vec<String>,
    /// Account of all points, where they have no column of it
    #[arg(long, value_name = "ID")]
    pub account: Option<String>,
    /// Region of all points, where they have no column of it
    #[arg(long, value_name = "R")]
    pub region: Option<String>,
    /// What the column of times holds; a column of times that are no numbers is `timestamp`
    #[arg(long, value_enum, default_value_t = TimeUnitChoice::Seconds, value_name = "UNIT")]
    pub time_unit: TimeUnitChoice,
    /// Days of UTC to add up, the first and the last [default: all]
    #[arg(long, value_name = "DAY[..DAY]", value_parser = days)]
    pub days: Option<Range<i64>>,
    /// Who measured, as a history names it
    #[arg(long, value_name = "SOURCE", value_parser = ["cloudwatch-agent", "prometheus", "ec2", "sagemaker", "generated"], default_value = "prometheus")]
    pub measured_by: String,
}

#[derive(Debug, Args)]
pub struct BillArgs {
    #[command(flatten)]
    pub common: CommonArgs,
    /// Format of the bill
    #[arg(long, value_enum)]
    pub format: BillChoice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TimeUnitChoice {
    Seconds,
    Milliseconds,
    Microseconds,
    Nanoseconds,
    Timestamp,
}

impl TimeUnitChoice {
    pub fn unit(self) -> TimeUnit {
        match self {
            Self::Seconds => TimeUnit::Seconds,
            Self::Milliseconds => TimeUnit::Milliseconds,
            Self::Microseconds => TimeUnit::Microseconds,
            Self::Nanoseconds => TimeUnit::Nanoseconds,
            Self::Timestamp => TimeUnit::Timestamp,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BillChoice {
    /// AWS Cost and Usage Report 2.0, or the version before it as Parquet
    Cur2,
    /// AWS Cost and Usage Report before 2.0, as CSV
    LegacyCur,
    /// FOCUS 1.0 to 1.3
    Focus,
}

impl BillChoice {
    pub fn format(self) -> BillFormat {
        match self {
            Self::Cur2 => BillFormat::Cur2,
            Self::LegacyCur => BillFormat::LegacyCur,
            Self::Focus => BillFormat::Focus,
        }
    }
}

fn days(text: &str) -> Result<Range<i64>, String> {
    days_of(text)
        .ok_or_else(|| "expected a day such as 2026-11-22, or 2026-11-20..2026-11-22".to_owned())
}

/// Bytes, such as `512MiB`; at least a MiB.
fn size(text: &str) -> Result<u64, String> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];
    let found = units.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)));
    let (number, shift) = found.unwrap_or((text, 0));
    let bytes = number.trim().parse::<u64>().ok();
    bytes
        .and_then(|number| number.checked_mul(1 << shift))
        .filter(|bytes| *bytes >= 1 << 20)
        .ok_or_else(|| "expected a size of 1MiB or more, such as 512MiB or 4GiB".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in
            [("1GiB", 1 << 30), ("512 MiB", 512 << 20), ("1048576", 1 << 20), ("2TiB", 2 << 40)]
        {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "1", "1GB", "-1GiB", "99999999999999TiB", "1023KiB"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
