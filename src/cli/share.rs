//! `gpucost share`: who shares which cards.

use super::args::{DocFormat, EstateArgs, RISKS, names_of};
use super::known_prices::has_commitments;
use super::planning::{Planning, estate_flags};
use super::rightsize::{percent, size_mib, unknown};
use super::{
    ExitCode, Failure, Io, Outcome, audit, estate, flags, known_prices, output, parsers, refusal,
    sampled,
};
use crate::analysis::{
    Audit, AuditedWorkload, FoundTenants, NoTenant, audit as audited, instance_shape, share_tenants,
};
use crate::catalog::{Prices, shape, shapes};
use crate::config::SettingsFile;
use crate::domain::{
    HourlyRate, InstanceShape, PriceBook, PriceKey, ResourceId, Risk, counted, shown, with_article,
};
use crate::planners::share::{
    Isolation, MOST_TENANTS, Origin, ShareQuestion, ShareTenant, SharedOn, SmallerType, Today,
    plan_sharing,
};
use crate::report::planners::share::share_answer;
use crate::savings::is_launchable;
use crate::usage::Estate;
use anyhow::Context;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

flags! {
    /// `gpucost share`.
    pub(super) struct ShareArgs {
        /// Instance type whose GPUs are shared; `--region` sets its region [default with an
        /// estate: the type with most tenants]
        instance_type: Option<String> = arg(long = "type", value_name = "TYPE", help_heading = "Tenants");
        /// Tenant with its VRAM peak, such as `chat:10GiB`, `chat:10GiB:33%` or
        /// `chat:10GiB:33%:search:trusted` (can be repeated); needs no account
        tenant: Vec<TypedTenant> = arg(long, value_name = "NAME:VRAM[:PEAK%][:OWNER][:CLASS]", value_parser = tenant, requires = "instance_type", conflicts_with_all = estate_flags(), help_heading = "Tenants");
        /// CSV file of tenants with the columns name, vram, peak_percent, owner and class
        tenants: Option<PathBuf> = arg(long, value_name = "FILE", requires = "instance_type", conflicts_with_all = estate_flags(), help_heading = "Tenants");
        /// Take the processes of a file of `gpucost profile --samples` as tenants
        processes: Option<PathBuf> = arg(long, value_name = "FILE", requires = "instance_type", conflicts_with_all = estate_flags(), help_heading = "Tenants");
        /// Class of tenants that state none: production (MIG), trusted (MPS with the same
        /// owner), development (time-slicing with the same owner)
        class: Isolation = arg(long, value_name = "CLASS", value_parser = class, default_value = "production", help_heading = "Tenants");
        /// Number of instances that may be lost at once with room left for every tenant
        survive_nodes: u32 = arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100), default_value_t = 0, help_heading = "Tenants");
        /// Maximum risk level of the plan that the cards are shown beside [default: medium]
        risk: Option<Risk> = arg(long, value_parser = RISKS, conflicts_with_all = ["tenant", "tenants", "processes"]);
        /// Output format [default: table]
        format: Option<DocFormat> = arg(long, value_enum, help_heading = "Output");
        estate: EstateArgs = command(flatten);
    }
}

/// A tenant as it was typed; its class may be left to `--class`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TypedTenant {
    name: String,
    vram_mib: f64,
    peak_percent: Option<f64>,
    owner: Option<String>,
    class: Option<Isolation>,
}

impl TypedTenant {
    /// The tenant, with where it was typed.
    pub(super) fn tenant(self, otherwise: Isolation, source: &str) -> ShareTenant {
        ShareTenant {
            name: self.name,
            owner: self.owner,
            isolation: self.class.unwrap_or(otherwise),
            vram_peak_mib: self.vram_mib,
            peak_percent: self.peak_percent,
            hours: Vec::new(),
            source: source.to_owned(),
        }
    }

    /// Reads the parts of a tenant; empty ones are not stated.
    pub(super) fn of(
        name: &str,
        vram: &str,
        [peak, owner, class_name]: [&str; 3],
    ) -> Result<Self, String> {
        let stated = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let name = stated(name).ok_or("a tenant needs a name")?;
        let vram_mib = size_mib(vram).map_err(|message| format!("VRAM: {message}"))?;
        if vram_mib <= 0.0 {
            return Err("VRAM: a tenant holds more than nothing".to_owned());
        }
        let peak = stated(peak).map(|text| percent(&text));
        let class_name = stated(class_name).map(|text| class(&text));
        Ok(Self {
            name,
            vram_mib,
            peak_percent: peak.transpose().map_err(|message| format!("PEAK: {message}"))?,
            owner: stated(owner),
            class: class_name.transpose().map_err(|message| format!("CLASS: {message}"))?,
        })
    }
}

