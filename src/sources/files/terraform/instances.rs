//! The instances of each sort of resource.

use super::document::Change;
use super::fleets::{fleet, spot_fleet};
use super::sieve::Node;
use super::templates::{Launched, Templates, launched, propagated_tags};
use super::view::View;
use crate::domain::{Missing, OperatingSystem, Planned, PlannedCount, PlannedInstances, Tenancy};

/// What a resource of some sort says, before place and system are known.
pub(super) struct Found {
    pub(super) types: Planned<Vec<String>>,
    pub(super) count: Planned<PlannedCount>,
    pub(super) most: Option<u64>,
    pub(super) each: Launched,
    pub(super) tenancy: Planned<Tenancy>,
}

/// The instances of a resource on one side of a plan; absent when it is not
/// there on that side. Where they run is settled by `place`.
pub(super) fn instances(
    change: &Change,
    templates: &Templates<'_>,
    region: impl FnOnce(&View<'_>) -> Planned<String>,
) -> Option<PlannedInstances> {
    let view = templates.view(change)?;
    let found = match change.resource_type.as_str() {
        "aws_autoscaling_group" => group(change, &view, templates),
        "aws_eks_node_group" => node_group(change, &view, templates),
        "aws_spot_fleet_request" => spot_fleet(change, &view, templates),
        "aws_ec2_fleet" => fleet(change, &view, templates),
        _ => single(change, &view, templates),
    };
    let mut tags = found.each.tags;
    let mut more_tags = found.each.more_tags;
    if change.resource_type == "aws_autoscaling_group" {
        more_tags |= propagated_tags(&view, &mut tags).is_err();
    } else {
        view.tags(&mut tags);
        more_tags |= view.has_open_tags();
    }
    Some(PlannedInstances {
        types: found.types,
        count: found.count,
        most: found.most,
        region: region(&view),
        zone: view
            .values
            .get("availability_zone")
            .text()
            .map(str::to_owned),
        account: account(&view),
        operating_system: system(&view),
        tenancy: found.tenancy,
        tags,
        more_tags,
    })
}

fn account(view: &View<'_>) -> Option<String> {
    let arn = view.values.get("arn").text()?;
    let account = arn.split(':').nth(4)?;
    (!account.is_empty()).then(|| account.to_owned())
}

/// Only node groups name a system.
fn system(view: &View<'_>) -> OperatingSystem {
    match view.values.get("ami_type").text() {
        Some(image) if image.starts_with("WINDOWS") => OperatingSystem::Windows,
        _ => OperatingSystem::Linux,
    }
}

pub(super) fn tenancy_of(each: &Launched) -> Tenancy {
    each.tenancy.unwrap_or(Tenancy::Shared)
}

/// One type, which must be said.
pub(super) fn one_type(name: Option<String>) -> Planned<Vec<String>> {
    name.map(|name| vec![name])
        .ok_or_else(|| Missing::Elsewhere("the plan names no instance type".to_owned()))
}

pub(super) fn bought(market: Option<&str>, count: u64) -> PlannedCount {
    let none = PlannedCount::default();
    match market {
        Some("spot") => PlannedCount {
            spot: count,
            ..none
        },
        Some("capacity-block") => PlannedCount {
            capacity_block: count,
            ..none
        },
        _ => PlannedCount {
            on_demand: count,
            ..none
        },
    }
}

impl Found {
    /// Nothing but why nothing is known.
    pub(super) fn unknown(
        missing: &Missing,
        count: Planned<PlannedCount>,
        most: Option<u64>,
    ) -> Self {
        Self {
            types: Err(missing.clone()),
            count,
            most,
            each: Launched {
                more_tags: true,
                ..Launched::default()
            },
            tenancy: Ok(Tenancy::Shared),
        }
    }
}

/// What is written on the resource goes before what its template says.
pub(super) fn over(own: Launched, template: Option<Launched>) -> Launched {
    let Some(template) = template else {
        return own;
    };
    let mut tags = template.tags;
    tags.extend(own.tags);
    Launched {
        instance_type: own.instance_type.or(template.instance_type),
        market: own.market.or(template.market),
        tenancy: own.tenancy.or(template.tenancy),
        tags,
        more_tags: own.more_tags || template.more_tags,
    }
}

fn single(change: &Change, view: &View<'_>, templates: &Templates<'_>) -> Found {
    let each = launched(view).and_then(|own| {
        match templates.of_block(change, view, "launch_template") {
            Ok(template) => Ok(over(own, template)),
            // What the template would add cannot be seen; its type is not needed.
            Err(_) if own.instance_type.is_some() => Ok(Launched {
                more_tags: true,
                ..own
            }),
            Err(missing) => Err(missing),
        }
    });
    let is_spot = change.resource_type == "aws_spot_instance_request";
    match each {
        Err(missing) => Found::unknown(&missing, Ok(bought(is_spot.then_some("spot"), 1)), None),
        Ok(each) => {
            let market = if is_spot {
                Some("spot")
            } else {
                each.market.as_deref()
            };
            Found {
                types: one_type(each.instance_type.clone()),
                count: Ok(bought(market, 1)),
                most: None,
                tenancy: Ok(tenancy_of(&each)),
                each,
            }
        }
    }
}

/// An Auto Scaling group without a wish starts with its minimum.
fn group_size(view: &View<'_>) -> Planned<u64> {
    match view.whole("desired_capacity")? {
        Some(desired) => Ok(desired),
        None => view.whole("min_size")?.ok_or_else(|| {
            Missing::Elsewhere("the plan says neither desired_capacity nor min_size".to_owned())
        }),
    }
}

fn most(view: &View<'_>) -> Option<u64> {
    view.whole("max_size").ok().flatten()
}

fn group(change: &Change, view: &View<'_>, templates: &Templates<'_>) -> Found {
    let (size, most) = (group_size(view), most(view));
    let mixed = match view.block("mixed_instances_policy") {
        Ok(mixed) => mixed,
        Err(missing) => return Found::unknown(&missing, Err(missing.clone()), most),
    };
    if let Some(mixed) = mixed {
        return mixed_group(change, &mixed, templates, size, most);
    }
    let each = templates
        .of_block(change, view, "launch_template")
        .and_then(|each| match each {
            Some(each) => Ok(Some(each)),
            None => templates.of_configuration(change, view),
        });
    group_of(each, size, most)
}

fn group_of(each: Planned<Option<Launched>>, size: Planned<u64>, most: Option<u64>) -> Found {
    match each {
        Err(missing) => Found::unknown(&missing, size.map(|size| bought(None, size)), most),
        Ok(each) => {
            let each = each.unwrap_or_default();
            Found {
                types: one_type(each.instance_type.clone()),
                count: size.map(|size| bought(each.market.as_deref(), size)),
                most,
                tenancy: Ok(tenancy_of(&each)),
                each,
            }
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
    let found = (|| {
        let Some(block) = mixed.block("launch_template")? else {
            return Ok((Launched::default(), Vec::new()));
        };
        let each = templates.of_block(change, &block, "launch_template_specification")?;
        let overrides = overrides(&block, "override")?;
        Ok((each.unwrap_or_default(), overrides))
    })();
    let (each, overrides) = match found {
        Ok(found) => found,
        Err(missing) => return Found::unknown(&missing, Err(missing.clone()), most),
    };
    let types = types_of(&overrides, each.instance_type.clone());
    let split = size.and_then(|size| {
        let size = instances_for(size, &overrides)?;
        distribution(mixed, size)
    });
    Found {
        types,
        count: split,
        most,
        tenancy: Ok(tenancy_of(&each)),
        each,
    }
}

/// A type that a group may launch, and how much of its capacity one counts for.
pub(super) struct Override {
    pub(super) instance_type: Option<String>,
    pub(super) weight: Option<u64>,
}

pub(super) fn overrides(view: &View<'_>, key: &str) -> Planned<Vec<Override>> {
    let read = |one: View<'_>| {
        if one.get("instance_requirements")?.is_some() {
            return Err(Missing::Elsewhere(
                "its type is chosen by requirements while instances start".to_owned(),
            ));
        }
        Ok(Override {
            instance_type: one.text("instance_type")?.map(str::to_owned),
            weight: one.whole("weighted_capacity")?,
        })
    };
    view.blocks(key)?.into_iter().map(read).collect()
}

/// The types of overrides, each once, else that of the template.
pub(super) fn types_of(overrides: &[Override], template: Option<String>) -> Planned<Vec<String>> {
    let mut types: Vec<String> = Vec::new();
    for one in overrides {
        if let Some(name) = one.instance_type.as_ref().or(template.as_ref())
            && !types.contains(name)
        {
            types.push(name.clone());
        }
    }
    if types.is_empty() {
        return one_type(template);
    }
    Ok(types)
}

/// How many instances make up a capacity.
pub(super) fn instances_for(capacity: u64, overrides: &[Override]) -> Planned<u64> {
    let mut weights = overrides.iter().map(|one| one.weight.unwrap_or(1).max(1));
    let first = weights.next().unwrap_or(1);
    if weights.all(|weight| weight == first) {
        Ok(capacity.div_ceil(first))
    } else {
        Err(Missing::Elsewhere(
            "its types count differently towards its capacity".to_owned(),
        ))
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
    Ok(PlannedCount {
        on_demand,
        spot: size - on_demand,
        capacity_block: 0,
    })
}

fn node_group(change: &Change, view: &View<'_>, templates: &Templates<'_>) -> Found {
    let scaling = view.block("scaling_config");
    let size = match &scaling {
        Err(missing) => Err(missing.clone()),
        Ok(scaling) => {
            let desired = scaling.map_or(Ok(None), |scaling| scaling.whole("desired_size"));
            desired.and_then(|desired| {
                let unsaid = || Missing::Elsewhere("the plan says no desired_size".to_owned());
                desired.ok_or_else(unsaid)
            })
        }
    };
    let most = scaling.ok().flatten().and_then(|scaling| most(&scaling));
    let market = match view.text("capacity_type") {
        Ok(Some("SPOT")) => Some("spot"),
        Ok(Some("CAPACITY_BLOCK")) => Some("capacity-block"),
        Ok(_) => None,
        Err(missing) => return Found::unknown(&missing, Err(missing.clone()), most),
    };
    let named = match view.get("instance_types") {
        Err(missing) => {
            return Found::unknown(&missing, size.map(|size| bought(market, size)), most);
        }
        Ok(list) => list.map_or(&[][..], Node::elements),
    };
    let named: Vec<String> = named
        .iter()
        .filter_map(|name| Some(name.text()?.to_owned()))
        .collect();
    let template = templates.of_block(change, view, "launch_template");
    let mut found = group_of(template, size.clone(), most);
    found.count = size.map(|size| bought(market, size));
    if !named.is_empty() {
        found.types = Ok(named);
    }
    found
}
