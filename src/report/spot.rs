//! `gpucost spot`: of one type, with its arithmetic, and of every workload of a fleet.

use super::doc::{CsvRows, Doc, Given, Record, Step, Table, Value, columns, doc_schema, rows};
use super::promises::RISKS;
use super::reserved::{CURRENCIES, ORIGINS, SYSTEMS};
use super::shared::gaps::groups_of;
use super::shared::text::{
    counted, joined, json_account, money, percent, rounded, some_of, unit_price,
};
use super::shared::view::sum;
use crate::analysis::{SpotAssessment, SpotReport, ZonePrice};
use crate::domain::{
    Currency, HourlyRate, InterruptionBand, Money, PriceQuote, PurchaseOption, WorkloadKind,
};
use crate::savings::{SpotBasis, SpotFigures};
use jiff::SignedDuration;
use jiff::civil::Date;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::collections::BTreeSet;

/// Names that a reason or a note has beside it.
const NAMED: usize = 12;

pub(super) const WORKLOAD_KINDS: &[&str] = WorkloadKind::NAMES;

columns! {
    fn fleet(report: SpotReport) {
        time "as_of", "", Data, report.as_of, "";
        word[&["usage-after-plan", "usage-today"]] "sized_on", "", Data, if report.is_today { "usage-today" } else { "usage-after-plan" }, "Whether it is about what the plan leaves or about today's fleet.";
    }

    fn one_type<'a>(row: &'a SpotAssessment) {
        record[assessment] "spot", "", Narrow(0), *row, "";
    }

    fn workload<'a>(row: &'a SpotAssessment) {
        text "id", "", Data, row.workload.as_ref().map(|workload| workload.id()), "";
        text "name", "workload", Narrow(0), name(row).to_owned(), "";
        opt text "account", "", Data, row.workload.as_ref().and_then(|workload| json_account(&workload.key.account)), "";
        word[PurchaseOption::NAMES] "purchase_option", "", Data, row.workload.as_ref().map(|workload| workload.key.purchase_option.name()), "";
        opt money "monthly_cost", "", Data, row.monthly_cost(), "Today's.";
    }

    fn assessment<'a>(row: &'a SpotAssessment) {
        text "region", "", Data, row.key.region.clone(), "";
        text "type", "type", Screen, format!("{} × {}", row.instances, row.key.instance_type), "";
        text "instance_type", "", Data, row.key.instance_type.clone(), "";
        count "instances", "", Data, row.instances, "";
        word[SYSTEMS] "operating_system", "", Data, row.key.operating_system.name(), "";
        word[WORKLOAD_KINDS] "kind", "kind", Narrow(3), row.job.kind.name(), "";
        flag "restartable", "", Data, row.job.restartable, "";
        count "nodes", "", Data, row.job.nodes, "Instances that stop together.";
        opt word[CURRENCIES] "currency", "", Data, currency(row).map(Currency::code), "Of all amounts; null if nothing is priced.";
        opt price "on_demand_hourly", "on-demand", Wide, row.on_demand.as_ref().map(PriceQuote::an_hour), "";
        opt date "on_demand_date", "", Data, row.on_demand.as_ref().map(|quote| quote.seen_on), "";
        opt price "spot_hourly", "spot", Narrow(0), figures(row, |figures| figures.spot.rate.an_hour()), "";
        opt word[SpotBasis::NAMES] "spot_basis", "", Data, figures(row, |figures| figures.spot.basis.name()), "";
        opt date "spot_date", "", Data, figures(row, |figures| figures.spot.seen_on), "";
        rows[zone] "zones", "", Data, row.zones.iter().map(|price| (row.key.instance_type.as_str(), price)), "Spot prices by zone.";
        opt word[InterruptionBand::NAMES] "interruption_band", "interrupted", Wide, row.band.map(|(band, _)| band.name()), "Share of instances that are interrupted per month.";
        opt date "interruption_band_date", "", Data, row.band.map(|(_, date)| date), "";
        opt millionths "band_interruptions_per_node_hour", "", Data, figures(row, |figures| figures.interruptions.band_per_node_hour).flatten(), "";
        opt millionths "interruptions_per_hour", "", Data, figures(row, |figures| figures.interruptions.per_hour), "Of all nodes of the job.";
        opt word[&["band", "prudence"]] "interruptions_basis", "", Data, figures(row, |figures| if figures.interruptions.is_prudence { "prudence" } else { "band" }), "";
        count "checkpoint_cost_seconds", "", Data, row.job.checkpointing.cost.as_secs(), "";
        count "restart_cost_seconds", "", Data, row.job.checkpointing.restart.as_secs(), "";
        opt count "checkpoint_interval_seconds", "every (s)", Wide, figures(row, |figures| figures.checkpoint_interval).or(row.job.checkpointing.interval).map(|time| time.as_secs()), "";
        word[&["given", "best"]] "checkpoint_interval_basis", "", Data, if row.job.checkpointing.interval.is_some() { "given" } else { "best" }, "";
        opt count "lost_seconds_per_interruption", "lost (s)", Wide, figures(row, |figures| figures.lost_per_interruption.as_secs()), "";
        opt percent "checkpoint_share_percent", "", Data, figures(row, |figures| percentage(figures.checkpoint_share)).flatten(), "";
        opt percent "overhead_percent", "overhead", Wide, figures(row, |figures| percentage(figures.overhead)).flatten(), "";
        opt price "effective_hourly", "", Data, figures(row, |figures| figures.effective.map(HourlyRate::an_hour)).flatten(), "Spot price of an hour of useful work.";
        opt percent "naive_savings_percent", "naive", Narrow(2), figures(row, |figures| figures.naive_savings_percent().to_f64()).flatten(), "Of the price alone.";
        opt percent "effective_savings_percent", "effective", Narrow(1), figures(row, |figures| figures.effective_savings_percent()?.to_f64()).flatten(), "After checkpoints and lost work.";
        opt money "naive_monthly_savings", "", Data, row.naive_monthly_savings, "";
        opt money "effective_monthly_savings", "month", Narrow(0), row.effective_monthly_savings, "";
        opt millionths "break_even_interruptions_per_hour", "", Data, figures(row, |figures| figures.break_even_per_hour).flatten(), "";
        flag "eligible", "move", Narrow(0), row.eligibility.is_ok(), "";
        opt text "reason", "", Data, row.eligibility.as_ref().err().cloned(), "Why it is not eligible.";
        opt word[RISKS] "risk", "risk", Narrow(0), row.eligibility.as_ref().ok().map(|risk| risk.name()), "";
        texts "caveats", "", Data, row.caveats.clone(), "What would stop an engineer, of what the plan moves.";
    }

    fn zone<'a>(row: (&'a str, &'a ZonePrice)) {
        text "type", "type", Screen, row.0.to_owned(), "";
        text "zone", "zone", Narrow(0), row.1.zone.clone(), "";
        price "mean", "mean", Narrow(0), row.1.quote.an_hour(), "Time-weighted, over the window.";
        opt price "now", "now", Narrow(0), row.1.history.as_ref().map(|history| in_zone(row.1, history.now)), "";
        opt price "min", "min", Narrow(0), row.1.history.as_ref().map(|history| in_zone(row.1, history.min)), "";
        opt price "max", "max", Narrow(0), row.1.history.as_ref().map(|history| in_zone(row.1, history.max)), "";
        opt price "p95", "p95", Narrow(0), row.1.history.as_ref().map(|history| in_zone(row.1, history.p95)), "";
        opt percent "volatility_percent", "volatility", Narrow(0), row.1.history.as_ref().and_then(|history| history.volatility_percent.to_f64()), "Standard deviation divided by the mean, in percent.";
        date "date", "date", Narrow(0), row.1.quote.seen_on, "";
        word[ORIGINS] "origin", "", Data, row.1.quote.origin.name(), "";
    }

    fn reason<'a>(row: (&'a str, Vec<&'a str>)) {
        text "reason", "reason", Narrow(0), row.0.to_owned(), "";
        text "workloads", "workloads", Narrow(0), some_of(row.1.iter().copied(), NAMED), "";
    }
}

