//! Fleets: a capacity, and launch templates with types that may make it up.

use super::document::Change;
use super::instances::{
    Found, Override, bought, instances_for, over, overrides, tenancy_of, types_of,
};
use super::templates::{Launched, Templates};
use super::view::View;
use crate::domain::{Missing, Planned, PlannedCount};

pub(super) fn spot_fleet(change: &Change, view: &View<'_>, templates: &Templates<'_>) -> Found {
    let capacity = needed(view, "target_capacity");
    let split = |size: u64| Ok(bought(Some("spot"), size));
    let direct = overrides(view, "launch_specification");
    of_fleet(
        change,
        view,
        templates,
        direct,
        "overrides",
        (capacity, split),
    )
}

pub(super) fn fleet(change: &Change, view: &View<'_>, templates: &Templates<'_>) -> Found {
    let target = view.block("target_capacity_specification");
    let target = target.and_then(|target| {
        target.ok_or_else(|| Missing::Elsewhere("the plan says no capacity".to_owned()))
    });
    let capacity = match &target {
        Ok(target) => needed(target, "total_target_capacity"),
        Err(missing) => Err(missing.clone()),
    };
    let split = move |size: u64| {
        let target = target?;
        let part = |key: &str| target.whole(key).map(|part| part.unwrap_or(0));
        let (on_demand, spot) = (
            part("on_demand_target_capacity")?,
            part("spot_target_capacity")?,
        );
        let rest = size.saturating_sub(on_demand).saturating_sub(spot);
        let is_spot = target.text("default_target_capacity_type")? == Some("spot");
        Ok(PlannedCount {
            on_demand: on_demand + if is_spot { 0 } else { rest },
            spot: spot + if is_spot { rest } else { 0 },
            capacity_block: 0,
        })
    };
    of_fleet(
        change,
        view,
        templates,
        Ok(Vec::new()),
        "override",
        (capacity, split),
    )
}

fn needed(view: &View<'_>, key: &str) -> Planned<u64> {
    let unsaid = || Missing::Elsewhere(format!("the plan says no {key}"));
    view.whole(key)?.ok_or_else(unsaid)
}

fn of_fleet(
    change: &Change,
    view: &View<'_>,
    templates: &Templates<'_>,
    direct: Planned<Vec<Override>>,
    key: &str,
    (capacity, split): (Planned<u64>, impl FnOnce(u64) -> Planned<PlannedCount>),
) -> Found {
    let found = (|| {
        let mut each = Launched::default();
        let mut all = direct?;
        for configured in view.blocks("launch_template_config")? {
            let template =
                templates.of_block(change, &configured, "launch_template_specification")?;
            let template = template.unwrap_or_default();
            let mut own = overrides(&configured, key)?;
            if own.is_empty() {
                own.push(Override {
                    instance_type: None,
                    weight: None,
                });
            }
            for one in &mut own {
                one.instance_type = one.instance_type.take().or(template.instance_type.clone());
            }
            all.extend(own);
            each = over(template, Some(each));
        }
        Ok((each, all))
    })();
    let (each, overrides) = match found {
        Ok(found) => found,
        Err(missing) => return Found::unknown(&missing, Err(missing.clone()), None),
    };
    let are_weighted = overrides
        .iter()
        .any(|one| one.weight.is_some_and(|weight| weight > 1));
    let count = capacity.and_then(|capacity| {
        let size = instances_for(capacity, &overrides)?;
        if are_weighted && size != capacity {
            // Parts of a weighted capacity do not say which are how many instances.
            let whole = split(capacity)?;
            return match (whole.on_demand, whole.spot) {
                (0, _) => Ok(bought(Some("spot"), size)),
                (_, 0) => Ok(bought(None, size)),
                _ => Err(Missing::Elsewhere(
                    "its capacity is weighted and divided between on-demand and spot".to_owned(),
                )),
            };
        }
        split(size)
    });
    Found {
        types: types_of(&overrides, None),
        count,
        most: None,
        tenancy: Ok(tenancy_of(&each)),
        each,
    }
}
