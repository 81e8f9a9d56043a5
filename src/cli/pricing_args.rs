//! Flags of `gpucost pricing`.

use super::args::{DocFormat, OutputArgs, gpu_count, hourly_price};
use super::aws_args::AwsArgs;
use super::planner_flags::AnswerArgs;
use crate::analysis::SortBy;
use clap::{Args, Subcommand, ValueEnum};
use rust_decimal::Decimal;

/// `gpucost pricing`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_precedence_over_arg = true)]
pub(super) struct PricingArgs {
    #[command(subcommand)]
    pub action: Option<PricingAction>,
    /// Instance types, such as p5.48xlarge [default: every GPU type]
    #[arg(value_name = "TYPE")]
    pub types: Vec<String>,
    /// GPU model, memory or both: H100, A100:80GB, 24GB.., 24GB..48GB
    #[arg(long, value_name = "GPU", conflicts_with = "types")]
    pub gpu: Option<String>,
    /// Number of GPUs per machine
    #[arg(long, value_name = "N", value_parser = gpu_count, conflicts_with = "types")]
    pub count: Option<Decimal>,
    /// Comma-separated regions, with `*` as a wildcard, or `all`
    /// [default: us-east-1 and its equivalents]
    #[arg(long, value_name = "R[,R…]|all")]
    pub region: Option<String>,
    /// Comma-separated providers, or `all` [default: aws]
    #[arg(long, value_name = "P[,P…]|all")]
    pub provider: Option<String>,
    /// Operating system (AWS only)
    #[arg(long, value_name = "OS", default_value = "linux")]
    pub os: String,
    /// Every accelerator, and not GPUs alone: Trainium, Inferentia, FPGAs, transcoders
    #[arg(long, conflicts_with_all = ["types", "gpu"])]
    pub all: bool,
    /// Price figure to sort by, cheapest first
    #[arg(long, value_enum, value_name = "FIGURE", default_value_t = SortChoice::Price)]
    pub sort: SortChoice,
    /// Only offers whose figure of `--sort` is at most this, in the currency of the offer
    #[arg(long, value_name = "PRICE", value_parser = hourly_price, allow_negative_numbers = true)]
    pub max_price: Option<Decimal>,
    /// Maximum number of rows [default: 40 with `--format table`, otherwise all]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// What to do about prices.
#[derive(Debug, Subcommand)]
pub(super) enum PricingAction {
    /// Fetch the prices of every GPU type from AWS into the user's cache
    Refresh(Box<RefreshArgs>),
    /// Show the available prices and their age
    Status(Box<StatusArgs>),
}

/// `gpucost pricing refresh`.
#[derive(Debug, Args)]
pub(super) struct RefreshArgs {
    /// Read the price files that AWS publishes for everyone, without an account; about 300 MB
    /// per region [default region: us-east-1]
    #[arg(long, conflicts_with_all = ["profile", "deadline"])]
    pub public: bool,
    #[command(flatten)]
    pub aws: AwsArgs,
    #[command(flatten)]
    pub out: OutputArgs,
}

/// `gpucost pricing status`.
#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    /// Output format [default: table]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<DocFormat>,
    #[command(flatten)]
    pub out: OutputArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum SortChoice {
    /// On-demand price per hour
    #[value(alias = "on-demand")]
    Price,
    /// Spot price per hour
    Spot,
    /// Price per GPU and hour
    GpuHour,
    /// Price per GiB of VRAM and hour
    Vram,
    /// Price per dense BF16 TFLOPS and hour
    Tflops,
}

impl SortChoice {
    /// The figure that offers are sorted by.
    pub(super) fn figure(self) -> SortBy {
        match self {
            Self::Price => SortBy::Price,
            Self::Spot => SortBy::Spot,
            Self::GpuHour => SortBy::GpuHour,
            Self::Vram => SortBy::Vram,
            Self::Tflops => SortBy::Tflops,
        }
    }
}
