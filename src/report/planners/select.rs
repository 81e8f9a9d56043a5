//! Which instance type to rent.

use super::model;
use super::{MIB_OF_GIB, current};
use crate::domain::{
    Architecture, Currency, GpuShare, InstanceShape, Money, PriceQuote, WorkloadKind,
};
use crate::planners::Paying;
use crate::planners::select::{
    OfferedType, ReasonCount, RefusedType, SelectedType, Selection, Wanted,
};
use crate::report::doc::{Doc, Given, Missing, Step, Table, Value, columns, rows};
use crate::report::shared::text::{counted, unit_price};
use rust_decimal::Decimal;

/// The types that do the work, and why the others are out.
pub fn select_answer(selection: &Selection) -> Doc {
    let (wanted, refused) = (&selection.wanted, &selection.refused);
    let (is_spread, reasons) =
        (has_regions(refused.iter().map(|offer| &offer.offered)), selection.reasons());
    let is_sized = wanted.vram_mib.is_some() || wanted.vram_total_mib.is_some();
    let is_known = is_sized || wanted.model().is_some() || wanted.vcpu_without_gpu.is_some();
    Doc {
        name: "select",
        headline: headline(selection),
        given: given(wanted),
        steps: steps(selection),
        tables: rows! {
            types(selection);
            ..model::tables(selection);
            Table::of("reasons", "WHY OTHERS ARE OUT, NEAREST FIRST", ("reason", "reasons"), of_reasons(), reasons);
            Table::of("refused", "TYPES THAT ARE OUT", noun(is_spread), of_refused(), refused).wide_unless(is_spread, &["region"]);
        },
        caveats: caveats(selection),
        missing: rows! {
            if !is_known => Missing::new("memory that the work needs on a GPU", "measure a run with `gpucost profile --samples run.jsonl -- COMMAND` and pass `--profile-data run.jsonl`, compute it for a language model with `gpucost select --params 8b`, or pass `--vram SIZE`");
            ..model::unknown(wanted);
        },
        next: next(selection),
        ..Doc::default()
    }
}

fn headline(selection: &Selection) -> String {
    let Some(best) = selection.fits.first() else {
        let nearest = selection.refused.first().map_or(String::new(), |refused| {
            format!("; nearest: {}: {}", place(&refused.offered), refused.reason)
        });
        return format!("no instance type fits{nearest}");
    };
    let count = |is_checked: bool| {
        let alike = selection.fits.iter().filter(|fit| fit.dtype() == best.dtype());
        alike.filter(|fit| fit.is_checked() == is_checked).count() as u64
    };
    let (checked, unchecked) = (count(true), count(false));
    let served = selection.wanted.models.iter();
    let served = served.filter(|model| Some(model.dtype) == best.dtype()).map(model::served);
    let name = place(&best.offered);
    let name = served.fold(name, |name, served| format!("{served}: {name}"));
    let (hour, paying, month) = (unit_price(best.rate.an_hour()), best.paying, best.monthly);
    let tokens = model::per_million(best, selection)
        .map_or(String::new(), |cost| format!(", about {cost} per million output tokens"));
    let costs = format!("{hour} per hour {paying}, {month} per month{tokens}");
    let rate = selection.wanted.rate_per_second.unwrap_or_default();
    let rate = format!("{} requests per second", rate.round_dp(6).normalize());
    let offers = counted(unchecked, "offer with GPUs", "offers with GPUs");
    match (checked, unchecked) {
        (0, 1) => format!(
            "no offer is known to serve {rate}; that was not checked for {name}, the only one \
             that fits otherwise: {costs}"
        ),
        (0, _) => format!(
            "no offer is known to serve {rate}; of {offers} for which that was not checked, \
             {name} is the cheapest: {costs}"
        ),
        (1, 0) => format!("{name} is the only offer that fits: {costs}"),
        (_, 0) => format!("{name} is the cheapest of {checked} offers that fit: {costs}"),
        _ => format!(
            "{name} is the cheapest of {} known to serve {rate}: {costs}; that was not checked \
             for {offers}",
            counted(checked, "offer", "offers")
        ),
    }
}

fn place(offered: &OfferedType) -> String {
    let name = &offered.shape.instance_type;
    let region = offered.region.as_ref();
    region.map_or_else(|| name.clone(), |region| format!("{name} in {region}"))
}

