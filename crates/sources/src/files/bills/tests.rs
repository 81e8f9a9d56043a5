use super::folder::files_in;
use super::*;
use crate::domain::{BillLine, Currency, LineKind, PriceOption, PurchaseOption, SharedPart};
use rust_decimal::Decimal;
use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;

fn fixture(name: &str) -> PathBuf {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    root.join("fixtures/bills").join(name)
}

fn lines_of(paths: &[PathBuf], options: &BillOptions) -> Result<Vec<BillLine>, BillError> {
    let mut lines = Vec::new();
    let mut each = |line| {
        lines.push(line);
        ControlFlow::Continue(())
    };
    read_bill(paths, options, &mut each).map(|_| lines)
}

fn tagged() -> BillOptions {
    BillOptions { tag: Some("team".to_owned()), currency: None }
}

fn decimal(text: &str) -> Option<Decimal> {
    Some(text.parse().expect("a decimal"))
}

/// List, contracted, effective and billed cost.
fn costs(line: &BillLine) -> [Option<Decimal>; 4] {
    let costs = &line.costs;
    [costs.list, costs.contracted, costs.effective, costs.billed]
}

#[test]
fn each_type_of_line_has_its_amortized_cost() {
    let lines = lines_of(&[fixture("cur2.csv")], &tagged()).expect("a bill");
    assert_eq!(lines.len(), 29);
    let find = |kind: LineKind, option: PurchaseOption| {
        let is_it = |line: &&BillLine| line.kind == kind && line.purchase_option == Some(option);
        lines.iter().find(is_it).expect("a line")
    };
    let covered = find(LineKind::Instance, PurchaseOption::SavingsPlan);
    assert_eq!(
        costs(covered),
        [decimal("21.957642"), decimal("19.7618778"), decimal("14.5"), decimal("19.7618778")]
    );
    assert_eq!(covered.commitment.as_deref(), Some("5b1c0f2e-7d3a-4a10-9c1e-000000000001"));
    let term = "compute-savings-plan-1yr-no-upfront";
    assert_eq!(covered.offer, PriceOption::from_name(term));
    assert_eq!(covered.tag.as_deref(), Some("research"));

    let reserved = find(LineKind::Instance, PurchaseOption::Reserved);
    assert_eq!(costs(reserved), [decimal("1.861"), None, decimal("1.17"), decimal("0")]);
    assert_eq!(reserved.offer, PriceOption::from_name("reserved-1yr-no-upfront"));
    assert_eq!(reserved.tag, None);

    let negated = find(LineKind::Negation, PurchaseOption::SavingsPlan);
    assert_eq!(costs(negated), [None, None, decimal("0"), decimal("-19.7618778")]);
    // 20 committed, 14.5 used.
    let fee = find(LineKind::Commitment, PurchaseOption::SavingsPlan);
    assert_eq!(costs(fee), [None, None, decimal("5.5"), decimal("20")]);
    let fee = find(LineKind::Commitment, PurchaseOption::Reserved);
    assert_eq!(costs(fee), [None, None, decimal("1.17"), decimal("3.51")]);
    assert_eq!(fee.instance_type.as_deref(), Some("g6e.xlarge"));

    let spot = find(LineKind::Instance, PurchaseOption::Spot);
    assert_eq!(spot.instance_type.as_deref(), Some("g5.xlarge"));
    assert_eq!(spot.offer, Some(PriceOption::Spot));
    let unused = find(LineKind::UnusedReservation, PurchaseOption::OnDemand);
    assert_eq!(unused.resource.as_deref(), Some("cr-0ddd000000000001a"));
    assert_eq!(unused.hours, decimal("1"));

    let copy = find(LineKind::SplitCopy, PurchaseOption::OnDemand);
    let share = copy.share.as_ref().expect("a pod");
    assert_eq!(share.part, SharedPart::Accelerator);
    assert_eq!(share.parent.as_deref(), Some("i-0aaa000000000001a"));
    let names = [&share.cluster, &share.namespace, &share.name];
    let names = names.map(|name| name.as_deref().unwrap_or_default());
    assert_eq!(names, ["prod", "search", "ranker-0"]);
}

