//! `gpucost setup`: what gpucost takes and provides on an account, a cluster and a shell, and the
//! JSON schemas of `docs/schema`, so that editors and programs have those of the version that runs.

use super::args::{file_place, place};
use super::aws_args::{external_id, named_role, role};
use super::choices::listed;
use super::instances::{MetricsSetupArgs, setup_metrics};
use super::{ExitCode, Failure, Io, Outcome, flags, output, refusal, refused};
use crate::config::{POLICY_FILE, policy_schema, settings_schema};
use crate::domain::shown;
use crate::report::{
    audit_schema, diff_schema, doctor_schema, explain_schema, fix_schema, gate_schema,
    inventory_schema, metrics_schema, planners::answer_schema, price_status_schema, pricing_schema,
    profile_schema, reserved_schema, rightsize_schema, schema_document, spot_schema,
    terraform_schema,
};
use crate::sources::aws::{Trusted, bill_policy, history_policy, iam_policy, organization_policy};
use crate::sources::files::{commitments_schema, estate_schema};
use crate::sources::kubernetes;
use crate::sources::store::{BucketPlace, Place};
use clap::{Command, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use std::fs;
use std::path::PathBuf;

/// Prints what is asked for, of the program too.
pub(super) fn run(args: &SetupArgs, program: Command, io: &mut Io<'_>) -> Outcome {
    match &args.action {
        SetupAction::Iam(args) => iam(args, io),
        SetupAction::Kubernetes => output::print(kubernetes::cluster_role().as_bytes(), io),
        SetupAction::Metrics(args) => setup_metrics(args, io),
        SetupAction::Schema { name } => {
            let list = || Ok(listed(SchemaName::value_variants().iter()));
            let text = name.map_or_else(list, SchemaName::text).map_err(Failure::unexpected)?;
            output::print(text.as_bytes(), io)
        }
        SetupAction::Completions { shell } => completions(*shell, program, io),
        SetupAction::Man(args) => man(args, program, io),
    }
}

fn iam(args: &IamArgs, io: &mut Io<'_>) -> Outcome {
    if let Some(place) = &args.history {
        let what = ("a history in a directory", "--history s3://bucket/gpucost");
        let BucketPlace { bucket, prefix } = bucket_of(place, what)?;
        return output::print(history_policy(bucket, prefix).as_bytes(), io);
    }
    if let Some(place) = &args.bill {
        let what = ("a bill in a file", "--bill s3://bucket/export");
        let BucketPlace { bucket, prefix } = bucket_of(place, what)?;
        return output::print(bill_policy(bucket, prefix).as_bytes(), io);
    }
    if !args.org {
        return output::print(iam_policy().as_bytes(), io);
    }
    // No default: what is printed is pasted, and lets whoever it names into every account.
    let named = args.account.as_deref().ok_or_else(refused!(
        "`--org` needs the account that assumes the role";
        "run `gpucost setup iam --org --account ID`, with the account ID or the ARN of who \
         runs gpucost; `aws sts get-caller-identity` prints both"))?;
    let Some(trusted) = Trusted::named(named) else {
        return Err(Failure::input(format!("`{named}` is not a principal")));
    };
    let role = named_role(args.role.as_deref());
    output::print(organization_policy(&trusted, &role, args.external_id.as_deref()).as_bytes(), io)
}

/// A bucket: what is on this host takes no permissions.
fn bucket_of<'a>(place: &'a Place, (what, flag): (&str, &str)) -> Outcome<&'a BucketPlace> {
    match place {
        Place::Bucket(place) => Ok(place),
        Place::Folder(_) => Err(refusal!("{what} takes no permissions of AWS";
            "pass the URL of a bucket, such as `{flag}`")),
    }
}

fn completions(shell: Shell, mut program: Command, io: &mut Io<'_>) -> Outcome {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut program, "gpucost", &mut text);
    output::print(&text, io)
}

fn man(args: &ManArgs, program: Command, io: &mut Io<'_>) -> Outcome {
    if let Some(folder) = &args.out {
        return fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(program, folder))
            .map(|()| ExitCode::Done)
            .map_err(|error| Failure::write(&format!("manual pages into {}", shown(folder)), error))
            .map_err(|failure| failure.with_hint("choose a writable directory"));
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(named(&args.command, program)?)
        .render(&mut page)
        .map_err(|error| Failure::write("the manual page", error))?;
    output::print(&page, io)
}

/// The program, or a command of it by its words.
fn named(words: &[String], mut command: Command) -> Outcome<Command> {
    if words.is_empty() {
        return Ok(command);
    }
    // It names commands after those that they belong to.
    command.build();
    for word in words {
        command = command.find_subcommand(word).cloned().ok_or_else(refused!(
            "`{}` is not a command", words.join(" ");
            "`gpucost --help` lists the commands"))?;
    }
    Ok(command)
}