/// `NAME:VRAM[:PEAK%][:OWNER][:CLASS]`.
fn tenant(text: &str) -> Result<TypedTenant, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let part = |place: usize| parts.get(place).copied().unwrap_or_default();
    if !(2..=5).contains(&parts.len()) {
        return Err(
            "expected NAME:VRAM[:PEAK%][:OWNER][:CLASS], such as chat:10GiB:33%; names with a \
             colon go into a file for `--tenants`"
                .to_owned(),
        );
    }
    TypedTenant::of(part(0), part(1), [part(2), part(3), part(4)])
}

parsers! {
    fn class(text) -> Isolation = Isolation::from_name(text), names_of(Isolation::NAMES);
}

/// Bytes of a file of tenants: several times those of as many as are packed at once.
const MOST_BYTES: u64 = 1_048_576;
const COLUMNS: [&str; 5] = ["name", "vram", "peak_percent", "owner", "class"];

/// What is shared, and by whom.
struct ShareRequest {
    tenants: Vec<ShareTenant>,
    skipped: Vec<NoTenant>,
    shape: InstanceShape,
    region: String,
    /// Where type and region are from without their flags.
    otherwise: Origin,
    prices: PriceBook,
    /// The instant that prices are compared with.
    now: Timestamp,
    /// What tenants of an estate are on, with its audit and the number of its instances.
    seen: Option<(Machines, Audit, usize)>,
}

pub(super) fn run(args: &ShareArgs, io: &mut Io<'_>) -> Outcome {
    let read = [("--tenants", args.tenants.as_deref()), ("--processes", args.processes.as_deref())];
    let planning = Planning::of_estate(&args.estate, args.format, &read, io)?;
    let settings = &planning.settings;
    let are_given = !args.tenant.is_empty() || args.tenants.is_some() || args.processes.is_some();
    let request =
        if are_given { stated(args, settings, io) } else { of_estate(args, settings, io) };
    let request = request?;
    let policy = &settings.policy;
    let prices = planning.prices(&request.prices);
    let key = PriceKey::linux_on_demand(&request.region, &request.shape.instance_type);
    let price = prices.get(&key).ok();
    let seen_on = price.as_ref().map(|quote| quote.seen_on);
    let count = request.tenants.len() as u64;
    let origin = |flag: Option<&String>| flag.map_or(request.otherwise, |_| Origin::Flag);
    let machines = request.seen.as_ref().map(|(machines, _, _)| machines);
    let on = SharedOn::of(&request.shape)?;
    let plan = plan_sharing(ShareQuestion {
        smaller: smaller_types(&on, &key, &prices),
        on,
        on_origin: origin(args.instance_type.as_ref()),
        region_origin: origin(args.estate.aws.region.as_ref()),
        price,
        is_launched: is_launchable(&key),
        has_commitments: has_commitments(&key, &prices),
        today: machines.map(|machines| machines.today(&request.region, &prices)),
        region: request.region,
        hours_per_month: policy.hours_per_month,
        vram_headroom: policy.vram_headroom,
        max_latency_ratio: policy.max_latency_ratio,
        survive_nodes: args.survive_nodes,
        tenants: request.tenants,
    });
    let seen = request.seen.as_ref();
    let workloads = seen.map_or_else(Vec::new, |(machines, audit, _)| machines.workloads(audit));
    let answer = share_answer(&plan?, &request.skipped, &workloads);
    let code = planning.print(&answer, None, (seen_on, request.now), io)?;
    if let Some((_, audit, instances)) = seen {
        return Ok(output::close("analyzed", (*instances, 0), &audit.gaps, &args.estate, io));
    }
    planning.say(&format!("placed {}", counted(count, "tenant", "tenants")), io);
    Ok(code)
}

