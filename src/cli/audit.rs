//! `gpucost audit`.

use super::Io;
use super::args::{AuditArgs, AuditFormat, RiskChoice};
use super::exit::{ExitCode, Failure};
use super::export::Facts;
use super::history::{Keeping, day_facts};
use super::price_age::PriceAge;
use super::scope::invocation;
use super::view_args::{ViewFlags, check_known};
use super::{estate, group_by, output, rejected, units};
use crate::analysis::{Audit, DayFacts, Grouping, GroupingKeys, audit_once, day_costs};
use crate::config::SettingsFile;
use crate::domain::{Clusters, Risk};
use crate::report::text::counted;
use crate::report::{
    AuditScreen, RowFacts, TableStyle, View, audit_doc, audit_openmetrics, audit_screen, doc_csv,
    doc_html, doc_json, doc_markdown, doc_table, groups_doc,
};
use clap::ValueEnum;
use rust_decimal::Decimal;

pub(super) fn run(args: &AuditArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let mut settings = estate::settings(&args.estate.out, io)?;
    settings.policy.rejected = rejected::read(args, &settings)?;
    let format = format(args.format, &settings, io)?;
    let flags = ViewFlags {
        rows: &args.rows,
        verdicts: Some(&args.verdicts),
        types: &args.of.types,
        sort: None,
    };
    if let Some(name) = complete(format) {
        flags.refuse(name)?;
    }
    args.export.check(format, &args.estate.out, io)?;
    let keys = group_by::keys(&args.group_by)?;
    if keys.is_some()
        && let Some((name, hint)) = groups_elsewhere(format)
    {
        let what = format!("`--group-by` cannot be used with `--format {name}`");
        return Err(Failure::input(what).with_hint(hint));
    }
    let counted = units::counted(args.units.as_deref(), &args.estate.out)?;
    let accepted = risk(args.plan.risk, &settings, io)?;
    let age = PriceAge::of_estate(&args.estate, &settings)?;
    let mut estate = estate::estate_to_group(&args.estate, &settings, keys.as_ref(), io)?;
    // Once, for every reader of it below.
    estate.reduce();
    let is_grouped = keys.is_some();
    let clusters = is_grouped.then(|| estate.clusters.clone());
    let clusters = clusters.unwrap_or_default();
    let keeping = args.record.as_ref();
    let keeping =
        keeping.map(|place| Keeping::of(place.as_ref(), &estate, (&args.estate, &settings), io));
    let keeping = keeping.transpose()?;
    let wanted = Wanted {
        args,
        facts: Facts::of((&args.export, format), &estate, &settings.policy),
        days: (format == AuditFormat::Html)
            .then(|| day_facts(&estate, (&args.estate, &settings), io)),
        view: flags.view(),
        keys,
        hours_per_month: settings.policy.hours_per_month,
    };
    let aimed = args.plan.aimed(&estate, (&settings.policy, accepted))?;
    let mut audit = aimed.unwrap_or_else(|| audit_once(estate, &settings.policy, accepted));
    units::price(&mut audit, &counted, &settings.policy)?;
    let warning = age.check(audit.prices.oldest_seen_on(), audit.window.end)?;
    let rows: Vec<RowFacts> = audit.workloads.iter().map(RowFacts::of).collect();
    check_known(&wanted.view, &rows)?;
    match render((&audit, &clusters), format, &wanted, io)? {
        Rendered::Text(text) => output::document(&text, &args.estate.out, io)?,
        Rendered::Workbook(bytes) => output::bytes(&bytes, &args.estate.out, io)?,
    }
    output::warn(warning, &args.estate.out, io);
    let about = rejected::in_words(&audit, &settings.policy.rejected);
    output::warn(about, &args.estate.out, io);
    if let Some(keeping) = keeping {
        let kept = keeping.keep(&audit, &settings.policy, &args.estate.out, io)?;
        output::say(&kept, &args.estate.out, io);
    }
    let promises = args.export.unlisted_promises(format, &audit);
    if let Some(line) = promises.filter(|_| wanted.keys.is_none()) {
        output::say(&line, &args.estate.out, io);
    }
    if format == AuditFormat::Focus {
        output::warn(left_out_of_bill(&audit), &args.estate.out, io);
    }
    let seen = seen(&audit);
    let code = output::close("audited", seen, &audit.gaps, &args.estate, io);
    Ok(code)
}

