//! One estate, several providers and accounts that use the same names.

use crate::rules::builder::{A10G_MIB, Machine, as_of, audited, estate, flat};
use gpucost::analysis::{Audit, AuditedWorkload, audit};
use gpucost::domain::{
    ActionKind, Address, CommitmentTerm, Currency, Finding, HourlyRate, InstanceShape,
    InstanceState, Policy, PriceBasis, PriceBook, PriceKey, PriceOrigin, PriceQuote, Provider,
    PurchaseOption, ResourceId, Risk, SavingsPlan, SavingsPlanKind, Volume,
};
use gpucost::savings::Refusal;
use gpucost::sources::files::{Keep, read_estate, write_estate};
use gpucost::usage::Estate;
use jiff::SignedDuration;
use rust_decimal::Decimal;

const NATIVE: &str = "i-1";

fn id(provider: Provider, account: &str) -> ResourceId {
    ResourceId::new(provider, account, "us-east-1", NATIVE)
}

/// The same name, type, region and group at a provider in an account.
fn machine((provider, account): (Provider, &str), level: f64) -> Machine {
    let mut machine = Machine::new(NATIVE, "g5.xlarge");
    machine.instance.id = id(provider, account);
    machine.instance.account = account.to_owned();
    machine.instance.auto_scaling_group = Some("train".to_owned());
    machine.cpu(flat(5.0)).gpu(0, flat(level)).vram(0, 2_000.0, A10G_MIB)
}

const AWS: (Provider, &str) = (Provider::Aws, "lab");
const HALL: (Provider, &str) = (Provider::OnPremises, "lab");
const OTHER_HALL: (Provider, &str) = (Provider::OnPremises, "other");

/// Three machines of one name, a savings plan for any compute, and a price of the own
/// hardware of a dollar.
fn three() -> Estate {
    let mut three = estate(vec![machine(AWS, 80.0), machine(HALL, 0.0), machine(OTHER_HALL, 20.0)]);
    three.accounts = vec!["lab".to_owned(), "other".to_owned()];
    three.commitments.savings_plans.push(SavingsPlan {
        id: "sp-1".to_owned(),
        account: None,
        kind: SavingsPlanKind::Compute,
        region: None,
        family: None,
        currency: Currency::Usd,
        commitment_hourly: Decimal::from(10),
        term: CommitmentTerm::ONE_YEAR_NO_UPFRONT,
        start: as_of() - SignedDuration::from_hours(24 * 100),
        end: as_of() + SignedDuration::from_hours(24 * 265),
    });
    let quote = PriceQuote {
        rate: HourlyRate::new(Decimal::ONE, Currency::Usd).expect("a rate"),
        instalments: None,
        origin: PriceOrigin::User,
        basis: PriceBasis::Observed,
        effective_date: jiff::civil::date(2026, 10, 1),
        seen_on: jiff::civil::date(2026, 10, 1),
        source: "own.csv".to_owned(),
    };
    let own = PriceKey {
        provider: Provider::OnPremises,
        ..PriceKey::linux_on_demand("us-east-1", "g5.xlarge")
    };
    three.prices.insert(own, quote.clone());
    // Half the list price of the same type under the plan.
    let option = SavingsPlanKind::Compute
        .price_option(CommitmentTerm::ONE_YEAR_NO_UPFRONT)
        .expect("of instances");
    let rate = HourlyRate::new(Decimal::new(5, 1), Currency::Usd).expect("a rate");
    let list = PriceKey::linux_on_demand("us-east-1", "g5.xlarge");
    three.prices.insert(list.with_option(option), PriceQuote { rate, ..quote });
    three
}

