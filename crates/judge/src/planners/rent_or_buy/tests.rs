use super::*;
use crate::planners::Paying;
use std::collections::BTreeMap;

fn decimal(text: &str) -> Decimal {
    text.parse().expect("a decimal")
}

/// The server of the page: eight H100 for 270,000 dollars, used for 80% of four years.
fn own() -> Own {
    Own {
        gpus: 8,
        purchase: decimal("270000"),
        watts: decimal("8000"),
        pue: decimal("1.54"),
        electricity: decimal("0.0806"),
        rack_monthly: decimal("1500"),
        staff_hours: decimal("8"),
        staff_hourly: decimal("43.52"),
        spares_percent: decimal("5"),
        residual_percent: decimal("10"),
        capital_percent: Decimal::ZERO,
        years: 4,
        utilization_percent: decimal("80"),
        hours_of_month: decimal("730"),
        sources: BTreeMap::new(),
    }
}

fn rental(paying: Paying, per_gpu_hour: &str) -> Rental {
    Rental {
        provider: Some("aws".to_owned()),
        region: Some("us-east-1".to_owned()),
        machine: "p5.48xlarge".to_owned(),
        paying,
        per_gpu_hour: decimal(per_gpu_hour),
        machine_gpus: 8,
        seen_on: None,
        is_asked: true,
    }
}

/// On-demand and three years, 55.04 and 23.777295 per hour of eight GPUs.
fn p5() -> Vec<Rental> {
    vec![rental(Paying::OnDemand, "6.88"), rental(Paying::Reserved3yr, "2.972161875")]
}

fn amount(money: Money) -> String {
    money.to_string()
}

#[test]
fn the_worked_example_of_the_page() {
    let answer = rent_or_buy(own(), p5()).expect("a server");
    // 270,000 × 1.05.
    assert_eq!(amount(answer.outlay), "$283,500.00");
    // 8 kW × 730 h × 1.54 × 0.0806 = 724.88; 8 h × 43.52 = 348.16; 1,500 for the rack.
    let monthly: Vec<String> =
        answer.parts.iter().map(|part| part.monthly.round_dp(2).normalize().to_string()).collect();
    assert_eq!(monthly, ["0", "0", "724.88", "1500", "348.16", "0", "0"]);
    assert_eq!(amount(answer.monthly), "$2,573.04");
    // 283,500 + 48 × 2,573.04 - 27,000.
    assert_eq!(amount(answer.total), "$380,005.92");
    let sum: Decimal = answer.parts.iter().map(|part| part.total).sum();
    assert_eq!(sum, answer.total.amount(), "parts sum to the cent");
    let asked = answer.asked().expect("a rental");
    // 55.04 × 730 × 80%.
    assert_eq!(amount(asked.monthly), "$32,143.36");
    // 283,500 / (32,143.36 - 2,573.04) = 9.59.
    assert_eq!(asked.break_even_month, Some(10));
    assert_eq!(amount(asked.saved_by_owning), "$1,162,875.36");
    let cheapest = answer.cheapest().expect("a rental");
    assert_eq!(cheapest.rental.paying, Paying::Reserved3yr);
    // 23.777295 × 730 hours, used or not; 283,500 / (17,357.43 - 2,573.04) = 19.18.
    assert_eq!(amount(cheapest.monthly), "$17,357.43");
    assert_eq!(cheapest.break_even_month, Some(20));
    // 730 × 48 × 80% × 8 = 224,256 GPU hours.
    let useful = |money: Option<Money>| money.map(|money| money.amount().round_dp(4).to_string());
    assert_eq!(useful(answer.per_useful_gpu_hour).as_deref(), Some("1.6945"));
    assert_eq!(
        useful(asked.per_useful_gpu_hour).map(|text| text.trim_end_matches('0').to_owned()),
        Some("6.88".to_owned())
    );
}

#[test]
fn each_input_moves_the_month_as_worked_out_by_hand() {
    let answer = rent_or_buy(own(), p5()).expect("a server");
    let months = |input: Input| {
        let mut inputs = answer.sensitivity.iter();
        inputs.find(|row| row.input == input).map(|row| row.asked_months)
    };
    // 226,800 and 340,200 / 29,570.32 = 7.67 and 11.50.
    assert_eq!(months(Input::Purchase), Some([Some(8), Some(12)]));
    // 55.04 × 730 × 64% and 96% = 25,714.69 and 38,572.03 a month.
    assert_eq!(months(Input::Utilization), Some([Some(13), Some(8)]));
    assert_eq!(months(Input::Rent), Some([Some(13), Some(8)]));
    for input in [Input::Watts, Input::Pue, Input::Residual, Input::Spares] {
        assert_eq!(months(input), Some([Some(10), Some(10)]), "{input}");
    }
    assert_eq!(months(Input::Capital), None, "what is zero cannot be turned");
}

/// The balance of owning and renting, month by month, as a spreadsheet has it.
fn month_by_month(own: &Own, monthly: Decimal, rent: Decimal) -> Option<u32> {
    let months = u32::from(own.years) * 12;
    let cents = |amount: Decimal| Money::new(amount, crate::domain::Currency::Usd).rounded();
    let percent = |percent: Decimal| cents(own.purchase * percent / Decimal::ONE_HUNDRED).amount();
    let mut paid_for_own = own.purchase + percent(own.spares_percent);
    let mut paid_for_rent = Decimal::ZERO;
    for month in 1..=months {
        paid_for_own += monthly;
        paid_for_rent += rent;
        if month == months {
            paid_for_own -= percent(own.residual_percent);
        }
        if paid_for_own <= paid_for_rent {
            return Some(month);
        }
    }
    None
}

