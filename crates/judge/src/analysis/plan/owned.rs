//! What an account has bought already: whose hours are paid for ahead, and what is to be said
//! about the commitments themselves. Beside it the machines of nodes as the rules about clusters
//! read them.

use crate::analysis::workloads::{Grouped, PaidHours, block_hours};
use crate::analysis::{AuditedWorkload, PriceUse, workloads};
use crate::catalog::Prices;
use crate::domain::{
    Cause, CauseKind, Clusters, CommitmentPool, CommittedHours, Finding, Gap, GapSubject,
    InstanceCost, Lifecycle, Policy, PriceOption, PurchaseOption, ResourceId, UsageState, Workload,
};
use crate::rules::{MachineFacts, commitment_findings};
use crate::savings::{
    Class, Coverage, Ending, Existing, ExistingCommitments, Figures, OtherHours, Room, ScopeChange,
    Standing, Unused, UnusedCommitment, commitment_rates, existing_coverage, instances,
};
use crate::usage::{Estate, Usages, WeekUsage};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The commitments of an estate and what they cover.
pub(in crate::analysis) struct EstateCommitments<'a> {
    estate: &'a Estate,
    prices: &'a Prices<'a>,
    policy: &'a Policy,
    coverage: Coverage,
}

impl<'a> EstateCommitments<'a> {
    /// The workloads of an estate at list price, but for Capacity Blocks, with what commitments cover of them.
    pub(in crate::analysis) fn beside_groups(
        (estate, usage): (&'a Estate, &Usages),
        prices: &'a Prices<'a>,
        policy: &'a Policy,
    ) -> (Vec<Grouped>, WeekUsage, Vec<Gap>, Self) {
        let (groups, week, gaps) = workloads::group((estate, usage), prices, policy);
        let mut standing = Standing::default();
        for workload in groups.iter().map(|group| &group.workload) {
            standing.figures.extend(figures(workload));
            for member in &workload.members {
                if !workload.key.running {
                    standing.ended.insert(member.id.clone());
                } else if member.rest().is_some_and(UsageState::is_idle) {
                    standing.resting.insert(member.id.clone());
                }
            }
        }
        let coverage = existing_coverage((estate, usage), prices, policy, &standing);
        let owned = Self { estate, prices, policy, coverage };
        let in_blocks: PaidHours = owned.block_hours().collect();
        let groups = groups.into_iter().map(|group| group.paid(&in_blocks).unwrap_or(group));
        (groups.collect(), week, gaps, owned)
    }

    /// The workloads of an estate as they are billed, with what is bought.
    pub(in crate::analysis) fn groups(
        estate: &'a Estate,
        prices: &'a Prices<'a>,
        policy: &'a Policy,
    ) -> (Vec<Grouped>, Vec<Gap>, Self) {
        let measured = estate.measured();
        let (groups, _, gaps, owned) = Self::beside_groups((estate, &measured), prices, policy);
        let paid = owned.paid_hours();
        (groups.into_iter().map(|group| group.paid(&paid).unwrap_or(group)).collect(), gaps, owned)
    }

    pub(in crate::analysis) fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// What is paid for, by instance.
    pub(in crate::analysis) fn paid_hours(&self) -> PaidHours {
        let covered = self.coverage.instances.iter();
        let covered =
            covered.filter_map(|instance| Some((instance.id.clone(), instance.committed()?)));
        covered.chain(self.block_hours()).collect()
    }

    /// What is paid for instances in Capacity Blocks, whatever runs in them.
    fn block_hours(&self) -> impl Iterator<Item = (ResourceId, CommittedHours)> + '_ {
        self.estate.instances.iter().filter_map(|instance| {
            let hours = block_hours(instance, self.estate, self.prices)?;
            Some((instance.id.clone(), hours))
        })
    }

    /// The commitments as a plan counts them, of what its members may be or become: beside them
    /// stand instances out of scope and the room that no plan gives up.
    pub(in crate::analysis) fn existing(&self, pools: &BTreeSet<CommitmentPool>) -> Existing {
        let commitments = &self.estate.commitments;
        if commitments.reserved_instances.is_empty() && commitments.savings_plans.is_empty() {
            return Existing::default();
        }
        let mut rates = BTreeMap::new();
        for pool in pools {
            rates.insert(pool.key.clone(), commitment_rates(&pool.key, self.prices));
        }
        // Room that can be given up is, before anything else.
        let given_up: BTreeSet<ResourceId> = self
            .coverage
            .rooms
            .iter()
            .filter(|room| room.reservation.can_be_cancelled(self.estate.as_of))
            .filter(|room| !self.coverage.uncovered_room(room).is_zero())
            .map(Room::id)
            .collect();
        let others = self.coverage.others.iter();
        let others = others.filter(|other| !given_up.contains(&other.id)).map(|other| {
            let key = other.key.clone();
            let own = commitment_rates(&key, self.prices);
            let hourly = own.get(&PriceOption::OnDemand).copied().unwrap_or_default();
            rates.entry(key.clone()).or_insert(own);
            let share = instances(other.hours.iter().sum());
            let share = share.checked_div(Decimal::from(other.hours.len()));
            OtherHours {
                monthly: hourly * self.policy.hours_per_month * share.unwrap_or_default(),
                class: Class {
                    pool: commitments.pool(&other.account, key),
                    account: other.account.clone(),
                    zone: other.zone.clone(),
                    is_room: other.is_room,
                },
                hours: other.hours.clone(),
            }
        });
        let others = others.collect();
        Existing { commitments: commitments.clone(), as_of: Some(self.estate.as_of), rates, others }
    }

