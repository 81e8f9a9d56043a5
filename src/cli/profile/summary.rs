//! Where a host is and what it costs, and the summary of a run or of a log.

use super::args::{ProfileArgs, SummaryFormat};
use super::sampling::signed;
use crate::analysis::{
    PricedHost, RunCost, RunWork, STEPS, StepFacts, contradictions, instance_cost, unnamed_gpus,
};
use crate::catalog::Prices;
use crate::cli::args::DocFormat;
use crate::cli::live::runtime;
use crate::cli::rightsize::{known, unknown};
use crate::cli::sampled::{self, unreadable};
use crate::cli::{ExitCode, Failure, Io, Outcome, audit, known_prices, output, refusal};
use crate::config::SettingsFile;
use crate::domain::{
    Cause, CauseKind, Gap, GapSubject, GpuIdentity, HourlyRate, Policy, PriceBook, PriceKey,
    PriceOption, Risk, WorkloadKind,
};
use crate::planners::model::Dtype;
use crate::profiling::{Cadence, RunProfile};
use crate::report::{ProfileReport, elapsed_words, profile_doc, profile_openmetrics};
use crate::sources::aws::{InstancePlace, instance_place};
use crate::sources::files::{ReadOptions, open_samples};
use std::path::Path;

/// The facts of a step.
///
/// # Errors
/// When something is missing that others rest on.
pub(super) fn step_facts(args: &ProfileArgs) -> Outcome<StepFacts> {
    let names_model = args.model.model.is_some() || !args.model.passed().is_empty();
    let flops = match (args.flops_per_step, args.tokens_per_step, args.sequence_length) {
        (Some(flops), ..) => Some(flops),
        (None, Some(tokens), Some(sequence)) => {
            Some(args.model.model()?.training_flops_per_token(sequence) * tokens as f64)
        }
        (None, ..) if names_model || args.sequence_length.is_some() => {
            return Err(refusal!(
                "the operations of a step need a model, its tokens and their sequences";
                "pass `--model NAME`, `--tokens-per-step N` and `--sequence-length N`, or \
                 `--flops-per-step`"));
        }
        (None, ..) => None,
    };
    let rests_on_steps = flops.is_some() || args.tokens_per_step.is_some();
    let counts_steps = args.log_unit.iter().any(|(unit, _)| unit == STEPS);
    // A log may have counted them.
    if rests_on_steps && !counts_steps && args.read.is_none() {
        return Err(refusal!("the number of `{STEPS}` is not counted";
            "pass `--log FILE --log-unit steps=TEXT` with a text that the log has once a step"));
    }
    Ok(StepFacts { tokens: args.tokens_per_step, flops, dtype: args.dtype.unwrap_or(Dtype::Bf16) })
}

/// What a host costs, as far as that is known.
pub(super) struct Pricing {
    book: PriceBook,
    policy: Policy,
    accepted: Risk,
    kind: WorkloadKind,
    host: Option<PricedHost>,
    step: StepFacts,
}

impl Pricing {
    /// The prices that apply; refuses names that no price list has.
    pub(super) fn of(args: &ProfileArgs, settings: &SettingsFile, io: &Io<'_>) -> Outcome<Self> {
        let summary = Self {
            book: known_prices::book(args.offline, settings, io)?,
            policy: settings.policy.clone(),
            accepted: audit::risk(args.risk, settings, io)?,
            kind: args.kind.unwrap_or(WorkloadKind::Unknown),
            host: None,
            step: step_facts(args)?,
        };
        if let Some(name) = &args.instance_type {
            known(name)?;
        }
        if let Some(region) = &args.region {
            let regions = summary.prices().regions();
            if !regions.contains(region.as_str()) {
                return Err(unknown("region", region, regions.into_iter()));
            }
        }
        Ok(summary)
    }

