//! Reading an estate: every error is named with its place, nothing is guessed.

use super::cells::PlacedCells;
use super::commitments;
use super::entries::{
    ClaimWire, InstanceWire, Of, OpinionWire, Wire, check_clusters, described, generator,
    sorted_groups, sorted_managed,
};
use super::prices::{PriceWire, StoragePriceWire};
use super::stream::{Document, OneValue, invalid};
use crate::domain::{
    ApiUsage, Cause, CauseKind, ComponentHost, DeviceUse, EstateSource, Form, Gap, GapSubject,
    Instance, InstanceShape, Node, PriceKey, PriceQuote, ProfiledRun, Provider, ResourceId,
    ScalingGroup, SeriesSource, SpotHistory, TagFilter, Time, TrainingJob, TrainingPlan, Window,
    region_of, shown,
};
use crate::files::ESTATE_VERSION;
use crate::files::shared::bounded::{AtMost, open};
use crate::files::shared::json::{
    InvalidJson, InvalidValue, JsonError, at, read_json, read_json_file,
};
use crate::usage::{
    Estate, MOST_PERIODS, Series, SeriesWire, UsageBuilder, placed_series, read_series,
};
use flate2::read::GzDecoder;
use jiff::{SignedDuration, Timestamp};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Error, Value as Json, json};
use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Bytes of one text: a tag has 256, a plan's document none.
const LONGEST_TEXT: usize = 1 << 20;
/// Values of all series, repetitions counted: 10,000 instances for a fortnight of
/// five minutes.
const MOST_VALUES: u64 = 500_000_000;
/// Cells that are held until the window is known, 24 bytes each.
const MOST_UNPLACED: usize = 20_000_000;
const MOST_INSTANCES: usize = 1_000_000;
const MOST_PRICES: usize = 2_000_000;
/// Accounts, regions, types.
const MOST_NAMES: usize = 100_000;

/// Why an estate could not be read.
#[derive(Debug, thiserror::Error)]
pub enum EstateError {
    /// The file could not be opened or read.
    #[error("cannot read the estate {}", shown(path))]
    Io { path: PathBuf, source: io::Error },
    /// It is not an estate, or ends early.
    #[error("{} is not a complete estate", shown(path))]
    Malformed {
        path: PathBuf,
        /// What is wrong, with line and column.
        source: InvalidJson,
    },
    /// It is complete, and something in it is not as it must be.
    #[error("invalid estate {}{}", shown(path), at(place))]
    Wrong {
        path: PathBuf,
        /// The keys that lead there; empty when it is about the whole.
        place: String,
        /// What was found and what was expected.
        source: InvalidValue,
    },
    #[error(
        "{} has estate version {found}; this program reads version {ESTATE_VERSION}",
        shown(path)
    )]
    Newer {
        path: PathBuf,
        /// The version it has.
        found: String,
    },
}

/// What is kept of the series of an estate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Keep {
    /// Their points: for an estate that is written again.
    #[default]
    Points,
    /// What they amount to, as they are read: memory does not grow with points.
    Usage,
}

/// Reads an estate file, plain or gzip-compressed.
///
/// # Errors
/// When it cannot be read, is not a complete estate, or is of another version.
pub fn read_estate(path: &Path, keep: Keep) -> Result<Estate, EstateError> {
    let mut parts = Parts::new(keep);
    let mut estate = read_parts(path, &mut parts)?;
    if !parts.split.is_empty() {
        // Records of one series must meet before they are reduced.
        let split = std::mem::take(&mut parts.split);
        estate.usage.retain(|id| !split.contains(id));
        let mut parts = Parts::new(Keep::Points);
        parts.only = Some(split);
        let whole = read_parts(path, &mut parts)?.measured().into_owned();
        estate.usage.merge(whole, estate.window, estate.period_seconds);
    }
    Ok(estate)
}

