//! Getting the estate that a command works on: a demo, a recorded file, or a live
//! account.

use super::args::{EstateArgs, MetricsSource, OutputArgs, Resolution};
use super::aws_args::AwsArgs;
use super::demo::DemoChoice;
use super::kubernetes::Cluster;
use super::output::{check_distinct, check_files, unwritable};
use super::redact::{Masks, redact};
use super::scope::{Scope, regions};
use super::{
    Failure, Io, Outcome, cache, hinted, history, live, output, refusal, refuse_if, sampled,
};
use crate::analysis::{GroupingKeys, needs_fine_grid};
use crate::config::{ConfigError, SettingsFile, parse_duration, read_settings};
use crate::domain::{CauseKind, Commitments, Gap, GapSubject, PriceBook, ResourceId, shown};
use crate::gather::{GatherError, GatherOptions, Refine, add_cluster, add_rollups, gather};
use crate::sources::MetricServer;
use crate::sources::aws::{self, AwsOptions, AwsService, Notice};
use crate::sources::files::{
    CommitmentsError, EstateError, History, Keep, Recorder, read_commitments, read_estate,
    read_own_prices, write_whole,
};
use crate::trend::date_of;
use crate::usage::{Estate, Usages};
use flate2::Compression;
use jiff::SignedDuration;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;
use std::rc::Rc;

const DEFAULT_LOOKBACK: &str = "14d";
const DEFAULT_NAMESPACE: &str = "CWAgent";
/// CloudWatch forgets everything older.
const LONGEST_LOOKBACK: SignedDuration = SignedDuration::from_hours(455 * 24);

/// The settings file that applies: `--config`, `GPUCOST_CONFIG`, or
/// `gpucost.toml` in the current folder.
pub(super) fn settings(args: &OutputArgs, io: &Io<'_>) -> Outcome<SettingsFile> {
    let named = args.config.clone().or_else(|| io.variable("GPUCOST_CONFIG").map(Into::into));
    let path = match named {
        Some(path) => path,
        None => {
            let usual = io.folder.join("gpucost.toml");
            if io.folder.as_os_str().is_empty() || !usual.exists() {
                return Ok(SettingsFile::default());
            }
            usual
        }
    };
    let settings = read_settings(&path).map_err(|error| {
        hinted! { error;
            ConfigError::Io { .. } => "check the path passed to `--config`";
            ConfigError::Invalid { .. } => "see docs/configuration.md for all keys";
        }
    })?;
    let named = [
        ("--config", settings.path.as_ref()),
        ("prices.file", settings.prices.file.as_ref()),
        ("--output", args.output.as_ref()),
    ];
    check_distinct(named)?;
    Ok(settings)
}

/// The flags of an estate, and the settings that apply.
pub(super) type EstateRequest<'a> = (&'a EstateArgs, &'a SettingsFile);

/// Gets, filters, redacts and records the estate.
pub(super) fn read(args: &EstateArgs, settings: &SettingsFile, io: &mut Io<'_>) -> Outcome<Estate> {
    obtain((args, settings), true, None, io).map(|(estate, _)| estate)
}

/// The estate that `explain` is about: the one that is named, else that of the
/// last audit, with the masks of its names.
pub(super) fn last_estate(asked: EstateRequest<'_>, io: &mut Io<'_>) -> Outcome<(Estate, Masks)> {
    let (args, settings) = asked;
    // With a history, no copy is kept, and little is read again.
    let is_kept = args.history.is_some() || args.rollups.is_some();
    let is_named = args.demo.is_some() || args.from.is_some() || is_kept;
    if is_named || args.kubernetes.is_given() {
        return obtain(asked, true, None, io);
    }
    let scope = Scope::of(args)?;
    let samples = sampled::open_all(&args.profile_data)?;
    let mut estate = cache::last_estate(io)?;
    sampled::join(&mut estate, samples)?;
    estate.commitments.is_unshared |= args.organization.no_commitment_sharing;
    scope.keep(&mut estate);
    let masks = masks(&mut estate, asked, None);
    add_own_prices(&mut estate.prices, settings, args.redact)?;
    Ok((estate, masks))
}

