//! Nothing to audit, too much to pay, nobody there, and a user who has waited
//! long enough.

use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use super::super::command::{Gpucost, Run};
use super::super::days::Days;
use super::{Office, VIRGINIA};
use crate::wire::loopback::{Fault, Target, Times};

#[test]
fn metrics_that_cost_too_much_are_not_asked_for() {
    let Some(office) = Office::open(&[VIRGINIA]) else { return };
    let run = office.audit().args(&["--max-api-cost", "0"]).run();
    // 4 of instance and 8 of its GPU, at 0.01 a thousand.
    assert_eq!(
        run.error(2),
        "error: requesting 12 metrics would cost about USD 0.00012, more than the limit of 0\n\
         hint: raise `--max-api-cost`, shorten the list of regions, or pass `--metrics-source \
         none`\n"
    );
    assert_eq!(office.account.loopback.calls("cloudwatch", "GetMetricData"), 0);

    let run = office.audit().args(&["--max-api-cost", "0.00012"]).run();
    assert_eq!(run.json(0)["api"]["estimated_cost_usd"], 0.00012);
}

#[test]
fn a_page_that_leads_to_itself_ends_its_call() {
    let Some(office) = Office::open(&[VIRGINIA]) else { return };
    let loopback = &office.account.loopback;
    for (service, operation, place) in [
        ("ec2", "DescribeCapacityReservations", "commitments"),
        ("savingsplans", "DescribeSavingsPlans", "commitments"),
        ("cloudwatch", "ListMetrics", "metrics"),
        ("cloudwatch", "GetMetricData", "metrics"),
        ("ec2", "DescribeInstances", "region"),
    ] {
        loopback.reset_calls();
        let target = Target::operation(service, operation);
        loopback.inject(target, Fault::SamePage, Times::Always);
        let run = office.audit().args(&["--max-api-cost", "0.01"]).run();
        // Two pages in each of two regions; ListMetrics asks for four metrics in each.
        let calls = loopback.calls(service, operation);
        assert!((1..=4).contains(&calls), "{operation}: {calls}");
        let said = format!("{}{}", run.stdout, run.stderr);
        let words = format!("{service}:{operation}: the service repeated a page token");
        assert!(said.contains(&words), "{operation} ({place}): {said}");
        loopback.clear_faults();
    }
}

#[test]
fn nothing_to_audit_is_said_and_still_a_document() {
    let Some(office) = Office::open(&[]) else { return };
    let run = office.audit().run();
    let report = run.json(4);
    assert_eq!(report["summary"]["instances"], 0);
    assert_eq!(report["summary"]["monthly_cost"], 0.0);
    assert_eq!(report["workloads"], json!([]));
    assert!(run.stderr.contains("error: no GPU instances in scope\nhint: "), "{}", run.stderr);

    let allowed = office.audit().args(&["--allow-empty"]).run();
    assert_eq!(allowed.json(0), report);
    assert!(!allowed.stderr.contains("error"), "{}", allowed.stderr);
}

#[test]
fn nobody_listens() {
    // Bound and closed again: nobody takes the port in between, unless by bad
    // luck.
    let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .expect("a loopback port is free");
    let begin = Instant::now();
    let run =
        Gpucost::audit(Days::ahead()).at(&format!("http://{address}")).with_credentials().run();
    let error = run.error(1);
    assert!(error.starts_with("error: sts:GetCallerIdentity: "), "{error}");
    assert!(error.contains("Connection refused"), "{error}");
    assert!(
        error.ends_with("\nhint: check the network, the region name, and `--endpoint-url`\n"),
        "{error}"
    );
    // Four pauses of at most 1, 2, 4 and 8 seconds.
    assert!(begin.elapsed() < Duration::from_secs(25), "{:?}", begin.elapsed());
}

#[test]
fn interrupted_while_a_call_is_under_way() {
    let Some(office) = Office::open(&[VIRGINIA]) else { return };
    let loopback = &office.account.loopback;
    let target = Target::operation("ec2", "DescribeInstances");
    loopback.inject(target, Fault::Delay(Duration::from_secs(30)), Times::Always);
    let mut command = office.audit();
    let child = command.start();
    let begin = Instant::now();
    while loopback.calls("ec2", "DescribeInstances") == 0 {
        assert!(begin.elapsed() < Duration::from_secs(20), "no call was made");
        std::thread::sleep(Duration::from_millis(5));
    }
    let interrupted = Instant::now();
    let sent = Command::new("sh")
        .args(["-c", &format!("kill -INT {}", child.id())])
        .status()
        .expect("signals can be sent");
    assert!(sent.success(), "the program was there to interrupt");
    let run = Run::of(child);
    assert_eq!(run.error(130), "error: interrupted\n");
    assert!(interrupted.elapsed() < Duration::from_secs(10), "it did not wait for the answer");
}

#[test]
fn a_recording_is_not_written_when_the_audit_fails() {
    let Some(office) = Office::open(&[VIRGINIA]) else { return };
    let target = Target::operation("ec2", "DescribeInstances");
    let loopback = &office.account.loopback;
    loopback.inject(target, Fault::AccessDenied, Times::Always);
    let mut command = office.audit().args(&["--save", "est.json", "--output", "report.json"]);
    let run = command.run();
    run.error(1);
    let left: Vec<_> = command.folder().read_dir().expect("our own folder").collect();
    assert!(left.is_empty(), "{left:?}");
}
