use super::*;
use crate::domain::{InstanceId, InstanceState, Lifecycle, PriceKey, Tenancy};
use jiff::Timestamp;

fn spot(instance_type: &str) -> Instance {
    Instance {
        id: InstanceId::new("i-1"),
        account: "111122223333".to_owned(),
        region: "us-east-1".to_owned(),
        zone: Some("us-east-1a".to_owned()),
        instance_type: instance_type.to_owned(),
        state: InstanceState::Running,
        lifecycle: Lifecycle::Spot,
        capacity_reservation_id: None,
        capacity_block_id: None,
        operating_system: OperatingSystem::Linux,
        tenancy: Tenancy::Shared,
        launch_time: Timestamp::UNIX_EPOCH,
        attached_time: None,
        state_transition_reason: None,
        tags: BTreeMap::new(),
        auto_scaling_group: None,
        private_dns_name: None,
        volumes: Vec::new(),
        addresses: Vec::new(),
    }
}

#[test]
fn the_spot_market_is_asked_for_the_types_that_spot_could_move_to() {
    let found = spot_types(&[spot("g5.4xlarge")], &BTreeMap::new());
    let types = &found[&OperatingSystem::Linux];
    assert_eq!(*types, ["g5.2xlarge", "g5.4xlarge", "g5.xlarge"]);
}

#[test]
fn an_estate_keeps_the_bundled_spot_prices_that_a_move_was_judged_by() {
    let mut book = PriceBook::default();
    add_known_prices(
        &mut book,
        &PriceBook::default(),
        &[spot("g5.4xlarge")],
        &BTreeMap::new(),
    );
    for name in ["g5.4xlarge", "g5.2xlarge", "g5.xlarge"] {
        let key = PriceKey::linux_on_demand("us-east-1", name).with_option(PriceOption::Spot);
        assert_eq!(book.get(&key).ok(), bundled_quote(&key).as_ref(), "{name}");
        assert!(book.get(&key).is_ok(), "{name}");
    }
}

#[test]
fn offline_names_what_the_book_lacks() {
    let mut book = PriceBook::default();
    let mut licensed = spot("g5.xlarge");
    licensed.operating_system = OperatingSystem::OtherLicensed;
    let mut unknown = spot("zz9.huge");
    unknown.region = "eu-west-1".to_owned();
    let instances = [spot("g5.xlarge"), licensed, unknown];
    add_known_prices(
        &mut book,
        &PriceBook::default(),
        &instances,
        &BTreeMap::new(),
    );
    let gaps = prices_not_asked_for(&book, &instances);
    let found: Vec<_> = gaps
        .iter()
        .map(|gap| (gap.place.as_str(), gap.reason.as_str()))
        .collect();
    let reason = |names| format!("not asked for, and the bundled book has none for {names}");
    assert_eq!(
        found,
        [
            ("eu-west-1", reason("zz9.huge").as_str()),
            ("us-east-1", reason("g5.xlarge").as_str())
        ]
    );
    assert!(gaps.iter().all(|gap| gap.hint.contains("--offline")));
    assert_eq!(prices_not_asked_for(&book, &instances[..1]), []);
}

#[test]
fn the_spot_market_is_asked_for_what_may_go_there() {
    let on_demand = |tags: &[(&str, &str)]| Instance {
        lifecycle: Lifecycle::OnDemand,
        tags: tags
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        ..spot("g5.xlarge")
    };
    let asked = |instance: Instance| !spot_types(&[instance], &BTreeMap::new()).is_empty();
    assert!(asked(on_demand(&[("gpucost:restartable", "true")])));
    assert!(!asked(on_demand(&[("gpucost:restartable", "false")])));
    assert!(!asked(on_demand(&[])));
    let stopped = Instance {
        state: InstanceState::Stopped,
        ..on_demand(&[("gpucost:restartable", "true")])
    };
    assert!(!asked(stopped));
}

#[test]
fn an_estate_keeps_the_spot_price_that_an_on_demand_instance_could_have() {
    let mut book = PriceBook::default();
    let on_demand = Instance {
        lifecycle: Lifecycle::OnDemand,
        ..spot("g5.4xlarge")
    };
    let cache = PriceBook::default();
    add_known_prices(&mut book, &cache, &[on_demand], &BTreeMap::new());
    for name in ["g5.4xlarge", "g5.2xlarge", "g5.xlarge"] {
        let on_demand = PriceKey::linux_on_demand("us-east-1", name);
        assert!(book.get(&on_demand).is_ok(), "{name}");
        let on_spot = on_demand.with_option(PriceOption::Spot);
        assert!(book.get(&on_spot).is_ok(), "{name}");
    }
}
