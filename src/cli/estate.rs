//! Getting the estate that a command works on: the demo, a recorded file, or a
//! live account.

use super::Io;
use super::args::{EstateArgs, MetricsSource, OutputArgs};
use super::exit::{ExitCode, Failure};
use super::output::{check_files, unwritable};
use super::redact::redact;
use super::scope::{Scope, regions};
use crate::config::{ConfigError, SettingsFile, parse_duration, read_settings};
use crate::domain::Estate;
use crate::gather::{GatherError, GatherOptions, gather};
use crate::sources::aws::AwsOptions;
use crate::sources::files::{EstateError, demo_estate, read_estate, write_estate, write_whole};
use indicatif::{ProgressBar, ProgressStyle};
use jiff::SignedDuration;
use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

const DEFAULT_LOOKBACK: &str = "14d";
const DEFAULT_NAMESPACE: &str = "CWAgent";
/// CloudWatch forgets everything older.
const LONGEST_LOOKBACK: SignedDuration = SignedDuration::from_hours(455 * 24);
/// Work that takes longer than this shows progress.
const PROGRESS_AFTER: Duration = Duration::from_millis(500);
const PROGRESS_STEP: Duration = Duration::from_millis(120);

/// The settings file that applies: `--config`, `GPUCOST_CONFIG`, or
/// `gpucost.toml` in the current folder.
pub(super) fn settings(args: &OutputArgs, io: &Io<'_>) -> Result<SettingsFile, Failure> {
    let named = args
        .config
        .clone()
        .or_else(|| io.variable("GPUCOST_CONFIG").map(Into::into));
    let path = match named {
        Some(path) => path,
        None => {
            let usual = io.folder.join("gpucost.toml");
            if !usual.exists() {
                return Ok(SettingsFile::default());
            }
            usual
        }
    };
    read_settings(&path).map_err(|error| {
        let hint = match &error {
            ConfigError::Io { .. } => "check the name given with `--config`",
            ConfigError::Invalid { .. } => "docs/configuration.md lists every key",
        };
        Failure::new(ExitCode::Input, error).with_hint(hint)
    })
}

/// A setting by precedence: flag, then environment, then file.
fn layered(
    flag: Option<&String>,
    variable: &str,
    file: Option<&String>,
    io: &Io<'_>,
) -> Option<String> {
    flag.or_else(|| io.variable(variable)).or(file).cloned()
}

/// Gets, filters, redacts and records the estate.
pub(super) fn estate(
    args: &EstateArgs,
    settings: &SettingsFile,
    io: &mut Io<'_>,
) -> Result<Estate, Failure> {
    obtain(args, settings, true, io)
}

/// The same for commands that list and do not judge: CloudWatch is not asked,
/// and its absence is no gap.
pub(super) fn estate_without_metrics(
    args: &EstateArgs,
    settings: &SettingsFile,
    io: &mut Io<'_>,
) -> Result<Estate, Failure> {
    let mut estate = obtain(args, settings, false, io)?;
    estate.gaps.retain(|gap| gap.what != "metrics");
    Ok(estate)
}

fn obtain(
    args: &EstateArgs,
    settings: &SettingsFile,
    metrics: bool,
    io: &mut Io<'_>,
) -> Result<Estate, Failure> {
    let scope = Scope::of(args)?;
    check_files(args)?;
    let mut estate = if args.demo {
        demo_estate().map_err(unreadable)?
    } else if let Some(path) = &args.from {
        read_estate(path).map_err(unreadable)?
    } else {
        live(args, settings, metrics, io)?
    };
    scope.keep(&mut estate);
    if args.redact {
        redact(&mut estate);
    }
    if let Some(path) = &args.save {
        save(&estate, path).map_err(|error| unwritable(path, error))?;
    }
    Ok(estate)
}

fn unreadable(error: EstateError) -> Failure {
    let hint = match &error {
        EstateError::Io { .. } => "check the name given with `--from`",
        EstateError::Malformed { .. } => {
            "an estate is what `gpucost audit --save FILE` writes; record it again"
        }
        EstateError::Wrong { .. } => "docs/estate.md says what each key holds",
        EstateError::Newer { .. } => "update gpucost, or record the estate with this version",
    };
    Failure::new(ExitCode::Input, error).with_hint(hint)
}

fn save(estate: &Estate, path: &Path) -> std::io::Result<()> {
    let compressed = path.extension().is_some_and(|extension| extension == "gz");
    write_whole(path, |out| {
        if compressed {
            let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::default());
            write_estate(estate, &mut encoder)?;
            encoder.finish().map(|_| ())
        } else {
            write_estate(estate, out)
        }
    })
}

