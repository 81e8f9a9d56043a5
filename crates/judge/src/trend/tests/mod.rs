//! Small histories, calculated by hand; and the examples of `docs/money-over-time.md` and the
//! thresholds that it names.

mod changes;
mod digests;
mod forecasts;
mod ledgers;
mod sums;

use crate::trend::lab::usd;
use crate::trend::{AnomalyLimits, LEAST_GAIN_PERCENT, LEAST_ORIGINS, LEAST_TRIALS};

const PAGE: &str = include_str!("../../../../../docs/money-over-time.md");

#[track_caller]
fn says(words: &str) {
    let page = PAGE.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains(words), "{words}");
}

#[test]
fn the_example_of_a_change_is_that_of_the_test() {
    // `a_price_cut_a_move_and_a_commitment_by_hand` has the same figures.
    for (part, dollars) in
        [("usage", "−12.00"), ("mix", "−1.80"), ("price", "−6.00"), ("rate", "−4.50")]
    {
        let row = PAGE.lines().find(|line| {
            line.starts_with(&format!("| {part} |")) && line.ends_with(&format!("{dollars} |"))
        });
        assert!(row.is_some(), "{part} {dollars}");
    }
    says("Of $48.00 and $23.70");
}

#[test]
fn the_examples_of_savings_and_forecast_are_those_of_the_tests() {
    // `a_price_cut_is_of_the_cloud` and `committed_hours_and_what_runs_by_hand`.
    for amount in ["144.00", "72.00", "216.00"] {
        says(&usd(amount).to_string());
    }
    says("10 × 38.40 = $384.00");
    says("20 × 24.00 = $480.00, together $1,248.00");
}

#[test]
fn the_page_has_the_thresholds_of_the_code() {
    let limits = AnomalyLimits::default();
    says(&format!("{} and {} by default", limits.amount, limits.percent));
    says(&format!("at least {LEAST_ORIGINS} ratios"));
    says(&format!("over {LEAST_TRIALS} or more of the last 56 days"));
    says(&format!("at least {LEAST_GAIN_PERCENT}% smaller"));
    says(&format!("at least {} bands of the past", crate::trend::LEAST_CHECKED));
}
