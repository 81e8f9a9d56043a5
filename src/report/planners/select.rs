//! Which instance type to rent.

use super::figures::{MIB_OF_GIB, an_hour, decimal};
use crate::domain::{Architecture, GpuShare, InstanceShape, MIB, Money, PriceQuote, WorkloadKind};
use crate::planners::fit::ServedModel;
use crate::planners::paying::{Paying, Today};
use crate::planners::select::{OfferedType, RefusedType, SelectedType, Selection, Wanted};
use crate::report::doc::{Doc, Given, Head, Missing, Step, Table, Value, column, detail};
use crate::report::shared::text::{counted, money, unit_price};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

/// The types that do the work, and why the others are out.
pub fn select_answer(selection: &Selection) -> Doc {
    let wanted = &selection.wanted;
    Doc {
        name: "select",
        headline: headline(selection),
        given: given(wanted),
        steps: steps(selection),
        tables: vec![types(selection), reasons(selection), refused(selection)],
        caveats: caveats(selection),
        missing: missing(wanted),
        next: next(selection),
        ..Doc::default()
    }
}

fn headline(selection: &Selection) -> String {
    let Some(best) = selection.fits.first() else {
        let nearest = selection.refused.first();
        let nearest = nearest.map_or(String::new(), |one| {
            format!("; nearest: {}: {}", place(&one.offered), one.reason)
        });
        return format!("no instance type fits{nearest}");
    };
    let count = |is_checked: bool| {
        let fits = selection.fits.iter();
        fits.filter(|one| one.is_checked() == is_checked).count() as u64
    };
    let (checked, unchecked) = (count(true), count(false));
    let name = place(&best.offered);
    let costs = format!(
        "{} per hour {}, {} per month",
        unit_price(an_hour(best.rate)),
        best.paying,
        money(best.monthly),
    );
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
    match &offered.region {
        Some(region) => format!("{name} in {region}"),
        None => name.clone(),
    }
}

fn given(wanted: &Wanted) -> Vec<Given> {
    let mut all = Vec::new();
    let mut add = |key: &'static str, name: &'static str, value: Value, flag: &str| {
        let source = wanted.sources.get(key).cloned();
        all.push(Given {
            key,
            name,
            value,
            source: source.unwrap_or_else(|| flag.to_owned()),
        });
    };
    let mib = |size: f64| Value::Number(size, 0);
    add("kind", "kind of work", text(wanted.kind), "--kind");
    if wanted.restartable {
        add(
            "restartable",
            "restartable",
            Value::Flag(true),
            "--restartable",
        );
    }
    let gpus = match wanted.gpus {
        Some(GpuShare::Whole(gpus)) => Value::Count(gpus.into()),
        Some(part @ GpuShare::Fraction(_)) => {
            Value::Number(part.count().to_f64().unwrap_or_default(), 3)
        }
        None => Value::Absent,
    };
    add("gpus", "GPUs", gpus, "--gpus");
    if let Some(served) = &wanted.model {
        of_model(served, &mut add);
    }
    let sizes = [
        ("vram_mib", "MiB of each GPU", wanted.vram_mib, "--vram"),
        (
            "vram_total_mib",
            "MiB of all GPUs",
            wanted.vram_total_mib,
            "--vram-total",
        ),
        (
            "memory_mib",
            "MiB of host memory",
            wanted.memory_mib,
            "--memory",
        ),
    ];
    for (key, name, size, flag) in sizes {
        if let Some(size) = size {
            add(key, name, mib(size), flag);
        }
    }
    if let Some(vcpu) = wanted.vcpu {
        add("vcpu", "vCPUs", Value::Number(vcpu, 2), "");
    }
    if let Some(vcpu) = wanted.vcpu_without_gpu {
        let name = "vCPUs without a GPU";
        add("vcpu_without_gpu", name, Value::Number(vcpu, 2), "");
    }
    for (key, name, asked, flag) in [
        ("nvlink", "NVLink", wanted.nvlink, "--nvlink"),
        ("efa", "EFA", wanted.efa, "--efa"),
    ] {
        if asked {
            add(key, name, Value::Flag(true), flag);
        }
    }
    let architecture = wanted.architecture.map_or("any", Architecture::name);
    add("architecture", "CPU", Value::text(architecture), "--arch");
    let dollars = |amount: Decimal| Money::new(amount, crate::domain::Currency::Usd);
    if let Some(hourly) = wanted.budget.hourly {
        let value = Value::Price(dollars(hourly));
        add("budget_hourly", "budget per hour", value, "--budget-hourly");
    }
    if let Some(monthly) = wanted.budget.monthly {
        let value = Value::Money(dollars(monthly));
        add(
            "budget_monthly",
            "budget per month",
            value,
            "--budget-monthly",
        );
    }
    let hours = Value::Number(wanted.hours.to_f64().unwrap_or_default(), 0);
    add(
        "hours_per_month",
        "hours per month",
        hours,
        "--hours-per-month",
    );
    if let Some(today) = &wanted.today {
        of_today(today, &mut add);
    }
    all
}

