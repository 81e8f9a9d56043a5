//! `gpucost share`: who shares which cards.

use super::args::DocFormat;
use super::exit::{ExitCode, Failure};
use super::planner_offers::has_commitments;
use super::price_age::PriceAge;
use super::rightsize_flags::unknown;
use super::share_args::{ShareArgs, TypedTenant};
use super::{Io, audit, estate, output, planner, pricing, sampled};
use crate::analysis::{FoundTenants, NoTenant, instance_shape, share_tenants};
use crate::catalog::{Prices, shape, shapes};
use crate::config::SettingsFile;
use crate::domain::{
    HourlyRate, InstanceShape, PriceBook, PriceKey, PriceQuote, ResourceId, nearest_names, shown,
};
use crate::planners::share::{
    MOST_TENANTS, Origin, ShareError, ShareQuestion, ShareTenant, SharedOn, SmallerType, Today,
    plan_sharing,
};
use crate::report::{share_answer, text::counted};
use crate::savings::is_launchable;
use crate::usage::Estate;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Bytes of a file of tenants: several times those of as many as are packed at once.
const MOST_BYTES: u64 = 1_048_576;
const COLUMNS: [&str; 5] = ["name", "vram", "peak_percent", "owner", "class"];

pub(super) fn run(args: &ShareArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let settings = estate::settings(&args.estate.out, io)?;
    let format = audit::format(args.format, &settings, io)?;
    let read = [
        ("--tenants", args.tenants.as_deref()),
        ("--processes", args.processes.as_deref()),
    ];
    planner::check_output(&read, &args.estate.out)?;
    if args.are_given() {
        by_hand(args, &settings, format, io)
    } else {
        of_estate(args, &settings, format, io)
    }
}

fn by_hand(
    args: &ShareArgs,
    settings: &SettingsFile,
    format: DocFormat,
    io: &mut Io<'_>,
) -> Result<ExitCode, Failure> {
    let age = PriceAge::of(args.estate.max_price_age.as_deref(), settings)?;
    // The parser asks for it beside tenants.
    let name = args.instance_type.as_deref().unwrap_or_default();
    let on = known(name)?;
    let (tenants, left_out) = tenants(args, settings)?;
    if let (true, Some(path)) = (tenants.is_empty() && !left_out.is_empty(), &args.processes) {
        return Err(none_found(&shown(path), &left_out));
    }
    let region = pricing::one_region(args.estate.aws.region.as_deref(), settings, io)?;
    let book = pricing::book(args.estate.offline, settings, io)?;
    let prices = Prices::new(&book, &settings.policy.discount_percent);
    let regions = prices.regions();
    if !regions.contains(region.as_str()) {
        return Err(unknown("region", &region, regions.into_iter()));
    }
    let asked = Asked {
        args,
        settings,
        shape: on,
        region,
        otherwise: Origin::Home,
        machines: None,
        now: io.now,
    };
    let count = asked.answer(tenants, &left_out, &book, (format, &age), io)?;
    let said = counted(count as u64, "tenant", "tenants");
    output::say(&format!("placed {said}"), &args.estate.out, io);
    Ok(ExitCode::Done)
}

fn of_estate(
    args: &ShareArgs,
    settings: &SettingsFile,
    format: DocFormat,
    io: &mut Io<'_>,
) -> Result<ExitCode, Failure> {
    let age = PriceAge::of_estate(&args.estate, settings)?;
    let estate = estate::estate(&args.estate, settings, io)?;
    let found = share_tenants(&estate, &settings.policy, args.class);
    let (on, region) = target(args, &estate, &found)?;
    let (tenants, left_out, machines) = of_same_card(found, &on, &region);
    if tenants.is_empty() {
        return Err(none_found(&on.instance_type, &left_out));
    }
    let asked = Asked {
        args,
        settings,
        shape: on,
        region,
        otherwise: Origin::MostTenants,
        machines: Some(machines),
        now: estate.window.end,
    };
    asked.answer(tenants, &left_out, &estate.prices, (format, &age), io)?;
    Ok(output::close(
        "analyzed",
        estate.instances.len(),
        0,
        &estate.gaps,
        &args.estate,
        io,
    ))
}

