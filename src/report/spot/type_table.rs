//! `gpucost spot --type` for people: the arithmetic, line by line.

use crate::analysis::{SpotAssessment, ZonePrice};
use crate::domain::{HourlyRate, Money, WorkloadKind};
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::TableStyle;
use crate::report::shared::text::{ABSENT, count, counted, fit, money_or_absent, rounded, wrap};
use crate::savings::{SpotBasis, SpotFigures};
use jiff::SignedDuration;
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;

/// Columns before the text of a line.
const LABEL: usize = 15;

/// Spot for one type as a table.
pub fn spot_type_table(found: &SpotAssessment, style: TableStyle) -> String {
    let key = &found.key;
    let mut text = format!(
        "{}\n\n",
        style.heading(&format!(
            "{} on spot, {} {}: {}",
            key.instance_type,
            key.region,
            key.operating_system,
            job(found)
        ))
    );
    let mut line = |label: &str, words: String| {
        for (index, part) in wrap(&words, style.width - LABEL - 2).iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            text.push_str(&format!("  {label:<LABEL$}{part}\n"));
        }
    };
    line("on-demand", on_demand(found));
    if let Some(figures) = &found.figures {
        line("spot", spot(figures));
        line("interruptions", taken_back(found, figures));
        line("assumed rate", reckoned(figures));
        line("checkpoints", checkpoints(found, figures));
        line("work lost", work_lost(figures));
        line("overhead", overhead(figures));
        line("effective", effective(figures));
        line("break-even", break_even(figures));
    } else {
        line("spot", ABSENT.to_owned());
    }
    text.push('\n');
    if let Some(figures) = &found.figures {
        text.push_str(&savings(found, figures, style));
    }
    if !found.zones.is_empty() {
        text.push_str(&zone_table(&found.zones, style));
    }
    text.push_str(&verdict(found, style));
    text
}

fn job(found: &SpotAssessment) -> String {
    let kind = match found.job.kind {
        WorkloadKind::Unknown => "a job of undeclared kind",
        kind => kind.name(),
    };
    let nodes = counted(u64::from(found.job.nodes), "node", "nodes");
    let restartable = if found.job.restartable {
        ", restartable"
    } else {
        ""
    };
    format!("{kind} on {nodes}{restartable}")
}

/// A rate with its sign and at least four decimals.
fn rate(rate: HourlyRate) -> String {
    let amount = rate.amount().round_dp(6).normalize();
    format!(
        "{}{}",
        rate.currency().sign(),
        rounded(amount, amount.scale().max(4))
    )
}

fn percent(share: Decimal) -> String {
    format!("{}%", rounded(share * Decimal::ONE_HUNDRED, 4))
}

/// A small number with as many decimals as it needs to say something.
fn rare(value: f64) -> String {
    Decimal::from_f64(value).map_or_else(
        || ABSENT.to_owned(),
        |value| {
            rounded(value, 6)
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_owned()
        },
    )
}

/// A length of time such as `26m50s`.
pub(super) fn length(time: SignedDuration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let mut text = String::new();
    for (number, unit) in [(hours, "h"), (minutes, "m"), (seconds, "s")] {
        if number > 0 {
            text.push_str(&format!("{number}{unit}"));
        }
    }
    if text.is_empty() {
        "0s".to_owned()
    } else {
        text
    }
}

/// What a spot price is, in words.
pub(super) fn basis(basis: SpotBasis, zones: usize) -> String {
    match basis {
        SpotBasis::ZonesMedian => format!(
            "median of time-weighted means over {}",
            counted(zones as u64, "zone", "zones")
        ),
        SpotBasis::RegionMedian => "regional price, as last read".to_owned(),
        SpotBasis::CatalogAverage => "catalog average; no price history read".to_owned(),
        SpotBasis::OwnPrice => "custom price".to_owned(),
    }
}

fn on_demand(found: &SpotAssessment) -> String {
    found.on_demand.as_ref().map_or_else(
        || ABSENT.to_owned(),
        |quote| format!("{} per hour, as of {}", rate(quote.rate), quote.seen_on),
    )
}

fn spot(figures: &SpotFigures) -> String {
    let spot = &figures.spot;
    format!(
        "{} per hour, as of {} ({})",
        rate(spot.rate),
        spot.seen_on,
        basis(spot.basis, spot.quotes.len())
    )
}

fn taken_back(found: &SpotAssessment, figures: &SpotFigures) -> String {
    let known = found.band.zip(figures.interruptions.band_per_node_hour);
    known.map_or_else(
        || "interruption frequency not published for this instance type".to_owned(),
        |((band, date), per_hour)| {
            format!(
                "{} of the instances per month, read on {date}: {} per node-hour",
                band.name(),
                rare(per_hour)
            )
        },
    )
}

