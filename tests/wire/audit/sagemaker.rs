//! Endpoints and notebooks of SageMaker, made in moto, with figures worked out by hand.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::account::Account;
use super::command::{Gpucost, Run};
use super::days::Days;
use crate::wire::loopback::{Fault, OwnedPlan, Target, Times};

const REGION: &str = "us-east-1";
const NAMESPACE: &str = "/aws/sagemaker/Endpoints";
const ROLE: &str = "arn:aws:iam::111122223333:role/models";

/// Has moto carry out an operation of SageMaker.
fn make(account: &Account, operation: &str, body: &Value) {
    let url = account.loopback.url();
    let address = url.trim_start_matches("http://");
    let body = body.to_string();
    let request = format!(
        "POST / HTTP/1.1\r\n\
         Host: {address}\r\n\
         Content-Type: application/x-amz-json-1.1\r\n\
         X-Amz-Target: SageMaker.{operation}\r\n\
         Authorization: AWS4-HMAC-SHA256 Credential=test/20260101/{REGION}/sagemaker/aws4_request, \
         SignedHeaders=host, Signature=0\r\n\
         Content-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).expect("the loopback listens");
    stream.write_all(request.as_bytes()).expect("the request is taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the answer is text");
    assert!(answer.starts_with("HTTP/1.1 200"), "{operation}: {answer}");
}

/// An endpoint of one variant, `main`.
fn endpoint(account: &Account, name: &str, instance_type: &str, count: u32) {
    let variant = json!({
        "VariantName": "main", "ModelName": name, "InstanceType": instance_type,
        "InitialInstanceCount": count, "InitialVariantWeight": 1.0,
    });
    let image = json!({ "Image": "111122223333.dkr.ecr.us-east-1.amazonaws.com/serve:1" });
    let model = json!({
        "ModelName": name, "ExecutionRoleArn": ROLE, "PrimaryContainer": image,
    });
    make(account, "CreateModel", &model);
    let config = json!({ "EndpointConfigName": name, "ProductionVariants": [variant] });
    make(account, "CreateEndpointConfig", &config);
    let endpoint = json!({ "EndpointName": name, "EndpointConfigName": name });
    make(account, "CreateEndpoint", &endpoint);
}

/// What an endpoint measures in every period: the sum of GPU utilization, the sum of memory
/// utilization, and the sum of CPU utilization over the vCPUs.
fn measure(account: &Account, days: Days, name: &str, [gpu, memory, cpu]: [f64; 3]) {
    let dimensions = [("EndpointName", name), ("VariantName", "main")];
    for (metric, value) in
        [("GPUUtilization", gpu), ("GPUMemoryUtilization", memory), ("CPUUtilization", cpu)]
    {
        let datums = days.datums(|_| Some(value));
        account.loopback.put_metric(REGION, NAMESPACE, metric, &dimensions, datums);
    }
}

/// Prices that are not those of EC2, and differ by what a machine is rented for.
fn put_prices(account: &Account) {
    for (name, component, hourly) in [
        ("ml.g4dn.xlarge", "Hosting", "0.7364"),
        ("ml.g4dn.xlarge", "Training", "0.7000"),
        ("ml.g4dn.12xlarge", "Hosting", "4.89"),
        ("ml.p3.2xlarge", "Hosting", "3.825"),
        ("ml.p3.2xlarge", "Notebook", "4.284"),
    ] {
        account.loopback.put_component_price(REGION, name, component, hourly);
    }
}

fn audit(account: &Account, days: Days, services: &str) -> Run {
    Gpucost::audit(days)
        .of(account)
        .args(&["--region", REGION, "--services", services, "--allow-empty"])
        .run()
}

fn workload<'a>(document: &'a Value, name: &str) -> &'a Value {
    let workloads = document["workloads"].as_array().expect("a list");
    let row = workloads.iter().find(|row| row["name"] == name);
    row.unwrap_or_else(|| panic!("{name} is not among {workloads:?}"))
}

/// The reasons of the gaps of a place.
fn gaps(document: &Value, place: &str) -> Vec<String> {
    let gaps = document["gaps"].as_array().expect("a list").iter();
    let here = gaps.filter(|gap| {
        let own = gap["where"].as_str().expect("text");
        own.contains(place)
    });
    here.map(|gap| gap["reason"].as_str().expect("text").to_owned()).collect()
}

fn figure(value: &Value) -> f64 {
    let text = value.as_str().and_then(|text| text.parse().ok());
    value.as_f64().or(text).expect("a figure")
}

