//! Bills, to the last digit of every amount.

use crate::outcome::{done, failed};
use crate::read::{files, rows_of, tables};
use std::path::Path;

const HEADER: &str = "lineItem/LineItemType,lineItem/UsageAccountId,bill/BillingPeriodStartDate,\
    lineItem/UsageStartDate,lineItem/UsageEndDate,lineItem/ProductCode,lineItem/UsageType,\
    lineItem/Operation,lineItem/ResourceId,lineItem/CurrencyCode,lineItem/UsageAmount,\
    lineItem/UnblendedCost,pricing/publicOnDemandCost,pricing/unit,\
    savingsPlan/SavingsPlanARN,savingsPlan/SavingsPlanEffectiveCost,\
    savingsPlan/TotalCommitmentToDate,savingsPlan/UsedCommitment,reservation/ReservationARN,\
    reservation/EffectiveCost,product/instanceType";

/// A line of a report: its type, usage type, operation, resource, hour and amounts.
fn line(what: &str, usage: &str, resource: &str, hour: u32, amounts: &str) -> String {
    let operation = if what == "Copy" {
        "EKSPod-EC2"
    } else {
        "RunInstances"
    };
    let kind = if what == "Copy" { "Usage" } else { what };
    let times = format!(
        "2026-10-01T00:00:00Z,2026-10-05T{hour:02}:00:00Z,2026-10-05T{:02}:00:00Z",
        hour + 1
    );
    format!("{kind},012345678901,{times},AmazonEC2,{usage},{operation},{resource},USD,{amounts}\n")
}

pub fn bill() -> String {
    let none = ",,,,,,";
    let mut text = format!("{}\n", HEADER.replace("    ", ""));
    // Two part hours of one instance, 0.1 + 0.2 dollars, in the same hour.
    text += &line(
        "Usage",
        "BoxUsage:g5.xlarge",
        "i-1",
        3,
        &format!("0.25,0.1,0.1,Hrs{none},g5.xlarge"),
    );
    text += &line(
        "Usage",
        "BoxUsage:g5.xlarge",
        "i-1",
        3,
        &format!("0.5,0.2,0.2,Hrs{none},g5.xlarge"),
    );
    // An hour under a savings plan, its negation, and the unused part of the plan.
    text += &line(
        "SavingsPlanCoveredUsage",
        "BoxUsage:p5.48xlarge",
        "i-2",
        4,
        "1,98.32,98.32,Hrs,arn:plan,43.16,,,,,p5.48xlarge",
    );
    text += &line(
        "SavingsPlanNegation",
        "BoxUsage:p5.48xlarge",
        "",
        4,
        "1,-98.32,,Hrs,arn:plan,,,,,,p5.48xlarge",
    );
    text += &line(
        "SavingsPlanRecurringFee",
        "ComputeSP:1yrNoUpfront",
        "",
        4,
        "1,50,,Hrs,arn:plan,,50,43.16,,,",
    );
    // A reserved hour without its effective cost, which is absent and not zero.
    text += &line(
        "DiscountedUsage",
        "BoxUsage:g6.xlarge",
        "i-3",
        4,
        "1,0,0.8048,Hrs,,,,,arn:ri,,g6.xlarge",
    );
    text += &line(
        "Usage",
        "EBS:VolumeUsage.gp3",
        "vol-1",
        4,
        &format!("0.138888888888,0.011111111111,0.011111111111,GB-Mo{none},"),
    );
    text += &line(
        "Copy",
        "EKS-EC2-Accelerator-Hours",
        "arn:pod",
        4,
        &format!("1,0,0,Hrs{none},"),
    );
    text
}

fn rows(out: &Path) -> Vec<Vec<String>> {
    let found = tables(out);
    found.get("bill").cloned().unwrap_or_default()
}

