//! What is asked over the network beside AWS: servers of the Prometheus family, which answer or
//! not and know exporters, and a Kubernetes cluster, which answers or not and lists.

use crate::cli::args::{EstateArgs, MetricsSource};
use crate::cli::kubernetes::{KubernetesArgs, kubeconfig};
use crate::cli::{Io, Outcome, estate};
use crate::config::SettingsFile;
use crate::domain::{FailureKind, safe};
use crate::report::{Check, CheckArea, CheckStatus};
use crate::sources::SourceError;
use crate::sources::kubernetes::{KubernetesOptions, LiveCluster};
use crate::sources::prometheus::{ClientOptions, Destination, MetricMap, Server, gpu_series};
use jiff::{SignedDuration, Timestamp};
use std::time::Duration;

/// One query that counts.
const QUERY_WITHIN: SignedDuration = SignedDuration::from_secs(10);

/// Which servers are asked, and for which metrics.
pub(super) struct ServerProbe {
    pub(super) servers: Vec<(Server, ClientOptions)>,
    map: MetricMap,
}

impl ServerProbe {
    pub(super) fn of(args: &EstateArgs, settings: &SettingsFile, io: &Io<'_>) -> Outcome<Self> {
        let profile = estate::aws_options(&args.aws, settings, io).profile;
        let is_read =
            matches!(args.metrics_source, MetricsSource::Auto | MetricsSource::Prometheus);
        let servers =
            if is_read { args.prometheus.named(profile.as_ref(), io)? } else { Vec::new() };
        Ok(Self { servers, map: MetricMap::extended(settings.metric_map.clone()) })
    }

    pub(super) async fn checks(self, now: Timestamp) -> Vec<Check> {
        let mut checks = Vec::with_capacity(self.servers.len());
        for (server, options) in self.servers {
            let host = Destination::of(&server.url).map(|way| way.host);
            let name = format!("Prometheus {}", host.unwrap_or_default());
            let options = ClientOptions { timeout: QUERY_WITHIN, ..options };
            let area = CheckArea::Metrics;
            checks.push(match gpu_series(server, options, &self.map, now).await {
                Ok(reported) if reported.is_empty() => Check::not(
                    area,
                    name,
                    CheckStatus::Missing,
                    "it answers, and has no GPU metrics now",
                    "`gpucost setup metrics --prometheus` prints Helm values for exporters",
                ),
                Ok(reported) => {
                    let parts = reported.iter();
                    let parts = parts.map(|(exporter, series)| format!("{exporter} {series}"));
                    let parts: Vec<String> = parts.collect();
                    let detail = format!("series of GPU utilization: {}", parts.join(", "));
                    Check::ok(area, name, detail)
                }
                Err(error) => {
                    let check = failed(area, &name, &error);
                    match check.status {
                        // Another server may have the metrics, but not these credentials.
                        CheckStatus::Missing => Check { status: CheckStatus::Failed, ..check },
                        _ => check,
                    }
                }
            });
        }
        checks
    }
}

/// One list of one object.
const LIST_WITHIN: Duration = Duration::from_secs(10);
/// All of them, with the credentials, for which a person may have to sign in.
const ALL_WITHIN: Duration = Duration::from_secs(60);
const NAME: &str = "API server";
const NODES: &str = "kubernetes:nodes";

/// The cluster of `--kubernetes`.
pub(super) struct ClusterProbe(LiveCluster);

impl ClusterProbe {
    /// Of the flags of an audit; absent where it reads none.
    pub(super) fn of(args: &KubernetesArgs, io: &Io<'_>) -> Outcome<Option<Self>> {
        if !args.kubernetes {
            return Ok(None);
        }
        let times = KubernetesOptions {
            timeout: LIST_WITHIN,
            deadline: ALL_WITHIN,
            ..KubernetesOptions::default()
        };
        Ok(Some(Self(args.live(times, io)?)))
    }

    pub(super) async fn checks(self, progress: &dyn Fn(&str)) -> Vec<Check> {
        progress("Kubernetes cluster");
        let area = CheckArea::Kubernetes;
        let answers = match self.0.permissions().await {
            Ok(answers) => answers,
            Err(error) => return vec![failed(area, NAME, &error)],
        };
        let checks = answers.into_iter().map(|(action, answer)| {
            let name = action.trim_start_matches("kubernetes:");
            let check = match answer {
                Ok(()) => Check::ok(area, format!("list {name}"), ""),
                Err(error) => failed(area, &format!("list {name}"), &error),
            };
            // Without its nodes there is nothing to audit. What else is missing is a gap.
            match action {
                NODES => check,
                _ if check.is_fine() => check,
                _ => Check {
                    detail: format!("{}; the audit would have a gap", check.detail),
                    ..check
                },
            }
        });
        checks.collect()
    }
}

/// What is said where no cluster is asked.
pub(super) fn not_asked(io: &Io<'_>) -> Check {
    let detail = if kubeconfig(io).iter().any(|file| file.exists()) {
        "not asked; a kubeconfig is there: `gpucost doctor --kubernetes` asks its cluster"
    } else {
        "not asked; no kubeconfig"
    };
    Check::skipped(CheckArea::Kubernetes, NAME, detail)
}

/// What could not be used, in the words of what refused it.
pub(super) fn failed(area: CheckArea, name: &str, error: &SourceError) -> Check {
    let status = match error.kind {
        FailureKind::NoCredentials => CheckStatus::Missing,
        FailureKind::Denied
        | FailureKind::RejectedCredentials
        | FailureKind::ExpiredCredentials => CheckStatus::Denied,
        _ => CheckStatus::Failed,
    };
    let said = error.to_string();
    // The action is the name already.
    let said = said.strip_prefix(&format!("{name}: ")).unwrap_or(&said);
    Check::not(area, name, status, safe(said), error.hint())
}
