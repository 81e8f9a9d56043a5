//! What resources say of their instances: types, number and market, before place and
//! system are known.

use super::templates::{Launched, instance_type, or};
use super::view::View;
use crate::domain::{Missing, Planned, PlannedCount};

/// What a resource of some sort says, before place and system are known.
pub(super) struct Found {
    pub(super) types: Types,
    pub(super) count: Planned<u64>,
    pub(super) payment: Planned<PlannedCount>,
    pub(super) most: Option<u64>,
    pub(super) each: Launched,
    /// What a service bills at prices of its own; see [`crate::domain::PlannedInstances`].
    pub(super) service: Option<&'static str>,
}

/// The types that a resource may run, and why there may be more.
pub(super) struct Types {
    pub(super) names: Vec<String>,
    pub(super) more: Option<Missing>,
}

impl Types {
    /// Those that are named, each once; one must be.
    pub(super) fn of(named: impl IntoIterator<Item = Planned<Option<String>>>) -> Self {
        let (mut names, mut more) = (Vec::new(), None);
        for name in named {
            match name {
                Ok(Some(name)) if !names.contains(&name) => names.push(name),
                Ok(_) => {}
                Err(missing) => more = more.or(Some(missing)),
            }
        }
        if names.is_empty() && more.is_none() {
            more = Some(Missing::unspecified("an instance type"));
        }
        Self { names, more }
    }
}

/// So many instances, all bought in one market.
pub(super) fn all_bought(
    market: Planned<Option<String>>,
    count: &Planned<u64>,
) -> Planned<PlannedCount> {
    Ok(bought(market?.as_deref(), count.clone()?))
}

pub(super) fn bought(market: Option<&str>, count: u64) -> PlannedCount {
    let none = PlannedCount::default();
    match market {
        Some("spot") => PlannedCount { spot: count, ..none },
        Some("capacity-block") => PlannedCount { capacity_block: count, ..none },
        _ => PlannedCount { on_demand: count, ..none },
    }
}

impl Found {
    /// So many of what a template says, bought in the market that it says.
    pub(super) fn of(each: Launched, count: Planned<u64>, most: Option<u64>) -> Self {
        Self {
            types: Types::of([each.instance_type.clone()]),
            payment: all_bought(each.market.clone(), &count),
            count,
            most,
            each,
            service: None,
        }
    }

    /// Some of a type that cannot be seen.
    pub(super) fn unseen(missing: Missing, most: Option<u64>) -> Self {
        Self::of(Launched::unseen(&missing), Err(missing), most)
    }
}

/// A type that a group may launch, and how much of its capacity one counts for.
pub(super) struct Override {
    pub(super) instance_type: Planned<Option<String>>,
    pub(super) weight: Planned<Option<u64>>,
}

/// The overrides in blocks of a name; where these are not known, one of which
/// nothing is.
pub(super) fn overrides(view: &View<'_>, key: &str) -> Vec<Override> {
    let read = |block: View<'_>| Override {
        instance_type: instance_type(&block),
        weight: block.whole("weighted_capacity"),
    };
    match view.blocks(key) {
        Ok(blocks) => blocks.into_iter().map(read).collect(),
        Err(missing) => {
            vec![Override { instance_type: Err(missing.clone()), weight: Err(missing) }]
        }
    }
}

/// The types of overrides; where one names none, that of the template.
pub(super) fn types_of(overrides: &[Override], template: &Planned<Option<String>>) -> Types {
    let own = overrides.iter().map(|entry| &entry.instance_type);
    let of_template = overrides.is_empty().then(|| template.clone());
    Types::of(own.map(|name| or(name.clone(), template.clone())).chain(of_template))
}

/// How many instances make up a capacity.
pub(super) fn instances_for(capacity: u64, overrides: &[Override]) -> Planned<u64> {
    let mut first = None;
    for entry in overrides {
        let weight = entry.weight.clone()?.unwrap_or(1).max(1);
        if *first.get_or_insert(weight) != weight {
            return Err(Missing::elsewhere("its instance types have different capacity weights"));
        }
    }
    Ok(capacity.div_ceil(first.unwrap_or(1)))
}
