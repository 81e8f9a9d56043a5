//! Writing an estate: one JSON document, metrics streamed, no credential.

use super::commitments;
use super::recording::{Recording, series_wire};
use super::wire::{ClaimWire, InstanceWire, OpinionWire, PriceWire, StoragePriceWire, usd};
use crate::domain::{AwsOpinion, Claim, Instance, Money, PriceBasis, Provider, ResourceId};
use crate::sources::files::ESTATE_VERSION;
use crate::sources::files::shared::same_fields;
use crate::usage::Estate;
use serde::Serialize;
use serde::ser::{Error, SerializeMap, SerializeSeq, Serializer};
use std::io::{self, Write};

/// Writes an estate as JSON, ready for `--from`.
///
/// # Errors
/// Whatever the writer meets.
pub fn write_estate(estate: &Estate, out: &mut dyn Write) -> io::Result<()> {
    write_document(estate, None, out)
}

/// Writes an estate with the series that were recorded of it. `name` tells under which
/// id an instance is known in the estate.
///
/// # Errors
/// Whatever the writer and the recording meet.
pub fn write_recorded(
    estate: &Estate,
    recording: &Recording,
    name: &dyn Fn(ResourceId) -> ResourceId,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_document(estate, Some((recording, name)), out)
}

type Recorded<'a> = (&'a Recording, &'a dyn Fn(ResourceId) -> ResourceId);

fn write_document(
    estate: &Estate,
    recorded: Option<Recorded<'_>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::new(&mut *out);
    Document(estate, recorded).serialize(&mut serializer).map_err(io::Error::from)?;
    out.write_all(b"\n")
}

struct Document<'a>(&'a Estate, Option<Recorded<'a>>);

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(estate, recorded) = self;
        let (clusters, managed) = (&estate.clusters, &estate.managed);
        let mut map = Keys(serializer.serialize_map(None)?);
        map.add("estate_version", ESTATE_VERSION)?;
        map.add("gpucost_version", env!("CARGO_PKG_VERSION"))?;
        map.add("as_of", &estate.as_of.to_string())?;
        map.add("window_start", &estate.window.start.to_string())?;
        map.add("window_end", &estate.window.end.to_string())?;
        map.add("period_seconds", &estate.period_seconds)?;
        map.add("source", &estate.source)?;
        map.add("accounts", &estate.accounts)?;
        map.add("regions", &estate.regions)?;
        map.add_any("tag_filters", &estate.tag_filters)?;
        map.add("instances", &all(&estate.instances, instance_wire))?;
        map.add_any("out_of_scope", &all(&estate.out_of_scope, instance_wire))?;
        map.add_any("scaling_groups", &estate.scaling_groups)?;
        map.add("shapes", &Vec::from_iter(estate.shapes.values()))?;
        map.add("metrics", &Metrics(estate, *recorded))?;
        map.add_any("profiles", &estate.profiles)?;
        map.add_any("nodes", &clusters.nodes)?;
        map.add_any("claims", &all(&clusters.claims, claim_wire))?;
        map.add_any("uses", &clusters.uses)?;
        map.add_any("component_hosts", &managed.hosts)?;
        map.add_any("training_plans", &managed.plans)?;
        map.add_any("jobs", &estate.jobs)?;
        map.add("prices", &prices(estate))?;
        map.add("storage_prices", &storage_prices(estate))?;
        map.add("commitments", &commitments::to_wire(&estate.commitments))?;
        if estate.commitments.is_unshared {
            map.add("commitment_sharing", &false)?;
        }
        map.add_any("skipped_accounts", &estate.commitments.skipped_accounts)?;
        map.add_any("opinions", &all(&estate.opinions, opinion_wire))?;
        map.add("gaps", &estate.gaps)?;
        map.add("api", &estate.api)?;
        map.0.end()
    }
}

/// The keys of a document.
struct Keys<M>(M);

