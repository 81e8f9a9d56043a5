//! `gpucost kpi`: key figures of a fleet, or what units of one run cost.

use super::args::{DocFormat, EstateArgs};
use super::choices::above_zero;
use super::planning::{Planning, estate_flags};
use super::scope::invocation;
use super::{
    Failure, Io, Outcome, audit, estate, flags, known_prices, output, parsers, refusal, refuse_if,
    refused, sampled,
};
use crate::analysis::{CountedRun, RunKpis, audit_once};
use crate::config::SettingsFile;
use crate::domain::{OperatingSystem, Risk, shell_word, shown};
use crate::profiling::RunProfile;
use crate::report::planners::kpi::{kpi_answer, kpi_run_answer};
use crate::sources::files::{count_lines, unit_count};
use anyhow::Context;
use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;
use std::path::{Path, PathBuf};

/// A century: what is longer is an error.
pub(super) const MOST_HOURS: Decimal = Decimal::from_parts(876_000, 0, 0, false, 0);
/// Characters of a text that lines of a log are searched for.
const LONGEST_TEXT: usize = 1_000;

flags! {
    /// `gpucost kpi`.
    pub(super) struct KpiArgs {
        estate: EstateArgs = command(flatten);
        /// CSV file of how much work was done: columns name, unit, count and window
        units: Option<PathBuf> = arg(long, value_name = "FILE", conflicts_with = "redact");
        /// Price one run of this instance type without calling a cloud; `--region` sets its region
        instance_type: Option<String> = arg(long = "type", value_name = "TYPE", help_heading = "One run", conflicts_with_all = estate_flags().chain(["units"]));
        /// Samples of the run, written by `gpucost profile --samples`: its hours, its type and the
        /// units of `--log-unit`
        run: Option<PathBuf> = arg(long, value_name = "FILE", help_heading = "One run", conflicts_with_all = estate_flags().chain(["units", "hours"]));
        /// Hours that each instance ran
        hours: Option<Decimal> = arg(long, value_name = "HOURS", value_parser = hours, allow_negative_numbers = true, requires = "instance_type", help_heading = "One run");
        /// Number of instances [default: 1]
        count: Option<u32> = arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), allow_negative_numbers = true, help_heading = "One run");
        /// How much work the run did, such as `steps=12000` (can be repeated)
        unit: Vec<(String, Decimal)> = arg(long, value_name = "NAME=COUNT", value_parser = unit, help_heading = "One run");
        /// Log of the run
        log: Option<PathBuf> = arg(long, value_name = "FILE", requires = "log_unit", help_heading = "One run");
        /// A unit that each line of the log with a text marks, such as `epochs=val_loss` (can be
        /// repeated)
        log_unit: Vec<(String, String)> = arg(long, value_name = "NAME=TEXT", value_parser = log_unit, requires = "log", help_heading = "One run");
        /// Output format [default: table]
        format: Option<DocFormat> = arg(long, value_enum, help_heading = "Output");
    }
}

parsers! {
    fn hours(text) -> Decimal = above_zero(text, MOST_HOURS), format!("expected hours above 0 and at most {MOST_HOURS}");
    /// A unit and the text that lines of a log have for each of it.
    pub(super) fn log_unit(text) -> (String, String) = named(text).filter(|(_, text)| text.chars().count() <= LONGEST_TEXT).map(|(name, text)| (name.to_owned(), text.to_owned())), format!("expected a name and a text of at most {LONGEST_TEXT} characters, such as epochs=val_loss");
}

/// A name and what stands behind its first `=`, neither empty.
fn named(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    (!name.is_empty() && !value.is_empty()).then_some((name, value))
}

fn unit(text: &str) -> Result<(String, Decimal), String> {
    let expected = || "expected a name and a count, such as steps=12000".to_owned();
    let (name, count) = named(text).ok_or_else(expected)?;
    let count = unit_count(count)?;
    if count.is_zero() {
        return Err("expected a count above 0: no unit was done that has a price".to_owned());
    }
    Ok((name.to_owned(), count))
}

pub(super) fn run(args: &KpiArgs, io: &mut Io<'_>) -> Outcome {
    let read = [("--run", args.run.as_deref()), ("--log", args.log.as_deref())];
    let planning = Planning::of_estate(&args.estate, args.format, &read, io)?;
    if args.instance_type.is_some() || args.run.is_some() {
        return one_run(args, &planning, io);
    }
    refuse_if!(!args.unit.is_empty() || args.log.is_some() || args.count.is_some();
        "`--unit`, `--log` and `--count` are about one run";
        "pass `--type` and `--hours`, or `--run FILE`; for a fleet, pass `--units FILE`");
    fleet(args, &planning, io)
}