fn reckoned(figures: &SpotFigures) -> String {
    let interruptions = figures.interruptions;
    let why = if interruptions.is_prudence {
        "conservative assumption, not the band"
    } else {
        "from the band"
    };
    format!(
        "{} interruptions per job-hour ({why})",
        rare(interruptions.per_hour)
    )
}

fn checkpoints(found: &SpotAssessment, figures: &SpotFigures) -> String {
    let which = if figures.is_best_interval {
        "the best interval up to an hour"
    } else {
        "as specified"
    };
    format!(
        "every {} ({which}), each {}",
        length(figures.checkpoint_interval),
        length(found.job.checkpointing.cost)
    )
}

fn work_lost(figures: &SpotFigures) -> String {
    format!(
        "{} per interruption: half an interval plus the restart",
        length(figures.lost_per_interruption)
    )
}

fn overhead(figures: &SpotFigures) -> String {
    format!(
        "{} of the time: {} checkpoints, {} interruptions",
        percent(figures.overhead),
        percent(figures.checkpoint_share),
        percent(figures.overhead - figures.checkpoint_share)
    )
}

fn effective(figures: &SpotFigures) -> String {
    figures.effective.map_or_else(
        || "none: the job would make no progress".to_owned(),
        |effective| format!("{} per hour of completed work", rate(effective)),
    )
}

fn break_even(figures: &SpotFigures) -> String {
    figures.break_even_per_hour.map_or_else(
        || "none: at this interval spot never costs less than on-demand".to_owned(),
        |per_hour| {
            format!(
                "at {} interruptions per job-hour, spot costs the same as on-demand",
                rare(per_hour)
            )
        },
    )
}

/// Naive and effective side by side.
fn savings(found: &SpotAssessment, figures: &SpotFigures, style: TableStyle) -> String {
    let instances = count(found.instances as u64);
    let month = format!("MONTH × {instances}");
    let mut table = PlainTable::new(&["SAVED", "HOUR", "SHARE", &month], 1..4);
    let mut row = |name: &str, cost: Option<HourlyRate>, share, month: Option<Money>| {
        let saved = cost.map_or_else(
            || ABSENT.to_owned(),
            |cost| {
                let saved = (figures.on_demand.amount() - cost.amount()).round_dp(6);
                let sign = if saved.is_sign_negative() { "-" } else { "" };
                let amount = rounded(saved.abs(), 4);
                format!("{sign}{}{amount}", cost.currency().sign())
            },
        );
        let share = share_or_absent(share);
        table.row(vec![name.to_owned(), saved, share, money_or_absent(month)]);
    };
    row(
        "naive",
        Some(figures.spot.rate),
        Some(figures.naive_savings_percent()),
        found.naive_monthly_savings,
    );
    row(
        "effective",
        figures.effective,
        figures.effective_savings_percent(),
        found.effective_monthly_savings,
    );
    table.text(style)
}

/// A percentage with one decimal.
pub(super) fn share_or_absent(share: Option<Decimal>) -> String {
    share.map_or_else(
        || ABSENT.to_owned(),
        |share| format!("{}%", rounded(share, 1)),
    )
}

/// What [`zone_row`] fills.
pub(super) const ZONE_COLUMNS: [&str; 8] = [
    "ZONE",
    "MEAN",
    "NOW",
    "MIN",
    "MAX",
    "P95",
    "VOLATILITY",
    "OF",
];

/// What spot prices did by zone.
pub(super) fn zone_table(zones: &[ZonePrice], style: TableStyle) -> String {
    let mut table = PlainTable::new(&ZONE_COLUMNS, 1..7);
    for price in zones {
        table.row(zone_row(price));
    }
    table.text(style)
}

pub(super) fn zone_row(price: &ZonePrice) -> Vec<String> {
    let sign = price.quote.rate.currency().sign();
    let history = price.history.as_ref();
    let figure = |value: Option<Decimal>| {
        value.map_or_else(
            || ABSENT.to_owned(),
            |value| format!("{sign}{}", rounded(value, 4)),
        )
    };
    vec![
        fit(&price.zone, 20),
        figure(Some(price.quote.rate.amount())),
        figure(history.map(|history| history.now)),
        figure(history.map(|history| history.min)),
        figure(history.map(|history| history.max)),
        figure(history.map(|history| history.p95)),
        history.map_or_else(
            || ABSENT.to_owned(),
            |history| format!("{}%", rounded(history.volatility_percent, 1)),
        ),
        price.quote.seen_on.to_string(),
    ]
}

fn verdict(found: &SpotAssessment, style: TableStyle) -> String {
    let words = match &found.eligibility {
        Ok(risk) => format!("eligible at `--risk {risk}` or higher"),
        Err(reason) => format!("not eligible: {reason}"),
    };
    wrap(&words, style.width).join("\n") + "\n"
}