fn read_parts(path: &Path, parts: &mut Parts) -> Result<Estate, EstateError> {
    // What can be read twice is read fast first.
    if path.is_file() {
        let mut first = Parts::new(parts.keep);
        first.only = parts.only.clone();
        let input = open(path).map_err(Error::io);
        if let Ok(estate) = input.and_then(|input| read_stream(input, &mut first)) {
            parts.split = first.split;
            return Ok(estate);
        }
    }
    read_json_file(path, LONGEST_TEXT, &mut *parts)
        .map_err(|source| EstateError::Io { path: path.to_owned(), source })?
        .map_err(|error| explain(path, error, parts))
}

/// Reads an estate value by value, and its series one after another.
///
/// # Errors
/// When it is not a complete estate, or a value is too long to be held.
fn read_stream(input: impl Read, parts: &mut Parts) -> Result<Estate, Error> {
    let mut document = Document::new(input, LONGEST_TEXT);
    document.expect(b'{')?;
    let mut is_first = true;
    while document.has_next(b'}', &mut is_first)? {
        document.read_text()?;
        let key: String = serde_json::from_slice(&document.text)?;
        parts.begin(&key).map_err(de::Error::custom)?;
        document.expect(b':')?;
        if key != "metrics" {
            document.read_text()?;
            parts.read_key(&key, &mut OneValue(&document.text))?;
            continue;
        }
        let grid = parts.grid_so_far().map_err(de::Error::custom)?;
        document.expect(b'[')?;
        let mut is_first = true;
        while document.has_next(b']', &mut is_first)? {
            document.read_text()?;
            parts.take(read_series(&document.text)?, grid).map_err(de::Error::custom)?;
        }
    }
    match document.next_byte()? {
        None => parts.complete(),
        Some(_) => Err(invalid()),
    }
}

/// Reads an estate that ships inside the binary.
pub(super) fn read_bundled(document: &[u8]) -> Result<Estate, EstateError> {
    let mut parts = Parts::new(Keep::Points);
    read_json(GzDecoder::new(document), LONGEST_TEXT, &mut parts)
        .map_err(|error| explain(Path::new("the demo"), error, &parts))
}

/// Reads an estate from JSON text.
///
/// # Errors
/// With line and column, when it is not a complete estate.
pub fn parse_estate(reader: impl Read) -> Result<Estate, InvalidJson> {
    let mut parts = Parts::new(Keep::Points);
    read_json(reader, LONGEST_TEXT, &mut parts).map_err(|error| error.source)
}

fn explain(path: &Path, error: JsonError, parts: &Parts) -> EstateError {
    let path = path.to_owned();
    if let Some(found) = parts.other_version.clone() {
        return EstateError::Newer { path, found };
    }
    match error.source {
        InvalidJson::Text(source) if source.is_io() && !is_broken(&source) => {
            EstateError::Io { path, source: source.into() }
        }
        InvalidJson::Value(source) if !parts.is_other => {
            EstateError::Wrong { path, place: error.place, source }
        }
        source => EstateError::Malformed { path, source },
    }
}

/// Compressed text that ends early, or is not compressed, is an incomplete estate.
fn is_broken(error: &serde_json::Error) -> bool {
    matches!(
        error.io_error_kind(),
        Some(io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof)
    )
}