/// What is asked, apart from the tenants.
struct Asked<'a> {
    args: &'a ShareArgs,
    settings: &'a SettingsFile,
    shape: InstanceShape,
    region: String,
    /// Where type and region are from without their flags.
    otherwise: Origin,
    /// What tenants of an estate are on.
    machines: Option<Machines>,
    /// The instant that prices are compared with.
    now: Timestamp,
}

impl Asked<'_> {
    /// Prints who shares which cards, and gives the number of tenants.
    fn answer(
        &self,
        tenants: Vec<ShareTenant>,
        left_out: &[NoTenant],
        book: &PriceBook,
        (format, age): (DocFormat, &PriceAge),
        io: &mut Io<'_>,
    ) -> Result<usize, Failure> {
        let out = &self.args.estate.out;
        let policy = &self.settings.policy;
        let prices = Prices::new(book, &policy.discount_percent);
        let key = PriceKey::linux_on_demand(&self.region, &self.shape.instance_type);
        let price: Option<PriceQuote> = prices.get(&key).ok();
        let warning = age.check(price.as_ref().map(|quote| quote.seen_on), self.now)?;
        let count = tenants.len();
        let origin = |flag: Option<&String>| flag.map_or(self.otherwise, |_| Origin::Flag);
        let machines = self.machines.as_ref();
        let on = SharedOn::of(&self.shape).map_err(refused)?;
        let question = ShareQuestion {
            smaller: smaller_types(&on, &key, &prices),
            on,
            on_origin: origin(self.args.instance_type.as_ref()),
            region: self.region.clone(),
            region_origin: origin(self.args.estate.aws.region.as_ref()),
            price,
            is_launched: is_launchable(&key),
            has_commitments: has_commitments(&key, &prices),
            today: machines.map(|machines| machines.today(&self.region, &prices)),
            hours_per_month: policy.hours_per_month,
            vram_headroom: policy.vram_headroom,
            survive_nodes: self.args.survive_nodes,
            tenants,
        };
        let plan = plan_sharing(question).map_err(refused)?;
        planner::print(&share_answer(&plan, left_out), format, out, io)?;
        output::warn(warning, out, io);
        Ok(count)
    }
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
fn known(name: &str) -> Result<InstanceShape, Failure> {
    let found = shape(&name.to_ascii_lowercase()).cloned();
    found.ok_or_else(|| {
        let known = shapes().filter(|shape| shape.gpu.is_some());
        let known = known.map(|shape| shape.instance_type.as_str());
        pricing::not_in_the_catalog("instance type", name, &nearest_names(name, known))
    })
}

/// The type whose cards are shared, and the region of most of its tenants: that of `--type`,
/// else the one with most tenants.
fn target(
    args: &ShareArgs,
    estate: &Estate,
    found: &FoundTenants,
) -> Result<(InstanceShape, String), Failure> {
    let mut types: BTreeMap<&str, usize> = BTreeMap::new();
    for one in &found.tenants {
        *types.entry(&one.instance_type).or_default() += 1;
    }
    let most = |counts: BTreeMap<&str, usize>| {
        let best = counts.into_iter().rev().max_by_key(|(_, count)| *count);
        best.map(|(name, _)| name.to_owned())
    };
    let name = match &args.instance_type {
        Some(name) => name.to_ascii_lowercase(),
        None => most(types).ok_or_else(|| none_found("this estate", &found.left_out))?,
    };
    let gathered = instance_shape(estate, &name).cloned();
    let on = match gathered {
        Some(on) => on,
        None => known(&name)?,
    };
    let mut regions: BTreeMap<&str, usize> = BTreeMap::new();
    for one in found.tenants.iter().filter(|one| one.instance_type == name) {
        *regions.entry(&one.region).or_default() += 1;
    }
    let region = most(regions)
        .or_else(|| estate.regions.first().cloned())
        .unwrap_or_else(|| pricing::HOME_REGION.to_owned());
    Ok((on, region))
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
    fn today(&self, region: &str, prices: &Prices<'_>) -> Today {
        let mut instances: BTreeMap<String, (usize, Option<HourlyRate>)> = BTreeMap::new();
        for name in self.types.values() {
            let (count, _) = instances.entry(name.clone()).or_insert_with(|| {
                let key = PriceKey::linux_on_demand(region, name);
                (0, prices.get(&key).ok().map(|quote| quote.rate))
            });
            *count += 1;
        }
        Today {
            instances,
            kept: self.kept,
        }
    }
}

