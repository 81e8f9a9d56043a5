//! The instances of each sort of resource. A fleet is a capacity, and launch templates with types
//! that may make it up.

use super::document::Change;
use super::parts::{Part, endpoint, machines, unsupported};
use super::sieve::Node;
use super::templates::{
    Found, Launched, Override, Templates, Types, bought, instances_for, launched, or, overrides,
    propagated_tags, types_of,
};
use super::view::View;
use crate::domain::{Missing, OperatingSystem, Planned, PlannedCount, PlannedInstances, Tenancy};

/// The instances of a part of a resource on one side of a plan; absent when it is not
/// there on that side. Where they run is settled by `region`.
pub(super) fn instances(
    change: &Change,
    part: Part,
    templates: &Templates<'_>,
    region: impl FnOnce(&View<'_>) -> Planned<String>,
) -> Option<PlannedInstances> {
    let view = templates.view(change)?;
    let machines = match part {
        Part::Block(kind, place) => machines(kind, place, &view)?,
        Part::Endpoint => endpoint(change, &view, templates)?,
        Part::Unsupported => unsupported(change, templates)?,
        Part::Whole => launched_by(change, &view, templates),
    };
    let mut tags = machines.each.tags;
    let mut more_tags = machines.each.more_tags;
    if change.resource_type == "aws_autoscaling_group" {
        more_tags |= propagated_tags(&view, &mut tags).is_err();
    } else {
        view.tags(&mut tags);
        more_tags |= view.has_open_tags();
    }
    Some(PlannedInstances {
        types: machines.types.names,
        more_types: machines.types.more,
        count: machines.count,
        payment: machines.payment,
        most: machines.most,
        region: region(&view),
        zone: view.values.get("availability_zone").text().map(str::to_owned),
        account: account(&view),
        operating_system: system(&view),
        tenancy: machines.each.tenancy.map(|said| said.unwrap_or(Tenancy::Shared)),
        assumed: machines.each.assumed.or_else(|| view.assumed()),
        service: machines.service.map(str::to_owned),
        tags,
        more_tags,
    })
}

/// What a resource launches that runs instances of EC2 itself.
fn launched_by(change: &Change, view: &View<'_>, templates: &Templates<'_>) -> Found {
    match change.resource_type.as_str() {
        "aws_autoscaling_group" => group(change, view, templates),
        "aws_eks_node_group" => node_group(change, view, templates),
        "aws_spot_fleet_request" => spot_fleet(change, view, templates),
        "aws_ec2_fleet" => fleet(change, view, templates),
        _ => single(change, view, templates),
    }
}

fn account(view: &View<'_>) -> Option<String> {
    let account = view.values.get("arn").text()?.split(':').nth(4)?;
    (!account.is_empty()).then(|| account.to_owned())
}

/// Only node groups and reservations name a system.
fn system(view: &View<'_>) -> Planned<OperatingSystem> {
    if let Some(platform) = view.text("instance_platform")? {
        return Ok(OperatingSystem::from_ec2(None, Some(platform), None));
    }
    Ok(match view.text("ami_type")? {
        Some(image) if image.starts_with("WINDOWS") => OperatingSystem::Windows,
        _ => OperatingSystem::Linux,
    })
}

fn single(change: &Change, view: &View<'_>, templates: &Templates<'_>) -> Found {
    let template = templates.of_block(change, view, "launch_template");
    let mut each = launched(view).over(template.unwrap_or_default());
    if change.resource_type == "aws_spot_instance_request" {
        each.market = Ok(Some("spot".to_owned()));
    }
    Found::of(each, Ok(1), None)
}

/// An Auto Scaling group has its minimum at least, also where the plan repeats the smaller
/// number that it has today.
fn group_size(view: &View<'_>) -> Planned<u64> {
    let desired = view.whole("desired_capacity")?;
    let least = match desired {
        Some(_) => view.whole("min_size").ok().flatten(),
        None => view.whole("min_size")?,
    };
    desired.max(least).ok_or_else(|| {
        Missing::elsewhere("the plan specifies neither desired_capacity nor min_size")
    })
}

fn most(view: &View<'_>) -> Option<u64> {
    view.whole("max_size").ok().flatten()
}

/// Instances that run in the warm pool of a group beside its own: up to the maximum that it
/// prepares for, which is that of the group without one, and its minimum at least (PutWarmPool in
/// the API reference of EC2 Auto Scaling). Others are stopped.
fn warm(view: &View<'_>, size: u64) -> Planned<u64> {
    let Some(pool) = view.block("warm_pool")? else { return Ok(0) };
    if pool.text("pool_state")? != Some("Running") {
        return Ok(0);
    }
    let prepared = pool.whole("max_group_prepared_capacity").ok().flatten().or(most(view));
    let least = pool.whole("min_size")?.unwrap_or(0);
    Ok(prepared.unwrap_or(0).saturating_sub(size).max(least))
}

fn group(change: &Change, view: &View<'_>, templates: &Templates<'_>) -> Found {
    let size = group_size(view).and_then(|size| Ok(size + warm(view, size)?));
    let most = most(view);
    match view.block("mixed_instances_policy") {
        Err(missing) => Found::unseen(missing, most),
        Ok(Some(mixed)) => mixed_group(change, &mixed, templates, size, most),
        Ok(None) => {
            let each = templates
                .of_block(change, view, "launch_template")
                .unwrap_or_else(|| templates.of_configuration(change, view));
            Found::of(each, size, most)
        }
    }
}

fn mixed_group(
    change: &Change,
    mixed: &View<'_>,
    templates: &Templates<'_>,
    size: Planned<u64>,
    most: Option<u64>,
) -> Found {
    let (each, overrides) = match mixed.block("launch_template") {
        Err(missing) => return Found::unseen(missing, most),
        Ok(None) => (None, Vec::new()),
        Ok(Some(block)) => (
            templates.of_block(change, &block, "launch_template_specification"),
            overrides(&block, "override"),
        ),
    };
    let mut each = each.unwrap_or_default();
    let distribution_block = mixed.block("instances_distribution").ok().flatten();
    each.assumed =
        each.assumed.or_else(|| mixed.assumed()).or_else(|| distribution_block?.assumed());
    let count = size.and_then(|size| instances_for(size, &overrides));
    Found {
        types: types_of(&overrides, &each.instance_type),
        payment: count.clone().and_then(|size| distribution(mixed, size)),
        ..Found::of(each, count, most)
    }
}

/// On-demand first, then so many percent of the rest, rounded up.
fn distribution(mixed: &View<'_>, size: u64) -> Planned<PlannedCount> {
    let distribution = mixed.block("instances_distribution")?;
    let figure = |key: &str, usual: u64| match &distribution {
        None => Ok(usual),
        Some(distribution) => Ok(distribution.whole(key)?.unwrap_or(usual)),
    };
    let base = figure("on_demand_base_capacity", 0)?.min(size);
    let percent = figure("on_demand_percentage_above_base_capacity", 100)?.min(100);
    let on_demand = base + ((size - base) * percent).div_ceil(100);
    Ok(PlannedCount { on_demand, spot: size - on_demand, capacity_block: 0 })
}

/// What a node group runs on where neither it nor its template says a type: CreateNodegroup in the
/// API reference of Amazon EKS.
const NODE_TYPE: &str = "t3.medium";

fn node_group(change: &Change, view: &View<'_>, templates: &Templates<'_>) -> Found {
    let scaling = view.block("scaling_config");
    let size = match &scaling {
        Err(missing) => Err(missing.clone()),
        Ok(scaling) => {
            let desired = scaling.map_or(Ok(None), |scaling| scaling.whole("desired_size"));
            let least = scaling.and_then(|scaling| scaling.whole("min_size").ok().flatten());
            desired.and_then(|desired| {
                let unsaid = || Missing::unspecified("desired_size");
                Ok(desired.ok_or_else(unsaid)?.max(least.unwrap_or(0)))
            })
        }
    };
    let most = scaling.ok().flatten().and_then(|scaling| most(&scaling));
    let template = templates.of_block(change, view, "launch_template");
    let each = Launched {
        market: view.text("capacity_type").map(|said| match said {
            Some("SPOT") => Some("spot".to_owned()),
            Some("CAPACITY_BLOCK") => Some("capacity-block".to_owned()),
            _ => None,
        }),
        ..template.unwrap_or_default()
    };
    let named = view.get("instance_types");
    let is_silent = each.instance_type == Ok(None);
    let mut group = Found::of(each, size, most);
    match named {
        Ok(None) if is_silent => group.types = Types::of([Ok(Some(NODE_TYPE.to_owned()))]),
        Ok(None) => {}
        Ok(Some(list)) => {
            // One that is known only after apply is there without a value.
            let named = |node: &Node| Ok(Some(node.text().ok_or(Missing::AfterApply)?.to_owned()));
            group.types = Types::of(list.elements().iter().map(named));
        }
        Err(missing) => group.types = Types::of([Err(missing)]),
    }
    group
}

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
    let target = target.and_then(|target| target.ok_or_else(|| Missing::unspecified("a capacity")));
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
    view.whole(key)?.ok_or_else(|| Missing::unspecified(key))
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
        Err(missing) => return Found::unseen(missing, None),
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
        payment,
        ..Found::of(each, count, None)
    }
}

/// Parts of a weighted capacity do not say which are how many instances.
fn weighted(units: PlannedCount, size: u64) -> Planned<PlannedCount> {
    match (units.on_demand, units.spot) {
        (0, _) => Ok(bought(Some("spot"), size)),
        (_, 0) => Ok(bought(None, size)),
        _ => {
            Err(Missing::elsewhere("its capacity is weighted and split between on-demand and spot"))
        }
    }
}
