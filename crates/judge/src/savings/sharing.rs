//! Several tenants on one card: MIG slices where the card has MIG, MPS among
//! trusted neighbours. A first estimate, from the memory and the utilization of
//! each GPU.

use super::Fewer;
use super::packing::{SharedCard, Tenant, most_without_room, pack_mig, pack_mps, total_slices};
use super::rightsize::{
    NETWORK_HEADROOM, averaged_away, averaged_seconds, least_replicas, link_gbps, peak,
    unit_of_work,
};
use crate::catalog::{MigProfile, gpu_spec, mig_profiles};
use crate::domain::{
    Action, ActionKind, GPUS_TAG, GpuModel, GpuOffer, GpuShare, GpuUsage, INDEPENDENT,
    InstanceShape, Money, Policy, Risk, Target, VRAM_TAG, Verdict, Workload, WorkloadCost,
    WorkloadKind,
};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharingMode {
    /// Slices of the hardware, with memory and compute of their own.
    Mig,
    /// Processes side by side without walls between them.
    Mps,
}

/// Tenants moved together onto fewer instances of the same type.
#[derive(Debug, Clone, PartialEq)]
pub struct Sharing {
    pub action: Action,
    pub mode: SharingMode,
    /// What the tenants need, in the order of their GPUs.
    pub tenants: Vec<Tenant>,
    /// The cards with who sits where.
    pub cards: Vec<SharedCard>,
    /// What fewer instances run of today's hours; absent where that is not known.
    pub fewer: Option<Fewer>,
    /// What to check before moving.
    pub steps: Vec<String>,
    latency_ratio: Option<f64>,
}

impl Sharing {
    /// Slices by profile, in order of name.
    pub fn slices_by_profile(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        let placements = self.cards.iter().flat_map(|card| &card.slices);
        for (profile, _) in placements.filter_map(|slice| slice.placement.as_ref()) {
            *counts.entry(profile.name.as_str()).or_insert(0) += 1;
        }
        counts
    }

    /// Tenants on each card of each instance: cards fill one instance after the other.
    fn by_instance(&self, cards: usize) -> Vec<Vec<usize>> {
        let instances = self.cards.chunks(cards.max(1));
        let tenants = |cards: &[SharedCard]| cards.iter().map(|card| card.slices.len()).collect();
        instances.map(tenants).collect()
    }

    /// The same at a higher risk.
    fn at(mut self, risk: Risk) -> Self {
        self.action = self.action.at(risk);
        self
    }

    /// How many times as long a request may take on the smallest slice; absent
    /// where cards are not cut.
    pub fn latency_ratio(&self) -> Option<f64> {
        self.latency_ratio
    }

    pub fn most_per_card(&self) -> usize {
        self.cards.iter().map(|card| card.slices.len()).max().unwrap_or(0)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoSharing {
    /// GPUs that work together cannot be put on slices.
    #[error("{kind} may use several GPUs together; only serving and single-GPU replicas can share")]
    NotReplicas { kind: WorkloadKind },
    /// Its GPUs are busy together.
    #[error(
        "the GPUs of a machine are busy together and may hold one model: declare that each holds \
         its own with the tag {GPUS_TAG}={INDEPENDENT}"
    )]
    BusyTogether,
    /// Its kind was guessed from a name.
    #[error("serving is inferred from its name; declare it with the tag gpucost:kind")]
    KindGuessed,
    /// It is idle as a whole, or nothing can be said of it.
    #[error("it has no verdict, or it is idle and can be stopped")]
    NotWorking,
    /// The type has no GPU, or a part of one.
    #[error("it has no whole GPU to share")]
    NoWholeGpu,
    /// The card cannot be cut, and MPS is not accepted.
    #[error("{model} does not support MIG; MPS needs --risk high")]
    NoMig { model: GpuModel },
    /// Production has walls between its tenants, and this card has none.
    #[error("{model} does not support MIG; MPS is not suitable for production")]
    Production { model: GpuModel },
    /// Tenants of different owners have walls between them, and this card has none.
    #[error("{model} does not support MIG; MPS is for tenants of one owner")]
    SeveralOwners { model: GpuModel },
    /// A figure of a GPU or instance is missing.
    #[error("{what} is not known for all GPUs or instances")]
    DataMissing {
        /// The figure.
        what: &'static str,
    },
    /// An engine took its memory ahead.
    #[error(
        "an engine reserves the VRAM, and what is needed of it is unknown: state it with the tag \
         {VRAM_TAG}, such as {VRAM_TAG}=8GiB"
    )]
    VramReserved,
    /// A run does not show the load of the others that share its card.
    #[error("only profiled runs were measured")]
    OnlyRuns,
    #[error("it has no price")]
    Unpriced,
    /// It takes as many instances as today.
    #[error("{tenants} tenants need {cards} cards: no instance would be freed")]
    NothingFreed {
        tenants: usize,
        /// Cards that hold them.
        cards: usize,
    },
}