#[test]
fn endpoints_and_notebooks_cost_what_their_own_prices_say() {
    let Some(account) = Account::open() else { return };
    let days = Days::ahead();
    put_prices(&account);
    endpoint(&account, "chat", "ml.g4dn.xlarge", 2);
    endpoint(&account, "rank", "ml.g4dn.12xlarge", 1);
    endpoint(&account, "old", "ml.p3.2xlarge", 1);
    // Without a GPU it is not listed.
    endpoint(&account, "text", "ml.m5.xlarge", 3);
    let notebook = json!({
        "NotebookInstanceName": "research", "InstanceType": "ml.p3.2xlarge", "RoleArn": ROLE,
    });
    make(&account, "CreateNotebookInstance", &notebook);
    measure(&account, days, "chat", [30.0, 50.0, 40.0]);
    // 80% over four GPUs; 480% over 48 vCPUs.
    measure(&account, days, "rank", [80.0, 200.0, 480.0]);
    measure(&account, days, "old", [0.0, 40.0, 8.0]);

    let document = audit(&account, days, "ec2,sagemaker").json(0);
    let workloads = document["workloads"].as_array().expect("a list");
    assert_eq!(workloads.len(), 4, "{workloads:?}");

    // 2 × 0.7364 × 730 = 1,075.144; each is rounded to cents: 537.57 twice.
    let chat = workload(&document, "endpoint/chat/main");
    assert_eq!(chat["instance_type"], "ml.g4dn.xlarge-hosting");
    assert_eq!(figure(&chat["monthly_cost"]), 1_075.14);
    assert_eq!(chat["instances"].as_array().map(Vec::len), Some(2));
    assert_eq!(figure(&chat["utilization"]["mean"]), 30.0);
    assert_eq!(chat["utilization"]["source"], "sagemaker");

    // 4.89 × 730 = 3,569.70. Of no single GPU anything is said.
    let rank = workload(&document, "endpoint/rank/main");
    assert_eq!(figure(&rank["monthly_cost"]), 3_569.7);
    assert_eq!(figure(&rank["utilization"]["mean"]), 20.0);
    assert_eq!(rank["gpus"], json!([]));
    let reasons = gaps(&document, "endpoint/rank/main");
    assert!(reasons.iter().any(|reason| reason.contains("4 GPUs")), "{reasons:?}");

    // 3.825 × 730 = 2,792.25: its GPU never worked and holds the model. Deleting the
    // endpoint saves all of it.
    let old = workload(&document, "endpoint/old/main");
    assert_eq!(old["state"], "idle-held");
    assert_eq!(figure(&old["monthly_cost"]), 2_792.25);
    let actions = old["plan"]["actions"].as_array().expect("a list");
    let [stop] = actions.as_slice() else {
        panic!("{actions:?}");
    };
    assert_eq!(stop["action"], "stop");
    assert_eq!(figure(&stop["monthly_savings"]), 2_792.25);
    let detail = stop["detail"].as_str().expect("text");
    assert!(detail.starts_with("delete"), "{detail}");

    // 4.284 × 730 = 3,127.32, and no metric of its GPU exists.
    let research = workload(&document, "notebook/research");
    assert_eq!(figure(&research["monthly_cost"]), 3_127.32);
    assert_eq!(research["classification"], "insufficient-data");
    assert_eq!(research["plan"]["actions"], json!([]));
    let reasons = gaps(&document, "notebook/research");
    assert!(reasons.iter().any(|reason| reason.contains("no GPU metric")), "{reasons:?}");
    // 1,075.14 + 3,569.70 + 2,792.25 + 3,127.32
    assert_eq!(figure(&document["summary"]["monthly_cost"]), 10_564.41);
    // Metrics of three variants: five each.
    assert_eq!(account.loopback.calls("sagemaker", "ListEndpoints"), 1);
    assert_eq!(account.loopback.calls("sagemaker", "DescribeEndpoint"), 4);
    // Each has a model of its own.
    let asked = account.loopback.actions();
    assert!(!asked.contains(&"sagemaker:ListInferenceComponents".to_owned()));
}

/// A component on an endpoint, with so many copies of so many GPUs.
fn component(account: &Account, name: &str, endpoint: &str, [copies, gpus]: [u32; 2]) {
    let component = json!({
        "InferenceComponentName": name,
        "EndpointName": endpoint,
        "VariantName": "main",
        "Specification": {
            "ModelName": name,
            "ComputeResourceRequirements": {
                "NumberOfAcceleratorDevicesRequired": f64::from(gpus),
                "MinMemoryRequiredInMb": 4096,
            },
        },
        "RuntimeConfig": { "DesiredCopyCount": copies, "CurrentCopyCount": copies },
        "InferenceComponentStatus": "InService",
    });
    account.loopback.put_inference_component(REGION, component);
}

