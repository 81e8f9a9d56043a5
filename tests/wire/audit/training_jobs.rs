//! Training jobs of SageMaker with their dollars, each worked out by hand.

use std::path::Path;

use serde_json::{Value, json};

use super::account::Account;
use super::command::{Gpucost, Run};
use super::days::Days;
use crate::wire::loopback::{Fault, Target, Times};

const REGION: &str = "us-east-1";

/// A job that has ended, as SageMaker describes it: so many seconds of training, of which so
/// many are billed.
fn ended(name: &str, at: i64, resources: Value, [training, billable]: [u32; 2]) -> Value {
    json!({
        "TrainingJobName": name,
        "TrainingJobArn": format!("arn:aws:sagemaker:{REGION}:111122223333:training-job/{name}"),
        "TrainingJobStatus": "Completed",
        "SecondaryStatus": "Completed",
        "ResourceConfig": resources,
        "CreationTime": at,
        "TrainingStartTime": at + 100,
        "TrainingEndTime": at + 100 + i64::from(training),
        "LastModifiedTime": at + 100 + i64::from(training),
        "TrainingTimeInSeconds": training,
        "BillableTimeInSeconds": billable,
        "EnableManagedSpotTraining": false,
    })
}

fn of_type(name: &str, count: u32) -> Value {
    json!({ "InstanceType": name, "InstanceCount": count, "VolumeSizeInGB": 50 })
}

fn put_prices(account: &Account) {
    for (name, component, hourly) in [
        ("ml.g4dn.12xlarge", "Training", "4.89"),
        // A job does not cost what an endpoint does.
        ("ml.g5.xlarge", "Hosting", "1.408"),
        ("ml.m5.xlarge", "Training", "0.23"),
        ("ml.p3.2xlarge", "Training", "3.825"),
    ] {
        account.loopback.put_component_price(REGION, name, component, hourly);
    }
}

fn inventory(account: &Account, days: Days, further: &[&str]) -> Run {
    Gpucost::new(&["inventory", "--lookback", "14d"])
        .of(account)
        .args(&["--as-of", &days.as_of(), "--region", REGION])
        .args(&["--services", "sagemaker", "--allow-empty"])
        .args(further)
        .run()
}

fn jobs(document: &Value) -> &[Value] {
    document["training_jobs"].as_array().map_or(&[], Vec::as_slice)
}

/// Gaps, without those of lists that moto cannot answer.
fn gaps(document: &Value) -> Vec<&Value> {
    let listed = document["gaps"].as_array().expect("a list").iter();
    listed.filter(|gap| gap["what"] != "region").collect()
}

/// Everything that a job can be.
fn put_jobs(account: &Account, days: Days) {
    let put = |job| account.loopback.put_training_job(REGION, job);
    let at = days.at(288);
    let mut kept_warm = ended("fit", at, of_type("ml.g4dn.12xlarge", 2), [9_000, 9_000]);
    kept_warm["WarmPoolStatus"] = json!({
        "Status": "Terminated", "ResourceRetainedBillableTimeInSeconds": 600,
    });
    put(kept_warm);
    let mut spot = ended("spot", at, of_type("ml.p3.2xlarge", 1), [10_000, 3_750]);
    spot["EnableManagedSpotTraining"] = true.into();
    spot["CheckpointConfig"] = json!({ "S3Uri": "s3://models/spot" });
    put(spot);
    let groups = json!({ "VolumeSizeInGB": 50, "InstanceGroups": [
        { "InstanceGroupName": "gpu", "InstanceType": "ml.g4dn.12xlarge", "InstanceCount": 2 },
        { "InstanceGroupName": "cpu", "InstanceType": "ml.m5.xlarge", "InstanceCount": 3 },
    ] });
    put(ended("mixed", at, groups, [3_600, 3_600]));
    put(json!({
        "TrainingJobName": "running",
        "TrainingJobStatus": "InProgress",
        "SecondaryStatus": "Training",
        "ResourceConfig": of_type("ml.p3.2xlarge", 8),
        "CreationTime": at,
        "TrainingStartTime": at + 100,
        "LastModifiedTime": at + 100,
    }));
    let mut planned = ended("planned", at, of_type("ml.p5.48xlarge", 4), [7_200, 7_200]);
    let plan = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/spring";
    planned["ResourceConfig"]["TrainingPlanArn"] = plan.into();
    put(planned);
    put(ended("odd", at, of_type("ml.g5.xlarge", 1), [100, 100]));
    // Without a GPU, and before the window.
    put(ended("prepare", at, of_type("ml.m5.xlarge", 9), [100, 100]));
    let before = days.at(-288);
    put(ended("old", before, of_type("ml.p3.2xlarge", 9), [100, 100]));
    let elsewhere = ended("elsewhere", at, of_type("ml.p3.2xlarge", 9), [100, 100]);
    account.loopback.put_training_job("eu-west-1", elsewhere);
}

