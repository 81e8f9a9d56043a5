use super::*;
use crate::domain::{
    BillCosts, BillLine, Currency, LineKind, OperatingSystem, PodShare, PriceOption, Provider,
    PurchaseOption, SharedPart, Tenancy, Window,
};
use jiff::civil::Date;
use proptest::prelude::*;
use rust_decimal::Decimal;

pub(super) fn decimal(text: &str) -> Decimal {
    text.parse().expect("a decimal")
}

pub(super) fn some(text: &str) -> Option<Decimal> {
    Some(decimal(text))
}

pub(super) fn hour(hour: u32) -> Option<Window> {
    let at = |hour: u32| {
        let text = format!("2026-10-{:02}T{:02}:00:00Z", 1 + hour / 24, hour % 24);
        text.parse().expect("a time")
    };
    Some(Window { start: at(hour), end: at(hour + 1) })
}

fn costs(list: &str, contracted: &str, effective: &str, billed: &str) -> BillCosts {
    BillCosts {
        currency: Currency::Usd,
        list: some(list),
        contracted: some(contracted),
        effective: some(effective),
        billed: some(billed),
    }
}

/// An hour of a p4d.24xlarge on demand, 10% below a list price of 32.
pub(super) fn on_demand() -> BillLine {
    BillLine {
        provider: Some(Provider::Aws),
        payer: Some("111122223333".to_owned()),
        account: Some("444455556666".to_owned()),
        resource: Some("i-0a".to_owned()),
        period: hour(0),
        billing_month: Some(Date::constant(2026, 10, 1)),
        service: Some("AmazonEC2".to_owned()),
        region: Some("us-east-1".to_owned()),
        instance_type: Some("p4d.24xlarge".to_owned()),
        operating_system: Some(OperatingSystem::Linux),
        tenancy: Some(Tenancy::Shared),
        kind: LineKind::Instance,
        purchase_option: Some(PurchaseOption::OnDemand),
        offer: Some(PriceOption::OnDemand),
        hours: some("1"),
        costs: costs("32", "28.8", "28.8", "28.8"),
        commitment: None,
        invoice: None,
        tag: Some("search".to_owned()),
        share: None,
    }
}

/// An hour of another one under a savings plan.
pub(super) fn covered() -> BillLine {
    BillLine {
        resource: Some("i-0b".to_owned()),
        purchase_option: Some(PurchaseOption::SavingsPlan),
        offer: None,
        costs: costs("32", "28.8", "20", "28.8"),
        commitment: Some("plan-1".to_owned()),
        tag: None,
        ..on_demand()
    }
}

/// A line that is for no instance.
pub(super) fn other(kind: LineKind, effective: &str, billed: &str) -> BillLine {
    BillLine {
        resource: None,
        instance_type: None,
        kind,
        hours: None,
        offer: None,
        costs: BillCosts { list: None, contracted: None, ..costs("0", "0", effective, billed) },
        tag: None,
        ..covered()
    }
}

fn bill_of(lines: impl IntoIterator<Item = BillLine>, key: Option<BillKey>) -> Bill {
    let mut ledger = Ledger::new(key);
    for line in lines {
        assert!(ledger.add(line).is_continue());
    }
    ledger.finish().expect("small")
}

/// Of a bill in one currency.
fn usd(lines: impl IntoIterator<Item = BillLine>) -> CurrencyBill {
    let mut bill = bill_of(lines, Some(BillKey::Tag("team".to_owned())));
    assert_eq!(bill.currencies.len(), 1);
    bill.currencies.remove(0)
}

#[test]
fn only_usage_uses_a_commitment() {
    let plain = [covered(), other(LineKind::Commitment, "5", "25")];
    let about = [
        other(LineKind::Credit, "-10", "-10"),
        other(LineKind::Discount, "-3", "-3"),
        other(LineKind::Refund, "-2", "-2"),
        other(LineKind::Tax, "7", "7"),
    ];
    let alone = usd(plain.clone());
    let bill = usd(plain.into_iter().chain(about));
    // The instance uses 20 of 25, whatever credits, discounts and taxes name the plan.
    assert_eq!(bill.commitments, alone.commitments);
    assert_eq!(bill.utilization_percent(), some("80"));
    // 20 + 5 - 10 - 3 - 2 + 7.
    assert_eq!(bill.total().effective.sum(), some("17"));
}