    fn prices(&self) -> Prices<'_> {
        Prices::new(&self.book, &self.policy.discount_percent)
    }

    /// Settles on a host with these GPUs; what stands in the way of a price is a
    /// gap, and so is what speaks against the type.
    pub(super) fn settle(
        &mut self,
        place: &InstancePlace,
        gpus: &[GpuIdentity],
        gaps: &mut Vec<Gap>,
    ) {
        let Some(name) = &place.instance_type else { return };
        let mut absent = |what: GapSubject, cause| gaps.push(Gap::of(what, name, cause));
        let machine = known(name);
        if let Ok((shape, _)) = &machine {
            let reasons = contradictions(gpus, shape);
            if !reasons.is_empty() {
                absent(GapSubject::Price, Cause::of(CauseKind::OtherGpus, [&reasons.join("; ")]));
                return;
            }
            if let Some((seen, devices)) = unnamed_gpus(gpus, shape) {
                let (seen, devices) = (seen.to_string(), devices.to_string());
                let cause = Cause::of(CauseKind::GpusNotProfiled, [&seen, &devices]);
                absent(GapSubject::HostGpus, cause);
            }
        }
        let region = place.region.as_deref().unwrap_or(known_prices::HOME_REGION);
        if place.region.is_none() {
            absent(GapSubject::Region, Cause::of(CauseKind::RegionAssumed, [region]));
        }
        let Ok((shape, _)) = machine else {
            absent(GapSubject::Price, Cause::of(CauseKind::TypeNotListed, []));
            return;
        };
        let mut key = PriceKey::linux_on_demand(region, &shape.instance_type);
        if place.is_spot == Some(true) {
            key.option = PriceOption::Spot;
        }
        match instance_cost(&key, &self.prices(), &self.policy) {
            Ok(_) => {
                self.host = Some(PricedHost { shape, key, kind: self.kind });
            }
            Err(missing) => {
                let cause = Cause::of(CauseKind::NoRunPrice, [&missing.0.to_string()]);
                absent(GapSubject::Price, cause);
            }
        }
    }

    /// What the host costs per hour.
    pub(super) fn hourly(&self) -> Option<HourlyRate> {
        let cost = instance_cost(&self.host.as_ref()?.key, &self.prices(), &self.policy);
        cost.ok().map(|cost| cost.quote.rate)
    }

    /// A run with its price.
    pub(super) fn report(&self, profile: RunProfile, gaps: Vec<Gap>) -> ProfileReport {
        let cost = self.host.as_ref().and_then(|host| {
            RunCost::of(&profile, host, &self.prices(), &self.policy, self.accepted).ok()
        });
        let work = RunWork::of(&profile, self.hourly(), self.step);
        ProfileReport { profile, cost, work, accepted: self.accepted, gaps }
    }
}

/// Prints the summary; beside a command on stderr, because stdout is the
/// command's, and not at all where that is to be quiet. One that `--output` does
/// not take goes to stderr, so that the run is not lost.
pub(super) fn print(report: &ProfileReport, args: &ProfileArgs, io: &mut Io<'_>) -> Outcome<()> {
    let beside_command = args.is_beside_command();
    let doc = profile_doc(report);
    let is_wide = args.format == SummaryFormat::Doc(DocFormat::Wide);
    let mut style = output::style(is_wide, &args.out, io);
    style.color &= !beside_command;
    let text = match args.format {
        SummaryFormat::Doc(format) => output::doc_text(&doc, format, style)?,
        SummaryFormat::Openmetrics => profile_openmetrics(report),
    };
    if beside_command {
        let text = if args.out.quiet { "" } else { &text };
        let written = io.stderr.write_all(text.as_bytes());
        return written.map_err(|error| Failure::write("to stderr", error));
    }
    let written = match args.format {
        SummaryFormat::Doc(format @ DocFormat::Xlsx) => {
            output::print_in(&doc, format, style, &args.out, io).map(drop)
        }
        _ => output::document(&text, &args.out, io),
    };
    if written.is_err() && args.out.output.is_some() {
        // Nothing more can be done when stderr is gone too.
        let _ = io.stderr.write_all(text.as_bytes());
    }
    written
}

/// The SDKs' own variable for the address of the service.
const ENDPOINT: &str = "AWS_EC2_METADATA_SERVICE_ENDPOINT";

