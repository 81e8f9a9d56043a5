//! `gpucost audit`.

use super::Io;
use super::args::{AuditArgs, AuditFormat, RiskChoice};
use super::exit::{ExitCode, Failure};
use super::price_age::PriceAge;
use super::scope::invocation;
use super::{estate, output};
use crate::analysis::{Audit, audit};
use crate::config::SettingsFile;
use crate::domain::Risk;
use crate::report::{audit_csv, audit_html, audit_json, audit_markdown, audit_table};
use clap::ValueEnum;

pub(super) fn run(args: &AuditArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let settings = estate::settings(&args.estate.out, io)?;
    let format = format(args.format, &settings, io)?;
    let accepted = risk(args.risk, &settings, io)?;
    let age = PriceAge::of_estate(&args.estate, &settings)?;
    let estate = estate::estate(&args.estate, &settings, io)?;
    let audit = audit(&estate, &settings.policy, accepted);
    let warning = age.check(audit.prices.oldest_seen_on(), audit.window.end)?;
    let text = render(&audit, format, args, io)?;
    output::document(&text, &args.estate.out, io)?;
    output::warn(warning, &args.estate.out, io);
    let (instances, unmeasured) = seen(&audit);
    Ok(output::close(
        "audited",
        instances,
        unmeasured,
        &audit.gaps,
        &args.estate,
        io,
    ))
}

/// The format by precedence: flag, environment, file, table. Which there are
/// depends on the command.
pub(super) fn format<F: ValueEnum>(
    flag: Option<F>,
    settings: &SettingsFile,
    io: &Io<'_>,
) -> Result<F, Failure> {
    if let Some(format) = flag {
        return Ok(format);
    }
    let name = io.variable("GPUCOST_FORMAT").or(settings.format.as_ref());
    let name = name.map_or("table", String::as_str);
    F::from_str(name, true).map_err(|_| {
        let known: Vec<String> = F::value_variants()
            .iter()
            .filter_map(|format| Some(format.to_possible_value()?.get_name().to_owned()))
            .collect();
        Failure::input(format!("`{name}` is not a format of this command"))
            .with_hint(format!("known are {}", known.join(", ")))
    })
}

/// The accepted risk by precedence: flag, environment, file, medium.
pub(super) fn risk(
    flag: Option<RiskChoice>,
    settings: &SettingsFile,
    io: &Io<'_>,
) -> Result<Risk, Failure> {
    if let Some(choice) = flag {
        return Ok(match choice {
            RiskChoice::Low => Risk::Low,
            RiskChoice::Medium => Risk::Medium,
            RiskChoice::High => Risk::High,
        });
    }
    match io.variable("GPUCOST_RISK") {
        Some(name) => Risk::from_name(name).ok_or_else(|| {
            Failure::input(format!("GPUCOST_RISK is `{name}`"))
                .with_hint("known are low, medium and high")
        }),
        None => Ok(settings.risk.unwrap_or(Risk::Medium)),
    }
}

fn render(
    audit: &Audit,
    format: AuditFormat,
    args: &AuditArgs,
    io: &Io<'_>,
) -> Result<String, Failure> {
    let internal = |error: anyhow::Error| Failure::new(ExitCode::Unexpected, error);
    let invocation = invocation(&args.estate, args.risk);
    match format {
        AuditFormat::Table | AuditFormat::Wide => Ok(audit_table(
            audit,
            &invocation,
            output::style(format == AuditFormat::Wide, &args.estate.out, io),
        )),
        AuditFormat::Json => audit_json(audit).map_err(|error| internal(error.into())),
        AuditFormat::Csv => audit_csv(audit).map_err(|error| internal(error.into())),
        AuditFormat::Markdown => Ok(audit_markdown(audit, &invocation)),
        AuditFormat::Html => Ok(audit_html(audit)),
    }
}

/// All instances, and the running ones without any GPU signal.
pub(super) fn seen(audit: &Audit) -> (usize, usize) {
    let instances = audit
        .workloads
        .iter()
        .map(|audited| audited.workload.instances.len())
        .sum();
    let unmeasured = audit
        .workloads
        .iter()
        .filter(|audited| audited.workload.key.running)
        .flat_map(|audited| &audited.workload.usage)
        .filter(|usage| usage.signal.is_none())
        .count();
    (instances, unmeasured)
}
