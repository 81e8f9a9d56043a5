//! `gpucost audit`.

use super::Io;
use super::args::{AuditArgs, AuditFormat, RiskChoice};
use super::exit::{ExitCode, Failure};
use super::history::Keeping;
use super::price_age::PriceAge;
use super::scope::invocation;
use super::{estate, group_by, output, units};
use crate::analysis::{Audit, Grouping, GroupingKeys, audit_once, charges, unused_charges};
use crate::config::SettingsFile;
use crate::domain::{Clusters, Risk};
use crate::report::text::counted;
use crate::report::{
    audit_csv, audit_html, audit_json, audit_markdown, audit_table, focus_csv, groups_csv,
    groups_section,
};
use clap::ValueEnum;
use rust_decimal::Decimal;

pub(super) fn run(args: &AuditArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let settings = estate::settings(&args.estate.out, io)?;
    let format = format(args.format, &settings, io)?;
    let wanted = Wanted {
        args,
        keys: group_by::keys(&args.group_by)?,
        hours_per_month: settings.policy.hours_per_month,
    };
    if wanted.keys.is_some() && format == AuditFormat::Focus {
        return Err(
            Failure::input("`--group-by` cannot be used with `--format focus`").with_hint(
                "each FOCUS row is one charge with its account, region and tags, for \
                 grouping in other tools; use `--format csv` for group totals",
            ),
        );
    }
    let counted = units::counted(args.units.as_deref(), &args.estate.out)?;
    let accepted = risk(args.risk, &settings, io)?;
    let age = PriceAge::of_estate(&args.estate, &settings)?;
    let estate = estate::estate_to_group(&args.estate, &settings, wanted.keys.as_ref(), io)?;
    let is_grouped = wanted.keys.is_some();
    let clusters = is_grouped.then(|| estate.clusters.clone());
    let clusters = clusters.unwrap_or_default();
    let keeping = args.record.as_ref();
    let keeping =
        keeping.map(|place| Keeping::of(place.as_ref(), &estate, (&args.estate, &settings), io));
    let mut audit = audit_once(estate, &settings.policy, accepted);
    units::price(&mut audit, &counted, &settings.policy)?;
    let warning = age.check(audit.prices.oldest_seen_on(), audit.window.end)?;
    let text = render((&audit, &clusters), format, &wanted, io)?;
    output::document(&text, &args.estate.out, io)?;
    output::warn(warning, &args.estate.out, io);
    if let Some(keeping) = keeping {
        let kept = keeping.keep(&audit, &settings.policy, &args.estate.out, io)?;
        output::say(&kept, &args.estate.out, io);
    }
    if format == AuditFormat::Focus {
        output::warn(left_out_of_bill(&audit), &args.estate.out, io);
    }
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
        Failure::input(format!(
            "`{name}` is not a supported format for this command"
        ))
        .with_hint(format!("valid values: {}", known.join(", ")))
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
            Failure::input(format!("invalid GPUCOST_RISK: `{name}`"))
                .with_hint("valid values: low, medium, high")
        }),
        None => Ok(settings.risk.unwrap_or(Risk::Medium)),
    }
}

fn render(
    (audit, clusters): (&Audit, &Clusters),
    format: AuditFormat,
    wanted: &Wanted<'_>,
    io: &Io<'_>,
) -> Result<String, Failure> {
    let args = wanted.args;
    let mut invocation = invocation(&args.estate, args.risk);
    for names in &args.group_by {
        let words = ["--group-by".to_owned(), names.clone()];
        invocation.audit.extend(words);
    }
    let keys = wanted.keys.as_ref();
    let groups = keys.map(|keys| Grouping::of(audit, clusters, keys));
    match format {
        AuditFormat::Table | AuditFormat::Wide => {
            let style = output::style(format == AuditFormat::Wide, &args.estate.out, io);
            let mut text = audit_table(audit, &invocation, style);
            if let Some(groups) = &groups {
                text.push_str(&groups_section(groups, style));
            }
            Ok(text)
        }
        AuditFormat::Json => audit_json(audit, groups.as_ref()).map_err(Failure::unexpected),
        AuditFormat::Csv => match &groups {
            Some(groups) => groups_csv(groups, audit.totals.currency),
            None => audit_csv(audit),
        }
        .map_err(Failure::unexpected),
        AuditFormat::Markdown => Ok(audit_markdown(audit, groups.as_ref(), &invocation)),
        AuditFormat::Html => Ok(audit_html(audit, groups.as_ref())),
        AuditFormat::Focus => {
            let month = wanted.hours_per_month;
            focus_csv(audit, &charges(audit, month), &unused_charges(audit, month))
                .map_err(Failure::unexpected)
        }
    }
}

/// What is asked of the document beside its format.
struct Wanted<'a> {
    args: &'a AuditArgs,
    keys: Option<GroupingKeys>,
    hours_per_month: Decimal,
}

/// Workloads that a bill cannot show, because their cost is not known.
fn left_out_of_bill(audit: &Audit) -> Option<String> {
    let unpriced = audit
        .workloads
        .iter()
        .filter(|one| one.workload.monthly_cost().is_none());
    let number = unpriced.count() as u64;
    (number > 0).then(|| {
        format!(
            "warning: {} from the document\nhint: `gpucost audit` lists missing prices in \
             its data gaps",
            counted(
                number,
                "unpriced workload omitted",
                "unpriced workloads omitted"
            )
        )
    })
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
