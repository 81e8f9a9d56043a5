//! Flags of `gpucost check` and `gpucost policy`.

use super::args::{EstateArgs, RiskChoice};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// `gpucost check`.
#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// Policy file [default: gpucost-policy.toml in the current folder]
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// An earlier `audit --format json`: only what is new or worse fails
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Check what a Terraform plan would leave behind instead of what there is:
    /// `terraform show -json` of the plan; `-` for stdin
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["from", "demo", "save", "baseline", "commitments", "profile_data", "redact", "tag", "exclude_tag"]
    )]
    pub terraform_plan: Option<PathBuf>,
    #[command(flatten)]
    pub estate: EstateArgs,
    /// Risk that the plan accepts [default: medium]
    #[arg(long, value_enum)]
    pub risk: Option<RiskChoice>,
    /// Layout of the document [default: table]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<CheckFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum CheckFormat {
    /// For a terminal of 100 columns
    Table,
    /// For a wide terminal, with every row
    Wide,
    /// For scripts
    Json,
    /// For a comment on a pull request
    Markdown,
    /// Workflow commands, for annotations of GitHub Actions
    Github,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// JUnit XML, for the test reports of build servers
    Junit,
    /// Block Kit, for an incoming webhook of Slack
    Slack,
}

/// What to do about policies.
#[derive(Debug, Subcommand)]
pub(super) enum PolicyAction {
    /// Write a commented policy to start from; an existing file is left alone
    Init(InitArgs),
}

/// `gpucost policy init`.
#[derive(Debug, Args)]
pub(super) struct InitArgs {
    /// The file to write; `-` for stdout [default: gpucost-policy.toml in the current
    /// folder]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Nothing but errors on stderr
    #[arg(long, short)]
    pub quiet: bool,
}
