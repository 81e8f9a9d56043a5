//! What a workload needs, and which types were weighed.

use super::Derivation;
use super::levers::{SHOWN, candidate};
use super::page::{Page, Rates, figure};
use crate::analysis::AuditedWorkload;
use crate::catalog::network_gbps;
use crate::domain::{ActionKind, GpuOffer, InstanceUsage, Policy, Risk, Workload, WorkloadKind};
use crate::report::shared::text::{count, counted, money};
use crate::savings::{
    Answer, Considered, Demand, Projection, RatioBasis, Rightsizing, Spread, Today, averaged_away,
    performance, usable_vram_mib,
};
use rust_decimal::Decimal;

impl Page {
    pub(super) fn rightsize(
        &mut self,
        audited: &AuditedWorkload,
        found: &Rightsizing,
        by: &Derivation<'_>,
    ) {
        let (Some(part), Some(chosen)) = (audited.working(), found.suitable.first()) else {
            return;
        };
        let workload = &part.workload;
        if let (Ok(today), Ok(demand)) = (Today::of(workload), Demand::of(workload, by.policy)) {
            self.needs(&today, &demand, chosen, found, by);
            if demand.gpus_active > 1 {
                self.link(workload, &demand);
            }
            if workload.usage.iter().any(|usage| usage.cpu_is_of_runs) {
                self.note("vCPU: from profiled runs, because no other source reports it");
            }
            if let (Some(offer), Some(other), Some(projection)) =
                (&today.shape.gpu, &chosen.shape.gpu, found.projection)
            {
                self.projection(&demand, offer, other, projection, chosen, by.policy);
            }
            if let Some(seconds) = found.averaged_seconds {
                self.note(&format!("caveat: {}", averaged_away(seconds)));
            }
        }
        let hours = workload.cost.iter().flat_map(|cost| &cost.instances);
        let rows = found.quotes.iter().zip(hours);
        let rates = Rates::of(rows.map(|((key, quote), one)| (key, quote, one.monthly_hours)));
        let sum = self.rates(&rates, Self::note);
        let all = found.quotes.len();
        if !chosen.spread.keeps_machines() {
            let even = Decimal::from(chosen.count) / Decimal::from(all.max(1));
            let share = found.fewer.as_ref().map_or(even, |fewer| fewer.share);
            let what = if (chosen.count as usize) < all {
                format!("at most {} of {all} at once", chosen.count)
            } else {
                format!("{} in each hour in which any of {all} ran", chosen.count)
            };
            self.note(&format!(
                "{what}, {} of the running time: {} per month",
                figure(share, 10),
                figure(sum * share, 6)
            ));
        }
        let answer = audited.proposals.answer(ActionKind::Rightsize);
        self.considered(found, answer);
    }

