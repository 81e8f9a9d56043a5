//! Flags of `gpucost iam-policy`.

use super::args::{file_place, place};
use super::organization::{external_id, role};
use crate::sources::aws::Trusted;
use crate::sources::store::Place;
use clap::Args;

/// `gpucost iam-policy`.
#[derive(Debug, Args)]
pub(super) struct IamPolicyArgs {
    /// Also print the role of each account, its trust, and a template that creates it
    #[arg(long)]
    pub org: bool,
    /// Account or ARN that assumes the role; required by `--org`
    #[arg(long, value_name = "ID|ARN", value_parser = trusted, requires = "org")]
    pub account: Option<String>,
    /// Role to create in each account [default: GpucostReadOnly]
    #[arg(long, value_name = "NAME|ARN", value_parser = role, requires = "org")]
    pub role: Option<String>,
    /// External ID that the role requires
    #[arg(long, value_name = "ID", value_parser = external_id, requires = "org")]
    pub external_id: Option<String>,
    /// Print instead what keeping a history in s3://BUCKET/PREFIX takes
    #[arg(long, value_name = "URL", value_parser = place(), conflicts_with = "org")]
    pub history: Option<Place>,
    /// Print instead what reading a bill in s3://BUCKET/KEY takes
    #[arg(long, value_name = "URL", value_parser = file_place(),
        conflicts_with_all = ["org", "history"])]
    pub bill: Option<Place>,
}

fn trusted(text: &str) -> Result<String, String> {
    match Trusted::named(text) {
        Some(_) => Ok(text.to_owned()),
        None => Err("expected an account ID of 12 digits, or the ARN of a role or user".to_owned()),
    }
}