/// Whether every GPU of a workload may hold a tenant of its own.
///
/// # Errors
/// With the reason why not.
pub fn holds_tenants(workload: &Workload) -> Result<(), NoSharing> {
    let offer = workload.shape.as_ref().and_then(|shape| shape.gpu.as_ref());
    if !offer.is_some_and(|offer| matches!(offer.share, GpuShare::Whole(_))) {
        return Err(NoSharing::NoWholeGpu);
    }
    match workload.kind {
        _ if workload.holds_tenants() => Ok(()),
        WorkloadKind::Serving
            if workload.declared_kind() == WorkloadKind::Serving
                && workload.gpus_move_together() =>
        {
            Err(NoSharing::BusyTogether)
        }
        WorkloadKind::Serving if workload.declared_kind() == WorkloadKind::Serving => {
            Err(NoSharing::NotReplicas { kind: workload.kind })
        }
        WorkloadKind::Serving => Err(NoSharing::KindGuessed),
        kind => Err(NoSharing::NotReplicas { kind }),
    }
}

/// Moves the tenants of a workload, one a GPU today, onto fewer instances of the
/// same type: MIG slices, or MPS where that is accepted, frees more, and the workload is of
/// one owner and not tagged as production.
///
/// # Errors
/// With the reason why it stays as it is.
pub fn share(
    workload: &Workload,
    verdict: &Verdict,
    policy: &Policy,
    accepted: Risk,
) -> Result<Sharing, NoSharing> {
    holds_tenants(workload)?;
    if workload.rests_on_runs().is_some() {
        return Err(NoSharing::OnlyRuns);
    }
    if verdict.confidence.is_none() || verdict.is_idle() {
        return Err(NoSharing::NotWorking);
    }
    let shape = workload.shape.as_ref().ok_or(NoSharing::NoWholeGpu)?;
    let offer = shape.gpu.as_ref().ok_or(NoSharing::NoWholeGpu)?;
    let cost = workload.cost.as_ref().ok_or(NoSharing::Unpriced)?;
    let tenants = tenants(workload, policy)?;
    let fleet = Fleet {
        workload,
        offer,
        cost,
        hours_per_month: policy.hours_per_month,
        least_for_hosts: instances_for_cpu(workload, shape, policy)?
            .max(instances_for_network(workload, policy)),
        least_replicas: if workload.may_serve() {
            least_replicas(workload, policy) as usize
        } else {
            zones_in_use(workload)
        },
        is_one_enough: accepted == Risk::High && zones_in_use(workload) == 1,
    };
    let packed = |most_latency: Option<f64>| {
        slices_of(offer).and_then(|profiles| {
            let total = f64::from(total_slices(&profiles));
            let is_fast = |profile: &MigProfile| {
                let ratio = total / f64::from(profile.compute_slices.max(1));
                most_latency.is_none_or(|most| ratio <= most)
            };
            let kept: Vec<MigProfile> = profiles.into_iter().filter(is_fast).collect();
            let cards = pack_mig(&tenants, &kept);
            fleet.moved(SharingMode::Mig, &tenants, cards)
        })
    };
    let fast = packed(workload.may_serve().then_some(policy.max_latency_ratio));
    if accepted < Risk::High {
        return fast;
    }
    // Smaller slices answer later, which is worth it only where they free more.
    let slow = packed(None).map(|sharing| sharing.at(Risk::High));
    let mig = if saved(&slow) > saved(&fast) { slow } else { fast };
    let (is_production, has_owners) = (workload.is_production(), workload.has_several_owners);
    if is_production || has_owners {
        return mig.map_err(|error| match error {
            NoSharing::NoMig { model } if is_production => NoSharing::Production { model },
            NoSharing::NoMig { model } => NoSharing::SeveralOwners { model },
            other => other,
        });
    }
    let mps = card_mib(workload, offer)
        .ok_or(NoSharing::DataMissing { what: "card memory" })
        .and_then(|mib| fleet.moved(SharingMode::Mps, &tenants, pack_mps(&tenants, mib)));
    if saved(&mps) > saved(&mig) { mps } else { mig }
}

