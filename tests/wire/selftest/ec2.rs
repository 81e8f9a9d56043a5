use jiff::Timestamp;
use serde_json::{Value, json};

use crate::wire::fleet::{Launch, Launched, Volume, launch};
use crate::wire::loopback::{Loopback, Moto};
use crate::wire::sdk;

const LINUX: &str = "Linux/UNIX";
const REGION: &str = "us-west-2";
const ZONE_A: &str = "us-west-2a";
const ZONE_B: &str = "us-west-2b";

fn spot_market() -> Loopback {
    let loopback = Loopback::start(None);
    let put = |zone, product, changes: &[(i64, &str)]| {
        loopback.put_spot_prices(REGION, zone, "g5.xlarge", product, changes);
    };
    put(ZONE_A, LINUX, &[(1000, "0.41"), (2000, "0.42"), (3000, "0.43"), (4000, "0.44")]);
    put(ZONE_B, LINUX, &[(2500, "0.52")]);
    put(ZONE_A, "Windows", &[(1500, "0.9")]);
    loopback.put_spot_prices(REGION, ZONE_A, "g6.xlarge", LINUX, &[(1, "0.3")]);
    loopback.put_spot_prices("us-east-1", "us-east-1a", "g5.xlarge", LINUX, &[(1, "0.6")]);
    loopback
}

fn history(params: Value) -> Value {
    sdk::call("ec2", REGION, "describe_spot_price_history", params)
}

#[test]
fn spot_history_carries_the_price_in_force_at_the_start() {
    let loopback = spot_market();
    let calls = [history(json!({
        "InstanceTypes": ["g5.xlarge"],
        "ProductDescriptions": [LINUX],
        "StartTime": 2400,
        "EndTime": 3000,
    }))];
    let Some(outcomes) = sdk::outcomes(&loopback.url(), &calls) else { return };
    let rows: Vec<_> = sdk::rows(&outcomes[0], "SpotPriceHistory")
        .iter()
        .map(|row| {
            let time = row["Timestamp"].as_str().expect("a change has a time");
            let time: Timestamp = time.parse().expect("in ISO 8601");
            (row["AvailabilityZone"].as_str(), time.as_second(), row["SpotPrice"].as_str())
        })
        .collect();
    let expected = [
        (Some(ZONE_A), 3000, Some("0.43")),
        (Some(ZONE_B), 2500, Some("0.52")),
        (Some(ZONE_A), 2000, Some("0.42")),
    ];
    assert_eq!(rows, expected);
    // As EC2 has it, the last page says so with an empty token.
    assert_eq!(outcomes[0]["answer"]["NextToken"], "");
}

#[test]
fn spot_history_is_filtered_and_paged() {
    let loopback = spot_market();
    let filtered = |name: &str, value: &str| {
        history(json!({ "Filters": [{ "Name": name, "Values": [value] }] }))
    };
    let calls = [
        sdk::paged(history(json!({ "MaxResults": 3 }))),
        history(json!({ "AvailabilityZone": ZONE_B })),
        filtered("product-description", "Windows"),
        filtered("instance-type", "g6.*"),
    ];
    let Some(outcomes) = sdk::outcomes(&loopback.url(), &calls) else { return };
    let sizes: Vec<usize> = sdk::pages(&outcomes[0])
        .iter()
        .map(|page| page["SpotPriceHistory"].as_array().expect("a list").len())
        .collect();
    assert_eq!(sizes, [3, 3, 1]);
    for (outcome, call) in outcomes.iter().zip(&calls).skip(1) {
        assert_eq!(sdk::rows(outcome, "SpotPriceHistory").len(), 1, "{call}");
    }
    // Three pages, and one answer to each of the others.
    assert_eq!(loopback.calls("ec2", "DescribeSpotPriceHistory"), 3 + 3);
}