/// Spot for one type as a document: the figures and their arithmetic.
pub fn spot_type_doc(assessment: &SpotAssessment) -> Doc {
    let SpotAssessment { key, job, .. } = assessment;
    let kind = match job.kind {
        WorkloadKind::Unknown => "a job of undeclared kind",
        kind => kind.name(),
    };
    let nodes = counted(job.nodes, "node", "nodes");
    let restartable = if job.restartable { ", restartable" } else { "" };
    let verdict = match &assessment.eligibility {
        Ok(risk) => format!("eligible at `--risk {risk}` or higher"),
        Err(reason) => format!("not eligible: {reason}"),
    };
    Doc {
        name: "spot",
        headline: format!(
            "{} on spot, {} {}, {kind} on {nodes}{restartable}: {verdict}",
            key.instance_type, key.region, key.operating_system
        ),
        record: Record::of(one_type(), &assessment),
        csv: CsvRows::Record,
        given: given(assessment),
        steps: figures(assessment, |figures| steps(assessment, figures)).unwrap_or_default(),
        screens: vec![zones(std::slice::from_ref(assessment))],
        ..Doc::default()
    }
}

/// Spot for a fleet as a document: a row for each workload.
pub fn spot_fleet_doc(report: &SpotReport) -> Doc {
    let assessments = &report.assessments;
    let eligible: Vec<&SpotAssessment> =
        assessments.iter().filter(|row| row.eligibility.is_ok()).collect();
    let saved = CURRENCIES.iter().filter_map(|code| {
        let saved = eligible.iter().map(|row| row.effective_monthly_savings);
        sum(saved.filter(|saved| saved.is_some_and(|amount| amount.currency().code() == *code)))
    });
    let saved = match joined(saved.map(money), " and ").as_str() {
        "" => String::new(),
        saved => format!(", {saved} per month after interruptions"),
    };
    let (title, becomes) = match report.is_today {
        true => ("NOT ELIGIBLE", "eligible for spot as it runs today"),
        false => ("NOT MOVED", "moved to spot by the plan"),
    };
    let total = counted(assessments.len(), "workload", "workloads");
    let mut table = workloads(assessments);
    table.notes = notes(report);
    let reasons = assessments
        .iter()
        .filter_map(|row| Some((row.eligibility.as_ref().err()?.as_str(), name(row))));
    Doc {
        name: "spot",
        headline: format!("{} of {total} {becomes}{saved}", eligible.len()),
        record: Record::of(fleet(), report),
        screens: vec![table.clone(), reasons_table(title, reasons), zones(assessments)],
        tables: vec![table],
        gaps: Some(report.gaps.clone()),
        ..Doc::default()
    }
}

