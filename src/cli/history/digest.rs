//! `gpucost history digest`: what happened since an earlier audit, printed or sent.

use super::places::{ending, flag, read_recorded};
use super::trend::public_price;
use crate::cli::args::{DocFormat, OutputArgs, doc_formats, place};
use crate::cli::aws_args::BucketArgs;
use crate::cli::choices::Choices;
use crate::cli::{
    Failure, Io, Outcome, audit, estate, flags, hint, known_prices, live, output, parsers, refusal,
    refused,
};
use crate::config::parse_duration;
use crate::domain::counted;
use crate::report::{digest_answer, doc_slack};
use crate::sources::aws::Notice;
use crate::sources::store::Place;
use crate::sources::webhook::{Webhook, WebhookError, WebhookOptions};
use crate::trend::{Digest, Kept, NoDigest, Since};
use clap::ValueHint;

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

pub(super) fn run(args: &DigestArgs, io: &mut Io<'_>) -> Outcome {
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
    let aws = args.bucket.options(&settings, io);
    let recorded = read_recorded(args.history.as_ref(), &aws, &args.out, io)?;
    let is_whole = recorded.problems.is_empty();
    let book = known_prices::book(args.offline, &settings, io)?;
    let today = |region: &str, name: &str| public_price(&book, region, name);
    let kept = Kept { runs: recorded.runs, rows: recorded.rows, actions: recorded.actions };
    let digest = Digest::of(kept, args.since, &today, io.now).map_err(nothing)?;
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

fn nothing(why: NoDigest) -> Failure {
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
    let sent = live::run(&args.out, &Notice::default(), io, async |progress| {
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
