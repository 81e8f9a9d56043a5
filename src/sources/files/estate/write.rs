//! Writing an estate: one JSON document, metrics streamed, no credential.

use super::clusters::{claim_wire, node_wire, use_wire};
use super::commitments;
use super::jobs::job_wire;
use super::managed;
use super::opinions;
use super::recording::{Recording, series_wire};
use super::scaling;
use super::wire::{
    AddressWire, ApiWire, CauseWire, GapWire, GpuWire, InstanceWire, PriceWire, ProfileWire,
    SampleCountsWire, ShapeWire, SpotHistoryWire, StoragePriceWire, TagFilterWire, VolumeWire,
};
use crate::domain::{
    Instance, InstanceShape, PriceBasis, ProfiledRun, Provider, ResourceId, SpotHistory, TagFilter,
};
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
    Document(estate, recorded)
        .serialize(&mut serializer)
        .map_err(io::Error::from)?;
    out.write_all(b"\n")
}

struct Document<'a>(&'a Estate, Option<Recorded<'a>>);

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let estate = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("estate_version", ESTATE_VERSION)?;
        map.serialize_entry("gpucost_version", env!("CARGO_PKG_VERSION"))?;
        map.serialize_entry("as_of", &estate.as_of.to_string())?;
        map.serialize_entry("window_start", &estate.window.start.to_string())?;
        map.serialize_entry("window_end", &estate.window.end.to_string())?;
        map.serialize_entry("period_seconds", &estate.period_seconds)?;
        map.serialize_entry("source", estate.source.name())?;
        map.serialize_entry("accounts", &estate.accounts)?;
        map.serialize_entry("regions", &estate.regions)?;
        if !estate.tag_filters.is_empty() {
            let filters: Vec<_> = estate.tag_filters.iter().map(filter_wire).collect();
            map.serialize_entry("tag_filters", &filters)?;
        }
        let instances: Vec<_> = estate.instances.iter().map(instance_wire).collect();
        map.serialize_entry("instances", &instances)?;
        if !estate.out_of_scope.is_empty() {
            let others: Vec<_> = estate.out_of_scope.iter().map(instance_wire).collect();
            map.serialize_entry("out_of_scope", &others)?;
        }
        if !estate.scaling_groups.is_empty() {
            let groups: Vec<_> = estate.scaling_groups.iter().map(scaling::to_wire).collect();
            map.serialize_entry("scaling_groups", &groups)?;
        }
        let shapes: Vec<_> = estate.shapes.values().map(shape_wire).collect();
        map.serialize_entry("shapes", &shapes)?;
        map.serialize_entry("metrics", &Metrics(estate, self.1))?;
        // Without any, programs that know no profiles can read it too.
        if !estate.profiles.is_empty() {
            let runs: Vec<_> = estate.profiles.iter().map(profile_wire).collect();
            map.serialize_entry("profiles", &runs)?;
        }
        let nodes: Vec<_> = estate.clusters.nodes.iter().map(node_wire).collect();
        if !nodes.is_empty() {
            map.serialize_entry("nodes", &nodes)?;
        }
        let claims: Vec<_> = estate.clusters.claims.iter().map(claim_wire).collect();
        if !claims.is_empty() {
            map.serialize_entry("claims", &claims)?;
        }
        let uses: Vec<_> = estate.clusters.uses.iter().map(use_wire).collect();
        if !uses.is_empty() {
            map.serialize_entry("uses", &uses)?;
        }
        let hosts: Vec<_> = estate
            .managed
            .hosts
            .iter()
            .map(managed::host_wire)
            .collect();
        if !hosts.is_empty() {
            map.serialize_entry("component_hosts", &hosts)?;
        }
        let plans: Vec<_> = estate
            .managed
            .plans
            .iter()
            .map(managed::plan_wire)
            .collect();
        if !plans.is_empty() {
            map.serialize_entry("training_plans", &plans)?;
        }
        let jobs: Vec<_> = estate.jobs.iter().map(job_wire).collect();
        if !jobs.is_empty() {
            map.serialize_entry("jobs", &jobs)?;
        }
        map.serialize_entry("prices", &prices(estate))?;
        map.serialize_entry("storage_prices", &storage_prices(estate))?;
        map.serialize_entry("commitments", &commitments::to_wire(&estate.commitments))?;
        if estate.commitments.is_unshared {
            map.serialize_entry("commitment_sharing", &false)?;
        }
        if !estate.opinions.is_empty() {
            let all: Vec<_> = estate.opinions.iter().map(opinions::to_wire).collect();
            map.serialize_entry("opinions", &all)?;
        }
        map.serialize_entry("gaps", &gaps(estate))?;
        map.serialize_entry(
            "api",
            &ApiWire {
                calls: estate.api.calls,
                retries: estate.api.retries,
                estimated_cost_usd: estate.api.estimated_cost_usd.to_string(),
                by_operation: estate.api.by_operation.clone(),
            },
        )?;
        map.end()
    }
}

fn filter_wire(filter: &TagFilter) -> TagFilterWire {
    TagFilterWire {
        key: filter.key.clone(),
        value: filter.value.clone(),
        excluded: filter.is_excluded,
    }
}

