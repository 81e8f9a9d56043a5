//! An own server against rented machines: what each costs over a term, from which month on
//! the own one has cost less, and how that month moves with each input.
//!
//! Cash as it is paid: the purchase with its spares at once, then the same amount every
//! month, and the residual value at the end of the term. Costs of a month are rounded to
//! cents where they are made, so that the parts sum to the total.

use crate::domain::{Currency, Money, named_enum};
use crate::planners::{NoResult, Paying};
use jiff::civil::Date;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::collections::BTreeMap;

/// Terms that are computed, years.
pub const MOST_YEARS: u8 = 15;

/// An own server, in dollars.
#[derive(Debug, Clone, PartialEq)]
pub struct Own {
    pub gpus: u16,
    /// Price of the server.
    pub purchase: Decimal,
    /// Mean draw of the whole server, watts.
    pub watts: Decimal,
    /// Power of the facility over power of the server: what cooling and losses add.
    pub pue: Decimal,
    /// Price of electricity per kWh.
    pub electricity: Decimal,
    /// Rack or colocation per month, without electricity.
    pub rack_monthly: Decimal,
    /// Hours of staff per month.
    pub staff_hours: Decimal,
    /// Cost of such an hour.
    pub staff_hourly: Decimal,
    /// Spare parts bought with it, percent of its price.
    pub spares_percent: Decimal,
    /// What it is sold for at the end of the term, percent of its price.
    pub residual_percent: Decimal,
    /// Interest per year on what was paid for server and spares; zero where it is left out.
    pub capital_percent: Decimal,
    /// The term, years.
    pub years: u8,
    /// Share of the hours in which its GPUs are needed, percent. A machine that is rented
    /// by the hour runs in these hours only.
    pub utilization_percent: Decimal,
    /// Hours of a month.
    pub hours_of_month: Decimal,
    /// Where each input is from.
    pub sources: BTreeMap<Input, String>,
}

/// A way to rent the same GPUs, in dollars.
#[derive(Debug, Clone, PartialEq)]
pub struct Rental {
    /// The provider; absent for a price that was stated.
    pub provider: Option<String>,
    pub region: Option<String>,
    /// The machine, in the provider's words.
    pub machine: String,
    pub paying: Paying,
    pub per_gpu_hour: Decimal,
    /// GPUs of a machine, which is rented as a whole.
    pub machine_gpus: u32,
    /// When its price was seen; absent for one that was stated.
    pub seen_on: Option<Date>,
    /// Whether the question is about this machine.
    pub is_asked: bool,
}

impl Rental {
    /// Machines that have as many GPUs as an own server.
    pub fn machines(&self, own: &Own) -> u32 {
        u32::from(own.gpus).div_ceil(self.machine_gpus.max(1))
    }

    /// GPUs of as many machines as have those of an own server.
    pub fn billed_gpus(&self, own: &Own) -> u32 {
        self.machines(own).saturating_mul(self.machine_gpus.max(1))
    }

    fn monthly(&self, own: &Own) -> Decimal {
        let share = if self.paying.is_committed() {
            Decimal::ONE
        } else {
            own.utilization_percent / Decimal::ONE_HUNDRED
        };
        let hours = own.hours_of_month * share;
        cents(self.per_gpu_hour * Decimal::from(self.billed_gpus(own)) * hours)
    }
}

/// What owning costs for one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub name: &'static str,
    /// At the beginning; negative at no time.
    pub once: Decimal,
    /// Each month.
    pub monthly: Decimal,
    /// Over the term; the residual value is below zero.
    pub total: Decimal,
}

impl Own {
    /// Months of the term.
    pub fn months(&self) -> u32 {
        12 * u32::from(self.years)
    }

    fn spares(&self) -> Decimal {
        cents(percent_of(self.purchase, self.spares_percent))
    }

    /// Paid at once.
    fn outlay(&self) -> Decimal {
        cents(self.purchase) + self.spares()
    }

    /// Electricity of a month.
    fn power_monthly(&self) -> Decimal {
        let kilowatts = self.watts / Decimal::ONE_THOUSAND;
        cents(kilowatts * self.hours_of_month * self.pue * self.electricity)
    }

