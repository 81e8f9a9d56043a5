//! `gpucost setup`: what gpucost takes and provides on an account, a cluster and a shell.

use super::exit::{ExitCode, Failure};
use super::organization::named_role;
use super::setup_args::{IamArgs, ManArgs, SetupAction};
use super::{Io, command, metrics, output, schemas};
use crate::domain::shown;
use crate::sources::aws::{Trusted, bill_policy, history_policy, iam_policy, organization_policy};
use crate::sources::kubernetes;
use crate::sources::store::{BucketPlace, Place};
use clap_complete::Shell;
use std::fs;

pub(super) fn run(action: &SetupAction, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    match action {
        SetupAction::Iam(args) => iam(args, io),
        SetupAction::Kubernetes => output::print(kubernetes::cluster_role().as_bytes(), io),
        SetupAction::Metrics(args) => metrics::setup(args, io),
        SetupAction::Schema { name } => schemas::print(*name, io),
        SetupAction::Completions { shell } => completions(*shell, io),
        SetupAction::Man(args) => man(args, io),
    }
}

fn iam(args: &IamArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    match &args.history {
        Some(Place::Bucket(BucketPlace { bucket, prefix })) => {
            return output::print(history_policy(bucket, prefix).as_bytes(), io);
        }
        Some(Place::Folder(_)) => {
            return Err(Failure::input("a history in a directory takes no permissions of AWS")
                .with_hint("pass the URL of a bucket, such as `--history s3://bucket/gpucost`"));
        }
        None => {}
    }
    match &args.bill {
        Some(Place::Bucket(BucketPlace { bucket, prefix })) => {
            return output::print(bill_policy(bucket, prefix).as_bytes(), io);
        }
        Some(Place::Folder(_)) => {
            return Err(Failure::input("a bill in a file takes no permissions of AWS")
                .with_hint("pass the URL of a bucket, such as `--bill s3://bucket/export`"));
        }
        None => {}
    }
    if !args.org {
        return output::print(iam_policy().as_bytes(), io);
    }
    // No default: what is printed is pasted, and lets whoever it names into every account.
    let Some(named) = args.account.as_deref() else {
        return Err(Failure::input("`--org` needs the account that assumes the role").with_hint(
            "run `gpucost setup iam --org --account ID`, with the account ID or the ARN of \
                 who runs gpucost; `aws sts get-caller-identity` prints both",
        ));
    };
    let Some(trusted) = Trusted::named(named) else {
        return Err(Failure::input(format!("`{named}` is not a principal")));
    };
    let role = named_role(args.role.as_deref());
    let text = organization_policy(&trusted, &role, args.external_id.as_deref());
    output::print(text.as_bytes(), io)
}

fn completions(shell: Shell, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command(), "gpucost", &mut text);
    output::print(&text, io)
}

fn man(args: &ManArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    if let Some(folder) = &args.out {
        return fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(command(), folder))
            .map(|()| ExitCode::Done)
            .map_err(|error| Failure::write(&format!("manual pages into {}", shown(folder)), error))
            .map_err(|failure| failure.with_hint("choose a writable directory"));
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(named(&args.command)?)
        .render(&mut page)
        .map_err(|error| Failure::write("the manual page", error))?;
    output::print(&page, io)
}

/// The program, or a command of it by its words.
fn named(words: &[String]) -> Result<clap::Command, Failure> {
    let mut command = command();
    if words.is_empty() {
        return Ok(command);
    }
    // It names commands after those that they belong to.
    command.build();
    for word in words {
        let inner = command.find_subcommand(word).cloned();
        command = inner.ok_or_else(|| {
            Failure::input(format!("`{}` is not a command", words.join(" ")))
                .with_hint("`gpucost --help` lists the commands")
        })?;
    }
    Ok(command)
}