#[test]
fn lines_add_up_by_resource_and_hour() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cur.csv");
    std::fs::write(&path, bill()).expect("a bill");
    let out = folder.path().join("out");
    let stderr = done(&[
        "bill",
        "--format",
        "legacy-cur",
        "--input",
        &path.display().to_string(),
        "--out",
        &out.display().to_string(),
    ]);
    assert!(stderr.contains("8 lines; 1 copies"), "{stderr}");
    // 1,791,158,400 seconds are 2026-10-05T00:00:00Z.
    let hour = |hour: i64| (1_791_158_400 + hour * 3_600).to_string();
    let zero = |text: &str| format!("{text}.000000000000");
    let found = rows(&out);
    let of = |resource: &str, kind: &str| {
        let mut own = found
            .iter()
            .filter(|row| row[3] == resource && row[7] == kind);
        own.next().expect("a row").clone()
    };
    let one = of("i-1", "instance");
    assert_eq!(one[0], "2026-10-01");
    assert_eq!(one[1], "012345678901", "its zero stays");
    assert_eq!(
        (&*one[4], &*one[5], &*one[6]),
        ("g5.xlarge", &*hour(3), "3600")
    );
    assert_eq!((&*one[8], &*one[9], &*one[10]), ("on-demand", "Hrs", "USD"));
    assert_eq!((&*one[11], &*one[12]), ("2", "0.750000000000"));
    // 0.1 + 0.2 is 0.3, which it is not as doubles.
    for amount in [14, 16, 18, 20] {
        assert_eq!(one[amount], "0.300000000000");
    }
    let covered = of("i-2", "instance");
    assert_eq!(
        (&*covered[8], &*covered[18]),
        ("savings-plan", "43.160000000000")
    );
    assert_eq!(covered[20], "98.320000000000");
    let negation = of("null", "negation");
    assert_eq!(
        (&*negation[18], &*negation[20]),
        (&*zero("0"), "-98.320000000000")
    );
    assert_eq!(
        (&*negation[14], &*negation[15]),
        ("null", "0"),
        "it has no list price"
    );
    let unused = of("null", "commitment");
    assert_eq!(unused[18], "6.840000000000", "50 - 43.16");
    let reserved = of("i-3", "instance");
    assert_eq!(
        (&*reserved[8], &*reserved[18], &*reserved[19]),
        ("reserved", "null", "0")
    );
    assert_eq!(of("vol-1", "volume")[20], "0.011111111111");
    assert_eq!(
        found.len(),
        6,
        "i-1, i-2, i-3, the volume, negation and commitment"
    );
}

#[test]
fn a_bill_has_a_list_and_no_other_format_is_read_as_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cur.csv");
    std::fs::write(&path, bill()).expect("a bill");
    let (path, out) = (path.display().to_string(), folder.path().join("out"));
    let shown = out.display().to_string();
    let text = failed(
        &[
            "bill", "--format", "focus", "--input", &path, "--out", &shown,
        ],
        2,
        &out,
    );
    assert!(text.contains("no column `SubAccountId`"), "{text}");
    done(&[
        "bill",
        "--format",
        "legacy-cur",
        "--input",
        &path,
        "--out",
        &shown,
    ]);
    let names = files(&out);
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(
        names[0].starts_with("archive/v1/bill/period=2026-10/"),
        "{names:?}"
    );
    assert!(
        names[1].starts_with("archive/v1/bill_run/period=2026-10/"),
        "{names:?}"
    );
    assert_eq!(rows_of(&out.join(&names[0])).len(), 6);
}

#[test]
fn half_a_bill_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cur.csv");
    let text = bill();
    let half = text.len() - 30;
    std::fs::write(&path, &text[..half]).expect("half a bill");
    let out = folder.path().join("out");
    let output = crate::outcome::run(&[
        "bill",
        "--format",
        "legacy-cur",
        "--input",
        &path.display().to_string(),
        "--out",
        &out.display().to_string(),
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert!(!out.join("archive/v1/bill_run").exists());
}
