//! Flags of `gpucost history digest`.

use crate::cli::args::{OutputArgs, doc_formats, place};
use crate::cli::aws_args::BucketArgs;
use crate::config::parse_duration;
use crate::sources::store::Place;
use crate::trend::Since;
use clap::{Args, ValueEnum, ValueHint};

/// `gpucost history digest`.
#[derive(Debug, Args)]
pub(in crate::cli) struct DigestArgs {
    /// Earlier audit: `last`, so long ago such as 7d, or a date such as 2026-10-01
    #[arg(long, value_name = "WHEN", value_parser = since, default_value = "7d")]
    pub since: Since,
    /// Directory, or s3://BUCKET/PREFIX, that stores the audits [default: `history`]
    #[arg(long, value_name = "DIR|URL", value_parser = place(), value_hint = ValueHint::DirPath)]
    pub history: Option<Place>,
    /// Send it to the webhook whose URL is in GPUCOST_SLACK_WEBHOOK_URL or GPUCOST_WEBHOOK_URL
    #[arg(long, value_enum, value_name = "WHERE", conflicts_with = "format")]
    pub send: Option<Receiver>,
    /// Print exactly what would be sent, and send nothing
    #[arg(long, requires = "send")]
    pub dry_run: bool,
    /// Use bundled prices only
    #[arg(long)]
    pub offline: bool,
    #[command(flatten)]
    pub bucket: BucketArgs,
    /// Output format [default: table]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<DigestFormat>,
    #[command(flatten)]
    pub out: OutputArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Receiver {
    /// An incoming webhook of Slack, with Block Kit
    Slack,
    /// Any other receiver, with the JSON of `--format json`
    Webhook,
}

doc_formats! {
    /// The formats of every document, and that of a channel.
    DigestFormat {
        Slack = "slack", "Block Kit, for an incoming webhook of Slack";
    }
}

/// How long ago the earlier audit was.
fn since(text: &str) -> Result<Since, String> {
    const HOURS: i64 = 24;
    if text == "last" {
        return Ok(Since::Last);
    }
    if let Ok(day) = text.parse() {
        return Ok(Since::Day(day));
    }
    let days = parse_duration(text).map(|time| time.as_hours() / HOURS);
    let days = days.ok().filter(|days| *days > 0);
    days.map(Since::Days)
        .ok_or_else(|| "expected `last`, days such as 7d, or a date such as 2026-10-01".to_owned())
}
