//! `gpucost doctor`: what the audit with the same flags rests on, each thing asked for once.

mod cloud;
mod sources;

pub(super) use sources::DRIVER_NODE;

use super::args::{DocFormat, EstateArgs, MetricsSource};
use super::choices::flags;
use super::exit::{ExitCode, Outcome, refusal};
use super::{Io, audit, live, output};
use crate::report::{Check, CheckArea, CheckStatus, doctor_doc};
use sources::{ClusterProbe, ServerProbe, not_asked};

flags! {
    /// `gpucost doctor`.
    pub(super) struct DoctorArgs {
        estate: EstateArgs = command(flatten);
        /// Output format [default: table]
        format: Option<DocFormat> = arg(long, value_enum, help_heading = "Output");
    }
}

pub(super) fn run(args: &DoctorArgs, io: &mut Io<'_>) -> Outcome {
    refuse_recorded(&args.estate)?;
    let (settings, format) = audit::settings(args.format, &args.estate.out, io)?;
    let asked = &args.estate;
    let account = cloud::AccountProbe::of((asked, &settings), io)?;
    let servers = ServerProbe::of(asked, &settings, io)?;
    let cluster = ClusterProbe::of(&asked.kubernetes, io)?;
    let without_cluster = not_asked(io);
    let access = asked.aws.access(&settings, io);
    let now = io.now;
    let has_servers = !servers.servers.is_empty();
    let mut checks = live::run(&asked.out, io, async |progress| {
        let mut checks = Vec::new();
        progress("Prometheus");
        checks.extend(servers.checks(now).await);
        match account {
            Some(account) => checks.extend(account.checks(progress).await),
            None => checks.push(Check::skipped(
                CheckArea::Credentials,
                "AWS",
                "not read with `--kubernetes`; add `--with-aws`",
            )),
        }
        match cluster {
            Some(cluster) => checks.extend(cluster.checks(progress).await),
            None => checks.push(without_cluster),
        }
        progress("history");
        if let Some(place) = asked.history.clone() {
            checks.push(sources::history(place, access, now).await);
        }
        checks
    })?;
    if has_servers && asked.metrics_source == MetricsSource::Auto {
        one_source_is_enough(&mut checks);
    }
    checks.push(sources::host());
    checks.push(sources::prices(asked, &settings, io)?);
    checks.sort_by_key(|check| check.area);
    if asked.redact {
        redact(&mut checks);
    }
    output::print_rows(&doctor_doc(&checks), format, Some(usize::MAX), &asked.out, io)?;
    Ok(close(&checks, asked.strict, io))
}

/// Files are checked when they are read.
fn refuse_recorded(args: &EstateArgs) -> Outcome<()> {
    let given = [
        ("--from", args.from.is_some()),
        ("--demo", args.demo.is_some()),
        ("--from-kubectl", !args.kubernetes.from_kubectl.is_empty()),
        ("--save", args.save.is_some()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => Err(refusal!(
            "`gpucost doctor` checks what is read live; `{flag}` cannot be used with it";
            "run `gpucost doctor` with the other flags of the audit")),
        None => Ok(()),
    }
}

/// Where several sources may have the use of GPUs, one that has it makes up for those that do
/// not.
fn one_source_is_enough(checks: &mut [Check]) {
    let of_metrics = |check: &Check| check.area == CheckArea::Metrics;
    if checks.iter().any(|check| of_metrics(check) && check.is_fine()) {
        let missing = checks
            .iter_mut()
            .filter(|check| of_metrics(check) && check.status == CheckStatus::Missing);
        missing.for_each(|check| check.is_needed = false);
    }
}

/// What takes the place of a fix that names something.
const MASKED_FIX: &str = "without `--redact`, the fix is shown here";

/// What a service says may name accounts and people, as may the profile of credentials that are
/// missing, and a place that a fix is about.
fn redact(checks: &mut [Check]) {
    for check in checks {
        if matches!(check.area, CheckArea::Credentials | CheckArea::Accounts) && check.is_fine() {
            check.detail.clear();
        } else if matches!(check.status, CheckStatus::Denied | CheckStatus::Failed)
            || (check.area == CheckArea::Credentials && !check.is_fine())
        {
            "the reason is masked".clone_into(&mut check.detail);
        }
        if matches!(check.area, CheckArea::Accounts | CheckArea::Metrics | CheckArea::History) {
            "masked".clone_into(&mut check.name);
        }
        if check.area == CheckArea::History
            && let Some(fix) = &mut check.fix
        {
            MASKED_FIX.clone_into(fix);
        }
    }
}

/// What is said at the end, and the exit code.
fn close(checks: &[Check], is_strict: bool, io: &mut Io<'_>) -> ExitCode {
    let counts = |check: &&Check| !check.is_fine() && (check.is_needed || is_strict);
    let is_lost = |area: CheckArea| {
        let mut own = checks.iter().filter(|check| check.area == area).peekable();
        own.peek().is_some() && own.all(|check| !check.is_fine())
    };
    if checks.iter().filter(counts).count() == 0 {
        return ExitCode::Done;
    }
    let areas = [
        (CheckArea::Credentials, "the AWS account cannot be read"),
        (CheckArea::Regions, "no region can be read"),
        (CheckArea::Kubernetes, "the cluster cannot be read"),
    ];
    let (error, code) = match areas.into_iter().find(|(area, _)| is_lost(*area)) {
        Some((_, error)) => (error, ExitCode::Unexpected),
        None => ("an audit would be incomplete", ExitCode::Incomplete),
    };
    output::complain(error, "each check that is not ok has its fix", code, io)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_profile_and_no_place_is_shown_where_names_are_masked() {
        let mut checks = [
            Check::not(
                CheckArea::Credentials,
                "AWS",
                CheckStatus::Missing,
                "no AWS credentials were found in profile `acme`",
                "set AWS_PROFILE",
            ),
            Check::not(
                CheckArea::History,
                "s3://acme/team",
                CheckStatus::Failed,
                "no bucket acme",
                "run `gpucost history verify s3://acme/team`",
            ),
            Check::ok(CheckArea::Credentials, "AWS", "account acme"),
        ];
        redact(&mut checks);
        let text = format!("{checks:?}");
        assert!(!text.contains("acme"), "{text}");
        assert_eq!(checks[0].fix.as_deref(), Some("set AWS_PROFILE"));
        assert_eq!(checks[1].fix.as_deref(), Some(MASKED_FIX));
    }
}
