//! Bills, to the last digit of every amount.

use crate::outcome::{done, failed, gpucost};
use crate::read::{files, rows_of, tables};
use std::path::{Path, PathBuf};
use std::process::Command;

const HEADER: &str = "lineItem/LineItemType,lineItem/UsageAccountId,bill/BillingPeriodStartDate,\
    lineItem/UsageStartDate,lineItem/UsageEndDate,lineItem/ProductCode,lineItem/UsageType,\
    lineItem/Operation,lineItem/ResourceId,lineItem/CurrencyCode,lineItem/UsageAmount,\
    lineItem/UnblendedCost,pricing/publicOnDemandCost,pricing/unit,\
    savingsPlan/SavingsPlanARN,savingsPlan/SavingsPlanEffectiveCost,\
    savingsPlan/TotalCommitmentToDate,savingsPlan/UsedCommitment,reservation/ReservationARN,\
    reservation/EffectiveCost,product/instanceType";

/// A line of a report: its type, usage type, operation, resource, hour and amounts.
fn line(what: &str, usage: &str, resource: &str, hour: u32, amounts: &str) -> String {
    let operation = if what == "Copy" { "EKSPod-EC2" } else { "RunInstances" };
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
    text +=
        &line("Usage", "BoxUsage:g5.xlarge", "i-1", 3, &format!("0.5,0.2,0.2,Hrs{none},g5.xlarge"));
    // An hour under a savings plan, its negation, and the unused part of the plan.
    text += &line(
        "SavingsPlanCoveredUsage", "BoxUsage:p5.48xlarge", "i-2", 4,
        "1,98.32,98.32,Hrs,arn:plan,43.16,,,,,p5.48xlarge",
    );
    text += &line(
        "SavingsPlanNegation", "BoxUsage:p5.48xlarge", "", 4,
        "1,-98.32,,Hrs,arn:plan,,,,,,p5.48xlarge",
    );
    text += &line(
        "SavingsPlanRecurringFee", "ComputeSP:1yrNoUpfront", "", 4,
        "1,50,,Hrs,arn:plan,,50,43.16,,,",
    );
    // A reserved hour without its effective cost, which is absent and not zero.
    text += &line(
        "DiscountedUsage", "BoxUsage:g6.xlarge", "i-3", 4, "1,0,0.8048,Hrs,,,,,arn:ri,,g6.xlarge",
    );
    text += &line(
        "Usage",
        "EBS:VolumeUsage.gp3",
        "vol-1",
        4,
        &format!("0.138888888888,0.011111111111,0.011111111111,GB-Mo{none},"),
    );
    text += &line("Copy", "EKS-EC2-Accelerator-Hours", "arn:pod", 4, &format!("1,0,0,Hrs{none},"));
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
        let mut own = found.iter().filter(|row| row[3] == resource && row[7] == kind);
        own.next().expect("a row").clone()
    };
    let one = of("i-1", "instance");
    assert_eq!(one[0], "2026-10-01");
    assert_eq!(one[1], "012345678901", "its zero stays");
    assert_eq!((&*one[4], &*one[5], &*one[6]), ("g5.xlarge", &*hour(3), "3600"));
    assert_eq!((&*one[8], &*one[9], &*one[10]), ("on-demand", "Hrs", "USD"));
    assert_eq!((&*one[11], &*one[12]), ("2", "0.750000000000"));
    // 0.1 + 0.2 is 0.3, which it is not as doubles.
    for amount in [14, 16, 18, 20] {
        assert_eq!(one[amount], "0.300000000000");
    }
    let covered = of("i-2", "instance");
    assert_eq!((&*covered[8], &*covered[18]), ("savings-plan", "43.160000000000"));
    assert_eq!(covered[20], "98.320000000000");
    let negation = of("", "negation");
    assert_eq!((&*negation[18], &*negation[20]), (&*zero("0"), "-98.320000000000"));
    assert_eq!((&*negation[14], &*negation[15]), ("null", "0"), "it has no list price");
    let unused = of("", "commitment");
    assert_eq!(unused[18], "6.840000000000", "50 - 43.16");
    let reserved = of("i-3", "instance");
    assert_eq!((&*reserved[8], &*reserved[18], &*reserved[19]), ("reserved", "null", "0"));
    assert_eq!(of("vol-1", "volume")[20], "0.011111111111");
    assert_eq!(found.len(), 6, "i-1, i-2, i-3, the volume, negation and commitment");
}

#[test]
fn a_bill_has_a_list_and_no_other_format_is_read_as_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cur.csv");
    std::fs::write(&path, bill()).expect("a bill");
    let (path, out) = (path.display().to_string(), folder.path().join("out"));
    let shown = out.display().to_string();
    let text = failed(&["bill", "--format", "focus", "--input", &path, "--out", &shown], 2, &out);
    assert!(text.contains("no column `SubAccountId`"), "{text}");
    done(&["bill", "--format", "legacy-cur", "--input", &path, "--out", &shown]);
    let names = files(&out);
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names[0].starts_with("archive/v1/bill/period=2026-10/"), "{names:?}");
    assert!(names[1].starts_with("archive/v1/bill_run/period=2026-10/"), "{names:?}");
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

