use super::*;

const ACCOUNT: &str = "111122223333";
const REGION: &str = "us-east-1";

/// An answer with some groups, in the words of the service.
fn answer(groups: &str, after: &str) -> String {
    format!(
        "<DescribeAutoScalingGroupsResponse \
         xmlns=\"http://autoscaling.amazonaws.com/doc/2011-01-01/\">\
         <DescribeAutoScalingGroupsResult><AutoScalingGroups>{groups}</AutoScalingGroups>{after}\
         </DescribeAutoScalingGroupsResult><ResponseMetadata><RequestId>r</RequestId>\
         </ResponseMetadata></DescribeAutoScalingGroupsResponse>"
    )
}

const SIZES: &str = "<MinSize>4</MinSize><MaxSize>8</MaxSize><DesiredCapacity>6</DesiredCapacity>";

fn read(groups: &str, after: &str) -> Result<Page, String> {
    page(&answer(groups, after), ACCOUNT, REGION)
}

fn only(groups: &str) -> ScalingGroup {
    let mut page = read(groups, "").expect("a page");
    assert_eq!(page.groups.len(), 1);
    page.groups.remove(0)
}

fn plain() -> ScalingGroup {
    only(&format!("<member><AutoScalingGroupName>trainers</AutoScalingGroupName>{SIZES}</member>"))
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
        warm_pool: Some(WarmPool { min_size: 2, state: Some("Stopped".to_owned()), size: Some(3) }),
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
fn pages_end_and_what_is_not_one_is_refused() {
    let last = read("", "").expect("a page");
    assert_eq!((last.groups.len(), last.next_token), (0, None));
    let more = read("", "<NextToken>t&amp;u</NextToken>").expect("a page");
    assert_eq!(more.next_token.as_deref(), Some("t&u"));
    let nameless = format!("<member>{SIZES}</member>");
    let sizeless = "<member><AutoScalingGroupName>a</AutoScalingGroupName></member>";
    let negative = "<member><AutoScalingGroupName>a</AutoScalingGroupName><MinSize>-1</MinSize>\
                    <MaxSize>1</MaxSize><DesiredCapacity>1</DesiredCapacity></member>";
    for bad in [&nameless, sizeless, negative] {
        assert_eq!(read(bad, ""), Err("a group has no sizes".to_owned()), "{bad}");
    }
    for other in ["", "<a/>", "{\"a\": 1}", "<html><p>down</p></html>"] {
        assert!(page(other, ACCOUNT, REGION).is_err(), "{other}");
    }
}

#[test]
fn the_form_numbers_its_names() {
    let form = fields(&["a", "b c"], Some("t".to_owned()));
    let pairs: Vec<(&str, &str)> =
        form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let expected = [
        ("AutoScalingGroupNames.member.1", "a"),
        ("AutoScalingGroupNames.member.2", "b c"),
        ("MaxRecords", "50"),
        ("NextToken", "t"),
    ];
    assert_eq!(pairs, expected);
}
