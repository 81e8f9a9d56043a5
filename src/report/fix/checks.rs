//! What must hold before anything changes: read-only commands.

use super::procedure::{Procedure, Step, StepKind, step};
use crate::analysis::{Lowered, MemberFix, WorkloadFix};
use crate::catalog::family;
use crate::domain::{
    IDLE_CPU_PERCENT, IDLE_NETWORK_MB_PER_DAY, InstanceUsage, SeriesSource, Workload, counted,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use std::collections::BTreeSet;

/// Most ids of one call: what `DescribeAutoScalingInstances` takes.
pub(super) const MOST_IDS: usize = 50;
/// What the CloudWatch agent calls GPU utilization.
const ACTIVITY: &str = "nvidia_smi_utilization_gpu";
/// How long the checks of a runbook hold after its audit.
pub(super) const VALID_DAYS: i64 = 14;

/// Some instances, such as `3 instances`.
pub(super) fn instances(number: usize) -> String {
    counted(number, "instance", "instances")
}

/// The end of the time in which the checks of a runbook hold.
pub(super) fn valid_until(as_of: Timestamp) -> Timestamp {
    as_of.checked_add(SignedDuration::from_hours(24 * VALID_DAYS)).unwrap_or(as_of)
}

pub(super) fn ids<'a>(members: &[MemberFix<'a>]) -> Vec<&'a str> {
    members.iter().map(|member| member.member.id.native()).collect()
}

/// The credentials must be those of the account.
pub(super) fn account(account: &str) -> Step {
    if account.is_empty() {
        return Step::manual("use credentials of the account that these resources are in");
    }
    step! { expect [account] "the credentials are those of the account", "aws sts get-caller-identity --query Account --output text" }
}

/// What begins with the account, and with every instance in a state.
pub(super) fn on_instances(fix: &WorkloadFix<'_>, state: &str) -> Procedure {
    let key = &fix.audited.workload.key;
    let (region, instance_type) = (&key.region, fix.instance_type);
    let states = fix.members.chunks(MOST_IDS).map(|some: &[MemberFix<'_>]| {
        let named = instances(some.len());
        step! { expect [some.len()] "{named} of this type: {state}", "aws ec2 describe-instances --region {} --instance-ids {} --filters Name=instance-state-name,Values={} Name=instance-type,Values={} --query length(Reservations[].Instances[]) --output text", region, ids(some), state, instance_type }
    });
    Procedure {
        before: std::iter::once(account(&key.account)).chain(states).collect(),
        ..Procedure::default()
    }
}

/// Data on an instance store, which does not outlive a stop.
pub(super) fn erased_store(workload: &Workload) -> Option<Step> {
    let about = "copy what is needed from the instance store, which a stop erases";
    workload.has_instance_store().then(|| Step::new(about, StepKind::Destructive))
}

/// A capacity reservation must have the size from which an action lowers it: an earlier one
/// that was not carried out, or another script, leaves another.
pub(super) fn reserved(lowered: &Lowered<'_>) -> Step {
    let (id, region) = (&lowered.reservation.id, &lowered.reservation.region);
    step! { expect [lowered.from] "instances of the capacity reservation {id}", "aws ec2 describe-capacity-reservations --region {} --capacity-reservation-ids {} --query CapacityReservations[].TotalInstanceCount --output text", region, id }
}

/// No GPU may have worked since the audit, and every one must have reported since and must still
/// do so: an agent that died says nothing about a GPU. CPU and network may have done no more
/// than the audit saw. Absent where that cannot be asked of
/// CloudWatch: a person checks where the metrics are.
pub(super) fn still_idle(
    workload: &Workload,
    members: &[MemberFix<'_>],
    as_of: Timestamp,
) -> Option<Vec<Step>> {
    let source = workload.utilization.as_ref().map(|utilization| utilization.source);
    let is_agent = matches!(source, Some(SeriesSource::CloudWatchAgent | SeriesSource::Generated));
    let is_plain = |member: &MemberFix<'_>| {
        member.member.id.native().chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    if !is_agent || !members.iter().all(is_plain) {
        return None;
    }
    let gpus = workload.shape.as_ref()?.gpu.as_ref()?.share.visible_devices();
    let (region, until) = (&workload.key.region, valid_until(as_of));
    let of_one = |member: &MemberFix<'_>| {
        let id = member.member.id.native();
        let search =
            format!("SEARCH('MetricName=\"{ACTIVITY}\" InstanceId=\"{id}\"', 'Maximum', 3600)");
        let queries = json!([{"Id": "gpu", "Expression": search}]);
        let idle = step! { expect [format!("0 {gpus}")] "{id}: hours since the audit with GPU activity, and GPUs that have reported since", "aws cloudwatch get-metric-data --region {} --metric-data-queries {} --start-time {} --end-time {} --query '[length(MetricDataResults[].Values[] | [?@ >= `1`]), length(MetricDataResults[?Values])]' --output text", region, queries, as_of.to_string(), until.to_string() };
        // CloudWatch knows three hours and nothing else, and may include 50 minutes more.
        let reporting = step! { expect [gpus] "{id}: GPUs that have reported in the last hours, up to four", "aws cloudwatch list-metrics --region {} --metric-name {} --dimensions Name=InstanceId,Value={} --recently-active PT3H --query length(Metrics) --output text", region, ACTIVITY, id };
        [idle, reporting, no_other_use(workload, member, as_of)]
    };
    Some(members.iter().flat_map(of_one).collect())
}