fn fleet(args: &KpiArgs, planning: &Planning<'_>, io: &mut Io<'_>) -> Outcome {
    let settings = &planning.settings;
    let counted = audit::counted_units(args.units.as_deref(), &args.estate.out)?;
    let estate = estate::read(&args.estate, settings, io)?;
    // No key figure depends on a plan, and this is the smallest one.
    let mut audited = audit_once(estate, &settings.policy, Risk::Low);
    audit::price_units(&mut audited, &counted, &settings.policy)?;
    let flags = invocation(&args.estate, None).estate_flags();
    let units = args.units.as_deref().map_or_else(String::new, |path| {
        format!(" --units {}", shell_word(&path.to_string_lossy()))
    });
    let answer = kpi_answer(&audited, &settings.policy, &flags, &units);
    planning.print(&answer, None, (audited.prices.oldest_seen_on(), audited.window.end), io)?;
    Ok(output::close("measured", audit::seen(&audited), &audited.gaps, &args.estate, io))
}

fn one_run(args: &KpiArgs, planning: &Planning<'_>, io: &mut Io<'_>) -> Outcome {
    let settings = &planning.settings;
    let run = args.run.as_deref().map(|path| sampled_run(path, settings)).transpose()?;
    let sampled = run.as_ref().map(|(run, _)| run);
    let mut done = args.unit.clone();
    if let Some(run) = sampled {
        let is_given = |unit: &str| {
            args.unit.iter().any(|(name, _)| name == unit)
                || args.log_unit.iter().any(|(name, _)| name == unit)
        };
        let units = run.end.units.iter().filter(|done| !is_given(&done.unit));
        done.extend(units.map(|done| (done.unit.clone(), Decimal::from(done.count))));
    }
    if let Some(log) = &args.log {
        for (name, text) in &args.log_unit {
            let lines = count_lines(log, text)
                .with_context(|| format!("cannot read the log {}", shown(log)))
                .map_err(Failure::hinted("check the file path"))?;
            done.push((name.clone(), Decimal::from(lines)));
        }
    }
    let hours = args.hours.or(run.as_ref().map(|(_, hours)| *hours)).ok_or_else(refused!(
        "it is unknown how long the run took";
        "pass `--hours`, or samples of the run with `--run FILE`"))?;
    let name =
        args.instance_type.as_ref().or(sampled.and_then(|run| run.facts.instance_type.as_ref()));
    let name = name.ok_or_else(refused!("the samples do not name an instance type";
        "pass `--type` and `--region`"))?;
    let book = planning.book(None, args.estate.offline, io)?;
    let prices = planning.prices(&book);
    let region = args.estate.aws.region.as_ref();
    let region = region.or(sampled.and_then(|run| run.facts.region.as_ref()));
    let region = known_prices::only_region(region, "a run has a single region", settings, io)?;
    let linux = OperatingSystem::Linux;
    let key = known_prices::key_of(&name.to_lowercase(), &region, linux, &prices)?;
    let counted = CountedRun { key, instances: args.count.unwrap_or(1), hours, units: done };
    let kpis = RunKpis::of(counted, &prices).map_err(|missing| {
        refusal! { "{missing}: unpriced";
            "`gpucost pricing TYPE --region all` shows the regions with a price"
        }
    })?;
    let source = args.run.as_ref().map_or("flags".to_owned(), |path| shown(path));
    planning.print(&kpi_run_answer(&kpis, &source), None, (Some(kpis.quote.seen_on), io.now), io)
}

/// A run that was sampled, and the hours that it took.
fn sampled_run(path: &Path, settings: &SettingsFile) -> Outcome<(RunProfile, Decimal)> {
    let run = sampled::profile_of(path, settings)?;
    let hours = Decimal::from_f64(run.end.elapsed_seconds / 3_600.0);
    let hours = hours.filter(|hours| *hours > Decimal::ZERO && *hours <= MOST_HOURS);
    let hours = hours.ok_or_else(refused!("the samples of {} span no time", shown(path);
        "pass `--type` and `--hours` instead"))?;
    Ok((run, hours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_have_a_name_and_a_count_above_zero() {
        assert_eq!(unit("steps=1.5e3"), Ok(("steps".to_owned(), Decimal::from(1_500))));
        for bad in
            ["", "steps", "=5", "steps=", "steps=-1", "steps=0", "steps=0.0", "steps=NaN", "a=1e30"]
        {
            assert!(unit(bad).is_err(), "{bad}");
        }
        assert_eq!(log_unit("epochs=loss = "), Ok(("epochs".to_owned(), "loss =".to_owned())));
        assert!(log_unit(&format!("a={}", "x".repeat(1_001))).is_err());
        assert!(hours("0").is_err() && hours("-1").is_err() && hours("876001").is_err());
    }
}