fn stated(args: &ShareArgs, settings: &SettingsFile, io: &Io<'_>) -> Outcome<ShareRequest> {
    // The parser asks for it beside tenants.
    let shape = known(args.instance_type.as_deref().unwrap_or_default())?;
    let (tenants, skipped) = tenants(args, settings)?;
    if let (true, Some(path)) = (tenants.is_empty() && !skipped.is_empty(), &args.processes) {
        return Err(none_found(&shown(path), &skipped));
    }
    let region = known_prices::region(args.estate.aws.region.as_deref(), settings, io)?;
    let prices = known_prices::book(args.estate.offline, settings, io)?;
    known_prices::check_region(&region, &Prices::new(&prices, &settings.policy.discount_percent))?;
    Ok(ShareRequest {
        tenants,
        skipped,
        shape,
        region,
        otherwise: Origin::Home,
        prices,
        now: io.now,
        seen: None,
    })
}

fn of_estate(args: &ShareArgs, settings: &SettingsFile, io: &mut Io<'_>) -> Outcome<ShareRequest> {
    let accepted = audit::risk(args.risk, settings, io)?;
    let estate = estate::read(&args.estate, settings, io)?;
    let measured = share_tenants(&estate, &settings.policy, args.class);
    let (shape, region) = target(args, &estate, &measured)?;
    let (tenants, skipped, machines) = of_same_card(measured, &shape, &region);
    if tenants.is_empty() {
        return Err(none_found(&shape.instance_type, &skipped));
    }
    let audit = audited(&estate, &settings.policy, accepted);
    Ok(ShareRequest {
        tenants,
        skipped,
        shape,
        region,
        otherwise: Origin::MostTenants,
        now: estate.window.end,
        seen: Some((machines, audit, estate.instances.len())),
        prices: estate.prices,
    })
}

/// Types with fewer of the same cards that can be launched at a price.
fn smaller_types(on: &SharedOn, key: &PriceKey, prices: &Prices<'_>) -> Vec<SmallerType> {
    let like = shapes().filter_map(|shape| {
        let other = SharedOn::of(shape).ok()?;
        let is_like =
            (&other.offer.model, other.offer.vram_mib) == (&on.offer.model, on.offer.vram_mib);
        let key = key.with_type(&other.instance_type);
        let is_offered = is_like && other.cards < on.cards && is_launchable(&key);
        let quote = prices.get(&key).ok().filter(|_| is_offered)?;
        Some(SmallerType {
            instance_type: other.instance_type,
            cards: other.cards,
            rate: quote.rate,
        })
    });
    like.collect()
}

/// A type of the catalog.
fn known(name: &str) -> Outcome<InstanceShape> {
    shape(&name.to_ascii_lowercase()).cloned().ok_or_else(|| {
        let known = shapes().filter(|shape| shape.gpu.is_some());
        unknown("instance type", name, known.map(|shape| shape.instance_type.as_str()))
    })
}

/// The name that most have; of several the first in order.
fn most<'a>(names: impl Iterator<Item = &'a String>) -> Option<String> {
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let (name, _) = counts.into_iter().rev().max_by_key(|(_, count)| *count)?;
    Some(name.clone())
}

/// The type whose cards are shared, and the region of most of its tenants: that of `--type`,
/// else the one with most tenants.
fn target(
    args: &ShareArgs,
    estate: &Estate,
    measured: &FoundTenants,
) -> Outcome<(InstanceShape, String)> {
    let tenants = || measured.tenants.iter();
    let name = match &args.instance_type {
        Some(name) => name.to_ascii_lowercase(),
        None => most(tenants().map(|tenant| &tenant.instance_type))
            .ok_or_else(|| none_found("this estate", &measured.skipped))?,
    };
    let shape = match instance_shape(estate, &name) {
        Some(gathered) => gathered.clone(),
        None => known(&name)?,
    };
    let of_type = tenants().filter(|tenant| tenant.instance_type == name);
    let region = most(of_type.map(|tenant| &tenant.region));
    let region = region.or_else(|| estate.regions.first().cloned());
    Ok((shape, region.unwrap_or_else(|| known_prices::HOME_REGION.to_owned())))
}

/// Instances that tenants are on.
#[derive(Default)]
struct Machines {
    /// Type of each.
    types: BTreeMap<ResourceId, String>,
    /// Those of which other GPUs do work that is left out.
    kept: usize,
}