/// What an error is about is left in the parts.
impl<'de> DeserializeSeed<'de> for &mut Parts {
    type Value = Estate;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Estate, D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// An edge of the window, on a whole second: its grid has no fractions.
fn edge(text: &str) -> Result<Timestamp, String> {
    let edge = Time::read(text)?;
    Timestamp::from_second(edge.as_second()).map_err(|error| error.to_string())
}

/// The parts of a document as they arrive.
#[derive(Default)]
struct Parts {
    /// The keys that were read.
    read: BTreeSet<String>,
    version: Option<String>,
    /// The version of a document of another one.
    other_version: Option<String>,
    /// The document is not an object, or an object without the keys of every estate.
    is_other: bool,
    as_of: Option<Timestamp>,
    window_start: Option<Timestamp>,
    window_end: Option<Timestamp>,
    period_seconds: Option<u32>,
    /// What was read of it, as it stands in the document.
    estate: Estate,
    /// Regions in which SageMaker runs something of which no tags are stated.
    without_tags: BTreeSet<String>,
    keep: Keep,
    usage: Option<UsageBuilder>,
    /// Instances with a series of which a record was reduced before another was read.
    split: BTreeSet<ResourceId>,
    /// The instances whose series are wanted; absent for all.
    only: Option<BTreeSet<ResourceId>>,
    unplaced: Vec<SeriesWire>,
    /// Values of all series, repetitions counted, and cells of those not placed yet.
    values: u64,
    cells: usize,
}

impl<'de> Visitor<'de> for &mut Parts {
    type Value = Estate;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an estate, a JSON object with `estate_version`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Estate, A::Error> {
        self.is_other = false;
        while let Some(key) = map.next_key::<String>()? {
            self.begin(&key).map_err(de::Error::custom)?;
            self.read_key(&key, &mut map)?;
        }
        self.complete()
    }
}

/// Declares the keys of an estate, a line each: the name, what is read and, where its schema is
/// another one, its form, what is done with it, and what it means.
macro_rules! estate_keys {
    (|$parts:ident, $value:ident| { $( $key:literal: $type:ty $(as $form:tt)?, $set:expr, $meaning:literal; )* }) => {
        impl Parts {
            fn read_key<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
                match key {
                    $( $key => {
                        let value = map.next_value::<$type>()?;
                        let set = |$parts: &mut Self, $value: $type| -> Result<(), String> {
                            $set;
                            Ok(())
                        };
                        set(self, value).map_err(de::Error::custom)
                    } )*
                    "metrics" => map.next_value_seed(MetricsSeed(self)),
                    other => Err(de::Error::custom(format!("unknown key `{other}`"))),
                }
            }
        }

        /// The JSON schema of an estate file.
        pub fn estate_schema() -> Json {
            let mut generator = generator();
            let metrics = described::<Vec<SeriesWire>>(&mut generator, "");
            let mut keys = json!({ "metrics": metrics });
            $( keys[$key] = estate_keys!(@schema generator, $meaning, $type $(, $form)?); )*
            json!({
                "type": "object",
                "properties": keys,
                "required": ["estate_version", "as_of"],
                "additionalProperties": false,
            })
        }
    };
    (@schema $generator:ident, $meaning:literal, $type:ty) => {
        described::<$type>(&mut $generator, $meaning)
    };
    (@schema $generator:ident, $meaning:literal, $type:ty, { $($schema:tt)* }) => {
        json!({ "description": $meaning, $($schema)* })
    };
    (@schema $generator:ident, $meaning:literal, $type:ty, $form:ident) => {
        described::<$form>(&mut $generator, $meaning)
    };
}

/// What many of a kind are read as.
type All<W, const N: usize> = AtMost<Of<W>, N>;

fn values<W: Wire, const N: usize>(listed: All<W, N>) -> impl Iterator<Item = W::Value> {
    listed.0.into_iter().map(|Of(value)| value)
}

