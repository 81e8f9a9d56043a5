//! Flags of `gpucost mcp`.

use super::args::positive;
use clap::Args;
use rust_decimal::Decimal;
use std::path::PathBuf;

/// `gpucost mcp`.
#[derive(Debug, Clone, Args)]
pub(super) struct McpArgs {
    /// Directory that recorded estates are read from (can be repeated) [default: the current
    /// directory]
    #[arg(long, value_name = "DIR")]
    pub root: Vec<PathBuf>,
    /// Settings file; `gpucost.toml` in the current directory is not read
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Also read the AWS account, when a tool names no estate; without it, no tool uses the
    /// network
    #[arg(long)]
    pub live: bool,
    /// AWS named profile of `--live`
    #[arg(long, value_name = "NAME", requires = "live", help_heading = "AWS")]
    pub profile: Option<String>,
    /// Comma-separated regions of `--live`, unless a tool names others
    #[arg(long, value_name = "R[,R…]|all", requires = "live", help_heading = "AWS")]
    pub region: Option<String>,
    /// Refuse a call of a tool whose AWS calls would cost more than this amount in USD
    #[arg(long, value_name = "USD", value_parser = positive, default_value = "1", help_heading = "AWS")]
    pub max_api_cost: Decimal,
}
