//! `gpucost setup`: what gpucost takes and provides on an account, a cluster and a shell.

use super::aws_args::named_role;
use super::setup_args::{IamArgs, ManArgs, SetupAction, SetupArgs};
use super::{ExitCode, Failure, Io, Outcome, command, metrics, output, refusal, refused, schemas};
use crate::domain::shown;
use crate::sources::aws::{Trusted, bill_policy, history_policy, iam_policy, organization_policy};
use crate::sources::kubernetes;
use crate::sources::store::{BucketPlace, Place};
use clap_complete::Shell;
use std::fs;

pub(super) fn run(args: &SetupArgs, io: &mut Io<'_>) -> Outcome {
    match &args.action {
        SetupAction::Iam(args) => iam(args, io),
        SetupAction::Kubernetes => output::print(kubernetes::cluster_role().as_bytes(), io),
        SetupAction::Metrics(args) => metrics::setup(args, io),
        SetupAction::Schema { name } => schemas::print(*name, io),
        SetupAction::Completions { shell } => completions(*shell, io),
        SetupAction::Man(args) => man(args, io),
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
    let Some(named) = args.account.as_deref() else {
        return Err(refusal!("`--org` needs the account that assumes the role";
            "run `gpucost setup iam --org --account ID`, with the account ID or the ARN of who \
             runs gpucost; `aws sts get-caller-identity` prints both"));
    };
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

fn completions(shell: Shell, io: &mut Io<'_>) -> Outcome {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command(), "gpucost", &mut text);
    output::print(&text, io)
}

fn man(args: &ManArgs, io: &mut Io<'_>) -> Outcome {
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
fn named(words: &[String]) -> Outcome<clap::Command> {
    let mut command = command();
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
