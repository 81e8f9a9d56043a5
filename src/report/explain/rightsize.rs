//! What a workload needs, and which types were evaluated.

use super::cost::{figure, rates};
use super::levers::{SHOWN, candidate};
use super::line::{Derivation, Line};
use crate::catalog::network_gbps;
use crate::domain::{GpuOffer, InstanceUsage, Policy, Risk, Workload, WorkloadKind, counted};
use crate::report::shared::text::{ABSENT, count, money};
use crate::savings::{
    Answer, Considered, Demand, Projection, RatioBasis, Rightsizing, Spread, Today, averaged_peaks,
    performance, usable_vram_mib,
};
use rust_decimal::Decimal;

pub(super) fn rightsize(
    workload: &Workload,
    rightsizing: &Rightsizing,
    answer: Option<&Answer>,
    by: &Derivation<'_>,
    lines: &mut Vec<Line>,
) {
    let Some(chosen) = rightsizing.suitable.first() else { return };
    if let (Ok(today), Ok(demand)) = (Today::of(workload), Demand::of(workload, by.policy)) {
        needs(workload, &today, &demand, (rightsizing, chosen), by, lines);
        let gpus = today.shape.gpu.as_ref().zip(chosen.shape.gpu.as_ref());
        if let (Some(gpus), Some(projection)) = (gpus, rightsizing.projection) {
            projected(gpus, &demand, projection, chosen, by.policy, lines);
        }
        steps! { lines;
            "caveat" for seconds in rightsizing.averaged_seconds => "{}", averaged_peaks(seconds);
        }
    }
    let rows = rightsizing.quotes.iter().zip(workload.cost.iter().flat_map(|cost| &cost.instances));
    let rows = rows.map(|((key, quote), instance)| (key, quote, instance.monthly_hours));
    let sum = rates(rows, lines);
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
    steps! { lines;
        "instances" if !chosen.spread.keeps_machines() => "{what}, {} of the running time: {} per month", figure(share, 10), figure(sum * share, 6);
        "types" => "{} considered: {suitable} suitable, {rejected} rejected", counted(suitable + rejected, "type", "types");
        "more expensive" for (considered, monthly) in others => "{} × {} at {monthly} per month", considered.count, considered.shape.instance_type;
        "rejected" for refusal in refused => "{}", candidate(refusal);
    }
}

/// Each need against what today's and the chosen type have.
fn needs(
    workload: &Workload,
    today: &Today<'_>,
    demand: &Demand,
    (rightsizing, chosen): (&Rightsizing, &Considered),
    by: &Derivation<'_>,
    lines: &mut Vec<Line>,
) {
    let (old, new, number) = (today.shape, chosen.shape, chosen.count);
    let [before, after]: [u32; 2] = [old, new]
        .map(|shape| shape.gpu.as_ref().map_or(0, |offer| offer.share.visible_devices().into()));
    let tenants = demand.tenants.filter(|_| chosen.spread == Spread::Tenants);
    let link = network_gbps(&new.instance_type);
    let link = link.map_or("unknown".to_owned(), |gbps| format!("{gbps} Gbit/s"));
    let (headroom, memory) = (by.policy.vcpu_headroom, demand.memory_p95_mib);
    let times = 1.0 + f64::from(chosen.per_gpu);
    let least = times * demand.vram_peak_mib * by.policy.vram_headroom + 8.0 * 1024.0;
    let is_measured = memory.is_some();
    let has =
        format!("{} MiB available, {} MiB today", count(new.memory_mib), count(old.memory_mib));
    steps! { lines;
        "GPUs" => "{} in use (all except those known to be always inactive) and {} held on the fullest instance, of {before}; {} needed, {after} available", demand.gpus_active, demand.gpus_held, rightsizing.gpus_needed;
        "GPUs" for tenants in tenants => "on each of {number} instances: {tenants} in use on all, {} on each GPU", chosen.per_gpu;
        "GPUs" if chosen.spread == Spread::Replicas => "on each of {number} instances";
    }
    if let (Some(offer), Some(other)) = (&old.gpu, &new.gpu) {
        vram((offer, other), demand, (rightsizing, chosen), by.policy.vram_headroom, lines);
    }
    vcpu((old.vcpu, new.vcpu), demand, chosen, headroom, lines);
    steps! { lines;
        "vCPU" if workload.usage.iter().any(|usage| usage.cpu_is_of_runs) => "from profiled runs, because no other source reports it";
        "network" for busiest in demand.network_gbps => "busiest hour {busiest:.3} Gbit/s × 1.2 = {:.3} Gbit/s; new link: {link}", busiest * 1.2;
        "network" if demand.network_gbps.is_none() => "not measured; new link: {link}";
        "host memory" for p95 in memory => "p95 {p95:.0} MiB in profiled runs × {headroom}; {has}";
        "host memory" if !is_measured && by.accepted == Risk::Low => "not measured, so today's amount is kept per GPU in use; {has}";
        "host memory" if !is_measured && by.accepted != Risk::Low => "not measured, so at least {times} × VRAM + 8 GiB = {least:.0} MiB, or today's share for the GPUs in use if less; {has}";
    }
    let largest = |of: fn(&InstanceUsage) -> Option<f64>| {
        let figures = workload.usage.iter().filter_map(of).reduce(f64::max);
        figures.map_or(ABSENT.to_owned(), |figure| format!("{figure:.3}"))
    };
    let linked = match demand.gpus_linked {
        Some(true) => "linked",
        Some(false) => "independent",
        None => "not known to be independent",
    };
    steps! { lines;
        "link" if demand.gpus_active > 1 => "the GPUs of a machine are {linked}; correlation {} on average, {} of two by the hour", largest(|usage| usage.gpus_correlation), largest(|usage| usage.pairs_correlation);
    }
}

