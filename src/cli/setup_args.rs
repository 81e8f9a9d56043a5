//! Flags of `gpucost setup`.

use super::args::{EstateArgs, file_place, place};
use super::aws_args::{external_id, role};
use super::flags;
use super::schemas::SchemaName;
use crate::sources::aws::Trusted;
use crate::sources::store::Place;
use clap::{Subcommand, ValueHint};
use clap_complete::Shell;
use std::path::PathBuf;

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

    /// `gpucost setup metrics`.
    pub(super) struct MetricsSetupArgs {
        /// Print Helm values for exporters that a Prometheus server scrapes, without reading
        /// anything
        prometheus: bool = arg(long, conflicts_with_all = ["from", "demo", "from_kubectl", "prometheus_url"], help_heading = "Prometheus");
        estate: EstateArgs = command(flatten);
    }

    /// `gpucost setup man`.
    pub(super) struct ManArgs {
        /// Command that the page is about, such as `history record` [default: the program]
        command: Vec<String> = arg(value_name = "COMMAND", conflicts_with = "out");
        /// Directory to write one page per command to
        out: Option<PathBuf> = arg(long, value_name = "DIR", value_hint = ValueHint::DirPath);
    }
}
