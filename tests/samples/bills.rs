//! Bills that others made: a real one, anonymized, and the examples of the specification of
//! FOCUS.

use crate::support::data::shared;
use gpucost::billing::{Bill, CurrencyBill, Ledger};
use gpucost::domain::{BillFiles, BillForm};
use gpucost::domain::{Currency, Provider};
use gpucost::sources::files::{BillOptions, read_bill};
use rust_decimal::Decimal;
use std::path::PathBuf;

fn decimal(text: &str) -> Decimal {
    text.parse().expect("a decimal")
}

fn some(text: &str) -> Option<Decimal> {
    Some(decimal(text))
}

fn bill(path: PathBuf) -> (Bill, BillFiles) {
    let options = BillOptions { tag: None, currency: Some(Currency::Usd) };
    let mut ledger = Ledger::new(None);
    let read = read_bill(&[path], &options, &mut |line| ledger.add(line)).expect("a bill");
    (ledger.finish().expect("small"), read)
}

fn usd(bill: &Bill) -> &CurrencyBill {
    assert_eq!(bill.currencies.len(), 1);
    &bill.currencies[0]
}

#[test]
fn the_gpus_of_a_real_bill_cost_what_it_says() {
    let name = "samples/billing/focus_1.0_sample_1000.csv";
    let Some(path) = shared("the_gpus_of_a_real_bill_cost_what_it_says", name) else { return };
    let (bill, read) = bill(path);
    assert_eq!(read.files[0].form, BillForm::Focus10);
    assert_eq!((bill.lines, read.untimed), (1_000, 0));
    let bill = usd(&bill);
    // Sums of the ten rows of the file, by hand.
    let types: Vec<(&str, u64, Option<Decimal>, Option<Decimal>)> = bill
        .types
        .iter()
        .map(|row| {
            let billed = row.parts.total().billed.whole();
            let hours = row.parts.hours().whole();
            (row.instance_type.as_str(), row.instances, hours, billed)
        })
        .collect();
    assert_eq!(
        types,
        [
            ("g3.4xlarge", 2, some("1.686667"), some("1.92280038")),
            ("g5.4xlarge", 8, some("6.283056"), some("10.203682944")),
        ]
    );
    // 1.624 an hour, and whole dollars as contracted: no price follows.
    assert!(bill.rates.iter().all(|rate| rate.refusal.is_some()));
    assert_eq!(bill.rates[1].list_hourly, some("1.624"));
    // Effective costs of AWS are whole dollars in every row.
    let [rounded] = bill.rounded.as_slice() else {
        panic!("{:?}", bill.rounded);
    };
    assert_eq!((rounded.provider, rounded.lines), (Some(Provider::Aws), 942));
    assert_eq!(rounded.effective, decimal("13"));
    assert_eq!(rounded.billed, decimal("18.0066386184"));
}

/// The examples with their effective and billed sums, and the utilization of the commitment,
/// percent, by hand.
const SCENARIOS: [(&str, &str, &str, Option<&str>); 11] = [
    // Paid at once, and used by nothing in the example.
    ("commitment_discount_purchase_scenario_1", "0", "8760", None),
    ("commitment_discount_purchase_scenario_2", "0", "3", None),
    // 4,380 at once and 0.50 an hour.
    ("commitment_discount_purchase_scenario_3", "0", "4381.5", None),
    ("commitment_discount_usage_scenario_1", "1", "0", Some("100")),
    ("commitment_discount_usage_scenario_2", "1", "0", Some("0")),
    // 0.75 used, 0.25 not.
    ("commitment_discount_usage_scenario_3", "1", "0", Some("75")),
    // 1 by the commitment, 0.5 on demand beside it.
    ("commitment_discount_usage_scenario_4", "1.5", "0.5", Some("100")),
    // 0.5 + 2.25.
    (
        "one_hundred_percent_utilization_with_commitment_discount_flexibility_with_1_resource",
        "2.75",
        "2.75",
        Some("100"),
    ),
    (
        "one_hundred_percent_utilization_with_commitment_discount_flexibility_with_2_resources",
        "2",
        "2",
        Some("100"),
    ),
    (
        "one_hundred_percent_utilization_without_commitment_discount_flexibility",
        "1.5",
        "1.5",
        Some("100"),
    ),
    // 1.5 unused, 2 on demand.
    ("zero_percent_utilization_without_commitment_discount_flexibility", "3.5", "3.5", Some("0")),
];

#[test]
fn the_examples_of_the_specification_add_up() {
    for (name, effective, billed, utilization) in SCENARIOS {
        let name = format!("samples/billing/spec_{name}.csv");
        let Some(path) = shared("the_examples_of_the_specification_add_up", &name) else { return };
        let (bill, read) = bill(path);
        let total = usd(&bill).total();
        assert_eq!(total.effective.whole(), some(effective), "{name}");
        assert_eq!(total.billed.whole(), some(billed), "{name}");
        let of_commitment = usd(&bill).utilization_percent();
        assert_eq!(of_commitment, utilization.map(decimal), "{name}");
        // Two of them end a period at hour 30.
        let is_untimed = ["purchase_scenario_2", "purchase_scenario_3"]
            .iter()
            .any(|untimed| name.contains(untimed));
        assert_eq!(read.untimed, u64::from(is_untimed), "{name}");
    }
}
