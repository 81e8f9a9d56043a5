//! What is said of single instances: `gpucost inventory`, `gpucost metrics` and `gpucost setup
//! metrics`.

use super::args::{DocFormat, EstateArgs};
use super::planning::Planning;
use super::scope::invocation;
use super::view_args::{INVENTORY_KEYS, RowArgs, TypeArgs, check_known};
use super::{ExitCode, Failure, Io, Outcome, audit as audit_command, estate, flags, output};
use crate::analysis::{Audit, audit, list_instances};
use crate::config::SettingsFile;
use crate::domain::{GapSubject, Risk};
use crate::report::{
    AgentSetup, SortKey, View, agent_setup, helm_values, inventory_doc, inventory_rows, metrics_doc,
};
use crate::usage::Estate;

flags! {
    /// `gpucost inventory`.
    pub(super) struct InventoryArgs {
        estate: EstateArgs = command(flatten);
        rows: RowArgs = command(flatten);
        of: TypeArgs = command(flatten);
        /// Sort the instances
        sort: Option<SortKey> = arg(long, value_parser = INVENTORY_KEYS, value_name = "KEY", help_heading = "Rows of the tables");
        /// Output format [default: table]
        format: Option<DocFormat> = arg(long, value_enum, help_heading = "Output");
    }

    /// `gpucost metrics`.
    pub(super) struct MetricsArgs {
        estate: EstateArgs = command(flatten);
        /// Output format [default: table]
        format: Option<DocFormat> = arg(long, value_enum, help_heading = "Output");
    }

    /// `gpucost setup metrics`.
    pub(super) struct MetricsSetupArgs {
        /// Print Helm values for exporters that a Prometheus server scrapes, without reading
        /// anything
        prometheus: bool = arg(long, conflicts_with_all = ["from", "demo", "from_kubectl", "prometheus_url"], help_heading = "Prometheus");
        estate: EstateArgs = command(flatten);
    }
}

pub(super) fn metrics(args: &MetricsArgs, io: &mut Io<'_>) -> Outcome {
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

pub(super) fn setup_metrics(args: &MetricsSetupArgs, io: &mut Io<'_>) -> Outcome {
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

pub(super) fn inventory(args: &InventoryArgs, io: &mut Io<'_>) -> Outcome {
    let planning = Planning::of_estate(&args.estate, args.format, &[], io)?;
    let settings = &planning.settings;
    let view = View { sort: args.sort, ..args.rows.view(None, &args.of.types) };
    planning.check_rows(|format| args.rows.refuse(&view, format))?;
    let (mut estate, _) = estate::obtain((&args.estate, settings), false, None, io)?;
    // CloudWatch is not asked, and its absence is not a gap.
    estate.gaps.retain(|gap| gap.what != GapSubject::Metrics);
    let listing = list_instances(&estate, &settings.policy);
    let rows = inventory_rows(&listing);
    check_known(&view, &rows)?;
    let (shown, _) = view.order(&rows);
    let doc = inventory_doc(&listing, &shown);
    planning.print(&doc, view.limit, (listing.oldest_seen_on(), estate.as_of), io)?;
    Ok(output::close("listed", (listing.instances.len(), 0), &listing.gaps, &args.estate, io))
}
