//! `gpucost.toml`: what a user would otherwise type every time, the thresholds of the policy, and
//! what the file changes of amounts, findings and what is read, so that a gate can say so: whoever
//! may change the file may open the gate with it.

use super::keys::{TEXT, object};
use super::reader::{Problem, Reader};
use crate::analysis::gate::{SettingChange, SettingsUse};
use crate::catalog;
use crate::domain::{Policy, Risk, nearest_names, shown};
use crate::sources::files::read_written_text;
use crate::sources::prometheus::{Exporter, MappedMetric, Quantity};
use jiff::SignedDuration;
use rust_decimal::Decimal;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::DeValue;

/// What the file sets; absent where it is silent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SettingsFile {
    /// Where it was read; absent without one.
    pub path: Option<PathBuf>,
    /// AWS named profile.
    pub profile: Option<String>,
    /// Regions, or `all`.
    pub region: Option<String>,
    /// Lookback, such as `14d`.
    pub lookback: Option<String>,
    /// Accepted risk.
    pub risk: Option<Risk>,
    pub format: Option<String>,
    /// CloudWatch namespace of the agent's metrics.
    pub metrics_namespace: Option<String>,
    /// Highest accepted price of API calls, in USD.
    pub max_api_cost: Option<Decimal>,
    /// Metrics of exporters of one's own.
    pub metric_map: Vec<MappedMetric>,
    /// Prices of one's own, and how old a price may be.
    pub prices: PriceSettings,
    /// Thresholds, with defaults where the file is silent.
    pub policy: Policy,
}

/// What the file says about prices; discounts are part of the policy.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PriceSettings {
    /// Negotiated prices, a CSV file.
    pub file: Option<PathBuf>,
    /// The highest age that a price may have.
    pub max_age: Option<SignedDuration>,
}

/// A settings file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It could not be read.
    #[error("cannot read {}", shown(path))]
    Io { path: PathBuf, source: std::io::Error },
    /// Everything wrong in it.
    #[error("{}", Listing(path, problems))]
    Invalid {
        path: PathBuf,
        /// In order of line.
        problems: Vec<Problem>,
    },
}

struct Listing<'a>(&'a Path, &'a [Problem]);

impl fmt::Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.1.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n       " };
            let path = shown(self.0);
            write!(f, "{separator}{path}:{}: {}", problem.line, problem.message)?;
        }
        Ok(())
    }
}

/// Reads a settings file.
///
/// # Errors
/// With up to a hundred unknown keys and bad values at once.
pub fn read_settings(path: &Path) -> Result<SettingsFile, ConfigError> {
    let text = read_written_text(path)
        .map_err(|source| ConfigError::Io { path: path.to_owned(), source })?;
    let mut settings = parse(&text)
        .map_err(|problems| ConfigError::Invalid { path: path.to_owned(), problems })?;
    settings.path = Some(path.to_owned());
    // A file that another file names stands beside it.
    if let (Some(file), Some(folder)) = (&mut settings.prices.file, path.parent()) {
        *file = folder.join(&file);
    }
    Ok(settings)
}

fn parse(text: &str) -> Result<SettingsFile, Vec<Problem>> {
    let (mut reader, table) = Reader::parse(text)?;
    let settings = reader.read(table.get_ref(), 1, "settings", SETTINGS);
    Ok(reader.end(settings)?.unwrap_or_default())
}

/// Formats that commands know; a command refuses those that it does not have.
const FORMATS: &[&str] = &[
    "table", "wide", "json", "csv", "xlsx", "focus", "markdown", "html", "github", "sarif",
    "junit", "slack", "script", "openmetrics",
];

