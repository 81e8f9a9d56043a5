//! How the month of break-even moves with each input.

use super::input::Input;
use super::own::{Own, Rental};
use rust_decimal::Decimal;

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
pub(super) fn of(own: &Own, asked: &Rental, cheapest: &Rental) -> Vec<Sensitivity> {
    let inputs = Input::ALL.iter().copied();
    inputs
        .filter(|input| own.get(*input).is_none_or(|value| !value.is_zero()))
        .map(|input| one(input, own, asked, cheapest))
        .collect()
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
