//! How each pod used the GPUs that it held, as the servers tell it and as the samples do.

use super::expected::{AS_OF, LAUNCHED_AT, WINDOW_START};
use super::fleet::{Card, END, START, machines};
use super::proof::{Proof, proof};
use crate::wire::fleet::Launched;
use gpucost::domain::{
    DeviceUse, Instance, InstanceState, Lifecycle, OperatingSystem, ResourceId, Tenancy, Window,
};
use gpucost::sources::prometheus::{Auth, ClientOptions, MetricMap, Server, connect};
use gpucost::sources::{Detail, MetricRequest, Readings};
use jiff::Timestamp;
use std::collections::BTreeMap;

/// Only the rounding of single precision is left.
const ROUNDING: f64 = 0.005;
/// Of a trace without holes.
const STEP_SECONDS: u32 = 57;

fn at(text: &str) -> Timestamp {
    text.parse().expect("a time stamp")
}

fn instance(launched: &Launched, instance_type: &str) -> Instance {
    Instance {
        id: ResourceId::named(launched.instance_id.as_str()),
        account: String::new(),
        region: "us-east-1".to_owned(),
        zone: None,
        instance_type: instance_type.to_owned(),
        state: InstanceState::Running,
        lifecycle: Lifecycle::OnDemand,
        capacity_reservation_id: None,
        capacity_block_id: None,
        operating_system: OperatingSystem::Linux,
        tenancy: Tenancy::Shared,
        launch_time: at(LAUNCHED_AT),
        attached_time: None,
        state_transition_reason: None,
        tags: BTreeMap::new(),
        auto_scaling_group: None,
        private_dns_name: Some(launched.private_dns_name.clone()),
        volumes: Vec::new(),
        addresses: Vec::new(),
    }
}

/// What a server says of the pods of all machines.
pub fn read(url: &str, launched: &BTreeMap<&str, Launched>) -> Vec<DeviceUse> {
    let instances: Vec<Instance> =
        machines().map(|host| instance(&launched[host.name], host.instance_type)).collect();
    let server = Server { url: url.to_owned(), auth: Auth::None, headers: Vec::new() };
    let server = connect(server, ClientOptions::default(), MetricMap::builtin()).expect("a URL");
    let shapes = BTreeMap::new();
    let ask = MetricRequest {
        fleet: &instances,
        instances: &instances,
        shapes: &shapes,
        mig_instances: &BTreeMap::new(),
        window: Window { start: at(WINDOW_START), end: at(AS_OF) },
        period_seconds: 300,
        detail: Detail::Full,
        known: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let mut uses = Vec::new();
        for call in server.metrics.plan(ask).await.value.calls {
            if let Readings::Uses(part) = call.await.value {
                uses.extend(part);
            }
        }
        uses
    })
}

/// Samples, mean and maximum of each pod on a card. A pod that holds several slices holds
/// them at the same time, each with its share of the compute that it has.
fn expected(card: &Card) -> BTreeMap<&str, (u64, f64, f64)> {
    let mut sums: BTreeMap<&str, (u64, f64, f64, f64)> = BTreeMap::new();
    for part in &card.parts {
        for (pod, readings) in &part.by_pod {
            let inside = readings.iter().filter(|(second, _)| (START..END).contains(second));
            let values: Vec<f64> = inside.map(|(_, percent)| *percent).collect();
            if values.is_empty() {
                continue;
            }
            let (samples, sum, weight, largest) = sums.entry(pod).or_default();
            *samples = (*samples).max(values.len() as u64);
            *sum += part.share * values.iter().sum::<f64>();
            *weight += part.share * values.len() as f64;
            *largest = values.iter().copied().fold(*largest, f64::max);
        }
    }
    let figures = |(samples, sum, weight, largest): (u64, f64, f64, f64)| {
        let mean = sum / weight;
        (samples, mean, largest)
    };
    sums.into_iter().map(|(pod, sums)| (pod, figures(sums))).collect()
}

fn assert_same_uses(proof: &Proof, uses: &[DeviceUse]) {
    let mut compared = 0;
    for card in &proof.cards {
        // One is of no machine.
        let Some(id) = proof.ids.get(card.host) else { continue };
        let of_card = |device_use: &&DeviceUse| {
            device_use.machine.as_str() == id.as_str() && device_use.gpu == u32::from(card.index)
        };
        let own: Vec<&DeviceUse> = uses.iter().filter(of_card).collect();
        let expected = expected(card);
        let what = format!("{}: GPU {}", card.host, card.index);
        let pods = own.iter().map(|device_use| device_use.pod.as_str());
        assert!(pods.eq(expected.keys().copied()), "{what}: {own:?}");
        for device_use in own {
            let (samples, mean, largest) = expected[device_use.pod.as_str()];
            assert_eq!((&*device_use.namespace, device_use.n_samples), ("ml", samples), "{what}");
            let apart = (device_use.mean_percent - mean).abs();
            assert!(apart <= ROUNDING, "{what}: {device_use:?}, expected {mean}");
            let apart = (device_use.max_percent - largest).abs();
            assert!(apart <= ROUNDING, "{what}: {device_use:?}, expected {largest}");
            assert!(device_use.sample_seconds >= STEP_SECONDS, "{what}: {device_use:?}");
            compared += 1;
        }
    }
    assert_eq!(compared, uses.len(), "no use of another device");
    assert!(compared > 80, "{compared} uses of 29 cards");
    let shared = &proof.ids["shared"];
    let of_shared = uses.iter().filter(|device_use| device_use.machine.as_str() == shared);
    for device_use in of_shared {
        assert_eq!(device_use.sample_seconds, STEP_SECONDS, "{device_use:?}");
    }
}

#[test]
fn a_prometheus_tells_how_each_pod_used_its_gpus() {
    let Some(proof) = proof() else { return };
    assert_same_uses(proof, &proof.uses_by_prometheus);
}

#[test]
fn a_victoria_metrics_tells_how_each_pod_used_its_gpus() {
    let Some(proof) = proof() else { return };
    assert_same_uses(proof, &proof.uses_by_victoria_metrics);
}
