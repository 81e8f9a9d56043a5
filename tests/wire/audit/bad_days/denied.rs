//! An action that the policy lacks costs what it would have told, and no more:
//! a gap that names the action, and figures that say what they rest on.

use serde_json::{Value, json};

use super::{COST_AROUND_THE_CLOCK, COST_BY_DAY, IRELAND, Office, VIRGINIA, gap, gaps, workload};
use crate::wire::fleet::{Launch, Volume};
use crate::wire::loopback::{Fault, Target, Times};

impl Office {
    fn deny(&self, service: &str, operation: &str) {
        let target = Target::operation(service, operation);
        let loopback = &self.account.loopback;
        loopback.inject(target, Fault::AccessDenied, Times::Always);
    }
}

/// The reason names the action and the service's own word, the hint the cure.
fn names(action: &str, (_, reason, hint): (&str, &str, &str)) {
    let code =
        if action.starts_with("ec2:") { "UnauthorizedOperation" } else { "AccessDeniedException" };
    assert!(reason.starts_with(&format!("{action}: {code}: ")), "{reason}");
    let cure = format!("allow {action}; `gpucost setup iam` prints the full policy");
    assert!(hint.starts_with(&cure), "{hint}");
}

#[test]
fn one_region_is_a_gap_and_incomplete_under_strict() {
    let Some(office) = Office::open(&[VIRGINIA, IRELAND]) else { return };
    let target = Target::operation("ec2", "DescribeInstances").in_region("eu-west-1");
    let loopback = &office.account.loopback;
    loopback.inject(target, Fault::AccessDenied, Times::Always);
    let report = office.audit().run().json(0);
    assert_eq!(gaps(&report), ["region"]);
    let gap = gap(&report, "region");
    assert_eq!(gap.0, "eu-west-1");
    names("ec2:DescribeInstances", gap);
    assert_eq!(report["summary"]["instances"], 1);
    assert_eq!(workload(&report, &office.ids[0])["monthly_cost"], COST_BY_DAY);

    let strict = office.audit().args(&["--strict"]).run();
    assert_eq!(strict.json(3)["summary"], report["summary"]);
    assert_eq!(
        strict.stderr,
        "audited 1 instance; 1 gap\nerror: incomplete: 1 gap under `--strict`\n"
    );
}

#[test]
fn every_region_is_an_error() {
    let Some(office) = Office::open(&[VIRGINIA]) else { return };
    office.deny("ec2", "DescribeInstances");
    let run = office.audit().run();
    assert_eq!(
        run.error(1),
        "error: no region could be read (2 tried)\n  \
         caused by: ec2:DescribeInstances: UnauthorizedOperation: User is not authorized to \
         perform: ec2:DescribeInstances\n\
         hint: allow ec2:DescribeInstances; `gpucost setup iam` prints the full policy\n"
    );
}

#[test]
fn without_the_list_of_metrics_running_time_is_still_known() {
    let Some(office) = Office::open(&[VIRGINIA]) else { return };
    office.deny("cloudwatch", "ListMetrics");
    let report = office.audit().run().json(0);
    assert_eq!(gaps(&report), ["GPU utilization", "metrics"]);
    names("cloudwatch:ListMetrics", gap(&report, "metrics"));
    let row = workload(&report, &office.ids[0]);
    assert_eq!(row["classification"], "insufficient-data");
    assert_eq!(row["utilization"], Value::Null);
    assert_eq!(row["monthly_cost"], COST_BY_DAY);
}

#[test]
fn without_values_nothing_is_judged_and_it_ran_since_launch() {
    let Some(office) = Office::open(&[VIRGINIA]) else { return };
    office.deny("cloudwatch", "GetMetricData");
    let report = office.audit().run().json(0);
    assert_eq!(gaps(&report), ["GPU utilization", "metrics", "running time"]);
    let denied = gap(&report, "metrics");
    names("cloudwatch:GetMetricData", denied);
    // CPU twice and network, utilization twice, memory twice and four beside it.
    assert!(denied.1.ends_with("; 12 series are missing"), "{}", denied.1);
    let row = workload(&report, &office.ids[0]);
    assert_eq!(row["classification"], "insufficient-data");
    assert_eq!(row["monthly_cost"], COST_AROUND_THE_CLOCK);
    assert_eq!(row["plan"]["actions"], json!([]));
}

#[test]
fn series_that_cloudwatch_cannot_read_are_not_series_that_do_not_exist() {
    for (status, hint) in [
        ("InternalError", "run again with -v for details"),
        ("PartialData", "run again with -v for details"),
        ("Forbidden", "allow cloudwatch:GetMetricData; "),
    ] {
        let Some(office) = Office::open(&[VIRGINIA]) else { return };
        let loopback = &office.account.loopback;
        loopback.refuse_metric("nvidia_smi_utilization_gpu", status);
        let report = office.audit().run().json(0);
        let failed = gap(&report, "metrics");
        // Its mean and its maximum.
        let reason = format!("cloudwatch:GetMetricData: {status}; 2 series are missing");
        assert_eq!((failed.0, failed.1), ("us-east-1", reason.as_str()));
        assert!(failed.2.starts_with(hint), "{}", failed.2);
        let row = workload(&report, &office.ids[0]);
        assert_eq!(row["classification"], "insufficient-data");
        assert_eq!(row["monthly_cost"], COST_BY_DAY);
    }
}

