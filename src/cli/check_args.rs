//! Flags of `gpucost check`.

use super::args::{DocFormat, EstateArgs, RiskChoice, place};
use crate::sources::store::Place;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

/// `gpucost check`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct CheckArgs {
    #[command(subcommand)]
    pub action: Option<CheckAction>,
    /// Policy file [default: gpucost-policy.toml in the current directory]
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Earlier `audit --format json` report; only new or worse violations fail
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Check the planned result of a Terraform plan instead of the current state:
    /// output of `terraform show -json`; `-` for stdin
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["from", "from_kubectl", "prometheus_url", "demo", "save", "baseline", "commitments", "profile_data", "redact", "tag", "exclude_tag"]
    )]
    pub terraform_plan: Option<PathBuf>,
    /// Recorded audits that forecasts of budgets rest on: a directory or s3://BUCKET/PREFIX
    /// [default: that of --history]
    #[arg(long, value_name = "DIR|URL", value_parser = place(), value_hint = ValueHint::DirPath)]
    pub recorded_audits: Option<Place>,
    #[command(flatten)]
    pub estate: EstateArgs,
    /// Maximum risk level of the plan [default: medium]
    #[arg(long, value_enum)]
    pub risk: Option<RiskChoice>,
    /// Output format [default: table]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<CheckFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum CheckFormat {
    /// Table that fits the terminal
    Table,
    /// Table for a wide terminal, with every row
    Wide,
    /// JSON, for scripts
    Json,
    /// CSV, for spreadsheets
    Csv,
    /// Markdown, for a pull request comment
    Markdown,
    /// Self-contained HTML page, for a browser
    Html,
    /// Workbook, for spreadsheets; needs `--output`, a file or a pipe
    Xlsx,
    /// Workflow commands, for GitHub Actions annotations
    Github,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// JUnit XML, for build server test reports
    Junit,
    /// Block Kit, for a Slack incoming webhook
    Slack,
}

impl CheckFormat {
    /// The format of the same name that every document has; a table where none has it.
    pub fn of_documents(self) -> DocFormat {
        let name = self.to_possible_value();
        let format = name.and_then(|name| DocFormat::from_str(name.get_name(), true).ok());
        format.unwrap_or(DocFormat::Table)
    }
}

/// What to do instead of a check.
#[derive(Debug, Subcommand)]
pub(super) enum CheckAction {
    /// Write a commented starter policy; an existing file is not overwritten
    Init(InitArgs),
}

/// `gpucost check init`.
#[derive(Debug, Args)]
pub(super) struct InitArgs {
    /// File to write; `-` for stdout [default: gpucost-policy.toml in the current
    /// directory]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Also write the JSON schema beside the file, and name it in the first line for editors
    #[arg(long)]
    pub schema: bool,
    /// Print only errors to stderr
    #[arg(long, short)]
    pub quiet: bool,
}
