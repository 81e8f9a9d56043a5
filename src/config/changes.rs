//! What a settings file changes of amounts, findings and what is read, so that a gate can say
//! so: whoever may change the file may open the gate with it.

use super::settings::SettingsFile;
use crate::analysis::gate::{SettingChange, SettingsUse};
use crate::domain::{Policy, shown};
use std::path::Path;

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

/// The settings of a policy by their keys, in the order of the documentation; discounts are
/// apart. A field that is new has to be put here or among those without a key.
fn figures(policy: &Policy) -> Vec<(&'static str, String)> {
    let Policy {
        hours_per_month,
        overprovisioned_below_percent,
        underutilized_below_percent,
        min_hours,
        min_coverage,
        measured_coverage: _,
        idle_min_days,
        commit_min_days,
        works_cpu_percent,
        idle_held_vram_percent: _,
        saturated_above_percent,
        bursty_p95_percent,
        vram_headroom,
        vcpu_headroom,
        spot_interruptions_per_day,
        serving_target_percent,
        slowdown_limit,
        max_latency_ratio,
        min_replicas,
        ended_after_hours,
        stale_after_hours,
        workload_tag,
        time_zone,
        discount_percent: _,
        rejected: _,
    } = policy;
    // Of a share, a percentage without what the division by a hundred leaves of it.
    let min_coverage_percent = (min_coverage * 1e8).round() / 1e6;
    vec![
        ("hours_per_month", hours_per_month.normalize().to_string()),
        ("overprovisioned_below_percent", overprovisioned_below_percent.to_string()),
        ("underutilized_below_percent", underutilized_below_percent.to_string()),
        ("min_hours", min_hours.to_string()),
        ("min_coverage_percent", min_coverage_percent.to_string()),
        ("idle_min_days", idle_min_days.to_string()),
        ("commit_min_days", commit_min_days.to_string()),
        ("works_cpu_percent", works_cpu_percent.to_string()),
        ("saturated_above_percent", saturated_above_percent.to_string()),
        ("bursty_p95_percent", bursty_p95_percent.to_string()),
        ("vram_headroom", vram_headroom.to_string()),
        ("vcpu_headroom", vcpu_headroom.to_string()),
        ("spot_interruptions_per_day", spot_interruptions_per_day.to_string()),
        ("serving_target_percent", serving_target_percent.to_string()),
        ("slowdown_limit", slowdown_limit.to_string()),
        ("max_latency_ratio", max_latency_ratio.to_string()),
        ("min_replicas", min_replicas.to_string()),
        ("ended_after_hours", ended_after_hours.to_string()),
        ("stale_after_hours", stale_after_hours.to_string()),
        ("workload_tag", workload_tag.clone()),
        ("time_zone", time_zone.clone().unwrap_or_else(|| "UTC".to_owned())),
    ]
}