/// The same with the masks of its names; without metrics for commands that list and do not judge. Keys of tags and labels to group by keep theirs.
pub(super) fn obtain(
    (args, settings): EstateRequest<'_>,
    metrics: bool,
    keys: Option<&GroupingKeys>,
    io: &mut Io<'_>,
) -> Outcome<(Estate, Masks)> {
    let scope = Scope::of(args)?;
    check_files(args, settings)?;
    let samples = sampled::open_all(&args.profile_data)?;
    // They are part of a recording, so that `--from` gives the same answer without the file.
    let bought = args.commitments.as_deref().map(read_commitments).transpose();
    let mut bought = bought
        .map_err(|error| {
            hinted! { error;
                CommitmentsError::Io { .. } => "check the path passed to `--commitments`";
                _ => "see docs/estate.md for the fields of each commitment";
            }
        })?
        .unwrap_or_default();
    bought.is_unshared |= args.organization.no_commitment_sharing;
    let mut recorded = None;
    // What is not asked for is in no copy.
    let is_all_asked = args.history.is_none() && args.rollups.is_none();
    let mut estate = if let Some(choice) = args.demo {
        choice.demo().estate().map_err(unreadable)?
    } else if let Some(path) = &args.from {
        let keep = if args.save.is_some() { Keep::Points } else { Keep::Usage };
        let mut estate = read_estate(path, keep).map_err(unreadable)?;
        if let Some(cluster) = args.kubernetes.recorded()? {
            if estate.clusters.has_kubernetes() {
                let path = shown(path);
                return Err(refusal!(
                    "`--from-kubectl` cannot add a cluster to {path}, which has one already";
                    "pass one of both, or an estate of the account alone"));
            }
            add_cluster(&mut estate, cluster);
        }
        rolled_up(estate, (args, settings), metrics, io)?
    } else {
        let is_kept = metrics && !args.no_cache && is_all_asked;
        let recorder = (is_kept || args.save.is_some()).then(Recorder::default);
        let choose = |estate: Estate, partial: &BTreeSet<ResourceId>| {
            choose_fine(estate, settings, (&scope, &bought), partial)
        };
        // Samples of hosts are joined later, and CPU may size what only they measured.
        let refine = args.profile_data.is_empty().then_some(&choose as Refine<'_>);
        let (estate, recorder) = live((args, settings), (metrics, refine), recorder, io)?;
        recorded = recorder.map(Recorder::finish);
        estate
    };
    estate.commitments.add(bought);
    let is_live = args.demo.is_none() && args.from.is_none();
    if metrics && is_live && is_all_asked {
        cache::keep_estate(&estate, recorded.as_ref(), args, io);
    }
    sampled::join(&mut estate, samples)?;
    if !args.allow_empty {
        scope.check(&estate)?;
    }
    scope.keep(&mut estate);
    let masks = masks(&mut estate, (args, settings), keys);
    if let Some(path) = &args.save {
        let recorded = recorded.transpose().map_err(|error| {
            Failure::unexpected(error).with_hint(format!("set {}", cache::MORE_SPACE))
        })?;
        let name = |id: ResourceId| match masks.of_instance(id.as_str()) {
            Some(mask) => ResourceId::named(mask),
            None => id,
        };
        let recorded = recorded.as_ref().map(|recording| (recording, &name as _));
        let is_packed = path.extension().is_some_and(|extension| extension == "gz");
        let level = is_packed.then(Compression::default);
        write_whole(path, |out| cache::write(&estate, recorded, level, out))
            .map_err(|error| unwritable(path, error))?;
    }
    estate.reduce();
    add_own_prices(&mut estate.prices, settings, args.redact)?;
    Ok((estate, masks))
}

/// A recorded estate with what roll-ups say of its machines.
fn rolled_up(
    mut estate: Estate,
    (args, settings): EstateRequest<'_>,
    metrics: bool,
    io: &Io<'_>,
) -> Outcome<Estate> {
    let Some(place) = history::rollups(args, metrics)? else { return Ok(estate) };
    let access = args.aws.access(settings, io);
    live::wait_for(&args.out, &Notice::default(), io, async |progress| {
        progress("roll-ups");
        let days = (date_of(estate.window.start), date_of(estate.window.end));
        let rollups = History::open_to_read(place, &access, days, io.now).await?;
        add_rollups(&mut estate, &rollups).await?;
        Ok(())
    })?;
    Ok(estate)
}

/// A recorded estate or a demo, for planners that read no cloud; `None` where none is named.
pub(super) fn recorded(
    from: Option<&Path>,
    demo: Option<DemoChoice>,
    settings: &SettingsFile,
) -> Outcome<Option<Estate>> {
    let mut estate = match (demo, from) {
        (Some(choice), _) => choice.demo().estate().map_err(unreadable)?,
        (None, Some(path)) => read_estate(path, Keep::Usage).map_err(unreadable)?,
        (None, None) => return Ok(None),
    };
    estate.reduce();
    add_own_prices(&mut estate.prices, settings, false)?;
    Ok(Some(estate))
}

/// Masks an estate where that is asked for; no mask otherwise. Keys of tags stay that the command
/// line and the settings speak of.
fn masks(
    estate: &mut Estate,
    (args, settings): EstateRequest<'_>,
    keys: Option<&GroupingKeys>,
) -> Masks {
    if args.redact { redact(estate, kept_keys(settings, keys)) } else { Masks::default() }
}

/// Keys of tags that the command line and the settings speak of.
fn kept_keys(settings: &SettingsFile, keys: Option<&GroupingKeys>) -> BTreeSet<String> {
    let grouped_by = keys.map(GroupingKeys::tags).unwrap_or_default().into_iter();
    grouped_by.chain([&*settings.policy.workload_tag]).map(str::to_owned).collect()
}

/// Negotiated prices of the settings' file outrank all others. They are not
/// recorded.
pub(super) fn add_own_prices(
    book: &mut PriceBook,
    settings: &SettingsFile,
    redact: bool,
) -> Outcome<()> {
    let Some(path) = &settings.prices.file else { return Ok(()) };
    let own =
        read_own_prices(path).map_err(Failure::hinted("see docs/pricing.md for the columns"))?;
    for (key, mut quote) in own {
        if redact {
            "own prices".clone_into(&mut quote.source);
        }
        book.insert(key, quote);
    }
    Ok(())
}

fn unreadable(error: EstateError) -> Failure {
    hinted! { error;
        EstateError::Io { source, .. } if source.kind() == ErrorKind::InvalidData => "record it again with fewer regions at a time";
        EstateError::Io { .. } => "check the path passed to `--from`";
        EstateError::Malformed { .. } => "record the estate again with `gpucost audit --save FILE`";
        EstateError::Wrong { .. } => "see docs/estate.md for the meaning of each key";
        EstateError::Newer { .. } => "update gpucost, or record the estate with this version";
    }
}

fn options(args: &EstateArgs, settings: &SettingsFile, io: &Io<'_>) -> Outcome<GatherOptions> {
    let usual = io.variable("GPUCOST_LOOKBACK").or(settings.lookback.as_ref());
    let lookback = args.lookback.as_ref().or(usual).map_or(DEFAULT_LOOKBACK, String::as_str);
    let lookback = parse_duration(lookback).map_err(Failure::input)?;
    refuse_if!(lookback > LONGEST_LOOKBACK;
        "`--lookback` cannot exceed 455d";
        "CloudWatch retains no older data");
    Ok(GatherOptions {
        as_of: args.as_of.unwrap_or(io.now),
        lookback,
        metrics: args.metrics_source != MetricsSource::None,
        hours_first: args.resolution == Resolution::Auto,
        offline: args.offline,
        max_api_cost_usd: args.max_api_cost.or(settings.max_api_cost),
        cache: PriceBook::default(),
        history: None,
        rollups: None,
    })
}

/// Fails where a service is to be read without the one whose machines it is about.
fn check_services(services: &[AwsService]) -> Outcome<()> {
    let of_ec2 = [AwsService::Ecs, AwsService::Batch];
    let mut asked = of_ec2.iter().filter(|service| services.contains(service));
    match asked.next() {
        Some(service) if !services.contains(&AwsService::Ec2) => Err(refusal!(
            "`--services {service}` needs ec2: {service} is about instances of EC2";
            "use `--services ec2,{service}`")),
        _ => Ok(()),
    }
}

/// The regions to ask; `None` for all that are enabled.
pub(super) fn asked_regions(
    args: &AwsArgs,
    settings: &SettingsFile,
    io: &Io<'_>,
) -> Outcome<Option<Vec<String>>> {
    let usual = io.variable("GPUCOST_REGION").or(settings.region.as_ref());
    Ok(args.region.as_ref().or(usual).map(|names| regions(names)).transpose()?.flatten())
}

/// Whether every region is asked for by name, and not for want of one.
pub(super) fn asks_every_region(args: &AwsArgs, settings: &SettingsFile, io: &Io<'_>) -> bool {
    let usual = io.variable("GPUCOST_REGION").or(settings.region.as_ref());
    args.region.as_ref().or(usual).is_some_and(|names| names == "all")
}

/// The namespace that the CloudWatch agent publishes under.
pub(super) fn agent_namespace(args: &EstateArgs, settings: &SettingsFile, io: &Io<'_>) -> String {
    let usual = io.variable("GPUCOST_METRICS_NAMESPACE").or(settings.metrics_namespace.as_ref());
    args.metrics_namespace.as_ref().or(usual).map_or(DEFAULT_NAMESPACE, String::as_str).to_owned()
}

/// Who else tells how machines are used.
fn servers(
    (args, settings): EstateRequest<'_>,
    aws_profile: Option<&String>,
    io: &Io<'_>,
) -> Outcome<Vec<MetricServer>> {
    let connect = || args.prometheus.servers(aws_profile, &settings.metric_map, io);
    match args.metrics_source {
        MetricsSource::Auto => connect(),
        MetricsSource::Prometheus if args.prometheus.urls(io).is_empty() => Err(refusal!(
            "`--metrics-source prometheus` needs a server";
            "add a URL, such as `--prometheus-url http://prometheus:9090`")),
        MetricsSource::Prometheus => connect(),
        MetricsSource::Cloudwatch | MetricsSource::None => Ok(Vec::new()),
    }
}

/// Chooses the machines to read by five minutes, of those that the command is about: with
/// the prices and commitments of files, which tell workloads apart.
fn choose_fine(
    mut estate: Estate,
    settings: &SettingsFile,
    (scope, bought): (&Scope, &Commitments),
    partial: &BTreeSet<ResourceId>,
) -> (BTreeSet<ResourceId>, Usages) {
    scope.keep(&mut estate);
    estate.commitments.add(bought.clone());
    if add_own_prices(&mut estate.prices, settings, false).is_err() {
        // The command ends with this error once it needs the prices.
        return (partial.clone(), estate.usage);
    }
    (needs_fine_grid(&estate, &settings.policy, partial), estate.usage)
}

fn live(
    (args, settings): EstateRequest<'_>,
    (metrics, refine): (bool, Option<Refine<'_>>),
    mut recorder: Option<Recorder>,
    io: &mut Io<'_>,
) -> Outcome<(Estate, Option<Recorder>)> {
    let mut options = options(args, settings, io)?;
    options.metrics &= metrics;
    let mut unread = None;
    if !options.offline {
        match cache::load_prices(io) {
            Ok(cached) => options.cache = cached,
            Err(error) => unread = Some(cache::price_gap(&error)),
        }
    }
    check_services(&args.services)?;
    let aws = AwsOptions {
        services: args.services.clone(),
        asks_opinions: args.organization.aws_opinion,
        as_of: options.as_of,
        ..args.aws.options(settings, io)
    };
    let regions = asked_regions(&args.aws, settings, io)?;
    let namespace = agent_namespace(args, settings, io);
    let servers = servers((args, settings), aws.profile.as_ref(), io)?;
    let kept = history::wanted(args, options.metrics, servers.len())?;
    let rollups = history::rollups(args, metrics)?;
    let access = args.aws.access(settings, io);
    if !servers.is_empty() {
        for warning in args.prometheus.warnings(io) {
            output::say(&warning, &args.out, io);
        }
    }
    let cluster = args.kubernetes.cluster(args.aws.deadline, io)?;
    if let Some(warning) = cluster.as_ref().and_then(Cluster::warning) {
        output::say(&warning, &args.out, io);
    }
    let is_cloud_read = !args.kubernetes.is_alone();
    let organization = args.organization.organization()?;
    let gathered = live::wait_for(&args.out, &aws.notice, io, async |progress| {
        let days = history::days(&options);
        if let Some(place) = kept {
            progress("history");
            let opened = History::open(place, &access, days, io.now).await?;
            options.history = Some(Rc::new(opened));
        }
        if let Some(place) = rollups {
            progress("roll-ups");
            let opened = History::open_to_read(place, &access, days, io.now).await?;
            options.rollups = Some(Rc::new(opened));
        }
        let (mut accounts, mut gaps) = (Vec::new(), Vec::new());
        if is_cloud_read {
            progress("credentials");
            let regions = regions.as_deref();
            match &organization {
                Some(asked) => {
                    let connecting =
                        aws::connect_organization(&aws, asked, regions, &namespace, progress);
                    let connected = connecting.await?;
                    accounts = connected.value;
                    gaps = connected.gaps;
                }
                None => {
                    let connected = aws::connect(&aws, regions, &namespace).await?;
                    accounts.push(connected.value);
                    gaps = connected.gaps;
                }
            }
        }
        if let Some(cluster) = cluster {
            match cluster.account(progress).await {
                Ok(account) => accounts.push(account),
                // What the cloud shows is still audited.
                Err(error) if is_cloud_read => {
                    let cause = error.cause_of(CauseKind::CallFailed, "they are omitted");
                    gaps.push(Gap::of(GapSubject::Nodes, "cluster", cause));
                }
                Err(error) => return Err(GatherError::Source(error)),
            }
        }
        if args.metrics_source == MetricsSource::Prometheus {
            let connections = accounts.iter_mut().flat_map(|account| &mut account.connections);
            connections.for_each(|connection| connection.metrics.clear());
        }
        let sink = recorder.as_mut();
        let mut estate = gather(&accounts, &servers, &options, sink, refine, progress).await?;
        estate.gaps.extend(gaps);
        estate.gaps.sort();
        estate.gaps.dedup();
        Ok(estate)
    });
    if let Some(kept) = &options.history {
        history::warn(kept, &args.out, io);
    }
    let mut estate = gathered?;
    estate.gaps.extend(unread);
    Ok((estate, recorder))
}

/// What it means that a policy cannot be read.
pub(super) fn unreadable_policy(error: ConfigError) -> Failure {
    hinted! { error;
        ConfigError::Io { .. } => "check the path passed to `--policy`";
        ConfigError::Invalid { .. } => "see docs/check.md for the meaning of each key";
    }
}
