//! `gpucost metrics` and `gpucost setup metrics`.

use super::args::{EstateArgs, MetricsArgs};
use super::scope::invocation;
use super::setup_args::MetricsSetupArgs;
use super::{ExitCode, Failure, Io, Outcome, audit as audit_command, estate, output};
use crate::analysis::{Audit, audit};
use crate::config::SettingsFile;
use crate::domain::Risk;
use crate::report::{AgentSetup, agent_setup, helm_values, metrics_doc};
use crate::usage::Estate;

pub(super) fn run(args: &MetricsArgs, io: &mut Io<'_>) -> Outcome {
    let (settings, estate, audit) = measure(&args.estate, io)?;
    let format = audit_command::format(args.format, &settings, io)?;
    let doc = metrics_doc(&audit, estate.period_seconds, &invocation(&args.estate, None));
    output::print_rows(&doc, format, None, &args.estate.out, io)?;
    Ok(output::close("measured", audit_command::seen(&audit), &audit.gaps, &args.estate, io))
}

fn measure(args: &EstateArgs, io: &mut Io<'_>) -> Outcome<(SettingsFile, Estate, Audit)> {
    let settings = estate::settings(&args.out, io)?;
    let estate = estate::read(args, &settings, io)?;
    let audit = audit(&estate, &settings.policy, Risk::Low);
    Ok((settings, estate, audit))
}

pub(super) fn setup(args: &MetricsSetupArgs, io: &mut Io<'_>) -> Outcome {
    let (prometheus, args) = (args.prometheus, &args.estate);
    if prometheus {
        output::document(helm_values(), &args.out, io)?;
        return Ok(ExitCode::Done);
    }
    let (settings, _, audit) = measure(args, io)?;
    let namespace = estate::agent_namespace(args, &settings, io);
    let setup = agent_setup(&audit, &namespace).map_err(Failure::unexpected)?;
    output::document(&setup.configuration, &args.out, io)?;
    output::say(&instructions(&setup, &audit), &args.out, io);
    Ok(output::close("measured", audit_command::seen(&audit), &audit.gaps, args, io))
}

/// What to do with the configuration, and where.
fn instructions(setup: &AgentSetup, audit: &Audit) -> String {
    let mut text = String::from(
        "save it as /opt/aws/amazon-cloudwatch-agent/etc/gpu.json and run\n  \
         amazon-cloudwatch-agent-ctl -a append-config -m ec2 -s -c file:/opt/aws/amazon-cloudwatch-agent/etc/gpu.json",
    );
    let mut section = |title: &str, lines: &[String]| {
        text.push_str(&format!("\n{title}"));
        for line in lines {
            text.push_str(&format!("\n  {line}"));
        }
    };
    if !setup.lacking.is_empty() {
        section("on the NVIDIA GPU instances that report no GPU utilization:", &setup.lacking);
    } else if audit.totals.gpus > 0 {
        section("no running NVIDIA GPU instance in scope is missing GPU utilization", &[]);
    }
    if !setup.beyond.is_empty() {
        section("not applicable to:", &setup.beyond);
    }
    text
}
