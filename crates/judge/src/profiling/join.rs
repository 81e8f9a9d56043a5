//! Profiled runs into an estate: each to the instance that it was taken on.
//!
//! An estate does not know GPUs by their unique ids. Another run may: taken on the
//! host, it names the instance and all GPUs, so that one out of a container, which
//! knows neither the instance nor the host's name, is known by its GPUs.

use super::Profiled;
use crate::domain::{
    Cause, CauseKind, Directory, Gap, GapSubject, HostMatch, Instance, JoinedBy, Metric,
    ProfiledRun, Rejected, ResourceId, RunFacts, SeriesSource, Statistic,
};
use crate::usage::{Estate, Points, Series};
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;

/// A run with the name of its file.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedProfile {
    /// What gaps call it.
    pub name: String,
    pub profiled: Profiled,
}

/// Where a run was taken.
struct Home<'a> {
    instance: &'a Instance,
    joined_by: JoinedBy,
    /// The host's index of each GPU by the run's own; empty where they are the same.
    indices: BTreeMap<u16, u16>,
}

type SeriesKey = (ResourceId, u16, Metric, Statistic);

/// Adds runs to an estate: the points as series of the source `profile`, the rest
/// as [`ProfiledRun`]. What belongs to no instance, or to several, is a gap, and
/// so is what lies outside the window. Of two runs in the same period the larger
/// maxima count, and the averages of the one that began later, in whatever order
/// they come; a run that the estate
/// has already is replaced.
pub fn join_profiles(estate: &mut Estate, mut profiles: Vec<NamedProfile>) {
    profiles.sort_by(|left, right| {
        let began = |profile: &NamedProfile| (profile.profiled.facts.started, profile.profiled.end);
        began(left).cmp(&began(right)).then(left.name.cmp(&right.name))
    });
    let mut placed = Vec::with_capacity(profiles.len());
    let homes = homes(&profiles, &estate.instances);
    for (named, home) in profiles.into_iter().zip(homes) {
        match home {
            Ok(home) => placed.push((home, named)),
            Err(cause) => estate.gaps.push(Gap::of(GapSubject::ProfileData, named.name, cause)),
        }
    }
    let mut points: BTreeMap<SeriesKey, (JoinedBy, Vec<(Timestamp, f64)>)> = BTreeMap::new();
    estate.metrics.retain(|series| {
        let Some(gpu) = series.gpu.filter(|_| series.source == SeriesSource::Profile) else {
            return true;
        };
        let key = (series.instance.clone(), gpu, series.metric, series.statistic);
        points.insert(key, (series.joined_by, timed(&series.points)));
        false
    });
    for (home, named) in placed {
        estate.gaps.extend(outside_gap(&named));
        let instance = home.instance.id.clone();
        let profiled = named.profiled;
        for series in &profiled.points {
            let gpu = home.indices.get(&series.gpu).copied().unwrap_or(series.gpu);
            let key = (instance.clone(), gpu, series.metric, series.statistic);
            let (by, values) = points.entry(key).or_insert((home.joined_by, Vec::new()));
            *by = home.joined_by;
            values.extend(&series.points);
        }
        let run = ProfiledRun {
            instance,
            start: profiled.facts.started,
            end: profiled.end,
            covers_a_command: profiled.covers_a_command,
            samples: Some(profiled.inside),
            gpu_mean_percent: profiled.gpu_mean_percent,
            cpu_p95_percent: profiled.cpu_p95_percent,
            memory_p95_mib: profiled.memory_p95_mib,
        };
        let same = |known: &ProfiledRun| {
            (&known.instance, known.start, known.end) == (&run.instance, run.start, run.end)
        };
        estate.profiles.retain(|known| !same(known));
        estate.profiles.push(run);
    }
    estate.profiles.sort_by(|left, right| {
        (&left.instance, left.start, left.end).cmp(&(&right.instance, right.start, right.end))
    });
    for ((instance, gpu, metric, statistic), (joined_by, raw)) in points {
        // Runs that share a period are not an error: only impossible values are
        // counted.
        let (points, rejected) = Points::clean(
            combined(raw, statistic),
            (metric, statistic),
            estate.window,
            estate.period_seconds,
        );
        estate.metrics.push(Series {
            instance,
            gpu: Some(gpu),
            metric,
            statistic,
            source: SeriesSource::Profile,
            joined_by,
            points,
            rejected: Rejected { duplicate: 0, ..rejected },
        });
    }
}

/// Points of several runs with the times of their periods: of maxima the largest
/// counts, of others that of the later run.
fn combined(
    raw: Vec<(Timestamp, f64)>,
    statistic: Statistic,
) -> impl Iterator<Item = (Timestamp, f64)> {
    let mut by_time: BTreeMap<Timestamp, f64> = BTreeMap::new();
    for (time, value) in raw {
        let kept = by_time.entry(time).or_insert(value);
        *kept = match statistic {
            Statistic::Maximum => kept.max(value),
            Statistic::Average | Statistic::Sum => value,
        };
    }
    by_time.into_iter()
}

fn timed(points: &Points) -> Vec<(Timestamp, f64)> {
    let period = i64::from(points.period_seconds());
    let timed = points.iter().map(|(index, value)| {
        (points.start() + SignedDuration::from_secs(i64::from(index) * period), value)
    });
    timed.collect()
}

