//! Trouble that passes: after retries the report is the same as on a good day,
//! and says how many there were.
//!
//! A call that never answers is cut off by time limits of 20 and 90 seconds,
//! too long to wait for here: `sources::aws::session` tests them with shorter
//! ones. What comes of it, a gap for the region, is as in [`super::denied`].

use serde_json::Value;

use super::{IRELAND, Office, VIRGINIA};
use crate::wire::loopback::{Fault, Target, Times};

/// Audits on a good day and on a bad one; the latter's report.
fn the_same_after_retries(faults: &[(&str, &str, Fault, usize)]) -> Option<Value> {
    let office = Office::open(&[VIRGINIA, IRELAND])?;
    let loopback = &office.account.loopback;
    let good = office.audit().run().json(0);
    let calls: usize = loopback.call_counts().values().sum();
    assert_eq!(good["api"]["retries"], 0);
    assert_eq!(good["api"]["calls"], calls);
    for (service, operation, fault, times) in faults {
        let target = Target::operation(service, operation);
        loopback.inject(target, *fault, Times::Count(*times));
    }
    loopback.reset_calls();
    let bad = office.audit().run().json(0);
    for part in ["summary", "workloads", "findings", "gaps", "prices"] {
        assert_eq!(bad[part], good[part], "{part}");
    }
    let attempts: usize = loopback.call_counts().values().sum();
    let retries: usize = faults.iter().map(|(_, _, _, times)| times).sum();
    assert_eq!(attempts, calls + retries, "every failure was retried once");
    // Calls are what was asked; attempts beyond them are retries.
    assert_eq!(bad["api"]["calls"], calls);
    assert_eq!(bad["api"]["retries"], retries);
    // Retries ask for no further metrics.
    assert_eq!(bad["api"]["estimated_cost_usd"], good["api"]["estimated_cost_usd"]);
    Some(bad)
}

#[test]
fn throttling_of_every_service() {
    let faults = [
        ("sts", "GetCallerIdentity", Fault::Throttle, 1),
        ("ec2", "DescribeInstances", Fault::Throttle, 2),
        ("cloudwatch", "ListMetrics", Fault::Throttle, 1),
        ("cloudwatch", "GetMetricData", Fault::Throttle, 2),
        ("pricing", "GetProducts", Fault::Throttle, 1),
    ];
    let Some(report) = the_same_after_retries(&faults) else { return };
    assert_eq!(report["api"]["retries"], 7);
}

#[test]
fn server_errors() {
    let faults = [
        ("ec2", "DescribeInstanceTypes", Fault::ServerError, 1),
        ("cloudwatch", "GetMetricData", Fault::ServerError, 2),
        ("pricing", "GetProducts", Fault::ServerError, 1),
    ];
    let Some(report) = the_same_after_retries(&faults) else { return };
    assert_eq!(report["api"]["retries"], 4);
}

#[test]
fn dropped_connections() {
    let faults = [
        ("ec2", "DescribeInstances", Fault::DropConnection, 1),
        ("cloudwatch", "GetMetricData", Fault::DropConnection, 1),
        ("pricing", "GetProducts", Fault::DropConnection, 1),
    ];
    let Some(report) = the_same_after_retries(&faults) else { return };
    assert_eq!(report["api"]["retries"], 3);
}
