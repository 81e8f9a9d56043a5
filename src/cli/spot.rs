//! `gpucost spot`.

use super::args::{DocFormat, EstateArgs, RISKS, kind, time};
use super::planning::{Planning, estate_flags};
use super::view_args::LimitArgs;
use super::{
    ExitCode, Io, Outcome, audit, estate, flags, known_prices, output, parsers, refuse_if,
};
use crate::analysis::{SpotJob, assess_fleet, assess_type, audit as audited, planned_spot};
use crate::domain::{Risk, WorkloadKind};
use crate::report::{spot_fleet_doc, spot_type_doc};
use crate::savings::Checkpointing;
use jiff::SignedDuration;

/// A length of time, or nothing for the best one.
type Interval = Option<SignedDuration>;

parsers! {
    fn interval(text) -> Interval = if text == "auto" { Some(None) } else { time(text).ok().map(Some) }, "expected a duration such as 60s, 5m or 1h, or auto";
}

flags! {
    /// `gpucost spot`.
    pub(super) struct SpotArgs {
        /// Evaluate one instance type without calling a cloud; `--region` sets its region
        instance_type: Option<String> = arg(long = "type", value_name = "TYPE", help_heading = "One type", conflicts_with_all = estate_flags().chain(["limit", "all"]));
        /// Kind of job: training, serving, batch, evaluation, development
        kind: WorkloadKind = arg(long, value_name = "KIND", value_parser = kind, requires = "instance_type", conflicts_with_all = ["demo", "from"], default_value = "unknown", hide_default_value = true, help_heading = "One type");
        /// Treat the job as safe to interrupt and restart
        restartable: bool = arg(long, requires = "instance_type", conflicts_with_all = ["demo", "from"], help_heading = "One type");
        /// Number of instances that stop together when one is interrupted
        nodes: u32 = arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000), requires = "instance_type", conflicts_with_all = ["demo", "from"], default_value = "1", help_heading = "One type");
        /// Operating system
        os: String = arg(long, value_name = "OS", requires = "instance_type", conflicts_with_all = ["demo", "from"], default_value = "linux", help_heading = "One type");
        /// Evaluate today's fleet instead of what the plan of the audit leaves, and advise nothing
        today: bool = arg(long, conflicts_with = "instance_type");
        /// Job time that each checkpoint takes, with `--type` or `--today`
        checkpoint_cost: SignedDuration = arg(long, value_name = "TIME", value_parser = time, default_value = "60s");
        /// Time from an interruption until work resumes, with `--type` or `--today`
        restart_cost: SignedDuration = arg(long, value_name = "TIME", value_parser = time, default_value = "5m");
        /// Time between checkpoints, with `--type` or `--today`; `auto` for the optimal interval
        checkpoint_interval: Interval = arg(long, value_name = "TIME|auto", value_parser = interval, default_value = "auto");
        /// Maximum accepted risk level [default: medium]
        risk: Option<Risk> = arg(long, value_parser = RISKS);
        /// Output format [default: table]
        format: Option<DocFormat> = arg(long, value_enum, help_heading = "Output");
        limits: LimitArgs = command(flatten);
        estate: EstateArgs = command(flatten);
    }
}

pub(super) fn run(args: &SpotArgs, io: &mut Io<'_>) -> Outcome {
    let planning = Planning::of_estate(&args.estate, args.format, &[], io)?;
    match &args.instance_type {
        Some(name) => one_type(name, args, &planning, io),
        None => fleet(args, &planning, io),
    }
}

fn checkpointing(args: &SpotArgs) -> Checkpointing {
    Checkpointing {
        cost: args.checkpoint_cost,
        restart: args.restart_cost,
        interval: args.checkpoint_interval,
    }
}

fn one_type(name: &str, args: &SpotArgs, planning: &Planning<'_>, io: &mut Io<'_>) -> Outcome {
    let settings = &planning.settings;
    let accepted = audit::risk(args.risk, settings, io)?;
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
    planning.print(&spot_type_doc(&assessment), None, (assessment.seen_on().min(), io.now), io)?;
    if assessment.figures.is_none() {
        let reason = assessment.eligibility.err().unwrap_or_default();
        let hint = "`gpucost pricing TYPE --region all` shows the regions with a price";
        return Ok(output::complain(&reason, hint, ExitCode::Nothing, io));
    }
    Ok(ExitCode::Done)
}

fn fleet(args: &SpotArgs, planning: &Planning<'_>, io: &mut Io<'_>) -> Outcome {
    let accepted = audit::risk(args.risk, &planning.settings, io)?;
    planning.check_rows(|format| args.limits.refuse(format))?;
    let checkpointing = checkpointing(args);
    refuse_if!(!args.today && checkpointing != Checkpointing::default();
        "the plan of an audit assumes its own checkpoints";
        "pass `--today` to evaluate today's fleet with yours, or `--type`");
    let estate = estate::read(&args.estate, &planning.settings, io)?;
    let policy = &planning.settings.policy;
    let fleet = if args.today {
        assess_fleet(&estate, policy, accepted, checkpointing)
    } else {
        planned_spot(&audited(&estate, policy, accepted), &estate, policy)
    };
    let priced = (fleet.oldest_seen_on(), estate.window.end);
    planning.print(&spot_fleet_doc(&fleet), args.limits.most(), priced, io)?;
    let instances = fleet.assessments.iter().map(|row| row.instances).sum();
    Ok(output::close("analyzed", (instances, 0), &fleet.gaps, &args.estate, io))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_above_zero() {
        assert_eq!(time("60s"), Ok(SignedDuration::from_secs(60)));
        assert_eq!(time("5m"), Ok(SignedDuration::from_secs(300)));
        for bad in ["", "s", "0s", "-1s", "60", "1.5h", "soon", "auto", "99999999999999999999s"] {
            assert!(time(bad).is_err(), "{bad}");
        }
        assert_eq!(interval("auto"), Ok(None));
        assert_eq!(interval("30m"), Ok(Some(SignedDuration::from_mins(30))));
        assert!(interval("never").is_err());
    }
}