fn given(wanted: &Wanted) -> Vec<Given> {
    let line = |key: &'static str, name: &'static str, value: Value, flag: &str| {
        Given::new(key, name, value, wanted.sources.get(key).map_or(flag, String::as_str))
    };
    let gpus = match wanted.gpus {
        Some(GpuShare::Whole(gpus)) => Value::Count(gpus.into()),
        part => Value::make_number(part.map(GpuShare::count), 3),
    };
    let usd = |amount: Decimal| Money::new(amount, Currency::Usd);
    rows! {
        line("kind", "kind of work", Value::text(wanted.kind.to_string()), "--kind");
        if wanted.restartable => line("restartable", "restartable", Value::Flag(true), "--restartable");
        line("gpus", "GPUs", gpus, "--gpus");
        ..model::given(wanted);
        for mib in wanted.vram_mib => line("vram_mib", "MiB of each GPU", Value::Number(mib, 0), "--vram");
        for mib in wanted.vram_total_mib => line("vram_total_mib", "MiB of all GPUs", Value::Number(mib, 0), "--vram-total");
        for mib in wanted.memory_mib => line("memory_mib", "MiB of host memory", Value::Number(mib, 0), "--memory");
        for vcpu in wanted.vcpu => line("vcpu", "vCPUs", Value::Number(vcpu, 2), "");
        for vcpu in wanted.vcpu_without_gpu => line("vcpu_without_gpu", "vCPUs without a GPU", Value::Number(vcpu, 2), "");
        if wanted.nvlink => line("nvlink", "NVLink", Value::Flag(true), "--nvlink");
        if wanted.efa => line("efa", "EFA", Value::Flag(true), "--efa");
        line("architecture", "CPU", Value::text(wanted.architecture.map_or("any", Architecture::name)), "--arch");
        for hourly in wanted.budget.hourly => line("budget_hourly", "budget per hour", Value::Price(usd(hourly)), "--budget-hourly");
        for monthly in wanted.budget.monthly => line("budget_monthly", "budget per month", Value::Money(usd(monthly)), "--budget-monthly");
        line("hours_per_month", "hours per month", Value::make_number(wanted.hours, 0), "--hours-per-month");
        ..wanted.today.iter().flat_map(current);
    }
}

fn steps(selection: &Selection) -> Vec<Step> {
    let wanted = &selection.wanted;
    let best = selection.fits.first();
    rows! {
        for best in best => Step::new(format!("month of {}", best.offered.shape.instance_type), format!("{} × {} h", best.rate.amount().normalize(), wanted.billed_hours(best.paying).normalize()), Value::Money(best.monthly));
        ..best.and_then(|best| against_today(best, wanted));
        ..best.into_iter().flat_map(|best| model::steps(best, wanted));
        for (offer, requests) in selection.fits.iter().find(|offer| offer.per_thousand_requests.is_some()).zip(wanted.rate_per_second) => Step::new("1,000 requests without a GPU", format!("{} of {} / ({} × 3,600) × 1,000", offer.rate.amount().normalize(), offer.offered.shape.instance_type, requests.normalize()), Value::make_price(offer.per_thousand_requests));
    }
}

/// What the cheapest saves against one instance of today.
fn against_today(best: &SelectedType, wanted: &Wanted) -> Option<Step> {
    let today = wanted.today.as_ref()?;
    let (rate, hours) = (today.rate?.amount().round_dp(6), wanted.hours.normalize());
    let name = format!("month less than one {}", today.instance_type);
    let arithmetic = format!("{} × {hours} h - {}", rate.normalize(), best.monthly);
    Some(Step::new(name, arithmetic, Value::Money(best.saved_monthly?)))
}

/// Whether offers are in several regions, so that a type alone does not name one.
fn has_regions<'a>(offers: impl Iterator<Item = &'a OfferedType>) -> bool {
    let mut regions = offers.filter_map(|offered| offered.region.as_ref());
    let first = regions.next();
    regions.any(|region| Some(region) != first)
}

/// What a row is.
fn noun(has_regions: bool) -> (&'static str, &'static str) {
    if has_regions { ("offer", "offers") } else { ("type", "types") }
}

