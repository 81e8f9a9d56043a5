//! Flags of `gpucost history`.

use super::trend_args::TrendArgs;
use crate::cli::args::{EstateArgs, OutputArgs, RiskChoice, place};
use crate::cli::aws_args::BucketArgs;
use crate::sources::store::Place;
use clap::{Args, Subcommand, ValueHint};

/// `gpucost history`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct HistoryArgs {
    #[command(subcommand)]
    pub action: Option<HistoryAction>,
    #[command(flatten)]
    pub trend: TrendArgs,
}

impl HistoryArgs {
    /// The flags of the estate that it is about; absent where it takes none.
    pub(in crate::cli) fn estate(&self) -> Option<&EstateArgs> {
        match self.action.as_ref()? {
            HistoryAction::Record(args) => Some(&args.estate),
            HistoryAction::Verify(_) => None,
        }
    }
}

/// What to do with a history.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum HistoryAction {
    /// Audit, and keep what each workload cost on each day that is over, and the plan
    ///
    /// A day is kept once. Files are created and never changed, so several machines can
    /// record into one place at the same time.
    Record(Box<RecordArgs>),
    /// Check every file: damaged, half-written, and not of gpucost
    Verify(Box<VerifyArgs>),
}

/// `gpucost history record`.
#[derive(Debug, Args)]
pub(in crate::cli) struct RecordArgs {
    /// Directory, or s3://BUCKET/PREFIX [default: the place of `--history`, or `history`]
    #[arg(value_name = "DIR|URL", value_parser = place(), value_hint = ValueHint::DirPath)]
    pub place: Option<Place>,
    #[command(flatten)]
    pub estate: EstateArgs,
    /// Maximum risk level of the plan [default: medium]
    #[arg(long, value_enum)]
    pub risk: Option<RiskChoice>,
}

/// Which history, and how its bucket is reached.
#[derive(Debug, Args)]
pub(in crate::cli) struct PlaceArgs {
    /// Directory, or s3://BUCKET/PREFIX [default: `history`]
    #[arg(value_name = "DIR|URL", value_parser = place(), value_hint = ValueHint::DirPath)]
    pub place: Option<Place>,
    #[command(flatten)]
    pub bucket: BucketArgs,
    #[command(flatten)]
    pub out: OutputArgs,
}

/// `gpucost history verify`.
#[derive(Debug, Args)]
pub(in crate::cli) struct VerifyArgs {
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Exit with code 3 for half-written files and files of others, too
    #[arg(long, help_heading = "Output")]
    pub strict: bool,
}
