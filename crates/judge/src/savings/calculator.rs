//! The reserved-instance calculator: what instances that run so many hours of
//! every month cost on demand and under a commitment.
//!
//! The familiar form counts a year as 12 months of use, `12·m·n` hours. Reserved
//! hours are billed used or not, so the billed form stands beside it, with 8 760
//! hours a year. Break-even is judged on what is billed.

use crate::domain::{
    CommitmentTerm, HourlyRate, Instalments, Money, OperatingSystem, PaymentOption, PriceOption,
    PriceQuote,
};
use rust_decimal::Decimal;

/// Hours of a month in which a commitment is billed: 8 760 / 12.
pub const BILLED_HOURS_PER_MONTH: u32 = 730;
/// Months of full use before usage is taken to halve.
pub const MONTHS_BEFORE_HALVING: u32 = 6;
const MONTHS_PER_YEAR: u32 = 12;

/// Instances of one type that run so many hours of every month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SteadyUse {
    /// On-demand rate `d` of one instance.
    pub on_demand: HourlyRate,
    /// Instances, `n`.
    pub count: u32,
    /// Hours of a month that each of them runs, `m`.
    pub hours_per_month: Decimal,
}

impl SteadyUse {
    /// On demand per month: `d·m·n`.
    pub fn on_demand_monthly(&self) -> Money {
        self.on_demand_for(Decimal::from(self.count))
    }

    /// On demand per year: `d·m·12·n`.
    pub fn on_demand_1yr_total(&self) -> Money {
        self.on_demand_for(Decimal::from(self.count) * Decimal::from(MONTHS_PER_YEAR))
    }

    /// On demand over a term in which half of the instances, rounded down, are
    /// left from the seventh month on: `d·m·(6·n + (months − 6)·floor(n/2))`.
    pub fn on_demand_when_halved(&self, term: CommitmentTerm) -> Money {
        let full = Decimal::from(MONTHS_BEFORE_HALVING) * Decimal::from(self.count);
        let halved = Decimal::from(months(term) - MONTHS_BEFORE_HALVING) * self.half();
        self.on_demand_for(full + halved)
    }

    fn half(&self) -> Decimal {
        Decimal::from(self.count / 2)
    }

    fn on_demand_for(&self, instance_months: Decimal) -> Money {
        self.on_demand.times_hours(self.hours_per_month * instance_months).rounded()
    }
}

pub fn months(term: CommitmentTerm) -> u32 {
    MONTHS_PER_YEAR * u32::from(term.years)
}

/// How a quote of a commitment is paid. Where the quote states only an effective
/// rate, as savings plans do, the payment option says how it splits: half or all
/// of the term's total up front.
pub fn instalments(quote: &PriceQuote, term: CommitmentTerm) -> Instalments {
    if let Some(stated) = quote.instalments {
        return stated;
    }
    let rate = quote.rate.amount();
    let total = rate * Decimal::from(term.hours());
    match term.payment {
        PaymentOption::NoUpfront => Instalments { upfront: Decimal::ZERO, hourly: rate },
        PaymentOption::PartialUpfront => {
            Instalments { upfront: total / Decimal::TWO, hourly: rate / Decimal::TWO }
        }
        PaymentOption::AllUpfront => Instalments { upfront: total, hourly: Decimal::ZERO },
    }
}

/// A commitment for every instance of a steady use, beside on-demand. All money
/// is rounded to cents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitmentFigures {
    pub term: CommitmentTerm,
    /// Upfront `U` and hourly rate `h` of one instance.
    pub instalments: Instalments,
    /// `U/T + h` per hour of the term.
    pub effective_hourly: Decimal,
    /// Paid at once for all instances: `U·n`.
    pub upfront_total: Money,
    /// A year in the familiar form: `(U/years + h·m·12)·n`.
    pub annual_total: Money,
    /// On-demand year less that; below zero when the commitment is more expensive.
    pub annual_savings: Money,
    /// The same in percent of the on-demand year.
    pub annual_savings_pct: Decimal,
    /// Billed over the whole term, used or not: `(U + h·T)·n`.
    pub billed_total: Money,
    /// The same for a year of it.
    pub billed_annual: Money,
    /// On-demand year less the billed year, in percent of the on-demand year.
    pub billed_savings_pct: Decimal,
    /// `effective_hourly / d`: the share of all hours, 0–1, from which on the
    /// commitment is cheaper; above 1 when it never is.
    pub break_even_utilization: Decimal,
    /// The first month `k` of the term in which on-demand has cost as much as
    /// the commitment, upfront paid at once: `k·d·m ≥ U + k·h·730`. Absent when
    /// there is none.
    pub break_even_month: Option<u32>,
    /// [`SteadyUse::on_demand_when_halved`] less what is billed over the term;
    /// below zero it is the loss.
    pub balance_when_halved: Money,
}