/// The tenants of a region that were measured on the same card as that of a type, with what
/// they are on: a peak says nothing about another card, and no machine is in two regions.
fn of_same_card(
    found: FoundTenants,
    on: &InstanceShape,
    region: &str,
) -> (Vec<ShareTenant>, Vec<NoTenant>, Machines) {
    let card = on
        .gpu
        .as_ref()
        .map(|offer| (offer.model.clone(), offer.vram_mib));
    let FoundTenants {
        tenants: all,
        mut left_out,
        with_others,
    } = found;
    let mut tenants = Vec::new();
    let mut machines = Machines::default();
    for one in all {
        let reason = if Some(&one.card) != card.as_ref() {
            format!(
                "it was measured on a {} of {}",
                one.card.0, one.instance_type
            )
        } else if one.region != region {
            format!("it runs in {}, not in {region}", one.region)
        } else {
            tenants.push(one.tenant);
            machines.types.insert(one.instance, one.instance_type);
            continue;
        };
        left_out.push(NoTenant {
            name: one.tenant.name,
            reason,
        });
    }
    let stays = |id: &&ResourceId| with_others.contains(*id);
    machines.kept = machines.types.keys().filter(stays).count();
    left_out.sort();
    (tenants, left_out, machines)
}

fn none_found(place: &str, left_out: &[NoTenant]) -> Failure {
    let why = left_out
        .first()
        .map_or_else(String::new, |one| format!(": {}: {}", one.name, one.reason));
    let error = anyhow::anyhow!("no tenant for the GPUs of {place}{why}");
    Failure::new(ExitCode::Nothing, error).with_hint(
        "state tenants by hand, such as `gpucost share --type p4d.24xlarge --tenant chat:10GiB:33%`",
    )
}

/// Why nothing was planned, with the nearest that can be.
fn refused(error: ShareError) -> Failure {
    let hint = match &error {
        ShareError::LargerThanCard {
            nearest: Some(nearest),
            ..
        } => format!("the smallest card that holds it is that of `--type {nearest}`"),
        ShareError::LargerThanCard { nearest: None, .. } => {
            "no card holds it: divide the model over several GPUs, which cannot share".to_owned()
        }
        ShareError::TooMany { .. } => {
            "narrow them with `--tag` or `--region`, or divide the file".to_owned()
        }
        ShareError::SameName { .. } => "give each tenant a name of its own".to_owned(),
        ShareError::NoTenants => "state tenants with `--tenant` or `--tenants`".to_owned(),
        ShareError::NoWholeGpu { .. }
        | ShareError::NotNvidia { .. }
        | ShareError::MemoryUnknown { .. } => {
            "`gpucost pricing --gpu A100` lists types whose GPUs can be shared".to_owned()
        }
    };
    Failure::input(error).with_hint(hint)
}

/// The tenants of flags and files, and what of a profile is none.
fn tenants(
    args: &ShareArgs,
    settings: &SettingsFile,
) -> Result<(Vec<ShareTenant>, Vec<NoTenant>), Failure> {
    let typed = args.tenant.iter().cloned();
    let mut tenants: Vec<ShareTenant> = typed
        .map(|one| one.tenant(args.class, "--tenant"))
        .collect();
    if let Some(path) = &args.tenants {
        let rows = file_of_tenants(path)?.into_iter();
        tenants.extend(rows.map(|one| one.tenant(args.class, "--tenants")));
    }
    let mut left_out = Vec::new();
    if let Some(path) = &args.processes {
        processes(path, args, settings, (&mut tenants, &mut left_out))?;
    }
    Ok((tenants, left_out))
}

