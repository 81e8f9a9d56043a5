//! Key figures in words and in JSON, the same in every report.

use super::text::{ABSENT, json_figure, json_rate, unit_price};
use crate::domain::{Kpi, KpiValue, Money, separated};

/// What people call a key figure.
pub(in crate::report) fn title(kpi: Kpi) -> &'static str {
    match kpi {
        Kpi::GpuHours => "GPU hours per month",
        Kpi::UsefulGpuHours => "useful GPU hours per month",
        Kpi::IdleGpuHours => "idle GPU hours per month",
        Kpi::UnmeasuredGpuHours => "unmeasured GPU hours per month",
        Kpi::Utilization => "utilization",
        Kpi::UtilizationByCost => "utilization weighted by cost",
        Kpi::CostPerUsefulGpuHour => "cost per useful GPU hour",
        Kpi::TrainingJobs => "training jobs",
        Kpi::CostPerTrainingJob => "cost per training job",
        Kpi::CostPerCompletedTrainingJob => "cost per completed training job",
        Kpi::TimeToFirstWork => "hours from launch to first GPU work",
    }
}

/// A value in a table.
pub(in crate::report) fn shown(kpi: Kpi, value: Option<KpiValue>) -> String {
    match value {
        None => ABSENT.to_owned(),
        Some(KpiValue::Money(amount)) => unit_price(amount),
        Some(KpiValue::Measured(value)) => measured(kpi, value),
    }
}

/// A change in a table.
pub(in crate::report) fn signed(kpi: Kpi, change: Option<KpiValue>) -> String {
    let text = shown(kpi, change);
    let is_rise = match change {
        None => false,
        Some(KpiValue::Money(amount)) => is_above_zero(amount),
        Some(KpiValue::Measured(value)) => value > 0.0,
    };
    if is_rise { format!("+{text}") } else { text }
}

pub(in crate::report) fn is_above_zero(amount: Money) -> bool {
    !amount.amount().is_zero() && amount.amount().is_sign_positive()
}

fn measured(kpi: Kpi, value: f64) -> String {
    let (decimals, unit) = match kpi {
        Kpi::Utilization | Kpi::UtilizationByCost => (1, "%"),
        Kpi::TrainingJobs => (0, ""),
        Kpi::TimeToFirstWork => (2, ""),
        _ => (1, ""),
    };
    let text = format!("{:.decimals$}", value.abs());
    let is_zero = !text.contains(|c: char| ('1'..='9').contains(&c));
    let sign = if value < 0.0 && !is_zero { "-" } else { "" };
    let (whole, rest) = match text.split_once('.') {
        Some((whole, rest)) => (whole, format!(".{rest}")),
        None => (text.as_str(), String::new()),
    };
    format!("{sign}{}{rest}{unit}", separated(whole))
}

/// A value as a JSON number.
pub(in crate::report) fn json_value(value: KpiValue) -> Option<f64> {
    match value {
        KpiValue::Money(amount) => json_rate(amount.amount()),
        KpiValue::Measured(value) => Some(json_figure(value)),
    }
}

/// How many units a price is for, such as `1,000 inferences` or `1 epoch`.
pub(in crate::report) fn per(number: u32, unit: &str) -> String {
    match number {
        1 => unit.to_owned(),
        number => format!("{} {unit}", separated(&number.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Currency;

    #[test]
    fn values_have_the_decimals_of_their_unit() {
        let of = |kpi, value| shown(kpi, Some(KpiValue::Measured(value)));
        assert_eq!(of(Kpi::GpuHours, 79_570.04), "79,570.0");
        assert_eq!(of(Kpi::Utilization, 20.65), "20.6%");
        assert_eq!(of(Kpi::TrainingJobs, 1_200.0), "1,200");
        assert_eq!(shown(Kpi::Utilization, None), "—");
        let amount = "1.2345".parse().expect("a decimal");
        let change = KpiValue::Money(Money::new(amount, Currency::Usd));
        assert_eq!(signed(Kpi::CostPerUsefulGpuHour, Some(change)), "+$1.2345");
        let change = Some(KpiValue::Measured(-1_000.5));
        assert_eq!(signed(Kpi::GpuHours, change), "-1,000.5");
        assert_eq!(per(1_000_000, "tokens"), "1,000,000 tokens");
        assert_eq!(per(1, "epoch"), "epoch");
    }
}