keys! {
    const SETTINGS: SettingsFile = |reader, settings, value, entry| {
        text "profile", settings.profile = Some(value), "AWS named profile.";
        text "region", settings.region = Some(value), "Regions, separated by commas, or all.";
        duration "lookback", settings.lookback = Some(value.0), "Length of the window in m, h or d, at most 455d; 14d by default.";
        named[Risk] "risk", settings.risk = Some(value), "The risk that the plan accepts; medium by default.";
        word[FORMATS] "format", settings.format = Some(value), "Format of documents; a command refuses those that it does not have.";
        text "metrics_namespace", settings.metrics_namespace = Some(value), "CloudWatch namespace of the agent's metrics; CWAgent by default.";
        amount "max_api_cost", settings.max_api_cost = Some(value), "Do not start when the AWS calls would cost more than this many USD.";
        table[PROMETHEUS] "prometheus", settings.metric_map = value, "Servers of the Prometheus family.";
        table[PRICES] "prices", (settings.prices, settings.policy.discount_percent) = value, "Your own prices.";
        table[THRESHOLDS] "policy", reader.thresholds(value, entry.line, settings), "Thresholds of the verdicts.";
    }

    const PRICES: (PriceSettings, BTreeMap<String, Decimal>) = |reader, prices, value, entry| {
        text "file", prices.0.file = Some(value.into()), "CSV file of negotiated prices, relative to the settings file.";
        duration "max_age", prices.0.max_age = Some(value.1), "Reject figures that rest on an older price.";
        own[discount_schema, Reader::discounts] "discount_percent", prices.1 = value, "Discounts on on-demand list prices by family.";
    }

    const THRESHOLDS: Policy = |reader, policy, value, entry| {
        number[1.0, 744.0] "hours_per_month", policy.hours_per_month = Decimal::try_from(value).unwrap_or(policy.hours_per_month), "Hours per month, for every monthly figure; 730 by default.";
        number[0.0, 100.0] "overprovisioned_below_percent", policy.overprovisioned_below_percent = value, "Mean GPU utilization below which a workload is overprovisioned; 25 by default.";
        number[0.0, 100.0] "underutilized_below_percent", policy.underutilized_below_percent = value, "Mean below which it is underutilized, at least the threshold of overprovisioned; 60 by default.";
        number[0.0, 8_760.0] "min_hours", policy.min_hours = value, "Minimum hours of samples for a verdict; 30 by default.";
        number[0.0, 100.0] "min_coverage_percent", policy.min_coverage = value / 100.0, "Minimum coverage for a verdict; 50 by default.";
        number[1.0, 365.0] "idle_min_days", policy.idle_min_days = value, "Minimum days observed before anything is reported as idle; 7 by default.";
        number[0.0, 365.0] "commit_min_days", policy.commit_min_days = value, "Minimum days observed before a commitment is advised; 7 by default.";
        number[0.0, 100.0] "works_cpu_percent", policy.works_cpu_percent = value, "p95 of CPU utilization at or above which an instance with idle GPUs is not stopped; 10 by default.";
        number[0.0, 100.0] "saturated_above_percent", policy.saturated_above_percent = value, "Mean above which a workload is saturated; 85 by default.";
        number[0.0, 100.0] "bursty_p95_percent", policy.bursty_p95_percent = value, "p95 at or above which a workload with a low mean is bursty; 80 by default.";
        number[1.0, 10.0] "vram_headroom", policy.vram_headroom = value, "Factor on the VRAM peak that a smaller type must hold; 1.2 by default.";
        number[1.0, 10.0] "vcpu_headroom", policy.vcpu_headroom = value, "Factor on the CPU p95 that a smaller type must offer; 1.2 by default.";
        number[0.0, 24.0] "spot_interruptions_per_day", policy.spot_interruptions_per_day = value, "Minimum rate of interruptions per day and node; 1 by default.";
        number[1.0, 100.0] "serving_target_percent", policy.serving_target_percent = value, "Maximum projected peak of each GPU of a service on another type; 80 by default.";
        number[1.0, 10.0] "slowdown_limit", policy.slowdown_limit = value, "How many times as long work without a deadline may take on another type; 1.25 by default.";
        number[1.0, 100.0] "max_latency_ratio", policy.max_latency_ratio = value, "How many times as long a request may take on a slower GPU or slice; 2.5 by default.";
        number[1.0, 1_000.0] "min_replicas", policy.min_replicas = value.ceil() as u32, "Replicas below which no service shrinks; 2 by default.";
        number[0.0, 8_760.0] "ended_after_hours", policy.ended_after_hours = value, "Hours after which a stopped instance has ended; 72 by default.";
        number[1.0, 8_760.0] "stale_after_hours", policy.stale_after_hours = value, "Hours that an instance may run after the last sample of a metric before no action rests on it; 24 by default.";
        text "workload_tag", policy.workload_tag = value, "Tag whose value groups instances into a workload; gpucost:workload by default.";
        form[TEXT, time_zone] "time_zone", policy.time_zone = Some(value), "IANA name of the time zone of the week of a schedule, such as Europe/Berlin; UTC by default.";
    }
}

