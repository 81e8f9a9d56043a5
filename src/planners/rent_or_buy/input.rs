//! What the month of break-even rests on.

use crate::domain::named_enum;
use rust_decimal::Decimal;

/// The largest amount and the largest draw that are computed.
const MOST: Decimal = Decimal::from_parts(1_000_000_000, 0, 0, false, 0);

named_enum! {
    /// What the month rests on.
    Input {
        Purchase = "purchase price",
        Spares = "spares",
        Residual = "residual value",
        Watts = "mean draw",
        Pue = "PUE",
        Electricity = "electricity price",
        Rack = "rack",
        StaffHours = "staff hours",
        StaffHourly = "staff cost per hour",
        Capital = "cost of capital",
        Utilization = "utilization",
        Rent = "price of the rented machine",
    }
}

impl Input {
    /// The values that it can have.
    pub(super) fn range(self) -> (Decimal, Decimal) {
        match self {
            Self::Pue => (Decimal::ONE, Decimal::TEN),
            Self::Spares | Self::Residual | Self::Capital | Self::Utilization => {
                (Decimal::ZERO, Decimal::ONE_HUNDRED)
            }
            Self::Purchase
            | Self::Watts
            | Self::Electricity
            | Self::Rack
            | Self::StaffHours
            | Self::StaffHourly
            | Self::Rent => (Decimal::ZERO, MOST),
        }
    }
}
