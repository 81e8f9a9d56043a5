//! A purchase is a promise: what it binds to until its term ends, for whom it is asked until
//! when the work runs, and what a last day rules out.

use super::{HELD_MIB, WORKS};
use crate::rules::builder::{A10G_MIB, Machine, as_of, audited, estate, flat};
use crate::rules::fixtures::decimal;
use gpucost::analysis::{Audit, audit};
use gpucost::domain::{ActionKind, GapSubject, Policy, Risk};
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use rust_decimal::Decimal;

/// A g5.xlarge that works around the clock.
fn steady(id: &str) -> Machine {
    Machine::new(id, "g5.xlarge").cpu(flat(50.0)).gpu(0, flat(WORKS)).vram(0, HELD_MIB, A10G_MIB)
}

/// The day so many days after the audit.
fn in_days(days: i64) -> String {
    let day = as_of() + SignedDuration::from_hours(24 * days);
    day.to_zoned(TimeZone::UTC).date().to_string()
}

fn at_high(machines: Vec<Machine>) -> Audit {
    audit(&estate(machines), &Policy::default(), Risk::High)
}

fn commits(report: &Audit, id: &str) -> bool {
    let mut workloads = report.workloads.iter();
    let workload = workloads.find(|workload| workload.workload.id() == id).expect("it is there");
    let mut kinds = workload.actions.iter().map(|action| action.kind());
    kinds.any(|kind| kind == ActionKind::Commit)
}

#[test]
fn a_purchase_states_everything_that_is_paid_until_it_ends() {
    let report = audited(&estate(vec![steady("i-1"), steady("i-2")]));
    let [bought] = report.purchases.as_slice() else { panic!("{:?}", report.purchases) };
    let promise = bought.promise().expect("a term");
    assert_eq!(promise.kind, "standard-reserved-instance");
    assert_eq!((bought.count, promise.term.years), (2, 1));
    assert_eq!(promise.upfront.amount(), Decimal::ZERO);
    // 2 × 0.63378 × 730 = 925.3188 and 2 × 0.63378 × 8 760 = 11 103.8256.
    assert_eq!(promise.monthly.amount(), decimal("925.32"));
    assert_eq!(promise.term_total.amount(), decimal("11103.83"));
    // 0.63378 / 1.006 = 63.0%.
    assert_eq!(promise.break_even_percent, decimal("63"));
    assert_eq!(promise.evidence_days, Decimal::from(14));
    // The saving is something else: 2 × (1.006 − 0.63378) × 730 = 543.4412.
    assert_eq!(bought.monthly_savings.amount(), decimal("543.44"));
    // Nobody declared that this work ends.
    assert!(bought.caveats.is_empty() && bought.steps.is_empty());
}

#[test]
fn upfront_is_cash_and_a_young_machine_is_little_evidence() {
    let mut young = steady("i-2").launched_hours_ago(10 * 24);
    young.instance.attached_time = None;
    let report = at_high(vec![steady("i-1"), young]);
    let [bought] = report.purchases.as_slice() else { panic!("{:?}", report.purchases) };
    let promise = bought.promise().expect("a term");
    // Three years all upfront: 2 × 9 940.99, and nothing by the month.
    assert_eq!(bought.count, 2);
    assert_eq!(promise.term.years, 3);
    assert_eq!(promise.upfront.amount(), decimal("19881.98"));
    assert_eq!(promise.monthly.amount(), Decimal::ZERO);
    assert_eq!(promise.term_total, promise.upfront);
    assert_eq!(promise.evidence_days, Decimal::from(10));
}