/// A model and what is served of it, as `gpucost fit` names them.
fn of_model(served: &ServedModel, add: &mut impl FnMut(&'static str, &'static str, Value, &str)) {
    let (load, terms) = (&served.load, &served.terms);
    let billions = Value::Number(served.model.params as f64 / 1e9, 2);
    add(
        "params_billion",
        "parameters, billions",
        billions,
        "--params",
    );
    add(
        "dtype",
        "numbers of the weights",
        text(served.dtype),
        "--dtype",
    );
    add(
        "context_tokens",
        "cache of a sequence, tokens",
        Value::Count(load.context_tokens),
        "--context",
    );
    add(
        "sequences",
        "sequences in flight",
        Value::Count(load.sequences.into()),
        "--concurrency",
    );
    add(
        "kv_dtype",
        "numbers in the cache",
        text(terms.kv_dtype),
        "--kv-dtype",
    );
    add(
        "runtime_gib",
        "CUDA context and buffers, GiB per GPU",
        Value::Number(terms.runtime_mib / MIB_OF_GIB, 1),
        "--runtime-gib",
    );
    add(
        "headroom",
        "headroom on memory, factor",
        Value::Number(terms.headroom, 2),
        "--headroom",
    );
}

/// What has to be beaten.
fn of_today(today: &Today, add: &mut impl FnMut(&'static str, &'static str, Value, &str)) {
    add(
        "current_type",
        "type today",
        Value::text(&today.instance_type),
        &today.name,
    );
    add(
        "current_instances",
        "instances today",
        Value::Count(today.instances.into()),
        &today.name,
    );
    add(
        "current_hourly",
        "price of one today, per hour",
        Value::of(today.rate, |rate| Value::Price(an_hour(rate))),
        "as it is paid",
    );
}

fn text(value: impl std::fmt::Display) -> Value {
    Value::text(value.to_string())
}

fn steps(selection: &Selection) -> Vec<Step> {
    let wanted = &selection.wanted;
    let mut steps = Vec::new();
    if let Some(best) = selection.fits.first() {
        steps.push(Step {
            name: format!("month of {}", best.offered.shape.instance_type),
            arithmetic: format!(
                "{} × {} h",
                best.rate.amount().normalize(),
                wanted.billed_hours(best.paying).normalize()
            ),
            result: Value::Money(best.monthly),
        });
    }
    steps.extend(against_today(selection));
    steps.extend(memory(selection));
    let Some(requests) = wanted.rate_per_second else {
        return steps;
    };
    let mut fits = selection.fits.iter();
    if let Some(one) = fits.find(|one| one.per_thousand_requests.is_some()) {
        steps.push(Step {
            name: "1,000 requests without a GPU".to_owned(),
            arithmetic: format!(
                "{} of {} / ({} × 3,600) × 1,000",
                one.rate.amount().normalize(),
                one.offered.shape.instance_type,
                requests.normalize()
            ),
            result: Value::of(one.per_thousand_requests, Value::Price),
        });
    }
    steps
}

