//! `gpucost history`: what the kept nights add up to.

use super::nights::{incomplete, read_nights};
use super::trend_args::{ByChoice, TrendArgs, TrendFormat};
use crate::catalog::bundled_quote;
use crate::cli::exit::{ExitCode, Failure};
use crate::cli::{Io, estate, output, pricing};
use crate::config::SettingsFile;
use crate::domain::{
    DatedPrice, DatedUnits, PriceBook, PriceKey, PriceOrigin, PriceQuote, nearest_names, shell_word,
};
use crate::report::{doc_csv, doc_json, doc_table, history_answer, history_html};
use crate::sources::files::read_dated_units;
use crate::trend::{AnomalyLimits, Ledger, Overview, TrendAsk, TrendKey, UnknownUnits};
use clap::ValueEnum;

pub(super) fn run(args: &TrendArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let settings = estate::settings(&args.out, io)?;
    let units = units(args)?;
    let aws = args.bucket.options(&settings, io);
    let recorded = read_nights(args.history.as_ref(), &aws, &args.out, io)?;
    let is_whole = recorded.problems.is_empty();
    let ledger = Ledger::of(recorded.rows, &recorded.runs, io.now);
    let book = pricing::book(args.offline, &settings, io)?;
    let today = |region: &str, name: &str| public_price(&book, region, name);
    let ask = TrendAsk {
        step: args.step.step(),
        key: key(args),
        since: args.since,
        horizon: args.forecast.map(|period| period.horizon()),
        limits: AnomalyLimits {
            amount: args.anomaly_amount,
            percent: args.anomaly_percent,
        },
    };
    let found = Overview::of(ledger, recorded.actions, &units, &today, ask);
    let found = found.map_err(unknown)?.ok_or_else(|| {
        Failure::input("the history has no day to show").with_hint(
            "run `gpucost history record` every night; `--since` must not be after its last day",
        )
    })?;
    let text = render(&found, args, &settings, io)?;
    output::document(&text, &args.out, io)?;
    let is_csv = matches!(format(args, &settings, io), TrendFormat::Csv);
    if is_csv && (args.forecast.is_some() || args.units.is_some()) {
        let warning = "warning: CSV has the trend alone; `--format json` has all of it";
        output::warn(Some(warning.to_owned()), &args.out, io);
    }
    if is_whole {
        return Ok(ExitCode::Done);
    }
    Ok(incomplete(args.history.as_ref(), io))
}

fn units(args: &TrendArgs) -> Result<Vec<DatedUnits>, Failure> {
    let Some(path) = &args.units else {
        return Ok(Vec::new());
    };
    if let Some(output) = &args.out.output {
        output::check_distinct(&[("--units", path), ("--output", output.as_path())])?;
    }
    read_dated_units(path).map_err(|error| {
        let hint = "see docs/money-over-time.md for the columns";
        Failure::new(ExitCode::Input, error).with_hint(hint)
    })
}

fn unknown(error: UnknownUnits) -> Failure {
    let nearest = nearest_names(&error.name, error.known.iter().map(String::as_str));
    let hint = if nearest.is_empty() {
        "names are those of the workloads in the history".to_owned()
    } else {
        format!("did you mean {}?", nearest.join(", "))
    };
    Failure::new(ExitCode::Input, error).with_hint(hint)
}

fn key(args: &TrendArgs) -> TrendKey {
    match args.by {
        ByChoice::Workload => TrendKey::Workload,
        ByChoice::Team => TrendKey::Tag(args.team_tag.clone()),
        ByChoice::Account => TrendKey::Account,
        ByChoice::Type => TrendKey::InstanceType,
    }
}

/// The public on-demand price of a type today: what the user states in its place is none.
pub(in crate::cli) fn public_price(
    book: &PriceBook,
    region: &str,
    name: &str,
) -> Option<DatedPrice> {
    let key = PriceKey::linux_on_demand(region, name);
    let own = book.get(&key).ok().filter(is_public).cloned();
    let quote = own.or_else(|| bundled_quote(&key))?;
    Some(DatedPrice {
        hourly: quote.rate,
        effective_date: Some(quote.effective_date),
        seen_on: quote.seen_on,
        origin: quote.origin,
    })
}

fn is_public(quote: &&PriceQuote) -> bool {
    quote.origin != PriceOrigin::User
}

/// The format by precedence: flag, environment, file, table. A format that only other
/// commands know is not an error there.
fn format(args: &TrendArgs, settings: &SettingsFile, io: &Io<'_>) -> TrendFormat {
    let named = || io.variable("GPUCOST_FORMAT").or(settings.format.as_ref());
    args.format
        .or_else(|| TrendFormat::from_str(named()?, true).ok())
        .unwrap_or(TrendFormat::Table)
}

fn render(
    found: &Overview,
    args: &TrendArgs,
    settings: &SettingsFile,
    io: &Io<'_>,
) -> Result<String, Failure> {
    let flags = args.history.as_ref().map_or(String::new(), |place| {
        format!(" --history {}", shell_word(&place.word()))
    });
    let answer = || history_answer(found, &flags);
    let style = |wide| output::style(wide, &args.out, io);
    match format(args, settings, io) {
        TrendFormat::Table => Ok(doc_table(&answer(), style(false))),
        TrendFormat::Wide => Ok(doc_table(&answer(), style(true))),
        TrendFormat::Json => doc_json(&answer()).map_err(Failure::unexpected),
        TrendFormat::Csv => doc_csv(&answer()).map_err(Failure::unexpected),
        TrendFormat::Html => Ok(history_html(found)),
    }
}