schema! {
    /// The JSON schema of `gpucost spot`, of one type and of a fleet.
    spot_schema: "spot", [Doc::form(Record::heads(one_type()), Vec::new()), Doc::form_with_gaps(Record::heads(fleet()), [workloads(&[])])],
    "Spot net of interruptions, for one type or for the workloads of a fleet; docs/levers/spot.md says what each key means. Rates are per hour and instance, amounts per month have cents, percentages are 0-100. Keys may be added within a schema version."
}

fn workloads(assessments: &[SpotAssessment]) -> Table {
    let columns = workload().into_iter().chain(assessment()).collect();
    Table::of("workloads", "", ("workload", "workloads"), columns, assessments)
}

/// Prices by zone, each type and zone once.
fn zones(assessments: &[SpotAssessment]) -> Table {
    let mut seen = BTreeSet::new();
    let prices =
        assessments.iter().flat_map(|row| row.zones.iter().map(move |price| (&row.key, price)));
    let prices = prices.filter(|(key, price)| seen.insert((*key, &price.zone)));
    let prices = prices.map(|(key, price)| (key.instance_type.as_str(), price));
    Table::of("zones", "SPOT PRICES BY ZONE", ("zone", "zones"), zone(), prices)
}

/// Why workloads stay as they are, each reason once with their names.
pub(super) fn reasons_table<'a>(
    title: &str,
    reasons: impl Iterator<Item = (&'a str, &'a str)>,
) -> Table {
    Table::of("reasons", title, ("reason", "reasons"), reason(), grouped(reasons))
}