/// What the cheapest saves against one instance of today.
fn against_today(selection: &Selection) -> Option<Step> {
    let (today, best) = (selection.wanted.today.as_ref()?, selection.fits.first()?);
    let saved = best.saved_monthly?;
    Some(Step {
        name: format!("month less than one {}", today.instance_type),
        arithmetic: format!(
            "{} × {} h - {}",
            today.rate?.amount().round_dp(6).normalize(),
            selection.wanted.hours.normalize(),
            money(best.monthly)
        ),
        result: Value::Money(saved),
    })
}

/// What each GPU of the cheapest needs for the model.
fn memory(selection: &Selection) -> Option<Step> {
    let (served, best) = (selection.wanted.model.as_ref()?, selection.fits.first()?);
    let layout = best.layout?;
    let gib = |bytes: f64| decimal(bytes / MIB / MIB_OF_GIB, 2);
    let cache = layout.pace.sequences
        * served.load.context_tokens as f64
        * served.model.kv_bytes_per_token(served.terms.kv_dtype);
    Some(Step {
        name: "needed on each GPU, GiB".to_owned(),
        arithmetic: format!(
            "({} of weights + {} of cache) / {} + {}, × {}",
            gib(served.model.weight_bytes(served.dtype)),
            gib(cache),
            layout.gpus_each,
            decimal(served.terms.runtime_mib / MIB_OF_GIB, 2),
            decimal(served.terms.headroom, 2)
        ),
        result: Value::Number(layout.needed_mib / MIB_OF_GIB, 2),
    })
}

/// Whether offers are in several regions, so that a type alone does not name one.
fn has_regions<'a>(offers: impl Iterator<Item = &'a OfferedType>) -> bool {
    let mut regions = offers.filter_map(|offered| offered.region.as_ref());
    let first = regions.next();
    regions.any(|region| Some(region) != first)
}

/// A column of tables where it says something, and else of the other formats alone.
fn column_if(says: bool) -> fn(&'static str, &'static str) -> Head {
    if says { column } else { detail }
}

/// What a row is.
fn noun(has_regions: bool) -> (&'static str, &'static str) {
    if has_regions {
        ("offer", "offers")
    } else {
        ("type", "types")
    }
}

fn types(selection: &Selection) -> Table {
    let has_regions = has_regions(selection.fits.iter().map(|one| &one.offered));
    let region = column_if(has_regions);
    let mut fits = selection.fits.iter();
    let is_on_demand = fits.all(|one| one.paying == Paying::OnDemand);
    let (today, model) = (&selection.wanted.today, &selection.wanted.model);
    // Names of types need their room: the headline says how the first is paid, and the next
    // commands what commitments cost.
    let is_wide = today.is_some() || model.is_some();
    let paying = column_if(!((has_regions || is_wide) && is_on_demand));
    let committed = column_if(!is_wide);
    let requests = column_if(selection.wanted.rate_per_second.is_some());
    let of_model = column_if(model.is_some());
    let is_saved = today.as_ref().is_some_and(|today| !today.is_committed);
    let saved = column_if(is_saved && model.is_none());
    // Nothing else may be interrupted.
    let band = column_if(selection.wanted.restartable);
    Table {
        key: "types",
        title: "TYPES THAT FIT".to_owned(),
        noun: noun(has_regions),
        columns: vec![
            column("instance_type", "type"),
            region("region", "region"),
            column("gpu", "gpu"),
            paying("paying", "by"),
            detail("hourly", "hour"),
            column("monthly_cost", "month"),
            saved("saved_monthly", "saves"),
            of_model("copies", "copies"),
            of_model("gpus_of_a_copy", "GPUs each"),
            of_model("gpu_memory_needed_gib", "needs GiB"),
            detail("most_sequences", "most sequences"),
            detail("output_tokens_per_second", "tokens/s"),
            detail("serves_rate", "serves the rate"),
            requests("per_thousand_requests", "1k requests"),
            column("on_demand_hourly", "on-demand"),
            column("spot_hourly", "spot"),
            band("interruption_band", "interrupted"),
            committed("reserved_1yr_hourly", "1 yr"),
            committed("reserved_3yr_hourly", "3 yr"),
            detail("vcpu", "vcpu"),
            detail("memory_mib", "memory MiB"),
            detail("price_date", "price seen"),
        ],
        rows: selection.fits.iter().map(fit).collect(),
        ..Table::default()
    }
}

