//! What an action rests on: stops, schedules, other types, shared cards and the spot market.

use super::cost::{figure, price, rates, share};
use super::line::{Derivation, Line, PlanState, SHOWN, candidate};
use crate::analysis::AuditedWorkload;
use crate::catalog::{MigProfile, mig_profiles, network_gbps};
use crate::domain::{
    ACTIVE_PERCENT, Action, GpuOffer, InstanceCost, InstanceShape, InstanceUsage, Money, Risk,
    Workload, WorkloadKind, counted,
};
use crate::report::doc::rows;
use crate::report::shared::text::{ABSENT, count, money};
use crate::savings::{
    Answer, Considered, Demand, RatioBasis, Rightsizing, SHARED_TARGET_PERCENT, Scheduling,
    Sharing, SharingMode, SpotFigures, Spread, Today, WEEK_HOURS, averaged_peaks, performance,
    usable_vram_mib,
};
use rust_decimal::Decimal;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What a stop saves of its members, those that save alike together.
pub(super) fn stopped(action: &Action, audited: &AuditedWorkload) -> Vec<Line> {
    let (Some(stop), Some(cost)) = (audited.proposals.stop(), &audited.workload.cost) else {
        return Vec::new();
    };
    let members = audited.workload.instances.iter().zip(&cost.instances);
    let ended: Vec<_> = members.filter(|(id, _)| stop.members.contains(id)).collect();
    let open = |instance: &InstanceCost| {
        instance.monthly().amount() - instance.committed_monthly().amount()
    };
    let uncovered: Decimal = ended.iter().map(|(_, instance)| open(instance)).sum();
    let is_passed_on = uncovered != action.monthly_savings().amount();
    let mut alike: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (id, instance) in ended {
        let (monthly, committed) = (instance.monthly(), instance.committed_monthly());
        let saves = if committed.amount().is_zero() || is_passed_on {
            money(monthly)
        } else {
            let saved = money(Money::new(open(instance), monthly.currency()));
            format!("{} − {} committed = {saved}", money(monthly), money(committed))
        };
        alike.entry(saves).or_default().push(id.as_str());
    }
    rows! {
        ("saved", format!("{}, of which {} is certain", money(action.monthly_savings()), money(action.certain())));
        if is_passed_on => ("committed", "commitments that covered it cover other instances then".to_owned());
        for (saves, ids) in alike => ("instances", format!("{saves}: {}", ids.join(" ")));
    }
}

/// The hours that are off, and what speaks against it.
pub(super) fn schedule(scheduling: &Scheduling) -> Vec<Line> {
    let hours = &scheduling.schedule;
    let (off, unknown) = (hours.off_hours_per_week, hours.unknown_hours_per_week);
    rows! {
        ("time zone", scheduling.zone.to_string());
        ("off", format!("{off} of {WEEK_HOURS} hours per week: every GPU was below {ACTIVE_PERCENT}% in each occurrence, at least two"));
        for maximum in hours.largest_maximum => ("off", format!("the highest sample in these hours is {maximum:.1}%"));
        if unknown > 0 => ("on", format!("{} per week, because data is missing", counted(unknown, "hour", "hours")));
        for week in &hours.counter_evidence => ("counter-evidence", format!("a schedule based on the other weeks would have cut {} in the week from {}", counted(week.active_hours_cut, "active hour", "active hours"), week.start));
        ("share", format!("{} of the running time falls in the off hours", share(hours.saved_share)));
        for warning in &scheduling.warnings => ("warning", warning.to_string());
    }
}

/// The spot market of the type that the actions before led to.
pub(super) fn spot(state: &mut PlanState<'_>) -> Vec<Line> {
    let markets = state.audited.proposals.spot();
    let offer = markets.and_then(|markets| markets.get(&state.instance_type));
    let Some(offer) = offer else { return Vec::new() };
    let (effective, on_demand) = (offer.effective.amount(), offer.figures.on_demand.amount());
    let before = figure(state.monthly, 6);
    state.monthly = state.monthly * effective / on_demand;
    rows! {
        ..market(&offer.figures);
        ("left", format!("{before} × {} / {} = {} per month", effective.normalize(), on_demand.normalize(), figure(state.monthly, 6)));
    }
}