impl<M: SerializeMap> Keys<M> {
    fn add<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), M::Error> {
        self.0.serialize_entry(key, value)
    }

    /// Without any, programs that do not know the key can read the document too.
    fn add_any<T: Serialize>(&mut self, key: &str, values: &[T]) -> Result<(), M::Error> {
        if values.is_empty() {
            return Ok(());
        }
        self.add(key, values)
    }
}

fn all<T, W>(values: &[T], wire: impl Fn(&T) -> W) -> Vec<W> {
    values.iter().map(wire).collect()
}

fn instance_wire(instance: &Instance) -> InstanceWire {
    let instance = instance.clone();
    // A gap says where its tags were not read.
    let is_of_sagemaker = instance.id.provider() == Provider::SageMaker;
    same_fields!(instance => InstanceWire {
        id, account, region, zone, instance_type, state, lifecycle, capacity_reservation_id,
        capacity_block_id, operating_system, tenancy, launch_time, attached_time,
        state_transition_reason, auto_scaling_group, private_dns_name, volumes, addresses;
        tags: (!instance.tags.is_empty() || is_of_sagemaker).then_some(instance.tags),
    })
}

fn claim_wire(claim: &Claim) -> ClaimWire {
    let Claim { holder, devices, state, since, machine } = claim.clone();
    same_fields!(holder => ClaimWire {
        namespace, pod, owner, labels, placement;
        resource: devices.resource,
        unit: devices.unit,
        count: devices.count,
        state,
        since,
        machine,
    })
}

fn opinion_wire(opinion: &AwsOpinion) -> OpinionWire {
    let savings = opinion.monthly_savings;
    let mut instances = opinion.instances.clone();
    let instance = (instances.len() == 1).then(|| instances.remove(0));
    OpinionWire {
        instance,
        instances,
        action: opinion.action.clone(),
        to: opinion.to.clone(),
        currency: savings.map_or_else(usd, Money::currency),
        monthly_savings: savings.map(Money::amount),
    }
}

fn prices(estate: &Estate) -> Vec<PriceWire> {
    let wires = estate.prices.iter().map(|(key, quote)| PriceWire {
        provider: (key.provider != Provider::Aws).then_some(key.provider),
        region: key.region.clone(),
        zone: key.zone.clone(),
        instance_type: key.instance_type.clone(),
        operating_system: key.operating_system,
        tenancy: key.tenancy,
        option: key.option,
        currency: quote.rate.currency(),
        hourly: quote.rate.amount(),
        upfront: quote.instalments.map(|paid| paid.upfront),
        recurring_hourly: quote.instalments.map(|paid| paid.hourly),
        origin: quote.origin,
        basis: (quote.basis != PriceBasis::Observed).then_some(quote.basis),
        effective_date: quote.effective_date,
        spot_history: estate.prices.spot_history(key).cloned(),
        seen_on: (quote.seen_on != quote.effective_date).then_some(quote.seen_on),
        source: quote.source.clone(),
    });
    wires.collect()
}

fn storage_prices(estate: &Estate) -> Vec<StoragePriceWire> {
    let wires = estate.prices.iter_storage().map(|(region, resource, quote)| StoragePriceWire {
        region: region.to_owned(),
        resource,
        currency: quote.unit_price.currency(),
        unit_price: quote.unit_price.amount(),
        origin: quote.origin,
        effective_date: quote.effective_date,
        source: quote.source.clone(),
    });
    wires.collect()
}

struct Metrics<'a>(&'a Estate, Option<Recorded<'a>>);

