//! What single GPUs report of themselves, with the figures of the situations by hand.

use crate::rules::builder::{A10G_MIB, flat, g5, judge};
use crate::rules::fixtures::{audit_of, dollars, only};
use gpucost::domain::{Comparator, FindingKind, Metric, Statistic};

/// Figure, comparison and threshold of the decisive evidence of the finding that fires.
fn decisive(rule: &str) -> (f64, Comparator, f64, &'static str) {
    let audit = audit_of(rule, "fires");
    let finding = only(&audit, rule);
    assert_eq!(finding.kind, FindingKind::Risk, "{rule}");
    assert_eq!(dollars(finding), None, "{rule}");
    let evidence = &finding.evidence()[0];
    let hundredths = (evidence.observed * 100.0).round() / 100.0;
    (hundredths, evidence.comparator, evidence.threshold, evidence.unit)
}

#[test]
fn a_card_is_hot_by_its_own_limit() {
    // An A10G may be at 88 °C.
    assert_eq!(decisive("hot-gpu"), (89.0, Comparator::GreaterThan, 88.0, "°C"));
}

#[test]
fn power_is_near_the_limit_from_nine_tenths() {
    // 0.9 × 300 W.
    let expected = (285.0, Comparator::GreaterThan, 270.0, "W");
    assert_eq!(decisive("power-near-limit"), expected);
}

#[test]
fn vram_is_nearly_full_from_ten_minutes() {
    // 12 × 5 minutes at 20,000 of 23,028 MiB.
    let expected = (60.0, Comparator::AtLeast, 10.0, "minutes");
    assert_eq!(decisive("vram-nearly-full"), expected);
    // 85% of 23,028 MiB are 19,573.8.
    for (periods, mib, fires) in [(2, 20_000.0, true), (1, 20_000.0, false), (2, 19_500.0, false)] {
        let used = |period: u32| Some(if period < periods { mib } else { 10_000.0 });
        let machine = g5("i-1")
            .gpu(0, flat(40.0))
            .series(Metric::GpuMemoryUsed, Statistic::Average, Some(0), used)
            .series(Metric::GpuMemoryTotal, Statistic::Maximum, Some(0), flat(A10G_MIB));
        let judged = judge(machine);
        assert_eq!(judged.finding("vram-nearly-full").is_some(), fires, "{periods} {mib}");
    }
}

#[test]
fn vram_grows_by_thirteen_steps() {
    // 13 × 400 of 23,028 MiB are 22.58%.
    let expected = (22.58, Comparator::AtLeast, 5.0, "% of the VRAM");
    assert_eq!(decisive("growing-vram"), expected);
}