fn options(
    args: &EstateArgs,
    settings: &SettingsFile,
    io: &Io<'_>,
) -> Result<GatherOptions, Failure> {
    let lookback = layered(
        args.lookback.as_ref(),
        "GPUCOST_LOOKBACK",
        settings.lookback.as_ref(),
        io,
    )
    .unwrap_or_else(|| DEFAULT_LOOKBACK.to_owned());
    let lookback = parse_duration(&lookback).map_err(Failure::input)?;
    if lookback > LONGEST_LOOKBACK {
        return Err(Failure::input("`--lookback` is at most 455d")
            .with_hint("CloudWatch keeps nothing older"));
    }
    let names = layered(
        args.aws.region.as_ref(),
        "GPUCOST_REGION",
        settings.region.as_ref(),
        io,
    );
    let regions = names.as_deref().map(regions).transpose()?.flatten();
    Ok(GatherOptions {
        aws: AwsOptions {
            profile: layered(
                args.aws.profile.as_ref(),
                "GPUCOST_PROFILE",
                settings.profile.as_ref(),
                io,
            ),
            endpoint_url: args.aws.endpoint_url.clone(),
        },
        regions,
        as_of: args.as_of.unwrap_or(io.now),
        lookback,
        metrics: args.metrics_source != MetricsSource::None,
        agent_namespace: agent_namespace(args, settings, io),
        offline: args.offline,
        max_api_cost_usd: args.max_api_cost.or(settings.max_api_cost),
    })
}

/// The namespace that the CloudWatch agent publishes under.
pub(super) fn agent_namespace(args: &EstateArgs, settings: &SettingsFile, io: &Io<'_>) -> String {
    layered(
        args.metrics_namespace.as_ref(),
        "GPUCOST_METRICS_NAMESPACE",
        settings.metrics_namespace.as_ref(),
        io,
    )
    .unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned())
}

fn live(
    args: &EstateArgs,
    settings: &SettingsFile,
    metrics: bool,
    io: &mut Io<'_>,
) -> Result<Estate, Failure> {
    let mut options = options(args, settings, io)?;
    options.metrics &= metrics;
    log(args.out.verbose);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(ExitCode::Unexpected, error))?;
    let progress = Progress::new(io.stderr_is_terminal && !args.out.quiet);
    let show = |stage: &str| progress.stage(stage);
    let gathered = runtime.block_on(async {
        tokio::select! {
            gathered = gather(&options, &show) => Some(gathered),
            _ = tokio::signal::ctrl_c() => None,
            () = progress.animate() => None,
        }
    });
    progress.clear();
    // Requests under way are not waited for.
    runtime.shutdown_background();
    match gathered {
        None => Err(Failure::interrupted()),
        Some(Ok(estate)) => Ok(estate),
        Some(Err(error)) => Err(failed(error)),
    }
}

fn failed(error: GatherError) -> Failure {
    match error {
        GatherError::Aws(error) => {
            let hint = error.hint();
            Failure::new(ExitCode::Unexpected, error).with_hint(hint)
        }
        GatherError::EveryRegion { ref first, .. } => {
            let hint = first.hint();
            Failure::new(ExitCode::Unexpected, error).with_hint(hint)
        }
        GatherError::TooExpensive { .. } => Failure::new(ExitCode::Input, error).with_hint(
            "raise `--max-api-cost`, shorten the list of regions, or pass `--metrics-source none`",
        ),
        GatherError::Window(_) => {
            Failure::new(ExitCode::Input, error).with_hint("check `--as-of` and `--lookback`")
        }
    }
}

/// Shows this program's own steps, never the SDK's: its logs quote requests,
/// and requests carry signatures.
fn log(verbosity: u8) {
    let level = match verbosity {
        0 => return,
        1 => tracing::Level::DEBUG,
        _ => tracing::Level::TRACE,
    };
    let own = Targets::new().with_target(env!("CARGO_PKG_NAME"), level);
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_filter(own);
    // A second command in the same process keeps the first one's log.
    let _ = tracing_subscriber::registry().with(layer).try_init();
}

/// A line on stderr for work that takes long, on a terminal only.
struct Progress {
    bar: ProgressBar,
    stage: RefCell<String>,
}

impl Progress {
    fn new(visible: bool) -> Self {
        let bar = if visible {
            ProgressBar::new_spinner()
        } else {
            ProgressBar::hidden()
        };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        Self {
            bar,
            stage: RefCell::default(),
        }
    }

    fn stage(&self, text: &str) {
        tracing::debug!("{text}");
        self.stage.replace(text.to_owned());
    }

    /// Draws the line again and again once the work takes long; never ends.
    async fn animate(&self) {
        tokio::time::sleep(PROGRESS_AFTER).await;
        loop {
            self.bar.set_message(self.stage.borrow().clone());
            self.bar.tick();
            tokio::time::sleep(PROGRESS_STEP).await;
        }
    }

    fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
