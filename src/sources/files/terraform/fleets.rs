//! Fleets: a capacity, and launch templates with types that may make it up.

use super::document::Change;
use super::found::{Found, Override, Types, bought, instances_for, overrides};
use super::templates::{Launched, Templates, or};
use super::view::View;
use crate::domain::{Missing, Planned, PlannedCount};

pub(super) fn spot_fleet(change: &Change, view: &View<'_>, templates: &Templates<'_>) -> Found {
    let capacity = needed(view, "target_capacity");
    let split = |size: u64| {
        let on_demand = view.whole("on_demand_target_capacity")?.unwrap_or(0).min(size);
        Ok(PlannedCount { on_demand, spot: size - on_demand, capacity_block: 0 })
    };
    let direct = overrides(view, "launch_specification");
    of_fleet(change, view, templates, direct, "overrides", (capacity, split))
}

pub(super) fn fleet(change: &Change, view: &View<'_>, templates: &Templates<'_>) -> Found {
    let target = view.block("target_capacity_specification");
    let target = target.and_then(|target| {
        target.ok_or_else(|| Missing::Elsewhere("the plan does not specify a capacity".to_owned()))
    });
    let capacity = match &target {
        Ok(target) => needed(target, "total_target_capacity"),
        Err(missing) => Err(missing.clone()),
    };
    let split = move |size: u64| {
        let target = target?;
        let part = |key: &str| target.whole(key).map(|part| part.unwrap_or(0));
        let (on_demand, spot) = (part("on_demand_target_capacity")?, part("spot_target_capacity")?);
        let rest = size.saturating_sub(on_demand).saturating_sub(spot);
        let is_spot = target.text("default_target_capacity_type")? == Some("spot");
        Ok(PlannedCount {
            on_demand: on_demand + if is_spot { 0 } else { rest },
            spot: spot + if is_spot { rest } else { 0 },
            capacity_block: 0,
        })
    };
    of_fleet(change, view, templates, Vec::new(), "override", (capacity, split))
}

fn needed(view: &View<'_>, key: &str) -> Planned<u64> {
    let unsaid = || Missing::Elsewhere(format!("the plan does not specify {key}"));
    view.whole(key)?.ok_or_else(unsaid)
}

fn of_fleet(
    change: &Change,
    view: &View<'_>,
    templates: &Templates<'_>,
    direct: Vec<Override>,
    key: &str,
    (capacity, split): (Planned<u64>, impl FnOnce(u64) -> Planned<PlannedCount>),
) -> Found {
    let mut each = Launched::default();
    let mut overrides = direct;
    let configured = match view.blocks("launch_template_config") {
        Ok(configured) => configured,
        Err(missing) => return Found::unseen(&missing, Err(missing.clone()), None),
    };
    for configured in configured {
        let template = templates.of_block(change, &configured, "launch_template_specification");
        let template = template.unwrap_or_default();
        let mut own = self::overrides(&configured, key);
        if own.is_empty() {
            own.push(Override { instance_type: Ok(None), weight: Ok(None) });
        }
        overrides.extend(own.into_iter().map(|entry| Override {
            instance_type: or(entry.instance_type, template.instance_type.clone()),
            ..entry
        }));
        each = template.over(each);
    }
    let (count, payment) = match capacity.and_then(|capacity| {
        let size = instances_for(capacity, &overrides)?;
        Ok((capacity, size))
    }) {
        Err(missing) => (Err(missing.clone()), Err(missing)),
        Ok((capacity, size)) if size == capacity => (Ok(size), split(size)),
        Ok((capacity, size)) => {
            let payment = split(capacity).and_then(|units| weighted(units, size));
            (payment.clone().map(PlannedCount::total), payment)
        }
    };
    Found {
        types: Types::of(overrides.into_iter().map(|entry| entry.instance_type)),
        count,
        payment,
        most: None,
        each,
        service: None,
    }
}

/// Parts of a weighted capacity do not say which are how many instances.
fn weighted(units: PlannedCount, size: u64) -> Planned<PlannedCount> {
    match (units.on_demand, units.spot) {
        (0, _) => Ok(bought(Some("spot"), size)),
        (_, 0) => Ok(bought(None, size)),
        _ => Err(Missing::Elsewhere(
            "its capacity is weighted and split between on-demand and spot".to_owned(),
        )),
    }
}