impl Machines {
    /// Those of an audit that run on them.
    fn workloads<'a>(&self, audit: &'a Audit) -> Vec<&'a AuditedWorkload> {
        let own = |workload: &&AuditedWorkload| {
            let mut instances = workload.workload.instances.iter();
            instances.any(|id| self.types.contains_key(id))
        };
        audit.workloads.iter().filter(own).collect()
    }

    fn today(&self, region: &str, prices: &Prices<'_>) -> Today {
        let mut instances: BTreeMap<String, (usize, Option<HourlyRate>)> = BTreeMap::new();
        for name in self.types.values() {
            let (count, _) = instances.entry(name.clone()).or_insert_with(|| {
                let key = PriceKey::linux_on_demand(region, name);
                (0, prices.get(&key).ok().map(|quote| quote.rate))
            });
            *count += 1;
        }
        Today { instances, kept: self.kept }
    }
}

/// The tenants of a region that were measured on the same card as that of a type, with what
/// they are on: a peak says nothing about another card, and no machine is in two regions.
fn of_same_card(
    measured: FoundTenants,
    on: &InstanceShape,
    region: &str,
) -> (Vec<ShareTenant>, Vec<NoTenant>, Machines) {
    let card = on.gpu.as_ref().map(|offer| (offer.model.clone(), offer.vram_mib));
    let FoundTenants { tenants: found_tenants, mut skipped, with_others } = measured;
    let mut tenants = Vec::new();
    let mut machines = Machines::default();
    for measured in found_tenants {
        let (gpu, _) = &measured.card;
        let reason = if Some(&measured.card) != card.as_ref() {
            let gpu = with_article(gpu.name());
            format!("it was measured on {gpu} of {}", measured.instance_type)
        } else if measured.region != region {
            format!("it runs in {}, not in {region}", measured.region)
        } else {
            tenants.push(measured.tenant);
            machines.types.insert(measured.instance, measured.instance_type);
            continue;
        };
        skipped.push(NoTenant { name: measured.tenant.name, reason });
    }
    let stays = |id: &&ResourceId| with_others.contains(*id);
    machines.kept = machines.types.keys().filter(stays).count();
    skipped.sort();
    (tenants, skipped, machines)
}

fn none_found(place: &str, skipped: &[NoTenant]) -> Failure {
    let why = skipped.first().map(|tenant| format!(": {}: {}", tenant.name, tenant.reason));
    let why = why.unwrap_or_default();
    let error = anyhow::anyhow!("no tenant for the GPUs of {place}{why}");
    Failure::new(ExitCode::Nothing, error).with_hint(
        "state tenants by hand, such as `gpucost share --type p4d.24xlarge --tenant chat:10GiB:33%`",
    )
}

/// Tenants, and what is none.
type Tenants = (Vec<ShareTenant>, Vec<NoTenant>);

/// The tenants of flags and files, and what of a profile is none.
fn tenants(args: &ShareArgs, settings: &SettingsFile) -> Outcome<Tenants> {
    let typed = args.tenant.iter().cloned().map(|tenant| tenant.tenant(args.class, "--tenant"));
    let mut tenants: Vec<ShareTenant> = typed.collect();
    if let Some(path) = &args.tenants {
        let rows = file_of_tenants(path)?.into_iter();
        tenants.extend(rows.map(|tenant| tenant.tenant(args.class, "--tenants")));
    }
    let Some(path) = &args.processes else { return Ok((tenants, Vec::new())) };
    let (sampled, skipped) = processes(path, args, settings)?;
    tenants.extend(sampled);
    Ok((tenants, skipped))
}