/// What to print.
#[derive(Debug, Subcommand)]
pub(super) enum SetupAction {
    /// Print the read-only IAM policy that gpucost needs, as JSON
    Iam(IamArgs),
    /// Print the read-only ClusterRole that `--kubernetes` needs, as YAML
    Kubernetes,
    /// Print the CloudWatch agent configuration for instances without GPU metrics, or Helm
    /// values for exporters
    Metrics(Box<MetricsSetupArgs>),
    /// Print the JSON schema of a document or a file that gpucost reads or writes
    ///
    /// Without a name, lists all of them.
    Schema {
        /// Name of the schema
        #[arg(value_enum)]
        name: Option<SchemaName>,
    },
    /// Print shell completions
    Completions {
        /// Shell to print completions for
        shell: Shell,
    },
    /// Print the manual page of a command, or write those of all commands
    Man(ManArgs),
}

flags! {
    /// `gpucost setup`.
    pub(super) struct SetupArgs {
        action: SetupAction = command(subcommand);
    }

    /// `gpucost setup iam`.
    pub(super) struct IamArgs {
        /// Also print the role of each account, its trust, and a template that creates it
        org: bool = arg(long);
        /// Account or ARN that assumes the role; required by `--org`
        account: Option<String> = arg(long, value_name = "ID|ARN", value_parser = |text: &str| Trusted::named(text).map(|_| text.to_owned()).ok_or("expected an account ID of 12 digits, or the ARN of a role or user"), requires = "org");
        /// Role to create in each account [default: GpucostReadOnly]
        role: Option<String> = arg(long, value_name = "NAME|ARN", value_parser = role, requires = "org");
        /// External ID that the role requires
        external_id: Option<String> = arg(long, value_name = "ID", value_parser = external_id, requires = "org");
        /// Print instead what keeping a history in s3://BUCKET/PREFIX takes
        history: Option<Place> = arg(long, value_name = "URL", value_parser = place(), conflicts_with = "org");
        /// Print instead what reading a bill in s3://BUCKET/KEY takes
        bill: Option<Place> = arg(long, value_name = "URL", value_parser = file_place(), conflicts_with_all = ["org", "history"]);
    }

    /// `gpucost setup man`.
    pub(super) struct ManArgs {
        /// Command that the page is about, such as `history record` [default: the program]
        command: Vec<String> = arg(value_name = "COMMAND", conflicts_with = "out");
        /// Directory to write one page per command to
        out: Option<PathBuf> = arg(long, value_name = "DIR", value_hint = ValueHint::DirPath);
    }
}

/// Declares what has a schema, a line each: its name, what it is, and the schema as a JSON document.
macro_rules! schemas {
    ($($(#[$about:meta])* $name:ident = $text:expr;)*) => {
        /// A document or a file that has a schema.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
        pub(super) enum SchemaName { $($(#[$about])* $name,)* }

        impl SchemaName {
            /// The schema as a JSON document.
            pub(super) fn text(self) -> Result<String, serde_json::Error> {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

schemas! {
    /// Answers of planners, key figures, bills and histories as JSON
    Answer = answer_schema();
    /// Report of `gpucost audit --format json`, which is also a baseline and one side of a diff
    Audit = audit_schema();
    /// Report of `gpucost check --format json`
    Check = gate_schema();
    /// Commitments file, of `--commitments`
    Commitments = schema_document(
        "commitments", "Commitments file of gpucost", "A file for --commitments, which holds what an \
         estate holds under commitments; docs/estate.md says what each key means. Amounts are decimal \
         numbers as text.", commitments_schema());
    /// Comparison of two audits or of two profiled runs as JSON
    Diff = diff_schema();
    /// Checks of `gpucost doctor --format json`
    Doctor = doctor_schema();
    /// Estate file, which `--save` writes and `--from` reads
    Estate = schema_document(
        "estate", "Estate file of gpucost", "All the input of one audit, as --save records it and \
         --from reads it; docs/estate.md says how to write one. Only a few keys are required. Amounts \
         of money are decimal numbers as text.", estate_schema());
    /// Derivations of figures, with `--format json`
    Explain = explain_schema();
    /// Steps of `gpucost fix --format json`
    Fix = fix_schema();
    /// Inventory of instances, with `--format json`
    Inventory = inventory_schema();
    /// GPU utilization per instance, with `--format json`
    Metrics = metrics_schema();
    /// Policy file, gpucost-policy.toml
    Policy = schema_document(
        "policy", POLICY_FILE, "What `gpucost check` demands. A rule that is not there demands nothing; \
         docs/check.md says what each key means.", policy_schema());
    /// Prices of `gpucost pricing --format json`
    Pricing = pricing_schema();
    /// Ages of prices, of `gpucost pricing status --format json`
    PricingStatus = price_status_schema();
    /// Summary of `gpucost profile --format json`, also one side of a diff
    Profile = profile_schema();
    /// Commitments against on-demand prices, with `--format json`
    Reserved = reserved_schema();
    /// Types that workloads could move to, with `--format json`
    Rightsize = rightsize_schema();
    /// Settings file, gpucost.toml
    Settings = schema_document(
        "settings", "gpucost.toml",
        "Settings of gpucost; docs/configuration.md says what each key means.", settings_schema());
    /// Spot net of interruptions, with `--format json`
    Spot = spot_schema();
    /// Report of `gpucost check --terraform-plan FILE --format json`
    TerraformCheck = terraform_schema();
}