fn types(selection: &Selection) -> Table {
    let (fits, wanted) = (&selection.fits, &selection.wanted);
    let has_regions = has_regions(fits.iter().map(|offer| &offer.offered));
    let is_on_demand = fits.iter().all(|offer| offer.paying == Paying::OnDemand);
    let (today, has_model) = (wanted.today.as_ref(), wanted.model().is_some());
    // Names of types need their room: the headline says how the first is paid, and the next
    // commands what commitments cost.
    let is_wide = today.is_some() || has_model;
    let is_saved = today.is_some_and(|today| !today.is_committed);
    let is_in_part = wanted.model().is_some_and(|model| model.terms.utilization < 1.0);
    let rows = fits.iter().map(|offer| (offer, selection));
    Table::of("types", "TYPES THAT FIT", noun(has_regions), of_types(), rows)
        .wide_unless(has_regions, &["region"])
        .wide_unless(wanted.models.len() > 1, &["dtype"])
        .wide_unless(!(has_regions || is_wide) || !is_on_demand, &["paying"])
        .wide_unless(is_saved && !has_model, &["saved_monthly"])
        .wide_unless(has_model, &["gpus_of_a_copy", "gpu_memory_needed_gib"])
        .wide_unless(has_model, &["output_tokens_per_second", "cost_per_million_output_tokens"])
        .wide_unless(is_in_part, &["cost_per_hour_of_use"])
        .wide_unless(!has_model, &["on_demand_hourly", "spot_hourly"])
        .wide_unless(wanted.rate_per_second.is_some(), &["per_thousand_requests"])
        // Nothing else may be interrupted.
        .wide_unless(wanted.restartable, &["interruption_band"])
        .wide_unless(!is_wide, &["reserved_1yr_hourly", "reserved_3yr_hourly"])
}

columns! {
    fn of_types<'a>(row: (&'a SelectedType, &'a Selection)) {
        text "instance_type", "type", Narrow(0), row.0.offered.shape.instance_type.clone();
        opt text "region", "region", Narrow(0), row.0.offered.region.clone();
        opt text "dtype", "dtype", Narrow(0), row.0.dtype().map(|dtype| dtype.name().to_owned());
        opt text "gpu", "gpu", Narrow(0), gpus(row.0.offered.shape);
        text "paying", "by", Narrow(0), row.0.paying.to_string();
        price "hourly", "hour", Wide, row.0.rate.an_hour();
        opt price "cost_per_hour_of_use", "hour of use", Narrow(0), row.1.wanted.model().and_then(|model| model.terms.hourly_of_use(row.0.rate));
        money "monthly_cost", "month", Narrow(0), row.0.monthly;
        opt money "saved_monthly", "saves", Narrow(0), row.0.saved_monthly;
        opt count "copies", "copies", Wide, row.0.layout.as_ref().map(|held| held.copies);
        opt count "gpus_of_a_copy", "GPUs each", Narrow(0), row.0.layout.as_ref().map(|held| held.gpus_each);
        opt number "gpu_memory_needed_gib", "needs GiB", Narrow(0), row.0.layout.as_ref().map(|held| held.needed_mib / MIB_OF_GIB);
        opt number "gpu_memory_gib", "GiB per GPU", Wide, row.0.layout.as_ref().map(|held| held.card.usable_mib as f64 / MIB_OF_GIB);
        opt count "most_sequences", "most sequences", Wide, row.0.layout.as_ref().map(|held| held.holds);
        opt text "computes_in", "computes in", Wide, row.0.layout.as_ref().map(model::computes_in);
        opt number "token_ms", "ms per token", Wide, row.0.layout.as_ref().map(|held| held.pace.step_seconds * 1e3);
        opt number[2] "first_tokens_seconds", "s to first tokens", Wide, row.0.layout.as_ref().map(|held| held.pace.prefill_seconds);
        opt number[0] "output_tokens_per_second", "tokens/s", Narrow(0), row.0.layout.as_ref().map(|held| held.tokens_per_second);
        opt price "cost_per_million_output_tokens", "1M tokens", Narrow(0), model::per_million(row.0, row.1);
        opt flag "serves_rate", "serves the rate", Wide, row.0.serves_rate.filter(|serves| *serves), "Absent where that was not checked.";
        opt price "per_thousand_requests", "1k requests", Narrow(0), row.0.per_thousand_requests;
        opt price "on_demand_hourly", "on-demand", Narrow(0), row.0.offered.on_demand.as_ref().map(PriceQuote::an_hour);
        opt price "spot_hourly", "spot", Narrow(0), row.0.offered.spot.as_ref().map(PriceQuote::an_hour);
        opt text "interruption_band", "interrupted", Narrow(0), row.0.offered.interruption.map(|band| band.to_string());
        opt price "reserved_1yr_hourly", "1 yr", Narrow(0), row.0.offered.reserved_1yr.as_ref().map(PriceQuote::an_hour);
        opt price "reserved_3yr_hourly", "3 yr", Narrow(0), row.0.offered.reserved_3yr.as_ref().map(PriceQuote::an_hour);
        count "vcpu", "vcpu", Wide, row.0.offered.shape.vcpu;
        count "memory_mib", "memory MiB", Wide, row.0.offered.shape.memory_mib;
        opt text "price_origin", "origin", Wide, row.0.offered.quote(row.0.paying).map(|quote| quote.origin.to_string());
        opt date "price_date", "price seen", Wide, row.0.offered.quote(row.0.paying).map(|quote| quote.seen_on);
    }

    fn of_reasons<'a>(row: ReasonCount<'a>) {
        text "reason", "reason", Narrow(0), row.nearest.reason.name().to_owned();
        count "offers", "offers", Narrow(0), row.count;
        text "nearest", "nearest", Narrow(0), place(&row.nearest.offered);
        text "nearest_misses", "why", Narrow(0), row.nearest.reason.to_string();
    }

    fn of_refused<'a>(row: &'a RefusedType) {
        text "instance_type", "type", Narrow(0), row.offered.shape.instance_type.clone();
        opt text "region", "region", Narrow(0), row.offered.region.clone();
        opt text "gpu", "gpu", Narrow(0), gpus(row.offered.shape);
        opt price "on_demand_hourly", "on-demand", Narrow(0), row.offered.on_demand.as_ref().map(PriceQuote::an_hour);
        text "why", "first reason", Narrow(0), row.reason.to_string();
    }
}

