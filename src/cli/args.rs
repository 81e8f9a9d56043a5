//! Flags. Each means the same everywhere; groups are shared between commands.

use super::aws_args::{AwsArgs, OrgArgs, service};
use super::choices::{above_zero, within};
use super::demo::DemoChoice;
use super::kubernetes::KubernetesArgs;
use super::{Outcome, choices, flags, parsers, refuse_if};

pub(super) use super::choices::{not_negative, positive};
use super::prometheus::PrometheusArgs;
use super::view_args::{RowArgs, TypeArgs, VerdictArgs};
use crate::analysis::{Audit, audit_to_choose};
use crate::config::parse_duration;
use crate::domain::{MOST_PER_HOUR, Policy, Risk, WorkloadKind};
use crate::report::{Doc, doc_csv, doc_html, doc_json, doc_markdown};
use crate::sources::aws::AwsService;
use crate::sources::store::Place;
use crate::usage::Estate;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{ValueEnum, ValueHint};
use jiff::SignedDuration;
use rust_decimal::Decimal;
use std::path::PathBuf;

parsers! {
    /// A length of time in seconds, minutes, hours or days.
    pub(super) fn time(text) -> SignedDuration = match text.strip_suffix('s') {
        Some(number) => number.parse::<i64>().ok().filter(|seconds| *seconds > 0).map(SignedDuration::from_secs),
        None => parse_duration(text).ok(),
    }, "expected a duration such as 60s, 5m or 1h";
    /// What a workload does.
    pub(super) fn kind(text) -> WorkloadKind = WorkloadKind::from_name(text), names_of(WorkloadKind::NAMES);
    /// An amount of USD that is not below zero.
    fn amount(text) -> Decimal = within(text, Decimal::ZERO..=Decimal::MAX), "expected an amount of zero or more";
    /// A number of GPUs, perhaps a fraction of one.
    pub(super) fn gpu_count(text) -> Decimal = above_zero(text, Decimal::MAX), "expected a number of GPUs such as 8 or 0.5";
    /// A rate per hour that can be a price.
    pub(super) fn hourly_price(text) -> Decimal = above_zero(text, MOST_PER_HOUR), "expected a price per hour above zero";
    /// Hours that an instance runs in a month; the longest month has 744.
    pub(super) fn hours_of_a_month(text) -> Decimal = above_zero(text, Decimal::from(744)), "expected hours per month, above 0 and at most 744";
    fn percent(text) -> Decimal = above_zero(text.strip_suffix('%').unwrap_or(text), Decimal::ONE_HUNDRED), "expected a percentage above 0 and up to 100, such as 40%";
}

/// The place of a history.
pub(super) fn place() -> impl TypedValueParser<Value = Place> {
    OsStringValueParser::new().try_map(Place::of)
}

/// A file or a directory, or an object or a prefix of a bucket.
pub(super) fn file_place() -> impl TypedValueParser<Value = Place> {
    OsStringValueParser::new().try_map(Place::of_file)
}

/// What is said of a name that is none of some.
pub(super) fn names_of(names: &[&str]) -> String {
    format!("valid values: {}", names.join(", "))
}

choices! {
    pub(super) RISKS: Risk {
        "low" = Low, "Stop, release, and right-size to the same GPU model";
        "medium" = Medium, "Low, plus other GPU models, MIG slices, spot and one-year commitments";
        "high" = High, "All actions";
    }
}