/// A format whose rows are grouped by other tools: its name, and how they do it.
fn groups_elsewhere(format: AuditFormat) -> Option<(&'static str, &'static str)> {
    match format {
        AuditFormat::Focus => Some((
            "focus",
            "each FOCUS row is one charge with its account, region and tags, for \
             grouping in other tools; use `--format csv` for group totals",
        )),
        AuditFormat::Openmetrics => Some((
            "openmetrics",
            "group in a query, such as `sum by (team) (gpucost_workload_cost_monthly)`; \
             use `--format csv` for group totals",
        )),
        AuditFormat::Xlsx => Some((
            "xlsx",
            "filter or pivot the sheet Workloads; use `--format csv` for group totals",
        )),
        _ => None,
    }
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
        Failure::input(format!("`{name}` is not a supported format for this command"))
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
) -> Result<Rendered, Failure> {
    let args = wanted.args;
    let mut invocation = invocation(&args.estate, args.plan.risk);
    invocation.audit.extend(args.plan.target_words());
    for names in &args.group_by {
        let words = ["--group-by".to_owned(), names.clone()];
        invocation.audit.extend(words);
    }
    let keys = wanted.keys.as_ref();
    let groups = keys.map(|keys| Grouping::of(audit, clusters, keys));
    let view = &wanted.view;
    let style = TableStyle {
        limit: view.limit,
        ..output::style(format == AuditFormat::Wide, &args.estate.out, io)
    };
    let is_plain = view.limit.is_none() && view.sort.is_none() && !view.is_filtered();
    let screen = || {
        let days = wanted.days.as_ref();
        let days = days.map(|facts| day_costs(audit, facts, wanted.hours_per_month));
        let how = AuditScreen {
            view,
            by: groups.as_ref(),
            invocation: &invocation,
            days: &days.unwrap_or_default(),
            is_brief: format == AuditFormat::Table && is_plain,
            ascii: style.ascii,
        };
        audit_screen(audit, &how)
    };
    let text = match format {
        AuditFormat::Table | AuditFormat::Wide => doc_table(&screen(), style),
        AuditFormat::Json => {
            doc_json(&audit_doc(audit, groups.as_ref())).map_err(Failure::unexpected)?
        }
        AuditFormat::Csv => {
            let text = match &groups {
                Some(groups) => {
                    let doc = groups_doc(groups, audit.totals.currency);
                    doc_csv(&doc).map_err(Failure::unexpected)
                }
                None => wanted.facts.csv(audit, &args.export),
            };
            args.export.marked(text?)
        }
        AuditFormat::Markdown => doc_markdown(&screen()),
        AuditFormat::Html => doc_html(&screen()),
        AuditFormat::Openmetrics => audit_openmetrics(audit),
        AuditFormat::Focus => {
            let text = wanted.facts.focus(audit, wanted.hours_per_month)?;
            args.export.marked(text)
        }
        AuditFormat::Xlsx => return Ok(Rendered::Workbook(wanted.facts.workbook(audit)?)),
    };
    Ok(Rendered::Text(text))
}

/// A document before it is written.
enum Rendered {
    Text(String),
    Workbook(Vec<u8>),
}

/// The name of a format whose documents are complete by contract.
fn complete(format: AuditFormat) -> Option<&'static str> {
    match format {
        AuditFormat::Table | AuditFormat::Wide | AuditFormat::Markdown => None,
        AuditFormat::Json => Some("json"),
        AuditFormat::Csv => Some("csv"),
        AuditFormat::Html => Some("html"),
        AuditFormat::Focus => Some("focus"),
        AuditFormat::Openmetrics => Some("openmetrics"),
        AuditFormat::Xlsx => Some("xlsx"),
    }
}

/// What is asked of the document beside its format.
struct Wanted<'a> {
    args: &'a AuditArgs,
    facts: Facts,
    /// For what a page draws by day.
    days: Option<DayFacts>,
    view: View,
    keys: Option<GroupingKeys>,
    hours_per_month: Decimal,
}

/// Workloads that a bill cannot show, because their cost is not known.
fn left_out_of_bill(audit: &Audit) -> Option<String> {
    let unpriced =
        audit.workloads.iter().filter(|workload| workload.workload.monthly_cost().is_none());
    let number = unpriced.count() as u64;
    (number > 0).then(|| {
        format!(
            "warning: {} from the document\nhint: `gpucost audit` lists missing prices in \
             its data gaps",
            counted(number, "unpriced workload omitted", "unpriced workloads omitted")
        )
    })
}

/// All instances, and the running ones without any GPU signal.
pub(super) fn seen(audit: &Audit) -> (usize, usize) {
    let instances = audit.workloads.iter().map(|audited| audited.workload.instances.len()).sum();
    let unmeasured = audit
        .workloads
        .iter()
        .filter(|audited| audited.workload.key.running)
        .flat_map(|audited| &audited.workload.usage)
        .filter(|usage| usage.signal.is_none())
        .count();
    (instances, unmeasured)
}
