//! Settings of the Auto Scaling groups that instances are in.

use super::answers::{PASCAL_CASE, Paging, at, members, owned, text, value};
use super::service::{Protocol, Service, field, numbered};
use super::session::RegionClients;
use crate::Outcome;
use crate::domain::{Instance, ResourceId, ScalingGroup, WarmPool};
use roxmltree::Node;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const AUTO_SCALING: Service = Service {
    signing_name: "autoscaling",
    sdk_id: "Auto Scaling",
    host: "autoscaling.{region}",
    protocol: Protocol::Query("2011-01-01"),
    id: "autoscaling",
    paging: Paging { size_key: "MaxRecords", size: 50, ..PASCAL_CASE },
};

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
    let most = field(AUTO_SCALING.paging.size_key, &NAMES_AT_ONCE.to_string());
    let fields = [numbered("AutoScalingGroupNames.member", names), most].concat();
    let list = (fields, "AutoScalingGroups");
    let read = |node: Node<'_, '_>| {
        group(node, account, &clients.region).ok_or_else(|| "a group has no sizes".to_owned())
    };
    clients.ask_members(&AUTO_SCALING, "DescribeAutoScalingGroups", list, read).await
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
mod tests {
    use super::*;
    use crate::aws::answers::{parsed, result};

    const ACCOUNT: &str = "111122223333";
    const REGION: &str = "us-east-1";

    /// An answer with some groups, in the words of the service.
    fn answer(groups: &str) -> String {
        format!(
            "<DescribeAutoScalingGroupsResponse \
             xmlns=\"http://autoscaling.amazonaws.com/doc/2011-01-01/\">\
             <DescribeAutoScalingGroupsResult><AutoScalingGroups>{groups}</AutoScalingGroups>\
             </DescribeAutoScalingGroupsResult><ResponseMetadata><RequestId>r</RequestId>\
             </ResponseMetadata></DescribeAutoScalingGroupsResponse>"
        )
    }

    const SIZES: &str =
        "<MinSize>4</MinSize><MaxSize>8</MaxSize><DesiredCapacity>6</DesiredCapacity>";

    fn read(groups: &str) -> Option<Vec<ScalingGroup>> {
        let answer = answer(groups);
        let document = parsed(&answer).expect("XML");
        let result = result(&document, "DescribeAutoScalingGroups").expect("its answer");
        let groups = members(result, &["AutoScalingGroups"]);
        groups.map(|node| group(node, ACCOUNT, REGION)).collect()
    }

    fn only(groups: &str) -> ScalingGroup {
        let mut groups = read(groups).expect("groups");
        assert_eq!(groups.len(), 1);
        groups.remove(0)
    }

    fn plain() -> ScalingGroup {
        only(&format!(
            "<member><AutoScalingGroupName>trainers</AutoScalingGroupName>{SIZES}</member>"
        ))
    }

    #[test]
    fn a_group_of_one_type_has_sizes_alone() {
        assert_eq!(plain(), ScalingGroup::sample());
    }

