//! The instances one by one: what each is, what its hours cost while it runs, and what it keeps
//! costing once stopped. Beside them what inference components reserve of instances, and what
//! training jobs cost: past spend, which no monthly figure includes.

use super::plan::EstateCommitments;
use super::workloads::{PaidHours, block_price, has_ended, idle_storage_costs, instance_shape};
use crate::catalog::Prices;
use crate::domain::{
    Cause, CauseKind, Claim, Clusters, CommittedHours, ComponentHost, DeviceFunnel, Gap,
    GapSubject, HourlyRate, IdleStorageCosts, Instance, InstanceShape, InstanceState, Money,
    NoPrice, Node, Policy, PriceQuote, Provider, PurchaseOption, ResourceId, TrainingJob, Window,
};
use crate::rules::claims_by_machine;
use crate::usage::{Estate, MachineHours, Usages, whole_hours};
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// One instance with what is known about it.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedInstance<'a> {
    pub instance: &'a Instance,
    /// What its type offers; absent for an unknown type.
    pub shape: Option<&'a InstanceShape>,
    /// How its hours are paid for, as an audit says it.
    pub purchase_option: PurchaseOption,
    /// The hourly price of what no commitment pays for; absent when it does not run, is
    /// prepaid, or has no known price.
    pub quote: Option<PriceQuote>,
    /// What an hour costs in the mean while it runs: at that price, and at the rates of the
    /// commitments in the hours that they cover. Absent as the price is.
    pub hourly: Option<HourlyRate>,
    /// Its volumes and addresses with their prices; absent unless it is stopped.
    pub idle_storage: Option<IdleStorageCosts>,
}

/// A node with how far its devices are given away.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedNode {
    pub node: Node,
    pub devices: DeviceFunnel,
}

/// The instances of an estate, and what is not known about them.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing<'a> {
    pub estate: &'a Estate,
    /// In order of account, region, type and id.
    pub instances: Vec<ListedInstance<'a>>,
    /// Nodes of clusters in order of name; empty where no cluster was read.
    pub nodes: Vec<ListedNode>,
    /// Who holds devices of them or waits for some, in order of namespace and pod.
    pub claims: Vec<Claim>,
    /// Endpoints that inference components share, in order of account, region and name.
    pub hosts: Vec<ListedHost<'a>>,
    /// Training jobs, the most expensive first.
    pub jobs: Vec<ListedJob<'a>>,
    /// What could not be seen, in order.
    pub gaps: Vec<Gap>,
}

impl Listing<'_> {
    /// The day of the oldest list that a price was read from; absent when
    /// nothing is priced.
    pub fn oldest_seen_on(&self) -> Option<Date> {
        let quotes = self.instances.iter().filter_map(|instance| instance.quote.as_ref());
        let of_jobs = self.jobs.iter().filter_map(|job| job.seen_on);
        quotes.map(|quote| quote.seen_on).chain(of_jobs).min()
    }
}

pub fn list_instances<'a>(estate: &'a Estate, policy: &Policy) -> Listing<'a> {
    let prices = Prices::new(&estate.prices, &policy.discount_percent);
    let inputs = Inputs {
        estate,
        paid: EstateCommitments::groups(estate, &prices, policy).2.paid_hours(),
        usages: estate.measured(),
        prices: &prices,
        policy,
    };
    let mut gaps = estate.gaps.clone();
    let mut instances: Vec<ListedInstance<'a>> =
        estate.instances.iter().map(|instance| inputs.listed(instance, &mut gaps)).collect();
    instances.sort_by_key(|listed| {
        let instance = listed.instance;
        (&instance.account, &instance.region, &instance.instance_type, &instance.id)
    });
    let hosts = estate.managed.hosts.iter().map(|host| ListedHost::of(host, &instances)).collect();
    let jobs = listed_jobs(&estate.jobs, &prices, &mut gaps);
    gaps.sort();
    gaps.dedup();
    let mut clusters = estate.clusters.clone();
    clusters.sort();
    let Clusters { nodes, claims, uses: _ } = clusters;
    Listing { estate, instances, nodes: listed_nodes(nodes, &claims), claims, hosts, jobs, gaps }
}

fn listed_nodes(nodes: Vec<Node>, claims: &[Claim]) -> Vec<ListedNode> {
    let by_machine = claims_by_machine(claims);
    let listed = nodes.into_iter().map(|node| {
        let own = by_machine.get(&node.machine);
        ListedNode { devices: node.funnel(own.into_iter().flatten().copied()), node }
    });
    listed.collect()
}