fn fit(one: &SelectedType) -> Vec<Value> {
    let offered = &one.offered;
    let shape = offered.shape;
    let seen_on = offered.quote(one.paying).map(|quote| quote.seen_on);
    vec![
        Value::text(&shape.instance_type),
        Value::of(offered.region.as_ref(), Value::text),
        gpus(shape),
        text(one.paying),
        Value::Price(an_hour(one.rate)),
        Value::Money(one.monthly),
        Value::of(one.saved_monthly, Value::Money),
        Value::of(one.layout, |held| Value::Count(held.copies.into())),
        Value::of(one.layout, |held| Value::Count(held.gpus_each.into())),
        Value::of(one.layout, |held| {
            Value::Number(held.needed_mib / MIB_OF_GIB, 1)
        }),
        Value::of(one.layout, |held| Value::Count(held.holds)),
        Value::of(one.layout, |held| Value::Number(held.tokens_per_second, 1)),
        // What was not checked is not false.
        Value::of(one.serves_rate.filter(|serves| *serves), Value::Flag),
        Value::of(one.per_thousand_requests, Value::Price),
        price(offered.on_demand.as_ref()),
        price(offered.spot.as_ref()),
        Value::of(offered.interruption, text),
        price(offered.reserved_1yr.as_ref()),
        price(offered.reserved_3yr.as_ref()),
        Value::Count(shape.vcpu.into()),
        Value::Count(shape.memory_mib),
        Value::of(seen_on, text),
    ]
}

fn gpus(shape: &InstanceShape) -> Value {
    Value::of(shape.gpu.as_ref(), |gpu| {
        Value::text(format!("{} × {}", gpu.share, gpu.model))
    })
}

fn price(quote: Option<&PriceQuote>) -> Value {
    Value::of(quote, |quote| Value::Price(an_hour(quote.rate)))
}

fn reasons(selection: &Selection) -> Table {
    let row = |reason: crate::planners::select::ReasonCount<'_>| {
        vec![
            Value::text(reason.nearest.reason.name()),
            Value::Count(reason.count as u64),
            Value::text(place(&reason.nearest.offered)),
            text(&reason.nearest.reason),
        ]
    };
    Table {
        key: "reasons",
        title: "WHY OTHERS ARE OUT, NEAREST FIRST".to_owned(),
        noun: ("reason", "reasons"),
        columns: vec![
            column("reason", "reason"),
            column("offers", "offers"),
            column("nearest", "nearest"),
            column("nearest_misses", "why"),
        ],
        rows: selection.reasons().into_iter().map(row).collect(),
        ..Table::default()
    }
}

fn refused(selection: &Selection) -> Table {
    let row = |one: &RefusedType| {
        vec![
            Value::text(&one.offered.shape.instance_type),
            Value::of(one.offered.region.as_ref(), Value::text),
            gpus(one.offered.shape),
            price(one.offered.on_demand.as_ref()),
            text(&one.reason),
        ]
    };
    let has_regions = has_regions(selection.refused.iter().map(|one| &one.offered));
    let region = column_if(has_regions);
    Table {
        key: "refused",
        title: "TYPES THAT ARE OUT".to_owned(),
        noun: noun(has_regions),
        columns: vec![
            column("instance_type", "type"),
            region("region", "region"),
            column("gpu", "gpu"),
            column("on_demand_hourly", "on-demand"),
            column("why", "first reason"),
        ],
        rows: selection.refused.iter().map(row).collect(),
        ..Table::default()
    }
}