#[test]
fn each_job_costs_the_seconds_that_are_billed() {
    let Some(account) = Account::open() else { return };
    let days = Days::ahead();
    put_prices(&account);
    put_jobs(&account, days);

    let document = inventory(&account, days, &["--format", "json"]).json(0);
    let rows: Vec<Value> = jobs(&document)
        .iter()
        .map(|job| {
            let keys = ["name", "cost", "warm_pool_cost", "spot_saving_percent"];
            keys.iter().map(|key| job[key].clone()).collect()
        })
        .collect();
    let expected = [
        // 9,000 s × 2 × 4.89 ÷ 3,600 = 24.45; 600 s × 2 × 4.89 ÷ 3,600 = 1.63.
        json!(["fit", 24.45, 1.63, null]),
        // 3,600 s × (2 × 4.89 + 3 × 0.23) ÷ 3,600 = 9.78 + 0.69
        json!(["mixed", 10.47, null, null]),
        // 3,750 s × 3.825 ÷ 3,600 = 3.984375; 1 − 3,750 ÷ 10,000 is saved.
        json!(["spot", 3.98, null, 62.5]),
        json!(["odd", null, null, null]),
        json!(["planned", null, null, null]),
        json!(["running", null, null, null]),
    ];
    assert_eq!(rows, expected);
    let mixed = &jobs(&document)[1];
    assert_eq!(
        mixed["instances"],
        json!([
            { "instance_type": "ml.g4dn.12xlarge-training", "count": 2 },
            { "instance_type": "ml.m5.xlarge-training", "count": 3 },
        ])
    );
    let spot = &jobs(&document)[2];
    assert_eq!((&spot["spot"], &spot["checkpoints"]), (&json!(true), &json!(true)));
    assert_eq!(spot["billable_seconds"], 3_750);
    let running = &jobs(&document)[5];
    assert_eq!(running["status"], "in-progress");
    // Jobs are no machines that run, and what a plan paid for wants no price.
    assert_eq!(document["instances"], json!([]));
    let reasons: Vec<&str> =
        gaps(&document).into_iter().map(|gap| gap["reason"].as_str().expect("text")).collect();
    assert_eq!(
        reasons,
        [
            "the price list has no single price for ml.g5.xlarge-training: unpriced",
            "no price for sagemaker ml.g5.xlarge-training us-east-1 linux shared on-demand: \
             unpriced",
        ]
    );

    let table = inventory(&account, days, &["--format", "wide"]);
    assert_eq!(table.code, 0, "{}", table.stderr);
    let section = table.stdout.split("TRAINING JOBS").nth(1);
    let lines: Vec<&str> = section.expect("a section").lines().collect();
    let cells = |line: &str| -> Vec<String> {
        let words = line.split_whitespace();
        words.take(5).map(str::to_owned).collect()
    };
    // 9,000 s are 2.5 hours.
    assert_eq!(cells(lines[2]), ["fit", "$24.45", "$1.63", "2.5", "—"]);
    assert_eq!(cells(lines[4]), ["spot", "$3.98", "—", "1.0", "62.5%"]);
    assert_eq!(cells(lines[5])[..2], ["odd", "unpriced"]);
    assert_eq!(cells(lines[6])[..2], ["planned", "prepaid"]);
    assert_eq!(cells(lines[7])[..2], ["running", "—"]);
}