#[test]
fn work_that_ends_is_asked_until_when_and_no_dollar_changes() {
    let fleet = |kind: &str| {
        let declared = steady("i-1").tag("gpucost:kind", kind);
        audited(&estate(vec![declared, steady("i-2")]))
    };
    let (training, serving) = (fleet("training"), fleet("serving"));
    let [bought] = training.purchases.as_slice() else { panic!("{:?}", training.purchases) };
    let [caveat] = bought.caveats.as_slice() else { panic!("{:?}", bought.caveats) };
    assert!(caveat.starts_with("i-1: until when does it run?"), "{caveat}");
    let asked = |report: &Audit, id: &str| {
        let mut workloads = report.workloads.iter();
        let workload = workloads.find(|workload| workload.workload.id() == id).expect("there");
        let mut caveats = workload.actions.iter().flat_map(|action| action.caveats());
        caveats.any(|caveat| caveat.starts_with("until when"))
    };
    assert!(asked(&training, "i-1") && !asked(&training, "i-2"));
    assert!(serving.purchases[0].caveats.is_empty());
    assert!(!asked(&serving, "i-1"));
    assert_eq!(bought.monthly_savings, serving.purchases[0].monthly_savings);
}

#[test]
fn no_term_goes_beyond_the_last_day() {
    // 8 760 hours from midnight on end at midnight of the 365th day.
    let until = |days: i64| {
        let ends =
            steady("i-1").tag("gpucost:kind", "training").tag("gpucost:until", &in_days(days));
        audited(&estate(vec![ends, steady("i-2")]))
    };
    let soon = until(364);
    assert!(!commits(&soon, "i-1") && commits(&soon, "i-2"));
    assert_eq!(soon.purchases[0].count, 1);
    // A day later the year fits, and the question is answered.
    let late = until(365);
    assert!(commits(&late, "i-1") && commits(&late, "i-2"));
    assert_eq!(late.purchases[0].count, 2);
    assert!(late.purchases[0].caveats.is_empty());
}

#[test]
fn a_tag_that_cannot_be_read_is_a_gap() {
    let gaps = |tag: &str, value: &str| {
        let report = audited(&estate(vec![steady("i-1").tag(tag, value)]));
        let of_tag = report.gaps.into_iter().filter(|gap| gap.reason.contains(tag));
        of_tag.map(|gap| (gap.what, gap.place)).collect::<Vec<_>>()
    };
    let of_one = |what: GapSubject| vec![(what, "i-1".to_owned())];
    for (what, tag, unreadable, readable) in [
        (GapSubject::Commitments, "until", "summer", "2027-06-30"),
        (GapSubject::UtilizationPerGpu, "gpus", "two", "Linked"),
        (GapSubject::TagValue, "kind", "robots", "fine-tuning"),
        (GapSubject::TagValue, "precision", "high", "FP64"),
        (GapSubject::TagValue, "replicas", "two", "interchangeable"),
        (GapSubject::TagValue, "restartable", "maybe", "No"),
        (GapSubject::TimeZone, "timezone", "Mars/Olympus", "Europe/Berlin"),
        (GapSubject::VramUse, "vram", "plenty", "8GiB"),
    ] {
        let tag = format!("gpucost:{tag}");
        assert_eq!(gaps(&tag, unreadable), of_one(what), "{tag}");
        assert!(gaps(&tag, readable).is_empty(), "{tag}");
    }
    // Of a group, the instances are counted and the first is named.
    let member = |id: &str, replicas: &str| {
        let member = steady(id).tag("gpucost:workload", "team");
        member.tag("gpucost:replicas", replicas)
    };
    let group = vec![member("i-1", "interchangeable"), member("i-2", "2"), member("i-3", "")];
    let report = audited(&estate(group));
    let words = "the tag gpucost:replicas of 2 instances, such as i-2, cannot be read: it declares \
                 nothing";
    let gaps = report.gaps.iter();
    assert_eq!(gaps.filter(|gap| gap.reason == words).count(), 1);
}