fn market(figures: &SpotFigures) -> Vec<Line> {
    let hazard = figures.interruptions;
    let band = hazard.band_per_node_hour.map_or_else(
        || "no interruption band".to_owned(),
        |band| format!("λ of the band −ln(1 − p)/730 = {band:.6}"),
    );
    let basis = if hazard.is_prudence { "prudence" } else { "the band" };
    let (nodes, hourly) = (figures.nodes, hazard.per_hour);
    let work = figures.checkpointing;
    let (cost, restart) = (work.cost.as_secs(), work.restart.as_secs());
    let interval = figures.checkpoint_interval.as_secs();
    let overhead = figure(figures.overhead, 6);
    let [spot, on_demand] = [figures.spot.rate, figures.on_demand].map(|rate| rate.amount());
    let (spot, on_demand) = (spot.normalize(), on_demand.normalize());
    let effective = figures.effective.zip(figures.effective_savings_percent());
    rows! {
        ("spot", format!("{spot}/h: {}", figures.spot.basis));
        for (key, quote) in &figures.spot.quotes => ("price", format!("{}/h {}", quote.rate.amount().normalize(), price(key, quote)));
        ("interruptions", format!("{band} per node-hour; {nodes} × {:.6} by {basis}: λ = {hourly:.6} per hour", hourly / f64::from(nodes)));
        if figures.is_best_interval => ("checkpoints", format!("τ* = sqrt(2 × {cost} s × 3600 / λ) = {interval} s, at most 3600 s"));
        ("overhead", format!("o = {cost} / {interval} + λ × ({interval} / 2 + {restart}) / 3600 = {overhead} (checkpoints alone {})", share(figures.checkpoint_share)));
        for (rate, saved) in effective => ("effective", format!("{spot} / (1 − {overhead}) = {}/h, {}% below {on_demand}/h; the price alone is {}% below", figure(rate.amount(), 6), figure(saved, 2), figure(figures.naive_savings_percent(), 2)));
        for even in figures.break_even_per_hour => ("break-even", format!("spot costs as much as on-demand at λ = {even:.4} per hour"));
    }
}

/// Which tenants sit on which slices, and why they fit.
pub(super) fn sharing(workload: &Workload, sharing: &Sharing) -> Vec<Line> {
    let mut lines = Vec::new();
    let offer = workload.shape.as_ref().and_then(|shape| shape.gpu.as_ref());
    let Some(offer) = offer else { return lines };
    let total = mig_profiles(offer).iter().map(|profile| profile.compute_slices).max();
    // Tenants, and the most MiB and percent of one of them.
    let mut by_profile: BTreeMap<&str, (&MigProfile, u64, f64, f64)> = BTreeMap::new();
    for slice in sharing.cards.iter().flat_map(|card| &card.slices) {
        let Some((profile, _)) = &slice.placement else { continue };
        let seen = by_profile.entry(&profile.name).or_insert((profile, 0, 0.0, 0.0));
        let tenant = sharing.tenants[slice.tenant];
        seen.1 += 1;
        seen.2 = seen.2.max(tenant.vram_needed_mib);
        seen.3 = seen.3.max(tenant.peak_percent);
    }
    for (name, (profile, tenants, needed, peak)) in by_profile {
        let slices = f64::from(profile.compute_slices);
        let card_slices = f64::from(total.unwrap_or(profile.compute_slices));
        let memory = profile.memory_mib.map_or_else(|| "unknown".to_owned(), count);
        let needed = counted(format!("{needed:.0}"), "MiB", "MiB");
        lines.extend(rows! { ("slices", format!("{tenants} × {name}: at most {needed} needed (peak with headroom) of {memory} MiB; peak at most {peak:.1}% × {card_slices} / {slices} slices = {:.1}% ≤ {SHARED_TARGET_PERCENT}%", peak * card_slices / slices)); });
    }
    let fullest = sharing.cards.iter().map(|card| card.peak_percent).fold(0.0, f64::max);
    let how = if sharing.mode == SharingMode::Mps { ", using MPS" } else { "" };
    lines.extend(rows! {
        ("each card", format!("at most {} tenants{how}, sum of peaks at most {fullest:.1}% ≤ {SHARED_TARGET_PERCENT}%", sharing.most_per_card()));
    });
    let (Some(target), Some(cost)) = (sharing.action.target(), &workload.cost) else {
        return lines;
    };
    let per_instance = usize::from(offer.share.visible_devices());
    let (cards, kept) = (sharing.cards.len(), target.count as usize);
    let by_cards = cards.div_ceil(per_instance);
    let by_cpu = if kept > by_cards { "; vCPUs require more" } else { "" };
    // Which ones go is not known: the most expensive stay.
    let mut dearest: Vec<&InstanceCost> = cost.instances.iter().collect();
    dearest.sort_by_key(|instance| Reverse(instance.quote.rate.amount() * instance.monthly_hours));
    let kept = dearest.into_iter().take(kept);
    let kept = kept.map(|instance| (&instance.key, &instance.quote, instance.monthly_hours));
    let (rated, sum) = rates(kept);
    rows! {
        ..lines;
        ("cards", format!("{} / {per_instance} per instance: {}, rounded up{by_cpu}", counted(cards, "card", "cards"), counted(by_cards, "instance", "instances")));
        ..rated;
        ("left", format!("{} per month", figure(sum, 6)));
    }
}