#[test]
fn recorded_jobs_cost_the_same_and_no_total_of_an_audit_has_them() {
    let Some(account) = Account::open() else { return };
    let days = Days::ahead();
    put_prices(&account);
    put_jobs(&account, days);
    let folder = tempfile::tempdir().expect("a scratch folder can be made");
    let path = folder.path().join("estate.json");
    let path = path.to_str().expect("in UTF-8");
    let live = inventory(&account, days, &["--format", "json", "--save", path]).json(0);
    assert!(Path::new(path).exists());
    let again = |further: &[&str]| {
        Gpucost::new(&["inventory", "--from", path, "--format", "json", "--allow-empty"])
            .args(further)
            .run()
            .json(0)
    };
    assert_eq!(again(&[])["training_jobs"], live["training_jobs"]);
    assert_eq!(jobs(&again(&["--region", "eu-west-1"])), [] as [Value; 0]);

    let masked = again(&["--redact"]);
    let first = &jobs(&masked)[0];
    assert_eq!(first["cost"], 24.45);
    assert_ne!(first["name"], "fit");
    let text = masked.to_string();
    for name in ["111122223333", "mixed", "spring"] {
        assert!(!text.contains(name), "{name}: {text}");
    }

    let audit =
        Gpucost::new(&["audit", "--from", path, "--format", "json", "--allow-empty"]).run().json(0);
    assert_eq!(audit["workloads"], json!([]));
    assert!(!audit.to_string().contains("24.45"), "{audit}");
}

#[test]
fn a_search_gives_a_hundred_jobs_a_call_and_without_it_the_newest_are_described() {
    let Some(account) = Account::open() else { return };
    let days = Days::ahead();
    put_prices(&account);
    for index in 0..203 {
        let name = format!("job-{index:03}");
        let job = ended(&name, days.at(index), of_type("ml.p3.2xlarge", 1), [60, 60]);
        account.loopback.put_training_job(REGION, job);
    }
    let calls = |operation| account.loopback.calls("sagemaker", operation);
    let document = inventory(&account, days, &["--format", "json"]).json(0);
    assert_eq!(jobs(&document).len(), 203);
    assert_eq!(gaps(&document), [] as [&Value; 0]);
    // 100, 100 and 3 names, and as many jobs.
    assert_eq!(calls("ListTrainingJobs"), 3);
    assert_eq!(calls("Search"), 3);
    assert_eq!(calls("DescribeTrainingJob"), 0);

    let target = Target::operation("sagemaker", "Search");
    account.loopback.inject(target, Fault::AccessDenied, Times::Always);
    let document = inventory(&account, days, &["--format", "json"]).json(0);
    let listed = jobs(&document);
    assert_eq!(listed.len(), 200);
    // Each costs 60 s × 3.825 ÷ 3,600 = 0.06375, so they are in order of name.
    assert_eq!((&listed[0]["name"], &listed[0]["cost"]), (&json!("job-003"), &json!(0.06)));
    let [gap] = gaps(&document)[..] else {
        panic!("{}", document["gaps"]);
    };
    assert_eq!(gap["what"], "training jobs");
    assert_eq!(
        gap["reason"],
        "only the newest 200 training jobs are read; 3 older ones are omitted"
    );
    assert_eq!(calls("DescribeTrainingJob"), 200);
}

#[test]
fn a_job_that_is_listed_twice_is_paid_for_once_and_one_without_a_count_is_a_gap() {
    let Some(account) = Account::open() else { return };
    let days = Days::ahead();
    put_prices(&account);
    let at = days.at(288);
    let twice = ended("fit", at, of_type("ml.p3.2xlarge", 1), [7_200, 7_200]);
    let mut countless = ended("odd", at, of_type("ml.p3.2xlarge", 1), [7_200, 7_200]);
    let config = json!({ "InstanceType": "ml.p3.2xlarge", "VolumeSizeInGB": 50 });
    countless["ResourceConfig"] = config;
    for job in [twice.clone(), countless, twice] {
        account.loopback.put_training_job(REGION, job);
    }
    // One on each page.
    account.loopback.limit_pages(1);
    let target = Target::operation("sagemaker", "Search");
    for searches in [true, false] {
        if !searches {
            let times = Times::Always;
            account.loopback.inject(target.clone(), Fault::AccessDenied, times);
        }
        let document = inventory(&account, days, &["--format", "json"]).json(0);
        let [job] = jobs(&document) else {
            panic!("{}", document["training_jobs"]);
        };
        // 7,200 s × 3.825 ÷ 3,600 = 7.65.
        assert_eq!((&job["name"], &job["cost"]), (&json!("fit"), &json!(7.65)));
        let [gap] = gaps(&document)[..] else {
            panic!("{}", document["gaps"]);
        };
        assert_eq!(
            gap["reason"],
            "1 training job has no readable type or number of instances; omitted"
        );
    }
}