flags! {
    /// How much risk a plan takes, and how much it is to save.
    pub(super) struct PlanArgs {
        /// Maximum risk level of the plan [default: medium]
        risk: Option<Risk> = arg(long, value_parser = RISKS);
        /// Plan only the least risky actions that save this percentage of the cost, such as `40%`
        target: Option<Decimal> = arg(long, value_name = "PERCENT", value_parser = percent);
    }

    /// Flags of exports.
    pub(super) struct ExportArgs {
        /// List that `--format csv` prints [default: workloads]
        csv_table: Option<CsvTable> = arg(long, value_enum, value_name = "LIST", conflicts_with = "group_by", help_heading = "Output");
        /// With `--format focus`: a row for each instance and day instead of each workload
        by_day: bool = arg(long, help_heading = "Output");
        /// Begin CSV and FOCUS with a byte order mark, by which Excel recognizes UTF-8
        bom: bool = arg(long, help_heading = "Output");
    }

    /// Where the document goes, and what is said beside it.
    pub(super) struct OutputArgs {
        /// Settings file [default: gpucost.toml in the current directory, if present]
        config: Option<PathBuf> = arg(long, value_name = "FILE", help_heading = "Output");
        /// Write the document to a file atomically
        output: Option<PathBuf> = arg(long, short, value_name = "FILE", help_heading = "Output");
        /// When to use color
        color: ColorChoice = arg(long, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN", help_heading = "Output");
        /// Print only errors to stderr
        quiet: bool = arg(long, short, help_heading = "Output");
        /// Log calls (-v), or every detail (-vv)
        verbose: u8 = arg(long, short, action = clap::ArgAction::Count, help_heading = "Output");
    }

    /// Where the estate comes from, and what of it is evaluated.
    pub(super) struct EstateArgs {
        aws: AwsArgs = command(flatten);
        /// Comma-separated services to read: `ec2`, `ecs`, `batch`, `sagemaker` [default: ec2]
        services: Vec<AwsService> = arg(long, value_name = "NAME[,NAME]", value_parser = service, value_delimiter = ',', help_heading = "AWS");
        /// Use bundled prices only
        offline: bool = arg(long, help_heading = "AWS");
        /// Fail if any figure uses a price older than this, such as 90d
        max_price_age: Option<String> = arg(long, value_name = "TIME", help_heading = "AWS");
        /// Source of GPU metrics
        metrics_source: MetricsSource = arg(long, value_enum, default_value_t = MetricsSource::Auto, value_name = "SOURCE", help_heading = "AWS");
        /// CloudWatch namespace of the agent's metrics [default: CWAgent]
        metrics_namespace: Option<String> = arg(long, value_name = "NAME", help_heading = "AWS");
        /// How finely CloudWatch is read
        resolution: Resolution = arg(long, value_enum, default_value_t = Resolution::Full, value_name = "HOW", help_heading = "AWS", conflicts_with_all = ["from", "demo"]);
        /// Keep the metrics of days that are over in this directory or s3://BUCKET/PREFIX, and read
        /// them from it instead of CloudWatch
        history: Option<Place> = arg(long, value_name = "DIR|URL", value_parser = place(), value_hint = ValueHint::DirPath, help_heading = "AWS", conflicts_with_all = ["from", "demo", "save"]);
        prometheus: PrometheusArgs = command(flatten);
        /// Do not start if the AWS calls would cost more than this amount in USD
        max_api_cost: Option<Decimal> = arg(long, value_name = "USD", value_parser = amount, help_heading = "AWS");
        /// End of the window, RFC 3339 [default: now]
        as_of: Option<jiff::Timestamp> = arg(long, value_name = "TIME", help_heading = "AWS", conflicts_with_all = ["from", "demo"]);
        /// Length of the window, such as 14d or 36h [default: 14d]
        lookback: Option<String> = arg(long, value_name = "TIME", help_heading = "AWS", conflicts_with_all = ["from", "demo"]);

        organization: OrgArgs = command(flatten);

        kubernetes: KubernetesArgs = command(flatten);

        /// Analyze a recorded estate, without any network access
        from: Option<PathBuf> = arg(long, value_name = "FILE", conflicts_with = "demo", help_heading = "Estate");
        /// Analyze a built-in demo estate; `starter` if no name is given
        demo: Option<DemoChoice> = arg(long, value_enum, value_name = "NAME", num_args = 0..=1, default_missing_value = "starter", help_heading = "Estate");
        /// Save the collected estate for use with `--from` (`.gz` compresses it)
        save: Option<PathBuf> = arg(long, value_name = "FILE", help_heading = "Estate");
        /// File of commitments bought by the payer account, in the format of `docs/estate.md`
        commitments: Option<PathBuf> = arg(long, value_name = "FILE", help_heading = "Estate");
        /// Samples written by `gpucost profile --samples` on one of the hosts (can be
        /// repeated)
        profile_data: Vec<PathBuf> = arg(long, value_name = "FILE", help_heading = "Estate");
        /// Read how GPUs were used from the roll-ups of an archive in this directory or
        /// s3://BUCKET/PREFIX, as `history rollup` and `history import` write them
        rollups: Option<Place> = arg(long, value_name = "DIR|URL", value_parser = place(), value_hint = ValueHint::DirPath, help_heading = "Estate", conflicts_with_all = ["demo", "save"]);
        /// Do not cache a copy of a live estate, which `explain` reads
        no_cache: bool = arg(long, help_heading = "Estate");
        /// Mask accounts, names, tags, hosts, addresses and IDs
        redact: bool = arg(long, help_heading = "Estate");
        /// Include only instances with this tag (can be repeated)
        tag: Vec<String> = arg(long, value_name = "K=V", help_heading = "Estate");
        /// Exclude instances with this tag (can be repeated)
        exclude_tag: Vec<String> = arg(long, value_name = "K=V", help_heading = "Estate");

        /// Exit with code 3 if anything could not be read
        strict: bool = arg(long, help_heading = "Output");
        /// Exit with code 0 instead of 4 if no instance is in scope
        allow_empty: bool = arg(long, help_heading = "Output");

        out: OutputArgs = command(flatten);
    }

    /// `gpucost audit`.
    pub(super) struct AuditArgs {
        estate: EstateArgs = command(flatten);
        plan: PlanArgs = command(flatten);
        /// Add a cost breakdown by account, region, type, kind, class, purchase-option, gpu or
        /// tag:NAME (comma-separated); or, for pods on Kubernetes nodes, by namespace, owner,
        /// cluster, pool, node or label:NAME
        group_by: Vec<String> = arg(long, value_name = "KEY[,KEY…]");
        /// CSV file of how much work was done, for the cost of its units in the JSON report
        units: Option<PathBuf> = arg(long, value_name = "FILE", conflicts_with = "redact");
        /// Keep the audit as `gpucost history record` does [default: the place of `--history`, or
        /// the directory `history`]
        record: Option<Option<Place>> = arg(long, value_name = "DIR|URL", value_parser = place(), value_hint = ValueHint::DirPath, num_args = 0..=1, require_equals = true, conflicts_with = "target");
        rows: RowArgs = command(flatten);
        verdicts: VerdictArgs = command(flatten);
        of: TypeArgs = command(flatten);
        export: ExportArgs = command(flatten);
        /// Policy file whose `[[reject]]` tables list actions that the plan does without
        policy: Option<PathBuf> = arg(long, value_name = "FILE", conflicts_with = "redact");
        /// Browse workloads and their hours in the terminal, switch actions of the plan on and off,
        /// and export the choice as a policy
        interactive: bool = arg(long, conflicts_with_all = ["format", "target", "group_by", "units", "record", "redact", "limit", "all", "bom", "by_day", "csv_table"]);
        /// Output format [default: table]
        format: Option<AuditFormat> = arg(long, value_enum, help_heading = "Output");
    }
}

impl PlanArgs {
    /// The audit whose plan saves the target, where one is given; the rest as it comes.
    pub(super) fn aimed(&self, estate: &Estate, by: (&Policy, Risk)) -> Outcome<Option<Audit>> {
        let Some(target) = self.target else { return Ok(None) };
        let (mut audit, choices) = audit_to_choose(estate, by.0, by.1);
        audit.aim(&choices, target);
        refuse_if!(audit.target.is_none() && !audit.workloads.is_empty();
            "no workload has a price, so `--target` has no cost to save a percentage of";
            "run without `--target`; its data gaps name the missing prices");
        Ok(Some(audit))
    }

    /// The target in words of a command line; none without it.
    pub(super) fn target_words(&self) -> Option<String> {
        self.target.map(|percent| format!("--target={percent}%"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum CsvTable {
    /// Workloads, and what is paid for and not used
    Workloads,
    /// Actions of the plan
    Actions,
    /// What the plan buys, as the promises that they are
    Purchases,
    /// Findings
    Findings,
    /// Data that could not be read
    Gaps,
    /// Prices that the figures are based on
    Prices,
    /// From list prices to the cost of each workload
    Reconciliation,
}

impl EstateArgs {
    /// Whether an estate is named, and not the account that is read without one.
    pub(super) fn is_named(&self) -> bool {
        let is_file = self.demo.is_some() || self.from.is_some() || self.save.is_some();
        is_file || self.kubernetes.is_given()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum MetricsSource {
    /// CloudWatch, and every server of `--prometheus-url`
    Auto,
    /// CloudWatch
    Cloudwatch,
    /// The servers of `--prometheus-url`
    Prometheus,
    /// No metrics
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Resolution {
    /// By the hour, and by five minutes where a verdict or a lever may depend on it
    Auto,
    /// By five minutes
    Full,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ColorChoice {
    /// If the output is a terminal and NO_COLOR is not set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The formats that every document has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum DocFormat {
    /// Table that fits the terminal
    Table,
    /// Table with every column and every row
    Wide,
    /// JSON, for scripts
    Json,
    /// CSV, for spreadsheets
    Csv,
    /// Markdown, for a wiki or a ticket
    Markdown,
    /// Self-contained HTML page, for a browser
    Html,
    /// Workbook, for spreadsheets; needs `--output`, a file or a pipe
    Xlsx,
}

/// What a format makes of a document, with what writes that.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) enum Rendering {
    /// A table of a terminal.
    Table,
    /// Everything that it has, for programs.
    Data(fn(&Doc) -> Result<String, serde_json::Error>),
    /// The rows of a list, without a page around them.
    Rows(fn(&Doc) -> Result<String, csv::Error>),
    /// A page that somebody reads.
    Page(fn(&Doc) -> String),
    /// Sheets, which are not text.
    Workbook,
}

impl DocFormat {
    /// What it makes of a document, by which commands choose what they put into one.
    pub fn rendering(self) -> Rendering {
        match self {
            Self::Table | Self::Wide => Rendering::Table,
            Self::Json => Rendering::Data(doc_json),
            Self::Csv => Rendering::Rows(doc_csv),
            Self::Markdown => Rendering::Page(doc_markdown),
            Self::Html => Rendering::Page(doc_html),
            Self::Xlsx => Rendering::Workbook,
        }
    }

    /// Whether it is a table of a terminal.
    pub fn is_table(self) -> bool {
        matches!(self.rendering(), Rendering::Table)
    }

    /// Whether it is rows without a page around them.
    pub fn is_rows(self) -> bool {
        matches!(self.rendering(), Rendering::Rows(_))
    }
}

/// Declares the formats of a document that has more of them than every document, each with its
/// name and its help; in parentheses stands what its help says of those of every document.
macro_rules! doc_formats {
    ($(#[$doc:meta])* $name:ident$(($($of_every:ident = $said:literal),+))? { $($variant:ident = $word:literal, $help:literal;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(in crate::cli) enum $name {
            Doc($crate::cli::args::DocFormat),
            $($variant),*
        }

        impl clap::ValueEnum for $name {
            fn value_variants<'a>() -> &'a [Self] {
                static ALL: std::sync::LazyLock<Vec<$name>> = std::sync::LazyLock::new(|| {
                    let of_every = <$crate::cli::args::DocFormat as clap::ValueEnum>::value_variants();
                    let of_every = of_every.iter().map(|format| $name::Doc(*format));
                    of_every.chain([$($name::$variant),*]).collect()
                });
                &ALL
            }

            fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
                match self {
                    $($(Self::Doc(format @ $crate::cli::args::DocFormat::$of_every) => {
                        format.to_possible_value().map(|value| value.help($said))
                    })+)?
                    Self::Doc(format) => format.to_possible_value(),
                    $(Self::$variant => {
                        Some(clap::builder::PossibleValue::new($word).help($help))
                    })*
                }
            }
        }
    };
}
pub(super) use doc_formats;

doc_formats! {
    /// The formats of an audit, which also comes as a report.
    AuditFormat(
        Markdown = "Markdown, for a pull request comment",
        Xlsx = "Workbook whose totals are formulas, for spreadsheets; needs `--output`, a file or a pipe"
    ) {
        Focus = "focus", "FOCUS 1.0 cost data for the hours of the window, for finance";
        Openmetrics = "openmetrics", "OpenMetrics, for Prometheus";
    }
}

impl AuditFormat {
    /// Whether it is rows without a page around them.
    pub fn is_rows(self) -> bool {
        matches!(self, Self::Doc(format) if format.is_rows())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_not_below_zero() {
        assert_eq!(amount("0.50"), Ok(Decimal::new(50, 2)));
        assert_eq!(amount("0"), Ok(Decimal::ZERO));
        assert!(amount("-1").is_err() && amount("much").is_err());
        assert_eq!(gpu_count("0.5"), Ok(Decimal::new(5, 1)));
        assert!(gpu_count("0").is_err() && gpu_count("-8").is_err());
        assert_eq!(not_negative("0"), Ok(Decimal::ZERO));
        assert_eq!(positive("12.5"), Ok(Decimal::new(125, 1)));
        for bad in ["0", "-1", "NaN", "inf", "1e400", "1000000001", ""] {
            assert!(positive(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_target_is_a_percentage_with_or_without_its_sign() {
        assert_eq!(percent("40%"), Ok(Decimal::from(40)));
        assert_eq!(percent("12.5"), Ok(Decimal::new(125, 1)));
        for bad in ["0", "-1%", "100.1%", "%", "40%%", "much"] {
            assert!(percent(bad).is_err(), "{bad}");
        }
    }
}