/// A CSV file of tenants.
fn file_of_tenants(path: &Path) -> Result<Vec<TypedTenant>, Failure> {
    let wrong = |message: String| {
        Failure::input(format!("{}: {message}", shown(path)))
            .with_hint("see docs/planners/share.md for the columns")
    };
    let mut text = String::new();
    let opened = File::open(path).and_then(|file| {
        let mut bounded = file.take(MOST_BYTES + 1);
        bounded.read_to_string(&mut text)
    });
    opened.map_err(|error| {
        Failure::new(
            ExitCode::Input,
            anyhow::Error::new(error).context(format!("cannot read {}", shown(path))),
        )
        .with_hint("check the path passed to `--tenants`")
    })?;
    if text.len() as u64 > MOST_BYTES {
        return Err(wrong("it is larger than 1 MiB".to_owned()));
    }
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .flexible(true)
        .from_reader(text.trim_start_matches('\u{feff}').as_bytes());
    let header = reader.headers().map_err(|error| wrong(error.to_string()))?;
    let columns: Vec<String> = header.iter().map(str::to_owned).collect();
    if let Some(other) = columns.iter().find(|one| !COLUMNS.contains(&one.as_str())) {
        return Err(wrong(format!(
            "line 1: unknown column `{other}`; the columns are {}",
            COLUMNS.join(", ")
        )));
    }
    for needed in ["name", "vram"] {
        if !columns.iter().any(|one| one == needed) {
            return Err(wrong(format!("line 1: the column `{needed}` is missing")));
        }
    }
    let mut tenants = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| wrong(error.to_string()))?;
        let line = record.position().map_or(0, csv::Position::line);
        if tenants.len() == MOST_TENANTS {
            return Err(wrong(format!(
                "line {line}: more than {MOST_TENANTS} tenants"
            )));
        }
        let cell = |column: &str| {
            let place = columns.iter().position(|one| one == column);
            place
                .and_then(|place| record.get(place))
                .unwrap_or_default()
        };
        let rest = [cell("peak_percent"), cell("owner"), cell("class")];
        let read = TypedTenant::of(cell("name"), cell("vram"), rest);
        tenants.push(read.map_err(|message| wrong(format!("line {line}: {message}")))?);
    }
    Ok(tenants)
}

/// The processes of a run, each with the 99th percentile of its GPU as its peak: what
/// processes of one GPU compute is not measured separately, so that it is a bound for each of them.
fn processes(
    path: &Path,
    args: &ShareArgs,
    settings: &SettingsFile,
    (tenants, left_out): (&mut Vec<ShareTenant>, &mut Vec<NoTenant>),
) -> Result<(), Failure> {
    let profile = sampled::profile_of(path, settings)?;
    let mut gpus_of: BTreeMap<u32, BTreeSet<u16>> = BTreeMap::new();
    for gpu in &profile.gpus {
        for process in gpu.processes.iter().flatten() {
            gpus_of
                .entry(process.pid)
                .or_default()
                .insert(gpu.identity.index);
        }
    }
    let mut names = BTreeSet::new();
    for gpu in &profile.gpus {
        let index = gpu.identity.index;
        let peak = gpu.utilization.as_ref().map(|figures| figures.p99);
        for process in gpu.processes.iter().flatten() {
            let program = process.name.as_deref().unwrap_or("process");
            let name = format!("{program}/{}/gpu{index}", process.pid);
            // A slice and its GPU list the same process.
            if !names.insert(name.clone()) {
                continue;
            }
            let is_alone = gpus_of
                .get(&process.pid)
                .is_some_and(|gpus| gpus.len() == 1);
            match process.vram_peak_mib.filter(|mib| *mib > 0) {
                _ if !is_alone => left_out.push(NoTenant {
                    name,
                    reason: "it uses several GPUs together".to_owned(),
                }),
                Some(vram_mib) => tenants.push(ShareTenant {
                    name,
                    owner: None,
                    isolation: args.class,
                    vram_peak_mib: vram_mib as f64,
                    peak_percent: peak,
                    hours: Vec::new(),
                    source: format!("{} samples of its GPU", profile.samples),
                }),
                None => left_out.push(NoTenant {
                    name,
                    reason: "the driver did not report its memory".to_owned(),
                }),
            }
        }
        let unseen = match (&gpu.processes, gpu.has_more_processes) {
            (None, _) => "its processes were not sampled",
            (Some(_), true) => "it had more processes than are listed",
            (Some(_), false) => continue,
        };
        left_out.push(NoTenant {
            name: format!("gpu{index}"),
            reason: unseen.to_owned(),
        });
    }
    Ok(())
}
