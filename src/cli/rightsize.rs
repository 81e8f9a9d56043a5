//! `gpucost rightsize`: for the fleet, or for one type.

use super::args::DocFormat;
use super::exit::{ExitCode, Failure};
use super::price_age::PriceAge;
use super::rightsize_flags::{OneType, RightsizeArgs};
use super::scope::invocation;
use super::view_args::{ViewFlags, check_known};
use super::{Io, audit as audit_command, estate, output, planner, pricing};
use crate::analysis::{Sized, Sizing, audit as audited, audit_types};
use crate::catalog::Prices;
use crate::config::SettingsFile;
use crate::domain::{Money, PriceQuote, Risk};
use crate::report::text::counted;
use crate::report::{RowFacts, Sizings, SortKey, TableStyle, View, rightsize_doc};
use crate::savings::Today;

pub(super) fn run(args: &RightsizeArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let settings = estate::settings(&args.estate.out, io)?;
    let format = audit_command::format(args.format, &settings, io)?;
    let accepted = audit_command::risk(args.risk, &settings, io)?;
    match &args.one.instance_type {
        Some(name) => one_type(args, name, &settings, (format, accepted), io),
        None => fleet(args, &settings, (format, accepted), io),
    }
}

fn fleet(
    args: &RightsizeArgs,
    settings: &SettingsFile,
    (format, accepted): (DocFormat, Risk),
    io: &mut Io<'_>,
) -> Result<ExitCode, Failure> {
    let flags = ViewFlags {
        rows: &args.rows,
        verdicts: Some(&args.verdicts),
        types: &[],
        sort: None,
    };
    if !format.is_table() {
        flags.refuse(&format.name())?;
    }
    let age = PriceAge::of_estate(&args.estate, settings)?;
    let estate = estate::estate(&args.estate, settings, io)?;
    let policy = &settings.policy;
    let mut audit = audit_types(&estate, policy, accepted);
    // The plan of an audit may be one of a lower risk, where that costs less.
    let planned = audited(&estate, policy, accepted).workloads;
    for (workload, planned) in audit.workloads.iter_mut().zip(planned) {
        workload.actions = planned.actions;
    }
    let warning = age.check(audit.prices.oldest_seen_on(), audit.window.end)?;
    let workloads = audit.workloads.iter();
    let sizings = Sizings {
        accepted,
        workloads: workloads.map(|one| Sizing::of(one, policy)).collect(),
        gaps: audit.gaps.clone(),
    };
    let rows: Vec<RowFacts> = sizings
        .workloads
        .iter()
        .zip(&audit.workloads)
        .map(|(sizing, audited)| RowFacts {
            cost: sizing.monthly,
            monthly_savings: sizing.best().and_then(|best| best.monthly_savings),
            ..RowFacts::of(audited)
        })
        .collect();
    let view = flags.view();
    check_known(&view, &rows)?;
    let view = View {
        sort: view.sort.or(Some(SortKey::Savings)),
        ..view
    };
    let (shown, _) = view.order(&rows);
    print((&sizings, &shown, view.limit), format, args, io)?;
    output::warn(warning, &args.estate.out, io);
    let (instances, unmeasured) = audit_command::seen(&audit);
    Ok(output::close(
        "sized",
        instances,
        unmeasured,
        &audit.gaps,
        &args.estate,
        io,
    ))
}

fn one_type(
    args: &RightsizeArgs,
    name: &str,
    settings: &SettingsFile,
    (format, accepted): (DocFormat, Risk),
    io: &mut Io<'_>,
) -> Result<ExitCode, Failure> {
    let age = PriceAge::of(args.estate.max_price_age.as_deref(), settings)?;
    let policy = &settings.policy;
    let book = pricing::book(args.estate.offline, settings, io)?;
    let prices = Prices::new(&book, &policy.discount_percent);
    let named = args.estate.aws.region.as_ref();
    let usual = settings.region.as_ref().or(io.variable("GPUCOST_REGION"));
    // A list of regions says where an account is asked, not where a type runs.
    let usual = usual.filter(|name| !name.contains(',') && *name != "all");
    let region = named
        .or(usual)
        .map_or(pricing::HOME_REGION, String::as_str)
        .to_owned();
    let one = OneType::of(&args.one, name, &region, &prices, policy)?;
    let today = Today {
        shape: one.shape,
        cost: &one.cost,
        region: &region,
        activity: None,
    };
    let sized = Sized::of(&today, one.demand.clone(), &prices, policy, accepted);
    let accepted_quotes = sized.accepted().flat_map(|found| &found.considered.quotes);
    let quotes = accepted_quotes
        .map(|(_, quote)| quote)
        .chain(one.cost.instances.iter().map(|today| &today.quote));
    let warning = age.check(quotes.map(|quote: &PriceQuote| quote.seen_on).min(), io.now)?;
    let found = sized.accepted().count();
    let looked_at = sized.candidates.len();
    let monthly: Money = one.cost.compute_monthly;
    let sizings = Sizings {
        accepted,
        workloads: vec![Sizing {
            id: one.shape.instance_type.clone(),
            name: one.shape.instance_type.clone(),
            region: region.clone(),
            instance_type: one.shape.instance_type.clone(),
            instances: one.demand.instances,
            kind: one.demand.kind,
            monthly: Some(monthly),
            plan: Vec::new(),
            outcome: Ok(sized),
        }],
        gaps: Vec::new(),
    };
    print((&sizings, &[0], None), format, args, io)?;
    output::warn(warning, &args.estate.out, io);
    output::say(
        &format!(
            "{found} of {} suitable",
            counted(looked_at as u64, "type", "types")
        ),
        &args.estate.out,
        io,
    );
    Ok(ExitCode::Done)
}

fn print(
    (sizings, shown, limit): (&Sizings, &[usize], Option<usize>),
    format: DocFormat,
    args: &RightsizeArgs,
    io: &mut Io<'_>,
) -> Result<ExitCode, Failure> {
    let out = &args.estate.out;
    let style = TableStyle {
        limit,
        ..output::style(format == DocFormat::Wide, out, io)
    };
    let doc = rightsize_doc(sizings, shown, &invocation(&args.estate, args.risk));
    planner::print_in(&doc, format, style, out, io)
}