/// The JSON schema of a settings file.
pub fn settings_schema() -> Json {
    object(SETTINGS)
}

fn discount_schema() -> Json {
    let percent = json!({ "type": "number", "minimum": 0, "exclusiveMaximum": 100 });
    json!({ "type": "object", "additionalProperties": percent })
}

fn time_zone(name: &str) -> Result<String, String> {
    match catalog::time_zone(name) {
        Some(_) => Ok(name.to_owned()),
        None => Err(format!("`{name}` is not a known time zone; use a name such as Europe/Berlin")),
    }
}

impl Reader<'_> {
    fn discounts(&mut self, value: &Spanned<DeValue<'_>>) -> Option<BTreeMap<String, Decimal>> {
        let DeValue::Table(table) = value.get_ref() else {
            return self.refuse(value, "expected one table [prices.discount_percent]");
        };
        let mut discounts = BTreeMap::new();
        for (key, value) in table {
            let family: &str = key.get_ref().as_ref();
            if catalog::family(family).is_none() {
                let nearest = nearest_names(family, catalog::family_names());
                let meant = if nearest.is_empty() {
                    String::new()
                } else {
                    format!("; did you mean {}?", nearest.join(", "))
                };
                let message = format!("`{family}` is not a GPU family in the price catalog{meant}");
                self.problem(key.span(), message);
            }
            let Some(text) = self.text_of_number(value) else { continue };
            let percent: Option<Decimal> = text.parse().ok();
            let percent = percent
                .filter(|percent| !percent.is_sign_negative() && *percent < Decimal::ONE_HUNDRED)
                .or_else(|| self.refuse(value, "expected a percentage from 0 to below 100"));
            discounts.extend(percent.map(|percent| (family.to_owned(), percent)));
        }
        Some(discounts)
    }

    /// Takes thresholds over, but for the discounts, which stand elsewhere.
    fn thresholds(&mut self, read: Policy, line: usize, settings: &mut SettingsFile) {
        if read.overprovisioned_below_percent > read.underutilized_below_percent {
            let message = "overprovisioned_below_percent is above underutilized_below_percent";
            self.at(line, message);
        }
        let discount_percent = std::mem::take(&mut settings.policy.discount_percent);
        settings.policy = Policy { discount_percent, ..read };
    }
}

/// From femto- to peta-, which is more than any unit needs.
const LEAST_SCALE: f64 = 1e-15;
const MOST_SCALE: f64 = 1e15;
/// MiB, watts and degrees Celsius are taken as they are.
const USUAL_SCALE: f64 = 1.0;

keys! {
    pub(super) const PROMETHEUS: Vec<MappedMetric> = |reader, metrics, value, entry| {
        map[METRIC, share_needs_scale] "metric_map", metrics.extend(value.into_iter().filter_map(|(name, draft, line)| reader.metric(name, draft, line))), "Metrics of exporters that gpucost does not know, by name.";
    }
}

/// A metric as the file states it.
#[derive(Default)]
struct Draft {
    quantity: Option<Quantity>,
    scale: Option<f64>,
    index_label: Option<String>,
    uuid_label: Option<String>,
}

keys! {
    const METRIC: Draft = |reader, draft, value, entry| {
        need named[Quantity] "quantity", draft.quantity = Some(value), "What the metric measures.";
        number[LEAST_SCALE, MOST_SCALE] "scale", draft.scale = Some(value), "What a value is multiplied by to be a percentage, MiB, watts or degrees Celsius.";
        text "index", draft.index_label = Some(value), "Label with the index of the GPU on its host.";
        text "uuid", draft.uuid_label = Some(value), "Label with the UUID of the GPU.";
    }
}

fn is_percent(quantity: Quantity) -> bool {
    quantity.metric().is_percent()
}

/// A share of one that is taken for a percentage makes a busy GPU idle.
fn share_needs_scale() -> Json {
    let shares = Quantity::ALL.iter().filter(|quantity| is_percent(**quantity));
    let shares: Vec<&str> = shares.map(|quantity| quantity.name()).collect();
    json!({
        "if": { "properties": { "quantity": { "enum": shares } } },
        "then": { "required": ["scale"] },
    })
}

