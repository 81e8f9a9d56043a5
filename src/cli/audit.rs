//! `gpucost audit`, with its exports for finance: its lists as CSV, FOCUS by instance and day, and a
//! workbook.

use super::args::{AuditArgs, AuditFormat, CsvTable, DocFormat, ExportArgs, OutputArgs, Rendering};
use super::choices::name_of;
use super::history::{Keeping, day_facts};
use super::known_prices::PriceAge;
use super::output::check_distinct;
use super::scope::invocation;
use super::view_args::check_known;
use super::{Failure, Io, Outcome, did_you_mean, estate, hinted, output, refusal, refused};
use crate::analysis::{
    Audit, ClaimKey, DayFacts, GroupKey, Grouping, GroupingKeys, ListPrices, Reconciliation,
    RunDays, UnitError, audit_once, charges, daily_charges, daily_unused_charges, day_costs,
    unit_costs, unused_charges,
};
use crate::config::{SettingsFile, read_rejected};
use crate::domain::{Clusters, Policy, RejectedAction, Risk, WorkUnits, counted, safe, shown};
use crate::report::{
    AuditScreen, AuditTable, Doc, RowFacts, TableStyle, View, audit_doc, audit_list,
    audit_openmetrics, audit_screen, audit_workbook, doc_xlsx, focus_csv, groups_doc,
    promises_words,
};
use crate::savings::{SkipReason, term_totals};
use crate::sources::files::read_units;
use crate::usage::Estate;
use clap::ValueEnum;
use rust_decimal::Decimal;
use std::collections::BTreeSet;
use std::path::Path;

pub(super) fn run(args: &AuditArgs, io: &mut Io<'_>) -> Outcome {
    let mut settings = estate::settings(&args.estate.out, io)?;
    settings.policy.rejected = rejected_actions(args, &settings)?;
    let format = format(args.format, &settings, io)?;
    let view = args.rows.view(Some(&args.verdicts), &args.of.types);
    // The documents of the others are complete by contract.
    let is_viewed = |format: DocFormat| format.is_table() || format == DocFormat::Markdown;
    if !matches!(format, AuditFormat::Doc(format) if is_viewed(format)) {
        args.rows.refuse(&view, &name_of(format))?;
    }
    args.export.check(format, &args.estate.out, io)?;
    let keys = grouping_keys(&args.group_by)?;
    if keys.is_some()
        && let Some(hint) = groups_elsewhere(format)
    {
        let name = name_of(format);
        return Err(refusal!("`--group-by` cannot be used with `--format {name}`"; "{hint}"));
    }
    let counted = counted_units(args.units.as_deref(), &args.estate.out)?;
    let accepted = risk(args.plan.risk, &settings, io)?;
    let age = PriceAge::of_estate(&args.estate, &settings)?;
    let asked = (&args.estate, &settings);
    let (mut estate, _) = estate::obtain(asked, true, keys.as_ref(), io)?;
    // Once, for every reader of it below.
    estate.reduce();
    let clusters = if keys.is_some() { estate.clusters.clone() } else { Clusters::default() };
    let record = args.record.as_ref();
    let keeping =
        record.map(|place| Keeping::of(place.as_ref(), &estate, asked, io)).transpose()?;
    let wanted = Wanted {
        args,
        facts: Facts::of((&args.export, format), &estate, &settings.policy),
        days: (format == AuditFormat::Doc(DocFormat::Html)).then(|| day_facts(&estate, asked, io)),
        view,
        keys,
        hours_per_month: settings.policy.hours_per_month,
    };
    let aimed = args.plan.aimed(&estate, (&settings.policy, accepted))?;
    let mut audit = aimed.unwrap_or_else(|| audit_once(estate, &settings.policy, accepted));
    price_units(&mut audit, &counted, &settings.policy)?;
    let warning = age.check(audit.prices.oldest_seen_on(), audit.window.end)?;
    let rows: Vec<RowFacts> = audit.workloads.iter().map(RowFacts::of).collect();
    check_known(&wanted.view, &rows)?;
    print((&audit, &clusters), format, &wanted, io)?;
    output::warn(warning, &args.estate.out, io);
    output::warn(rejections_in_words(&audit, &settings.policy.rejected), &args.estate.out, io);
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
    Ok(output::close("audited", seen(&audit), &audit.gaps, &args.estate, io))
}