fn saved(sharing: &Result<Sharing, NoSharing>) -> Option<Decimal> {
    sharing.as_ref().ok().map(|sharing| sharing.action.monthly_savings().amount())
}

/// The profiles of a card, with their nominal memory where no driver reported it.
///
/// # Errors
/// For a card that has no MIG.
pub fn slices_of(offer: &GpuOffer) -> Result<Vec<MigProfile>, NoSharing> {
    let mut profiles = mig_profiles(offer);
    if profiles.is_empty() {
        let model = offer.model.clone();
        return Err(NoSharing::NoMig { model });
    }
    for profile in &mut profiles {
        profile.memory_mib = profile.memory_mib.or_else(|| nominal_mib(&profile.name));
    }
    Ok(profiles)
}

/// Share of its nominal memory that a slice has at least for certain.
const NOMINAL_MEMORY_SHARE: f64 = 0.93;

/// Memory of a slice by the name of its profile, such as `1g.10gb`, MiB.
fn nominal_mib(profile: &str) -> Option<u64> {
    let (_, memory) = profile.split_once('.')?;
    let gib: f64 = memory.split_once("gb")?.0.parse().ok()?;
    Some((gib * 1024.0 * NOMINAL_MEMORY_SHARE) as u64)
}

/// Every GPU that holds or computes something.
fn tenants(workload: &Workload, policy: &Policy) -> Result<Vec<Tenant>, NoSharing> {
    let measured = workload.gpus().count() as u64;
    if Some(measured) != workload.visible_gpus() {
        return Err(NoSharing::DataMissing { what: "utilization of each GPU" });
    }
    let held = workload.gpus().filter(|gpu| gpu.is_allocated() != Some(false));
    held.map(|gpu| tenant_of(gpu, workload, policy)).collect()
}

/// What one GPU holds and computes.
///
/// # Errors
/// With the figure that is missing.
pub fn tenant_of(
    gpu: &GpuUsage,
    workload: &Workload,
    policy: &Policy,
) -> Result<Tenant, NoSharing> {
    let figures = gpu.utilization.filter(|_| gpu.samples.suffice(policy));
    let figures = figures.ok_or(NoSharing::DataMissing { what: "utilization of each GPU" })?;
    let vram = gpu.vram.filter(|vram| vram.samples.suffice(policy));
    let vram = vram.ok_or(NoSharing::DataMissing { what: "VRAM use" })?;
    let vram_use_mib = workload.vram_use_mib(&vram);
    Ok(Tenant {
        vram_needed_mib: vram_use_mib.ok_or(NoSharing::VramReserved)? * policy.vram_headroom,
        peak_percent: peak(gpu, figures, workload.declared_kind()),
    })
}

/// Instances whose vCPUs carry today's CPU p95 with headroom.
fn instances_for_cpu(
    workload: &Workload,
    shape: &InstanceShape,
    policy: &Policy,
) -> Result<usize, NoSharing> {
    let mut needed_vcpu = 0.0;
    for usage in &workload.usage {
        let is_enough = usage.cpu_samples.is_none_or(|samples| samples.suffice(policy));
        let p95 = usage.cpu_p95.filter(|_| is_enough);
        let p95 = p95.ok_or(NoSharing::DataMissing { what: "CPU utilization" })?;
        needed_vcpu += p95 / 100.0 * f64::from(shape.vcpu) * policy.vcpu_headroom;
    }
    Ok((needed_vcpu / f64::from(shape.vcpu)).ceil() as usize)
}