/// The signs of use beside the GPU must be no stronger than in the audit.
fn no_other_use(workload: &Workload, member: &MemberFix<'_>, as_of: Timestamp) -> Step {
    let usage = workload.usage.iter().find(|usage| usage.instance == member.member.id);
    let id = member.member.id.native();
    let more_than = |seen: Option<f64>, idle: f64, scale: f64| match seen {
        Some(seen) if seen >= idle => format!("?@ > `{}`", seen * scale),
        _ => format!("?@ >= `{}`", idle * scale),
    };
    let cpu = more_than(usage.and_then(|usage| usage.cpu_max), IDLE_CPU_PERCENT, 1.0);
    let network = usage.and_then(InstanceUsage::network_mb_per_day);
    let network = more_than(network, IDLE_NETWORK_MB_PER_DAY, 1e6);
    let metric = |name: &str, period: u32, statistic: &str| {
        json!({
            "Metric": {
                "Namespace": "AWS/EC2",
                "MetricName": name,
                "Dimensions": [{"Name": "InstanceId", "Value": id}],
            },
            "Period": period,
            "Stat": statistic,
        })
    };
    let has_maxima = usage.is_some_and(|usage| usage.cpu_max_samples.is_some());
    let of_cpu = if has_maxima { "Maximum" } else { "Average" };
    let of_network = |name| metric(name, 86_400, "Sum");
    let queries = json!([
        {"Id": "cpu", "MetricStat": metric("CPUUtilization", 300, of_cpu)},
        {"Id": "received", "MetricStat": of_network("NetworkIn"), "ReturnData": false},
        {"Id": "sent", "MetricStat": of_network("NetworkOut"), "ReturnData": false},
        {"Id": "network", "Expression": "received + sent"},
    ]);
    let number = |query: &str, condition: &str| {
        format!("length(MetricDataResults[?Id==`\"{query}\"`].Values[] | [{condition}])")
    };
    let region = &workload.key.region;
    let query = format!("[{}, {}]", number("cpu", &cpu), number("network", &network));
    let until = valid_until(as_of).to_string();
    step! { expect ["0 0"] "{id}: periods since the audit in which its CPU works, and days in which its network does", "aws cloudwatch get-metric-data --region {} --metric-data-queries {} --start-time {} --end-time {} --query {} --output text", region, queries, as_of.to_string(), until, query }
}

/// How instances are bought, as the names of quotas say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Market {
    OnDemand,
    Spot,
}

/// Each zone in use must offer the type, and the quota of its market must have room.
pub(super) fn offered(
    workload: &Workload,
    members: &[MemberFix<'_>],
    instance_type: &str,
    market: Market,
) -> Vec<Step> {
    let zones = members.iter().filter_map(|member| member.member.zone.as_deref());
    let zones: BTreeSet<&str> = zones.collect();
    let named: Vec<&str> = zones.iter().copied().collect();
    let region = &workload.key.region;
    let offer = if zones.is_empty() {
        step! { read "the zones that offer {instance_type}", "aws ec2 describe-instance-type-offerings --region {} --location-type availability-zone --filters Name=instance-type,Values={} --query InstanceTypeOfferings[].Location --output text", region, instance_type }
    } else {
        let (listed, joined) = (named.join(", "), named.join(","));
        step! { expect [zones.len()] "{instance_type} is offered in {listed}", "aws ec2 describe-instance-type-offerings --region {} --location-type availability-zone --filters Name=instance-type,Values={} Name=location,Values={} --query length(InstanceTypeOfferings) --output text", region, instance_type, joined }
    };
    vec![offer, quota(workload, instance_type, market)]
}

/// On demand and on the spot market, each family of types has a quota of its own.
pub(super) fn quota(workload: &Workload, instance_type: &str, market: Market) -> Step {
    let named = if market == Market::Spot { "Spot Instance Requests" } else { "On-Demand" };
    let query = format!("Quotas[?contains(QuotaName, `\"{named}\"`)].[QuotaName, Value]");
    step! { read "the quota of vCPUs leaves room for {instance_type}", "aws service-quotas list-service-quotas --region {} --service-code ec2 --query {} --output text", workload.key.region, query }
}

/// What runs on instances that are replaced or stopped. `image` says whose image needs the
/// driver of another GPU, where they get one.
pub(super) fn interrupted(what: &str, image: Option<&str>) -> Step {
    let image = image.map_or(String::new(), |image| {
        format!(
            "; check that {image} has the driver of the new GPU, and that the quota above leaves \
             room"
        )
    });
    let about =
        format!("end the jobs on {what}, or wait for their end: the steps stop them{image}");
    Step::new(about, StepKind::Disruptive)
}

/// What may keep instances from going back to a type.
pub(super) fn no_way_back(instance_type: &str) -> Option<String> {
    let (name, _) = instance_type.split_once('.')?;
    (family(name).and_then(|facts| facts.launchable) == Some(false)).then(|| {
        format!("AWS launches no new {instance_type}, and may not start one that is stopped")
    })
}

/// Every instance must be in service in its group.
pub(super) fn in_service(workload: &Workload, members: &[MemberFix<'_>]) -> Vec<Step> {
    let region = &workload.key.region;
    let of_some = |some: &[MemberFix<'_>]| {
        let named = instances(some.len());
        step! { expect [some.len()] "{named} in service", "aws autoscaling describe-auto-scaling-instances --region {} --instance-ids {} --query 'length(AutoScalingInstances[?LifecycleState==`\"InService\"`])' --output text", region, ids(some) }
    };
    members.chunks(MOST_IDS).map(of_some).collect()
}
