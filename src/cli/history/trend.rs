//! `gpucost history`, the sums of recorded audits, and `gpucost history digest`, what happened since
//! an earlier audit, printed or sent.

use super::places::{ending, flag, read_recorded};
use crate::catalog::bundled_quote;
use crate::cli::args::{DocFormat, OutputArgs, doc_formats, not_negative, place};
use crate::cli::aws_args::BucketArgs;
use crate::cli::choices::{Choices, name_of};
use crate::cli::{
    Failure, Io, Outcome, audit, choices, did_you_mean, estate, flags, hint, known_prices, live,
    output, parsers, refusal, refused,
};
use crate::config::parse_duration;
use crate::domain::{
    DatedPrice, DatedUnits, PriceBook, PriceKey, PriceOrigin, counted, nearest_names,
};
use crate::report::{digest_answer, doc_slack, history_answer};
use crate::sources::files::read_dated_units;
use crate::sources::store::Place;
use crate::sources::webhook::{Webhook, WebhookError, WebhookOptions};
use crate::trend::{
    AnomalyLimits, Digest, Horizon, Kept, Ledger, NoDigest, Overview, Since, Step, TrendKey,
    TrendRequest, UnknownUnits,
};
use clap::ValueHint;
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::path::PathBuf;

flags! {
    /// `gpucost history`.
    pub(in crate::cli) struct TrendArgs {
        /// Directory, or s3://BUCKET/PREFIX, that stores the audits [default: `history`]
        history: Option<Place> = arg(long, value_name = "DIR|URL", value_parser = place(), value_hint = ValueHint::DirPath);
        /// How long a row of the trend is
        step: Step = arg(long, value_parser = STEPS, value_name = "STEP", default_value = "month");
        /// What the spend is broken down by
        by: Breakdown = arg(long, value_parser = BREAKDOWNS, value_name = "KEY", default_value = "workload");
        /// Tag that names the team
        team_tag: String = arg(long, value_name = "KEY", default_value = "team");
        /// First day that is shown, such as 2026-10-01
        since: Option<Date> = arg(long, value_name = "DATE", value_parser = |text: &str| text.parse::<Date>().map_err(|_| "expected a date such as 2026-10-01"));
        /// What the calendar month or quarter will end at
        forecast: Option<Horizon> = arg(long, value_parser = HORIZONS, value_name = "PERIOD");
        /// CSV file of how much work was done on each day: columns date, name, unit and count
        units: Option<PathBuf> = arg(long, value_name = "FILE");
        /// Least difference of the last day from what was expected to be unusual
        anomaly_amount: Decimal = arg(long, value_name = "AMOUNT", value_parser = not_negative, allow_negative_numbers = true, default_value = "100");
        /// The same in percent of what was expected
        anomaly_percent: Decimal = arg(long, value_name = "PERCENT", value_parser = not_negative, allow_negative_numbers = true, default_value = "40");
        /// Use bundled prices only
        offline: bool = arg(long);
        bucket: BucketArgs = command(flatten);
        /// Output format [default: table]
        format: Option<DocFormat> = arg(long, value_enum, help_heading = "Output");
        out: OutputArgs = command(flatten);
    }
}

choices! {
    STEPS: Step {
        "day" = Day;
        "week" = Week, "From Monday on";
        "month" = Month;
    }
    HORIZONS: Horizon {
        "month" = Month;
        "quarter" = Quarter;
    }
}

/// What spend is broken down by, of the tag of the team.
type Breakdown = fn(String) -> TrendKey;

const BREAKDOWNS: Choices<Breakdown> = Choices(&[
    ("workload", "Instances that do one job, whatever their type", |_| TrendKey::Workload),
    ("team", "Value of the tag of `--team-tag`", TrendKey::Tag),
    ("account", "", |_| TrendKey::Account),
    ("type", "Instance type", |_| TrendKey::InstanceType),
]);

