//! Figures of scaling policies inside sentences.

use crate::domain::separated;
use crate::planners::autoscale::Trigger;

/// A target, such as `60% utilization`.
pub(super) fn target(trigger: Trigger) -> String {
    match trigger {
        Trigger::Utilization { target_percent } => format!("{target_percent}% utilization"),
        Trigger::Queue {
            requests_per_instance,
            ..
        } => format!("{requests_per_instance} requests per instance"),
    }
}

/// Hours with separators and up to two decimals.
pub(super) fn hours_of(hours: f64) -> String {
    let text = format!("{hours:.2}");
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let rest = rest.trim_end_matches('0');
    let point = if rest.is_empty() { "" } else { "." };
    format!("{}{point}{rest}", separated(whole))
}

pub(super) fn minutes(seconds: i64) -> f64 {
    seconds as f64 / 60.0
}

/// A name as Kubernetes accepts it: small letters, digits and dashes, 40 at most.
pub(super) fn label(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let plain = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    let plain: String = plain.take(40).collect();
    let plain = plain.trim_matches('-');
    if plain.is_empty() {
        "workload".to_owned()
    } else {
        plain.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_as_in_prose() {
        assert_eq!(hours_of(1_234.5), "1,234.5");
        assert_eq!(hours_of(152.0), "152");
        assert_eq!(hours_of(0.126), "0.13");
        let half = Trigger::Utilization {
            target_percent: 62.5,
        };
        assert_eq!(target(half), "62.5% utilization");
    }

    #[test]
    fn names_of_kubernetes_are_plain() {
        assert_eq!(label("asg:Speech_Online"), "asg-speech-online");
        assert_eq!(label("--\u{1b}[2J"), "2j");
        assert_eq!(label("模型"), "workload");
    }
}