impl CommitmentFigures {
    /// The figures of a commitment in the currency of the use.
    pub fn of(used: &SteadyUse, term: CommitmentTerm, paid: Instalments) -> Self {
        let currency = used.on_demand.currency();
        let money = |amount| Money::new(amount, currency).rounded();
        let count = Decimal::from(used.count);
        let years = Decimal::from(term.years);
        let term_hours = Decimal::from(term.hours());
        let on_demand_year = used.on_demand_1yr_total().amount();
        let used_hours = used.hours_per_month * Decimal::from(MONTHS_PER_YEAR);
        let annual = money((paid.upfront / years + paid.hourly * used_hours) * count);
        let billed = (paid.upfront + paid.hourly * term_hours) * count;
        let billed_annual = money(billed / years);
        let saved = |cost: Money| money(on_demand_year - cost.amount());
        let percent = |cost: Money| {
            (saved(cost).amount() * Decimal::ONE_HUNDRED)
                .checked_div(on_demand_year)
                .unwrap_or_default()
        };
        let effective_hourly = paid.upfront / term_hours + paid.hourly;
        Self {
            term,
            instalments: paid,
            effective_hourly,
            upfront_total: money(paid.upfront * count),
            annual_total: annual,
            annual_savings: saved(annual),
            annual_savings_pct: percent(annual),
            billed_total: money(billed),
            billed_annual,
            billed_savings_pct: percent(billed_annual),
            break_even_utilization: effective_hourly / used.on_demand.amount(),
            break_even_month: break_even_month(
                used.on_demand.amount() * used.hours_per_month,
                paid,
                term,
            ),
            balance_when_halved: money(
                used.on_demand_when_halved(term).amount() - money(billed).amount(),
            ),
        }
    }
}

/// The first month of a term in which the hours that a commitment replaces in each of them have
/// cost as much on demand as it has, upfront paid at once; none where nothing is paid.
pub fn break_even_month(replaced: Decimal, paid: Instalments, term: CommitmentTerm) -> Option<u32> {
    let reserved = paid.hourly * Decimal::from(BILLED_HOURS_PER_MONTH);
    let is_bought = !(paid.upfront.is_zero() && paid.hourly.is_zero());
    (1..=months(term)).filter(|_| is_bought).find(|month| {
        let passed = Decimal::from(*month);
        passed * replaced >= paid.upfront + passed * reserved
    })
}

/// One commitment that is sold, with its figures.
#[derive(Debug, Clone, PartialEq)]
pub struct PricedCommitment {
    /// What is bought.
    pub option: PriceOption,
    /// The price; absent when the user stated it on the command line.
    pub quote: Option<PriceQuote>,
    pub figures: CommitmentFigures,
}

/// Everything that `gpucost reserved` says about one type.
#[derive(Debug, Clone, PartialEq)]
pub struct ReservedReport {
    pub instance_type: String,
    pub region: String,
    pub operating_system: OperatingSystem,
    /// How much of it runs, at what on-demand rate.
    pub used: SteadyUse,
    /// The on-demand price; absent when the user stated it on the command line.
    pub on_demand: Option<PriceQuote>,
    /// Payment that the calculator's figures are of, where it is sold.
    pub payment: PaymentOption,
    /// The commitment of one year behind the calculator's figures; absent where it is not sold.
    pub one_year: Option<PricedCommitment>,
    /// The same of three years.
    pub three_years: Option<PricedCommitment>,
    /// Every commitment that is sold: reserved instances, then savings plans,
    /// each by term and payment.
    pub commitments: Vec<PricedCommitment>,
    /// An hour in a Capacity Block.
    pub capacity_block: Option<PriceQuote>,
}