fn caveats(selection: &Selection) -> Vec<String> {
    let wanted = &selection.wanted;
    let mut caveats = Vec::new();
    let pays = |paying: Paying| selection.fits.iter().any(|one| one.paying == paying);
    if pays(Paying::Spot) {
        caveats.push(
            "spot instances are interrupted; checkpoints and lost work are not in these prices, \
             and spot capacity may not be there"
                .to_owned(),
        );
    }
    if wanted.restartable && wanted.kind == WorkloadKind::Serving {
        caveats.push(
            "serving is never ranked by spot: requests fail when an instance is interrupted"
                .to_owned(),
        );
    }
    if wanted.vcpu_without_gpu.is_some() {
        caveats.push(
            "a CPU type is chosen by CPU time alone: a request may take longer on it than on \
             a GPU; measure the latency before moving"
                .to_owned(),
        );
    }
    if wanted.rate_per_second.is_some() {
        caveats.push(
            "a price of requests is that of one instance which serves the whole rate with its \
             vCPUs alone; how many requests a GPU serves is not known here: `gpucost capacity \
             --help` shows how it is computed"
                .to_owned(),
        );
    }
    if let Some(today) = wanted.today.as_ref().filter(|today| today.instances > 1) {
        caveats.push(format!(
            "{} has {} instances, and each row is about one: how many of another type do their \
             work was not computed; `gpucost rightsize` projects that",
            today.name, today.instances
        ));
    }
    if let Some(today) = wanted.today.as_ref().filter(|today| today.is_committed) {
        caveats.push(format!(
            "commitments pay of {}, and cost as much when it moves: what a type saves was not \
             computed",
            today.name
        ));
    }
    if let Some(today) = wanted.today.as_ref().filter(|_| wanted.model.is_some()) {
        caveats.push(format!(
            "the needs are those of the model and not what was measured of {}: what a type saves \
             was not computed, because GPUs that hold a model may serve fewer requests than {} \
             does today",
            today.name, today.instance_type
        ));
    }
    caveats.push(match &wanted.model {
        Some(_) => "the types are ranked by the hour and not by what they serve: `fit` takes the \
                    flags of the model too, and ranks them by the price of a million tokens"
            .to_owned(),
        None => "how fast the work is on each type was not computed: a cheaper hour may do less \
                 work; `gpucost fit --params 7b` computes the speed of a language model of that \
                 size"
            .to_owned(),
    });
    caveats
}

fn missing(wanted: &Wanted) -> Vec<Missing> {
    let is_sized = wanted.vram_mib.is_some() || wanted.vram_total_mib.is_some();
    if is_sized || wanted.model.is_some() || wanted.vcpu_without_gpu.is_some() {
        return Vec::new();
    }
    vec![Missing {
        what: "memory that the work needs on a GPU".to_owned(),
        remedy: "measure a run with `gpucost profile --samples run.jsonl -- COMMAND` and pass \
                 `--profile-data run.jsonl`, compute it for a language model with `gpucost fit \
                 --params 8b`, or pass `--vram SIZE`"
            .to_owned(),
    }]
}

fn next(selection: &Selection) -> Vec<String> {
    let Some(best) = selection.fits.first() else {
        return Vec::new();
    };
    let offered = &best.offered;
    let (Some(region), name) = (&offered.region, &offered.shape.instance_type) else {
        return Vec::new();
    };
    let mut next = vec![format!("gpucost pricing {name} --region {region}")];
    if best.paying == Paying::Spot {
        next.push(format!(
            "gpucost spot --type {name} --region {region} --kind {} --restartable",
            selection.wanted.kind
        ));
    }
    if offered.reserved_1yr.is_some() || offered.reserved_3yr.is_some() {
        next.push(format!("gpucost reserved --type {name} --region {region}"));
    }
    next
}
