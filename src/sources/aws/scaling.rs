//! Settings of the Auto Scaling groups that instances are in.

use super::pages::{PASCAL_CASE, Paging, all_pages};
use super::query::{at, members, parsed, text};
use super::session::RegionClients;
use super::signed::{Protocol, Service};
use crate::domain::{Instance, ResourceId, ScalingGroup, WarmPool};
use crate::sources::Outcome;
use roxmltree::Node;
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

pub(super) const AUTO_SCALING: Service = Service {
    signing_name: "autoscaling",
    host_prefix: "autoscaling",
    protocol: Protocol::Query("2011-01-01"),
    id: "autoscaling",
    paging: Paging { size_key: "MaxRecords", size: 50, ..PASCAL_CASE },
};

const GROUPS: &str = "autoscaling:DescribeAutoScalingGroups";
/// Names that one call may have, and results on its page.
const NAMES_AT_ONCE: usize = 50;

/// The groups that instances of a region are in, by their names. A group that is gone is
/// omitted. Without any, nothing is asked.
///
/// # Errors
/// When Auto Scaling refuses or does not answer, or its answer cannot be read.
pub(super) async fn scaling_groups(
    clients: &RegionClients,
    instances: &[Instance],
) -> Outcome<Vec<ScalingGroup>> {
    let mut by_account: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for instance in instances {
        if let Some(name) = &instance.auto_scaling_group {
            by_account.entry(&instance.account).or_default().insert(name);
        }
    }
    let mut groups = Vec::new();
    for (account, names) in by_account {
        for some in names.into_iter().collect::<Vec<_>>().chunks(NAMES_AT_ONCE) {
            groups.extend(described(clients, account, some).await?);
        }
    }
    Ok(groups)
}

/// The groups of some names.
async fn described(
    clients: &RegionClients,
    account: &str,
    names: &[&str],
) -> Outcome<Vec<ScalingGroup>> {
    let RegionClients { session, region, .. } = clients;
    all_pages(GROUPS, names.len(), async |token| {
        let fields = fields(names, token);
        let answer = clients.ask_form(&AUTO_SCALING, "DescribeAutoScalingGroups", &fields).await?;
        let page = page(&answer, account, region);
        let page = page.map_err(|why| session.unreadable(GROUPS, &why))?;
        Ok((page.groups, page.next_token))
    })
    .await
}

fn fields(names: &[&str], token: Option<String>) -> Vec<(String, String)> {
    let names = (1..).zip(names).map(|(number, name): (usize, _)| {
        (format!("AutoScalingGroupNames.member.{number}"), (*name).to_owned())
    });
    let most = ("MaxRecords".to_owned(), NAMES_AT_ONCE.to_string());
    names.chain([most]).chain(token.map(|token| ("NextToken".to_owned(), token))).collect()
}

/// A page of groups.
#[derive(Debug, PartialEq)]
struct Page {
    groups: Vec<ScalingGroup>,
    next_token: Option<String>,
}

/// # Errors
/// When it is not XML of a page, or a group has no name or no sizes.
fn page(answer: &str, account: &str, region: &str) -> Result<Page, String> {
    let document = parsed(answer)?;
    let root = document.root_element();
    let result = at(root, &["DescribeAutoScalingGroupsResult"]).ok_or("it has no result")?;
    let groups = members(result, &["AutoScalingGroups"]).map(|node| group(node, account, region));
    Ok(Page {
        groups: groups.collect::<Option<_>>().ok_or("a group has no sizes")?,
        next_token: text(result, &["NextToken"]).map(str::to_owned),
    })
}

/// A number or a truth value at the end of a path.
fn value<T: FromStr>(node: Node<'_, '_>, path: &[&'static str]) -> Option<T> {
    text(node, path)?.parse().ok()
}

fn owned(node: Node<'_, '_>, path: &[&'static str]) -> Option<String> {
    text(node, path).map(str::to_owned)
}

fn group(node: Node<'_, '_>, account: &str, region: &str) -> Option<ScalingGroup> {
    let policy = at(node, &["MixedInstancesPolicy"]);
    let buys = policy.and_then(|policy| at(policy, &["InstancesDistribution"]));
    let overrides: Vec<Node<'_, '_>> = policy
        .into_iter()
        .flat_map(|policy| members(policy, &["LaunchTemplate", "Overrides"]))
        .collect();
    let weights = overrides.iter();
    let mut weights = weights.filter_map(|entry| value::<u32>(*entry, &["WeightedCapacity"]));
    let counts = text(node, &["DesiredCapacityType"]).unwrap_or("units");
    let types = overrides.iter().filter_map(|entry| owned(*entry, &["InstanceType"]));
    let suspended = members(node, &["SuspendedProcesses"]);
    let suspended = suspended.filter_map(|process| owned(process, &["ProcessName"]));
    let suspended: BTreeSet<String> = suspended.collect();
    Some(ScalingGroup {
        name: owned(node, &["AutoScalingGroupName"])?,
        account: account.to_owned(),
        region: region.to_owned(),
        desired: value(node, &["DesiredCapacity"])?,
        min: value(node, &["MinSize"])?,
        max: value(node, &["MaxSize"])?,
        is_weighted: counts != "units" || weights.any(|weight| weight != 1),
        instance_types: types.collect(),
        on_demand_base: buys.and_then(|buys| value(buys, &["OnDemandBaseCapacity"])),
        on_demand_above_base_percent: buys
            .and_then(|buys| value(buys, &["OnDemandPercentageAboveBaseCapacity"])),
        spot_allocation: buys.and_then(|buys| owned(buys, &["SpotAllocationStrategy"])),
        warm_pool: at(node, &["WarmPoolConfiguration"]).map(|pool| WarmPool {
            // Its default.
            min_size: value(pool, &["MinSize"]).unwrap_or(0),
            state: owned(pool, &["PoolState"]),
            size: value(node, &["WarmPoolSize"]),
        }),
        suspended: suspended.into_iter().collect(),
        protected: instances(node, |instance| {
            value(instance, &["ProtectedFromScaleIn"]) == Some(true)
        }),
        // Those that start, end or are in standby are in the same list.
        in_service: at(node, &["Instances"]).map(|_| {
            instances(node, |instance| text(instance, &["LifecycleState"]) == Some("InService"))
        }),
        batch: None,
    })
}

/// Some instances of a group, ascending.
fn instances(group: Node<'_, '_>, is_wanted: impl Fn(Node<'_, '_>) -> bool) -> Vec<ResourceId> {
    let wanted = members(group, &["Instances"]).filter(|instance| is_wanted(*instance));
    let ids = wanted.filter_map(|instance| text(instance, &["InstanceId"]).map(ResourceId::named));
    ids.collect::<BTreeSet<ResourceId>>().into_iter().collect()
}

#[cfg(test)]
#[path = "scaling_tests.rs"]
mod tests;
