//! `gpucost.toml`: what a user would otherwise type every time, and the
//! thresholds of the policy.

use super::reader::{Problem, Reader};
use crate::catalog;
use crate::domain::{Policy, Risk, nearest_names, parse_duration, shown};
use crate::sources::files::read_written_text;
use crate::sources::prometheus::MappedMetric;
use jiff::SignedDuration;
use rust_decimal::Decimal;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

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
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
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
    let text = read_written_text(path).map_err(|source| ConfigError::Io {
        path: path.to_owned(),
        source,
    })?;
    let mut settings = parse(&text).map_err(|problems| ConfigError::Invalid {
        path: path.to_owned(),
        problems,
    })?;
    settings.path = Some(path.to_owned());
    // A file that another file names stands beside it.
    if let (Some(file), Some(folder)) = (&mut settings.prices.file, path.parent()) {
        *file = folder.join(&file);
    }
    Ok(settings)
}

fn parse(text: &str) -> Result<SettingsFile, Vec<Problem>> {
    let (mut reader, table) = Reader::parse(text)?;
    let settings = reader.settings(table.get_ref());
    reader.end(settings)
}

/// Formats that commands know; a command refuses those that it does not have.
const FORMATS: &[&str] = &[
    "table",
    "wide",
    "json",
    "csv",
    "xlsx",
    "focus",
    "markdown",
    "html",
    "github",
    "sarif",
    "junit",
    "slack",
    "script",
    "openmetrics",
];

const KEYS: &[&str] = &[
    "profile",
    "region",
    "lookback",
    "risk",
    "format",
    "metrics_namespace",
    "max_api_cost",
    "prometheus",
    "prices",
    "policy",
];

const PRICE_KEYS: &[&str] = &["file", "max_age", "discount_percent"];

const POLICY_KEYS: &[&str] = &[
    "hours_per_month",
    "overprovisioned_below_percent",
    "underutilized_below_percent",
    "min_hours",
    "min_coverage_percent",
    "idle_min_days",
    "commit_min_days",
    "works_cpu_percent",
    "saturated_above_percent",
    "bursty_p95_percent",
    "vram_headroom",
    "vcpu_headroom",
    "spot_interruptions_per_day",
    "serving_target_percent",
    "slowdown_limit",
    "max_latency_ratio",
    "min_replicas",
    "ended_after_hours",
    "stale_after_hours",
    "workload_tag",
    "time_zone",
];