fn instance_wire(instance: &Instance) -> InstanceWire {
    // A gap says where its tags were not read.
    let is_of_sagemaker = instance.id.provider() == Provider::SageMaker;
    InstanceWire {
        id: instance.id.to_string(),
        account: instance.account.clone(),
        region: instance.region.clone(),
        zone: instance.zone.clone(),
        instance_type: instance.instance_type.clone(),
        state: instance.state.name().to_owned(),
        lifecycle: instance.lifecycle.name().to_owned(),
        capacity_reservation_id: instance.capacity_reservation_id.clone(),
        capacity_block_id: instance.capacity_block_id.clone(),
        operating_system: instance.operating_system.name().to_owned(),
        tenancy: instance.tenancy.name().to_owned(),
        launch_time: instance.launch_time.to_string(),
        attached_time: instance.attached_time.map(|time| time.to_string()),
        state_transition_reason: instance.state_transition_reason.clone(),
        tags: (!instance.tags.is_empty() || is_of_sagemaker).then(|| instance.tags.clone()),
        auto_scaling_group: instance.auto_scaling_group.clone(),
        private_dns_name: instance.private_dns_name.clone(),
        volumes: instance
            .volumes
            .iter()
            .map(|volume| VolumeWire {
                id: volume.id.clone(),
                volume_type: volume.volume_type.clone(),
                size_gib: volume.size_gib,
            })
            .collect(),
        addresses: instance
            .addresses
            .iter()
            .map(|address| AddressWire {
                id: address.id.clone(),
            })
            .collect(),
    }
}

fn shape_wire(shape: &InstanceShape) -> ShapeWire {
    ShapeWire {
        instance_type: shape.instance_type.clone(),
        accelerator: shape.accelerator.name().to_owned(),
        gpu: shape.gpu.as_ref().map(|offer| GpuWire {
            model: offer.model.name().to_owned(),
            count: offer.share.to_string(),
            vram_mib: offer.vram_mib,
        }),
        vcpu: shape.vcpu,
        memory_mib: shape.memory_mib,
        architecture: shape.architecture.map(|known| known.name().to_owned()),
        local_storage_gb: shape.local_storage_gb,
        efa: shape.efa,
    }
}

fn profile_wire(run: &ProfiledRun) -> ProfileWire {
    ProfileWire {
        instance: run.instance.to_string(),
        start: run.start.to_string(),
        end: run.end.to_string(),
        covers_a_command: run.covers_a_command,
        samples: run.samples.map(|samples| SampleCountsWire {
            reported: samples.reported,
            taken: samples.taken,
            missed: samples.missed,
        }),
        gpu_mean_percent: run.gpu_mean_percent,
        cpu_p95_percent: run.cpu_p95_percent,
        memory_p95_mib: run.memory_p95_mib,
    }
}

fn prices(estate: &Estate) -> Vec<PriceWire> {
    estate
        .prices
        .iter()
        .map(|(key, quote)| PriceWire {
            provider: (key.provider != Provider::Aws).then(|| key.provider.to_string()),
            region: key.region.clone(),
            zone: key.zone.clone(),
            instance_type: key.instance_type.clone(),
            operating_system: key.operating_system.name().to_owned(),
            tenancy: key.tenancy.name().to_owned(),
            option: key.option.to_string(),
            currency: quote.rate.currency().code().to_owned(),
            hourly: quote.rate.amount().to_string(),
            upfront: quote.instalments.map(|paid| paid.upfront.to_string()),
            recurring_hourly: quote.instalments.map(|paid| paid.hourly.to_string()),
            origin: quote.origin.name().to_owned(),
            basis: (quote.basis != PriceBasis::Observed).then(|| quote.basis.name().to_owned()),
            effective_date: quote.effective_date.to_string(),
            spot_history: estate.prices.spot_history(key).map(spot_history_wire),
            seen_on: (quote.seen_on != quote.effective_date).then(|| quote.seen_on.to_string()),
            source: quote.source.clone(),
        })
        .collect()
}

fn spot_history_wire(history: &SpotHistory) -> SpotHistoryWire {
    SpotHistoryWire {
        now: history.now.to_string(),
        min: history.min.to_string(),
        max: history.max.to_string(),
        p95: history.p95.to_string(),
        volatility_percent: history.volatility_percent.to_string(),
    }
}

fn storage_prices(estate: &Estate) -> Vec<StoragePriceWire> {
    estate
        .prices
        .iter_storage()
        .map(|(region, resource, quote)| StoragePriceWire {
            region: region.to_owned(),
            resource: resource.name().to_owned(),
            currency: quote.unit_price.currency().code().to_owned(),
            unit_price: quote.unit_price.amount().to_string(),
            origin: quote.origin.name().to_owned(),
            effective_date: quote.effective_date.map(|date| date.to_string()),
            source: quote.source.clone(),
        })
        .collect()
}

fn gaps(estate: &Estate) -> Vec<GapWire> {
    estate
        .gaps
        .iter()
        .map(|gap| GapWire {
            what: gap.what.to_string(),
            place: gap.place.clone(),
            reason: gap.reason.clone(),
            hint: gap.hint.clone(),
            cause: gap.cause.as_ref().map(|cause| CauseWire {
                kind: cause.kind().name().to_owned(),
                details: cause.details().map(|(_, text)| text.to_owned()).collect(),
            }),
        })
        .collect()
}

struct Metrics<'a>(&'a Estate, Option<Recorded<'a>>);

impl Serialize for Metrics<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(estate, recorded) = self;
        let mut all = serializer.serialize_seq(None)?;
        if let Some((recording, name)) = recorded {
            let unreadable = S::Error::custom::<io::Error>;
            for series in recording.series_of(estate, name).map_err(unreadable)? {
                all.serialize_element(&series.map_err(unreadable)?)?;
            }
        }
        for series in &estate.metrics {
            all.serialize_element(&series_wire(series))?;
        }
        all.end()
    }
}
