//! `gpucost doctor`: what the audit with the same flags rests on, each thing asked for once. Here, an
//! AWS account: who asks, which regions answer, which actions are allowed, and whether the agent's
//! metrics are there.

mod sources;

pub(super) use sources::DRIVER_NODE;

use super::args::{DocFormat, EstateArgs, MetricsSource};
use super::choices::flags;
use super::estate::EstateRequest;
use super::exit::{ExitCode, Outcome, refusal};
use super::{Io, audit, estate, live, output};
use crate::domain::GapSubject;
use crate::report::{Check, CheckArea, CheckStatus, doctor_doc};
use crate::sources::aws::{
    self, ACTIONS, AwsOptions, AwsService, NeededBy, ORG_ACTIONS, Organization, Permission, Session,
};
use futures_util::{StreamExt, stream};
use sources::{ClusterProbe, ServerProbe, failed, not_asked};
use std::time::Duration;

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
    let account = AccountProbe::of((asked, &settings), io)?;
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

/// Questions at once; the services throttle far beyond.
const AT_ONCE: usize = 16;
/// How long throttling is waited out: a person waits for the answer.
const MOST_PATIENCE: Duration = Duration::from_secs(10);
/// Roles of all accounts of an organization.
const ACCOUNTS_WITHIN: Duration = Duration::from_secs(120);
const IDENTITY: &str = "sts:GetCallerIdentity";
const REGIONS: &str = "ec2:DescribeRegions";
const INSTANCES: &str = "ec2:DescribeInstances";
const LIST_ACCOUNTS: &str = "organizations:ListAccounts";
const ASSUME: &str = "sts:AssumeRole";

/// What is asked of which account.
struct AccountProbe {
    options: AwsOptions,
    regions: Option<Vec<String>>,
    namespace: String,
    organization: Option<Organization>,
    reads_metrics: bool,
    reads_prices: bool,
}

impl AccountProbe {
    /// Of the flags of an audit; absent where it reads no account.
    fn of((args, settings): EstateRequest<'_>, io: &Io<'_>) -> Outcome<Option<Self>> {
        if args.kubernetes.is_alone() {
            return Ok(None);
        }
        let options = args.aws.options(settings, io);
        let source = args.metrics_source;
        Ok(Some(Self {
            regions: estate::asked_regions(&args.aws, settings, io)?,
            namespace: estate::agent_namespace(args, settings, io),
            organization: args.organization.organization()?,
            reads_metrics: matches!(source, MetricsSource::Auto | MetricsSource::Cloudwatch),
            reads_prices: !args.offline,
            options: AwsOptions {
                services: args.services.clone(),
                asks_opinions: args.organization.aws_opinion,
                deadline: options.deadline.min(MOST_PATIENCE),
                ..options
            },
        }))
    }

    async fn checks(&self, progress: &dyn Fn(&str)) -> Vec<Check> {
        progress("credentials");
        let session = match Session::connect(&self.options).await {
            Ok(session) => session,
            Err(error) => return vec![failed(CheckArea::Credentials, "AWS", &error)],
        };
        let mut checks = vec![match session.account().await {
            Ok(id) => Check::ok(CheckArea::Credentials, "AWS", format!("account {id}")),
            Err(error) => failed(CheckArea::Credentials, "AWS", &error),
        }];
        if !checks.iter().all(Check::is_fine) {
            return checks;
        }
        progress("regions");
        let (regions, readable) = self.regions(&session).await;
        checks.extend(regions);
        let home = session.home_region().to_owned();
        let asked = readable.first().unwrap_or(&home);
        progress(&format!("{} permissions", ACTIONS.len()));
        checks.extend(self.permissions(&session, asked).await);
        if self.reads_metrics {
            progress("metrics");
            checks.push(self.agent(&session, &readable).await);
        }
        if let Some(organization) = &self.organization {
            checks.extend(self.accounts(organization, progress).await);
        }
        checks
    }

    /// The regions that are read, each asked whether it would list instances; and those that
    /// would.
    async fn regions(&self, session: &Session) -> (Vec<Check>, Vec<String>) {
        let mut checks = Vec::new();
        let enabled = session.enabled_regions().await;
        let names = match (&self.regions, &enabled) {
            (Some(named), _) => named.clone(),
            (None, Ok(enabled)) => enabled.clone(),
            (None, Err(_)) => vec![session.home_region().to_owned()],
        };
        let known = enabled.as_ref().map(Vec::as_slice).unwrap_or_default();
        let (open, closed): (Vec<String>, Vec<String>) =
            names.into_iter().partition(|name| enabled.is_err() || known.contains(name));
        checks.extend(closed.iter().map(|name| {
            let fix = "enable the region for the account, correct its name, or leave it out of \
                       `--region`";
            Check::not(CheckArea::Regions, name, CheckStatus::Missing, "not enabled here", fix)
        }));
        let at = self.options.as_of;
        let answers = stream::iter(open).map(|name| async move {
            let permission = aws::permission(session, &name, INSTANCES, at).await;
            (name, permission)
        });
        let answers: Vec<(String, Permission)> = answers.buffered(AT_ONCE).collect().await;
        let mut readable = Vec::new();
        for (name, permission) in answers {
            checks.push(permitted(CheckArea::Regions, &name, &permission));
            if permission == Permission::Allowed {
                readable.push(name);
            }
        }
        (checks, readable)
    }