/// Lines as a FOCUS export of several clouds writes them: words for nothing, types in
/// descriptions and usage types, and IDs in ARNs.
#[test]
fn words_for_nothing_state_nothing() {
    let header = "SubAccountId,RegionId,ResourceId,BillingPeriodStart,ChargePeriodStart,\
        ChargePeriodEnd,ChargeCategory,ServiceName,ChargeDescription,x_UsageType,PricingCategory,\
        PricingUnit,PricingQuantity,BillingCurrency,CommitmentDiscountId,ListCost,ContractedCost,\
        EffectiveCost,BilledCost";
    let ec2 = "Amazon Elastic Compute Cloud";
    let mut bill = format!("{header}\n");
    for (resource, what, hours) in [
        // The type is in the description, and the amounts but one are words.
        (
            "arn:aws:ec2:us-east-1:111122223333:instance/i-0a",
            format!("Usage,{ec2},$1.624 per On Demand Linux g5.4xlarge Instance Hour,NULL"),
            "Hours,0.25,USD,NULL,NULL,null,None,0.406",
        ),
        // It is in the usage type.
        ("i-0b", format!("Usage,{ec2},null,USW2-BoxUsage:p4d.24xlarge"), "Hrs,1,USD,,32,32,32,32"),
        // Another service charges by the hour of an instance; its ARN has no ID of its own.
        (
            "arn:aws:elasticmapreduce:us-east-1:1:cluster/j-1",
            "Usage,Amazon Elastic MapReduce,NULL,BoxUsage:p4d.24xlarge".to_owned(),
            "hour,1,USD,NULL,0.27,0.27,0.27,0.27",
        ),
        ("NULL", format!("Adjustment,{ec2},g5.4xlarge,NULL"), "NULL,NULL,USD,NULL,-1,-1,-1,-1"),
        ("NULL", "Purchase,Support,NULL,NULL".to_owned(), "NULL,1,USD,NULL,9,9,9,9"),
    ] {
        let (unit, amounts) = hours.split_once(',').expect("a unit");
        bill += &format!(
            "012345678901,us-east-1,{resource},2026-10-01 00:00:00,2026-10-05 03:00:00,\
             2026-10-05 04:00:00,{what},Standard,{unit},{amounts}\n"
        );
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("focus.csv");
    std::fs::write(&path, bill).expect("a bill");
    let out = folder.path().join("out");
    done(&[
        "bill",
        "--format",
        "focus",
        "--input",
        &path.display().to_string(),
        "--out",
        &out.display().to_string(),
    ]);
    // Resource, type, kind and unit; quantity, list, contracted, effective and billed cost.
    let chosen = [3, 4, 7, 9, 12, 14, 16, 18, 20];
    let mut found: Vec<Vec<String>> = rows(&out)
        .into_iter()
        .map(|row| chosen.map(|column| row[column].replace("0000000000", "")).to_vec())
        .collect();
    found.sort();
    let of = |row: &str| row.split('|').map(str::to_owned).collect::<Vec<String>>();
    let expected = [
        "||discount||null|null|null|-1.00|-1.00",
        "||support||1.00|null|null|9.00|9.00",
        "cluster/j-1||other|Hrs|1.00|0.27|0.27|0.27|0.27",
        "i-0a|g5.4xlarge|instance|Hrs|0.25|null|null|null|0.406000000000",
        "i-0b|p4d.24xlarge|instance|Hrs|1.00|32.00|32.00|32.00|32.00",
    ];
    assert_eq!(found, expected.map(of));
}

#[test]
fn a_bill_is_written_to_a_folder_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cur.csv").display().to_string();
    let out = "s3://bucket/history";
    let text =
        failed(&["bill", "--format", "cur2", "--input", &path, "--out", out], 2, Path::new(out));
    assert!(text.contains("a history is written to a folder"), "{text}");
}

/// The public sample of a bill, where it is beside this repository.
fn sample() -> Option<PathBuf> {
    let folder = std::env::var_os("GPUCOST_TEST_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"),
        PathBuf::from,
    );
    let path = folder.join("samples/billing/focus_1.0_sample_1000.csv");
    path.is_file().then_some(path)
}

/// Period to kind and purchase option, currency, lines, and all amounts but quantities.
fn comparable(out: &Path) -> Vec<Vec<String>> {
    let columns: Vec<usize> = (0..9).chain([10, 11]).chain(14..22).collect();
    let of = |row: &Vec<String>| columns.iter().map(|column| row[*column].clone()).collect();
    let mut found: Vec<Vec<String>> = rows(out).iter().map(of).collect();
    found.sort();
    found
}

#[test]
fn the_rows_are_those_that_gpucost_records() {
    const TEST: &str = "the_rows_are_those_that_gpucost_records";
    let Some(gpucost) = gpucost() else {
        eprintln!("SKIPPED: {TEST}: gpucost is not built");
        return;
    };
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/bills/cur2.csv");
    let mut bills = vec![("cur2", fixture, 18)];
    match sample() {
        Some(path) => bills.push(("focus", path, 900)),
        None => eprintln!("SKIPPED: {TEST}: the sample of FOCUS is not there"),
    }
    for (format, path, least) in bills {
        let folder = tempfile::tempdir().expect("a folder");
        let (own, other) = (folder.path().join("own"), folder.path().join("other"));
        let path = path.display().to_string();
        let out = own.display().to_string();
        done(&["bill", "--format", format, "--input", &path, "--out", &out]);
        let recorded = Command::new(&gpucost)
            .args(["bill", &path, "--record"])
            .arg(&other)
            .output()
            .expect("it starts");
        assert!(recorded.status.success(), "{recorded:?}");
        let (own, other) = (comparable(&own), comparable(&other));
        let first = own.iter().zip(&other).find(|(one, other)| one != other);
        assert_eq!(first, None, "{format}");
        assert_eq!(own.len(), other.len(), "{format}");
        assert!(own.len() >= least, "{format}: {} rows", own.len());
    }
}
