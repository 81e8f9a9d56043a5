//! What is asked beside AWS: servers of the Prometheus family, a Kubernetes cluster, and what is on
//! this host: GPUs, prices and their age, and a history where one is named.

use crate::catalog::bundled_origins;
use crate::cli::args::{EstateArgs, MetricsSource};
use crate::cli::known_prices::PriceAge;
use crate::cli::kubernetes::{KubernetesArgs, kubeconfig};
use crate::cli::{Io, Outcome, cache, estate};
use crate::config::SettingsFile;
use crate::domain::{FailureKind, counted, partition, safe, shell_word};
use crate::report::{Check, CheckArea, CheckStatus};
use crate::sources::GpuSource;
use crate::sources::SourceError;
use crate::sources::files::{Records, read_price_cache};
use crate::sources::kubernetes::{KubernetesOptions, LiveCluster};
use crate::sources::nvml::NvmlSource;
use crate::sources::prometheus::{ClientOptions, Destination, MetricMap, Server, gpu_series};
use crate::sources::store::{BucketAccess, Place};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use std::path::Path;
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
        let profile = args.aws.options(settings, io).profile;
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

/// What the driver of NVIDIA makes when it is loaded.
pub(in crate::cli) const DRIVER_NODE: &str = "/dev/nvidiactl";

/// The GPUs of this host, as `gpucost profile` would sample them.
pub(super) fn host() -> Check {
    let (area, name) = (CheckArea::Host, "NVML");
    if !Path::new(DRIVER_NODE).exists() {
        return Check::skipped(area, name, "this host has no NVIDIA device");
    }
    match NvmlSource::open(None, None) {
        Ok(source) => {
            let gpus = counted(source.identities().len(), "GPU", "GPUs");
            let driver = source.driver_version().map(|version| format!(", driver {version}"));
            Check::ok(area, name, safe(&format!("{gpus}{}", driver.unwrap_or_default()))).unneeded()
        }
        Err(error) => {
            let said = safe(&error.to_string());
            Check::not(area, name, CheckStatus::Failed, said, error.hint()).unneeded()
        }
    }
}

/// How old prices are: of the cache where there is one, else of the bundled catalog.
pub(super) fn prices(args: &EstateArgs, settings: &SettingsFile, io: &Io<'_>) -> Outcome<Check> {
    let area = CheckArea::Prices;
    let refresh = "run `gpucost pricing refresh`; without an account, add `--public`";
    let path = cache::path(cache::PRICES, io).filter(|_| !args.offline);
    let (name, oldest) = match path.as_deref().map_or(Ok(None), read_price_cache) {
        Err(error) => {
            let said = safe(&error.to_string());
            return Ok(Check::not(area, "price cache", CheckStatus::Failed, said, refresh));
        }
        Ok(Some(cache)) => {
            ("price cache", cache.prices.iter().map(|(_, quote)| quote.seen_on).min())
        }
        Ok(None) => {
            let asked = estate::asked_regions(&args.aws, settings, io)?;
            let lists = bundled_origins(|region| match &asked {
                Some(asked) => asked.iter().any(|asked_region| asked_region == region),
                // Accounts of other partitions have other regions.
                None => partition(region) == "aws",
            });
            ("bundled prices", lists.keys().map(|(_, date)| *date).min())
        }
    };
    let Some(oldest) = oldest else {
        return Ok(Check::not(area, name, CheckStatus::Missing, "it is empty", refresh));
    };
    let days = io.now.to_zoned(TimeZone::UTC).date().duration_since(oldest).as_hours() / 24;
    let days = counted(days, "day", "days");
    let age = format!("the oldest is from {oldest}, {days} old");
    Ok(match PriceAge::of(args.max_price_age.as_deref(), settings)?.check(Some(oldest), io.now) {
        Ok(None) => Check::ok(area, name, age),
        // Worth a warning in an audit.
        Ok(Some(_)) => Check::not(area, name, CheckStatus::Missing, age, refresh).unneeded(),
        Err(_) => {
            let age = format!("{age}, which is more than `--max-price-age`");
            Check::not(area, name, CheckStatus::Missing, age, refresh)
        }
    })
}

/// Whether what is kept at the place of `--history` can be listed and read.
pub(super) async fn history(place: Place, access: BucketAccess, now: Timestamp) -> Check {
    let (area, name) = (CheckArea::History, place.to_string());
    if let Place::Folder(folder) = &place
        && !folder.is_dir()
    {
        let detail = "there is nothing yet";
        let fix = "an audit with `--history` creates it";
        return Check::not(area, name, CheckStatus::Missing, detail, fix).unneeded();
    }
    let today = now.to_zoned(TimeZone::UTC).date();
    let read = async { Records::open(&place, &access).await?.read(Some(today)).await };
    let word = shell_word(&place.word());
    match read.await {
        Ok(recorded) if recorded.problems.is_empty() => Check::ok(area, name, "it can be read"),
        Ok(recorded) => {
            let fix = format!("`gpucost history verify {word}` names each");
            let files = counted(recorded.problems.len(), "file", "files");
            Check::not(area, name, CheckStatus::Failed, format!("{files} cannot be used"), fix)
        }
        Err(error) => {
            let fix = match &place {
                Place::Folder(_) => "use a directory that can be listed".to_owned(),
                Place::Bucket(_) => format!(
                    "check the name of the bucket; `gpucost setup iam --history {word}` prints \
                     the permissions that it takes"
                ),
            };
            Check::not(area, name, CheckStatus::Failed, safe(&error.to_string()), fix)
        }
    }
}
