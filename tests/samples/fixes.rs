//! How the plan of 80 real GPU containers is carried out, as though each were a p5.4xlarge:
//! one H100 of 80 GB.

use crate::samples::containers::{Readings, both, estate, policy};
use crate::support::data::shared;
use gpucost::analysis::{FixChoice, audit, fixes};
use gpucost::catalog::bundled_quote;
use gpucost::domain::{PriceBook, PriceKey, Risk};
use gpucost::report::{FixPlan, FixView, Invocation, doc_csv, doc_json, fix_doc};
use gpucost::usage::Estate;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const TYPE: &str = "p5.4xlarge";
/// It moves on metrics of five minutes and not on those of one.
const BUSY_FOR_MINUTES: &str = "i-00800b6d2cabe5b9c";

/// With ids as EC2 has them.
pub(super) fn of_instances(readings: Readings) -> Readings {
    readings.into_iter().map(|(name, values)| (format!("i-{}", &name[..17]), values)).collect()
}

/// The containers as instances of the type.
pub(super) fn instances(utilization: &Readings, memory: &Readings, grid: u32) -> Estate {
    let mut estate = estate(utilization, memory, "serving", grid);
    (estate.shapes, estate.prices) = (BTreeMap::new(), PriceBook::default());
    for instance in &mut estate.instances {
        TYPE.clone_into(&mut instance.instance_type);
    }
    estate
}

/// The 99.5th percentile of the means of periods, as docs/levers/rightsizing.md has it.
pub(super) fn high_mean(readings: &[(i64, f64)], grid: u32) -> f64 {
    let mut periods: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for (second, value) in readings {
        let period = periods.entry(second / i64::from(grid));
        period.or_default().push(*value);
    }
    let means = periods.into_values();
    let means = means.map(|values| values.iter().sum::<f64>() / values.len() as f64);
    let mut means: Vec<f64> = means.collect();
    means.sort_by(f64::total_cmp);
    let at = (means.len() - 1) as f64 * 0.995;
    let (below, part) = (at.floor() as usize, at.fract());
    means[below] + (means[below + 1] - means[below]) * part
}

/// Per hour in us-east-1.
pub(super) fn rate(instance_type: &str) -> f64 {
    let key = PriceKey::linux_on_demand("us-east-1", instance_type);
    let quote = bundled_quote(&key).expect("the catalog has its price");
    quote.rate.amount().to_string().parse().expect("a number")
}

/// Each move saves the difference of two prices in the time that its container ran, of the
/// time since its first reading; the sums of JSON and CSV are those of the moves; and every
/// action has checks, changes, a way back and what to watch, in this order.
#[test]
fn every_move_of_real_containers_saves_what_the_prices_differ_by() {
    let Some(folder) = shared("fixes of containers", "samples/gpu-containers") else { return };
    let (utilization, memory) = both(&folder);
    let (utilization, memory) = (of_instances(utilization), of_instances(memory));
    assert_eq!(utilization.len(), 80);
    // The figures of docs/fix.md.
    let expected = [(60, 10, 19_461.67, false, "40.7"), (300, 57, 108_322.73, true, "24.9")];
    for (grid, moves, total, is_moved, peak) in expected {
        let estate = instances(&utilization, &memory, grid);
        let policy = policy();
        let audit = audit(&estate, &policy, Risk::Medium);
        let choice = FixChoice::default();
        let chosen = fixes(&audit, &estate, None, (&policy, &choice));
        let plan = FixPlan::of(&audit, chosen);
        let document = |view| fix_doc(&plan, &Invocation::default(), view);
        let text = doc_json(&document(FixView::Page)).expect("it is written");
        let fix: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let actions = fix["actions"].as_array().expect("a list");
        assert_eq!(actions.len(), moves, "{grid} s");
        let names = actions.iter().map(|action| action["name"].as_str());
        let names: BTreeSet<Option<&str>> = names.collect();
        assert_eq!(names.contains(&Some(BUSY_FOR_MINUTES)), is_moved, "{grid} s");
        let busy = high_mean(&utilization[BUSY_FOR_MINUTES], grid);
        assert_eq!(format!("{busy:.1}"), peak, "{grid} s");
        let end = estate.window.end.as_second();
        let (mut sum, mut steps_of_all) = (0.0, 0);
        for action in actions {
            let name = action["name"].as_str().expect("a name");
            let to = action["to"].as_str().expect("a type");
            let to = to.strip_prefix("1 × ").expect("one for one");
            let readings = &utilization[name];
            let periods = readings.iter().map(|(second, _)| second / i64::from(grid));
            let periods: BTreeSet<i64> = periods.collect();
            let ran = periods.len() as f64 * f64::from(grid);
            let hours = 730.0 * (ran / (end - readings[0].0) as f64).min(1.0);
            let by_hand = hours * (rate(TYPE) - rate(to));
            let saved = action["monthly_savings"].as_f64().expect("a number");
            assert!((saved / by_hand - 1.0).abs() < 1e-4, "{name}: {saved}, {by_hand}");
            sum += saved;
            assert_eq!(action["by_hand"], false, "{name}");
            let steps = action["steps"].as_array().expect("a list");
            let kind = |step: &serde_json::Value| step["kind"].as_str().map(str::to_owned);
            let mut kinds: Vec<Option<String>> = steps.iter().map(kind).collect();
            kinds.dedup();
            let expected = ["check", "change", "undo", "watch"];
            assert_eq!(kinds, expected.map(|kind| Some(kind.to_owned())), "{name}");
            steps_of_all += steps.len();
        }
        let stated = fix["monthly_savings"].as_f64().expect("a number");
        assert!((stated - total).abs() < 0.001, "{grid} s: {stated}");
        assert!((sum - total).abs() < 0.001, "{grid} s: {sum}");

        let text = doc_csv(&document(FixView::Rows)).expect("it is written");
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let rows: Vec<BTreeMap<String, String>> =
            reader.deserialize().map(|row| row.expect("a whole row")).collect();
        assert_eq!(rows.len(), steps_of_all);
        let savings = rows.iter().map(|row| row["monthly_savings"].as_str());
        let savings = savings.filter(|cell| !cell.is_empty());
        let of_rows: f64 = savings.map(|cell| cell.parse::<f64>().expect("a number")).sum();
        assert!((of_rows - total).abs() < 0.001, "{grid} s: {of_rows}");
    }
}
