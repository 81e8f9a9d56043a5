use aws_sdk_ec2::primitives::DateTime;
use aws_sdk_ec2::types::{
    Filter, InstanceLifecycleType, InstanceStateName, InstanceType, PlatformValues, VolumeType,
};

use crate::wire::clients::Clients;
use crate::wire::fleet::{Launch, Volume, launch};
use crate::wire::loopback::{Loopback, Moto};

const LINUX: &str = "Linux/UNIX";
const ZONE_A: &str = "us-west-2a";
const ZONE_B: &str = "us-west-2b";

fn spot_market() -> (Loopback, Clients) {
    let loopback = Loopback::start(None);
    let put = |zone, product, changes: &[(i64, &str)]| {
        loopback.put_spot_prices("us-west-2", zone, "g5.xlarge", product, changes);
    };
    put(ZONE_A, LINUX, &[(1000, "0.41"), (2000, "0.42"), (3000, "0.43"), (4000, "0.44")]);
    put(ZONE_B, LINUX, &[(2500, "0.52")]);
    put(ZONE_A, "Windows", &[(1500, "0.9")]);
    loopback.put_spot_prices("us-west-2", ZONE_A, "g6.xlarge", LINUX, &[(1, "0.3")]);
    loopback.put_spot_prices("us-east-1", "us-east-1a", "g5.xlarge", LINUX, &[(1, "0.6")]);
    let clients = Clients::new(&loopback.url(), "us-west-2");
    (loopback, clients)
}

#[tokio::test]
async fn spot_history_carries_the_price_in_force_at_the_start() {
    let (_loopback, clients) = spot_market();
    let history = clients
        .ec2
        .describe_spot_price_history()
        .instance_types(InstanceType::G5Xlarge)
        .product_descriptions(LINUX)
        .start_time(DateTime::from_secs(2400))
        .end_time(DateTime::from_secs(3000))
        .send()
        .await
        .expect("the request is valid");
    let rows: Vec<_> = history
        .spot_price_history()
        .iter()
        .map(|row| {
            let time = row.timestamp().expect("a change has a time").secs();
            (row.availability_zone(), time, row.spot_price())
        })
        .collect();
    let expected = [
        (Some(ZONE_A), 3000, Some("0.43")),
        (Some(ZONE_B), 2500, Some("0.52")),
        (Some(ZONE_A), 2000, Some("0.42")),
    ];
    assert_eq!(rows, expected);
    // As EC2 has it, the last page says so with an empty token.
    assert_eq!(history.next_token(), Some(""));
}

#[tokio::test]
async fn spot_history_is_filtered_and_paged() {
    let (loopback, clients) = spot_market();
    let history = clients.ec2.describe_spot_price_history();
    let mut pages = history.clone().max_results(3).into_paginator().send();
    let mut sizes = Vec::new();
    while let Some(page) = pages.next().await {
        sizes.push(page.expect("the token is valid").spot_price_history().len());
    }
    assert_eq!(sizes, [3, 3, 1]);
    assert_eq!(loopback.calls("ec2", "DescribeSpotPriceHistory"), 3);

    let filter = |name: &str, value: &str| Filter::builder().name(name).values(value).build();
    let count = async |request: aws_sdk_ec2::operation::describe_spot_price_history::builders::DescribeSpotPriceHistoryFluentBuilder| {
        let answer = request.send().await.expect("the filters are valid");
        answer.spot_price_history().len()
    };
    assert_eq!(count(history.clone().availability_zone(ZONE_B)).await, 1);
    let windows = filter("product-description", "Windows");
    assert_eq!(count(history.clone().filters(windows)).await, 1);
    assert_eq!(count(history.clone().filters(filter("instance-type", "g6.*"))).await, 1);
}

