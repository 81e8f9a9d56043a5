//! How many calls the fleet takes, that the report counts them honestly, and
//! that the published policy allows exactly them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::command::Gpucost;
use super::gathering::{Counts, gathered};

/// Operation, region, calls. A period of five minutes is 4,033 points to ask
/// for, one of an hour 337, of a day 15. An instance is 4,033 + 2 × 337 (CPU,
/// network), a GPU with an agent 2 × 4,033 (utilization) + 2 × 4,033 + 15 +
/// 3 × 337 (memory and what rides on it), a power metric 2 × 4,033. A call
/// holds 100,800 points and is closed by the first query that does not fit,
/// so it holds more than 96,767.
const PLANNED: &[(&str, &str, usize)] = &[
    // The settings of the groups that instances name, in the regions that have some.
    ("autoscaling:DescribeAutoScalingGroups", "us-east-1", 1),
    ("autoscaling:DescribeAutoScalingGroups", "us-west-2", 1),
    // 33 × 8,740 + 52 × 17,158 = 1,180,636 points: 11.7 full calls; 24 of the longest
    // queries and shorter ones beside them fill one.
    ("cloudwatch:GetMetricData", "us-east-1", 12),
    // 11 × 8,740 + 11 × 17,158 = 284,878 points: 2.8 to 2.9.
    ("cloudwatch:GetMetricData", "eu-west-1", 3),
    // 15 × 8,740 + 19 × 17,158 + 3 × 8,066 = 481,300 points: 4.8 to 5.0.
    ("cloudwatch:GetMetricData", "us-west-2", 5),
    // Utilization, memory, power.
    ("cloudwatch:ListMetrics", "us-east-1", 3),
    ("cloudwatch:ListMetrics", "eu-west-1", 3),
    ("cloudwatch:ListMetrics", "us-west-2", 3),
    // What stopped instances keep, in the region that has some.
    ("ec2:DescribeAddresses", "eu-west-1", 1),
    // What the account committed to, wherever anything may run.
    ("ec2:DescribeCapacityReservations", "us-east-1", 1),
    ("ec2:DescribeCapacityReservations", "eu-west-1", 1),
    ("ec2:DescribeCapacityReservations", "us-west-2", 1),
    ("ec2:DescribeInstanceTypes", "us-east-1", 1),
    ("ec2:DescribeInstanceTypes", "eu-west-1", 1),
    ("ec2:DescribeInstanceTypes", "us-west-2", 1),
    ("ec2:DescribeInstances", "us-east-1", 1),
    ("ec2:DescribeInstances", "eu-west-1", 1),
    ("ec2:DescribeInstances", "us-west-2", 1),
    ("ec2:DescribeReservedInstances", "us-east-1", 1),
    ("ec2:DescribeReservedInstances", "eu-west-1", 1),
    ("ec2:DescribeReservedInstances", "us-west-2", 1),
    ("ec2:DescribeSpotPriceHistory", "eu-west-1", 1),
    ("ec2:DescribeVolumes", "eu-west-1", 1),
    // The 104 accelerated types of the catalog take three filters of 40 types: for
    // Linux in three regions and Windows in one. In Ireland gp2, gp3, io2 and
    // addresses.
    ("pricing:GetProducts", "us-east-1", 4 * 3 + 4),
    // One endpoint for all regions.
    ("savingsplans:DescribeSavingsPlans", "us-east-1", 1),
    ("sts:GetCallerIdentity", "us-east-1", 1),
];

/// Services of which nothing is asked without a flag.
const OPTIONAL: [&str; 5] = ["batch:", "cost-optimization-hub:", "ecs:", "sagemaker:", "tag:"];

/// Queries: 4 an instance, 8 a GPU with an agent, 2 a power metric: 59 × 4 +
/// 82 × 8 + 3 × 2 = 898, at 0.01 a thousand.
const COST_USD: f64 = 0.00898;

fn table(calls: &Counts) -> BTreeMap<(String, &str), usize> {
    calls
        .iter()
        .map(|(seen, count)| {
            let action = format!("{}:{}", seen.service, seen.operation);
            ((action, seen.region.as_str()), *count)
        })
        .collect()
}

