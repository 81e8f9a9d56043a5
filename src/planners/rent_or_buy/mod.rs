//! An own server against rented machines: what each costs over a term, from which month on
//! the own one has cost less, and how that month moves with each input.
//!
//! Cash as it is paid: the purchase with its spares at once, then the same amount every
//! month, and the residual value at the end of the term. Costs of a month are rounded to
//! cents where they are made, so that the parts sum to the total.

mod own;

pub use own::{Input, MOST_YEARS, Own, Part, Rental, Sensitivity, TURN_PERCENT};

use super::NoResult;
use crate::domain::Money;
use own::usd;
use rust_decimal::Decimal;

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
    let sensitivity = own::sensitivity(&own, &reference.rental, &cheapest.rental);
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
    let of_asked = asked.map(|rental| rental.machine_gpus).min();
    of_asked.unwrap_or(u32::MAX).min(own.gpus.into())
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