#[test]
fn gpus_that_no_inference_component_reserves_have_their_share_of_the_cost() {
    let Some(account) = Account::open() else { return };
    let days = Days::ahead();
    put_prices(&account);
    endpoint(&account, "chat", "ml.g4dn.12xlarge", 2);
    account.loopback.drop_models("chat");
    component(&account, "llama", "chat", [1, 2]);
    component(&account, "guard", "chat", [2, 1]);
    // On two pages of the list.
    component(&account, "llama", "chat", [1, 2]);
    // Of an endpoint that is gone.
    component(&account, "other", "gone", [9, 9]);
    let findings = |document: &Value| -> Vec<Value> {
        let reported = document["findings"].as_array().expect("a list").iter();
        reported.filter(|finding| finding["rule"] == "unreserved-gpus").cloned().collect()
    };
    let document = audit(&account, days, "sagemaker").json(0);
    let reported = findings(&document);
    let [finding] = reported.as_slice() else {
        panic!("{}", document["findings"]);
    };
    // 1 × 2 and 2 × 1 of 2 × 4 GPUs are reserved. The instances cost 4.89 × 730 = 3,569.70
    // each: 7,139.40 × 4 ÷ 8.
    assert_eq!(
        finding["title"],
        "no inference component reserves 4 of the 8 GPUs of 2 × ml.g4dn.12xlarge-hosting: \
         USD 3569.70 per month"
    );
    assert_eq!(finding["monthly_savings"], Value::Null);
    assert_eq!(figure(&document["summary"]["monthly_cost"]), 7_139.4);

    let listed = |further: &[&str]| {
        Gpucost::new(&["inventory", "--format", "json"])
            .of(&account)
            .args(&["--as-of", &days.as_of(), "--region", REGION])
            .args(&["--services", "sagemaker"])
            .args(further)
            .run()
            .json(0)
    };
    let document = listed(&[]);
    let host = &document["component_hosts"][0];
    assert_eq!(host["group"], "endpoint/chat/main");
    let keys = ["gpus", "reserved_gpus", "unreserved_gpus"];
    let gpus: Vec<f64> = keys.iter().map(|key| figure(&host[*key])).collect();
    assert_eq!(gpus, [8.0, 4.0, 4.0]);
    // 2 × 4.89 × 4 ÷ 8
    assert_eq!(figure(&host["unreserved_hourly_cost"]), 4.89);
    let names = host["components"].as_array().expect("a list").iter();
    let names: Vec<&str> =
        names.map(|component| component["name"].as_str().expect("text")).collect();
    assert_eq!(names, ["guard", "llama"]);
    let masked = listed(&["--redact"]).to_string();
    for name in ["chat", "guard", "llama"] {
        assert!(!masked.contains(name), "{name}: {masked}");
    }

    // A component that cannot be read leaves nothing to say.
    let target = Target::operation("sagemaker", "DescribeInferenceComponent");
    let target = target.asking_for("guard");
    account.loopback.inject(target, Fault::AccessDenied, Times::Always);
    let document = audit(&account, days, "sagemaker").json(0);
    assert_eq!(findings(&document), [] as [Value; 0]);
    let gaps = document["gaps"].as_array().expect("a list").iter();
    let about = gaps.filter(|gap| gap["what"] == "inference components");
    assert_eq!(about.count(), 1);
}

#[test]
fn tags_of_endpoints_select_and_group_them() {
    let Some(account) = Account::open() else { return };
    let days = Days::ahead();
    put_prices(&account);
    endpoint(&account, "Chat", "ml.g4dn.xlarge", 1);
    endpoint(&account, "rank", "ml.g4dn.xlarge", 2);
    let arn = |end: &str| format!("arn:aws:sagemaker:{REGION}:111122223333:{end}");
    // An ARN has the name in lower case.
    let search = [("team", "search")];
    account.loopback.put_tags(REGION, &arn("endpoint/chat"), &search);
    let ads = [("team", "ads")];
    account.loopback.put_tags(REGION, &arn("endpoint/rank"), &ads);
    // Of something that is not asked for.
    account.loopback.put_tags(REGION, &arn("model/rank"), &search);

    let document = audit(&account, days, "sagemaker").json(0);
    let team = |name: &str| workload(&document, name)["tags"]["team"].clone();
    assert_eq!(team("endpoint/Chat/main"), "search");
    assert_eq!(team("endpoint/rank/main"), "ads");
    assert_eq!(account.loopback.calls("tag", "GetResources"), 1);

    let selected = Gpucost::audit(days)
        .of(&account)
        .args(&["--region", REGION, "--services", "sagemaker"])
        .args(&["--tag", "team=ads"])
        .run()
        .json(0);
    // 2 × 0.7364 × 730 = 1,075.144; each is rounded to cents: 537.57 twice.
    assert_eq!(figure(&selected["summary"]["monthly_cost"]), 1_075.14);

    account.loopback.inject(
        Target::operation("tag", "GetResources"),
        Fault::AccessDenied,
        Times::Always,
    );
    let document = audit(&account, days, "sagemaker").json(0);
    let gaps = document["gaps"].as_array().expect("a list");
    assert!(gaps.iter().any(|gap| gap["what"] == "tags"), "{gaps:?}");
    assert_eq!(workload(&document, "endpoint/Chat/main")["tags"], json!({}));
}