/// Names by what is said of them, in the order in which it is said first.
pub(super) fn grouped<'a>(
    pairs: impl Iterator<Item = (&'a str, &'a str)>,
) -> Vec<(&'a str, Vec<&'a str>)> {
    let groups = groups_of(pairs, |(words, _)| Some(words)).into_iter();
    let names = |group: &[(_, &'a str)]| group.iter().map(|(_, name)| *name).collect();
    groups.map(|group| (group[0].0, names(&group))).collect()
}

/// What the columns mean, which prices are averages, and what to know of what moves.
fn notes<'a>(report: &'a SpotReport) -> Vec<String> {
    let assessments = &report.assessments;
    if assessments.is_empty() {
        return Vec::new();
    }
    let basis = if report.is_today {
        "at today's hours, whatever the plan stops, resizes or schedules"
    } else {
        "on the type and the hours that the other actions of the plan leave; MOVE is what the \
             plan does; `--today` is about today's fleet"
    };
    let prices = assessments.iter().filter_map(|row| {
        let spot = &row.figures.as_ref()?.spot;
        let is_average = spot.basis == SpotBasis::CatalogAverage;
        is_average.then_some((row.key.instance_type.as_str(), spot.seen_on))
    });
    let (types, dates): (BTreeSet<&str>, BTreeSet<Date>) = prices.unzip();
    let dates = joined(dates.iter().map(Date::to_string), ", ");
    let caveats =
        |row: &'a SpotAssessment| row.caveats.iter().map(move |caveat| (&**caveat, name(row)));
    rows! {
        format!("NAIVE: savings from the price alone; EFFECTIVE: savings after checkpoints and lost work; MONTH: effective savings {basis}.");
        if !types.is_empty() => format!("SPOT is the {}, as of {dates}: {}.", basis_words(SpotBasis::CatalogAverage, 0), some_of(types.iter().copied(), NAMED));
        for (caveat, names) in grouped(assessments.iter().flat_map(caveats)) => format!("! {}: {caveat}", some_of(names.into_iter(), NAMED));
    }
}

fn name(row: &SpotAssessment) -> &str {
    row.workload.as_ref().map_or("", |workload| &workload.name)
}

fn figures<T>(row: &SpotAssessment, of: impl FnOnce(&SpotFigures) -> T) -> Option<T> {
    row.figures.as_ref().map(of)
}

fn in_zone(price: &ZonePrice, amount: Decimal) -> Money {
    Money::new(amount, price.quote.rate.currency())
}

fn percentage(share: Decimal) -> Option<f64> {
    (share * Decimal::ONE_HUNDRED).to_f64()
}

/// Of the prices, and where there are none, of the cost.
fn currency(row: &SpotAssessment) -> Option<Currency> {
    let mut quotes = row.on_demand.iter().chain(row.zones.iter().map(|zone| &zone.quote));
    quotes.next().map(|quote| quote.rate.currency()).or(row.monthly_cost().map(Money::currency))
}

/// What a spot price is, in words.
fn basis_words(basis: SpotBasis, zones: usize) -> String {
    match basis {
        SpotBasis::ZonesMedian => {
            format!("median of time-weighted means over {}", counted(zones, "zone", "zones"))
        }
        SpotBasis::RegionMedian => "regional price, as last read".to_owned(),
        SpotBasis::CatalogAverage => "catalog average; no price history read".to_owned(),
        SpotBasis::OwnPrice => "custom price".to_owned(),
    }
}

fn given(assessment: &SpotAssessment) -> Vec<Given> {
    let on_demand = assessment.on_demand.as_ref();
    let spot = assessment.figures.as_ref().map(|figures| &figures.spot);
    let band = figures(assessment, |figures| figures.interruptions.band_per_node_hour).flatten();
    let checkpointing = &assessment.job.checkpointing;
    let no_price = || "no price".to_owned();
    let band_source = assessment.band.map_or_else(
        || "not published for this instance type".to_owned(),
        |(band, date)| format!("{band} of the instances per month, read on {date}"),
    );
    rows! {
        Given::new("on_demand_hourly", "on-demand, per hour", Value::make_price(on_demand.map(PriceQuote::an_hour)), on_demand.map_or_else(no_price, |quote| format!("as of {}", quote.seen_on)));
        Given::new("spot_hourly", "spot, per hour", Value::make_price(spot.map(|spot| spot.rate.an_hour())), spot.map_or_else(no_price, |spot| format!("as of {} ({})", spot.seen_on, basis_words(spot.basis, spot.quotes.len()))));
        Given::new("band_interruptions_per_node_hour", "interruptions per node-hour", Value::make_millionths(band), band_source);
        Given::new("checkpoint_cost_seconds", "a checkpoint, seconds", seconds(checkpointing.cost), "--checkpoint-cost");
        Given::new("restart_cost_seconds", "a restart, seconds", seconds(checkpointing.restart), "--restart-cost");
    }
}

fn steps(assessment: &SpotAssessment, figures: &SpotFigures) -> Vec<Step> {
    let share = |share: Decimal| format!("{}%", rounded(share * Decimal::ONE_HUNDRED, 4));
    let is_prudence = figures.interruptions.is_prudence;
    let why = if is_prudence { "conservative assumption, not the band" } else { "from the band" };
    let nodes = counted(assessment.job.nodes, "node", "nodes");
    let (interval, restart) =
        (figures.checkpoint_interval, assessment.job.checkpointing.restart.as_secs());
    let (spot, on_demand) = (figures.spot.rate.an_hour(), figures.on_demand.an_hour());
    let effective = figures.effective.map(HourlyRate::an_hour);
    let saved = |rate: Money, share: Option<Decimal>| {
        let saved = Money::new(on_demand.amount() - rate.amount(), rate.currency());
        let [today, rate, saved] = [on_demand, rate, saved].map(unit_price);
        let share = share.and_then(|share| share.to_f64()).map(percent).unwrap_or_default();
        let instances = counted(assessment.instances, "instance", "instances");
        format!("{today} − {rate} = {saved} per hour, {share}, for {instances}")
    };
    let interruptions = share(figures.overhead - figures.checkpoint_share);
    let completed = match effective {
        Some(_) => format!("{} / (1 − {})", unit_price(spot), share(figures.overhead)),
        None => "none: the job would make no progress".to_owned(),
    };
    let break_even = match figures.break_even_per_hour {
        Some(_) => "interruptions at which spot costs the same as on-demand",
        None => "none: at this interval spot never costs less than on-demand",
    };
    rows! {
        Step::new("interruptions per job-hour", format!("{nodes} ({why})"), Value::make_millionths(figures.interruptions.per_hour));
        Step::new("checkpoint every, seconds", if figures.is_best_interval { "the best interval up to an hour" } else { "as specified" }, seconds(interval));
        Step::new("lost per interruption, seconds", format!("{} / 2 + {restart}", interval.as_secs()), seconds(figures.lost_per_interruption));
        Step::new("overhead, percent", format!("{} checkpoints + {interruptions} interruptions", share(figures.checkpoint_share)), Value::make_number(percentage(figures.overhead), 4));
        Step::new("per hour of completed work", completed, Value::make_price(effective));
        Step::new("break-even, per job-hour", break_even, Value::make_millionths(figures.break_even_per_hour));
        Step::new("naive savings per month", saved(spot, Some(figures.naive_savings_percent())), Value::make_money(assessment.naive_monthly_savings));
        Step::new("effective savings per month", effective.map_or_else(String::new, |rate| saved(rate, figures.effective_savings_percent())), Value::make_money(assessment.effective_monthly_savings));
    }
}

fn seconds(time: SignedDuration) -> Value {
    Value::make_count(time.as_secs())
}
