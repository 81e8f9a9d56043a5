//! `gpucost history`: the sums of recorded audits.

use super::places::flag;
use super::recorded::{incomplete, read_recorded};
use super::trend_args::{ByChoice, TrendArgs};
use crate::catalog::bundled_quote;
use crate::cli::args::DocFormat;
use crate::cli::exit::{ExitCode, Failure};
use crate::cli::{Io, audit, documents, estate, known_prices, output};
use crate::domain::{
    DatedPrice, DatedUnits, PriceBook, PriceKey, PriceOrigin, PriceQuote, nearest_names,
};
use crate::report::history_answer;
use crate::sources::files::read_dated_units;
use crate::trend::{AnomalyLimits, Ledger, Overview, TrendKey, TrendRequest, UnknownUnits};

pub(super) fn run(args: &TrendArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let settings = estate::settings(&args.out, io)?;
    let format = audit::format(args.format, &settings, io)?;
    let units = units(args)?;
    let aws = args.bucket.options(&settings, io);
    let recorded = read_recorded(args.history.as_ref(), &aws, &args.out, io)?;
    let is_whole = recorded.problems.is_empty();
    let ledger = Ledger::of(recorded.rows, &recorded.runs, io.now);
    let book = known_prices::book(args.offline, &settings, io)?;
    let today = |region: &str, name: &str| public_price(&book, region, name);
    let ask = TrendRequest {
        step: args.step,
        key: key(args),
        since: args.since,
        horizon: args.forecast,
        limits: AnomalyLimits { amount: args.anomaly_amount, percent: args.anomaly_percent },
    };
    let overview = Overview::of(ledger, recorded.actions, &units, &today, ask);
    let overview = overview.map_err(unknown)?.ok_or_else(|| {
        Failure::input("the history has no day to show").with_hint(
            "run `gpucost history record` every night; `--since` must not be after its last day",
        )
    })?;
    let answer = history_answer(&overview, &flag(args.history.as_ref()));
    documents::print(&answer, format, &args.out, io)?;
    if format == DocFormat::Csv && (args.forecast.is_some() || args.units.is_some()) {
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
    let output = args.out.output.as_ref();
    output::check_distinct([("--units", Some(path)), ("--output", output)])?;
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