fn vram(
    (offer, other): (&GpuOffer, &GpuOffer),
    demand: &Demand,
    (rightsizing, chosen): (&Rightsizing, &Considered),
    headroom: f64,
    lines: &mut Vec<Line>,
) {
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
    steps! { lines;
        "VRAM" if is_same => "the same GPU holds the peak of {peak}";
        "VRAM" if !is_same && is_reserved => "{peak} are reserved and the need is unknown, so as much as today's card; {usable}";
        "VRAM" if !is_same && !is_reserved && number == 1 => "peak {peak} × {headroom} = {needed} needed; {usable}";
        "VRAM" if !is_same && !is_reserved && number > 1 => "peak {peak} × {headroom} × {number} on each GPU = {needed} needed; {usable}";
    }
}

fn vcpu(
    (old, new): (u32, u32),
    demand: &Demand,
    chosen: &Considered,
    headroom: f64,
    lines: &mut Vec<Line>,
) {
    let (number, is_spread) = (chosen.count, !chosen.spread.keeps_machines());
    let sum = demand.cpu_p95_sum.filter(|_| is_spread);
    let p95 = sum.or(demand.cpu_p95);
    let parts = if is_spread { f64::from(number) } else { 1.0 };
    let share = sum.map(|_| counted(number, "instance", "instances"));
    let share = share.map_or(String::new(), |instances| format!(" / {instances}"));
    steps! { lines;
        "vCPU" if p95.is_none() => "not measured; {new} available, {old} today";
        "vCPU" for p95 in p95 => "p95 {p95:.1}% of {old} × {headroom}{share} = {:.2} needed; {new} available", p95 / 100.0 * f64::from(old) * headroom / parts;
    }
}

/// How busy the new GPUs would be, and what the policy accepts.
fn projected(
    (today, other): (&GpuOffer, &GpuOffer),
    demand: &Demand,
    projection: Projection,
    chosen: &Considered,
    policy: &Policy,
    lines: &mut Vec<Line>,
) {
    let (basis, ratio) = (projection.ratio.basis, projection.ratio.value);
    let (slowdown, model, bound) = (projection.slowdown, &other.model, demand.bound);
    let unit = match basis {
        RatioBasis::SameGpu if chosen.shares_gpus() => None,
        RatioBasis::SameGpu => {
            steps! { lines;
                "speed" => "the same GPU as today";
            }
            return;
        }
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
    steps! { lines;
        "speed" for ((old, new), (unit, what)) in speeds.zip(unit) => "{} {old} {unit} / {model} {new} {unit} = {ratio:.4}, the ratio of {what} ({bound} bound)", today.model;
        "load" for peak in peak(demand, chosen, other.share.visible_devices().into()) => "{peak} × {ratio:.4} = {there} projected";
        "limit" if serves => "at most {}% accepted", policy.serving_target_percent;
        "limit" if !serves => "slowdown {slowdown:.3}, at most {} accepted", policy.slowdown_limit;
    }
}

/// What a GPU of such work must have room for: one of `each` of every new machine.
fn peak(demand: &Demand, chosen: &Considered, each: f64) -> Option<String> {
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