/// Instances whose links carry the busiest hours of all with headroom; one where
/// they were not measured.
fn instances_for_network(workload: &Workload, policy: &Policy) -> usize {
    let busiest: Option<f64> = workload
        .usage
        .iter()
        .map(|usage| {
            let network = usage.network?;
            network.samples.suffice(policy).then(|| network.busiest_gbps())
        })
        .sum();
    let link = link_gbps(&workload.key.instance_type).filter(|link| *link > 0.0);
    busiest.zip(link).map_or(1, |(sum, link)| (sum * NETWORK_HEADROOM / link).ceil() as usize)
}

/// Whoever is in several zones stays in them.
fn zones_in_use(workload: &Workload) -> usize {
    workload.zones().len().max(1)
}

/// Memory of a card as its driver reports it.
fn card_mib(workload: &Workload, offer: &GpuOffer) -> Option<f64> {
    let reported = gpu_spec(offer).and_then(|spec| spec.memory_mib_reported);
    // Where no driver reported its size, that of the measurement is what the type offers.
    let measured = workload.vram().and_then(|vram| vram.total_mib);
    let reported = reported.map(|mib| mib as f64);
    let least = [measured, reported].into_iter().flatten().reduce(f64::min);
    least.or_else(|| Some(offer.vram_mib? as f64))
}

/// What is moved together.
struct Fleet<'a> {
    workload: &'a Workload,
    offer: &'a GpuOffer,
    cost: &'a WorkloadCost,
    hours_per_month: Decimal,
    /// Instances that vCPUs and network take.
    least_for_hosts: usize,
    /// Instances that are left of a service, so that one may fail.
    least_replicas: usize,
    /// Whether a single one may do, which is a high risk.
    is_one_enough: bool,
}