/// Finds the host's place; what cannot be found out is a gap.
pub(super) fn find_place(args: &ProfileArgs, io: &Io<'_>, gaps: &mut Vec<Gap>) -> InstancePlace {
    let named = InstancePlace {
        instance_type: args.instance_type.as_deref().map(str::to_lowercase),
        region: args.region.clone(),
        ..InstancePlace::default()
    };
    if args.no_imds || is_switched_off(io) {
        return named;
    }
    let endpoint = io.variable(ENDPOINT).map(String::as_str);
    let runtime = runtime().map_err(|error| error.to_string());
    match runtime.and_then(|runtime| runtime.block_on(instance_place(endpoint))) {
        Ok(place) => InstancePlace {
            instance_type: named.instance_type.or(place.instance_type),
            region: named.region.or(place.region),
            ..place
        },
        // Whoever says where the host is need not be on EC2.
        Err(_) if named.instance_type.is_some() => named,
        Err(reason) => {
            let cause = Cause::of(CauseKind::MetadataNotRead, [&reason]);
            gaps.push(Gap::of(GapSubject::InstanceType, "instance metadata", cause));
            named
        }
    }
}

/// Where the metadata service is asked for notices: its usual address where none is named.
///
/// # Errors
/// Why it is not to be asked.
pub(super) fn notice_service(io: &Io<'_>) -> Result<Option<String>, &'static str> {
    if is_switched_off(io) {
        return Err("AWS_EC2_METADATA_DISABLED is set");
    }
    Ok(io.variable(ENDPOINT).cloned())
}

/// The SDKs' own switch.
fn is_switched_off(io: &Io<'_>) -> bool {
    io.variable("AWS_EC2_METADATA_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// Summarizes a log that somebody has already.
pub(super) fn summarize(
    path: &Path,
    args: &ProfileArgs,
    settings: &SettingsFile,
    io: &mut Io<'_>,
) -> Outcome {
    let mut pricing = Pricing::of(args, settings, io)?;
    let options = ReadOptions {
        zone: args.read_zone.clone(),
        columns: args.read_columns.clone(),
        interval: args.interval,
    };
    let mut samples = open_samples(path, &options).map_err(unreadable)?;
    let mut facts = samples.facts().clone();
    // What the flags say of the host outranks what the log says.
    facts.instance_type = args.instance_type.clone().or(facts.instance_type);
    facts.region = args.region.clone().or(facts.region);
    let (profile, cadence) =
        sampled::read(&mut samples, facts, args.interval.map(signed), settings)?;
    let facts = &profile.facts;
    // Only spot instances get notices.
    let spot = profile.end.spot.as_ref();
    let is_announced = spot.is_some_and(|spot| spot.interruption.is_some());
    let place = InstancePlace {
        instance_id: facts.instance_id.clone(),
        instance_type: facts.instance_type.clone(),
        region: facts.region.clone(),
        is_spot: is_announced.then_some(true),
    };
    let mut gaps = samples.gaps();
    gaps.extend(hole(&cadence, samples.facts().interval_seconds.is_some(), samples.place()));
    gaps.extend(samples.unread());
    pricing.settle(&place, &samples.facts().gpus, &mut gaps);
    print(&pricing.report(profile, gaps), args, io)?;
    Ok(ExitCode::Done)
}

/// The longest time without a sample, as a gap.
fn hole(cadence: &Cadence, is_ours: bool, place: &str) -> Option<Gap> {
    let hole = cadence.longest_hole()?;
    let kind = if is_ours { CauseKind::SamplerPaused } else { CauseKind::LogPaused };
    let pace = cadence.pace();
    let missed = pace.missed?;
    let cause = Cause::of(
        kind,
        [
            &missed.to_string(),
            &pace.taken.saturating_add(missed).to_string(),
            &elapsed_words(hole.seconds),
            &elapsed_words(hole.from_seconds),
        ],
    );
    Some(Gap::of(GapSubject::Samples, place, cause))
}