/// How other tools group the rows of a format; absent where gpucost does.
fn groups_elsewhere(format: AuditFormat) -> Option<&'static str> {
    match format {
        AuditFormat::Focus => Some(
            "each FOCUS row is one charge with its account, region and tags, for \
             grouping in other tools; use `--format csv` for group totals",
        ),
        AuditFormat::Openmetrics => Some(
            "group in a query, such as `sum by (team) (gpucost_workload_cost_monthly)`; \
             use `--format csv` for group totals",
        ),
        AuditFormat::Doc(DocFormat::Xlsx) => {
            Some("filter or pivot the sheet Workloads; use `--format csv` for group totals")
        }
        AuditFormat::Doc(_) => None,
    }
}

/// The settings file that applies, and the format.
pub(super) fn settings<F: ValueEnum>(
    flag: Option<F>,
    out: &OutputArgs,
    io: &Io<'_>,
) -> Outcome<(SettingsFile, F)> {
    let settings = estate::settings(out, io)?;
    let format = format(flag, &settings, io)?;
    Ok((settings, format))
}

/// The format by precedence: flag, environment, file, table. Which there are
/// depends on the command.
pub(super) fn format<F: ValueEnum>(
    flag: Option<F>,
    settings: &SettingsFile,
    io: &Io<'_>,
) -> Outcome<F> {
    if let Some(format) = flag {
        return Ok(format);
    }
    let name = io.variable("GPUCOST_FORMAT").or(settings.format.as_ref());
    let name = name.map_or("table", String::as_str);
    F::from_str(name, true).map_err(|_| {
        let known = F::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let known: Vec<String> = known.map(|value| value.get_name().to_owned()).collect();
        refusal!("`{name}` is not a supported format for this command";
            "valid values: {}", known.join(", "))
    })
}

/// The accepted risk by precedence: flag, environment, file, medium.
pub(super) fn risk(flag: Option<Risk>, settings: &SettingsFile, io: &Io<'_>) -> Outcome<Risk> {
    match (flag, io.variable("GPUCOST_RISK")) {
        (Some(risk), _) => Ok(risk),
        (None, Some(name)) => Risk::from_name(name).ok_or_else(refused!(
            "invalid GPUCOST_RISK: `{name}`";
            "valid values: low, medium, high")),
        (None, None) => Ok(settings.risk.unwrap_or(Risk::Medium)),
    }
}

fn print(
    (audit, clusters): (&Audit, &Clusters),
    format: AuditFormat,
    wanted: &Wanted<'_>,
    io: &mut Io<'_>,
) -> Outcome<()> {
    let args = wanted.args;
    let mut invocation = invocation(&args.estate, args.plan.risk);
    invocation.audit.extend(args.plan.target_words());
    for names in &args.group_by {
        invocation.audit.extend(["--group-by".to_owned(), names.clone()]);
    }
    let keys = wanted.keys.as_ref();
    let groups = keys.map(|keys| Grouping::of(audit, clusters, keys));
    let view = &wanted.view;
    let style = TableStyle {
        limit: view.limit,
        ..output::style(format == AuditFormat::Doc(DocFormat::Wide), &args.estate.out, io)
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
            is_brief: format == AuditFormat::Doc(DocFormat::Table) && is_plain,
            ascii: style.ascii,
        };
        audit_screen(audit, &how)
    };
    let text = match format {
        AuditFormat::Openmetrics => audit_openmetrics(audit),
        AuditFormat::Focus => wanted.facts.focus(audit, wanted.hours_per_month)?,
        AuditFormat::Doc(format) => {
            let doc = match (format.rendering(), &groups) {
                (Rendering::Data(_), groups) => audit_doc(audit, groups.as_ref()),
                (Rendering::Rows(_), Some(groups)) => groups_doc(groups, audit.totals.currency),
                (Rendering::Rows(_), None) => wanted.facts.rows(audit, &args.export),
                (Rendering::Table | Rendering::Page(_), _) => screen(),
                (Rendering::Workbook, _) => {
                    return output::bytes(&wanted.facts.workbook(audit)?, &args.estate.out, io);
                }
            };
            output::doc_text(&doc, format, style)?
        }
    };
    output::document(&args.export.marked(text), &args.estate.out, io)
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