pub(super) fn run(args: &TrendArgs, io: &mut Io<'_>) -> Outcome {
    let (settings, format) = audit::settings(args.format, &args.out, io)?;
    let units = units(args)?;
    let access = args.bucket.access(&settings, io);
    let recorded = read_recorded(args.history.as_ref(), access, &args.out, io)?;
    let is_whole = recorded.problems.is_empty();
    let ledger = Ledger::of(recorded.rows, &recorded.runs, io.now);
    let book = known_prices::book(args.offline, &settings, io)?;
    let today = |region: &str, name: &str| public_price(&book, region, name);
    let ask = TrendRequest {
        step: args.step,
        key: (args.by)(args.team_tag.clone()),
        since: args.since,
        horizon: args.forecast,
        limits: AnomalyLimits { amount: args.anomaly_amount, percent: args.anomaly_percent },
    };
    let overview = Overview::of(ledger, recorded.actions, &units, &today, ask);
    let overview =
        overview.map_err(unknown)?.ok_or_else(refused!("the history has no day to show";
        "run `gpucost history record` every night; `--since` must not be after its last day"))?;
    let answer = history_answer(&overview, &flag(args.history.as_ref()));
    output::print_rows(&answer, format, None, &args.out, io)?;
    if format.is_rows() && (args.forecast.is_some() || args.units.is_some()) {
        let name = name_of(format).to_uppercase();
        let warning = format!("warning: {name} has the trend alone; `--format json` has all of it");
        output::warn(Some(warning), &args.out, io);
    }
    ending(is_whole, args.history.as_ref(), io)
}

fn units(args: &TrendArgs) -> Outcome<Vec<DatedUnits>> {
    let Some(path) = &args.units else { return Ok(Vec::new()) };
    let output = args.out.output.as_ref();
    output::check_distinct([("--units", Some(path)), ("--output", output)])?;
    read_dated_units(path).map_err(Failure::hinted("see docs/money-over-time.md for the columns"))
}

fn unknown(error: UnknownUnits) -> Failure {
    let nearest = nearest_names(&error.name, error.known.iter().map(String::as_str));
    let otherwise = "names are those of the workloads in the history";
    Failure::hinted(did_you_mean(&nearest, otherwise))(error)
}

/// The public on-demand price of a type today: what the user states in its place is none.
fn public_price(book: &PriceBook, region: &str, name: &str) -> Option<DatedPrice> {
    let key = PriceKey::linux_on_demand(region, name);
    let known = book.get(&key).ok().filter(|quote| quote.origin != PriceOrigin::User);
    let quote = known.cloned().or_else(|| bundled_quote(&key))?;
    Some(DatedPrice {
        hourly: quote.rate,
        effective_date: Some(quote.effective_date),
        seen_on: quote.seen_on,
        origin: quote.origin,
    })
}

flags! {
    /// `gpucost history digest`.
    pub(in crate::cli) struct DigestArgs {
        /// Earlier audit: `last`, so long ago such as 7d, or a date such as 2026-10-01
        since: Since = arg(long, value_name = "WHEN", value_parser = since, default_value = "7d");
        /// Directory, or s3://BUCKET/PREFIX, that stores the audits [default: `history`]
        history: Option<Place> = arg(long, value_name = "DIR|URL", value_parser = place(), value_hint = ValueHint::DirPath);
        /// Send it to the webhook whose URL is in GPUCOST_SLACK_WEBHOOK_URL or GPUCOST_WEBHOOK_URL
        send: Option<Receiver> = arg(long, value_parser = RECEIVERS, value_name = "WHERE", conflicts_with = "format");
        /// Print exactly what would be sent, and send nothing
        dry_run: bool = arg(long, requires = "send");
        /// Use bundled prices only
        offline: bool = arg(long);
        bucket: BucketArgs = command(flatten);
        /// Output format [default: table]
        format: Option<DigestFormat> = arg(long, value_enum, help_heading = "Output");
        out: OutputArgs = command(flatten);
    }
}