    fn needs(
        &mut self,
        today: &Today<'_>,
        demand: &Demand,
        chosen: &Considered,
        found: &Rightsizing,
        by: &Derivation<'_>,
    ) {
        let (old, new) = (today.shape, chosen.shape);
        let devices = |offer: Option<&GpuOffer>| {
            offer.map_or(0, |offer| u32::from(offer.share.visible_devices()))
        };
        self.note(&format!(
            "GPUs: {} in use (all except those known to be always inactive) and {} held on \
             the fullest instance, of {}; {} needed, {} available{}",
            demand.gpus_active,
            demand.gpus_held,
            devices(old.gpu.as_ref()),
            found.gpus_needed,
            devices(new.gpu.as_ref()),
            match (chosen.spread, demand.tenants) {
                (Spread::Tenants, Some(tenants)) => format!(
                    " on each of {}: {tenants} in use on all, each on a GPU of its own",
                    chosen.count
                ),
                (Spread::Replicas, _) => format!(" on each of {}", chosen.count),
                _ => String::new(),
            }
        ));
        if let (Some(offer), Some(other)) = (&old.gpu, &new.gpu) {
            let usable = usable_vram_mib(offer, other).map_or_else(
                |reason| reason.to_string(),
                |mib| format!("{} reports {} MiB", other.model, count(mib)),
            );
            let is_same = found.projection.is_some_and(|there| {
                there.ratio.basis == RatioBasis::SameGpu
                    && matches!(chosen.spread, Spread::Kept | Spread::Tenants)
            });
            self.note(&if is_same {
                format!(
                    "VRAM: the same GPU holds the peak of {:.0} MiB",
                    demand.vram_peak_mib
                )
            } else if demand.vram_is_reserved {
                format!(
                    "VRAM: {:.0} MiB are reserved and the need is unknown, so as much as today's \
                     card; {usable}",
                    demand.vram_peak_mib
                )
            } else {
                let (shared, times) = match chosen.per_gpu {
                    0 | 1 => (String::new(), 1.0),
                    number => (format!(" × {number} on each GPU"), f64::from(number)),
                };
                format!(
                    "VRAM: peak {:.0} MiB × {}{shared} = {:.0} MiB needed; {usable}",
                    demand.vram_peak_mib,
                    by.policy.vram_headroom,
                    demand.vram_peak_mib * by.policy.vram_headroom * times
                )
            });
        }
        self.vcpu(today, demand, chosen, by.policy);
        self.network(demand, chosen);
        let memory = match (demand.memory_p95_mib, by.accepted) {
            // No source of the cloud knows it.
            (Some(p95), _) => format!(
                "p95 {p95:.0} MiB in profiled runs × {}",
                by.policy.vcpu_headroom
            ),
            (None, Risk::Low) => {
                "not measured, so today's amount is kept per GPU in use".to_owned()
            }
            (None, _) => {
                let times = 1.0 + f64::from(chosen.per_gpu);
                format!(
                    "not measured, so at least {times} × VRAM + 8 GiB = {:.0} MiB, or today's \
                     share for the GPUs in use if less",
                    times * demand.vram_peak_mib * by.policy.vram_headroom + 8.0 * 1024.0
                )
            }
        };
        self.note(&format!(
            "host memory: {memory}; {} MiB available, {} MiB today",
            count(new.memory_mib),
            count(old.memory_mib)
        ));
    }

    /// Whether GPUs of one machine work as one, and what tells.
    fn link(&mut self, workload: &Workload, demand: &Demand) {
        let largest = |of: fn(&InstanceUsage) -> Option<f64>| {
            let figures = workload.usage.iter().filter_map(of);
            figures
                .reduce(f64::max)
                .map_or("—".to_owned(), |figure| format!("{figure:.3}"))
        };
        self.note(&format!(
            "GPUs of a machine: {}; correlation {} on average, {} of two by the hour",
            match demand.gpus_linked {
                Some(true) => "linked",
                Some(false) => "independent",
                None => "not known to be independent",
            },
            largest(|usage| usage.gpus_correlation),
            largest(|usage| usage.pairs_correlation)
        ));
    }

    fn vcpu(&mut self, today: &Today<'_>, demand: &Demand, chosen: &Considered, policy: &Policy) {
        let is_spread = !chosen.spread.keeps_machines();
        let (p95, share) = match (demand.cpu_p95, demand.cpu_p95_sum) {
            (_, Some(sum)) if is_spread => (
                Some(sum),
                format!(
                    " / {}",
                    counted(chosen.count.into(), "instance", "instances")
                ),
            ),
            (p95, _) => (p95, String::new()),
        };
        let Some(p95) = p95 else {
            self.note(&format!(
                "vCPU: not measured; {} available, {} today",
                chosen.shape.vcpu, today.shape.vcpu
            ));
            return;
        };
        let vcpu = f64::from(today.shape.vcpu);
        let parts = if is_spread {
            f64::from(chosen.count)
        } else {
            1.0
        };
        self.note(&format!(
            "vCPU: p95 {p95:.1}% of {} × {}{share} = {:.2} needed; {} available",
            today.shape.vcpu,
            policy.vcpu_headroom,
            p95 / 100.0 * vcpu * policy.vcpu_headroom / parts,
            chosen.shape.vcpu
        ));
    }