/// Where each run was taken: by the instance's id, else by the host's name, else by
/// the GPUs that it shares with a run of which that is known.
fn homes<'a>(profiles: &[NamedProfile], instances: &'a [Instance]) -> Vec<Result<Home<'a>, Cause>> {
    let directory = Directory::of(instances);
    let homes = profiles.iter().map(|named| by_name(&named.profiled.facts, instances, &directory));
    let mut homes: Vec<Result<Home<'a>, Cause>> = homes.collect();
    let known = KnownGpus::of(profiles, &homes);
    for (named, home) in profiles.iter().zip(&mut homes) {
        let facts = &named.profiled.facts;
        if home.is_err()
            && facts.instance_id.is_none()
            && let Some(found) = known.host_of(facts)
        {
            *home = found.checked(facts);
        }
    }
    homes
}

/// The GPUs of the runs whose instance is known.
#[derive(Default)]
struct KnownGpus<'a> {
    hosts: BTreeMap<&'a ResourceId, (&'a Instance, JoinedBy)>,
    /// Index on each host, by unique id.
    indices: BTreeMap<String, BTreeMap<&'a ResourceId, u16>>,
}

impl<'a> KnownGpus<'a> {
    fn of(profiles: &[NamedProfile], homes: &[Result<Home<'a>, Cause>]) -> Self {
        let mut known = Self::default();
        for (named, home) in profiles.iter().zip(homes) {
            let (facts, Ok(home)) = (&named.profiled.facts, home) else { continue };
            let host = &home.instance.id;
            known.hosts.insert(host, (home.instance, home.joined_by));
            for (id, index) in whole_gpus(facts) {
                if let Some(id) = id {
                    known.indices.entry(id.to_owned()).or_default().insert(host, index);
                }
            }
        }
        known
    }

    /// The one host that had every GPU of a run.
    fn host_of(&self, facts: &RunFacts) -> Option<Home<'a>> {
        let mut hosts = self.hosts.iter().filter_map(|(host, (instance, joined_by))| {
            let index = |id: &str| self.indices.get(id)?.get(host).copied();
            let indices = whole_gpus(facts).map(|(id, own)| Some((own, index(id?)?)));
            let indices: BTreeMap<u16, u16> = indices.collect::<Option<_>>()?;
            (!indices.is_empty()).then_some(Home { instance, joined_by: *joined_by, indices })
        });
        hosts.next().filter(|_| hosts.next().is_none())
    }
}

/// Unique id and index of each GPU that is not a slice of another.
fn whole_gpus(facts: &RunFacts) -> impl Iterator<Item = (Option<&str>, u16)> {
    facts.gpus.iter().filter(|gpu| gpu.mig.is_none()).map(|gpu| (gpu.uuid.as_deref(), gpu.index))
}

/// The instance that a run was taken on, by its id, else by the host's name.
fn by_name<'a>(
    facts: &RunFacts,
    instances: &'a [Instance],
    directory: &Directory<'a>,
) -> Result<Home<'a>, Cause> {
    let host = facts.hostname.as_deref().filter(|host| !host.is_empty());
    let (instance, joined_by) = match (&facts.instance_id, host) {
        (Some(id), _) => {
            let instance =
                directory.by_id(id).ok_or_else(|| Cause::of(CauseKind::ProfileOfOther, [id]))?;
            (instance, JoinedBy::InstanceId)
        }
        (None, None) => return Err(Cause::of(CauseKind::ProfileWithoutHost, [])),
        (None, Some(host)) => match by_host(host, facts.region.as_deref(), instances, directory) {
            HostMatch::One(found) => (found, JoinedBy::Hostname),
            HostMatch::Several => return Err(Cause::of(CauseKind::ProfileOfSeveral, [host])),
            HostMatch::None => return Err(Cause::of(CauseKind::ProfileOfNone, [host])),
        },
    };
    Home { instance, joined_by, indices: BTreeMap::new() }.checked(facts)
}

impl Home<'_> {
    /// The same, unless a run says that it was taken in another region or on another
    /// type.
    fn checked(self, facts: &RunFacts) -> Result<Self, Cause> {
        let instance = self.instance;
        let differs = |given: &Option<String>, known: &str| {
            given.as_ref().filter(|given| *given != known).cloned()
        };
        if let Some(region) = differs(&facts.region, &instance.region) {
            let details = [region.as_str(), instance.id.as_str(), &instance.region];
            return Err(Cause::of(CauseKind::ProfileElsewhere, details));
        }
        if let Some(former) = differs(&facts.instance_type, &instance.instance_type) {
            let details = [former.as_str(), instance.id.as_str(), &instance.instance_type];
            return Err(Cause::of(CauseKind::ProfileOnOtherType, details));
        }
        Ok(self)
    }
}

/// The instance of a host name; of the region, where that alone tells which.
fn by_host<'a>(
    host: &str,
    region: Option<&str>,
    instances: &'a [Instance],
    directory: &Directory<'a>,
) -> HostMatch<'a> {
    match (directory.by_host(host), region) {
        (HostMatch::Several, Some(region)) => {
            let there = instances.iter().filter(|instance| instance.region == region);
            Directory::of(there).by_host(host)
        }
        (found, _) => found,
    }
}

/// Says how much of a run its window does not hold.
fn outside_gap(named: &NamedProfile) -> Option<Gap> {
    let (outside, samples) = (named.profiled.outside, named.profiled.samples);
    (outside.total() > 0).then(|| {
        let (before, after) = (outside.before, outside.after);
        let counts = [outside.total(), samples, before, after].map(|count| count.to_string());
        let cause = Cause::of(CauseKind::ProfileOutside, counts.each_ref().map(String::as_str));
        Gap::of(GapSubject::ProfileData, named.name.as_str(), cause)
    })
}