/// Calls by action as the report has them.
fn reported(report: &Value) -> BTreeMap<String, u64> {
    let by_operation = report["api"]["by_operation"].as_object().expect("a map");
    by_operation
        .iter()
        .map(|(action, count)| (action.clone(), count.as_u64().expect("a count")))
        .collect()
}

fn counted(calls: &Counts) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (seen, count) in calls {
        let action = format!("{}:{}", seen.service, seen.operation);
        *sums.entry(action).or_default() += *count as u64;
    }
    sums
}

#[test]
fn exactly_the_planned_calls_are_made() {
    let Some(fleet) = gathered() else { return };
    let calls = table(&fleet.live.calls);
    println!("calls of an audit of 62 instances, {:.1} s:", fleet.live.took.as_secs_f64());
    for ((action, region), count) in &calls {
        println!("{count:>4}  {action} in {region}");
    }
    let total: usize = calls.values().sum();
    println!("{total:>4}  in all");
    println!(
        "{:>4}  in all regions, {:.1} s",
        fleet.everywhere.calls.values().sum::<usize>(),
        fleet.everywhere.took.as_secs_f64()
    );
    let planned = PLANNED
        .iter()
        .map(|(action, region, count)| (((*action).to_owned(), *region), *count))
        .collect();
    assert_eq!(calls, planned);
}

#[test]
fn the_report_counts_what_went_over_the_wire() {
    let Some(fleet) = gathered() else { return };
    for audited in [&fleet.live, &fleet.everywhere] {
        let api = &audited.report["api"];
        let total: usize = audited.calls.values().sum();
        assert_eq!(api["calls"], total);
        assert_eq!(api["retries"], 0);
        assert_eq!(api["estimated_cost_usd"], COST_USD);
        assert_eq!(reported(&audited.report), counted(&audited.calls));
    }
}

#[test]
fn all_regions_find_the_same_as_the_three_named() {
    let Some(fleet) = gathered() else { return };
    let (named, every_region) = (&fleet.live.report, &fleet.everywhere.report);
    for part in ["summary", "workloads", "findings", "gaps", "prices"] {
        assert_eq!(every_region[part], named[part], "{part}");
    }
    let regions = every_region["scope"]["regions"].as_array().expect("a list");
    assert!(regions.len() > 3, "the account has more regions: {regions:?}");
    // Each costs three calls when nothing is in it: instances, reserved instances
    // and capacity reservations.
    let empty = 3 * (regions.len() - 3);
    let planned: usize = PLANNED.iter().map(|(_, _, count)| count).sum();
    let total: usize = fleet.everywhere.calls.values().sum();
    assert_eq!(total, planned + 1 + empty, "and DescribeRegions");
}

#[test]
fn the_policy_allows_every_call_and_nothing_else() {
    let Some(fleet) = gathered() else { return };
    let policy = Gpucost::new(&["setup", "iam"]).run().json(0);
    let allowed: BTreeSet<&str> = policy["Statement"][0]["Action"]
        .as_array()
        .expect("a list of actions")
        .iter()
        .map(|action| action.as_str().expect("an action"))
        // Asked only with `--services` and `--aws-opinion`; `tests/iam` finds each of them in
        // the source.
        .filter(|action| !OPTIONAL.iter().any(|service| action.starts_with(service)))
        .collect();
    let live = counted(&fleet.live.calls);
    let everywhere = counted(&fleet.everywhere.calls);
    let refresh = counted(&fleet.refresh_calls);
    let names = |calls: &'_ BTreeMap<String, u64>| calls.keys().cloned().collect();
    let audits: BTreeSet<String> = &names(&live) | &names(&everywhere);
    let refresh: BTreeSet<String> = names(&refresh);
    let used: BTreeSet<&str> = audits.union(&refresh).map(String::as_str).collect();
    assert_eq!(used, allowed);
    let refresh_alone: Vec<&String> = refresh.difference(&audits).collect();
    assert_eq!(refresh_alone, ["savingsplans:DescribeSavingsPlansOfferingRates"]);
}
