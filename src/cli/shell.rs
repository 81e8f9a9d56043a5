//! Commands that print something about the program itself.

use super::exit::{ExitCode, Failure};
use super::organization::named_role;
use super::policy_args::IamPolicyArgs;
use super::{Io, command};
use crate::sources::aws::{Trusted, history_policy, iam_policy, organization_policy};
use crate::sources::kubernetes;
use crate::sources::store::{BucketPlace, Place};
use clap_complete::Shell;

/// The account of AWS's own examples.
const EXAMPLE_ACCOUNT: &str = "111122223333";

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
    if !args.org {
        return print(iam_policy().as_bytes(), io);
    }
    let named = args.account.as_deref().unwrap_or(EXAMPLE_ACCOUNT);
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

pub(super) fn man(io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command())
        .render(&mut page)
        .map_err(|error| Failure::write("the manual page", error))?;
    print(&page, io)
}

fn print(text: &[u8], io: &mut Io<'_>) -> Result<ExitCode, Failure> {
    io.stdout
        .write_all(text)
        .and_then(|()| io.stdout.flush())
        .map_err(|error| Failure::write("to stdout", error))?;
    Ok(ExitCode::Done)
}