    /// Each action of the policy, asked in one region: policies rarely differ by region.
    async fn permissions(&self, session: &Session, region: &str) -> Vec<Check> {
        let at = self.options.as_of;
        let of_callers = self.organization.as_ref().map(|_| ORG_ACTIONS).unwrap_or_default().iter();
        // Who calls was found out, and which role is assumed in which account is another check.
        let every_action = ACTIONS.iter().chain(of_callers).copied();
        let actions = every_action.filter(|action| *action != IDENTITY && *action != ASSUME);
        let answers = stream::iter(actions).map(|action| async move {
            (action, aws::permission(session, region, action, at).await)
        });
        let answers: Vec<(&str, Permission)> = answers.buffered(AT_ONCE).collect().await;
        let checks = answers.into_iter().map(|(action, permission)| {
            self.weighed(action, permitted(CheckArea::Permissions, action, &permission))
        });
        checks.collect()
    }

    /// A check of an action, with what it is needed for.
    fn weighed(&self, action: &str, check: Check) -> Check {
        let services = &self.options.services;
        let is_read = |service: AwsService| match services.as_slice() {
            [] => service == AwsService::Ec2,
            named => named.contains(&service),
        };
        let is_listed = self.organization.as_ref().is_some_and(|known| known.is_listed);
        let (is_needed, flag) = match NeededBy::of(action) {
            NeededBy::EveryAudit => {
                let (is_needed, by) = match action.split_once(':') {
                    // Those who named the accounts do not have them listed.
                    _ if action == LIST_ACCOUNTS => (is_listed, "--org"),
                    // All enabled regions are read where none are named.
                    _ if action == REGIONS => (self.regions.is_none(), ""),
                    Some(("cloudwatch", _)) => (self.reads_metrics, "CloudWatch"),
                    Some(("pricing", _)) => (self.reads_prices, "live prices"),
                    _ => (true, ""),
                };
                (is_needed, by.to_owned())
            }
            NeededBy::Service(service) => (is_read(service), format!("--services {service}")),
            NeededBy::Opinion => (self.options.asks_opinions, "--aws-opinion".to_owned()),
        };
        if is_needed || check.is_fine() {
            return Check { is_needed, ..check };
        }
        let detail = match flag.as_str() {
            "" => check.detail.clone(),
            flag => format!("needed for {flag} alone; {}", check.detail),
        };
        Check { detail, ..check }.unneeded()
    }

    /// Whether the CloudWatch agent publishes GPU metrics anywhere.
    async fn agent(&self, session: &Session, regions: &[String]) -> Check {
        let area = CheckArea::Metrics;
        let name = format!("CloudWatch namespace {}", self.namespace);
        let asked = stream::iter(regions).map(|region| async move {
            (region, aws::gpu_series(&session.in_region(region), &self.namespace).await)
        });
        let answers: Vec<_> = asked.buffered(AT_ONCE).collect().await;
        let mut with_series = Vec::new();
        let mut error = None;
        for (region, answer) in answers {
            match answer {
                Ok((0, false)) => {}
                Ok((series, has_more)) => {
                    let more = if has_more { "more than " } else { "" };
                    with_series.push(format!("{region} {more}{series}"));
                }
                Err(refused) => error = error.or(Some(refused)),
            }
        }
        match (with_series.as_slice(), error) {
            ([], Some(error)) => failed(area, &name, &error),
            ([], None) => Check::not(
                area,
                name,
                CheckStatus::Missing,
                "no instance reports GPU utilization",
                "`gpucost setup metrics` prints the CloudWatch agent configuration; or name a \
                 Prometheus server with `--prometheus-url`",
            ),
            (with_series, _) => {
                let detail = format!("series of GPU utilization: {}", with_series.join(", "));
                Check::ok(area, name, detail)
            }
        }
    }

    /// The accounts of an organization, each through its role.
    async fn accounts(&self, organization: &Organization, progress: &dyn Fn(&str)) -> Vec<Check> {
        let area = CheckArea::Accounts;
        let regions = self.regions.as_deref();
        let connected = aws::connect_organization(
            &self.options, organization, regions, &self.namespace, progress,
        );
        let Ok(connected) = tokio::time::timeout(ACCOUNTS_WITHIN, connected).await else {
            let words = format!("no answer within {} s", ACCOUNTS_WITHIN.as_secs());
            let fix = "name fewer accounts with `--account ID,ID`";
            return vec![Check::not(area, "all", CheckStatus::Failed, words, fix)];
        };
        let opened = match connected {
            Ok(opened) => opened,
            Err(error) => return vec![failed(area, "all", &error)],
        };
        let open = opened.value.iter().map(|account| Check::ok(area, &account.id, ""));
        let closed =
            opened.gaps.iter().filter(|gap| gap.what == GapSubject::Account).map(|gap| {
                Check::not(area, &gap.place, CheckStatus::Failed, &gap.reason, &gap.hint)
            });
        open.chain(closed).collect()
    }
}

fn permitted(area: CheckArea, name: &str, permission: &Permission) -> Check {
    match permission {
        Permission::Allowed => Check::ok(area, name, ""),
        Permission::NotOffered => Check::skipped(area, name, "not offered in this partition"),
        Permission::Failed(error) => failed(area, name, error),
    }
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
