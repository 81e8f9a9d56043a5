//! An AWS account: who asks, which regions answer, which actions are allowed, and whether
//! the agent's metrics are there.

use super::sources::failed;
use crate::cli::args::MetricsSource;
use crate::cli::estate::EstateRequest;
use crate::cli::{Io, Outcome, estate};
use crate::domain::GapSubject;
use crate::report::{Check, CheckArea, CheckStatus};
use crate::sources::aws::{
    self, ACTIONS, AwsOptions, AwsService, NeededBy, ORG_ACTIONS, Organization, Permission, Session,
};
use futures_util::{StreamExt, stream};
use std::time::Duration;

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
pub(super) struct AccountProbe {
    options: AwsOptions,
    regions: Option<Vec<String>>,
    namespace: String,
    organization: Option<Organization>,
    reads_metrics: bool,
    reads_prices: bool,
}

impl AccountProbe {
    /// Of the flags of an audit; absent where it reads no account.
    pub(super) fn of((args, settings): EstateRequest<'_>, io: &Io<'_>) -> Outcome<Option<Self>> {
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

    pub(super) async fn checks(&self, progress: &dyn Fn(&str)) -> Vec<Check> {
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