/// What instances are listed by.
struct Inputs<'a, 'p> {
    estate: &'a Estate,
    paid: PaidHours,
    usages: Cow<'a, Usages>,
    prices: &'p Prices<'p>,
    policy: &'p Policy,
}

impl<'a> Inputs<'a, '_> {
    fn listed(&self, instance: &'a Instance, gaps: &mut Vec<Gap>) -> ListedInstance<'a> {
        let place = instance.id.as_str();
        let shape = instance_shape(self.estate, &instance.instance_type);
        if shape.is_none() {
            let cause = Cause::of(CauseKind::TypeUnknown, [&instance.instance_type]);
            gaps.push(Gap::of(GapSubject::InstanceType, place, cause));
        }
        let paid = self.paid.get(&instance.id);
        let paid = paid.filter(|_| !self.has_ended(instance));
        let quote =
            if instance.state.is_running() { quote(instance, self.prices, gaps) } else { None };
        let hourly = quote.as_ref().and_then(|quote| match paid {
            Some(paid) => paid.hourly(quote.rate),
            None => Some(quote.rate),
        });
        if quote.is_some() && hourly.is_none() {
            let cause = Cause::of(CauseKind::PriceNotCombined, [""]);
            gaps.push(Gap::of(GapSubject::Price, place, cause));
        }
        let is_stopped = matches!(instance.state, InstanceState::Stopped | InstanceState::Stopping);
        let idle_storage =
            is_stopped.then(|| idle_storage_costs(&[instance], self.prices, self.policy));
        for what in idle_storage.iter().flat_map(|costs| &costs.unpriced) {
            let cause = Cause::of(CauseKind::NoStoragePriceRead, [what, &instance.region]);
            gaps.push(Gap::of(GapSubject::StoragePrice, place, cause));
        }
        ListedInstance {
            instance,
            shape,
            purchase_option: paid
                .map_or_else(|| instance.purchase_option(), CommittedHours::purchase_option),
            quote,
            hourly,
            idle_storage,
        }
    }

    /// Whether it is stopped and will not run again, as far as its past tells.
    fn has_ended(&self, instance: &Instance) -> bool {
        if instance.state.is_running() {
            return false;
        }
        let grid = (self.estate.window, self.estate.period_seconds);
        let (timeline, _) = self.usages.of(&instance.id).timeline(instance, None, grid);
        let stopped_at = match instance.state {
            InstanceState::Stopping => Some(self.estate.as_of),
            _ => instance.stopped_at(),
        };
        has_ended(&timeline, stopped_at, self.estate.as_of, self.policy)
    }
}

fn quote(instance: &Instance, prices: &Prices<'_>, gaps: &mut Vec<Gap>) -> Option<PriceQuote> {
    if let Some((_, quote)) = block_price(instance, prices) {
        return Some(quote);
    }
    let cause = match instance.price_key() {
        None => Cause::of(CauseKind::Prepaid, []),
        Some(key) => match prices.get(&key) {
            Ok(quote) => return Some(quote),
            Err(missing) => match key.provider {
                Provider::Aws => Cause::of(CauseKind::NoPriceRead, [&missing.0.to_string()]),
                _ => Cause::of(CauseKind::NoOwnPrice, [&missing.0.to_string(), ""]),
            },
        },
    };
    gaps.push(Gap::of(GapSubject::Price, instance.id.as_str(), cause));
    None
}

/// A training job with what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedJob<'a> {
    pub job: &'a TrainingJob,
    /// Absent while it runs, where a training plan paid for it, and without a price for each
    /// of its types.
    pub cost: Option<Money>,
    /// What its instances cost in a warm pool after it.
    pub warm_pool_cost: Option<Money>,
    /// Whether a type of it has no price.
    pub is_unpriced: bool,
    /// The day of the oldest list that its prices were read from.
    pub seen_on: Option<Date>,
}

impl ListedJob<'_> {
    fn total(&self) -> Option<Decimal> {
        let parts = [self.cost, self.warm_pool_cost];
        parts.into_iter().flatten().map(Money::amount).reduce(|left, right| left + right)
    }
}