    #[test]
    fn every_setting_is_read() {
        let mixed = "<MixedInstancesPolicy><LaunchTemplate><LaunchTemplateSpecification>\
                     <LaunchTemplateName>t</LaunchTemplateName></LaunchTemplateSpecification>\
                     <Overrides><member><InstanceType>g5.xlarge</InstanceType></member>\
                     <member><InstanceType>g4dn.xlarge</InstanceType>\
                     <WeightedCapacity>1</WeightedCapacity></member></Overrides></LaunchTemplate>\
                     <InstancesDistribution><OnDemandBaseCapacity>2</OnDemandBaseCapacity>\
                     <OnDemandPercentageAboveBaseCapacity>50</OnDemandPercentageAboveBaseCapacity>\
                     <SpotAllocationStrategy>price-capacity-optimized</SpotAllocationStrategy>\
                     </InstancesDistribution></MixedInstancesPolicy>";
        let rest = "<Instances><member><InstanceId>i-2</InstanceId>\
                    <LifecycleState>InService</LifecycleState>\
                    <ProtectedFromScaleIn>true</ProtectedFromScaleIn></member>\
                    <member><InstanceId>i-1</InstanceId>\
                    <LifecycleState>InService</LifecycleState>\
                    <ProtectedFromScaleIn>true</ProtectedFromScaleIn></member>\
                    <member><InstanceId>i-3</InstanceId>\
                    <LifecycleState>Standby</LifecycleState>\
                    <ProtectedFromScaleIn>false</ProtectedFromScaleIn></member>\
                    <member><InstanceId>i-4</InstanceId>\
                    <LifecycleState>Pending:Wait</LifecycleState></member></Instances>\
                    <SuspendedProcesses><member><ProcessName>Terminate</ProcessName>\
                    <SuspensionReason>User suspended</SuspensionReason></member>\
                    <member><ProcessName>Launch</ProcessName></member></SuspendedProcesses>\
                    <WarmPoolConfiguration><MinSize>2</MinSize><PoolState>Stopped</PoolState>\
                    </WarmPoolConfiguration><WarmPoolSize>3</WarmPoolSize>";
        let group = only(&format!(
            "<member><AutoScalingGroupName>trainers</AutoScalingGroupName>{SIZES}{mixed}{rest}\
             </member>"
        ));
        let expected = ScalingGroup {
            instance_types: vec!["g5.xlarge".to_owned(), "g4dn.xlarge".to_owned()],
            on_demand_base: Some(2),
            on_demand_above_base_percent: Some(50),
            spot_allocation: Some("price-capacity-optimized".to_owned()),
            warm_pool: Some(WarmPool {
                min_size: 2,
                state: Some("Stopped".to_owned()),
                size: Some(3),
            }),
            suspended: vec!["Launch".to_owned(), "Terminate".to_owned()],
            protected: vec![ResourceId::named("i-1"), ResourceId::named("i-2")],
            in_service: Some(vec![ResourceId::named("i-1"), ResourceId::named("i-2")]),
            ..ScalingGroup::sample()
        };
        assert_eq!(group, expected);
    }

    #[test]
    fn a_group_of_no_instances_has_none_in_service() {
        let empty = only(&format!(
            "<member><AutoScalingGroupName>a</AutoScalingGroupName>{SIZES}<Instances/></member>"
        ));
        assert_eq!(empty.in_service, Some(Vec::new()));
        // An answer without the list says nothing about them.
        assert_eq!(plain().in_service, None);
    }

    #[test]
    fn sizes_may_count_something_else_than_instances() {
        let weighted = |inside: &str| {
            let group = only(&format!(
                "<member><AutoScalingGroupName>a</AutoScalingGroupName>{SIZES}{inside}</member>"
            ));
            group.is_weighted
        };
        assert!(!weighted("<DesiredCapacityType>units</DesiredCapacityType>"));
        assert!(weighted("<DesiredCapacityType>vcpu</DesiredCapacityType>"));
        assert!(weighted(
            "<MixedInstancesPolicy><LaunchTemplate><Overrides>\
             <member><InstanceType>g5.xlarge</InstanceType><WeightedCapacity>1</WeightedCapacity>\
             </member><member><InstanceType>g5.12xlarge</InstanceType>\
             <WeightedCapacity>4</WeightedCapacity></member>\
             </Overrides></LaunchTemplate></MixedInstancesPolicy>"
        ));
    }

    #[test]
    fn a_group_without_name_or_sizes_is_refused() {
        assert_eq!(read(""), Some(Vec::new()));
        let nameless = format!("<member>{SIZES}</member>");
        let sizeless = "<member><AutoScalingGroupName>a</AutoScalingGroupName></member>";
        let negative = "<member><AutoScalingGroupName>a</AutoScalingGroupName><MinSize>-1</MinSize>\
                        <MaxSize>1</MaxSize><DesiredCapacity>1</DesiredCapacity></member>";
        for bad in [&nameless, sizeless, negative] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