#[tokio::test]
async fn fleets_are_launched_as_planned() {
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

    let describe = async |region: &str, id: &str| {
        let clients = Clients::new(&loopback.url(), region);
        let request = clients.ec2.describe_instances().instance_ids(id);
        let answer = request.send().await.expect("instance exists");
        answer.reservations()[0].instances()[0].clone()
    };
    let trainer = describe("us-west-2", &fleet[0].instance_id).await;
    assert_eq!(trainer.platform(), None);
    assert_eq!(trainer.instance_lifecycle(), None);
    assert_eq!(trainer.private_dns_name(), Some(fleet[0].private_dns_name.as_str()));
    let placement = trainer.placement().expect("a placement");
    assert_eq!(placement.availability_zone(), Some(ZONE_B));
    let mut tags: Vec<_> = trainer.tags().iter().map(|tag| (tag.key(), tag.value())).collect();
    tags.sort();
    let expected = [(Some("Name"), Some("trainer")), (Some("team"), Some("vision & speech"))];
    assert_eq!(tags, expected);

    let idle = describe("us-west-2", &fleet[1].instance_id).await;
    assert_eq!(idle.instance_lifecycle(), Some(&InstanceLifecycleType::Spot));
    assert_eq!(idle.instance_type(), Some(&InstanceType::P32xlarge));
    let state = idle.state().and_then(|state| state.name());
    assert_eq!(state, Some(&InstanceStateName::Stopped));

    let windows = describe("us-west-2", &fleet[2].instance_id).await;
    // EC2 writes it in lower case too, which the SDK's enumeration does not.
    let platform = windows.platform().map(PlatformValues::as_str);
    assert_eq!(platform, Some("windows"));
    let far = describe("eu-west-1", &fleet[3].instance_id).await;
    assert_eq!(far.instance_type(), Some(&InstanceType::P548xlarge));

    let clients = Clients::new(&loopback.url(), "us-west-2");
    let volumes = clients
        .ec2
        .describe_volumes()
        .filters(
            Filter::builder().name("attachment.instance-id").values(&fleet[0].instance_id).build(),
        )
        .send()
        .await
        .expect("the filter is valid");
    let gp3 = volumes
        .volumes()
        .iter()
        .find(|volume| volume.volume_type() == Some(&VolumeType::Gp3))
        .expect("the planned volume is attached");
    assert_eq!(gp3.size(), Some(500));
}

#[tokio::test]
async fn instance_type_wildcards_match_as_in_ec2() {
    let Some(moto) = Moto::start() else { return };
    let loopback = Loopback::start(Some(moto.url()));
    let types = ["g5.xlarge", "g5.2xlarge", "g5g.xlarge", "p5.48xlarge", "m5.large"];
    launch(&loopback, &types.map(|kind| Launch::on_demand(ZONE_A, kind)));
    let clients = Clients::new(&loopback.url(), "us-west-2");
    let matching = async |patterns: &[&str]| {
        let patterns = patterns.iter().map(|&pattern| pattern.to_owned());
        let answer = clients
            .ec2
            .describe_instances()
            .filters(Filter::builder().name("instance-state-name").values("running").build())
            .filters(
                Filter::builder()
                    .name("instance-type")
                    .set_values(Some(patterns.collect()))
                    .build(),
            )
            .send()
            .await
            .expect("the filters are valid");
        let mut types: Vec<String> = answer
            .reservations()
            .iter()
            .flat_map(|reservation| reservation.instances())
            .filter_map(|instance| instance.instance_type())
            .map(|kind| kind.as_str().to_owned())
            .collect();
        types.sort();
        types
    };
    assert_eq!(matching(&["g5.*"]).await, ["g5.2xlarge", "g5.xlarge"]);
    assert_eq!(matching(&["g5*.xlarge", "p?.*"]).await, ["g5.xlarge", "g5g.xlarge", "p5.48xlarge"]);
    assert_eq!(matching(&["m5.large"]).await, ["m5.large"]);
    assert_eq!(matching(&["trn1.*"]).await, [""; 0]);
}
