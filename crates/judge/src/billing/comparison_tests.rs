//! A bill beside an audit: differences by hand, and that their names add up.

use super::tests::{any_line, covered, decimal, hour, on_demand, other, part_of, some};
use super::*;
use crate::domain::{
    BillLine, Currency, InstanceRate, LineKind, PurchaseOption, SharedPart, Window,
};
use crate::usage::HourUse;
use proptest::prelude::*;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

/// The first hours of the bill, of one account in one region.
fn expected(instances: Vec<ExpectedInstance>) -> Expected {
    let (first, last) = (hour(0).expect("a time"), hour(3).expect("a time"));
    Expected {
        hours: Window { start: first.start, end: last.end },
        periods_per_hour: 12,
        accounts: BTreeSet::from(["444455556666".to_owned()]),
        regions: BTreeSet::from(["us-east-1".to_owned()]),
        unread: BTreeMap::new(),
        is_selection: false,
        instances,
    }
}

/// An instance that ran for so many of twelve periods in each of four hours, at a price with
/// and without commitments.
fn seen(id: &str, ran: [u16; 4], price: &str, effective: &str) -> ExpectedInstance {
    let hour = |ran| HourUse { ran, ..HourUse::default() };
    ExpectedInstance {
        account: "444455556666".to_owned(),
        id: id.to_owned(),
        region: "us-east-1".to_owned(),
        instance_type: "p4d.24xlarge".to_owned(),
        rates: vec![RateSince {
            hour: 0,
            rate: Some(InstanceRate {
                currency: Currency::Usd,
                price: decimal(price),
                effective: decimal(effective),
            }),
        }],
        hours: ran.map(hour).to_vec(),
        volumes: Vec::new(),
        addresses: Vec::new(),
    }
}

/// Of a bill in dollars, by team.
fn compared(
    lines: impl IntoIterator<Item = BillLine>,
    instances: Vec<ExpectedInstance>,
) -> CurrencyBill {
    let key = BillKey::Tag("team".to_owned());
    let mut ledger = Ledger::new(Some(key)).beside(expected(instances));
    for line in lines {
        assert!(ledger.add(line).is_continue());
    }
    let mut bill = ledger.finish().expect("small");
    assert_eq!(bill.currencies.len(), 1);
    bill.currencies.remove(0)
}

/// The differences of a bill, with hours and cost as text.
fn differences(bill: &CurrencyBill) -> Vec<(DifferenceReason, String, String)> {
    let comparison = bill.comparison.as_ref().expect("an audit");
    let differences = comparison.differences.iter();
    let text = |number: Decimal| number.normalize().to_string();
    differences.map(|(reason, part)| (*reason, text(part.hours), text(part.cost))).collect()
}

fn difference(
    reason: DifferenceReason,
    hours: &str,
    cost: &str,
) -> (DifferenceReason, String, String) {
    (reason, hours.to_owned(), cost.to_owned())
}

/// An hour, or a part of one, of the instance on demand at 28.8.
fn billed(at: u32, hours: &str) -> BillLine {
    let hours = decimal(hours);
    let cost = Some(hours * decimal("28.8"));
    let mut line = on_demand();
    (line.period, line.hours) = (hour(at), Some(hours));
    (line.costs.contracted, line.costs.effective) = (cost, cost);
    line
}

/// From the third hour on, the price is 20 instead of 30; the second hour was not read.
#[test]
fn rates_change_and_hours_may_be_unread() {
    let mut instance = seen("i-0a", [12, 0, 12, 12], "30", "30");
    let rate = instance.rates[0].rate.map(|rate| InstanceRate {
        price: decimal("20"),
        effective: decimal("20"),
        ..rate
    });
    instance.rates.push(RateSince { hour: 2, rate });
    let mut audit = expected(vec![instance]);
    let unread = BTreeMap::from([("us-east-1".to_owned(), BTreeSet::from([1]))]);
    audit.unread.insert("444455556666".to_owned(), unread);
    let mut unknown = billed(1, "1");
    unknown.resource = Some("i-0z".to_owned());
    let mut ledger = Ledger::new(None).beside(audit);
    for line in [billed(0, "1"), billed(1, "1"), billed(2, "0.5"), unknown] {
        assert!(ledger.add(line).is_continue());
    }
    let bill = ledger.finish().expect("small").currencies.remove(0);
    let comparison = bill.comparison.as_ref().expect("an audit");
    // Seen: 1 hour at 30 and 2 at 20. Billed: 3.5 hours at 28.8.
    assert_eq!(comparison.audit, decimal("70"));
    assert_eq!(comparison.bill, decimal("100.8"));
    let expected = [
        // Half an hour at the second rate.
        difference(DifferenceReason::NotBilled, "-0.5", "-10"),
        // 28.8 − 30, and 0.5 × (28.8 − 20).
        difference(DifferenceReason::OtherPrice, "0", "3.2"),
        // Two hours that were not read, of an instance that is known and one that is not.
        difference(DifferenceReason::OtherTime, "2", "57.6"),
        difference(DifferenceReason::AfterBill, "-1", "-20"),
    ];
    assert_eq!(differences(&bill), expected);
    let used = comparison.used();
    assert_eq!(used.cost, used.unmeasured);
}