/// Id, mean utilization, how it is paid and dollars a month of each workload.
fn found(audit: &Audit) -> Vec<(String, f64, PurchaseOption, String)> {
    let rows = audit.workloads.iter().map(|workload| {
        let used = workload.workload.utilization.as_ref().expect("it was measured");
        let cost = workload.workload.monthly_cost().expect("it is priced");
        (
            workload.workload.id(),
            used.distribution.mean,
            workload.workload.key.purchase_option,
            cost.amount().to_string(),
        )
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by(|left, right| left.0.cmp(&right.0));
    rows
}

#[test]
fn one_name_at_two_providers_and_in_two_accounts_is_three_machines() {
    let three = three();
    let rows = found(&audited(&three));
    // 730 hours at 0.5 under the plan, and at a dollar in the halls: what AWS sold does
    // not pay there.
    let expected = [
        ("lab/us-east-1/g5.xlarge/on-demand/asg:train", 80.0, PurchaseOption::SavingsPlan, "365.0"),
        (
            "on-premises/lab/us-east-1/g5.xlarge/on-demand/asg:train",
            0.0,
            PurchaseOption::OnDemand,
            "730",
        ),
        (
            "on-premises/other/us-east-1/g5.xlarge/on-demand/asg:train",
            20.0,
            PurchaseOption::OnDemand,
            "730",
        ),
    ]
    .map(|(id, mean, option, cost)| (id.to_owned(), mean, option, cost.to_owned()));
    assert_eq!(rows, expected);

    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("estate.json");
    let mut text = Vec::new();
    write_estate(&three, &mut text).expect("memory");
    std::fs::write(&path, text).expect("it is writable");
    for keep in [Keep::Points, Keep::Usage] {
        let read = read_estate(&path, keep).expect("what was written");
        assert_eq!(found(&audited(&read)), expected, "{keep:?}");
    }
}

#[test]
fn the_list_price_of_aws_is_not_the_price_of_the_same_name_elsewhere() {
    let mut three = three();
    three.prices.retain(|key, _| key.provider == Provider::Aws);
    let audit = audited(&three);
    let costs: Vec<bool> =
        audit.workloads.iter().map(|workload| workload.workload.monthly_cost().is_some()).collect();
    assert_eq!(costs.iter().filter(|priced| **priced).count(), 1);
    let unpriced = audit.gaps.iter().filter(|gap| gap.what.name() == "price");
    let places: Vec<&str> = unpriced.map(|gap| gap.place.as_str()).collect();
    let unpriced_group = |account: &str| {
        format!("on-premises/{account}/us-east-1/g5.xlarge/on-demand/asg:train/unpriced")
    };
    assert_eq!(places, [unpriced_group("lab"), unpriced_group("other")]);
}

#[test]
fn own_hardware_is_paid_for_whatever_is_done_with_it() {
    let audit = audited(&three());
    let halls = audit
        .workloads
        .iter()
        .filter(|workload| workload.workload.key.provider == Provider::OnPremises);
    let mut seen = 0;
    for workload in halls {
        seen += 1;
        assert!(workload.actions.is_empty(), "{:?}", workload.actions);
    }
    assert_eq!(seen, 2);
    // The idle one is reported, without a dollar that stopping it would not save.
    let idle = audit.findings.iter().find(|finding| finding.rule() == "idle-held-gpu");
    let idle = idle.expect("the first hall is idle");
    assert_eq!(idle.monthly_savings, None);
}

/// A machine of SageMaker in a group, at a level in each period.
fn of_sagemaker(
    (native, group): (&str, &str),
    instance_type: &str,
    level: impl Fn(u32) -> Option<f64> + Copy,
) -> Machine {
    let mut machine = Machine::new(NATIVE, instance_type);
    machine.instance.id = ResourceId::new(Provider::SageMaker, "111122223333", "us-east-1", native);
    machine.instance.auto_scaling_group = Some(group.to_owned());
    machine
        .tag("gpucost:restartable", "true")
        .cpu(flat(4.0))
        .gpu(0, level)
        .vram(0, 2_000.0, A10G_MIB)
}

/// An estate of such machines, all of which have one GPU and cost 1.408 an hour; EC2 sells
/// their type too.
fn sagemaker_estate(machines: Vec<Machine>) -> Estate {
    let mut estate = estate(machines);
    let inside = gpucost::catalog::shape("g5.xlarge").expect("in the catalog");
    for component in ["cluster", "hosting"] {
        let name = format!("ml.g5.xlarge-{component}");
        let key = PriceKey {
            provider: Provider::SageMaker,
            ..PriceKey::linux_on_demand("us-east-1", &name)
        };
        let quote = PriceQuote {
            rate: HourlyRate::new(Decimal::new(1_408, 3), Currency::Usd).expect("a rate"),
            instalments: None,
            origin: PriceOrigin::Api,
            basis: PriceBasis::Observed,
            effective_date: jiff::civil::date(2026, 10, 1),
            seen_on: jiff::civil::date(2026, 10, 1),
            source: "pricing:GetProducts".to_owned(),
        };
        estate.prices.insert(key, quote);
        let shape = InstanceShape { instance_type: name.clone(), ..inside.clone() };
        estate.shapes.insert(name, shape);
    }
    estate
}

/// An endpoint of one instance.
fn endpoint_at(level: impl Fn(u32) -> Option<f64> + Copy) -> Estate {
    let names = ("endpoint/chat/main/0", "endpoint/chat/main");
    sagemaker_estate(vec![of_sagemaker(names, "ml.g5.xlarge-hosting", level)])
}

fn endpoint(level: f64) -> Audit {
    audited(&endpoint_at(flat(level)))
}

fn finding<'a>(audit: &'a Audit, rule: &str) -> &'a Finding {
    let reported = audit.findings.iter().find(|finding| finding.rule() == rule);
    reported.unwrap_or_else(|| panic!("{rule} is not among {:?}", audit.findings))
}