    fn staff_monthly(&self) -> Decimal {
        cents(self.staff_hours * self.staff_hourly)
    }

    /// Interest of a month on the whole outlay, until the end of the term.
    fn capital_monthly(&self) -> Decimal {
        cents(percent_of(self.outlay(), self.capital_percent) / Decimal::from(12))
    }

    fn monthly(&self) -> Decimal {
        let rack = cents(self.rack_monthly);
        self.power_monthly() + rack + self.staff_monthly() + self.capital_monthly()
    }

    fn residual(&self) -> Decimal {
        cents(percent_of(self.purchase, self.residual_percent))
    }

    fn total(&self) -> Decimal {
        self.outlay() + self.monthly() * Decimal::from(self.months()) - self.residual()
    }

    fn parts(&self) -> Vec<Part> {
        let months = Decimal::from(self.months());
        let part = |name, once: Decimal, monthly: Decimal| Part {
            name,
            once,
            monthly,
            total: once + monthly * months,
        };
        let zero = Decimal::ZERO;
        vec![
            part("purchase", cents(self.purchase), zero),
            part("spares", self.spares(), zero),
            part("electricity", zero, self.power_monthly()),
            part("rack", zero, cents(self.rack_monthly)),
            part("staff", zero, self.staff_monthly()),
            part("capital", zero, self.capital_monthly()),
            Part { total: -self.residual(), ..part("residual", zero, zero) },
        ]
    }

    /// For each GPU hour of the term in which GPUs are needed.
    fn per_useful_hour(&self, total: Decimal) -> Option<Money> {
        let hours = self.hours_of_month * Decimal::from(self.months());
        let hours = percent_of(hours, self.utilization_percent) * Decimal::from(self.gpus);
        (!hours.is_zero()).then(|| usd(total / hours))
    }

    /// The first month of the term at whose end owning has cost no more than renting at so
    /// much a month. The residual value counts in the last.
    fn break_even_month(&self, rent_monthly: Decimal) -> Option<u32> {
        let saved = rent_monthly - self.monthly();
        let months = self.months();
        if saved > Decimal::ZERO
            && let Some(month) = (self.outlay() / saved).ceil().to_u32()
            && month <= months
        {
            return Some(month.max(1));
        }
        let rent = rent_monthly * Decimal::from(months);
        (rent > Decimal::ZERO && self.total() <= rent).then_some(months)
    }
}

fn percent_of(amount: Decimal, percent: Decimal) -> Decimal {
    amount * percent / Decimal::ONE_HUNDRED
}

fn cents(amount: Decimal) -> Decimal {
    usd(amount).rounded().amount()
}

fn usd(amount: Decimal) -> Money {
    Money::new(amount, Currency::Usd)
}

/// The largest amount and the largest draw that are computed.
const MOST: Decimal = Decimal::from_parts(1_000_000_000, 0, 0, false, 0);

/// A row for each input of an own server: its field, and the largest and the smallest value that
/// it can have.
macro_rules! inputs {
    ($($input:ident = $name:literal, $field:ident, $least:ident, $most:expr;)*) => {
        named_enum! {
            /// What the month rests on.
            Input {
                $($input = $name,)*
                Rent = "price of the rented machine",
            }
        }

        impl Input {
            /// The values that it can have.
            fn range(self) -> (Decimal, Decimal) {
                match self {
                    $(Self::$input => (Decimal::$least, $most),)*
                    Self::Rent => (Decimal::ZERO, MOST),
                }
            }
        }

        impl Own {
            /// Its value; absent for the price of the rented machine.
            pub fn get(&self, input: Input) -> Option<Decimal> {
                match input {
                    $(Input::$input => Some(self.$field),)*
                    Input::Rent => None,
                }
            }

            fn set(&mut self, input: Input, value: Decimal) {
                match input {
                    $(Input::$input => self.$field = value,)*
                    Input::Rent => {}
                }
            }
        }
    };
}
inputs! {
    Purchase = "purchase price", purchase, ZERO, MOST;
    Spares = "spares", spares_percent, ZERO, Decimal::ONE_HUNDRED;
    Residual = "residual value", residual_percent, ZERO, Decimal::ONE_HUNDRED;
    Watts = "mean draw", watts, ZERO, MOST;
    Pue = "PUE", pue, ONE, Decimal::TEN;
    Electricity = "electricity price", electricity, ZERO, MOST;
    Rack = "rack", rack_monthly, ZERO, MOST;
    StaffHours = "staff hours", staff_hours, ZERO, MOST;
    StaffHourly = "staff cost per hour", staff_hourly, ZERO, MOST;
    Capital = "cost of capital", capital_percent, ZERO, Decimal::ONE_HUNDRED;
    Utilization = "utilization", utilization_percent, ZERO, Decimal::ONE_HUNDRED;
}