fn gpus(shape: &InstanceShape) -> Option<String> {
    let gpu = shape.gpu.as_ref()?;
    Some(format!("{} × {}", gpu.share, gpu.model))
}

fn caveats(selection: &Selection) -> Vec<String> {
    let wanted = &selection.wanted;
    let mut fits = selection.fits.iter();
    let today = wanted.today.as_ref();
    rows! {
        if fits.any(|offer| offer.paying == Paying::Spot) => "spot instances are interrupted; checkpoints and lost work are not in these prices, and spot capacity may not be there".to_owned();
        if wanted.restartable && wanted.kind == WorkloadKind::Serving => "serving is never ranked by spot: requests fail when an instance is interrupted".to_owned();
        if wanted.vcpu_without_gpu.is_some() => "a CPU type is chosen by CPU time alone: a request may take longer on it than on a GPU; measure the latency before moving".to_owned();
        if wanted.rate_per_second.is_some() => "a price of requests is that of one instance which serves the whole rate with its vCPUs alone; how many requests a GPU serves is not known here: `gpucost capacity --help` shows how it is computed".to_owned();
        for today in today.filter(|today| today.instances > 1) => format!("{} has {} instances, and each row is about one: how many of another type do their work was not computed; `gpucost rightsize` projects that", today.name, today.instances);
        for today in today.filter(|today| today.is_committed) => format!("commitments pay of {}, and cost as much when it moves: what a type saves was not computed", today.name);
        for today in today.filter(|_| wanted.model().is_some()) => format!("the needs are those of the model and not what was measured of {}: what a type saves was not computed, because GPUs that hold a model may serve fewer requests than {} does today", today.name, today.instance_type);
        ..model::caveats(selection);
        if wanted.model().is_none() => "how fast the work is on each type was not computed: a cheaper hour may do less work; `--params 7b` computes the speed of a language model of that size".to_owned();
    }
}

fn next(selection: &Selection) -> Vec<String> {
    let Some(best) = selection.fits.first() else { return Vec::new() };
    let offered = &best.offered;
    let (Some(region), name) = (&offered.region, &offered.shape.instance_type) else {
        return Vec::new();
    };
    let is_committed = offered.reserved_1yr.is_some() || offered.reserved_3yr.is_some();
    rows! {
        format!("gpucost pricing {name} --region {region}");
        if best.paying == Paying::Spot => format!("gpucost spot --type {name} --region {region} --kind {} --restartable", selection.wanted.kind);
        if is_committed => format!("gpucost reserved --type {name} --region {region}");
    }
}
