//! What inference components reserve of the instances that they are placed on.

use crate::domain::{ComponentHost, HourlyRate, Instance, InstanceShape, Money, ResourceId};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

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

impl ListedHost<'_> {
    /// GPUs that no component reserves.
    pub fn unreserved(&self) -> Option<Decimal> {
        Some((self.gpus? - self.reserved?).max(Decimal::ZERO))
    }
}

/// An instance with what it offers and costs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Machine<'a> {
    pub instance: &'a Instance,
    pub shape: Option<&'a InstanceShape>,
    pub rate: Option<HourlyRate>,
}

impl Machine<'_> {
    fn gpus(&self) -> Option<Decimal> {
        Some(self.shape?.gpu.as_ref()?.share.count())
    }

    fn hourly(&self) -> Option<Money> {
        self.rate.map(HourlyRate::an_hour)
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

/// Hosts in their order, with what is known of their instances.
pub(super) fn listed_hosts<'a>(
    hosts: &'a [ComponentHost],
    machines: &[Machine<'a>],
) -> Vec<ListedHost<'a>> {
    hosts.iter().map(|host| listed(host, machines)).collect()
}

fn listed<'a>(host: &'a ComponentHost, machines: &[Machine<'a>]) -> ListedHost<'a> {
    let mut by_type: BTreeMap<&str, Vec<Machine<'a>>> = BTreeMap::new();
    let mut instances = Vec::new();
    for machine in machines.iter().filter(|machine| host.has(machine.instance)) {
        instances.push(&machine.instance.id);
        by_type.entry(machine.instance.instance_type.as_str()).or_default().push(*machine);
    }
    instances.sort();
    let types = by_type.into_iter().map(|(name, own)| {
        let (gpus, reserved) = (own.iter().map(Machine::gpus).sum(), host.reserved_gpus(name));
        (gpus, reserved, unreserved_hourly(gpus, reserved, sum(own.iter().map(Machine::hourly))))
    });
    let types: Vec<_> = types.collect();
    ListedHost {
        host,
        instances,
        gpus: types.iter().map(|(gpus, ..)| *gpus).sum(),
        reserved: types.iter().map(|(_, reserved, _)| *reserved).sum(),
        unreserved_hourly: sum(types.iter().map(|(.., hourly)| *hourly)).map(Money::rounded),
    }
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

    fn machine<'a>(instance: &'a Instance, hourly: Option<&str>) -> Machine<'a> {
        let rate = hourly.map(|text| text.parse().expect("a decimal"));
        Machine {
            instance,
            shape: shape(&instance.instance_type),
            rate: rate.and_then(|rate| HourlyRate::new(rate, Currency::Usd)),
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
        let machines = |last: Option<&'static str>| {
            [
                machine(&instances[0], Some("7")),
                machine(&instances[1], Some("1.4")),
                machine(&instances[2], last),
            ]
        };
        let some = |texts: [&str; 4]| texts.map(|text| Some(text.to_owned()));
        let reserved_host = host(&[("g5.12xlarge", 1, Some(1)), ("g5.xlarge", 1, Some(1))]);
        // 3 of 4 GPUs at 7, and 1 of 2 at 2.80: 5.25 + 1.40.
        let priced = machines(Some("1.4"));
        let row = listed(&reserved_host, &priced);
        assert_eq!(figures(&row), some(["6", "2", "4", "$6.65"]));
        assert_eq!(row.instances.len(), 3);
        // One that has no price hides what all cost, and no number of GPUs.
        let unpriced = machines(None);
        let [.., cost] = figures(&listed(&reserved_host, &unpriced));
        assert_eq!(cost, None);
        // A part of a GPU is not known.
        let part = host(&[("g5.12xlarge", 1, None), ("g5.xlarge", 1, Some(1))]);
        let expected = [Some("6".to_owned()), None, None, None];
        assert_eq!(figures(&listed(&part, &priced)), expected);
        // Nothing is reserved: 7 + 2.80.
        let empty = host(&[]);
        let row = listed(&empty, &priced);
        assert_eq!(figures(&row), some(["6", "0", "6", "$9.80"]));
    }
}