/// A CSV file of tenants.
fn file_of_tenants(path: &Path) -> Outcome<Vec<TypedTenant>> {
    let wrong = |message: String| {
        refusal! { "{}: {message}", shown(path);
            "see docs/planners/share.md for the columns"
        }
    };
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text))
        .with_context(|| format!("cannot read {}", shown(path)))
        .map_err(Failure::hinted("check the path passed to `--tenants`"))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(wrong("it is larger than 1 MiB".to_owned()));
    }
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .flexible(true)
        .from_reader(text.trim_start_matches('\u{feff}').as_bytes());
    let header = reader.headers().map_err(|error| wrong(error.to_string()))?.clone();
    let place = |column: &str| header.iter().position(|name| name == column);
    if let Some(unknown) = header.iter().find(|column| !COLUMNS.contains(column)) {
        let columns = COLUMNS.join(", ");
        return Err(wrong(format!(
            "line 1: unknown column `{unknown}`; the columns are {columns}"
        )));
    }
    if let Some(needed) = ["name", "vram"].into_iter().find(|column| place(column).is_none()) {
        return Err(wrong(format!("line 1: the column `{needed}` is missing")));
    }
    let mut tenants = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| wrong(error.to_string()))?;
        let line = record.position().map_or(0, csv::Position::line);
        if tenants.len() == MOST_TENANTS {
            return Err(wrong(format!("line {line}: more than {MOST_TENANTS} tenants")));
        }
        let cell =
            |column: &str| place(column).and_then(|place| record.get(place)).unwrap_or_default();
        let rest = [cell("peak_percent"), cell("owner"), cell("class")];
        let read = TypedTenant::of(cell("name"), cell("vram"), rest);
        tenants.push(read.map_err(|message| wrong(format!("line {line}: {message}")))?);
    }
    Ok(tenants)
}

/// The processes of a run, each with the 99th percentile of its GPU as its peak: what
/// processes of one GPU compute is not measured separately, so that it is a bound for each of them.
fn processes(path: &Path, args: &ShareArgs, settings: &SettingsFile) -> Outcome<Tenants> {
    let profile = sampled::profile_of(path, settings)?;
    let mut gpus_of: BTreeMap<u32, BTreeSet<u16>> = BTreeMap::new();
    for gpu in &profile.gpus {
        for process in gpu.processes.iter().flatten() {
            gpus_of.entry(process.pid).or_default().insert(gpu.identity.index);
        }
    }
    let (mut tenants, mut skipped) = (Vec::new(), Vec::new());
    let mut skip = |name: String, reason: &str| {
        skipped.push(NoTenant { name, reason: reason.to_owned() });
    };
    let mut names = BTreeSet::new();
    for gpu in &profile.gpus {
        let index = gpu.identity.index;
        for process in gpu.processes.iter().flatten() {
            let program = process.name.as_deref().unwrap_or("process");
            let name = format!("{program}/{}/gpu{index}", process.pid);
            // A slice and its GPU list the same process.
            if !names.insert(name.clone()) {
                continue;
            }
            let gpus = gpus_of.get(&process.pid).map_or(0, BTreeSet::len);
            match process.vram_mib.filter(|mib| *mib > 0) {
                _ if gpus != 1 => skip(name, "it uses several GPUs together"),
                None => skip(name, "the driver did not report its memory"),
                Some(vram_mib) => tenants.push(ShareTenant {
                    name,
                    owner: None,
                    isolation: args.class,
                    vram_peak_mib: vram_mib as f64,
                    peak_percent: gpu.utilization.as_ref().map(|figures| figures.p99),
                    hours: Vec::new(),
                    source: format!("{} samples of its GPU", profile.samples),
                }),
            }
        }
        let name = format!("gpu{index}");
        match (&gpu.processes, gpu.has_more_processes) {
            (None, _) => skip(name, "its processes were not sampled"),
            (Some(_), true) => skip(name, "it had more processes than are listed"),
            (Some(_), false) => {}
        }
    }
    Ok((tenants, skipped))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_are_read_as_they_are_typed() {
        let whole = tenant("chat:10GiB:33%:search:trusted").expect("whole");
        assert_eq!(
            whole,
            TypedTenant {
                name: "chat".to_owned(),
                vram_mib: 10_240.0,
                peak_percent: Some(33.0),
                owner: Some("search".to_owned()),
                class: Some(Isolation::Trusted),
            }
        );
        let short = tenant("chat:10GiB").expect("name and memory");
        assert_eq!((short.peak_percent, short.owner, short.class), (None, None, None));
        // What is left empty is not stated, which is not zero.
        let class_alone = tenant("chat:10GiB:::development").expect("a class");
        assert_eq!(class_alone.peak_percent, None);
        assert_eq!(class_alone.class, Some(Isolation::Development));
        for bad in [
            "", "chat", ":10GiB", "chat:0GiB", "chat:-1GiB", "chat:nanGiB", "chat:10",
            "chat:10GiB:NaN", "chat:10GiB:101%", "chat:10GiB:-5",
            "chat:10GiB:5:search:best-effort", "chat:10GiB:5:search:trusted:more",
        ] {
            assert!(tenant(bad).is_err(), "{bad}");
        }
    }
}