/// The rejected actions of the policy that a flag names; none without it.
pub(super) fn rejected_actions(
    args: &AuditArgs,
    settings: &SettingsFile,
) -> Outcome<Vec<RejectedAction>> {
    let Some(path) = &args.policy else { return Ok(Vec::new()) };
    // An interactive audit may take the place of the policy that it began with.
    let output = args.estate.out.output.as_ref();
    let named = [
        ("--policy", Some(path)),
        ("--config", settings.path.as_ref()),
        ("--from", args.estate.from.as_ref()),
        ("--save", args.estate.save.as_ref()),
        ("--output", output.filter(|_| !args.interactive)),
    ];
    check_distinct(named)?;
    read_rejected(path, &shown(path)).map_err(estate::unreadable_policy)
}

/// How many actions the plan does without, and which rejections fit no workload; absent without
/// any rejection.
fn rejections_in_words(audit: &Audit, rejected: &[RejectedAction]) -> Option<String> {
    if rejected.is_empty() {
        return None;
    }
    let skipped = audit.workloads.iter().flat_map(|workload| workload.skipped.values());
    let number = skipped.filter(|why| **why == SkipReason::Rejected).count();
    let mut text =
        format!("{} by the policy", counted(number, "action rejected", "actions rejected"));
    let ids: BTreeSet<String> =
        audit.workloads.iter().map(|workload| workload.workload.id()).collect();
    let is_unmatched = |rejection: &&RejectedAction| {
        let mut workloads = audit.workloads.iter().map(|workload| &workload.workload);
        !workloads.any(|workload| rejection.is_about(&workload.id(), &workload.name, &ids))
    };
    for rejection in rejected.iter().filter(is_unmatched) {
        text.push_str(&format!(
            "\nwarning: [[reject]] of {} matches no workload in scope: {}",
            rejection.action,
            safe(&rejection.workload)
        ));
    }
    Some(text)
}

/// The keys that were asked for, in their order; none unless the flag was given.
fn grouping_keys(names: &[String]) -> Outcome<Option<GroupingKeys>> {
    let (mut of_workloads, mut of_claims) = (Vec::new(), Vec::new());
    for name in names.iter().flat_map(|names| names.split(',')).map(str::trim) {
        match (GroupKey::from_name(name), ClaimKey::from_name(name)) {
            (Some(key), _) if !of_workloads.contains(&key) => of_workloads.push(key),
            (None, Some(key)) if !of_claims.contains(&key) => of_claims.push(key),
            (None, None) => {
                return Err(refusal!("`{name}` is not a valid key for `--group-by`";
                "valid values: {}", known_keys()));
            }
            _ => return Err(refusal!("`--group-by` lists `{name}` twice"; "list each key once")),
        }
    }
    if let (Some(of_workload), Some(of_claim)) = (of_workloads.first(), of_claims.first()) {
        return Err(refusal!("`--group-by` cannot combine `{of_workload}` with `{of_claim}`";
            "use keys of one kind: {}", known_keys()));
    }
    Ok(match (of_workloads.is_empty(), of_claims.is_empty()) {
        (true, true) => None,
        (false, _) => Some(GroupingKeys::Workloads(of_workloads)),
        (true, false) => Some(GroupingKeys::Claims(of_claims)),
    })
}

/// Both sorts of keys.
fn known_keys() -> String {
    format!(
        "{} (workloads), or {} (pods on Kubernetes nodes)",
        GroupKey::known_names(),
        ClaimKey::known_names()
    )
}

/// The units of a file, which is not replaced; none without one.
pub(super) fn counted_units(path: Option<&Path>, out: &OutputArgs) -> Outcome<Vec<WorkUnits>> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let output = out.output.as_deref();
    output::check_distinct([("--units", Some(path)), ("--output", output)])?;
    read_units(path).map_err(Failure::hinted("see docs/kpis.md for the columns"))
}

/// Prices units of work of an audit.
pub(super) fn price_units(audit: &mut Audit, units: &[WorkUnits], policy: &Policy) -> Outcome<()> {
    let costs = unit_costs(units, &audit.workloads, &audit.kpis.jobs, audit.window, policy);
    audit.kpis.unit_costs = costs.map_err(|error| hinted! { error;
        UnitError::Unknown { nearest, .. } => "{}", did_you_mean(nearest, "names and IDs are those of the audit's JSON report");
        UnitError::WindowOfJob { .. } => "leave its window empty";
    })?;
    Ok(())
}