#[test]
fn the_month_is_that_of_a_spreadsheet() {
    let mut random = fastrand::Rng::with_seed(15);
    let (mut paid_off, mut never, mut at_the_end) = (0, 0, 0);
    for _ in 0..2_000 {
        let mut percent = || Decimal::from(random.u32(0..=100));
        let mut own = Own {
            spares_percent: percent(),
            residual_percent: percent(),
            utilization_percent: percent(),
            capital_percent: percent() / Decimal::TEN,
            ..own()
        };
        own.purchase = Decimal::new(random.i64(1..=50_000_000), 2);
        own.watts = Decimal::from(random.u32(0..=12_000));
        own.years = random.u8(1..=MOST_YEARS);
        let paying = [Paying::OnDemand, Paying::Reserved1yr][random.usize(0..2)];
        let price = Decimal::new(random.i64(1..=9_000_000), 6);
        let rented = Rental { per_gpu_hour: price, ..rental(paying, "1") };
        let answer = rent_or_buy(own.clone(), vec![rented]).expect("a server");
        let asked = answer.asked().expect("a rental");
        let rent = asked.monthly.amount();
        let expected =
            month_by_month(&own, answer.monthly.amount(), rent).filter(|_| !rent.is_zero());
        assert_eq!(asked.break_even_month, expected, "{own:?} {rent}");
        paid_off += usize::from(expected.is_some());
        never += usize::from(expected.is_none());
        at_the_end += usize::from(expected == Some(answer.own.months()));
    }
    assert!(paid_off > 200 && never > 200 && at_the_end > 10);
}

#[test]
fn what_is_never_used_never_pays_off() {
    let idle = Own { utilization_percent: Decimal::ZERO, ..own() };
    let answer = rent_or_buy(idle, vec![rental(Paying::OnDemand, "6.88")]).expect("a server");
    let asked = answer.asked().expect("a rental");
    assert_eq!(asked.break_even_month, None);
    assert_eq!(asked.per_useful_gpu_hour, None);
    assert_eq!(answer.per_useful_gpu_hour, None);
    let mut turned = answer.sensitivity.iter().flat_map(|row| row.asked_months);
    assert!(turned.all(|month| month.is_none()));
}

#[test]
fn bad_servers_are_refused() {
    let refused = |own: Own| rent_or_buy(own, p5()).expect_err("refused").to_string();
    let zero = Own { purchase: Decimal::ZERO, ..own() };
    assert!(refused(zero).starts_with("the purchase price is 0"));
    let cold = Own { pue: decimal("0.9"), ..own() };
    assert_eq!(refused(cold), "PUE is 0.9: expected a number from 1 to 10");
    let busy = Own { utilization_percent: decimal("101"), ..own() };
    assert!(refused(busy).starts_with("utilization is 101"));
    let long = Own { years: 16, ..own() };
    assert!(refused(long).starts_with("the term is 16 years"));
    assert!(refused(Own { gpus: 0, ..own() }).starts_with("the server has no GPU"));
    let alone = rent_or_buy(own(), Vec::new()).expect_err("refused").to_string();
    assert_eq!(alone, "no price of a rented machine to compare with");
}

/// A p5.48xlarge has eight GPUs, and is rented as a whole: one GPU pays for eight, nine for
/// sixteen, at 6.88 × 730 h.
#[test]
fn machines_are_rented_as_a_whole() {
    for (gpus, billed) in [(1, 8), (8, 8), (9, 16)] {
        let server = Own { gpus, utilization_percent: Decimal::ONE_HUNDRED, ..own() };
        let answer = rent_or_buy(server, p5()).expect("a server");
        let asked = answer.asked().expect("a rental");
        let expected = decimal("5022.40") * Decimal::from(billed);
        assert_eq!(asked.monthly.amount(), expected, "{gpus}");
    }
}

/// 1.49 per hour of one GPU at a marketplace is less than 6.88 of a p5.48xlarge, and eight such
/// machines are no server with eight linked GPUs: 8 × 1.49 × 730 × 80% × 48 = 334,141.44.
#[test]
fn several_small_machines_are_not_the_cheapest_server() {
    let single = Rental {
        provider: Some("vast-ai".to_owned()),
        region: None,
        machine: "NVIDIA H100 SXM5".to_owned(),
        machine_gpus: 1,
        is_asked: false,
        ..rental(Paying::OnDemand, "1.49")
    };
    let mut rentals = p5();
    rentals.push(single.clone());
    let answer = rent_or_buy(own(), rentals.clone()).expect("a server");
    let order: Vec<(&str, bool, u32)> = answer
        .rentals
        .iter()
        .map(|rental| {
            let machines = rental.rental.machines(&answer.own);
            (rental.rental.machine.as_str(), rental.is_alike, machines)
        })
        .collect();
    assert_eq!(
        order,
        [("p5.48xlarge", true, 1), ("p5.48xlarge", true, 1), ("NVIDIA H100 SXM5", false, 8)]
    );
    assert_eq!(amount(answer.rentals[2].total), "$334,141.44");
    let cheapest = answer.cheapest().expect("a rental");
    assert_eq!(cheapest.rental.paying, Paying::Reserved3yr);
    let against = |comparison: &RentOrBuy| -> Vec<[Option<u32>; 2]> {
        let inputs = comparison.sensitivity.iter();
        inputs.map(|row| row.cheapest_months).collect()
    };
    let without = rent_or_buy(own(), p5()).expect("a server");
    assert_eq!(against(&answer), against(&without), "of the p5.48xlarge too");
    // A server with one GPU is like a machine with one.
    let small = Own { gpus: 1, ..own() };
    let answer = rent_or_buy(small, rentals).expect("a server");
    assert!(answer.rentals.iter().all(|rental| rental.is_alike));
    assert_eq!(answer.cheapest().map(|rental| &rental.rental), Some(&single));
}