#[test]
fn fleets_are_launched_as_planned() {
    let Some(moto) = Moto::start() else { return };
    let loopback = Loopback::start(Some(moto.url()));
    let plan = [
        Launch {
            tags: &[("Name", "trainer"), ("team", "vision & speech")],
            volumes: &[Volume { volume_type: "gp3", gib: 500 }],
            ..Launch::on_demand(ZONE_B, "g5.xlarge")
        },
        Launch { spot: true, stopped: true, ..Launch::on_demand(ZONE_A, "p3.2xlarge") },
        Launch { windows: true, ..Launch::on_demand(ZONE_A, "g4dn.xlarge") },
        Launch::on_demand("eu-west-1a", "p5.48xlarge"),
    ];
    let fleet = launch(&loopback, &plan);
    assert_eq!(loopback.calls("ec2", "RunInstances"), 4);

    let describe = |region: &str, launched: &Launched| {
        let ids = json!({ "InstanceIds": [launched.instance_id] });
        sdk::call("ec2", region, "describe_instances", ids)
    };
    let attached = json!({ "Name": "attachment.instance-id", "Values": [fleet[0].instance_id] });
    let calls = [
        describe(REGION, &fleet[0]),
        describe(REGION, &fleet[1]),
        describe(REGION, &fleet[2]),
        describe("eu-west-1", &fleet[3]),
        sdk::call("ec2", REGION, "describe_volumes", json!({ "Filters": [attached] })),
    ];
    let Some(outcomes) = sdk::outcomes(&loopback.url(), &calls) else { return };
    let instance = |index: usize| &sdk::rows(&outcomes[index], "Reservations")[0]["Instances"][0];

    let trainer = instance(0);
    assert_eq!(trainer["Platform"], Value::Null);
    assert_eq!(trainer["InstanceLifecycle"], Value::Null);
    assert_eq!(trainer["PrivateDnsName"], fleet[0].private_dns_name);
    assert_eq!(trainer["Placement"]["AvailabilityZone"], ZONE_B);
    let tags = trainer["Tags"].as_array().expect("a list").iter();
    let mut tags: Vec<_> = tags.map(|tag| (tag["Key"].as_str(), tag["Value"].as_str())).collect();
    tags.sort();
    let expected = [(Some("Name"), Some("trainer")), (Some("team"), Some("vision & speech"))];
    assert_eq!(tags, expected);

    let idle = instance(1);
    assert_eq!(idle["InstanceLifecycle"], "spot");
    assert_eq!(idle["InstanceType"], "p3.2xlarge");
    assert_eq!(idle["State"]["Name"], "stopped");

    // EC2 writes it in lower case too, which the models of SDKs do not.
    assert_eq!(instance(2)["Platform"], "windows");
    assert_eq!(instance(3)["InstanceType"], "p5.48xlarge");

    let gp3 = sdk::rows(&outcomes[4], "Volumes")
        .iter()
        .find(|volume| volume["VolumeType"] == "gp3")
        .expect("the planned volume is attached");
    assert_eq!(gp3["Size"], 500);
}

#[test]
fn instance_type_wildcards_match_as_in_ec2() {
    let Some(moto) = Moto::start() else { return };
    let loopback = Loopback::start(Some(moto.url()));
    let types = ["g5.xlarge", "g5.2xlarge", "g5g.xlarge", "p5.48xlarge", "m5.large"];
    launch(&loopback, &types.map(|kind| Launch::on_demand(ZONE_A, kind)));
    let cases: [(&[&str], &[&str]); 4] = [
        (&["g5.*"], &["g5.2xlarge", "g5.xlarge"]),
        (&["g5*.xlarge", "p?.*"], &["g5.xlarge", "g5g.xlarge", "p5.48xlarge"]),
        (&["m5.large"], &["m5.large"]),
        (&["trn1.*"], &[]),
    ];
    let calls = cases.map(|(patterns, _)| {
        let filters = json!([
            { "Name": "instance-state-name", "Values": ["running"] },
            { "Name": "instance-type", "Values": patterns },
        ]);
        sdk::call("ec2", REGION, "describe_instances", json!({ "Filters": filters }))
    });
    let Some(outcomes) = sdk::outcomes(&loopback.url(), &calls) else { return };
    for (outcome, (patterns, expected)) in outcomes.iter().zip(cases) {
        let mut types: Vec<&str> = sdk::rows(outcome, "Reservations")
            .iter()
            .flat_map(|reservation| reservation["Instances"].as_array().expect("a list"))
            .filter_map(|instance| instance["InstanceType"].as_str())
            .collect();
        types.sort();
        assert_eq!(types, expected, "{patterns:?}");
    }
}
