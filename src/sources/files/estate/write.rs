//! Writing an estate: one JSON document, metrics streamed, no credential.

use super::clusters::claim_wire;
use super::commitments;
use super::managed;
use super::opinions;
use super::recording::{Recording, series_wire};
use super::wire::{InstanceWire, PriceWire, StoragePriceWire};
use crate::domain::{Instance, PriceBasis, Provider, ResourceId};
use crate::sources::files::ESTATE_VERSION;
use crate::usage::Estate;
use serde::ser::{Error, SerializeMap, Serializer};
use serde::{Serialize, ser::SerializeSeq};
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
        map.add_any("training_plans", &all(&managed.plans, managed::plan_wire))?;
        map.add_any("jobs", &estate.jobs)?;
        map.add("prices", &prices(estate))?;
        map.add("storage_prices", &storage_prices(estate))?;
        map.add("commitments", &commitments::to_wire(&estate.commitments))?;
        if estate.commitments.is_unshared {
            map.add("commitment_sharing", &false)?;
        }
        map.add_any("skipped_accounts", &estate.commitments.skipped_accounts)?;
        map.add_any("opinions", &all(&estate.opinions, opinions::to_wire))?;
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
    InstanceWire {
        id: instance.id,
        account: instance.account,
        region: instance.region,
        zone: instance.zone,
        instance_type: instance.instance_type,
        state: instance.state,
        lifecycle: instance.lifecycle,
        capacity_reservation_id: instance.capacity_reservation_id,
        capacity_block_id: instance.capacity_block_id,
        operating_system: instance.operating_system,
        tenancy: instance.tenancy,
        launch_time: instance.launch_time,
        attached_time: instance.attached_time,
        state_transition_reason: instance.state_transition_reason,
        tags: (!instance.tags.is_empty() || is_of_sagemaker).then_some(instance.tags),
        auto_scaling_group: instance.auto_scaling_group,
        private_dns_name: instance.private_dns_name,
        volumes: instance.volumes,
        addresses: instance.addresses,
    }
}

fn prices(estate: &Estate) -> Vec<PriceWire> {
    let prices = estate.prices.iter();
    let wires = prices.map(|(key, quote)| PriceWire {
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
    let prices = estate.prices.iter_storage();
    let wires = prices.map(|(region, resource, quote)| StoragePriceWire {
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