#[test]
fn a_machine_of_azure_is_named_by_the_details_of_its_price() {
    for key in ["ServiceType", "x_ServiceType", "x_VMSize"] {
        let text = format!(
            "ChargeCategory,BilledCost,EffectiveCost,BillingCurrency,ProviderName,ServiceName,\
             PricingQuantity,PricingUnit,SkuPriceDetails\n\
             Usage,3.673,3.673,USD,Microsoft,Virtual Machines,\
             1,Hours,\"{{\"\"{key}\"\":\"\"Standard_NC24ads_A100_v4\"\"}}\"\n"
        );
        let folder = folder(&[("bill.csv", &text)]);
        let lines = lines_of(&[folder.path().join("bill.csv")], &BillOptions::default());
        let lines = lines.expect("a bill");
        assert_eq!(lines[0].kind, LineKind::Instance, "{key}");
        let name = lines[0].instance_type.as_deref();
        assert_eq!(name, Some("Standard_NC24ads_A100_v4"), "{key}");
        assert_eq!(lines[0].hours, decimal("1"), "{key}");
    }
}

/// A Windows machine of Azure has two lines of an hour: the machine, and its license.
#[test]
fn a_license_of_azure_is_no_hour_of_a_machine() {
    let header = "ChargeCategory,BilledCost,EffectiveCost,BillingCurrency,ProviderName,\
                  ServiceName,x_SkuMeterCategory,PricingQuantity,PricingUnit,x_SkuInstanceType\n";
    let line = |cost: &str, service: &str, meter: &str| {
        format!(
            "Usage,{cost},{cost},usd,Microsoft,{service},{meter},1,Hours,\
             Standard_NC24ads_A100_v4\n"
        )
    };
    let rows = [
        line("3.673", "Virtual Machines", "Virtual Machines"),
        line("1.104", "Virtual Machines", "Virtual Machines Licenses"),
        line("1.104", "Virtual Machines Licenses", ""),
    ];
    let text = format!("{header}{}", rows.concat());
    let folder = folder(&[("bill.csv", &text)]);
    let lines = lines_of(&[folder.path().join("bill.csv")], &BillOptions::default());
    // `usd` is USD.
    let lines = lines.expect("a bill");
    let kinds: Vec<_> = lines.iter().map(|line| (line.kind, line.hours)).collect();
    let other = (LineKind::Other, None);
    let machine = (LineKind::Instance, decimal("1"));
    assert_eq!(kinds, [machine, other, other]);
    assert!(lines.iter().all(|line| line.costs.currency == Currency::Usd));
    assert_eq!(lines[1].instance_type, None);
}

/// Readings of one month as single files: the later one has two days more, and revised the
/// last hour of the earlier one.
#[test]
fn two_readings_of_a_month_do_not_add_up() {
    let header = "ChargeCategory,BilledCost,EffectiveCost,BillingCurrency,ProviderName,\
                  ServiceName,SubAccountId,ResourceId,x_InstanceType,PricingQuantity,PricingUnit,\
                  ChargePeriodStart,ChargePeriodEnd\n";
    let hour = |day: usize, hour: usize, cost: &str| {
        format!(
            "Usage,{cost},{cost},USD,AWS,Amazon Elastic Compute Cloud,111122223333,i-1,\
             g5.xlarge,1,Hours,2026-10-{day:02}T{hour:02}:00:00Z,\
             2026-10-{day:02}T{hour:02}:59:59Z\n"
        )
    };
    let text = |days: std::ops::RangeInclusive<usize>| -> String {
        let hours = days.flat_map(|day| (0..24).map(move |at| (day, at)));
        let rows = hours.map(|(day, at)| hour(day, at, "1.006"));
        format!("{header}{}", rows.collect::<String>())
    };
    let (short, one) = (hour(9, 0, "1.006"), hour(9, 1, "1.006"));
    let folder = folder(&[
        ("earlier.csv", &(text(1..=2) + &hour(3, 0, "0.5"))),
        ("later.csv", &text(1..=5)),
        ("november.csv", &(text(6..=8) + &hour(3, 0, "-0.1"))),
        ("year.csv", &text(1..=28)),
        ("small.csv", &format!("{header}{short}")),
        ("copy.csv", &format!("{header}{short}")),
        ("next.csv", &format!("{header}{one}")),
    ]);
    let read = |names: [&str; 2]| {
        let paths = names.map(|name| folder.path().join(name));
        lines_of(&paths, &BillOptions::default()).map(|lines| lines.len())
    };
    for names in [
        ["earlier.csv", "later.csv"],
        ["later.csv", "earlier.csv"],
        // 120 of 672 hours, of which 512 are kept.
        ["year.csv", "later.csv"],
        ["small.csv", "copy.csv"],
    ] {
        let error = read(names).expect_err("the same hours");
        assert!(matches!(error, BillError::Overlap { .. }), "{error:?}");
    }
    // A correction of an hour does not count as another reading.
    assert_eq!(read(["later.csv", "november.csv"]).expect("two months"), 193);
    assert_eq!(read(["small.csv", "next.csv"]).expect("two hours"), 2);
}