#[test]
fn a_difference_has_names_that_add_up() {
    // The audit takes commitments to save 5 of 30 an hour, and saw 1, 0.5, 0 and 1 hours.
    let instance = seen("i-0a", [12, 6, 0, 12], "30", "25");
    let bill = compared([billed(0, "1"), billed(1, "1"), billed(2, "0.5")], vec![instance]);
    let comparison = bill.comparison.as_ref().expect("an audit");
    // 2.5 x 28.8, and 2.5 x 25.
    assert_eq!(comparison.bill, decimal("72"));
    assert_eq!(comparison.audit, decimal("62.5"));
    assert_eq!(
        differences(&bill),
        [
            // 0.5 and 0.5 at 25.
            difference(DifferenceReason::NotSeen, "1", "25"),
            // 72 - 2.5 x 30.
            difference(DifferenceReason::OtherPrice, "0", "-3"),
            // Of 2.5 hours each costs 5 more: no commitment covers them.
            difference(DifferenceReason::Commitment, "0", "12.5"),
            // The bill ends with the third hour.
            difference(DifferenceReason::AfterBill, "-1", "-25"),
        ]
    );
    let [one] = comparison.instances.as_slice() else {
        panic!("{:?}", comparison.instances);
    };
    assert_eq!(one.billed_hours, decimal("2.5"));
    assert_eq!(one.difference(), decimal("9.5"));
}

#[test]
fn a_commitment_that_the_audit_does_not_know_is_named() {
    let mut plan = covered();
    plan.resource = Some("i-0b".to_owned());
    let mut reserved = covered();
    reserved.resource = Some("i-0c".to_owned());
    reserved.purchase_option = Some(PurchaseOption::Reserved);
    reserved.costs.contracted = None;
    let mut unstated = covered();
    unstated.resource = Some("i-0d".to_owned());
    unstated.costs.effective = None;
    let ran = |id| seen(id, [12, 0, 0, 0], "32", "32");
    let mut unpriced = ran("i-0a");
    unpriced.rates[0].rate = None;
    let instances = vec![unpriced, ran("i-0b"), ran("i-0c"), ran("i-0d")];
    let bill = compared([on_demand(), plan, reserved, unstated], instances);
    assert_eq!(
        differences(&bill),
        [
            // The negotiated price of the plan's hour: 28.8 - 32.
            difference(DifferenceReason::OtherPrice, "0", "-3.2"),
            difference(DifferenceReason::Unpriced, "1", "28.8"),
            // 20 - 28.8 of the plan; 20 - 32 where no other price is stated.
            difference(DifferenceReason::Commitment, "0", "-20.8"),
            difference(DifferenceReason::NoCost, "1", "-32"),
        ]
    );
}

#[test]
fn what_one_of_both_does_not_have_is_named() {
    let with = |change: fn(&mut BillLine)| {
        let mut line = on_demand();
        line.resource = Some("i-0z".to_owned());
        change(&mut line);
        line
    };
    let mut of_other = seen("i-0y", [12, 0, 0, 0], "10", "10");
    of_other.account = "111122223333".to_owned();
    let instances =
        vec![seen("i-0a", [12; 4], "10", "10"), seen("i-0x", [0, 0, 0, 6], "10", "10"), of_other];
    let lines = [
        with(|line| line.account = Some("999900001111".to_owned())),
        with(|line| line.region = Some("eu-west-1".to_owned())),
        with(|line| line.resource = None),
        with(|line| line.period = hour(4)),
        with(|_| ()),
        with(|line| line.instance_type = Some("m6i.large".to_owned())),
        // An instance after and in the hours of the audit.
        with(|line| (line.resource, line.period) = (Some("i-0a".to_owned()), hour(7))),
        with(|line| (line.resource, line.period) = (Some("i-0a".to_owned()), hour(1))),
        other(LineKind::Tax, "1.5", "1.5"),
        part_of("ranker", SharedPart::Accelerator, "12", "6"),
    ];
    let bill = compared(lines, instances);
    assert_eq!(
        differences(&bill),
        [
            // Three hours of the first, and half an hour of the second.
            difference(DifferenceReason::NotBilled, "-3.5", "-35"),
            difference(DifferenceReason::UnknownInstance, "1", "28.8"),
            difference(DifferenceReason::OtherPrice, "0", "18.8"),
            difference(DifferenceReason::OtherAccount, "1", "28.8"),
            difference(DifferenceReason::OtherRegion, "1", "28.8"),
            difference(DifferenceReason::OtherTime, "2", "57.6"),
            difference(DifferenceReason::Unnamed, "1", "28.8"),
            difference(DifferenceReason::NoLines, "-1", "-10"),
            difference(DifferenceReason::Line(LineKind::Instance), "0", "28.8"),
            difference(DifferenceReason::Line(LineKind::Tax), "0", "1.5"),
        ]
    );
}