#[test]
fn denied_jobs_are_one_gap_of_the_region() {
    let Some(account) = Account::open() else { return };
    let days = Days::ahead();
    put_prices(&account);
    put_jobs(&account, days);
    for (operation, others) in
        [("ListTrainingJobs", ""), ("DescribeTrainingJob", "7 training jobs")]
    {
        account.loopback.clear_faults();
        let target = Target::operation("sagemaker", operation);
        let search = Target::operation("sagemaker", "Search");
        for target in [target, search] {
            account.loopback.inject(target, Fault::AccessDenied, Times::Always);
        }
        let document = inventory(&account, days, &["--format", "json"]).json(0);
        assert_eq!(jobs(&document), [] as [Value; 0]);
        let [gap] = gaps(&document)[..] else {
            panic!("{}", document["gaps"]);
        };
        assert_eq!((&gap["what"], &gap["where"]), (&json!("training jobs"), &json!(REGION)));
        let reason = gap["reason"].as_str().expect("text");
        assert!(reason.starts_with(&format!("sagemaker:{operation}")), "{reason}");
        assert!(reason.contains(others), "{reason}");
    }
}

#[test]
fn a_training_plan_is_listed_with_what_was_paid_ahead() {
    let Some(account) = Account::open() else { return };
    let days = Days::ahead();
    let plan = |name: &str, status: &str| {
        json!({
            "TrainingPlanArn":
                format!("arn:aws:sagemaker:{REGION}:111122223333:training-plan/{name}"),
            "TrainingPlanName": name,
            "Status": status,
            "DurationHours": 240,
            "DurationMinutes": 0,
            "StartTime": days.at(0),
            "EndTime": days.at(0) + 10 * 86_400,
            "UpfrontFee": "30240.00",
            "CurrencyCode": "USD",
            "TotalInstanceCount": 4,
            "AvailableInstanceCount": 1,
            "InUseInstanceCount": 3,
            "ReservedCapacitySummaries": [{
                "ReservedCapacityArn":
                    format!("arn:aws:sagemaker:{REGION}:111122223333:reserved-capacity/{name}"),
                "InstanceType": "ml.p5.48xlarge",
                "TotalInstanceCount": 4,
                "Status": status,
            }],
        })
    };
    for (name, status) in [("spring", "Active"), ("winter", "Expired")] {
        account.loopback.put_training_plan(REGION, plan(name, status));
    }
    let document = inventory(&account, days, &["--format", "json"]).json(0);
    let plans = document["training_plans"].as_array().expect("a list");
    let [training_plan] = plans.as_slice() else {
        panic!("{plans:?}");
    };
    // 240 hours of 4 instances are 960: 30,240 ÷ 960 = 31.5.
    let keys = ["status", "total", "in_use", "upfront_fee", "effective_hourly"];
    let figures: Vec<Value> = keys.iter().map(|key| training_plan[key].clone()).collect();
    assert_eq!(figures, [json!("active"), json!(4), json!(3), json!(30_240.0), json!(31.5),]);
    let expected = json!([{ "instance_type": "ml.p5.48xlarge", "count": 4 }]);
    assert_eq!(training_plan["instances"], expected);
    assert_eq!(gaps(&document), [] as [&Value; 0]);

    let table = inventory(&account, days, &["--format", "wide"]);
    let section = table.stdout.split("TRAINING PLANS").nth(1);
    let lines: Vec<&str> = section.expect("a section").lines().collect();
    let words: Vec<&str> = lines[2].split_whitespace().take(6).collect();
    assert_eq!(words, ["spring", "$30,240.00", "$31.50", "3", "of", "4"]);

    let masked = inventory(&account, days, &["--format", "json", "--redact"]).json(0);
    assert_eq!(masked["training_plans"][0]["upfront_fee"], 30_240.0);
    assert!(!masked.to_string().contains("spring"), "{masked}");

    let target = Target::operation("sagemaker", "ListTrainingPlans");
    account.loopback.inject(target, Fault::AccessDenied, Times::Always);
    let document = inventory(&account, days, &["--format", "json"]).json(0);
    let [gap] = gaps(&document)[..] else {
        panic!("{}", document["gaps"]);
    };
    assert_eq!(gap["what"], "training plans");
    assert_eq!(document.get("training_plans"), None);
}