#[test]
fn a_savings_plan_of_sagemaker_is_read_without_ec2_and_may_pay_for_an_endpoint() {
    let Some(account) = Account::open() else { return };
    let days = Days::ahead();
    put_prices(&account);
    endpoint(&account, "old", "ml.p3.2xlarge", 1);
    measure(&account, days, "old", [0.0, 40.0, 8.0]);
    // 3.825 × 730 = 2,792.25, of which nothing is certain: no network is measured.
    let is_doubted = || {
        let document = audit(&account, days, "sagemaker").json(0);
        let summary = &document["summary"];
        assert_eq!(figure(&summary["monthly_savings"]), 2_792.25);
        assert_eq!(figure(&summary["monthly_waste"]), 0.0);
        let stop = &workload(&document, "endpoint/old/main")["plan"]["actions"][0];
        let caveats = stop["caveats"].as_array().expect("a list");
        let says = |words: &str| {
            let mut texts = caveats.iter().filter_map(Value::as_str);
            texts.any(|caveat| caveat.contains(words))
        };
        assert!(says("network traffic was not measured"), "{caveats:?}");
        says("its rate is unknown")
    };
    assert!(!is_doubted());
    account.loopback.put_savings_plan(OwnedPlan {
        id: "sp-models",
        plan: "SageMaker",
        pool: None,
        hourly: "5",
        years: 3,
        start: "2026-01-01T00:00:00Z",
        end: "2099-01-01T00:00:00Z",
        state: "active",
    });
    assert!(is_doubted());
}

#[test]
fn what_the_price_list_does_not_have_is_unpriced_and_never_costs_what_ec2_does() {
    let Some(account) = Account::open() else { return };
    let days = Days::ahead();
    endpoint(&account, "chat", "ml.g4dn.xlarge", 1);
    let training = ("ml.g4dn.xlarge", "Training", "0.70");
    account.loopback.put_component_price(REGION, training.0, training.1, training.2);
    let document = audit(&account, days, "sagemaker").json(0);
    let chat = workload(&document, "endpoint/chat/main");
    assert_eq!(chat["monthly_cost"], Value::Null);
    let reasons = gaps(&document, REGION);
    let expected = "the price list has no single price for ml.g4dn.xlarge-hosting: unpriced";
    assert!(reasons.iter().any(|reason| reason == expected), "{reasons:?}");
    // EC2 was not read.
    assert_eq!(account.loopback.calls("ec2", "DescribeInstances"), 0);
}

#[test]
fn a_denial_is_one_gap_of_the_region_and_without_the_flag_nothing_is_asked() {
    let Some(account) = Account::open() else { return };
    let days = Days::ahead();
    endpoint(&account, "chat", "ml.g4dn.xlarge", 1);
    account.loopback.reset_calls();
    let document = audit(&account, days, "ec2").json(0);
    assert_eq!(document["workloads"], json!([]));
    assert_eq!(document["gaps"], json!([]));
    let asked = account.loopback.actions();
    assert!(asked.iter().all(|action| !action.starts_with("sagemaker:")), "{asked:?}");

    let denied = Target::service("sagemaker");
    account.loopback.inject(denied, Fault::AccessDenied, Times::Always);
    let document = audit(&account, days, "ec2,sagemaker").json(0);
    let [gap] = document["gaps"].as_array().expect("a list").as_slice() else {
        panic!("{}", document["gaps"]);
    };
    assert_eq!((&gap["what"], &gap["where"]), (&json!("region"), &json!(REGION)));
    let reason = gap["reason"].as_str().expect("text");
    assert!(reason.starts_with("sagemaker:ListEndpoints"), "{reason}");

    // One endpoint that cannot be described hides no other.
    account.loopback.clear_faults();
    endpoint(&account, "rank", "ml.g4dn.xlarge", 1);
    let target = Target::operation("sagemaker", "DescribeEndpointConfig").asking_for("rank");
    account.loopback.inject(target, Fault::AccessDenied, Times::Always);
    let document = audit(&account, days, "ec2,sagemaker").json(0);
    let workloads = document["workloads"].as_array().expect("a list");
    assert_eq!(workloads.len(), 1, "{workloads:?}");
    assert_eq!(gaps(&document, "endpoint/rank").len(), 1);
}