/// How far each input is turned down and up, percent.
pub const TURN_PERCENT: u8 = 20;

/// One input turned down and up, with the month that follows against two rentals; no month
/// where none of the term is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sensitivity {
    pub input: Input,
    /// The input turned down and up, within what it can be; absent for the price of the
    /// rented machine, which is another for each.
    pub values: Option<[Decimal; 2]>,
    /// Against the machine that was asked about.
    pub asked_months: [Option<u32>; 2],
    /// Against the cheapest.
    pub cheapest_months: [Option<u32>; 2],
}

/// Every input that is not zero.
fn sensitivity(own: &Own, asked: &Rental, cheapest: &Rental) -> Vec<Sensitivity> {
    let inputs = Input::ALL.iter().copied();
    let inputs = inputs.filter(|input| own.get(*input).is_none_or(|value| !value.is_zero()));
    inputs.map(|input| one(input, own, asked, cheapest)).collect()
}

fn one(input: Input, own: &Own, asked: &Rental, cheapest: &Rental) -> Sensitivity {
    let turn = Decimal::from(TURN_PERCENT) / Decimal::ONE_HUNDRED;
    let factors = [Decimal::ONE - turn, Decimal::ONE + turn];
    let month = |factor: Decimal, rental: &Rental| {
        let (mut own, mut rental) = (own.clone(), rental.clone());
        match turned(input, &own, factor) {
            Some(value) => own.set(input, value),
            None => rental.per_gpu_hour *= factor,
        }
        own.break_even_month(rental.monthly(&own))
    };
    let [down, up] = factors.map(|factor| turned(input, own, factor));
    Sensitivity {
        input,
        values: down.zip(up).map(|(down, up)| [down, up]),
        asked_months: factors.map(|factor| month(factor, asked)),
        cheapest_months: factors.map(|factor| month(factor, cheapest)),
    }
}

fn turned(input: Input, own: &Own, factor: Decimal) -> Option<Decimal> {
    let (least, most) = input.range();
    Some((own.get(input)? * factor).clamp(least, most))
}

/// A rental beside the own server.
#[derive(Debug, Clone, PartialEq)]
pub struct PricedRental {
    pub rental: Rental,
    pub monthly: Money,
    /// Over the term.
    pub total: Money,
    /// Per GPU hour in which GPUs are needed; absent where none is.
    pub per_useful_gpu_hour: Option<Money>,
    /// The first month at whose end the own server has cost no more; absent where that is
    /// in no month of the term.
    pub break_even_month: Option<u32>,
    /// What owning saves over the term; below zero where renting is cheaper.
    pub saved_by_owning: Money,
    /// Whether one machine has as many GPUs as the own server, or as the machine that was
    /// asked about. GPUs of several machines are not linked as those of one are.
    pub is_alike: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RentOrBuy {
    pub own: Own,
    pub parts: Vec<Part>,
    /// What is paid at once.
    pub outlay: Money,
    pub monthly: Money,
    /// What comes back at the end of the term.
    pub residual: Money,
    /// Over the term, less the residual value.
    pub total: Money,
    pub per_useful_gpu_hour: Option<Money>,
    /// Machines that are alike first; then by total, by provider, region, machine and way to
    /// pay.
    pub rentals: Vec<PricedRental>,
    /// Place of the machine that was asked about in `rentals`: by the hour where it is sold
    /// so.
    pub asked: usize,
    /// How the month moves, against the machine that was asked about and against the
    /// cheapest, which is the first.
    pub sensitivity: Vec<Sensitivity>,
}

impl RentOrBuy {
    /// The rental that was asked about.
    pub fn asked(&self) -> Option<&PricedRental> {
        self.rentals.get(self.asked)
    }

