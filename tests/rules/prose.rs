//! Sentences that stay true when their figures are rounded.

use crate::rules::builder::{A10G_MIB, Machine, PERIODS, audited, estate, first, flat, g5, judge};
use gpucost::report::{AuditScreen, Invocation, TableStyle, View, audit_screen, doc_table};

fn at(percent: f64) -> Machine {
    g5("i-1").gpu(0, flat(percent)).vram(0, 9_000.0, A10G_MIB)
}

fn reason(machine: Machine) -> String {
    judge(machine).workload().verdict.reason.clone()
}

fn table(machine: Machine) -> String {
    let style = TableStyle { width: 200, color: false, wide: true, limit: None, ascii: false };
    let how = AuditScreen {
        view: &View::default(),
        by: None,
        invocation: &Invocation::default(),
        days: &[],
        is_brief: false,
        ascii: false,
    };
    doc_table(&audit_screen(&audited(&estate(vec![machine])), &how), style)
}

#[test]
fn a_mean_just_below_a_bound_reads_below_it() {
    assert_eq!(reason(at(24.96)), "mean GPU utilization 24.96% (< 25%)");
    assert_eq!(reason(at(17.3)), "mean GPU utilization 17.3% (< 25%)");
    assert_eq!(reason(at(60.0)), "mean GPU utilization 60.0% (≥ 60%)");
    let shown = table(at(24.96));
    assert!(shown.contains("has 24.96% average utilization"), "{shown}");
    assert!(shown.contains("24.96%, below 25%"), "{shown}");
    assert!(!shown.contains("25.0%, below 25%"), "{shown}");
}

#[test]
fn coverage_is_floored() {
    let covered = |periods| g5("i-1").gpu(0, first(periods, 40.0));
    // 2 009 of 4 032 are 49.83%.
    assert_eq!(reason(covered(2_009)), "coverage 49%, 50% needed");
    // 4 018 of 4 032 are 99.653%, one missing period 99.975%.
    let shown = table(covered(4_018));
    assert!(shown.contains("4,018 samples, coverage 99%"), "{shown}");
    assert!(table(covered(PERIODS - 1)).contains(" 99.9% "));
}

#[test]
fn power_below_the_idle_draw_is_not_within_points_of_it() {
    // An A10G draws 19% of its limit at rest.
    assert_eq!(
        reason(g5("i-1").power(flat(8.0))),
        "power p99 8.0% is at most 24.0%, 5 points above the card's idle power of 19.0%"
    );
    assert_eq!(
        reason(g5("i-1").power(flat(24.04))),
        "power only: p99 24.04% is more than 24.00%, 5 points above the card's idle power of \
         19.0%, and the mean of 24.0% is not above 60% of the limit"
    );
}