estate_keys! {
    |parts, value| {
        "estate_version": String as { "const": ESTATE_VERSION }, parts.set_version(value)?, "Version of the form.";
        "gpucost_version": de::IgnoredAny as {}, _ = (parts, value), "Version of the program that wrote the file; ignored on reading.";
        "as_of": String as Time, parts.as_of = Some(Time::read(&value)?), "The time that the estate describes.";
        "window_start": String as Time, parts.window_start = Some(edge(&value)?), "Start of the window of the metrics; 14 days before `as_of` unless said otherwise.";
        "window_end": String as Time, parts.window_end = Some(edge(&value)?), "End of the window, exclusive; `as_of` unless said otherwise.";
        "period_seconds": u32 as { "type": "integer", "minimum": 1 }, parts.set_period(value)?, "The grid of utilization, power and CPU series, in seconds; 300 unless said otherwise.";
        "source": EstateSource, parts.estate.source = value, "`estate` unless said otherwise.";
        "accounts": AtMost<String, MOST_NAMES>, parts.estate.accounts = value.0, "";
        "regions": AtMost<String, MOST_NAMES>, parts.estate.regions = value.0, "";
        "tag_filters": AtMost<TagFilter, MOST_NAMES>, parts.estate.tag_filters = value.0, "The tags that selected the instances.";
        "instances": All<InstanceWire, MOST_INSTANCES>, parts.add_instances(values(value)), "";
        "out_of_scope": All<InstanceWire, MOST_INSTANCES>, parts.estate.out_of_scope.extend(values(value).map(|(instance, _)| instance)), "Instances that a filter excluded and that commitments may pay for.";
        "scaling_groups": All<ScalingGroup, MOST_NAMES>, parts.estate.scaling_groups.extend(values(value)), "";
        "opinions": All<OpinionWire, MOST_INSTANCES>, parts.estate.opinions.extend(values(value)), "";
        "shapes": AtMost<InstanceShape, MOST_NAMES>, for shape in value.0 { parts.estate.shapes.insert(shape.instance_type.clone(), shape); }, "";
        "profiles": All<ProfiledRun, MOST_INSTANCES>, parts.estate.profiles.extend(values(value)), "";
        "nodes": AtMost<Node, MOST_INSTANCES>, parts.estate.clusters.nodes = value.0, "";
        "claims": All<ClaimWire, MOST_INSTANCES>, parts.estate.clusters.claims.extend(values(value)), "";
        "uses": All<DeviceUse, MOST_INSTANCES>, parts.estate.clusters.uses.extend(values(value)), "";
        "component_hosts": All<ComponentHost, MOST_INSTANCES>, parts.estate.managed.hosts.extend(values(value)), "";
        "training_plans": All<TrainingPlan, MOST_NAMES>, parts.estate.managed.plans.extend(values(value)), "";
        "jobs": AtMost<TrainingJob, MOST_INSTANCES>, parts.estate.jobs = value.0, "";
        "prices": All<PriceWire, MOST_PRICES>, parts.add_prices(values(value)), "";
        "storage_prices": All<StoragePriceWire, MOST_NAMES>, for (region, resource, quote) in values(value) { parts.estate.prices.insert_storage(&region, resource, quote); }, "";
        "gaps": All<Gap, MOST_INSTANCES>, parts.estate.gaps.extend(values(value)), "";
        "api": ApiUsage, parts.estate.api = value, "";
        "commitments": commitments::List, parts.estate.commitments.add(value.0), "";
        "commitment_sharing": bool, parts.estate.commitments.is_unshared = !value, "Whether commitments of one account cover instances of others; true unless said otherwise.";
        "skipped_accounts": AtMost<String, MOST_NAMES>, parts.estate.commitments.skipped_accounts = value.0, "Accounts out of scope: the unused part of their commitments is not counted.";
    }
}

impl Parts {
    /// Takes note of a key whose value follows.
    fn begin(&mut self, key: &str) -> Result<(), String> {
        if self.read.insert(key.to_owned()) {
            return Ok(());
        }
        Err(format!("duplicate key `{key}`"))
    }

    /// The estate, once every key was read.
    fn complete<E: de::Error>(&mut self) -> Result<Estate, E> {
        let missing = match (&self.version, self.as_of) {
            (Some(_), Some(as_of)) => {
                // Which series are apart in the file is known once all of them are placed.
                self.place_series(as_of).map_err(de::Error::custom)?;
                let split = std::mem::take(&mut self.split);
                let estate = std::mem::take(self).into_estate(as_of);
                self.split = split;
                return estate.map_err(de::Error::custom);
            }
            (Some(_), None) => "as_of",
            (None, _) => "estate_version",
        };
        self.is_other = true;
        Err(de::Error::missing_field(missing))
    }