#[test]
fn what_is_billed_by_the_day_is_divided_up_among_hours_that_ran() {
    let mut day = billed(0, "2");
    day.period = Some(expected(Vec::new()).hours);
    let bill = compared([day], vec![seen("i-0a", [12, 0, 12, 0], "28.8", "28.8")]);
    let differences = differences(&bill);
    assert!(differences.is_empty(), "{differences:?}");
}

#[test]
fn what_is_billed_is_useful_spare_idle_or_not_known() {
    let mut instance = seen("i-0a", [12, 12, 0, 0], "24", "24");
    instance.volumes = vec!["vol-1".to_owned()];
    instance.hours[0].measured = 12;
    instance.hours[0].idle = 12;
    // Half of it is measured, at 50%.
    instance.hours[1].measured = 6;
    instance.hours[1].useful = 6 * 5_000;
    let line = |at| {
        let mut line = billed(at, "1");
        line.costs.effective = some("24");
        line
    };
    let volume =
        BillLine { resource: Some("vol-1".to_owned()), ..other(LineKind::Volume, "0.5", "0.5") };
    let mut untagged = line(2);
    untagged.tag = None;
    let bill = compared([line(0), line(1), untagged, volume], vec![instance]);
    let comparison = bill.comparison.as_ref().expect("an audit");
    let of = |team: Option<&str>| comparison.used[&team.map(str::to_owned)];
    let search = UsedCost {
        cost: decimal("48"),
        useful: decimal("6"),
        spare: decimal("6"),
        idle: decimal("24"),
        unmeasured: decimal("12"),
    };
    assert_eq!(of(Some("search")), search);
    // It was not seen running in the third hour.
    assert_eq!(of(None).unmeasured, decimal("24"));
    // 24 of 36.
    let percent = search.idle_percent().map(|percent| percent.to_string());
    assert_eq!(percent.as_deref(), Some("66.6667"));
    assert_eq!(bill.instances[0].volumes, some("0.5"));
}

/// An hour, a part of one, or days, of instances that an audit may have.
fn any_billed() -> impl Strategy<Value = BillLine> {
    let hours = proptest::option::of(0_i64..3_000);
    let at = (0_u32..6, 0_u32..40, proptest::bool::ANY);
    (any_line(), hours, at, 0_usize..5).prop_map(|(mut line, hours, at, place)| {
        let (first, length, is_elsewhere) = at;
        let ends = hour(first + length).zip(hour(first));
        line.period = ends.map(|(last, first)| Window { start: first.start, end: last.end });
        line.hours = hours.map(|hours| Decimal::new(hours, 3));
        line.costs.contracted = line.costs.effective.map(|cost| cost * decimal("1.1"));
        match place {
            0 => line.resource = None,
            1 => line.region = Some("eu-west-1".to_owned()),
            2 => line.period = None,
            3 => line.costs.contracted = None,
            _ => {}
        }
        if is_elsewhere && place > 2 {
            line.account = Some("999900001111".to_owned());
        }
        line
    })
}

fn any_instance() -> impl Strategy<Value = ExpectedInstance> {
    let ran = proptest::array::uniform4(0_u16..=12);
    (0_u32..4, ran, proptest::bool::ANY).prop_map(|(id, ran, is_priced)| {
        let mut one = seen(&format!("i-{id}"), ran, "31.7", "25.123456789");
        for (index, hour) in one.hours.iter_mut().enumerate() {
            hour.measured = hour.ran / 2;
            hour.idle = hour.measured / 2;
            hour.useful = u32::from(hour.measured - hour.idle) * 1_000 * index as u32;
        }
        one.rates[0].rate = one.rates[0].rate.filter(|_| is_priced);
        one
    })
}

proptest! {
    /// Every difference has a name, and the names add up exactly: over the bill, and over
    /// each instance.
    #[test]
    fn names_add_up(
        lines in prop::collection::vec(any_billed(), 1..40),
        instances in prop::collection::vec(any_instance(), 0..4),
    ) {
        let ids: BTreeMap<String, ExpectedInstance> = instances
            .into_iter()
            .map(|instance| (instance.id.clone(), instance))
            .collect();
        let bill = compared(lines, ids.into_values().collect());
        let comparison = bill.comparison.as_ref().expect("an audit");
        let named: Decimal = comparison.differences.values().map(|part| part.cost).sum();
        prop_assert_eq!(named, comparison.bill - comparison.audit);
        prop_assert_eq!(comparison.bill, bill.total().effective.sum().unwrap_or_default());
        for instance in &comparison.instances {
            let named: Decimal = instance.differences.values().sum();
            prop_assert_eq!(named, instance.difference());
            let used = instance.used;
            let parts = used.useful + used.spare + used.idle + used.unmeasured;
            prop_assert_eq!((used.cost, parts), (instance.bill, instance.bill));
        }
        let used = comparison.used().cost;
        prop_assert_eq!(used, bill.of_instances().effective.sum().unwrap_or_default());
        // Seen hours, by another route.
        let seen: Decimal = comparison
            .instances
            .iter()
            .filter(|instance| instance.audit.is_some())
            .map(|instance| instance.seen_hours * decimal("25.123456789"))
            .sum();
        prop_assert!((seen - comparison.audit).abs() < decimal("0.000000001"));
    }
}