/// Only the refund of a one-time fee, which is spread over the hours of the plan, is 0.
#[test]
fn a_refund_of_a_plan_counts_but_for_its_one_time_fee() {
    let text = "line_item_line_item_type,line_item_unblended_cost,line_item_currency_code,\
                line_item_product_code,line_item_line_item_description,\
                savings_plan_savings_plan_a_r_n\n\
                Refund,-100,USD,ComputeSavingsPlans,\
                Refund for one-time fee for Savings Plan ID: 5b1c,plan/5b1c\n\
                Refund,-7.5,USD,ComputeSavingsPlans,Refund of recurring fee,plan/5b1c\n\
                Refund,-2.25,USD,AmazonEC2,Refund for one-time fee for Savings Plan ID,\n";
    let folder = folder(&[("bill.csv", text)]);
    let lines = lines_of(&[folder.path().join("bill.csv")], &BillOptions::default());
    let lines = lines.expect("a bill");
    let amounts: Vec<_> =
        lines.iter().map(|line| (line.kind, line.costs.effective, line.costs.billed)).collect();
    let refund = |effective, billed| (LineKind::Refund, decimal(effective), decimal(billed));
    assert_eq!(amounts, [refund("0", "-100"), refund("-7.5", "-7.5"), refund("-2.25", "-2.25")]);
}

#[test]
fn two_versions_of_a_report_have_the_same_lines() {
    let of = |name: &str| lines_of(&[fixture(name)], &tagged()).expect("a bill");
    assert_eq!(of("cur2.csv"), of("legacy.csv"));
}

#[test]
fn a_currency_is_stated_by_the_bill_or_by_hand() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("bill.csv");
    let text = "ChargeCategory,BilledCost,EffectiveCost\nUsage,1,1\n";
    fs::write(&path, text).expect("writable");
    let paths = [path.clone()];
    let error = lines_of(&paths, &BillOptions::default()).expect_err("no currency");
    assert!(matches!(&error, BillError::Row { row: 1, .. }), "{error:?}");
    let stated = BillOptions { tag: None, currency: Some(Currency::Eur) };
    let lines = lines_of(&paths, &stated).expect("a bill");
    assert_eq!(lines[0].costs.currency, Currency::Eur);

    let text = "ChargeCategory,BilledCost,EffectiveCost,BillingCurrency\n\
                Usage,1,1,GBP\nUsage,2,2,USD\nUsage,3,3,GBP\n";
    fs::write(&path, text).expect("writable");
    let mut lines = 0;
    let mut each = |_| {
        lines += 1;
        ControlFlow::Continue(())
    };
    let read = read_bill(&paths, &BillOptions::default(), &mut each).expect("a bill");
    assert_eq!(lines, 1);
    assert_eq!(read.other_currencies.get("GBP"), Some(&2));
}

/// A folder with files, by their paths in it.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a scratch folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        let above = path.parent().expect("a folder");
        fs::create_dir_all(above).expect("writable");
        fs::write(path, text).expect("writable");
    }
    folder
}

