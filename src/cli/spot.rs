//! `gpucost spot`.

use super::exit::{ExitCode, Failure};
use super::planning::Planning;
use super::spot_args::SpotArgs;
use super::{Io, audit, estate, known_prices, output};
use crate::analysis::{SpotJob, assess_fleet, assess_type, audit as audited, planned_spot};
use crate::domain::Risk;
use crate::report::{spot_fleet_doc, spot_type_doc};
use crate::savings::Checkpointing;

pub(super) fn run(args: &SpotArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let planning = Planning::of_estate(&args.estate, args.format, &[], io)?;
    let accepted = audit::risk(args.risk, &planning.settings, io)?;
    match &args.instance_type {
        Some(name) => one_type(name, args, &planning, accepted, io),
        None => fleet(args, &planning, accepted, io),
    }
}

fn checkpointing(args: &SpotArgs) -> Checkpointing {
    Checkpointing {
        cost: args.checkpoint_cost,
        restart: args.restart_cost,
        interval: args.checkpoint_interval.0,
    }
}

fn one_type(
    name: &str,
    args: &SpotArgs,
    planning: &Planning<'_>,
    accepted: Risk,
    io: &mut Io<'_>,
) -> Result<ExitCode, Failure> {
    let settings = &planning.settings;
    let book = planning.book(None, args.estate.offline, io)?;
    let prices = planning.prices(&book);
    let region = args.estate.aws.region.as_ref();
    let region =
        known_prices::only_region(region, "`--type` requires a single region", settings, io)?;
    let operating_system = known_prices::operating_system(&args.os)?;
    let key = known_prices::key_of(name, &region, operating_system, &prices)?;
    let job = SpotJob {
        kind: args.kind,
        restartable: args.restartable,
        nodes: args.nodes,
        checkpointing: checkpointing(args),
        accepted,
    };
    let assessment = assess_type(&key, job, &prices, &settings.policy);
    planning.print(&spot_type_doc(&assessment), assessment.seen_on().min(), io.now, io)?;
    if assessment.figures.is_none() {
        let reason = assessment.eligibility.err().unwrap_or_default();
        output::complain(
            &reason,
            "`gpucost pricing TYPE --region all` shows the regions with a price",
            io,
        );
        return Ok(ExitCode::Nothing);
    }
    Ok(ExitCode::Done)
}

fn fleet(
    args: &SpotArgs,
    planning: &Planning<'_>,
    accepted: Risk,
    io: &mut Io<'_>,
) -> Result<ExitCode, Failure> {
    planning.check_rows(|format| args.limits.refuse(format))?;
    let checkpointing = checkpointing(args);
    if !args.today && checkpointing != Checkpointing::default() {
        return Err(Failure::input("the plan of an audit assumes its own checkpoints")
            .with_hint("pass `--today` to evaluate today's fleet with yours, or `--type`"));
    }
    let estate = estate::estate(&args.estate, &planning.settings, io)?;
    let policy = &planning.settings.policy;
    let fleet = if args.today {
        assess_fleet(&estate, policy, accepted, checkpointing)
    } else {
        planned_spot(&audited(&estate, policy, accepted), &estate, policy)
    };
    let priced = (fleet.oldest_seen_on(), estate.window.end);
    planning.print_rows(&spot_fleet_doc(&fleet), args.limits.most(), priced, io)?;
    let instances = fleet.assessments.iter().map(|row| row.instances).sum();
    let code = output::close("analyzed", (instances, 0), &fleet.gaps, &args.estate, io);
    Ok(code)
}