impl Reader<'_> {
    fn settings(&mut self, table: &DeTable<'_>) -> SettingsFile {
        let mut settings = SettingsFile::default();
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "profile" => settings.profile = self.string(value),
                "region" => settings.region = self.string(value),
                "lookback" => {
                    settings.lookback = self.string(value);
                    if let Some(Err(message)) = settings.lookback.as_deref().map(parse_duration) {
                        self.problem(value.span(), message);
                    }
                }
                "risk" => {
                    settings.risk = self.string(value).and_then(|name| {
                        let known = Risk::from_name(&name);
                        if known.is_none() {
                            let message = format!("`{name}` is not low, medium or high");
                            self.problem(value.span(), message);
                        }
                        known
                    });
                }
                "format" => {
                    settings.format = self.string(value);
                    if let Some(name) = settings.format.as_deref()
                        && !FORMATS.contains(&name)
                    {
                        let message = format!("`{name}` is not one of {}", FORMATS.join(", "));
                        self.problem(value.span(), message);
                    }
                }
                "metrics_namespace" => settings.metrics_namespace = self.string(value),
                "max_api_cost" => settings.max_api_cost = self.decimal(value),
                "prometheus" => match value.get_ref() {
                    DeValue::Table(table) => settings.metric_map = self.prometheus(table),
                    _ => self.problem(value.span(), "`prometheus` must be a table".to_owned()),
                },
                "prices" => match value.get_ref() {
                    DeValue::Table(prices) => self.prices(prices, &mut settings),
                    _ => self.problem(value.span(), "`prices` must be a table".to_owned()),
                },
                "policy" => match value.get_ref() {
                    DeValue::Table(policy) => {
                        self.policy(policy, &mut settings.policy);
                        self.check_order(key.span(), &settings.policy);
                    }
                    _ => self.problem(value.span(), "`policy` must be a table".to_owned()),
                },
                unknown => self.unknown(key.span(), unknown, KEYS),
            }
        }
        settings
    }

    fn prices(&mut self, table: &DeTable<'_>, settings: &mut SettingsFile) {
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "file" => settings.prices.file = self.string(value).map(PathBuf::from),
                "max_age" => {
                    let parsed = self.string(value).as_deref().map(parse_duration);
                    match parsed.transpose() {
                        Ok(age) => settings.prices.max_age = age,
                        Err(message) => self.problem(value.span(), message),
                    }
                }
                "discount_percent" => match value.get_ref() {
                    DeValue::Table(discounts) => {
                        self.discounts(discounts, &mut settings.policy.discount_percent);
                    }
                    _ => self.problem(
                        value.span(),
                        "`discount_percent` must be a table".to_owned(),
                    ),
                },
                unknown => self.unknown(key.span(), unknown, PRICE_KEYS),
            }
        }
    }

    fn discounts(&mut self, table: &DeTable<'_>, discounts: &mut BTreeMap<String, Decimal>) {
        for (key, value) in table {
            let family = key.get_ref().as_ref();
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
            let Some(text) = self.text_of_number(value) else {
                continue;
            };
            let percent: Option<Decimal> = text.parse().ok();
            match percent
                .filter(|percent| !percent.is_sign_negative() && *percent < Decimal::ONE_HUNDRED)
            {
                Some(percent) => {
                    discounts.insert(family.to_owned(), percent);
                }
                None => {
                    let message = "expected a percentage from 0 to below 100".to_owned();
                    self.problem(value.span(), message);
                }
            }
        }
    }

    fn policy(&mut self, table: &DeTable<'_>, policy: &mut Policy) {
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            match name {
                "hours_per_month" => {
                    if let Some(hours) = self.number(value, 1.0, 744.0) {
                        policy.hours_per_month =
                            Decimal::try_from(hours).unwrap_or(policy.hours_per_month);
                    }
                }
                "overprovisioned_below_percent" => {
                    self.set(value, 0.0, 100.0, &mut policy.overprovisioned_below_percent);
                }
                "underutilized_below_percent" => {
                    self.set(value, 0.0, 100.0, &mut policy.underutilized_below_percent);
                }
                "min_hours" => self.set(value, 0.0, 8_760.0, &mut policy.min_hours),
                "min_coverage_percent" => {
                    if let Some(percent) = self.number(value, 0.0, 100.0) {
                        policy.min_coverage = percent / 100.0;
                    }
                }
                "idle_min_days" => self.set(value, 1.0, 365.0, &mut policy.idle_min_days),
                "commit_min_days" => self.set(value, 0.0, 365.0, &mut policy.commit_min_days),
                "works_cpu_percent" => {
                    self.set(value, 0.0, 100.0, &mut policy.works_cpu_percent);
                }
                "saturated_above_percent" => {
                    self.set(value, 0.0, 100.0, &mut policy.saturated_above_percent);
                }
                "bursty_p95_percent" => {
                    self.set(value, 0.0, 100.0, &mut policy.bursty_p95_percent);
                }
                "vram_headroom" => self.set(value, 1.0, 10.0, &mut policy.vram_headroom),
                "vcpu_headroom" => self.set(value, 1.0, 10.0, &mut policy.vcpu_headroom),
                "spot_interruptions_per_day" => {
                    self.set(value, 0.0, 24.0, &mut policy.spot_interruptions_per_day);
                }
                "serving_target_percent" => {
                    self.set(value, 1.0, 100.0, &mut policy.serving_target_percent);
                }
                "slowdown_limit" => self.set(value, 1.0, 10.0, &mut policy.slowdown_limit),
                "max_latency_ratio" => self.set(value, 1.0, 100.0, &mut policy.max_latency_ratio),
                "min_replicas" => {
                    if let Some(count) = self.number(value, 1.0, 1_000.0) {
                        policy.min_replicas = count.ceil() as u32;
                    }
                }
                "ended_after_hours" => {
                    self.set(value, 0.0, 8_760.0, &mut policy.ended_after_hours);
                }
                "stale_after_hours" => {
                    self.set(value, 1.0, 8_760.0, &mut policy.stale_after_hours);
                }
                "workload_tag" => {
                    if let Some(tag) = self.string(value) {
                        policy.workload_tag = tag;
                    }
                }
                "time_zone" => {
                    policy.time_zone = self.string(value);
                    if let Some(name) = &policy.time_zone
                        && catalog::time_zone(name).is_none()
                    {
                        let message = format!(
                            "`{name}` is not a known time zone; use a name such as Europe/Berlin"
                        );
                        self.problem(value.span(), message);
                    }
                }
                unknown => self.unknown(key.span(), unknown, POLICY_KEYS),
            }
        }
    }

    fn check_order(&mut self, span: Range<usize>, policy: &Policy) {
        if policy.overprovisioned_below_percent > policy.underutilized_below_percent {
            self.problem(
                span,
                "overprovisioned_below_percent is above underutilized_below_percent".to_owned(),
            );
        }
    }

    fn set(&mut self, value: &Spanned<DeValue<'_>>, least: f64, most: f64, into: &mut f64) {
        if let Some(number) = self.number(value, least, most) {
            *into = number;
        }
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
        let found: Vec<(usize, &str)> = problems
            .iter()
            .map(|problem| (problem.line, problem.message.as_str()))
            .collect();
        let expected = [
            (
                1,
                "`a` has no `scale`: 100 for a share of one, 1 for a percentage",
            ),
            (
                3,
                "`b` has no `scale`: 100 for a share of one, 1 for a percentage",
            ),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn every_bad_metric_is_shown_with_its_line() {
        let text = "[prometheus]\nurl = \"http://evil.example\"\n\
                    [prometheus.metric_map.a]\nquantity = \"speed\"\nscale = 0\n\
                    [prometheus.metric_map.b]\nindx = \"card\"\n\
                    [prometheus.metric_map]\nc = 1\n";
        let problems = parse(text).expect_err("six errors");
        let found: Vec<(usize, &str)> = problems
            .iter()
            .map(|problem| (problem.line, problem.message.as_str()))
            .collect();
        let expected = [
            (2, "unknown key `url`"),
            (4, "`speed` is not one of utilization, engine-active"),
            (5, "expected a number from"),
            (6, "`b` has no `quantity`"),
            (7, "unknown key `indx` (did you mean index?)"),
            (9, "`c` must be a table with a `quantity`"),
        ];
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for ((line, message), (at, start)) in found.into_iter().zip(expected) {
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
