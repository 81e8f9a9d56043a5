//! Writing an estate: one JSON document, metrics streamed, no credential. Series on their way into
//! it are on disk: their points are not held.

use super::commitments;
use super::entries::{claim_wire, instance_wire, opinion_wire};
use super::prices::{prices, storage_prices};
use crate::domain::ResourceId;
use crate::files::ESTATE_VERSION;
use crate::usage::{Estate, Series, series_wire};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::Serialize;
use serde::ser::{Error, SerializeMap, SerializeSeq, Serializer};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::PathBuf;

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
        map.add("prices", &prices(&estate.prices))?;
        map.add("storage_prices", &storage_prices(&estate.prices))?;
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

/// Takes series as they arrive and keeps them in a nameless file, which is gone with
/// the process.
#[derive(Debug)]
pub struct Recorder {
    lines: io::Result<GzEncoder<BufWriter<File>>>,
    replaced: BTreeMap<ResourceId, Replaced>,
}

#[derive(Debug)]
pub struct Recording {
    file: File,
    replaced: BTreeMap<ResourceId, Replaced>,
}

/// What of an instance does not count of the series that were kept for the time being.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Replaced {
    /// Those that are read period by period.
    Grid,
    Everything,
}

/// What a line begins with: which series takes its place.
const LASTS: char = '-';
const LASTS_UNLESS_EVERYTHING: char = 'e';
const LASTS_UNLESS_GRID: char = 'g';

/// Why series could not be kept.
#[derive(Debug, thiserror::Error)]
#[error("cannot write metrics to a temporary file in {}", crate::domain::shown(folder))]
pub struct RecordingError {
    folder: PathBuf,
    pub source: io::Error,
}

impl Default for Recorder {
    fn default() -> Self {
        let file = tempfile::tempfile();
        Self {
            lines: file.map(|file| GzEncoder::new(BufWriter::new(file), Compression::fast())),
            replaced: BTreeMap::new(),
        }
    }
}

impl Recorder {
    /// Keeps a series. A failure is reported at the end.
    pub fn add(&mut self, series: &Series) {
        self.write(series, LASTS);
    }

    /// Keeps a series unless [`Recorder::replace`] says later that it does not count.
    pub fn add_for_now(&mut self, series: &Series) {
        let lasts =
            if series.metric.is_on_grid() { LASTS_UNLESS_GRID } else { LASTS_UNLESS_EVERYTHING };
        self.write(series, lasts);
    }

    /// What does not count of the series of an instance that were kept for now.
    pub fn replace(&mut self, instance: &ResourceId, what: Replaced) {
        self.replaced.insert(instance.clone(), what);
    }

    fn write(&mut self, series: &Series, lasts: char) {
        if let Ok(lines) = &mut self.lines
            && let Err(error) = write_line(lines, series, lasts)
        {
            self.lines = Err(error);
        }
    }

    /// What was recorded.
    ///
    /// # Errors
    /// When the file could not be made or written.
    pub fn finish(self) -> Result<Recording, RecordingError> {
        self.whole().map_err(|source| RecordingError { folder: tempfile::env::temp_dir(), source })
    }

    fn whole(self) -> io::Result<Recording> {
        let file = self.lines?.finish()?.into_inner();
        Ok(Recording {
            file: file.map_err(io::IntoInnerError::into_error)?,
            replaced: self.replaced,
        })
    }
}

/// Writes a line: whether it may be replaced, the instance as JSON, whether the series shows when
/// that ran, and the rest of the series.
fn write_line(out: &mut impl Write, series: &Series, lasts: char) -> io::Result<()> {
    let json = serde_json::to_string(&series_wire(series))?;
    let instance = serde_json::to_string(series.instance.as_str())?;
    // The instance is the first key of a series.
    let rest = json.strip_prefix(&format!("{{\"instance\":{instance},"));
    let shows = u8::from(series.shows_running());
    let rest = rest.unwrap_or_default();
    writeln!(out, "{lasts}\t{instance}\t{shows}\t{rest}")
}

impl Recording {
    /// Whether a series of an instance, by the id that it was recorded under, counts.
    fn counts(&self, lasts: &str, instance: &ResourceId) -> bool {
        match self.replaced.get(instance) {
            None => true,
            Some(Replaced::Grid) => !lasts.contains(LASTS_UNLESS_GRID),
            Some(Replaced::Everything) => lasts.contains(LASTS),
        }
    }

    /// What belongs to an estate, in order: the series of its instances, and of those
    /// beside it when they ran. `name` tells under which id an instance is known in it.
    ///
    /// # Errors
    /// When it cannot be read; so of each series.
    fn series_of<'a>(
        &'a self,
        estate: &'a Estate,
        name: &'a dyn Fn(ResourceId) -> ResourceId,
    ) -> io::Result<impl Iterator<Item = io::Result<Box<RawValue>>> + 'a> {
        let inside: BTreeSet<&ResourceId> =
            estate.instances.iter().map(|instance| &instance.id).collect();
        let beside: BTreeSet<&ResourceId> =
            estate.out_of_scope.iter().map(|instance| &instance.id).collect();
        let mut file = &self.file;
        file.seek(SeekFrom::Start(0))?;
        Ok(BufReader::new(GzDecoder::new(BufReader::new(file))).lines().filter_map(move |line| {
            let series = line.and_then(|line| {
                let parts: Vec<&str> = line.splitn(4, '\t').collect();
                let [lasts, instance, shows_running, rest] = parts[..] else { return Ok(None) };
                let recorded = serde_json::from_str::<String>(instance)?;
                let recorded = ResourceId::named(recorded);
                if !self.counts(lasts, &recorded) {
                    return Ok(None);
                }
                let id = name(recorded);
                let belongs = inside.contains(&id) || beside.contains(&id) && shows_running == "1";
                if !belongs {
                    return Ok(None);
                }
                let instance = serde_json::to_string(id.as_str())?;
                Ok(Some(RawValue::from_string(format!("{{\"instance\":{instance},{rest}"))?))
            });
            series.transpose()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{DeviceUse, Node};
    use crate::files::estate::entries::{ClaimWire, Of};
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