/// Jobs with what they cost, the most expensive first; what has no price is a gap.
pub(super) fn listed_jobs<'a>(
    jobs: &'a [TrainingJob],
    prices: &Prices<'_>,
    gaps: &mut Vec<Gap>,
) -> Vec<ListedJob<'a>> {
    let mut rows: Vec<ListedJob<'a>> =
        jobs.iter().map(|job| listed_job(job, prices, gaps)).collect();
    rows.sort_by_key(|row| {
        let job = row.job;
        (Reverse(row.total()), &job.account, &job.region, &job.name)
    });
    rows
}

fn listed_job<'a>(job: &'a TrainingJob, prices: &Prices<'_>, gaps: &mut Vec<Gap>) -> ListedJob<'a> {
    let mut quotes: Vec<PriceQuote> = Vec::new();
    let mut is_unpriced = false;
    for key in job.price_keys() {
        match prices.get(&key) {
            Ok(quote) => quotes.push(quote),
            Err(NoPrice(key)) => {
                is_unpriced = true;
                // One for the type: a region may have hundreds of jobs.
                let cause = Cause::of(CauseKind::NoOwnPrice, [&key.to_string(), ""]);
                gaps.push(Gap::of(GapSubject::Price, job.region.as_str(), cause));
            }
        }
    }
    let rates: Vec<HourlyRate> = quotes.iter().map(|quote| quote.rate).collect();
    let cost = |seconds: Option<u32>| job.cost(seconds?, &rates);
    ListedJob {
        job,
        cost: cost(job.billable_seconds),
        warm_pool_cost: cost(job.warm_pool_seconds),
        is_unpriced,
        seen_on: quotes.iter().map(|quote| quote.seen_on).min(),
    }
}

/// The hours of a machine of an estate, and the window that they fill; `None` of an unknown
/// machine.
pub fn machine_hours(estate: &Estate, machine: &ResourceId) -> Option<(MachineHours, Window)> {
    let instance = estate.instances.iter().find(|instance| instance.id == *machine)?;
    let shape = instance_shape(estate, &instance.instance_type);
    let offer = shape.and_then(|shape| shape.gpu.as_ref());
    let grid = (estate.window, estate.period_seconds);
    let hours = estate.measured().of(machine).hour_means(instance, offer, grid);
    Some((hours, whole_hours(grid.0, grid.1)))
}

/// A variant of an endpoint with what of its GPUs is reserved.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedHost<'a> {
    pub host: &'a ComponentHost,
    /// Its instances, ascending.
    pub instances: Vec<&'a ResourceId>,
    /// GPUs of its instances; absent where the specification of one is not known.
    pub gpus: Option<Decimal>,
    /// Those that components reserve; absent where that is not known of one.
    pub reserved: Option<Decimal>,
    /// What the others cost per hour, rounded; absent where either is not known, and without a
    /// price of each instance.
    pub unreserved_hourly: Option<Money>,
}

impl<'a> ListedHost<'a> {
    fn of(host: &'a ComponentHost, listed: &[ListedInstance<'a>]) -> Self {
        let mut by_type: BTreeMap<&str, Vec<&ListedInstance<'a>>> = BTreeMap::new();
        let mut instances = Vec::new();
        for own in listed.iter().filter(|listed| host.has(listed.instance)) {
            instances.push(&own.instance.id);
            by_type.entry(own.instance.instance_type.as_str()).or_default().push(own);
        }
        instances.sort();
        let types = by_type.into_iter().map(|(name, own)| {
            let gpus = own.iter().map(|one| Some(one.shape?.gpu.as_ref()?.share.count())).sum();
            let hourly = sum(own.iter().map(|one| one.hourly.map(HourlyRate::an_hour)));
            let reserved = host.reserved_gpus(name);
            (gpus, reserved, unreserved_hourly(gpus, reserved, hourly))
        });
        let types: Vec<_> = types.collect();
        Self {
            host,
            instances,
            gpus: types.iter().map(|(gpus, ..)| *gpus).sum(),
            reserved: types.iter().map(|(_, reserved, _)| *reserved).sum(),
            unreserved_hourly: sum(types.iter().map(|(.., hourly)| *hourly)).map(Money::rounded),
        }
    }

    /// GPUs that no component reserves.
    pub fn unreserved(&self) -> Option<Decimal> {
        Some((self.gpus? - self.reserved?).max(Decimal::ZERO))
    }
}