/// The byte order mark, by which spreadsheets know UTF-8.
const BOM: char = '\u{feff}';

impl ExportArgs {
    /// Fails where a flag does not belong to the format, and where a workbook would go to a
    /// terminal.
    fn check(&self, format: AuditFormat, out: &OutputArgs, io: &Io<'_>) -> Outcome<()> {
        let is_focus = format == AuditFormat::Focus;
        let needs = |flag: &str, formats: &str, hint: &str| {
            Err(refusal!("`{flag}` works only with {formats}"; "{hint}"))
        };
        if self.csv_table.is_some() && !format.is_rows() {
            return needs("--csv-table", "`--format csv`", "add `--format csv`");
        }
        if self.by_day && !is_focus {
            return needs("--by-day", "`--format focus`", "add `--format focus`");
        }
        if self.bom && !format.is_rows() && !is_focus {
            let formats = "`--format csv` and `--format focus`";
            return needs("--bom", formats, "add `--format csv`, or omit `--bom`");
        }
        if format == AuditFormat::Doc(DocFormat::Xlsx) {
            output::refuse_binary(out, io)?;
        }
        Ok(())
    }

    /// What the plan promises to pay, where the list that is printed says nothing of it.
    fn unlisted_promises(&self, format: AuditFormat, audit: &Audit) -> Option<String> {
        let is_listed = self.csv_table == Some(CsvTable::Purchases);
        let words = promises_words(&term_totals(&audit.purchases));
        let words = words.filter(|_| format.is_rows() && !is_listed)?;
        Some(format!("promises: {words}; `--csv-table purchases` lists them"))
    }

    /// A text, with a mark where one was asked for.
    fn marked(&self, text: String) -> String {
        if self.bom { format!("{BOM}{text}") } else { text }
    }
}

/// What exports need of an estate that its audit does not keep.
struct Facts {
    days: Option<RunDays>,
    prices: Option<ListPrices>,
}

impl Facts {
    /// Of an estate that is about to be audited.
    fn of((args, format): (&ExportArgs, AuditFormat), estate: &Estate, policy: &Policy) -> Self {
        let is_reconciled = format == AuditFormat::Doc(DocFormat::Xlsx)
            || args.csv_table == Some(CsvTable::Reconciliation);
        Self {
            days: args.by_day.then(|| RunDays::of(estate)),
            prices: is_reconciled.then(|| ListPrices::of(estate, policy)),
        }
    }

    fn reconciliation(&self, audit: &Audit) -> Reconciliation {
        Reconciliation::of(audit, &self.prices.clone().unwrap_or_default())
    }

    /// The list that rows were asked for.
    fn rows(&self, audit: &Audit, args: &ExportArgs) -> Doc {
        let list = |table: AuditTable<'_>| audit_list(audit, table);
        match args.csv_table {
            None | Some(CsvTable::Workloads) => audit_doc(audit, None),
            Some(CsvTable::Actions) => list(AuditTable::Actions),
            Some(CsvTable::Purchases) => list(AuditTable::Purchases),
            Some(CsvTable::Findings) => list(AuditTable::Findings),
            Some(CsvTable::Gaps) => list(AuditTable::Gaps),
            Some(CsvTable::Prices) => list(AuditTable::Prices),
            Some(CsvTable::Reconciliation) => {
                list(AuditTable::Reconciliation(&self.reconciliation(audit)))
            }
        }
    }

    /// FOCUS, by workload or by instance and day.
    fn focus(&self, audit: &Audit, hours_per_month: Decimal) -> Outcome<String> {
        let (used, unused) = match &self.days {
            Some(days) => (
                daily_charges(audit, days, hours_per_month),
                daily_unused_charges(audit, hours_per_month),
            ),
            None => (charges(audit, hours_per_month), unused_charges(audit, hours_per_month)),
        };
        focus_csv(&used, &unused).map_err(Failure::unexpected)
    }

    /// The workbook.
    fn workbook(&self, audit: &Audit) -> Outcome<Vec<u8>> {
        let doc = audit_workbook(audit, &self.reconciliation(audit));
        doc_xlsx(&doc, audit.as_of).map_err(Failure::unexpected)
    }
}