/// A move to another type.
struct Move<'a> {
    workload: &'a Workload,
    rightsizing: &'a Rightsizing,
    chosen: &'a Considered,
    demand: Demand,
    by: &'a Derivation<'a>,
}

/// What a workload needs, and which types were evaluated.
pub(super) fn rightsize(
    workload: &Workload,
    rightsizing: &Rightsizing,
    answer: Option<&Answer>,
    by: &Derivation<'_>,
) -> Vec<Line> {
    let Some(chosen) = rightsizing.suitable.first() else { return Vec::new() };
    let mut lines = Vec::new();
    if let (Ok(today), Ok(demand)) = (Today::of(workload), Demand::of(workload, by.policy)) {
        let to = Move { workload, rightsizing, chosen, demand, by };
        let gpus = today.shape.gpu.as_ref().zip(chosen.shape.gpu.as_ref());
        lines = rows! {
            ..to.needs(today.shape);
            ..gpus.map(|gpus| to.projected(gpus)).unwrap_or_default();
            for seconds in rightsizing.averaged_seconds => ("caveat", averaged_peaks(seconds));
        };
    }
    let rows = rightsizing.quotes.iter().zip(workload.cost.iter().flat_map(|cost| &cost.instances));
    let (rated, sum) =
        rates(rows.map(|((key, quote), instance)| (key, quote, instance.monthly_hours)));
    let (today_count, number) = (rightsizing.quotes.len(), chosen.count);
    let even = Decimal::from(number) / Decimal::from(today_count.max(1));
    let share = rightsizing.fewer.as_ref().map_or(even, |fewer| fewer.share);
    let what = if (number as usize) < today_count {
        format!("at most {number} of {today_count} at once")
    } else {
        format!("{number} in each hour in which any of {today_count} ran")
    };
    let (suitable, rejected) =
        (rightsizing.suitable_in_all, answer.map_or(0, Answer::refused_in_all));
    let others = rightsizing.suitable.iter().skip(1).take(SHOWN);
    let others = others.filter_map(|considered| Some((considered, money(considered.monthly?))));
    let refused = answer.iter().flat_map(|answer| &answer.refused).take(SHOWN);
    rows! {
        ..lines;
        ..rated;
        if !chosen.spread.keeps_machines() => ("instances", format!("{what}, {} of the running time: {} per month", figure(share, 10), figure(sum * share, 6)));
        ("types", format!("{} considered: {suitable} suitable, {rejected} rejected", counted(suitable + rejected, "type", "types")));
        for (considered, monthly) in others => ("more expensive", format!("{} × {} at {monthly} per month", considered.count, considered.shape.instance_type));
        for refusal in refused => ("rejected", candidate(refusal));
    }
}