    fn set_version(&mut self, version: String) -> Result<(), String> {
        if version != ESTATE_VERSION {
            self.other_version = Some(version);
            return Err("another estate version".to_owned());
        }
        self.version = Some(version);
        Ok(())
    }

    fn set_period(&mut self, seconds: u32) -> Result<(), String> {
        if seconds == 0 {
            return Err("`period_seconds` must be at least 1".to_owned());
        }
        self.period_seconds = Some(seconds);
        Ok(())
    }

    fn add_instances(&mut self, instances: impl Iterator<Item = (Instance, bool)>) {
        for (instance, has_tags) in instances {
            if instance.id.provider() == Provider::SageMaker && !has_tags {
                self.without_tags.insert(instance.region.clone());
            }
            self.estate.instances.push(instance);
        }
    }

    fn add_prices(
        &mut self,
        prices: impl Iterator<Item = (PriceKey, PriceQuote, Option<SpotHistory>)>,
    ) {
        for (key, quote, history) in prices {
            if let Some(history) = history {
                self.estate.prices.insert_spot_history(key.clone(), history);
            }
            self.estate.prices.insert(key, quote);
        }
    }
}

/// Streams the series: each is placed on its grid as soon as it is read, when
/// the window is known by then, so that a large file is never held twice.
struct MetricsSeed<'a>(&'a mut Parts);

impl<'de> DeserializeSeed<'de> for MetricsSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for MetricsSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of series")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let grid = self.0.grid_so_far().map_err(<A::Error as de::Error>::custom)?;
        while let Some(wire) = list.next_element::<SeriesWire<PlacedCells>>()? {
            self.0.take(wire.with(|cells| cells.0), grid).map_err(de::Error::custom)?;
        }
        Ok(())
    }
}

/// Window and period as a document states them; series are placed on no other grid.
fn stated_grid(
    start: Timestamp,
    end: Timestamp,
    period_seconds: u32,
) -> Result<(Window, u32), String> {
    if end <= start {
        return Err("`window_start` must be before `window_end`".to_owned());
    }
    let window = Window::stated(start, end)?;
    let periods = window.seconds() / i64::from(period_seconds);
    if periods > MOST_PERIODS as i64 {
        return Err(format!("the window has {periods} periods; the maximum is {MOST_PERIODS}"));
    }
    Ok((window, period_seconds))
}

/// A fortnight, for documents that state no window.
const DEFAULT_LOOKBACK: SignedDuration = SignedDuration::from_hours(14 * 24);
const DEFAULT_PERIOD_SECONDS: u32 = 300;

impl Parts {
    fn new(keep: Keep) -> Self {
        Self { keep, is_other: true, ..Self::default() }
    }

    /// The grid of the series. Only what the document has stated already counts: a default
    /// would put points on another grid than the one that follows.
    fn grid_so_far(&self) -> Result<Option<(Window, u32)>, String> {
        match (self.window_start, self.window_end, self.period_seconds) {
            (Some(start), Some(end), Some(period)) => stated_grid(start, end, period).map(Some),
            _ => Ok(None),
        }
    }

    /// A series as it stands in the file, placed where the grid is known.
    fn take(&mut self, wire: SeriesWire, grid: Option<(Window, u32)>) -> Result<(), String> {
        self.values += wire.values.iter().map(|cell| u64::from(cell.times)).sum::<u64>();
        if self.values > MOST_VALUES {
            return Err(format!("an estate has at most {MOST_VALUES} values"));
        }
        if let Some((window, period)) = grid {
            self.add(placed_series(wire, window, period)?, window, period);
            return Ok(());
        }
        self.cells += wire.values.len();
        if self.cells > MOST_UNPLACED {
            return Err(
                "`window_start`, `window_end` and `period_seconds` must precede this many \
                        `metrics`"
                    .to_owned(),
            );
        }
        self.unplaced.push(wire);
        Ok(())
    }