/// What GPUs that are not reserved of instances of one type cost per hour, unrounded.
fn unreserved_hourly(
    gpus: Option<Decimal>,
    reserved: Option<Decimal>,
    hourly: Option<Money>,
) -> Option<Money> {
    let gpus = gpus.filter(|gpus| !gpus.is_zero())?;
    let (free, hourly) = ((gpus - reserved?).max(Decimal::ZERO), hourly?);
    let cost = hourly.amount().checked_mul(free)?.checked_div(gpus)?;
    Some(Money::new(cost, hourly.currency()))
}

/// Amounts together; absent without any, where one is, and in several currencies.
pub(super) fn sum(mut amounts: impl Iterator<Item = Option<Money>>) -> Option<Money> {
    let first = amounts.next()??;
    amounts.try_fold(first, |sum, amount| sum.checked_add(amount?).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::shape;
    use crate::domain::{Copies, Currency, InferenceComponent, Provider};
    use jiff::Timestamp;

    const GROUP: &str = "endpoint/chat/main";

    /// An instance of an endpoint with a type of EC2 inside.
    fn instance(index: u32, instance_type: &str) -> Instance {
        let mut instance = Instance::sample("i-1", instance_type, Timestamp::UNIX_EPOCH);
        let native = format!("{GROUP}/{index}");
        instance.id = ResourceId::new(Provider::SageMaker, "111122223333", "us-east-1", &native);
        instance.auto_scaling_group = Some(GROUP.to_owned());
        instance
    }

    fn listed<'a>(instance: &'a Instance, hourly: Option<&str>) -> ListedInstance<'a> {
        let rate = hourly.map(|text| text.parse().expect("a decimal"));
        ListedInstance {
            instance,
            shape: shape(&instance.instance_type),
            purchase_option: PurchaseOption::OnDemand,
            quote: None,
            hourly: rate.and_then(|rate| HourlyRate::new(rate, Currency::Usd)),
            idle_storage: None,
        }
    }

    fn host(copies: &[(&str, u32, Option<i64>)]) -> ComponentHost {
        let copies = copies.iter().map(|(name, count, gpus)| Copies {
            instance_type: Some((*name).to_owned()),
            count: *count,
            gpus_each: gpus.map(Decimal::from),
        });
        ComponentHost {
            account: "111122223333".to_owned(),
            region: "us-east-1".to_owned(),
            group: GROUP.to_owned(),
            components: vec![InferenceComponent {
                name: "llama".to_owned(),
                desired_copies: None,
                copies: copies.collect(),
            }],
        }
    }

    fn figures(listed: &ListedHost<'_>) -> [Option<String>; 4] {
        let text = |gpus: Option<Decimal>| gpus.map(|gpus| gpus.normalize().to_string());
        [
            text(listed.gpus),
            text(listed.reserved),
            text(listed.unreserved()),
            listed.unreserved_hourly.map(|cost| cost.to_string()),
        ]
    }

    #[test]
    fn what_is_not_reserved_costs_its_share_of_each_type() {
        let instances =
            [instance(0, "g5.12xlarge"), instance(1, "g5.xlarge"), instance(2, "g5.xlarge")];
        let rows = |last: Option<&'static str>| {
            [
                listed(&instances[0], Some("7")),
                listed(&instances[1], Some("1.4")),
                listed(&instances[2], last),
            ]
        };
        let some = |texts: [&str; 4]| texts.map(|text| Some(text.to_owned()));
        let reserved_host = host(&[("g5.12xlarge", 1, Some(1)), ("g5.xlarge", 1, Some(1))]);
        // 3 of 4 GPUs at 7, and 1 of 2 at 2.80: 5.25 + 1.40.
        let priced = rows(Some("1.4"));
        let row = ListedHost::of(&reserved_host, &priced);
        assert_eq!(figures(&row), some(["6", "2", "4", "$6.65"]));
        assert_eq!(row.instances.len(), 3);
        // One that has no price hides what all cost, and no number of GPUs.
        let unpriced = rows(None);
        let [.., cost] = figures(&ListedHost::of(&reserved_host, &unpriced));
        assert_eq!(cost, None);
        // A part of a GPU is not known.
        let part = host(&[("g5.12xlarge", 1, None), ("g5.xlarge", 1, Some(1))]);
        let expected = [Some("6".to_owned()), None, None, None];
        assert_eq!(figures(&ListedHost::of(&part, &priced)), expected);
        // Nothing is reserved: 7 + 2.80.
        let empty = host(&[]);
        let row = ListedHost::of(&empty, &priced);
        assert_eq!(figures(&row), some(["6", "0", "6", "$9.80"]));
    }
}