#[test]
fn an_endpoint_is_deleted_or_left_as_it_is() {
    // 1.408 for 730 hours.
    let whole = Decimal::new(102_784, 2);
    let idle = endpoint(0.0);
    let [workload] = idle.workloads.as_slice() else {
        panic!("{:?}", idle.workloads);
    };
    let cost = workload.workload.monthly_cost().map(|cost| cost.amount());
    assert_eq!(cost, Some(whole));
    let [stop] = workload.actions.as_slice() else {
        panic!("{:?}", workload.actions);
    };
    assert_eq!(stop.kind(), ActionKind::Stop);
    assert_eq!(stop.monthly_savings().amount(), whole);
    assert_eq!(
        stop.detail(),
        "delete: no GPU activity; the model and the endpoint configuration remain"
    );

    // Used a little: no EC2 type, market or commitment takes its place.
    let used = endpoint(8.0);
    let [workload] = used.workloads.as_slice() else {
        panic!("{:?}", used.workloads);
    };
    assert!(workload.actions.is_empty(), "{:?}", workload.actions);
    let reason = |kind| {
        let answer = workload.proposals.answer(kind).expect("it was asked");
        assert!(answer.offered.is_none(), "{answer:?}");
        answer.refused.first().map(|refused| refused.reason.clone())
    };
    for (kind, expected) in [
        (ActionKind::Schedule, Refusal::NoPause),
        (ActionKind::Rightsize, Refusal::TypesNotCompared),
        (ActionKind::Share, Refusal::ManagedHost),
        (ActionKind::Spot, Refusal::NoSpotMarket),
        (ActionKind::Commit, Refusal::OtherCommitments),
    ] {
        assert_eq!(reason(kind), Some(expected), "{kind}");
    }
}

#[test]
fn what_a_savings_plan_of_sagemaker_may_pay_for_is_not_certain_to_end() {
    let plan = |kind| SavingsPlan { kind, ..three().commitments.savings_plans.remove(0) };
    let with = |kind| {
        let mut estate = endpoint_at(flat(0.0));
        estate.commitments.savings_plans.push(plan(kind));
        audited(&estate)
    };
    // 1.408 for 730 hours: no plan for any compute covers it.
    let whole = Decimal::new(102_784, 2);
    let sums = |audit: &Audit| {
        let totals = &audit.totals;
        let sums = [totals.monthly_waste, totals.monthly_optimization];
        sums.map(|sum| sum.map(|sum| sum.amount()))
    };
    let certain = with(SavingsPlanKind::Compute);
    assert_eq!(sums(&certain), [Some(whole), Some(Decimal::ZERO)]);
    let uncertain = with(SavingsPlanKind::Other);
    assert_eq!(sums(&uncertain), [Some(Decimal::ZERO), Some(whole)]);
    let [stop] = uncertain.workloads[0].actions.as_slice() else {
        panic!("{:?}", uncertain.workloads[0].actions);
    };
    let caveats = stop.caveats();
    assert!(caveats[0].contains("rate is unknown"), "{caveats:?}");
}