/// The files that are read of a folder, by their paths in it, and how many are left out.
fn read_of(folder: &Path, below: &str) -> Result<(Vec<String>, u64), BillError> {
    let files = files_in(&folder.join(below))?;
    let whole = fs::canonicalize(folder).expect("it is there");
    let inside = |path: &PathBuf| {
        let path = fs::canonicalize(path).expect("it is there");
        let inside = path.strip_prefix(&whole).expect("it is in the folder");
        inside.to_string_lossy().into_owned()
    };
    Ok((files.read.iter().map(inside).collect(), files.superseded))
}

#[test]
fn the_manifest_of_a_period_names_its_latest_reading() {
    let manifest = r#"{"assemblyId": "a1", "reportKeys": [
        "costs/r/20261001-20261101/a1/r-1.csv.gz", "costs/r/20261001-20261101/a1/r-2.csv.gz"]}"#;
    let older = r#"{"reportKeys": ["costs/r/20261001-20261101/z9/r-1.csv.gz"]}"#;
    let folder = folder(&[
        ("r/20261001-20261101/r-Manifest.json", manifest),
        ("r/20261001-20261101/a1/r-Manifest.json", manifest),
        ("r/20261001-20261101/a1/r-1.csv.gz", ""),
        ("r/20261001-20261101/a1/r-2.csv.gz", ""),
        ("r/20261001-20261101/z9/r-Manifest.json", older),
        ("r/20261001-20261101/z9/r-1.csv.gz", ""),
        ("r/20260901-20261001/b2/r-1.csv.gz", ""),
        ("r/.hidden.csv", ""),
        ("r/create-table.sql", ""),
    ]);
    let latest = [
        "r/20260901-20261001/b2/r-1.csv.gz", "r/20261001-20261101/a1/r-1.csv.gz",
        "r/20261001-20261101/a1/r-2.csv.gz",
    ];
    let read = |below: &str| read_of(folder.path(), below).expect("a bill");
    assert_eq!(read(""), (latest.map(str::to_owned).to_vec(), 1));
    // The folder of a period by itself.
    let (files, superseded) = read("r/20261001-20261101");
    assert_eq!((files.as_slice(), superseded), (&latest.map(str::to_owned)[1..], 1));

    fs::remove_file(folder.path().join("r/20261001-20261101/a1/r-2.csv.gz")).expect("there");
    let error = read_of(folder.path(), "").expect_err("half a bill");
    assert!(error.to_string().contains("names 1 of 2 files"), "{error}");
    let without = "r/20261001-20261101/r-Manifest.json";
    fs::remove_file(folder.path().join(without)).expect("there");
    let error = read_of(folder.path(), "").expect_err("which one?");
    assert!(matches!(error, BillError::Ambiguous { readings: 2, .. }), "{error:?}");
}

#[test]
fn exports_of_the_second_version_are_read_once() {
    let manifest = r#"{"dataFiles": [
        "s3://bucket/costs/e/data/BILLING_PERIOD=2026-10/2026-10-03T05:00:00.000Z-9f/e-1.csv.gz"
    ]}"#;
    let october = "e/data/BILLING_PERIOD=2026-10";
    let folder = folder(&[
        ("e/metadata/BILLING_PERIOD=2026-10/e-Manifest.json", manifest),
        (&format!("{october}/2026-10-02T05:00:00.000Z-1a/e-1.csv.gz"), ""),
        (&format!("{october}/2026-10-03T05:00:00.000Z-9f/e-1.csv.gz"), ""),
        // Without a manifest, the latest is the one with the last time.
        ("e/data/BILLING_PERIOD=2026-09/2026-09-30T05:00:00.000Z-2b/e-1.csv.gz", ""),
        ("e/data/BILLING_PERIOD=2026-09/2026-09-29T05:00:00.000Z-8c/e-1.csv.gz", ""),
        // Written over each time.
        ("e/data/BILLING_PERIOD=2026-08/e-1.snappy.parquet", ""),
        ("e/data/BILLING_PERIOD=2026-08/e-2.snappy.parquet", ""),
    ]);
    let (files, superseded) = read_of(folder.path(), "e").expect("a bill");
    assert_eq!(
        files,
        [
            "e/data/BILLING_PERIOD=2026-08/e-1.snappy.parquet".to_owned(),
            "e/data/BILLING_PERIOD=2026-08/e-2.snappy.parquet".to_owned(),
            "e/data/BILLING_PERIOD=2026-09/2026-09-30T05:00:00.000Z-2b/e-1.csv.gz".to_owned(),
            format!("{october}/2026-10-03T05:00:00.000Z-9f/e-1.csv.gz"),
        ]
    );
    assert_eq!(superseded, 2);
    let nothing = self::folder(&[("notes.txt", "")]);
    let error = read_of(nothing.path(), "").expect_err("no bill");
    assert!(matches!(error, BillError::Form { .. }), "{error:?}");
}

