//! `gpucost autoscale`: a policy beside today, hindsight and other targets.

mod files;

use super::decimal;
use crate::domain::{HourlyRate, PurchaseOption, WorkloadKind, shell_word};
use crate::planners::autoscale::{Autoscale, AutoscaleRequest, Held, HeldModels, Replay, Trigger};
use crate::report::doc::{Doc, Given, Missing, Step, Table, Value, columns, rows};
use crate::report::shared::text::{counted, money, percent};
use crate::savings::WEEK_HOURS;
use rust_decimal::prelude::ToPrimitive;

columns! {
    fn policies<'a>(row: (String, &'a Replay, &'a Autoscale)) {
        text "policy", "policy", Narrow(0), row.0.clone();
        opt money "cost", "cost", Narrow(0), row.2.cost(row.1), "Over the record.";
        opt money "cost_monthly", "month", Narrow(0), row.2.monthly(row.1);
        number "gpu_hours", "GPU hours", Narrow(0), row.1.gpu_hours(row.2.request.gpus_per_instance), "Paid.";
        opt percent "utilization_percent", "busy", Wide, row.1.utilization_percent(row.2.request.gpus_per_instance);
        opt number[2] "unserved_percent", "waits/fails %", Narrow(0), row.1.unserved_percent(), "Of the demand.";
        flag "is_accepted", "accepted", Narrow(0), row.2.is_accepted(row.1);
        count "most_instances", "most instances", Wide, row.1.most_instances;
        count "launches", "launches", Wide, row.1.launches;
    }
}

pub fn autoscale_answer(plan: &Autoscale) -> Doc {
    Doc {
        name: "autoscale",
        headline: headline(plan),
        given: given(plan),
        steps: steps(plan),
        tables: vec![table(plan)],
        caveats: caveats(plan),
        missing: missing_data(plan),
        files: files::files(plan),
        next: next(plan),
        ..Doc::default()
    }
}

/// A target, such as `60% utilization`.
fn target(trigger: Trigger) -> String {
    match trigger {
        Trigger::Utilization { target_percent } => format!("{target_percent}% utilization"),
        Trigger::Queue { requests_per_instance, .. } => {
            format!("{requests_per_instance} requests per instance")
        }
    }
}