#[test]
fn a_savings_plan_is_counted_once() {
    // The plan costs 25 an hour: 20 of it cover the instance, 5 nothing.
    let bill = usd([
        on_demand(),
        covered(),
        other(LineKind::Negation, "0", "-28.8"),
        other(LineKind::Commitment, "5", "25"),
    ]);
    let total = bill.total();
    // 28.8 + 20 + 0 + 5, and 28.8 + 28.8 - 28.8 + 25.
    assert_eq!(total.effective.sum(), some("53.8"));
    assert_eq!(total.billed.sum(), some("53.8"));
    assert_eq!(total.list.sum(), some("64"));
    let of_instances = bill.of_instances();
    assert_eq!(of_instances.effective.whole(), some("48.8"));

    let [one] = bill.commitments.as_slice() else {
        panic!("{:?}", bill.commitments);
    };
    assert_eq!(one.utilization_percent(), some("80"));
    assert_eq!(one.used_by_instances.sum(), some("20"));
    assert_eq!(one.fees.sum(), some("25"));
    assert_eq!(one.option, Some(PurchaseOption::SavingsPlan));

    let [of_type] = bill.types.as_slice() else {
        panic!("{:?}", bill.types);
    };
    // 32 of 64.
    assert_eq!(of_type.parts.coverage_percent(), some("50"));
    assert_eq!(of_type.instances, 2);
    // 1 - (48.8 + 5) / 64.
    assert_eq!(bill.savings.rate_percent(), some("15.9375"));
}

#[test]
fn what_has_no_tag_is_unallocated() {
    let bill = usd([on_demand(), covered(), other(LineKind::Commitment, "5", "25")]);
    let (instances, total) = bill.unallocated();
    assert_eq!(instances.sum(), some("20"));
    assert_eq!(total.sum(), some("25"));
    let search = bill.groups.iter().find(|group| group.value.is_some());
    let search = search.expect("a team");
    assert_eq!(search.instances.sum(), some("28.8"));
    // One hour of eight GPUs.
    assert_eq!(search.gpu_hours, decimal("8"));
}

#[test]
fn currencies_do_not_add_up() {
    let mut euro = on_demand();
    euro.costs.currency = Currency::Eur;
    let bill = bill_of([on_demand(), euro], None);
    let sums: Vec<(Currency, Option<Decimal>)> = bill
        .currencies
        .iter()
        .map(|of_currency| (of_currency.currency, of_currency.total().effective.sum()))
        .collect();
    assert_eq!(sums, [(Currency::Usd, some("28.8")), (Currency::Eur, some("28.8"))]);
}

#[test]
fn a_missing_effective_cost_is_a_gap() {
    let mut reserved = covered();
    reserved.costs.effective = None;
    let bill = usd([on_demand(), reserved]);
    let effective = bill.total().effective;
    assert_eq!((effective.sum(), effective.absent()), (some("28.8"), 1));
    assert_eq!(effective.whole(), None);
    assert_eq!(bill.commitments[0].utilization_percent(), None);
    assert_eq!(bill.of_instances().savings_percent(), None);
}

pub(super) fn part_of(name: &str, part: SharedPart, cost: &str, unused: &str) -> BillLine {
    let share = PodShare {
        parent: Some("i-0a".to_owned()),
        cluster: Some("c".to_owned()),
        namespace: Some("search".to_owned()),
        name: Some(name.to_owned()),
        part,
        hours: some("4"),
        cost: some(cost),
        unused_cost: some(unused),
    };
    BillLine { share: Some(share), ..other(LineKind::SplitCopy, "0", "0") }
}

#[test]
fn what_pods_have_is_not_counted_twice() {
    let bill = usd([
        on_demand(),
        part_of("ranker", SharedPart::Accelerator, "12", "6"),
        part_of("ranker", SharedPart::Vcpu, "1", "0.5"),
        part_of("agent", SharedPart::Memory, "0.25", "0.05"),
    ]);
    assert_eq!(bill.total().effective.sum(), some("28.8"));
    let [pod] = bill.pods.as_slice() else {
        panic!("{:?}", bill.pods);
    };
    assert_eq!(pod.accelerator_hours, some("4"));
    assert_eq!(pod.accelerators.sum(), some("12"));
    // 12 + 1 + 6 + 0.5.
    assert_eq!(pod.total(), some("19.5"));
    // With the 0.3 of the agent.
    assert_eq!(bill.divided.allocated.sum(), some("19.8"));
    assert_eq!(bill.divided.cost.sum(), some("28.8"));
}

#[test]
fn a_fee_that_is_not_stated_is_no_saving() {
    // 1 − 28.8 / 32; with a commitment of which 3.2 stayed unused, nothing is saved.
    let mut fee = on_demand();
    fee.kind = LineKind::Commitment;
    fee.costs = costs("0", "0", "3.2", "3.2");
    assert_eq!(usd([on_demand()]).savings.rate_percent(), some("10"));
    let with_fee = usd([on_demand(), fee.clone()]).savings;
    assert_eq!(with_fee.rate_percent(), some("0"));
    // What of it stayed unused may be any of it.
    fee.costs.effective = None;
    let unstated = usd([on_demand(), fee]).savings;
    assert_eq!(unstated.rate_percent(), None);
}

