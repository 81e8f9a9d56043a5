//! Answers that no service should give: requests repeated with their signatures,
//! pages of proxies, bodies without an end, one instance that cannot be read.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use super::super::command::{ACCESS_KEY, SECRET_KEY, SESSION_TOKEN};
use super::{COST_BY_DAY, IRELAND, Office, VIRGINIA, gap, gaps, workload};
use crate::wire::fleet::Launch;
use crate::wire::loopback::{Fault, Target, Times};

/// Whether a text has a run of 64 hexadecimal digits, the length of a signature.
fn has_signature(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_hexdigit()).any(|word| word.len() >= 64)
}

#[test]
fn nothing_that_signs_a_request_is_repeated() {
    let Some(office) = Office::open(&[VIRGINIA]) else { return };
    let loopback = &office.account.loopback;
    for (service, operation) in [
        ("sts", "GetCallerIdentity"),
        ("ec2", "DescribeInstances"),
        ("ec2", "DescribeCapacityReservations"),
        ("cloudwatch", "GetMetricData"),
        ("pricing", "GetProducts"),
        ("savingsplans", "DescribeSavingsPlans"),
    ] {
        for with_names in [false, true] {
            let target = Target::operation(service, operation);
            loopback.inject(target, Fault::Echo { with_names }, Times::Always);
            let mut audit = office.audit().args(&["-vv", "--save", "estate.json"]);
            // The program's own outputs are searched for credentials by every run.
            let run = audit.run();
            let saved = fs::read_to_string(audit.folder().join("estate.json")).unwrap_or_default();
            for text in [&run.stdout, &run.stderr, &saved] {
                assert!(!has_signature(text), "{operation}: {text}");
                for secret in [ACCESS_KEY, SECRET_KEY, SESSION_TOKEN] {
                    assert!(!text.contains(secret), "{operation}: {secret}");
                }
            }
            let said = format!("{}{}", run.stdout, run.stderr);
            assert!(said.contains("refused: (not shown)"), "{operation}: {said}");
            loopback.clear_faults();
        }
    }
}

#[test]
fn a_page_of_something_else_says_the_call_the_status_and_how_it_begins() {
    let Some(office) = Office::open(&[VIRGINIA]) else { return };
    let loopback = &office.account.loopback;
    for (service, operation, what, status) in [
        ("ec2", "DescribeCapacityReservations", "capacity reservations", 200),
        ("ec2", "DescribeCapacityReservations", "capacity reservations", 404),
        ("cloudwatch", "GetMetricData", "metrics", 200),
        ("pricing", "GetProducts", "live prices", 403),
        ("savingsplans", "DescribeSavingsPlans", "savings plans", 200),
    ] {
        let target = Target::operation(service, operation);
        loopback.inject(target, Fault::Page(status), Times::Always);
        let audit = office.audit_everywhere().args(&["--region", "us-east-1"]).run();
        let report = audit.json(0);
        let rows = report["gaps"].as_array().expect("a list");
        let said = format!(
            "{service}:{operation}: the response is not in the service's format: status {status}, \
             begins with `<html> <head><title>Sorry, we are down</title></head></html>`"
        );
        let is_said = rows.iter().any(|gap| {
            let reason = gap["reason"].as_str().expect("words");
            gap["what"] == what && reason.starts_with(&said)
        });
        assert!(is_said, "{operation}: {rows:#?}");
        loopback.clear_faults();
    }
}

#[test]
fn a_body_without_an_end_is_given_up() {
    let Some(office) = Office::open(&[VIRGINIA]) else { return };
    let target = Target::operation("savingsplans", "DescribeSavingsPlans");
    let loopback = &office.account.loopback;
    loopback.inject(target, Fault::Endless, Times::Always);
    let report = office.audit().run().json(0);
    let (_, reason, _) = gap(&report, "savings plans");
    assert!(reason.starts_with("savingsplans:DescribeSavingsPlans: "), "{reason}");
    assert!(reason.contains("incomplete response"), "{reason}");
}

#[test]
fn a_listing_that_is_cut_hides_what_follows() {
    let Some(office) = Office::open(&[VIRGINIA, VIRGINIA, IRELAND]) else { return };
    let loopback = &office.account.loopback;
    for (operation, words, what, instances) in [
        // The first instance is whole, and the second is missing.
        ("DescribeInstances", "</instanceId>", "region", 1),
        // Only the token of the next page could be missing.
        ("DescribeInstances", "</reservationSet>", "region", 1),
        ("DescribeCapacityReservations", "<capacityReservationSet>", "capacity reservations", 3),
        ("DescribeReservedInstances", "</reservedInstancesSet>", "reserved instances", 3),
    ] {
        let target = Target::operation("ec2", operation).in_region("us-east-1");
        loopback.inject(target, Fault::CutBehind(words), Times::Always);
        let report = office.audit().run().json(0);
        let (place, reason, _) = gap(&report, what);
        assert_eq!(place, "us-east-1", "{operation}");
        let said = format!("ec2:{operation}: the response is not in the service's format");
        assert!(reason.starts_with(&said), "{operation}: {reason}");
        assert_eq!(report["summary"]["instances"], instances, "{operation}");
        loopback.clear_faults();
    }
}

#[test]
fn one_instance_that_cannot_be_read_is_a_gap_and_the_others_stay() {
    let plan = [VIRGINIA; 5].map(|zone| Launch::on_demand(zone, "g5.xlarge"));
    let Some(office) = Office::with(&plan) else { return };
    let loopback = &office.account.loopback;
    let bad: &'static str = office.ids[3].clone().leak();
    let target = Target::operation("ec2", "DescribeInstances");
    loopback.inject(target, Fault::SpoilLaunchOf(bad), Times::Always);
    let run = office.audit_everywhere().args(&["--region", "us-east-1"]).run();
    let report = run.json(0);
    assert_eq!(gaps(&report), ["instance"]);
    let (place, reason, _) = gap(&report, "instance");
    assert_eq!(place, bad);
    assert_eq!(reason, "the EC2 response has no readable launch time");
    assert_eq!(report["summary"]["instances"], 4);
    assert_eq!(workload(&report, &office.ids[0])["monthly_cost"], json!(COST_BY_DAY));
    assert_eq!(loopback.calls("ec2", "DescribeInstances"), 1);
}

#[test]
fn throttling_is_waited_out_until_the_deadline() {
    let Some(office) = Office::open(&[VIRGINIA]) else { return };
    let loopback = &office.account.loopback;
    let target = || Target::operation("ec2", "DescribeReservedInstances");
    // More often than the client's own five attempts.
    loopback.inject(target(), Fault::Throttle, Times::Count(7));
    let run = office.audit_everywhere().args(&["--region", "us-east-1", "-v"]).run();
    let report = run.json(0);
    assert_eq!(gaps(&report), Vec::<&str>::new());
    assert_eq!(report["api"]["retries"], 7);
    let waiting = "ec2:DescribeReservedInstances is throttled; waiting for up to ";
    assert!(run.stderr.contains(waiting), "{}", run.stderr);

    loopback.inject(target(), Fault::Throttle, Times::Always);
    let began = Instant::now();
    let audit = office.audit_everywhere().args(&["--region", "us-east-1", "--deadline", "1s"]);
    let report = { audit }.run().json(0);
    assert!(began.elapsed() < Duration::from_secs(90));
    let (_, reason, hint) = gap(&report, "reserved instances");
    assert!(reason.starts_with("ec2:DescribeReservedInstances: RequestLimitExceeded"), "{reason}");
    assert!(hint.ends_with("or raise `--deadline`"), "{hint}");
}
