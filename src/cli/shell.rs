//! Commands that print something about the program itself.

use super::exit::{ExitCode, Failure};
use super::organization::named_role;
use super::policy_args::IamPolicyArgs;
use super::{Io, command};
use crate::domain::shown;
use crate::sources::aws::{Trusted, bill_policy, history_policy, iam_policy, organization_policy};
use crate::sources::kubernetes;
use crate::sources::store::{BucketPlace, Place};
use clap::{Args, ValueHint};
use clap_complete::Shell;
use std::fs;
use std::path::PathBuf;

/// `gpucost man`.
#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// Command that the page is about, such as `history record` [default: the program]
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    pub command: Vec<String>,
    /// Directory to write one page per command to
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
}

pub(super) fn policies(args: &IamPolicyArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    match &args.history {
        Some(Place::Bucket(BucketPlace { bucket, prefix })) => {
            return print(history_policy(bucket, prefix).as_bytes(), io);
        }
        Some(Place::Folder(_)) => {
            return Err(
                Failure::input("a history in a directory takes no permissions of AWS")
                    .with_hint("pass the URL of a bucket, such as `--history s3://bucket/gpucost`"),
            );
        }
        None => {}
    }
    match &args.bill {
        Some(Place::Bucket(BucketPlace { bucket, prefix })) => {
            return print(bill_policy(bucket, prefix).as_bytes(), io);
        }
        Some(Place::Folder(_)) => {
            return Err(
                Failure::input("a bill in a file takes no permissions of AWS")
                    .with_hint("pass the URL of a bucket, such as `--bill s3://bucket/export`"),
            );
        }
        None => {}
    }
    if !args.org {
        return print(iam_policy().as_bytes(), io);
    }
    // No default: what is printed is pasted, and lets whoever it names into every account.
    let Some(named) = args.account.as_deref() else {
        return Err(
            Failure::input("`--org` needs the account that assumes the role").with_hint(
                "run `gpucost iam-policy --org --account ID`, with the account ID or the ARN of \
                 who runs gpucost; `aws sts get-caller-identity` prints both",
            ),
        );
    };
    let Some(trusted) = Trusted::named(named) else {
        return Err(Failure::input(format!("`{named}` is not a principal")));
    };
    let role = named_role(args.role.as_deref());
    let text = organization_policy(&trusted, &role, args.external_id.as_deref());
    print(text.as_bytes(), io)
}

pub(super) fn kubernetes_rbac(io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    print(kubernetes::cluster_role().as_bytes(), io)
}

pub(super) fn completions(shell: Shell, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command(), "gpucost", &mut text);
    print(&text, io)
}

pub(super) fn man(args: &ManArgs, io: &mut Io<'_>) -> Result<ExitCode, Failure> {
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
    print(&page, io)
}

/// The program, or a command of it by its words.
fn named(words: &[String]) -> Result<clap::Command, Failure> {
    let mut found = command();
    if words.is_empty() {
        return Ok(found);
    }
    // It names commands after those that they belong to.
    found.build();
    for word in words {
        let inner = found.find_subcommand(word).cloned();
        found = inner.ok_or_else(|| {
            Failure::input(format!("`{}` is not a command", words.join(" ")))
                .with_hint("`gpucost --help` lists the commands")
        })?;
    }
    Ok(found)
}

fn print(text: &[u8], io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    io.stdout
        .write_all(text)
        .and_then(|()| io.stdout.flush())
        .map_err(|error| Failure::write("to stdout", error))?;
    Ok(ExitCode::Done)
}