impl Serialize for Metrics<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(estate, recorded) = self;
        let mut list = serializer.serialize_seq(None)?;
        if let Some((recording, name)) = recorded {
            let unreadable = S::Error::custom::<io::Error>;
            for series in recording.series_of(estate, name).map_err(unreadable)? {
                list.serialize_element(&series.map_err(unreadable)?)?;
            }
        }
        for series in &estate.metrics {
            list.serialize_element(&series_wire(series))?;
        }
        list.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{DeviceUse, Node};
    use crate::sources::files::estate::fields::Of;
    use serde_json::{Value, json};

    fn node() -> Value {
        json!({
            "name": "gpu-1",
            "provider_id": "aws:///us-east-1a/i-1",
            "cluster": "search",
            "machine": "i-1",
            "physical": "8",
            "devices": {
                "nvidia.com/gpu": {"unit": {}, "capacity": 1, "allocatable": 0},
                "nvidia.com/gpu.shared": {"unit": {"replicas": 4}, "capacity": 4, "allocatable": 4},
                "nvidia.com/mig-3g.20gb": {
                    "unit": {"profile": "3g.20gb", "slices": 3, "of": 7},
                    "capacity": 2, "allocatable": 2,
                },
            },
            "price_class": "spot",
            "pool": "trainers",
            "pool_maker": "karpenter",
            "cpu_millicores": {"capacity": 96_000, "allocatable": 95_000, "requested": 1_500},
            "memory_mib": {"capacity": 1_000, "allocatable": 900},
            "pods": 3,
            "cpu_only_pods": 2,
            "ready": true,
            "cordoned": true,
        })
    }

    fn claim() -> Value {
        json!({
            "namespace": "search",
            "pod": "ranker-0",
            "owner": {"kind": "Deployment", "name": "ranker"},
            "labels": {"team": "search"},
            "resource": "nvidia.com/mig-3g.20gb.shared",
            "unit": {"profile": "3g.20gb", "slices": 3, "of": 7, "replicas": 2},
            "count": 2,
            "state": "running",
            "since": "2026-10-01T00:00:00Z",
            "machine": "i-1",
            "placement": {
                "cpu_millicores": 4_000, "memory_mib": 16_384, "bound": true, "local_data": true,
            },
        })
    }

    fn used() -> Value {
        json!({
            "machine": "i-1",
            "gpu": 3,
            "namespace": "search",
            "pod": "ranker-0",
            "n_samples": 1_440,
            "sample_seconds": 60,
            "mean_percent": 12.5,
            "max_percent": 80.0,
        })
    }

    #[test]
    fn what_is_read_is_written_again() {
        let read = serde_json::from_value::<Node>(node()).expect("a node");
        let written = serde_json::to_value(&read).expect("JSON");
        assert_eq!(written, node());
        let Of(read) = serde_json::from_value::<Of<ClaimWire>>(claim()).expect("a claim");
        let written = serde_json::to_value(claim_wire(&read)).expect("JSON");
        assert_eq!(written, claim());
        // Two halves of three sevenths.
        assert_eq!(read.devices.physical().round_dp(6).to_string(), "0.428571");
        let Of(read) = serde_json::from_value::<Of<DeviceUse>>(used()).expect("a use");
        let written = serde_json::to_value(&read).expect("JSON");
        assert_eq!(written, used());
    }

    #[test]
    fn percentages_of_a_use_are_in_order() {
        for (key, value, words) in [
            ("mean_percent", json!(-0.1), "between 0 and 100"),
            ("max_percent", json!(100.1), "between 0 and 100"),
            ("max_percent", json!(12.4), "larger than `max_percent`"),
            ("sample_seconds", json!(0), "at least 1"),
            ("gpu", json!(-1), "invalid value"),
        ] {
            let mut one = used();
            one[key] = value;
            let error = serde_json::from_value::<Of<DeviceUse>>(one).err();
            let error = error.expect("it is wrong").to_string();
            assert!(error.contains(words), "{key}: {error}");
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for (key, value, words) in [
            ("unit", json!({"replicas": 0}), "at least 1"),
            ("unit", json!({"profile": "3g.20gb"}), "a slice needs"),
            ("unit", json!({"slices": 3, "of": 7}), "a slice needs"),
            ("unit", json!({"profile": "9g.20gb", "slices": 9, "of": 7}), "a slice needs"),
            ("state", json!("pending"), "a `pending` one has none"),
            ("state", json!("gone"), "`gone` is not a known claim state"),
            ("extra", json!(1), "unknown field"),
        ] {
            let mut claim = claim();
            claim[key] = value;
            let error = serde_json::from_value::<Of<ClaimWire>>(claim).err();
            let error = error.expect("it is wrong").to_string();
            assert!(error.contains(words), "{key}: {error}");
        }
    }
}