    /// Profiled runs are cut by run, which needs their points.
    fn add(&mut self, series: Series, window: Window, period_seconds: u32) {
        let is_wanted = |only: &BTreeSet<ResourceId>| only.contains(&series.instance);
        if !self.only.as_ref().is_none_or(is_wanted) {
            return;
        }
        if self.keep == Keep::Usage && series.source != SeriesSource::Profile {
            let usage = &mut self.usage;
            let usage = usage.get_or_insert_with(|| UsageBuilder::new(window, period_seconds));
            if usage.has(&series) {
                self.split.insert(series.instance.clone());
            }
            usage.add(&series);
        } else {
            self.estate.metrics.push(series);
        }
    }

    /// Reports regions in which tags are not stated, unless a gap says so already.
    fn add_gaps_of_tags(&mut self) {
        for region in std::mem::take(&mut self.without_tags) {
            let is_of_tags =
                |gap: &Gap| gap.what == GapSubject::Tags && region_of(&gap.place) == region;
            if !self.estate.gaps.iter().any(is_of_tags) {
                let cause = Cause::of(CauseKind::TagsNotRecorded, []);
                self.estate.gaps.push(Gap::of(GapSubject::Tags, region, cause));
                self.estate.gaps.sort();
            }
        }
    }

    /// Window and period, once the document has stated when it ends.
    fn grid(&self, as_of: Timestamp) -> Result<(Window, u32), String> {
        let period = self.period_seconds.unwrap_or(DEFAULT_PERIOD_SECONDS);
        if let (Some(start), Some(end)) = (self.window_start, self.window_end) {
            return stated_grid(start, end, period);
        }
        let window = Window::before(as_of, DEFAULT_LOOKBACK, period)
            .map_err(|_| "`as_of` is out of range".to_owned())?;
        stated_grid(window.start, window.end, period)
    }

    /// Adds the series that stood in the file before the window.
    fn place_series(&mut self, as_of: Timestamp) -> Result<(), String> {
        let (window, period) = self.grid(as_of)?;
        for wire in std::mem::take(&mut self.unplaced) {
            self.add(placed_series(wire, window, period)?, window, period);
        }
        Ok(())
    }

    fn into_estate(mut self, as_of: Timestamp) -> Result<Estate, String> {
        let (window, period_seconds) = self.grid(as_of)?;
        self.add_gaps_of_tags();
        let usage = self.usage.map(UsageBuilder::finish).unwrap_or_default();
        let mut estate = Estate { as_of, window, period_seconds, usage, ..self.estate };
        let mut ids = BTreeSet::new();
        for instance in estate.instances.iter().chain(&estate.out_of_scope) {
            if !ids.insert(&instance.id) {
                return Err(format!("duplicate instance {}", instance.id));
            }
        }
        let measured = estate.metrics.iter().map(|series| &series.instance);
        if let Some(orphan) = measured.chain(estate.usage.instances()).find(|id| !ids.contains(id))
        {
            return Err(format!("a series belongs to {orphan}, which is not among the instances"));
        }
        if let Some(orphan) = estate.profiles.iter().find(|p| !ids.contains(&p.instance)) {
            return Err(format!(
                "a profile belongs to {}, which is not among the instances",
                orphan.instance
            ));
        }
        estate.opinions.sort_by(|left, right| left.key().cmp(&right.key()));
        check_clusters(&estate.clusters)?;
        let collect = |names: &mut Vec<String>, field: fn(&Instance) -> &String| {
            names.extend(estate.instances.iter().map(|instance| field(instance).clone()));
            // The account of a machine that only its cluster shows is not known.
            names.retain(|name| !name.is_empty());
            names.sort();
            names.dedup();
        };
        collect(&mut estate.accounts, |instance| &instance.account);
        collect(&mut estate.regions, |instance| &instance.region);
        estate.scaling_groups = sorted_groups(estate.scaling_groups)?;
        estate.managed = sorted_managed(estate.managed)?;
        Ok(estate)
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
