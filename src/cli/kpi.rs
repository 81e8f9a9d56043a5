//! `gpucost kpi`: key figures of a fleet, or what units of one run cost.

use super::exit::{ExitCode, Failure};
use super::kpi_args::{KpiArgs, MOST_HOURS};
use super::planning::Planning;
use super::profile_data::unreadable;
use super::scope::invocation;
use super::{Io, audit, estate, known_prices, output, units};
use crate::analysis::{CountedRun, RunKpis, audit_once};
use crate::domain::{OperatingSystem, Risk, shell_word, shown};
use crate::report::{kpi_answer, kpi_run_answer};
use crate::sources::files::{ReadOptions, count_lines, open_samples};
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;
use std::path::Path;

pub(super) fn run(args: &KpiArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let read = [("--run", args.run.as_deref()), ("--log", args.log.as_deref())];
    let planning = Planning::of_estate(&args.estate, args.format, &read, io)?;
    if args.instance_type.is_some() || args.run.is_some() {
        return one_run(args, &planning, io);
    }
    if !args.unit.is_empty() || args.log.is_some() || args.count.is_some() {
        return Err(Failure::input("`--unit`, `--log` and `--count` are about one run").with_hint(
            "pass `--type` and `--hours`, or `--run FILE`; for a fleet, pass `--units FILE`",
        ));
    }
    fleet(args, &planning, io)
}

fn fleet(args: &KpiArgs, planning: &Planning<'_>, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let settings = &planning.settings;
    let counted = units::counted(args.units.as_deref(), &args.estate.out)?;
    let estate = estate::estate(&args.estate, settings, io)?;
    // No key figure depends on a plan, and this is the smallest one.
    let mut audited = audit_once(estate, &settings.policy, Risk::Low);
    units::price(&mut audited, &counted, &settings.policy)?;
    let flags = invocation(&args.estate, None).estate_flags();
    let units = args.units.as_deref().map_or_else(String::new, |path| {
        format!(" --units {}", shell_word(&path.to_string_lossy()))
    });
    let answer = kpi_answer(&audited, &settings.policy, &flags, &units);
    let oldest = audited.prices.oldest_seen_on();
    planning.print(&answer, oldest, audited.window.end, io)?;
    let seen = audit::seen(&audited);
    let code = output::close("measured", seen, &audited.gaps, &args.estate, io);
    Ok(code)
}

fn one_run(args: &KpiArgs, planning: &Planning<'_>, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let settings = &planning.settings;
    let place = args.run.as_deref().map(SampledRun::read).transpose()?;
    let mut done = args.unit.clone();
    if let Some(run) = &place {
        let is_given = |unit: &str| {
            args.unit.iter().any(|(name, _)| name == unit)
                || args.log_unit.iter().any(|(name, _)| name == unit)
        };
        let recorded = run.units.iter().filter(|(unit, _)| !is_given(unit));
        done.extend(recorded.cloned());
    }
    if let Some(log) = &args.log {
        for (name, text) in &args.log_unit {
            let lines = count_lines(log, text).map_err(|error| {
                let error = anyhow::Error::new(error)
                    .context(format!("cannot read the log {}", shown(log)));
                Failure::new(ExitCode::Input, error).with_hint("check the file path")
            })?;
            done.push((name.clone(), Decimal::from(lines)));
        }
    }
    let sampled = place.as_ref();
    let hours = args.hours.or(sampled.map(|run| run.hours));
    let Some(hours) = hours else {
        return Err(Failure::input("it is unknown how long the run took")
            .with_hint("pass `--hours`, or samples of the run with `--run FILE`"));
    };
    let name = args.instance_type.as_ref();
    let name = name.or(sampled.and_then(|run| run.instance_type.as_ref()));
    let Some(name) = name else {
        return Err(Failure::input("the samples do not name an instance type")
            .with_hint("pass `--type` and `--region`"));
    };
    let book = planning.book(None, args.estate.offline, io)?;
    let prices = planning.prices(&book);
    let region = args.estate.aws.region.as_ref();
    let region = region.or(sampled.and_then(|run| run.region.as_ref()));
    let region = known_prices::only_region(region, "a run has a single region", settings, io)?;
    let linux = OperatingSystem::Linux;
    let key = known_prices::key_of(&name.to_lowercase(), &region, linux, &prices)?;
    let counted = CountedRun { key, instances: args.count.unwrap_or(1), hours, units: done };
    let kpis = RunKpis::of(counted, &prices).map_err(|missing| {
        Failure::input(format!("{missing}: unpriced"))
            .with_hint("`gpucost pricing TYPE --region all` shows the regions with a price")
    })?;
    let source = args.run.as_ref().map_or("flags".to_owned(), |path| shown(path));
    let answer = kpi_run_answer(&kpis, &source);
    planning.print(&answer, Some(kpis.quote.seen_on), io.now, io)
}

/// What a file of samples says of its run.
struct SampledRun {
    instance_type: Option<String>,
    region: Option<String>,
    hours: Decimal,
    /// What its log showed while it was sampled.
    units: Vec<(String, Decimal)>,
}

impl SampledRun {
    fn read(path: &Path) -> Result<Self, Failure> {
        let mut samples = open_samples(path, &ReadOptions::default()).map_err(unreadable)?;
        let mut last_seconds: f64 = 0.0;
        for sample in &mut samples {
            last_seconds = last_seconds.max(sample.map_err(unreadable)?.at_seconds);
        }
        let end = samples.end().map(|end| end.elapsed_seconds);
        let hours = Decimal::from_f64(end.unwrap_or(last_seconds) / 3_600.0);
        let hours = hours.filter(|hours| *hours > Decimal::ZERO && *hours <= MOST_HOURS);
        let facts = samples.facts();
        let units = samples.end().into_iter().flat_map(|end| &end.units);
        Ok(Self {
            units: units.map(|done| (done.unit.clone(), Decimal::from(done.count))).collect(),
            instance_type: facts.instance_type.clone(),
            region: facts.region.clone(),
            hours: hours.ok_or_else(|| {
                Failure::input(format!("the samples of {} span no time", shown(path)))
                    .with_hint("pass `--type` and `--hours` instead")
            })?,
        })
    }
}