impl Move<'_> {
    /// Each need against what today's and the chosen type have.
    fn needs(&self, old: &InstanceShape) -> Vec<Line> {
        let Self { workload, rightsizing, chosen, demand, by } = self;
        let (new, number) = (chosen.shape, chosen.count);
        let [before, after]: [u32; 2] = [old, new].map(|shape| {
            shape.gpu.as_ref().map_or(0, |offer| offer.share.visible_devices().into())
        });
        let tenants = demand.tenants.filter(|_| chosen.spread == Spread::Tenants);
        let link = network_gbps(&new.instance_type);
        let link = link.map_or("unknown".to_owned(), |gbps| format!("{gbps} Gbit/s"));
        let (headroom, memory) = (by.policy.vcpu_headroom, demand.memory_p95_mib);
        let times = 1.0 + f64::from(chosen.per_gpu);
        let least = times * demand.vram_peak_mib * by.policy.vram_headroom + 8.0 * 1024.0;
        let is_measured = memory.is_some();
        let has =
            format!("{} MiB available, {} MiB today", count(new.memory_mib), count(old.memory_mib));
        let gpus = old.gpu.as_ref().zip(new.gpu.as_ref());
        let largest = |of: fn(&InstanceUsage) -> Option<f64>| {
            let figures = workload.usage.iter().filter_map(of).reduce(f64::max);
            figures.map_or(ABSENT.to_owned(), |figure| format!("{figure:.3}"))
        };
        let linked = match demand.gpus_linked {
            Some(true) => "linked",
            Some(false) => "independent",
            None => "not known to be independent",
        };
        rows! {
            ("GPUs", format!("{} in use (all except those known to be always inactive) and {} held on the fullest instance, of {before}; {} needed, {after} available", demand.gpus_active, demand.gpus_held, rightsizing.gpus_needed));
            for tenants in tenants => ("GPUs", format!("on each of {number} instances: {tenants} in use on all, {} on each GPU", chosen.per_gpu));
            if chosen.spread == Spread::Replicas => ("GPUs", format!("on each of {number} instances"));
            ..gpus.map(|gpus| self.vram(gpus)).unwrap_or_default();
            ..self.vcpu(old.vcpu, new.vcpu);
            if workload.usage.iter().any(|usage| usage.cpu_is_of_runs) => ("vCPU", "from profiled runs, because no other source reports it".to_owned());
            for busiest in demand.network_gbps => ("network", format!("busiest hour {busiest:.3} Gbit/s × 1.2 = {:.3} Gbit/s; new link: {link}", busiest * 1.2));
            if demand.network_gbps.is_none() => ("network", format!("not measured; new link: {link}"));
            for p95 in memory => ("host memory", format!("p95 {p95:.0} MiB in profiled runs × {headroom}; {has}"));
            if !is_measured && by.accepted == Risk::Low => ("host memory", format!("not measured, so today's amount is kept per GPU in use; {has}"));
            if !is_measured && by.accepted != Risk::Low => ("host memory", format!("not measured, so at least {times} × VRAM + 8 GiB = {least:.0} MiB, or today's share for the GPUs in use if less; {has}"));
            if demand.gpus_active > 1 => ("link", format!("the GPUs of a machine are {linked}; correlation {} on average, {} of two by the hour", largest(|usage| usage.gpus_correlation), largest(|usage| usage.pairs_correlation)));
        }
    }

    fn vram(&self, (offer, other): (&GpuOffer, &GpuOffer)) -> Vec<Line> {
        let Self { rightsizing, chosen, demand, by, .. } = self;
        let headroom = by.policy.vram_headroom;
        let (peak, number) = (demand.vram_peak_mib, chosen.per_gpu.max(1));
        let is_kept = chosen.spread != Spread::Replicas && !chosen.shares_gpus();
        let basis = rightsizing.projection.map(|there| there.ratio.basis);
        let is_same = is_kept && basis == Some(RatioBasis::SameGpu);
        let is_reserved = demand.vram_is_reserved;
        let usable = usable_vram_mib(offer, other).map_or_else(
            |reason| reason.to_string(),
            |mib| format!("{} reports {} MiB", other.model, count(mib)),
        );
        let mib = |mib: f64| counted(format!("{mib:.0}"), "MiB", "MiB");
        let needed = mib(peak * headroom * f64::from(number));
        let peak = mib(peak);
        rows! {
            if is_same => ("VRAM", format!("the same GPU holds the peak of {peak}"));
            if !is_same && is_reserved => ("VRAM", format!("{peak} are reserved and the need is unknown, so as much as today's card; {usable}"));
            if !is_same && !is_reserved && number == 1 => ("VRAM", format!("peak {peak} × {headroom} = {needed} needed; {usable}"));
            if !is_same && !is_reserved && number > 1 => ("VRAM", format!("peak {peak} × {headroom} × {number} on each GPU = {needed} needed; {usable}"));
        }
    }

    fn vcpu(&self, old: u32, new: u32) -> Vec<Line> {
        let Self { chosen, demand, by, .. } = self;
        let headroom = by.policy.vcpu_headroom;
        let (number, is_spread) = (chosen.count, !chosen.spread.keeps_machines());
        let sum = demand.cpu_p95_sum.filter(|_| is_spread);
        let p95 = sum.or(demand.cpu_p95);
        let parts = if is_spread { f64::from(number) } else { 1.0 };
        let share = sum.map(|_| counted(number, "instance", "instances"));
        let share = share.map_or(String::new(), |instances| format!(" / {instances}"));
        rows! {
            if p95.is_none() => ("vCPU", format!("not measured; {new} available, {old} today"));
            for p95 in p95 => ("vCPU", format!("p95 {p95:.1}% of {old} × {headroom}{share} = {:.2} needed; {new} available", p95 / 100.0 * f64::from(old) * headroom / parts));
        }
    }

    /// How busy the new GPUs would be, and what the policy accepts.
    fn projected(&self, (today, other): (&GpuOffer, &GpuOffer)) -> Vec<Line> {
        let Self { chosen, demand, by: Derivation { policy, .. }, .. } = self;
        let Some(projection) = self.rightsizing.projection else { return Vec::new() };
        let (basis, ratio) = (projection.ratio.basis, projection.ratio.value);
        let (slowdown, model, bound) = (projection.slowdown, &other.model, demand.bound);
        let unit = match basis {
            RatioBasis::SameGpu if chosen.shares_gpus() => None,
            RatioBasis::SameGpu => return vec![("speed", "the same GPU as today".to_owned())],
            RatioBasis::Bandwidth => Some(("GB/s", "memory bandwidth")),
            RatioBasis::Compute => Some(("TFLOPS", "dense FP16")),
        };
        let speeds = performance(today, basis).ok().zip(performance(other, basis).ok());
        let serves = matches!(demand.kind, WorkloadKind::Serving | WorkloadKind::Unknown);
        let there = if slowdown > 1.0 {
            format!("{slowdown:.3} times the duration on each {model}")
        } else {
            format!("{:.1}% of each {model}", projection.utilization)
        };
        rows! {
            for ((old, new), (unit, what)) in speeds.zip(unit) => ("speed", format!("{} {old} {unit} / {model} {new} {unit} = {ratio:.4}, the ratio of {what} ({bound} bound)", today.model));
            for peak in self.peak(other.share.visible_devices().into()) => ("load", format!("{peak} × {ratio:.4} = {there} projected"));
            if serves => ("limit", format!("at most {}% accepted", policy.serving_target_percent));
            if !serves => ("limit", format!("slowdown {slowdown:.3}, at most {} accepted", policy.slowdown_limit));
        }
    }

    /// What a GPU of such work must have room for: one of `each` of every new machine.
    fn peak(&self, each: f64) -> Option<String> {
        let Self { chosen, demand, .. } = self;
        let name = match demand.kind {
            WorkloadKind::Training | WorkloadKind::Batch | WorkloadKind::Evaluation => "p95",
            WorkloadKind::Serving | WorkloadKind::Development | WorkloadKind::Unknown => {
                "peak (the larger of p99.5 and the median of daily maxima)"
            }
        };
        let gpus = |number: f64| counted(number, "GPU", "GPUs");
        let gpu_count = f64::from(chosen.count) * each;
        let active = f64::from(demand.gpus_active);
        Some(match (chosen.spread, demand.gpu_peak) {
            (Spread::Replicas, _) => {
                let (sum, gpus) = (demand.gpu_sum?, gpus(gpu_count));
                let share = sum / gpu_count;
                format!("largest simultaneous sum over all GPUs {sum:.1}% / {gpus} = {share:.1}%")
            }
            (Spread::Tenants, _) => {
                let peak = demand.gpu_peak_largest?;
                let busiest = format!("{name} of the busiest GPU {peak:.1}%");
                match chosen.per_gpu {
                    1 => busiest,
                    most => format!("{busiest} × {most} = {:.1}%", peak * f64::from(most)),
                }
            }
            (Spread::Kept, peak) if !chosen.shares_gpus() => format!("{name} {:.1}%", peak?),
            (Spread::Kept, peak) => {
                let (today, new) = (gpus(active), gpus(each));
                let (peak, load) = (peak?, peak? * active / each);
                format!("{name} {peak:.1}% × {today} / {new} = {load:.1}%")
            }
        })
    }
}