/// Hours with separators and up to two decimals.
fn hours_of(hours: f64) -> String {
    decimal(hours, 2).trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A commitment pays for its hours until it ends: fewer of them save nothing.
fn commitment(plan: &Autoscale) -> Option<PurchaseOption> {
    let option = plan.request.subject.purchase_option?;
    let is_committed = !matches!(option, PurchaseOption::OnDemand | PurchaseOption::Spot);
    is_committed.then_some(option)
}

fn models(request: &AutoscaleRequest) -> Option<HeldModels> {
    if let Held::Models(models) = request.held { Some(models) } else { None }
}

fn headline(plan: &Autoscale) -> String {
    let request = &plan.request;
    let amount = |replay: &Replay| match plan.cost(replay) {
        Some(cost) => money(cost),
        None => format!("{} GPU hours", hours_of(replay.gpu_hours(request.gpus_per_instance))),
    };
    let unserved = plan.replay.unserved_percent().map_or("it has no demand".to_owned(), |share| {
        format!("{} of its demand waits or fails", percent(share))
    });
    let today = plan.today.as_ref().filter(|_| commitment(plan).is_none());
    let refused = (!plan.is_accepted(&plan.replay)).then(|| {
        let most = percent(request.max_unserved_percent);
        format!(", which is more than the {most} that may: the policy is not accepted")
    });
    let (target, name) = (target(request.policy.trigger), &request.subject.name);
    let today = today.map_or(String::new(), |today| format!(" instead of {}", amount(today)));
    let (taken, hours) = (amount(&plan.replay), hours_of(request.demand.hours()));
    let refused = refused.unwrap_or_default();
    format!("With {target}, {name} takes {taken}{today} over {hours} h; {unserved}{refused}")
}

fn given(plan: &Autoscale) -> Vec<Given> {
    let request = &plan.request;
    let (demand, policy, gpus) = (&request.demand, &request.policy, request.gpus_per_instance);
    let source = request.subject.source.as_str();
    let minutes = |seconds: i64| Value::Number(seconds as f64 / 60.0, 1);
    let min_source = match models(request) {
        Some(held) if policy.min == held.instances(gpus) => {
            format!("VRAM held: {} / {gpus}, rounded up", held.gpus)
        }
        _ if policy.min == 0 => "--scale-to-zero or --min".to_owned(),
        _ => "--min".to_owned(),
    };
    rows! {
        Given::new("demand_gpu_hours", "demand, GPU hours", Value::Number(demand.gpu_hours(), 1), source);
        Given::new("peak_gpus", "largest demand, GPUs", Value::Number(demand.peak_gpus(), 1), source);
        Given::new("hours", "hours on record", Value::Number(demand.hours(), 1), source);
        Given::new("gpus_per_instance", "GPUs per instance", Value::make_count(gpus), format!("{} of the catalog", request.subject.instance_type));
        for quote in &request.prices.on_demand => Given::new("on_demand_hourly", "on-demand price per hour", Value::Price(quote.rate.an_hour()), format!("{}, {}", quote.source, quote.seen_on));
        for spot in request.prices.spot.as_ref().filter(|_| policy.spot.spot_percent > 0.0) => Given::new("spot_hourly", "spot price per hour", Value::Price(spot.rate.an_hour()), format!("{}, {}", spot.basis, spot.seen_on));
        for held in models(request) => Given::new("held_vram_mib", "VRAM held, MiB", Value::Number(held.vram_needed_mib, 0), format!("peaks of {} with headroom, as much as {} hold", counted(held.models, "GPU", "GPUs"), counted(held.gpus, "GPU", "GPUs")));
        Given::new("start_up_minutes", "start-up, minutes", minutes(policy.start_up_seconds), "--start-up");
        Given::new("cool_down_minutes", "cool-down, minutes", minutes(policy.cool_down_seconds), "--cool-down");
        Given::new("min_instances", "least instances", Value::make_count(policy.min), min_source);
        Given::new("max_instances", "most instances", Value::make_count(policy.max), "--max");
        Given::new("on_demand_base", "instances always on demand", Value::make_count(policy.spot.on_demand_base), "--on-demand-base");
        Given::new("spot_percent", "spot above them", Value::Percent(policy.spot.spot_percent), "--spot-share");
        Given::new("max_unserved_percent", "share that may wait or fail", Value::Percent(request.max_unserved_percent), "--max-unserved");
    }
}

fn steps(plan: &Autoscale) -> Vec<Step> {
    let (prices, policy) = (&plan.request.prices, &plan.replay);
    let on_demand = prices.on_demand.as_ref().map(|quote| quote.rate);
    let spot = prices.spot.as_ref().map(|spot| spot.rate);
    let part = |seconds: i64, rate: Option<HourlyRate>| {
        let rate = rate.map(|rate| format!(" × {}", rate.amount().normalize()));
        format!("{} h{}", hours_of(seconds as f64 / 3_600.0), rate.unwrap_or_default())
    };
    let hours = |replay: &Replay| {
        let (first, seconds) = (part(replay.on_demand_seconds, on_demand), replay.spot_seconds);
        if seconds > 0 { format!("{first} + {} spot", part(seconds, spot)) } else { first }
    };
    let cost = |replay: &Replay| Value::make_money(plan.cost(replay));
    rows! {
        for today in &plan.today => Step::new("today", hours(today), cost(today));
        Step::new("policy", hours(policy), cost(policy));
        Step::new("hindsight", hours(&plan.hindsight), cost(&plan.hindsight));
        Step::new("waits or fails", format!("{} of {} GPU hours", hours_of(policy.unserved_gpu_seconds / 3_600.0), hours_of(policy.demand_gpu_seconds / 3_600.0)), Value::make_percent(policy.unserved_percent()));
        for risk in &plan.risk => Step::new("interruptions", format!("{} spot hours × {:.5} per hour", hours_of(risk.spot_hours), risk.rate.per_hour), Value::Number(risk.expected, 1));
    }
}

fn table(plan: &Autoscale) -> Table {
    let today = plan.today.iter().map(|replay| ("today".to_owned(), replay, plan));
    let asked = format!("asked: {}", target(plan.request.policy.trigger));
    let named =
        [(asked, &plan.replay, plan), ("best in hindsight".to_owned(), &plan.hindsight, plan)];
    let title = "POLICIES  the same limits with other targets";
    let rows = today.chain(named).chain(plan.others.iter().enumerate().map(|(index, other)| {
        let mark = if plan.cheapest == Some(index) { "cheapest: " } else { "" };
        (format!("{mark}{}", target(other.trigger)), &other.replay, plan)
    }));
    Table::of("policies", title, ("policy", "policies"), policies(), rows)
}

/// The gravest first.
fn caveats(plan: &Autoscale) -> Vec<String> {
    let request = &plan.request;
    let (demand, min, subject) = (&request.demand, request.policy.min, &request.subject);
    let name = &subject.name;
    let job =
        subject.kind.filter(|kind| !matches!(kind, WorkloadKind::Serving | WorkloadKind::Unknown));
    let held = models(request).map(|held| (held.models, held.instances(request.gpus_per_instance)));
    // An instance serves the models that it holds, and no others.
    let held = held.filter(|(models, least)| *models > 1 && *least > 1);
    let all_hours = plan.replay.demand_gpu_seconds / 3_600.0;
    let lost = |hours: f64| {
        if all_hours > 0.0 { hours / all_hours * 100.0 } else { 0.0 }
    };
    let without_spot = plan.replay.unserved_without_spot_percent().unwrap_or_default();
    rows! {
        if subject.kind == Some(WorkloadKind::Unknown) => format!("No tag declares what {name} does. Only work that is divided over all of its instances can be scaled by their utilization: declare it with the tag gpucost:kind.");
        for kind in job => format!("{name} is {kind}: a policy ends instances by utilization, whatever their jobs still need. Only jobs that are taken from a queue, one after the other, can be scaled so.");
        if request.held == Held::Unknown => "What its GPUs hold is unknown. An instance serves the models that it holds: with several models, the least instances must hold all of them (`--min`).".to_owned();
        for (models, least) in held => format!("Each of {models} GPUs may hold a model of its own, and it takes {} to hold them all{}", counted(least, "instance", "instances"), if min >= least { ". If they hold copies of one model, pass `--min 1`." } else { ": with fewer, a request may find no GPU that holds its model." });
        for periods in demand.saturated_periods.filter(|periods| *periods > 0) => format!("In {periods} of {} periods, 95% or more of the GPUs that ran were busy. Demand may have been higher than what was measured, and so may what waits or fails.", demand.periods());
        if demand.saturated_periods.is_none() => "It is unknown how many GPUs ran, and so whether they limited the demand that was measured. What waits or fails is a lower bound.".to_owned();
        if plan.cheapest.is_none() => format!("No target that was compared keeps what waits or fails within {}. A window of `--schedule` or a higher `--min` starts instances before demand rises.", percent(request.max_unserved_percent));
        for risk in &plan.risk => format!("Spot: about {:.1} interruptions over the record, which leave at most {} more of the demand without a GPU. If all spot instances end at the same time, {} of the demand is above what is on demand.", risk.expected, percent(lost(risk.lost_gpu_hours)), percent(without_spot));
        if plan.risk.is_some_and(|risk| risk.rate.is_prudence) => "The rate of interruptions is that of the policy, spot_interruptions_per_day, which is above the published band.".to_owned();
        for option in commitment(plan) => format!("Today it is billed as {option}. Here every hour has the on-demand price: hours that a commitment pays for save nothing until it ends.");
        if min == 0 => "At zero no GPU reports utilization. A metric of requests must start the first instance, and the first requests wait for it.".to_owned();
        if demand.hours() < WEEK_HOURS as f64 => format!("MONTH repeats the {} h of the record {:.1} times, as if all days were like them.", hours_of(demand.hours()), request.hours_per_month.to_f64().unwrap_or_default() / demand.hours());
        if demand.unknown_periods > 0 => format!("{} without samples count as the period before.", counted(demand.unknown_periods, "period", "periods"));
        "Every launch finds capacity, and the policy decides once a period. Requests are divisible: how long one waits inside a period is a question of queueing.".to_owned();
    }
}

fn missing_data(plan: &Autoscale) -> Vec<Missing> {
    let (subject, prices) = (&plan.request.subject, &plan.request.prices);
    let has_spot = plan.request.policy.spot.spot_percent > 0.0;
    let name = shell_word(&subject.instance_type);
    let unknown = |fact: &str| {
        let what = format!("{fact} of {} in {}", subject.instance_type, subject.region);
        Missing::new(what, format!("run `gpucost pricing {name} --region all`"))
    };
    rows! {
        if prices.on_demand.is_none() => unknown("on-demand price");
        if has_spot && prices.spot.is_none() => unknown("spot price");
        if has_spot && prices.band.is_none() => unknown("interruption band");
    }
}

fn next(plan: &Autoscale) -> Vec<String> {
    let (subject, prices) = (&plan.request.subject, &plan.request.prices);
    let name = shell_word(&subject.instance_type);
    let region = shell_word(&subject.region);
    rows! {
        format!("gpucost pricing {name} --region {region}");
        if prices.on_demand.is_some() && prices.has_commitments => format!("gpucost reserved --type {name} --region {region}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_as_in_prose() {
        assert_eq!(hours_of(1_234.5), "1,234.5");
        assert_eq!(hours_of(152.0), "152");
        assert_eq!(hours_of(0.126), "0.13");
        let half = Trigger::Utilization { target_percent: 62.5 };
        assert_eq!(target(half), "62.5% utilization");
    }
}