impl Reader<'_> {
    fn metric(&mut self, name: String, draft: Draft, line: usize) -> Option<MappedMetric> {
        let quantity = draft.quantity?;
        if draft.scale.is_none() && is_percent(quantity) {
            let message =
                format!("`{name}` has no `scale`: 100 for a share of one, 1 for a percentage");
            self.at(line, &message);
        }
        Some(MappedMetric {
            name,
            quantity,
            scale: draft.scale.unwrap_or(USUAL_SCALE),
            exporter: Exporter::Other,
            index_label: draft.index_label,
            uuid_label: draft.uuid_label,
        })
    }
}

impl SettingsFile {
    /// Its settings that decide amounts, findings or what is read and differ from the defaults;
    /// absent without any. Files in `folder` are called by their names.
    pub fn money_settings(&self, folder: &Path) -> Option<SettingsUse> {
        let called = |path: &Path| shown(path.strip_prefix(folder).unwrap_or(path));
        let mut changes = Vec::new();
        let own = figures(&self.policy).into_iter();
        for ((key, value), (_, default)) in own.zip(figures(&Policy::default())) {
            if value != default {
                changes.push(SettingChange { key: key.to_owned(), value, default: Some(default) });
            }
        }
        let discounts = self.policy.discount_percent.iter();
        let discounts = discounts.filter(|(_, percent)| !percent.is_zero());
        changes.extend(discounts.map(|(family, percent)| SettingChange {
            key: format!("discount_percent.{family}"),
            value: percent.normalize().to_string(),
            default: Some("0".to_owned()),
        }));
        let names: Vec<&str> =
            self.metric_map.iter().map(|measure| measure.name.as_str()).collect();
        let stated = [
            ("prices.file", self.prices.file.as_deref().map(called)),
            ("profile", self.profile.clone()),
            ("region", self.region.clone()),
            ("lookback", self.lookback.clone()),
            ("metrics_namespace", self.metrics_namespace.clone()),
            ("prometheus.metric_map", (!names.is_empty()).then(|| names.join(", "))),
        ];
        changes.extend(stated.into_iter().filter_map(|(key, value)| {
            Some(SettingChange { key: key.to_owned(), value: value?, default: None })
        }));
        let file = called(self.path.as_deref()?);
        (!changes.is_empty()).then_some(SettingsUse { file, changes })
    }
}

/// The keys of settings with what a policy says of them: by the name of its field unless another
/// stands beside it. A field that is new has to be put here or among those without a key.
macro_rules! figures {
    ($policy:ident: $($field:ident $(as $key:literal)? $(= $value:expr)?),*; but $($other:ident),*) => {{
        let Policy { $($field,)* $($other: _,)* } = $policy;
        vec![$((figures!(@key $field $($key)?), figures!(@value $field $($value)?).to_string())),*]
    }};
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
    (@value $field:ident) => { $field };
    (@value $field:ident $value:expr) => { $value };
}