    /// The cheapest rental of machines that are alike.
    pub fn cheapest(&self) -> Option<&PricedRental> {
        self.rentals.first()
    }
}

/// Compares an own server with ways to rent as many of the same GPUs.
///
/// # Errors
/// An input that no server has, or nothing to compare with.
pub fn rent_or_buy(own: Own, rentals: Vec<Rental>) -> Result<RentOrBuy, NoResult> {
    check(&own)?;
    let least_gpus = least_gpus(&own, &rentals);
    let mut priced: Vec<PricedRental> =
        rentals.into_iter().map(|rental| price(&own, rental, least_gpus)).collect();
    priced.sort_by_cached_key(|rental| {
        let Rental { provider, region, machine, paying, .. } = &rental.rental;
        let place = (provider.clone(), region.clone(), machine.clone());
        (!rental.is_alike, rental.total.amount(), place, *paying)
    });
    let of_asked = priced.iter().enumerate().filter(|(_, rental)| rental.rental.is_asked);
    let asked =
        of_asked.min_by_key(|(_, rental)| rental.rental.paying).map_or(0, |(place, _)| place);
    let (Some(reference), Some(cheapest)) = (priced.get(asked), priced.first()) else {
        return Err(no_result! {
            "no price of a rented machine to compare with";
            "pass `--on-demand-hourly`, or a region with a price: `gpucost pricing TYPE --region all`"
        });
    };
    let sensitivity = sensitivity(&own, &reference.rental, &cheapest.rental);
    Ok(RentOrBuy {
        parts: own.parts(),
        outlay: usd(own.outlay()),
        monthly: usd(own.monthly()),
        residual: usd(own.residual()),
        total: usd(own.total()),
        per_useful_gpu_hour: own.per_useful_hour(own.total()),
        rentals: priced,
        asked,
        sensitivity,
        own,
    })
}

fn check(own: &Own) -> Result<(), NoResult> {
    let Own { gpus, purchase, years, .. } = *own;
    refuse! {
        gpus == 0 => "the server has no GPU"; "pass `--gpus`, or a type with whole GPUs";
        purchase <= Decimal::ZERO => "the purchase price is {purchase}: expected an amount above zero"; "pass the price of the server with `--purchase`";
        !(1..=MOST_YEARS).contains(&years) => "the term is {years} years: expected 1 to {MOST_YEARS}"; "pass a term with `--years`, such as 4";
    }
    for input in Input::ALL {
        let Some(value) = own.get(*input) else { continue };
        let (least, most) = input.range();
        let hint = match input {
            Input::Pue => {
                "PUE is the power of the facility over that of the server: `--pue 1.54` is average"
            }
            _ => "pass a percentage from 0 to 100, or a smaller amount",
        };
        refuse! {
            value < least || value > most => "{input} is {value}: expected a number from {least} to {most}"; "{hint}";
        }
    }
    Ok(())
}

/// GPUs that a machine has at least to be one of its kind: those of the own server, unless
/// the machine that was asked about has fewer.
fn least_gpus(own: &Own, rentals: &[Rental]) -> u32 {
    let asked = rentals.iter().filter(|rental| rental.is_asked);
    asked.map(|rental| rental.machine_gpus).min().unwrap_or(u32::MAX).min(own.gpus.into())
}

fn price(own: &Own, rental: Rental, least_gpus: u32) -> PricedRental {
    let monthly = rental.monthly(own);
    let total = monthly * Decimal::from(own.months());
    PricedRental {
        monthly: usd(monthly),
        total: usd(total),
        per_useful_gpu_hour: own.per_useful_hour(total),
        break_even_month: own.break_even_month(monthly),
        saved_by_owning: usd(total - own.total()),
        is_alike: rental.machine_gpus >= least_gpus,
        rental,
    }
}

#[cfg(test)]
mod tests;
