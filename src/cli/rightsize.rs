//! `gpucost rightsize`: for the fleet, or for one type.

use super::exit::{ExitCode, Failure};
use super::planning::Planning;
use super::rightsize_flags::{OneType, RightsizeArgs};
use super::scope::invocation;
use super::view_args::{ViewFlags, check_known};
use super::{Io, audit as audit_command, estate, known_prices, output};
use crate::analysis::{Sized, Sizing, audit as audited, audit_types};
use crate::domain::Risk;
use crate::report::text::counted;
use crate::report::{RowFacts, Sizings, SortKey, View, rightsize_doc};
use crate::savings::Today;

pub(super) fn run(args: &RightsizeArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let planning = Planning::of_estate(&args.estate, args.format, &[], io)?;
    let accepted = audit_command::risk(args.risk, &planning.settings, io)?;
    match &args.one.instance_type {
        Some(name) => one_type(args, name, &planning, accepted, io),
        None => fleet(args, &planning, accepted, io),
    }
}

fn fleet(
    args: &RightsizeArgs,
    planning: &Planning<'_>,
    accepted: Risk,
    io: &mut Io<'_>,
) -> Result<ExitCode, Failure> {
    let flags =
        ViewFlags { rows: &args.rows, verdicts: Some(&args.verdicts), types: &[], sort: None };
    planning.check_rows(|format| flags.refuse(format))?;
    let settings = &planning.settings;
    let estate = estate::estate(&args.estate, settings, io)?;
    let policy = &settings.policy;
    let mut audit = audit_types(&estate, policy, accepted);
    // The plan of an audit may be one of a lower risk, where that costs less.
    let planned = audited(&estate, policy, accepted).workloads;
    for (workload, planned) in audit.workloads.iter_mut().zip(planned) {
        workload.actions = planned.actions;
    }
    let workloads = audit.workloads.iter();
    let sizings = Sizings {
        accepted,
        workloads: workloads.map(|workload| Sizing::of(workload, policy)).collect(),
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
    let view = View { sort: view.sort.or(Some(SortKey::Savings)), ..view };
    let (shown, _) = view.order(&rows);
    let doc = rightsize_doc(&sizings, &shown, &invocation(&args.estate, args.risk));
    let priced = (audit.prices.oldest_seen_on(), audit.window.end);
    planning.print_rows(&doc, view.limit, priced, io)?;
    let seen = audit_command::seen(&audit);
    let code = output::close("sized", seen, &audit.gaps, &args.estate, io);
    Ok(code)
}

fn one_type(
    args: &RightsizeArgs,
    name: &str,
    planning: &Planning<'_>,
    accepted: Risk,
    io: &mut Io<'_>,
) -> Result<ExitCode, Failure> {
    let policy = &planning.settings.policy;
    let book = planning.book(None, args.estate.offline, io)?;
    let prices = planning.prices(&book);
    let region = match &args.estate.aws.region {
        Some(named) => named.clone(),
        // A list of regions says where an account is asked, not where a type runs.
        None => known_prices::home_region(&planning.settings, io),
    };
    let machine = OneType::of(&args.one, name, &region, &prices, policy)?;
    let today =
        Today { shape: machine.shape, cost: &machine.cost, region: &region, activity: None };
    let sized = Sized::of(&today, machine.demand.clone(), &prices, policy, accepted);
    let accepted_quotes = sized.accepted().flat_map(|candidate| &candidate.considered.quotes);
    let quotes = accepted_quotes
        .map(|(_, quote)| quote)
        .chain(machine.cost.instances.iter().map(|today| &today.quote));
    let oldest = quotes.map(|quote| quote.seen_on).min();
    let suitable = sized.accepted().count();
    let looked_at = sized.candidates.len();
    let sizings = Sizings {
        accepted,
        workloads: vec![Sizing {
            id: machine.shape.instance_type.clone(),
            name: machine.shape.instance_type.clone(),
            region: region.clone(),
            instance_type: machine.shape.instance_type.clone(),
            instances: machine.demand.instances,
            kind: machine.demand.kind,
            monthly: Some(machine.cost.compute_monthly),
            plan: Vec::new(),
            outcome: Ok(sized),
        }],
        gaps: Vec::new(),
    };
    let doc = rightsize_doc(&sizings, &[0], &invocation(&args.estate, args.risk));
    planning.print(&doc, oldest, io.now, io)?;
    let types = counted(looked_at as u64, "type", "types");
    planning.say(&format!("{suitable} of {types} suitable"), io);
    Ok(ExitCode::Done)
}