#[test]
fn a_last_day_allows_the_terms_that_end_before() {
    // Both for three years: 2 × (1.006 − 0.378272) × 730 = 916.48288.
    let free = at_high(vec![steady("i-1"), steady("i-2")]);
    let saved = free.purchases[0].monthly_savings.amount();
    assert_eq!(saved, decimal("916.48"));
    // One ends after two years. Both for a year all upfront would save 605.09, and the other alone for
    // three years 458.24; together that is (1.006 − 0.378272) × 730 = 458.24144 for the other and
    // (1.006 − 0.591553) × 730 = 302.54631 for a year.
    let ends = steady("i-1").tag("gpucost:until", &in_days(2 * 366));
    let report = at_high(vec![ends, steady("i-2")]);
    let terms = report.purchases.iter().map(|bought| {
        let promise = bought.promise().expect("a term");
        let saved = bought.monthly_savings.amount();
        let [share] = bought.shares.as_slice() else { panic!("{:?}", bought.shares) };
        (share.id.as_str(), bought.count, promise.term.years, promise.upfront.amount(), saved)
    });
    let expected = [
        ("i-2", 1, 3, decimal("9940.99"), decimal("458.24")),
        ("i-1", 1, 1, decimal("5182"), decimal("302.55")),
    ];
    assert_eq!(terms.collect::<Vec<_>>(), expected);
    // 2 × 734.38 − 458.24 − 302.55.
    let planned = report.totals.planned_monthly_cost.expect("priced").amount();
    assert_eq!(planned, decimal("707.97"));
}

/// The longer term covers what ends too: 0–20 h of one that stays and 20–24 h of one that ends are
/// one unit around the clock, 0.378272 × 730 = 276.14, and what it saves is of the one that stays.
#[test]
fn a_longer_term_saves_in_the_hours_of_what_ends_before_it() {
    let between = |id: &str, from: u32, until: u32| {
        let runs = move |period: u32| (from..until).contains(&(period / 12 % 24));
        let on = |level: f64| move |period: u32| runs(period).then_some(level);
        let machine = Machine::new(id, "g5.xlarge").cpu(on(50.0)).gpu(0, on(WORKS));
        machine.vram(0, HELD_MIB, A10G_MIB)
    };
    let ends = between("i-2", 20, 24).tag("gpucost:until", &in_days(2 * 366));
    let report = at_high(vec![between("i-1", 0, 20), ends]);
    let [bought] = report.purchases.as_slice() else { panic!("{:?}", report.purchases) };
    assert_eq!((bought.count, bought.promise().expect("a term").term.years), (1, 3));
    // 734.38 − 276.14.
    assert_eq!(bought.monthly_savings.amount(), decimal("458.24"));
    let shares = bought.shares.iter().map(|share| share.id.as_str());
    assert_eq!(shares.collect::<Vec<_>>(), ["i-1"]);
    let planned = report.totals.planned_monthly_cost.expect("priced").amount();
    assert_eq!(planned, decimal("276.14"));
}

#[test]
fn a_finding_shows_the_cents_of_the_action_that_answers_it() {
    let saved = |risk: Risk| {
        let report = audit(&estate(vec![steady("i-1")]), &Policy::default(), risk);
        let of_rule = |rule: &str| {
            let mut findings = report.findings.iter();
            let finding = findings.find(|finding| finding.rule() == rule).expect("it fires");
            finding.monthly_savings.map(|saved| saved.amount())
        };
        let mut findings = report.findings.iter();
        let finding = findings.find(|finding| finding.rule() == "steady-on-demand");
        let to = &finding.expect("it fires").recommendation.to;
        assert_eq!(to.contains("3 years"), risk == Risk::High, "{to}");
        let actions = report.workloads[0].actions.iter();
        let actions = actions.map(|action| action.monthly_savings().amount());
        (of_rule("steady-on-demand"), actions.collect::<Vec<_>>())
    };
    // Without an action: a year without upfront payment, (1.006 − 0.63378) × 730 = 271.7206.
    assert_eq!(saved(Risk::Low), (Some(decimal("271.72")), vec![]));
    let year = decimal("271.72");
    assert_eq!(saved(Risk::Medium), (Some(year), vec![year]));
    // The plan takes three years all upfront: (1.006 − 0.378272) × 730 = 458.24144.
    let long = decimal("458.24");
    assert_eq!(saved(Risk::High), (Some(long), vec![long]));
}