#[test]
fn a_negotiated_rate_holds_in_every_hour() {
    let mut half = on_demand();
    half.hours = some("0.5");
    half.costs = costs("16", "14.4", "14.4", "14.4");
    half.period = hour(30);
    let bill = usd([on_demand(), half.clone()]);
    let [rate] = bill.rates.as_slice() else {
        panic!("{:?}", bill.rates);
    };
    assert_eq!(rate.refusal, None);
    assert_eq!(rate.hourly, some("28.8"));
    assert_eq!(rate.list_hourly, some("32"));
    assert_eq!(rate.discount_percent(), some("10"));
    let day = rate.last_day.map(|day| day.to_string());
    assert_eq!(day.as_deref(), Some("2026-10-02"));

    half.costs.contracted = some("15");
    let varies = usd([on_demand(), half.clone()]).rates[0].refusal;
    let (least, most) = (decimal("28.8"), decimal("30"));
    assert_eq!(varies, Some(RateRefusal::Varies { least, most }));

    half.costs.contracted = None;
    let unstated = usd([on_demand(), half]).rates[0].refusal;
    assert_eq!(unstated, Some(RateRefusal::Unstated { lines: 1 }));

    let mut public = on_demand();
    public.costs.contracted = some("32");
    assert_eq!(usd([public]).rates[0].refusal, Some(RateRefusal::Public));

    // Without a list price it may be the public one; that of a plan is its own.
    let mut unlisted = on_demand();
    unlisted.costs.list = None;
    let rate = usd([unlisted.clone()]).rates.remove(0);
    assert_eq!(rate.refusal, Some(RateRefusal::Unlisted));
    assert_eq!((rate.hourly, rate.discount_percent()), (some("28.8"), None));
    unlisted.offer = Some(PriceOption::CapacityBlock);
    let rate = usd([unlisted]).rates.remove(0);
    assert_eq!((rate.refusal, rate.discount_percent()), (None, None));

    let mut managed = on_demand();
    managed.instance_type = Some("ml.p4d.24xlarge".to_owned());
    let refusal = usd([managed]).rates[0].refusal;
    assert_eq!(refusal, Some(RateRefusal::NotAPrice));
}

#[test]
fn rounded_costs_are_noticed() {
    let of = |effective: &str| {
        let lines = (0..12).map(|_| {
            let mut line = on_demand();
            line.costs = costs("1.624", "2", effective, "1.624");
            line
        });
        usd(lines).rounded
    };
    let rounded = of("2");
    assert_eq!(rounded.len(), 1);
    assert_eq!((rounded[0].lines, rounded[0].effective), (12, decimal("24")));
    assert_eq!(rounded[0].billed, decimal("19.488"));
    assert!(of("1.6").is_empty());
}

pub(super) fn any_line() -> impl Strategy<Value = BillLine> {
    let kinds = proptest::sample::select(LineKind::ALL);
    let amount = || proptest::option::of(-1_000_000_i64..1_000_000);
    let of = |amount: Option<i64>| amount.map(|amount| Decimal::new(amount, 4));
    (kinds, amount(), amount(), 0_u32..4, 0_u32..3).prop_map(
        move |(kind, effective, billed, resource, plan)| {
            let mut line = on_demand();
            line.kind = kind;
            line.resource = Some(format!("i-{resource}"));
            line.commitment = (plan > 0).then(|| format!("plan-{plan}"));
            line.tag = (resource > 1).then(|| "search".to_owned());
            (line.costs.effective, line.costs.billed) = (of(effective), of(billed));
            line
        },
    )
}

proptest! {
    /// Sums are those of the lines, by another route, and in any order.
    #[test]
    fn nothing_is_lost_or_counted_twice(lines in prop::collection::vec(any_line(), 1..40)) {
        let counted = || lines.iter().filter(|line| line.kind != LineKind::SplitCopy);
        let effective: Decimal = counted().filter_map(|line| line.costs.effective).sum();
        let billed: Decimal = counted().filter_map(|line| line.costs.billed).sum();
        let bill = usd(lines.clone());
        let total = bill.total();
        prop_assert_eq!(total.effective.sum().unwrap_or_default(), effective);
        prop_assert_eq!(total.billed.sum().unwrap_or_default(), billed);
        let of_groups: Decimal = bill.groups.iter().filter_map(|group| group.all.sum()).sum();
        prop_assert_eq!(of_groups, effective);
        let of_types: Decimal = bill
            .types
            .iter()
            .filter_map(|type_cost| type_cost.parts.total().effective.sum())
            .sum();
        prop_assert_eq!(of_types, bill.of_instances().effective.sum().unwrap_or_default());
        let backwards = usd(lines.into_iter().rev());
        prop_assert_eq!(bill, backwards);
    }
}
