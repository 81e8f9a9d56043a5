//! `gpucost metrics` and `gpucost metrics setup`.

use super::Io;
use super::args::{EstateArgs, Format, MetricsAction, MetricsArgs};
use super::exit::{ExitCode, Failure};
use super::{audit as audit_command, estate, output};
use crate::analysis::{Audit, audit};
use crate::config::SettingsFile;
use crate::domain::{Estate, Risk};
use crate::report::{agent_configuration, metrics_csv, metrics_json, metrics_table};

pub(super) fn run(args: &MetricsArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    if let Some(MetricsAction::Setup(setup)) = &args.action {
        return self::setup(&setup.estate, io);
    }
    let (_, estate, audit) = measure(&args.estate, io)?;
    let settings = estate::settings(&args.estate.out, io)?;
    let internal = |error: anyhow::Error| Failure::new(ExitCode::Unexpected, error);
    let text = match audit_command::format(args.format, &settings, io)? {
        Format::Table => metrics_table(&audit, false),
        Format::Wide => metrics_table(&audit, true),
        Format::Json => {
            metrics_json(&audit, estate.period_seconds).map_err(|error| internal(error.into()))?
        }
        Format::Csv => metrics_csv(&audit).map_err(|error| internal(error.into()))?,
    };
    output::document(&text, &args.estate.out, io)?;
    let (instances, unmeasured) = audit_command::seen(&audit);
    Ok(output::close(
        "measured",
        instances,
        unmeasured,
        &audit.gaps,
        &args.estate,
        io,
    ))
}

fn measure(args: &EstateArgs, io: &mut Io<'_>) -> Result<(SettingsFile, Estate, Audit), Failure> {
    let settings = estate::settings(&args.out, io)?;
    let estate = estate::estate(args, &settings, io)?;
    let audit = audit(&estate, &settings.policy, Risk::Low);
    Ok((settings, estate, audit))
}

fn setup(args: &EstateArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let (settings, _, audit) = measure(args, io)?;
    let namespace = estate::agent_namespace(args, &settings, io);
    let (configuration, silent) = agent_configuration(&audit, &namespace)
        .map_err(|error| Failure::new(ExitCode::Unexpected, error))?;
    output::document(&configuration, &args.out, io)?;
    if !args.out.quiet {
        let mut text = String::from(
            "save it as /opt/aws/amazon-cloudwatch-agent/etc/gpu.json and run\n  \
             amazon-cloudwatch-agent-ctl -a append-config -m ec2 -s -c file:/opt/aws/amazon-cloudwatch-agent/etc/gpu.json\n",
        );
        if audit.totals.gpus > 0 && silent.is_empty() {
            text.push_str("every running instance in the scope reports already\n");
        } else if !silent.is_empty() {
            text.push_str("on the instances that report no GPU signal:\n");
            for line in silent {
                text.push_str(&format!("  {line}\n"));
            }
        }
        // A closed stderr does not change what stdout got.
        let _ = io.stderr.write_all(text.as_bytes());
    }
    let (instances, unmeasured) = audit_command::seen(&audit);
    Ok(output::close(
        "measured",
        instances,
        unmeasured,
        &audit.gaps,
        args,
        io,
    ))
}
