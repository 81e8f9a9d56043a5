//! `gpucost spot`.

use super::Io;
use super::args::DocFormat;
use super::exit::{ExitCode, Failure};
use super::price_age::PriceAge;
use super::spot_args::SpotArgs;
use super::{audit, estate, output, planner, pricing};
use crate::analysis::{
    Question, SpotJob, assess_fleet, assess_type, audit as audited, planned_spot,
};
use crate::catalog::Prices;
use crate::config::SettingsFile;
use crate::domain::{PriceKey, Risk};
use crate::report::{TableStyle, spot_fleet_doc, spot_type_doc};
use crate::savings::Checkpointing;

pub(super) fn run(args: &SpotArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let settings = estate::settings(&args.estate.out, io)?;
    let format = audit::format(args.format, &settings, io)?;
    let accepted = audit::risk(args.risk, &settings, io)?;
    let age = PriceAge::of_estate(&args.estate, &settings)?;
    match &args.instance_type {
        Some(name) => one_type(name, args, &settings, format, accepted, &age, io),
        None => fleet(args, &settings, format, accepted, &age, io),
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
    settings: &SettingsFile,
    format: DocFormat,
    accepted: Risk,
    age: &PriceAge,
    io: &mut Io<'_>,
) -> Result<ExitCode, Failure> {
    let out = &args.estate.out;
    let policy = &settings.policy;
    let book = pricing::book(args.estate.offline, settings, io)?;
    let prices = Prices::new(&book, &policy.discount_percent);
    let key = key(name, args, settings, &prices, io)?;
    let job = SpotJob {
        kind: args.kind,
        restartable: args.restartable,
        nodes: args.nodes,
        checkpointing: checkpointing(args),
        accepted,
    };
    let found = assess_type(&key, job, &prices, policy);
    let warning = age.check(found.seen_on().min(), io.now)?;
    planner::print(&spot_type_doc(&found), format, out, io)?;
    output::warn(warning, out, io);
    if found.figures.is_none() {
        let reason = found.eligibility.err().unwrap_or_default();
        output::complain(
            &reason,
            "`gpucost pricing TYPE --region all` shows the regions with a price",
            io,
        );
        return Ok(ExitCode::Nothing);
    }
    Ok(ExitCode::Done)
}

/// What the prices of a type are asked for under.
fn key(
    name: &str,
    args: &SpotArgs,
    settings: &SettingsFile,
    prices: &Prices<'_>,
    io: &Io<'_>,
) -> Result<PriceKey, Failure> {
    let region = match &args.estate.aws.region {
        Some(region) => region.trim().to_owned(),
        None => pricing::home_region(settings, io),
    };
    if region == "all" || region.contains([',', '*']) {
        return Err(Failure::input("`--type` requires a single region")
            .with_hint("pass one, such as `--region us-east-1`"));
    }
    let question = Question {
        operating_system: pricing::operating_system(&args.os)?,
        ..Question::of_aws(vec![name.to_owned()], vec![region.clone()])
    };
    pricing::refuse_unknown(&question, prices)?;
    Ok(PriceKey {
        operating_system: question.operating_system,
        ..PriceKey::linux_on_demand(&region, &name.to_lowercase())
    })
}

fn fleet(
    args: &SpotArgs,
    settings: &SettingsFile,
    format: DocFormat,
    accepted: Risk,
    age: &PriceAge,
    io: &mut Io<'_>,
) -> Result<ExitCode, Failure> {
    let out = &args.estate.out;
    if !format.is_table() {
        args.limits.refuse(&format.name())?;
    }
    let checkpointing = checkpointing(args);
    if !args.today && checkpointing != Checkpointing::default() {
        return Err(
            Failure::input("the plan of an audit assumes its own checkpoints")
                .with_hint("pass `--today` to evaluate today's fleet with yours, or `--type`"),
        );
    }
    let estate = estate::estate(&args.estate, settings, io)?;
    let policy = &settings.policy;
    let found = if args.today {
        assess_fleet(&estate, policy, accepted, checkpointing)
    } else {
        planned_spot(&audited(&estate, policy, accepted), &estate, policy)
    };
    let warning = age.check(found.oldest_seen_on(), estate.window.end)?;
    let style = TableStyle {
        limit: args.limits.most(),
        ..output::style(format == DocFormat::Wide, out, io)
    };
    planner::print_in(&spot_fleet_doc(&found), format, style, out, io)?;
    output::warn(warning, out, io);
    let instances = found.assessments.iter().map(|one| one.instances).sum();
    Ok(output::close(
        "analyzed",
        instances,
        0,
        &found.gaps,
        &args.estate,
        io,
    ))
}
