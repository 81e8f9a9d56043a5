//! Exact money. Floats lose cents and hourly/monthly errors are the field's
//! classic bug, so amounts are decimals, carry their currency, and a rate per
//! hour is a different type from an amount.

use super::{named_enum, separated};
use rust_decimal::{Decimal, RoundingStrategy};
use std::fmt;

named_enum! {
    /// A currency that a cloud provider bills in, by its ISO 4217 code.
    Currency {
        Usd = "USD",
        /// Chinese yuan, the currency of the `cn-` regions.
        Cny = "CNY",
        /// Euro, in which European clouds quote, and the `eusc-` regions of AWS.
        Eur = "EUR",
    }
}

impl Currency {
    /// The ISO 4217 code.
    pub fn code(self) -> &'static str {
        self.name()
    }

    /// What a region is billed in.
    pub fn of_region(region: &str) -> Self {
        if region.starts_with("cn-") {
            Self::Cny
        } else if region.starts_with("eusc-") {
            Self::Eur
        } else {
            Self::Usd
        }
    }

    /// The sign written before an amount in tables.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Usd => "$",
            Self::Cny => "¥",
            Self::Eur => "€",
        }
    }
}

/// Two amounts in different currencies were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("cannot add {right} to {left}")]
pub struct CurrencyMismatch {
    /// Currency of the running sum.
    pub left: Currency,
    /// Currency of the amount that was to be added.
    pub right: Currency,
}

/// An exact amount in one currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Money {
    amount: Decimal,
    currency: Currency,
}

impl Money {
    /// An amount as it stands, unrounded.
    pub fn new(amount: Decimal, currency: Currency) -> Self {
        Self { amount, currency }
    }

    pub fn zero(currency: Currency) -> Self {
        Self::new(Decimal::ZERO, currency)
    }

    /// The amount in units of the currency.
    pub fn amount(self) -> Decimal {
        self.amount
    }

    pub fn currency(self) -> Currency {
        self.currency
    }

    /// Rounded half-up to cents; done once, where a cost or a saving is made,
    /// so that rows sum to totals to the cent.
    pub fn rounded(self) -> Self {
        Self::new(
            self.amount.round_dp_with_strategy(2, RoundingStrategy::MidpointAwayFromZero),
            self.currency,
        )
    }

    /// Sum of two amounts.
    ///
    /// # Errors
    /// When the currencies differ.
    pub fn checked_add(self, other: Self) -> Result<Self, CurrencyMismatch> {
        self.same_currency(other)?;
        Ok(Self::new(self.amount + other.amount, self.currency))
    }

    /// Difference of two amounts.
    ///
    /// # Errors
    /// When the currencies differ.
    pub fn checked_sub(self, other: Self) -> Result<Self, CurrencyMismatch> {
        self.same_currency(other)?;
        Ok(Self::new(self.amount - other.amount, self.currency))
    }

    /// The amount as it is shown, with a sign also when it is a rise. What is shown
    /// as nothing has none.
    pub fn signed(self) -> String {
        if self.rounded().amount > Decimal::ZERO { format!("+{self}") } else { self.to_string() }
    }

    fn same_currency(self, other: Self) -> Result<(), CurrencyMismatch> {
        if self.currency == other.currency {
            Ok(())
        } else {
            Err(CurrencyMismatch { left: self.currency, right: other.currency })
        }
    }
}

/// With sign, thousands separators and cents, such as `$16,029.08`.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amount = self.rounded().amount();
        let sign = if amount.is_sign_negative() && !amount.is_zero() { "-" } else { "" };
        let digits = format!("{:.2}", amount.abs());
        let (whole, cents) = digits.split_once('.').unwrap_or((&digits, "00"));
        let whole = separated(whole);
        write!(f, "{sign}{}{whole}.{cents}", self.currency.sign())
    }
}

/// The highest rate that can be a price, per hour. Beyond it, months and fleets
/// would overflow exact decimals.
pub const MOST_PER_HOUR: Decimal = Decimal::from_parts(1_000_000, 0, 0, false, 0);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HourlyRate {
    amount: Decimal,
    currency: Currency,
}

impl HourlyRate {
    /// A rate; zero, negative and absurd rates (above [`MOST_PER_HOUR`]) are not
    /// prices, so they are refused.
    pub fn new(amount: Decimal, currency: Currency) -> Option<Self> {
        (amount > Decimal::ZERO && amount <= MOST_PER_HOUR).then_some(Self { amount, currency })
    }

    /// The amount per hour in units of the currency.
    pub fn amount(self) -> Decimal {
        self.amount
    }

    pub fn currency(self) -> Currency {
        self.currency
    }

    /// What one hour costs.
    pub fn an_hour(self) -> Money {
        Money::new(self.amount, self.currency)
    }

    /// What a number of hours cost at this rate, unrounded.
    pub fn times_hours(self, hours: Decimal) -> Money {
        Money::new(self.amount * hours, self.currency)
    }
}

impl fmt::Display for HourlyRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&per_hour(self.amount, self.currency))
    }
}

/// An amount per hour with up to six decimals, such as `$1.46885/h`.
pub fn per_hour(amount: Decimal, currency: Currency) -> String {
    format!("{}{}/h", currency.sign(), amount.round_dp(6).normalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(text: &str) -> Money {
        Money::new(text.parse().expect("a decimal"), Currency::Usd)
    }

    #[test]
    fn a_rate_has_its_sign_and_no_zeros_behind_it() {
        let rate = HourlyRate::new(Decimal::new(1_468_850, 6), Currency::Usd);
        assert_eq!(rate.expect("a rate").to_string(), "$1.46885/h");
        assert_eq!(per_hour(Decimal::from(10), Currency::Cny), "¥10/h");
    }

    #[test]
    fn regions_are_billed_in_the_currency_of_their_partition() {
        for (region, code) in [
            ("us-east-1", "USD"),
            ("eu-central-1", "USD"),
            ("cn-north-1", "CNY"),
            ("eusc-de-east-1", "EUR"),
        ] {
            assert_eq!(Currency::of_region(region).code(), code, "{region}");
        }
    }

    #[test]
    fn rounds_half_a_cent_up() {
        assert_eq!(usd("0.005").rounded(), usd("0.01"));
        assert_eq!(usd("16029.07866").rounded(), usd("16029.08"));
        assert_eq!(usd("0.004999").rounded(), usd("0.00"));
    }

    #[test]
    fn refuses_to_add_yuan_to_dollars() {
        let yuan = Money::zero(Currency::Cny);
        assert_eq!(
            usd("1").checked_add(yuan),
            Err(CurrencyMismatch { left: Currency::Usd, right: Currency::Cny })
        );
    }

    #[test]
    fn a_month_of_p4d_is_exact() {
        let rate = HourlyRate::new("21.957642".parse().expect("a decimal"), Currency::Usd)
            .expect("positive");
        assert_eq!(rate.times_hours(Decimal::from(730)), usd("16029.07866"));
    }

    #[test]
    fn a_rate_is_never_zero_or_negative() {
        assert_eq!(HourlyRate::new(Decimal::ZERO, Currency::Usd), None);
        assert_eq!(HourlyRate::new(Decimal::from(-1), Currency::Usd), None);
        assert_eq!(HourlyRate::new(Decimal::MAX, Currency::Usd), None);
    }
}