    /// What is bought, as far as it decides about a lever.
    pub(in crate::analysis) fn bought(&self) -> ExistingCommitments<'a> {
        ExistingCommitments {
            commitments: &self.estate.commitments,
            prices: self.prices,
            as_of: self.estate.as_of,
        }
    }

    /// Every finding about what was bought beside what a plan changes of it, with the prices
    /// behind its figures.
    pub fn findings(&self, changes: &[ScopeChange], prices_used: &mut PriceUse) -> Vec<Finding> {
        let unused = self.unused(prices_used);
        commitment_findings(&unused, &self.coverage, changes, self.estate.as_of)
    }

    /// What is paid for and does not run, with the prices behind its figures.
    pub(in crate::analysis) fn unused(&self, prices_used: &mut PriceUse) -> Vec<UnusedCommitment> {
        let Self { estate, prices, policy, coverage } = self;
        let (rows, quotes) = Unused { coverage, estate, prices, policy }.rows();
        quotes.into_iter().for_each(|quote| prices_used.insert(quote));
        rows
    }
}

/// The gap of instances that a savings plan of unknown rate may cover.
pub fn unknown_rate(plan: &str, instance_type: &str, workload: &Workload) -> Gap {
    let cause = Cause::of(CauseKind::RateUnknown, [plan, instance_type]);
    Gap::of(GapSubject::SavingsPlanRate, workload.id(), cause)
}

/// What tells the members of a workload from others that a commitment covers alike.
fn figures(workload: &Workload) -> impl Iterator<Item = (ResourceId, Figures)> + '_ {
    workload.members.iter().map(|member| {
        let mut usage = workload.usage.iter();
        let usage = usage.find(|usage| usage.instance == member.id);
        let gpus = || usage.into_iter().flat_map(|usage| &usage.gpus);
        let used = gpus().filter_map(|gpu| Some(gpu.utilization?.mean * 1e6));
        let vram = gpus().filter_map(|gpu| Some(gpu.vram.as_ref()?.peak_mib));
        let mut hasher = DefaultHasher::new();
        (&workload.tags, &member.own_tags).hash(&mut hasher);
        let figures = [
            used.map(|used| used.round() as u64).sum(),
            vram.map(|mib| mib.round() as u64).sum(),
            member.first_seen.as_second().unsigned_abs(),
            hasher.finish(),
        ];
        (member.id.clone(), figures)
    })
}

/// What is known of the machines of nodes, by machine.
pub(in crate::analysis) fn machine_facts<'a>(
    audited: &'a [AuditedWorkload],
    clusters: &Clusters,
    bought: &ExistingCommitments<'_>,
) -> BTreeMap<&'a ResourceId, MachineFacts<'a>> {
    let nodes: BTreeSet<&ResourceId> = clusters.nodes.iter().map(|node| &node.machine).collect();
    let mut machines = BTreeMap::new();
    for row in audited {
        let workload = &*row.workload;
        let costs = workload.cost.as_ref().map(|cost| cost.instances.as_slice());
        for (place, member) in workload.members.iter().enumerate() {
            if !nodes.contains(&member.id) {
                continue;
            }
            let cost = costs.and_then(|costs| costs.get(place));
            let facts = MachineFacts {
                instance_type: &workload.key.instance_type,
                price_class: price_class(workload.key.purchase_option),
                is_running: member.is_running,
                is_ignored: member.ignored.is_some(),
                first_seen: member.first_seen,
                monthly_cost: cost.map(InstanceCost::monthly_exact),
                ending: Ending::of(workload, place, bought),
                usage: workload.usage.get(place),
            };
            machines.insert(&member.id, facts);
        }
    }
    machines
}

/// How a machine was bought, whatever commitment pays for its hours.
fn price_class(option: PurchaseOption) -> Lifecycle {
    match option {
        PurchaseOption::Spot => Lifecycle::Spot,
        PurchaseOption::CapacityBlock => Lifecycle::CapacityBlock,
        PurchaseOption::OnDemand
        | PurchaseOption::Reserved
        | PurchaseOption::SavingsPlan
        | PurchaseOption::Mixed => Lifecycle::OnDemand,
    }
}