    fn projection(
        &mut self,
        demand: &Demand,
        today: &GpuOffer,
        other: &GpuOffer,
        projection: Projection,
        chosen: &Considered,
        policy: &Policy,
    ) {
        let (name, unit) = match projection.ratio.basis {
            RatioBasis::SameGpu if chosen.spread == Spread::Processes => ("", ""),
            RatioBasis::SameGpu => {
                self.note("same GPU: same speed as today");
                return;
            }
            RatioBasis::Bandwidth => ("memory bandwidth", "GB/s"),
            RatioBasis::Compute => ("dense FP16", "TFLOPS"),
        };
        let basis = projection.ratio.basis;
        let speeds = (performance(today, basis), performance(other, basis));
        if let (false, (Ok(old), Ok(new))) = (name.is_empty(), speeds) {
            self.note(&format!(
                "{name}: {} {old} {unit} / {} {new} {unit} = {:.4}, the ratio used ({} bound)",
                today.model, other.model, projection.ratio.value, demand.bound
            ));
        }
        let each = f64::from(other.share.visible_devices());
        let peak = match chosen.spread {
            Spread::Replicas => {
                let all = f64::from(chosen.count) * each;
                demand.gpu_sum.map(|sum| {
                    format!(
                        "largest simultaneous sum over all GPUs {sum:.1}% / {} = {:.1}%",
                        crate::domain::counted(all, "GPU", "GPUs"),
                        sum / all
                    )
                })
            }
            Spread::Kept => demand
                .gpu_peak
                .map(|peak| format!("{} {peak:.1}%", peak_name(demand.kind))),
            Spread::Tenants => demand
                .gpu_peak_largest
                .map(|peak| format!("{} of the busiest GPU {peak:.1}%", peak_name(demand.kind))),
            Spread::Processes => demand.gpu_peak.map(|peak| {
                format!(
                    "{} {peak:.1}% × {} / {} = {:.1}%",
                    peak_name(demand.kind),
                    crate::domain::counted(demand.gpus_active, "GPU", "GPUs"),
                    crate::domain::counted(each, "GPU", "GPUs"),
                    peak * f64::from(demand.gpus_active) / each
                )
            }),
        };
        let answers = matches!(demand.kind, WorkloadKind::Serving | WorkloadKind::Unknown);
        let most = if answers {
            format!("at most {}% accepted", policy.serving_target_percent)
        } else {
            format!(
                "slowdown {:.3}, at most {} accepted",
                projection.slowdown, policy.slowdown_limit
            )
        };
        if let Some(peak) = peak {
            let there = if projection.slowdown > 1.0 {
                format!("{:.3} times the duration on each", projection.slowdown)
            } else {
                format!("{:.1}% of each", projection.utilization)
            };
            self.note(&format!(
                "{peak} × {:.4} = {there} {} projected; {most}",
                projection.ratio.value, other.model
            ));
        }
    }

    /// Traffic against the new link.
    fn network(&mut self, demand: &Demand, chosen: &Considered) {
        let link = network_gbps(&chosen.shape.instance_type);
        let link = link.map_or("unknown".to_owned(), |gbps| format!("{gbps} Gbit/s"));
        self.note(&match demand.network_gbps {
            Some(busiest) => format!(
                "network: busiest hour {busiest:.3} Gbit/s × 1.2 = {:.3} Gbit/s; new link: {link}",
                busiest * 1.2
            ),
            None => format!("network: not measured; new link: {link}"),
        });
    }

    fn considered(&mut self, found: &Rightsizing, answer: Option<&Answer>) {
        let suitable = found.suitable_in_all;
        let rejected = answer.map_or(0, Answer::refused_in_all);
        self.note(&format!(
            "{} considered: {suitable} suitable, {rejected} rejected",
            counted((suitable + rejected) as u64, "type", "types")
        ));
        for one in found.suitable.iter().skip(1).take(SHOWN) {
            if let Some(monthly) = one.monthly {
                self.note(&format!(
                    "more expensive: {} × {} at {} per month",
                    one.count,
                    one.shape.instance_type,
                    money(monthly)
                ));
            }
        }
        for one in answer.iter().flat_map(|answer| &answer.refused).take(SHOWN) {
            self.note(&format!("rejected: {}", candidate(one)));
        }
    }
}

/// What a GPU of such work must have room for.
fn peak_name(kind: WorkloadKind) -> &'static str {
    match kind {
        WorkloadKind::Training | WorkloadKind::Batch | WorkloadKind::Evaluation => "p95",
        WorkloadKind::Serving | WorkloadKind::Development | WorkloadKind::Unknown => {
            "peak (the larger of p99.5 and the median of daily maxima)"
        }
    }
}