#[test]
fn an_earlier_reading_never_passes_for_the_one_of_the_manifest() {
    let second = r#"{"dataFiles": [
        "s3://b/e/data/BILLING_PERIOD=2026-10/2026-10-03T05:00:00.000Z-9f/e-1.csv.gz"]}"#;
    let first = r#"{"reportKeys": ["c/r/20261001-20261101/20261003T050000Z/r-1.csv.gz"]}"#;
    let earlier = "data/BILLING_PERIOD=2026-10/2026-10-02T05:00:00.000Z-1a/e-1.csv.gz";
    for (manifest, text, file) in [
        ("metadata/BILLING_PERIOD=2026-10/e-Manifest.json", second, earlier),
        (
            "20261001-20261101/r-Manifest.json", first,
            "20261001-20261101/20261002T050000Z/r-1.csv.gz",
        ),
    ] {
        let folder = folder(&[(manifest, text), (file, "")]);
        let error = read_of(folder.path(), "").expect_err("an earlier reading");
        assert!(error.to_string().contains("names 1 of 1 files"), "{error}");
    }
    // The manifest of another export says nothing about this one, and a manifest of another
    // kind lists no files of a bill.
    let folder = folder(&[
        ("a/20261001-20261101/r-Manifest.json", first),
        ("b/20261001-20261101/x-1.csv.gz", ""),
        ("b/20261001-20261101/x-RedshiftManifest.json", r#"{"entries": []}"#),
    ]);
    let (files, superseded) = read_of(folder.path(), "").expect("a bill");
    assert_eq!((files, superseded), (vec!["b/20261001-20261101/x-1.csv.gz".to_owned()], 0));
}

#[test]
fn a_file_counts_once() {
    let path = fixture("cur2.csv");
    let error = lines_of(&[path.clone(), path], &tagged()).expect_err("twice");
    assert!(matches!(error, BillError::Alike { .. }), "{error:?}");
    // The same lines under another name, and in a report of another version.
    let legacy = fs::read_to_string(fixture("legacy.csv")).expect("a fixture");
    let (shorter, _) = legacy.trim_end().rsplit_once('\n').expect("lines");
    let cur2 = fs::read_to_string(fixture("cur2.csv")).expect("a fixture");
    let folder = folder(&[("copy.csv", &cur2), ("shorter.csv", shorter)]);
    for other in [folder.path().join("copy.csv"), fixture("legacy.csv")] {
        let error = lines_of(&[fixture("cur2.csv"), other], &tagged()).expect_err("a copy");
        assert!(matches!(error, BillError::Alike { .. }), "{error:?}");
    }
    // Two exports of the same month that differ in a line, of two families and of one.
    for other in [fixture("focus12.csv"), folder.path().join("shorter.csv")] {
        let both = [fixture("cur2.csv"), other];
        let mut each = |_| ControlFlow::Continue(());
        let read = read_bill(&both, &tagged(), &mut each).expect("both are bills");
        let payers: Vec<&String> = read.in_two_forms.iter().collect();
        assert_eq!(payers, ["111122223333"], "{both:?}");
    }
    let mut each = |_| ControlFlow::Continue(());
    let one = read_bill(&[fixture("cur2.csv")], &tagged(), &mut each).expect("a bill");
    assert_eq!(one.in_two_forms, BTreeSet::new());
}