/// What is sent, and the variable with the URL that it is sent to: not on the command line, which
/// other users can read.
type Receiver = (DigestFormat, &'static str);

const RECEIVERS: Choices<Receiver> = Choices(&[
    (
        "slack",
        "An incoming webhook of Slack, with Block Kit",
        (DigestFormat::Slack, "GPUCOST_SLACK_WEBHOOK_URL"),
    ),
    (
        "webhook",
        "Any other receiver, with the JSON of `--format json`",
        (DigestFormat::Doc(DocFormat::Json), "GPUCOST_WEBHOOK_URL"),
    ),
]);

doc_formats! {
    /// The formats of every document, and that of a channel.
    DigestFormat {
        Slack = "slack", "Block Kit, for an incoming webhook of Slack";
    }
}

parsers! {
    /// How long ago the earlier audit was.
    fn since(text) -> Since = match (text, text.parse()) {
        ("last", _) => Some(Since::Last),
        (_, Ok(day)) => Some(Since::Day(day)),
        _ => parse_duration(text).ok().map(|time| time.as_hours() / 24).filter(|days| *days > 0).map(Since::Days),
    }, "expected `last`, days such as 7d, or a date such as 2026-10-01";
}

pub(super) fn digest(args: &DigestArgs, io: &mut Io<'_>) -> Outcome {
    let settings = estate::settings(&args.out, io)?;
    // Before anything is read: a URL that is missing is missing in the end, too.
    let receiver = match args.send {
        Some((_, variable)) if !args.dry_run => Some(webhook(variable, io)?),
        _ => None,
    };
    let format = match args.send {
        Some((format, _)) => format,
        None => audit::format(args.format, &settings, io)?,
    };
    let access = args.bucket.access(&settings, io);
    let recorded = read_recorded(args.history.as_ref(), access, &args.out, io)?;
    let is_whole = recorded.problems.is_empty();
    let book = known_prices::book(args.offline, &settings, io)?;
    let today = |region: &str, name: &str| public_price(&book, region, name);
    let kept = Kept { runs: recorded.runs, rows: recorded.rows, actions: recorded.actions };
    let digest = Digest::of(kept, args.since, &today, io.now).map_err(no_digest)?;
    let answer = digest_answer(&digest, &flag(args.history.as_ref()));
    if let (None, DigestFormat::Doc(format)) = (&receiver, format) {
        output::print_rows(&answer, format, None, &args.out, io)?;
    } else {
        let style = output::style(false, &args.out, io);
        let text = match format {
            DigestFormat::Slack => doc_slack(&answer).map_err(Failure::unexpected)?,
            DigestFormat::Doc(format) => output::doc_text(&answer, format, style)?,
        };
        match receiver {
            Some(webhook) => send(&webhook, &text, args, io)?,
            None => output::document(&text, &args.out, io)?,
        }
    }
    ending(is_whole, args.history.as_ref(), io)
}

fn no_digest(why: NoDigest) -> Failure {
    match why {
        NoDigest::Empty | NoDigest::OneAudit => refusal!(
            "the history has no two audits of different days and the same scope";
            "run `gpucost history record` every night, with the same flags"),
        NoDigest::NoDay => refusal!("the history has no day between the two audits";
            "run `gpucost history record` six hours after midnight of UTC, or pass an earlier \
             `--since`"),
    }
}

/// The webhook whose URL is in a variable of the environment.
fn webhook(name: &str, io: &Io<'_>) -> Outcome<Webhook> {
    let url = io.variable(name).ok_or_else(refused!("{name} has no URL to send to";
        "set {name} in the environment; `--dry-run` prints what would be sent"))?;
    Webhook::new(url, WebhookOptions::default())
        .map_err(Failure::hinted(format!("check the value of {name}")))
}

/// Sends a document. A copy goes to `--output`, and nothing to stdout.
fn send(webhook: &Webhook, text: &str, args: &DigestArgs, io: &mut Io<'_>) -> Outcome<()> {
    if args.out.output.is_some() {
        output::document(text, &args.out, io)?;
    }
    let sent = live::run(&args.out, io, async |progress| {
        progress(webhook.host());
        webhook.post(text).await
    });
    let tries = sent?.map_err(not_sent)?;
    let line = format!(
        "sent to {}: {}, {}",
        webhook.host(),
        counted(text.len(), "byte", "bytes"),
        counted(u64::from(tries), "try", "tries")
    );
    output::say(&line, &args.out, io);
    Ok(())
}

fn not_sent(error: WebhookError) -> Failure {
    let hint = hint! { &error;
        WebhookError::Invalid(_) => "check the URL in the environment";
        WebhookError::Late { .. } => "it may have arrived: check the channel before you send it again";
        WebhookError::Unreachable { .. } => "check the host of the URL, and HTTPS_PROXY";
        WebhookError::Refused { status: 404 | 410, .. } => "the webhook was removed: create another, and set its URL in the environment";
        WebhookError::Refused { .. } => "`--dry-run` prints what was sent";
    };
    Failure::unexpected(error).with_hint(hint)
}