impl ReservedReport {
    /// Every price that the figures rest on and that the user did not state on
    /// the command line.
    pub fn quotes(&self) -> impl Iterator<Item = &PriceQuote> {
        let sold = self.commitments.iter().map(|sold| sold.quote.as_ref());
        [self.on_demand.as_ref(), self.capacity_block.as_ref()].into_iter().chain(sold).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Currency;

    fn decimal(text: &str) -> Decimal {
        text.parse().expect("a decimal")
    }

    fn used(on_demand: &str, count: u32, hours: u32) -> SteadyUse {
        SteadyUse {
            on_demand: HourlyRate::new(decimal(on_demand), Currency::Usd).expect("positive"),
            count,
            hours_per_month: Decimal::from(hours),
        }
    }

    fn figures(used: &SteadyUse, term: usize, upfront: &str, hourly: &str) -> CommitmentFigures {
        let paid = Instalments { upfront: decimal(upfront), hourly: decimal(hourly) };
        CommitmentFigures::of(used, CommitmentTerm::ALL[term], paid)
    }

    fn usd(text: &str) -> Money {
        Money::new(decimal(text), Currency::Usd)
    }

    #[test]
    fn eight_instances_for_720_hours_a_month() {
        let used = used("3.06", 8, 720);
        let one_year = figures(&used, 0, "0", "1.82");
        let three_years = figures(&used, 3, "0", "1.31");
        assert_eq!(used.on_demand_monthly(), usd("17625.60"));
        assert_eq!(used.on_demand_1yr_total(), usd("211507.20"));
        assert_eq!(one_year.annual_total, usd("125798.40"));
        assert_eq!(one_year.annual_savings, usd("85708.80"));
        let percent = |value: Decimal| value.round_dp(1).to_string();
        assert_eq!(percent(one_year.annual_savings_pct), "40.5");
        assert_eq!(three_years.annual_total, usd("90547.20"));
        assert_eq!(percent(three_years.annual_savings_pct), "57.2");
        // 1.82 × 8 760 × 8 and 1.31 × 26 280 × 8.
        assert_eq!(one_year.billed_total, usd("127545.60"));
        assert_eq!(three_years.billed_total, usd("275414.40"));
        // 3.06 × 720 × (6 × 8 + 6 × 4) = 158 630.40 and × (6 × 8 + 30 × 4) = 370 137.60.
        assert_eq!(one_year.balance_when_halved, usd("31084.80"));
        assert_eq!(three_years.balance_when_halved, usd("94723.20"));
        assert_eq!(one_year.break_even_month, Some(1));
    }

    #[test]
    fn one_instance_around_the_clock() {
        let used = used("3.06", 1, 730);
        let reserved = figures(&used, 0, "0", "1.82");
        assert_eq!(used.on_demand_1yr_total(), usd("26805.60"));
        assert_eq!(reserved.annual_total, usd("15943.20"));
        assert_eq!(reserved.annual_savings, usd("10862.40"));
        assert_eq!(reserved.billed_total, reserved.annual_total);
        // Half of one is none: 3.06 × 730 × 6 = 13 402.80 of use.
        assert_eq!(reserved.balance_when_halved, usd("-2540.40"));
    }

    #[test]
    fn upfront_is_spread_over_the_years_and_paid_at_once() {
        // Published: a p4d.24xlarge, three years, partial upfront.
        let used = used("21.957642", 2, 730);
        let reserved = figures(&used, 4, "114053.19", "4.339923");
        // 114 053.19 / 26 280 = 4.339923516.
        assert_eq!(reserved.effective_hourly.round_dp(5), decimal("8.67985"));
        assert_eq!(reserved.break_even_utilization.round_dp(4), decimal("0.3953"));
        // (38 017.73 + 4.339923 × 8 760) × 2 = 2 × 76 035.45548.
        assert_eq!(reserved.annual_total, usd("152070.91"));
        // Each month 16 029.07866 against 3 168.14379: 114 053.19 / 12 860.93487 = 8.87.
        assert_eq!(reserved.break_even_month, Some(9));
        assert_eq!(reserved.upfront_total, usd("228106.38"));
    }

    #[test]
    fn break_even_is_within_the_term_exactly_when_use_reaches_its_share() {
        // 1.5 / 2 = 75% of 730 h are 547.5 h a month.
        for (hours, month) in [(547, None), (548, Some(12))] {
            let used = used("2", 1, hours);
            assert_eq!(figures(&used, 2, "13140", "0").break_even_month, month);
        }
        let more_expensive = figures(&used("1", 1, 730), 0, "0", "1.5");
        assert_eq!(more_expensive.break_even_month, None);
        assert_eq!(more_expensive.annual_savings, usd("-4380"));
        assert_eq!(more_expensive.break_even_utilization, decimal("1.5"));
    }

    #[test]
    fn a_savings_plan_splits_by_its_payment() {
        let quote = PriceQuote {
            rate: HourlyRate::new(decimal("2"), Currency::Usd).expect("positive"),
            instalments: None,
            origin: crate::domain::PriceOrigin::Api,
            basis: crate::domain::PriceBasis::Observed,
            effective_date: jiff::civil::date(2026, 7, 20),
            seen_on: jiff::civil::date(2026, 7, 20),
            source: "test".to_owned(),
        };
        let split: Vec<(String, String)> = CommitmentTerm::ALL[..3]
            .iter()
            .map(|term| instalments(&quote, *term))
            .map(|paid| (paid.upfront.to_string(), paid.hourly.to_string()))
            .collect();
        let pair = |upfront: &str, hourly: &str| (upfront.to_owned(), hourly.to_owned());
        assert_eq!(split, [pair("0", "2"), pair("8760", "1"), pair("17520", "0")]);
    }
}
