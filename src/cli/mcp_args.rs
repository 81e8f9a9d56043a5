//! Flags of `gpucost mcp`.

use super::args::positive;
use super::flags;
use rust_decimal::Decimal;
use std::path::PathBuf;

flags! {
    /// `gpucost mcp`.
    #[derive(Clone)]
    pub(super) struct McpArgs {
        /// Directory that recorded estates are read from (can be repeated) [default: the current
        /// directory]
        root: Vec<PathBuf> = arg(long, value_name = "DIR");
        /// Settings file; `gpucost.toml` in the current directory is not read
        config: Option<PathBuf> = arg(long, value_name = "FILE");
        /// Also read the AWS account, when a tool names no estate; without it, no tool uses the
        /// network
        live: bool = arg(long);
        /// AWS named profile of `--live`
        profile: Option<String> = arg(long, value_name = "NAME", requires = "live", help_heading = "AWS");
        /// Comma-separated regions of `--live`, unless a tool names others
        region: Option<String> = arg(long, value_name = "R[,R…]|all", requires = "live", help_heading = "AWS");
        /// Refuse a call of a tool whose AWS calls would cost more than this amount in USD
        max_api_cost: Decimal = arg(long, value_name = "USD", value_parser = positive, default_value = "1", help_heading = "AWS");
    }
}
