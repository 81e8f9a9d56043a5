//! Key figures of a fleet, and what a unit of its work costs. `docs/kpis.md` defines each.

use super::Money;
use super::named::named_enum;
use jiff::SignedDuration;
use jiff::civil::Date;
use rust_decimal::Decimal;

named_enum! {
    /// A key figure, as audits and comparisons of audits call it. GPU hours are those of a
    /// month at today's running time.
    Kpi {
        GpuHours = "gpu_hours_monthly",
        /// GPU hours times mean utilization.
        UsefulGpuHours = "useful_gpu_hours_monthly",
        /// GPU hours without any work.
        IdleGpuHours = "idle_gpu_hours_monthly",
        /// GPU hours of which no use is known.
        UnmeasuredGpuHours = "unmeasured_gpu_hours_monthly",
        /// Useful of the measured GPU hours.
        Utilization = "utilization_percent",
        /// Mean utilization, each instance weighted by its cost.
        UtilizationByCost = "utilization_by_cost_percent",
        CostPerUsefulGpuHour = "cost_per_useful_gpu_hour",
        /// Training jobs that ended and whose cost is known.
        TrainingJobs = "training_jobs",
        CostPerTrainingJob = "cost_per_training_job",
        /// The cost of all training jobs that ended, over those that completed.
        CostPerCompletedTrainingJob = "cost_per_completed_training_job",
        /// Median time from the launch of an instance to the first work of a GPU.
        TimeToFirstWork = "time_to_first_work_hours",
    }
}

impl Kpi {
    /// Whether it is an amount of money.
    pub fn is_money(self) -> bool {
        matches!(
            self,
            Self::CostPerUsefulGpuHour
                | Self::CostPerTrainingJob
                | Self::CostPerCompletedTrainingJob
        )
    }
}

/// The value of a key figure: an exact amount, or a measurement. Rounded as reports print it,
/// so that one that is read back is the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KpiValue {
    /// Up to six decimals.
    Money(Money),
    /// Up to four decimals.
    Measured(f64),
}

impl KpiValue {
    /// An amount of a small unit.
    pub fn rate(amount: Money) -> Self {
        Self::Money(to_six_decimals(amount))
    }

    /// A measurement; `None` for what is not a number.
    pub fn measured(value: f64) -> Option<Self> {
        let value = value.is_finite().then_some(value)?;
        Some(Self::Measured((value * 10_000.0).round() / 10_000.0))
    }

    /// This less another; absent where the two are not alike.
    pub fn minus(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Money(left), Self::Money(right)) => {
                left.checked_sub(right).ok().map(Self::Money)
            }
            (Self::Measured(left), Self::Measured(right)) => Self::measured(left - right),
            (Self::Money(_), Self::Measured(_)) | (Self::Measured(_), Self::Money(_)) => None,
        }
    }
}

fn to_six_decimals(amount: Money) -> Money {
    Money::new(amount.amount().round_dp(6), amount.currency())
}

/// How much work a workload or a training job did, as its owner counts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkUnits {
    /// Name or id of the workload, or name of the training job.
    pub name: String,
    /// What was counted, such as `tokens`.
    pub unit: String,
    pub count: Decimal,
    /// The time in which it was counted; absent for the window of the audit, and for all of
    /// a training job.
    pub window: Option<SignedDuration>,
}

/// Units of work of one day of UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatedUnits {
    pub day: Date,
    pub units: WorkUnits,
}

/// What units of work cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitCost {
    pub name: String,
    pub unit: String,
    pub count: Decimal,
    /// Of all of them, in cents; absent where a part has no price.
    pub cost: Option<Money>,
}

/// The number of units that a price is for: 1,000 inferences, a million tokens, one of anything
/// else.
pub fn units_of_price(unit: &str) -> u32 {
    let unit = unit.trim().to_ascii_lowercase();
    match unit.strip_suffix('s').unwrap_or(&unit) {
        "inference" | "request" | "invocation" => 1_000,
        "token" => 1_000_000,
        _ => 1,
    }
}

impl UnitCost {
    /// The number of units that a price is for, as [`units_of_price`].
    pub fn per(&self) -> u32 {
        units_of_price(&self.unit)
    }

    /// Price of so many, to six decimals; absent without a cost, and of no unit.
    pub fn price(&self) -> Option<Money> {
        let cost = self.cost?;
        let product = cost.amount().checked_mul(Decimal::from(self.per()))?;
        let amount = product.checked_div(self.count)?;
        Some(to_six_decimals(Money::new(amount, cost.currency())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Currency;

    fn usd(text: &str) -> Money {
        Money::new(text.parse().expect("a decimal"), Currency::Usd)
    }

    fn of(unit: &str, count: &str, cost: Option<&str>) -> UnitCost {
        UnitCost {
            name: "chat".to_owned(),
            unit: unit.to_owned(),
            count: count.parse().expect("a decimal"),
            cost: cost.map(usd),
        }
    }

    #[test]
    fn units_are_priced_by_the_number_that_people_compare() {
        // 36 × 1,000 ÷ 48,000 = 0.75; 36 × 1,000,000 ÷ 90,000,000 = 0.4; 36 ÷ 90 = 0.4.
        for (unit, count, per, price) in [
            ("inferences", "48000", 1_000, "0.75"),
            ("Request", "48000", 1_000, "0.75"),
            ("tokens", "90000000", 1_000_000, "0.4"),
            ("epochs", "90", 1, "0.4"),
        ] {
            let unit_cost = of(unit, count, Some("36"));
            assert_eq!((unit_cost.per(), unit_cost.price()), (per, Some(usd(price))), "{unit}");
        }
    }

    #[test]
    fn nothing_done_has_no_price() {
        assert_eq!(of("epochs", "0", Some("36")).price(), None);
        assert_eq!(of("epochs", "9", None).price(), None);
        // 36 × 10^6 fits, and 79,228,162,514,264,337,593,543,950,335 × 1,000 does not.
        let most = of("inferences", "1", Some("79228162514264337593543950335"));
        assert_eq!(most.price(), None);
    }

    #[test]
    fn amounts_and_measurements_have_no_difference() {
        let amount = KpiValue::rate(usd("1.2345678"));
        assert_eq!(amount, KpiValue::Money(usd("1.234568")));
        let half = KpiValue::measured(0.5).expect("a number");
        assert_eq!(amount.minus(half), None);
        let change = KpiValue::measured(12.75).and_then(|value| value.minus(half));
        assert_eq!(change, Some(KpiValue::Measured(12.25)));
        assert_eq!(KpiValue::measured(f64::NAN), None);
    }
}