#[test]
fn idle_nodes_of_a_cluster_are_deleted_by_their_names() {
    let nodes = ["i-0a1", "i-0a2", "i-0a3", "i-0a4"];
    let machines = nodes.map(|node| {
        let level = if node == "i-0a1" { 0.0 } else { 80.0 };
        let native = format!("cluster/hp/{node}");
        let names = (native.as_str(), "cluster/hp/workers");
        of_sagemaker(names, "ml.g5.xlarge-cluster", flat(level))
    });
    let audit = audited(&sagemaker_estate(machines.into()));
    let idle = finding(&audit, "idle-held-gpu");
    let steps = idle.recommendation.steps.join("\n");
    let command = "`aws sagemaker batch-delete-cluster-nodes --cluster-name hp --node-ids i-0a1`";
    assert!(steps.contains(command), "{steps}");
    for busy in ["i-0a2", "i-0a3", "i-0a4"] {
        assert!(!steps.contains(busy), "{steps}");
    }
    // No such group exists.
    let caveats = &idle.recommendation.caveats;
    assert!(!caveats.iter().any(|caveat| caveat.contains("Auto Scaling")), "{caveats:?}");
}

#[test]
fn what_levers_refuse_for_an_endpoint_is_not_advised_either() {
    // 30% in the eight hours of a day, 10% on average: idle for two thirds of it.
    let office = |period: u32| Some(if period % 288 < 96 { 30.0 } else { 0.0 });
    for (estate, rule) in [
        (endpoint_at(office), "overprovisioned-gpu"),
        (endpoint_at(flat(8.0)), "overprovisioned-gpu"),
        (endpoint_at(flat(40.0)), "underutilized-gpu"),
    ] {
        let audit = audited(&estate);
        let advice = &finding(&audit, rule).recommendation;
        let words = format!("{} {}", advice.action, advice.steps.join(" "));
        for refused in ["schedule", "share", "hours of use"] {
            assert!(!words.contains(refused), "{rule}: {words}");
        }
    }
}

#[test]
fn storage_and_discounts_of_aws_hold_nowhere_else() {
    let mut own = machine(OTHER_HALL, 20.0);
    own.instance.state = InstanceState::Stopped;
    own.instance.volumes.push(Volume {
        id: "disk-1".to_owned(),
        volume_type: Some("gp3".to_owned()),
        size_gib: Some(1_000),
    });
    own.instance.addresses.push(Address { id: "10.0.0.1".to_owned() });
    let mut fleet = three();
    fleet.instances.retain(|known| known.id != own.instance.id);
    fleet.metrics.retain(|series| series.instance != own.instance.id);
    fleet.instances.push(own.instance);
    let policy = Policy {
        discount_percent: [("g5".to_owned(), Decimal::from(50))].into(),
        ..Policy::default()
    };
    let mut quotes = PriceBook::default();
    for (key, quote) in fleet.prices.iter() {
        let origin = PriceOrigin::Api;
        quotes.insert(key.clone(), PriceQuote { origin, ..quote.clone() });
    }
    fleet.prices = quotes;
    let audit = audit(&fleet, &policy, Risk::Medium);
    let mut costs = audit
        .workloads
        .iter()
        .filter(|workload| workload.workload.key.provider == Provider::OnPremises);
    let cost =
        |workload: &AuditedWorkload| workload.workload.monthly_cost().map(|cost| cost.amount());
    // 730 hours at a dollar. Neither the volume nor the address of the stopped one has a
    // price.
    assert_eq!(costs.next().and_then(cost), Some(Decimal::from(730)));
    let idle = &costs.next().expect("the other").workload.idle_storage;
    assert_eq!((idle.monthly, idle.unpriced.len()), (None, 2));
}