#[test]
fn without_the_price_list_the_bundled_book_speaks() {
    let Some(office) = Office::open(&[VIRGINIA]) else { return };
    office.deny("pricing", "GetProducts");
    let report = office.audit().run().json(0);
    assert_eq!(gaps(&report), ["live prices"]);
    let denied = gap(&report, "live prices");
    names("pricing:GetProducts", denied);
    assert!(denied.1.contains("the bundled price catalog, is used"), "{}", denied.1);
    assert_eq!(workload(&report, &office.ids[0])["hourly_cost"], 1.006);
    assert_eq!(report["prices"]["origins"]["bundled"], 1);
    assert_eq!(report["prices"]["origins"]["api"], 0);
}

#[test]
fn without_the_spot_history_the_bundled_average_speaks() {
    let spot = Launch { spot: true, ..Launch::on_demand(IRELAND, "g5.xlarge") };
    let Some(office) = Office::with(&[spot]) else { return };
    office.deny("ec2", "DescribeSpotPriceHistory");
    let report = office.audit().run().json(0);
    assert_eq!(gaps(&report), ["spot prices"]);
    let denied = gap(&report, "spot prices");
    names("ec2:DescribeSpotPriceHistory", denied);
    assert!(denied.1.contains("the bundled average, is used"), "{}", denied.1);
    // Neither the 1.10 of On-Demand nor zero.
    assert_eq!(workload(&report, &office.ids[0])["hourly_cost"], 0.678367);
    assert_eq!(report["prices"]["origins"]["bundled"], 1);
}

#[test]
fn without_instance_types_the_bundled_catalog_speaks() {
    let Some(office) = Office::open(&[VIRGINIA]) else { return };
    let whole = office.audit().run().json(0);
    office.deny("ec2", "DescribeInstanceTypes");
    let report = office.audit().run().json(0);
    assert_eq!(gaps(&report), ["instance types"]);
    let denied = gap(&report, "instance types");
    names("ec2:DescribeInstanceTypes", denied);
    assert!(denied.1.contains("the bundled catalog is used"), "{}", denied.1);
    for part in ["summary", "workloads", "findings"] {
        assert_eq!(report[part], whole[part], "{part}");
    }
}

#[test]
fn without_volumes_what_a_stopped_instance_keeps_is_unpriced() {
    let stopped = Launch {
        stopped: true,
        volumes: &[Volume { volume_type: "gp3", gib: 500 }],
        ..Launch::on_demand(VIRGINIA, "g5.xlarge")
    };
    let Some(office) = Office::with(&[stopped]) else { return };
    let before = office.audit().run().json(0);
    // 500 × 0.08 of the bundled catalog: nothing is published here.
    assert_eq!(workload(&before, &office.ids[0])["monthly_cost"], 40.0);
    office.deny("ec2", "DescribeVolumes");
    office.deny("ec2", "DescribeAddresses");
    let report = office.audit().run().json(0);
    assert_eq!(gaps(&report), ["addresses", "storage price", "volumes"]);
    names("ec2:DescribeVolumes", gap(&report, "volumes"));
    names("ec2:DescribeAddresses", gap(&report, "addresses"));
    let (place, reason, _) = gap(&report, "storage price");
    assert_eq!(place, office.ids[0]);
    assert!(reason.starts_with("no price for unknown size unknown type (vol-"), "{reason}");
    assert_eq!(workload(&report, &office.ids[0])["monthly_cost"], Value::Null);
    assert_eq!(report["summary"]["unpriced_instances"], 1);
}

#[test]
fn without_the_list_of_regions_the_home_region_is_audited() {
    let Some(office) = Office::open(&[VIRGINIA, IRELAND]) else { return };
    office.deny("ec2", "DescribeRegions");
    let report = office.audit_everywhere().run().json(0);
    assert_eq!(gaps(&report), ["regions"]);
    let (place, reason, hint) = gap(&report, "regions");
    names("ec2:DescribeRegions", (place, reason, hint));
    assert!(reason.ends_with("; only us-east-1 is read"), "{reason}");
    assert!(hint.ends_with("or specify regions with `--region`"), "{hint}");
    assert_eq!(report["scope"]["regions"], json!(["us-east-1"]));
    assert_eq!(report["summary"]["instances"], 1);
}

#[test]
fn a_region_that_is_not_enabled_is_a_gap() {
    let Some(office) = Office::open(&[VIRGINIA]) else { return };
    let target = Target::service("ec2").in_region("eu-west-1");
    let loopback = &office.account.loopback;
    loopback.inject(target, Fault::AuthFailure, Times::Always);
    let report = office.audit().run().json(0);
    assert_eq!(gaps(&report), ["region"]);
    let (place, reason, hint) = gap(&report, "region");
    assert_eq!(place, "eu-west-1");
    assert!(reason.starts_with("ec2:DescribeInstances: AuthFailure: "), "{reason}");
    assert!(hint.contains("whether the region is enabled"), "{hint}");
    assert_eq!(report["summary"]["instances"], 1);
}