impl Fleet<'_> {
    /// The move onto as many whole instances as the cards take.
    fn moved(
        &self,
        mode: SharingMode,
        tenants: &[Tenant],
        cards: Vec<SharedCard>,
    ) -> Result<Sharing, NoSharing> {
        let per_instance = usize::from(self.offer.share.visible_devices());
        let needed = cards.len().div_ceil(per_instance).max(self.least_for_hosts).max(1);
        let is_one = self.is_one_enough && needed == 1 && self.least_replicas > 1;
        let instances = if is_one { 1 } else { needed.max(self.least_replicas) };
        let nothing_freed = NoSharing::NothingFreed { tenants: tenants.len(), cards: cards.len() };
        let today = self.workload.instances.len();
        if instances >= today || cards.len() >= today * per_instance {
            return Err(nothing_freed);
        }
        let monthly = self.cost.compute_monthly;
        let count = u32::try_from(instances).map_err(|_| nothing_freed.clone())?;
        let fewer = Fewer::together(&self.workload.activity, count);
        let kept = self.most_expensive(instances, fewer.as_ref());
        let kept = Money::new(kept, monthly.currency()).rounded();
        let saved = monthly.checked_sub(kept).map_err(|_| nothing_freed.clone())?;
        let instance_type = &self.workload.key.instance_type;
        let how = match mode {
            SharingMode::Mig => "MIG slices",
            SharingMode::Mps => "MPS",
        };
        let action = Action::saving(
            ActionKind::Share,
            Some(Target { instance_type: instance_type.clone(), count }),
            format!(
                "{count} × {instance_type} instead of {today}: {} tenants on {} of {} {} \
                 with {how}",
                tenants.len(),
                cards.len(),
                instances * per_instance,
                self.offer.model
            ),
            saved,
            monthly,
            match mode {
                SharingMode::Mig if !is_one => Risk::Medium,
                SharingMode::Mig | SharingMode::Mps => Risk::High,
            },
        )
        .ok_or(nothing_freed)?;
        let total = f64::from(total_slices(&mig_profiles(self.offer)));
        let slices = cards.iter().flat_map(|card| &card.slices);
        let smallest = slices
            .filter_map(|slice| slice.placement.as_ref())
            .map(|(profile, _)| profile.compute_slices)
            .min();
        let mut sharing = Sharing {
            action,
            mode,
            tenants: tenants.to_vec(),
            latency_ratio: smallest.map(|slices| total / f64::from(slices.max(1))),
            cards,
            fewer,
            steps: Vec::new(),
        };
        sharing.steps = self.steps(&sharing);
        let caveats = self.caveats(&sharing, instances);
        sharing.action = sharing.action.with_caveats(caveats);
        Ok(sharing)
    }

    /// Per month of so many instances, the most expensive first: which ones go is not
    /// known. Each runs whenever any of today's does, and no less than any of them.
    fn most_expensive(&self, instances: usize, together: Option<&Fewer>) -> Decimal {
        let today = &self.cost.instances;
        let most = today.iter().map(|instance| instance.monthly_hours).max();
        let share = together.and_then(|fewer| {
            let total = Decimal::from(fewer.after.len()) * Decimal::from(instances);
            fewer.after.iter().sum::<Decimal>().checked_div(total)
        });
        let hours = share.unwrap_or_default() * self.hours_per_month;
        let hours = hours.max(most.unwrap_or_default());
        let mut rates: Vec<Decimal> =
            today.iter().map(|instance| instance.quote.rate.amount()).collect();
        rates.sort_by(|left, right| right.cmp(left));
        rates.iter().take(instances).map(|rate| rate * hours).sum()
    }

    /// What would stop an engineer, the gravest first.
    fn caveats(&self, sharing: &Sharing, instances: usize) -> Vec<String> {
        let mut caveats = Vec::new();
        if let Some(ratio) = sharing.latency_ratio {
            let work = unit_of_work(self.workload.declared_kind());
            caveats.push(format!(
                "{work} may take up to {ratio:.2} times as long on the smallest slice"
            ));
        }
        let left = instances - 1;
        let cards = usize::from(self.offer.share.visible_devices());
        let mut by_instance = sharing.by_instance(cards);
        by_instance.resize(instances.max(by_instance.len()), Vec::new());
        let room = match most_without_room(&by_instance, cards) {
            0 => "which have room for all tenants".to_owned(),
            1 => "and 1 tenant without room".to_owned(),
            more => format!("and up to {more} tenants without room"),
        };
        caveats.push(format!("losing one instance leaves {left} of {instances}, {room}"));
        caveats.extend(averaged_seconds(self.workload).map(averaged_away));
        caveats
    }

    fn steps(&self, sharing: &Sharing) -> Vec<String> {
        let mut steps = vec![
            "confirm that each GPU holds its own model: a model that spans several GPUs \
             cannot share"
                .to_owned(),
        ];
        match sharing.mode {
            SharingMode::Mig => {
                let slices: Vec<String> = sharing
                    .slices_by_profile()
                    .iter()
                    .map(|(profile, count)| format!("{count} × {profile}"))
                    .collect();
                steps.push(format!(
                    "enable MIG on drained instances and create {}, at most {} per card",
                    slices.join(", "),
                    sharing.most_per_card()
                ));
                let placed = sharing.cards.iter().flat_map(|card| card.placements());
                let known = mig_profiles(self.offer);
                let is_nominal = |profile: &MigProfile| {
                    let named = known.iter().find(|listed| listed.name == profile.name);
                    named.is_some_and(|listed| listed.memory_mib.is_none())
                };
                if placed.map(|(profile, _)| profile).any(is_nominal) {
                    steps.push(format!(
                        "check the memory of the slices with `nvidia-smi mig -lgip`: 0.93 × the \
                         nominal size is assumed of {}",
                        self.offer.model
                    ));
                }
                steps.push(
                    "measure peak latency on one slice first: a slice can be slower than its \
                     share of the card"
                        .to_owned(),
                );
                steps.push(
                    "collect DCGM profiling metrics: a card in MIG mode does not report \
                     utilization"
                        .to_owned(),
                );
            }
            SharingMode::Mps => {
                steps.push(
                    "make sure that all tenants are trusted: with MPS one process can starve \
                     or crash the others"
                        .to_owned(),
                );
                steps.push("limit the memory and threads of each MPS client".to_owned());
            }
        }
        let today = self.workload.instances.len();
        let by_instance = sharing.by_instance(self.offer.share.visible_devices().into());
        let tenants = by_instance.iter().map(|cards| cards.iter().sum());
        steps.push(format!(
            "verify host memory: up to {} tenants per instance instead of {}",
            tenants.max().unwrap_or(0_usize),
            sharing.tenants.len().div_ceil(today.max(1))
        ));
        if self.workload.has_instance_store() {
            steps.push("confirm that no data on the instance store is needed".to_owned());
        }
        steps
    }
}
