//! Servers of the Prometheus family: whether they answer, and which exporters they know.

use super::failed::failed;
use crate::cli::args::{EstateArgs, MetricsSource};
use crate::cli::exit::Outcome;
use crate::cli::{Io, estate};
use crate::config::SettingsFile;
use crate::report::{Check, CheckArea, CheckStatus};
use crate::sources::prometheus::{ClientOptions, Destination, MetricMap, Server, gpu_series};
use jiff::{SignedDuration, Timestamp};

/// One query that counts.
const WITHIN: SignedDuration = SignedDuration::from_secs(10);

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
            let options = ClientOptions { timeout: WITHIN, ..options };
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
