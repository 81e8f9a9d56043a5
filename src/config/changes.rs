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