/// The settings of a policy by their keys, in the order of the documentation; discounts are
/// apart.
fn figures(policy: &Policy) -> Vec<(&'static str, String)> {
    figures! { policy:
        hours_per_month = hours_per_month.normalize(),
        overprovisioned_below_percent, underutilized_below_percent, min_hours,
        // Of a share, a percentage without what the division by a hundred leaves of it.
        min_coverage as "min_coverage_percent" = (min_coverage * 1e8).round() / 1e6,
        idle_min_days, commit_min_days, works_cpu_percent, saturated_above_percent,
        bursty_p95_percent, vram_headroom, vcpu_headroom, spot_interruptions_per_day,
        serving_target_percent, slowdown_limit, max_latency_ratio, min_replicas,
        ended_after_hours, stale_after_hours, workload_tag,
        time_zone = time_zone.as_deref().unwrap_or("UTC");
        but measured_coverage, idle_held_vram_percent, discount_percent, rejected
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::prometheus::Quantity;

    #[test]
    fn every_bad_key_is_shown_with_its_line() {
        let text = "regoin = \"eu-west-1\"\nlookback = \"fortnight\"\n\n[policy]\nmin_hours = -1\nfoo = 1\n";
        let problems = parse(text).expect_err("four errors");
        let lines: Vec<usize> = problems.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [1, 2, 5, 6]);
        assert!(problems[0].message.contains("unknown key `regoin`"));
        assert!(problems[2].message.contains("from 0 to 8760"));
    }

    #[test]
    fn own_metrics_have_a_quantity_a_scale_and_labels() {
        let text = "[prometheus.metric_map.lab_gpu_busy]\nquantity = \"utilization\"\nscale = 100\n\
                    index = \"card\"\nuuid = \"serial\"\n\
                    [prometheus.metric_map.\"lab.watts\"]\nquantity = \"power\"\n";
        let settings = parse(text).expect("valid");
        let [watts, busy] = &settings.metric_map[..] else {
            panic!("{:?}", settings.metric_map);
        };
        assert_eq!((watts.name.as_str(), watts.scale), ("lab.watts", 1.0));
        assert_eq!(watts.quantity, Quantity::Power);
        assert_eq!((busy.name.as_str(), busy.scale), ("lab_gpu_busy", 100.0));
        assert_eq!(busy.quantity, Quantity::Utilization);
        assert_eq!(busy.index_label.as_deref(), Some("card"));
        assert_eq!(busy.uuid_label.as_deref(), Some("serial"));
    }

    #[test]
    fn shares_and_percentages_are_never_guessed() {
        let text = "[prometheus.metric_map.a]\nquantity = \"utilization\"\n\
                    [prometheus.metric_map.b]\nquantity = \"engine-active\"\nindex = \"card\"\n\
                    [prometheus.metric_map.c]\nquantity = \"utilization\"\nscale = 1\n\
                    [prometheus.metric_map.d]\nquantity = \"memory-used\"\n";
        let problems = parse(text).expect_err("two errors");
        let places: Vec<(usize, &str)> =
            problems.iter().map(|problem| (problem.line, problem.message.as_str())).collect();
        let expected = [
            (1, "`a` has no `scale`: 100 for a share of one, 1 for a percentage"),
            (3, "`b` has no `scale`: 100 for a share of one, 1 for a percentage"),
        ];
        assert_eq!(places, expected);
    }

    #[test]
    fn every_bad_metric_is_shown_with_its_line() {
        let text = "[prometheus]\nurl = \"http://evil.example\"\n\
                    [prometheus.metric_map.a]\nquantity = \"speed\"\nscale = 0\n\
                    [prometheus.metric_map.b]\nindx = \"card\"\n\
                    [prometheus.metric_map]\nc = 1\n";
        let problems = parse(text).expect_err("six errors");
        let places: Vec<(usize, &str)> =
            problems.iter().map(|problem| (problem.line, problem.message.as_str())).collect();
        let expected = [
            (2, "unknown key `url`"),
            (4, "`speed` is not one of utilization, engine-active"),
            (5, "expected a number from"),
            (6, "incomplete `b`: missing `quantity`"),
            (7, "unknown key `indx` (did you mean index?)"),
            (9, "`c` must be a table"),
        ];
        assert_eq!(places.len(), expected.len(), "{places:?}");
        for ((line, message), (at, start)) in places.into_iter().zip(expected) {
            assert_eq!(line, at, "{message}");
            assert!(message.starts_with(start), "{message}");
        }
    }

    #[test]
    fn broken_toml_names_its_line() {
        let problems = parse("risk = \"low\"\nregion = \n").expect_err("broken");
        assert_eq!(problems[0].line, 2);
    }

    #[test]
    fn values_reach_the_policy() {
        let text = "risk = \"high\"\nmax_api_cost = 0.05\n[policy]\nmin_coverage_percent = 75\nhours_per_month = 720\n";
        let settings = parse(text).expect("valid");
        assert_eq!(settings.risk, Some(Risk::High));
        assert_eq!(settings.max_api_cost, Some(Decimal::new(5, 2)));
        assert_eq!(settings.policy.min_coverage, 0.75);
        assert_eq!(settings.policy.hours_per_month, Decimal::from(720));
    }

    #[test]
    fn thresholds_must_not_cross() {
        let text = "[policy]\noverprovisioned_below_percent = 70\n";
        assert!(parse(text).is_err());
    }
}
