//! What an audit must say, by another route: averages and maxima of five minutes that are
//! worked out here from the samples, one by one, and given to an audit as an estate.

use super::fleet::{Card, END, Part, START, machines};
use super::traces::Readings;
use crate::wire::fleet::Launched;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub const AS_OF: &str = "2022-09-12T00:00:00Z";
pub const WINDOW_START: &str = "2022-09-11T00:00:00Z";
/// A month before the window.
pub const LAUNCHED_AT: &str = "2022-08-11T00:00:00Z";
const PERIOD_SECONDS: i64 = 300;
const PERIODS: i64 = (END - START) / PERIOD_SECONDS;

/// Average and maximum of a period.
type Periods = BTreeMap<i64, (f64, f64)>;

/// Periods by number; those without a reading are absent.
fn periods(readings: &[(i64, f64)]) -> Periods {
    let mut inside: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for (second, value) in readings {
        if (START..END).contains(second) {
            let period = (second - START) / PERIOD_SECONDS;
            inside.entry(period).or_default().push(*value);
        }
    }
    let both = |values: &[f64]| {
        let average = values.iter().sum::<f64>() / values.len() as f64;
        (average, values.iter().copied().fold(0.0, f64::max))
    };
    inside.into_iter().map(|(period, values)| (period, both(&values))).collect()
}

/// Reads something of a part.
type Of = fn(&Part) -> Readings;

/// Utilization in percent of the whole card.
const PERCENTS: Of = |part| {
    let own = part.percents.iter();
    own.map(|(second, percent)| (*second, percent * part.share)).collect()
};
/// MiB in use.
const MIB: Of = |part| part.mib.clone();

impl Card {
    /// By period, added up over its parts. A part that is silent in a period adds nothing.
    fn periods(&self, of: Of) -> Periods {
        let mut sum = Periods::new();
        for part in &self.parts {
            for (period, (average, maximum)) in periods(&of(part)) {
                let so_far = sum.entry(period).or_default();
                so_far.0 += average;
                so_far.1 += maximum;
            }
        }
        sum
    }

    /// The largest at any one time, and the largest sum of what its parts peaked at within
    /// a period. They differ only where there are several parts: what a server says of each
    /// alone leaves open whether they peaked together.
    fn peak(&self, of: Of) -> (f64, f64) {
        let mut at_once: BTreeMap<i64, f64> = BTreeMap::new();
        for (second, value) in self.parts.iter().flat_map(of) {
            if (START..END).contains(&second) {
                *at_once.entry(second).or_default() += value;
            }
        }
        let apart = self.periods(of).into_values().map(|both| both.1);
        let at_once = at_once.into_values().fold(0.0, f64::max);
        (at_once, apart.fold(0.0, f64::max))
    }

    /// The mean of the averages of its periods.
    pub fn mean_percent(&self) -> f64 {
        let periods = self.periods(PERCENTS);
        periods.values().map(|both| both.0).sum::<f64>() / periods.len() as f64
    }

    pub fn peak_percent(&self) -> (f64, f64) {
        self.peak(PERCENTS)
    }

    pub fn peak_mib(&self) -> (f64, f64) {
        self.peak(MIB)
    }
}

/// The estate of the same machines with these figures as its series.
pub fn estate(account: &str, launched: &BTreeMap<&str, Launched>, cards: &[Card]) -> Value {
    let instances: Vec<Value> = machines()
        .map(|host| {
            let machine = &launched[host.name];
            json!({
                "id": machine.instance_id,
                "account": account,
                "region": "us-east-1",
                "zone": "us-east-1a",
                "instance_type": host.instance_type,
                "state": "running",
                "launch_time": LAUNCHED_AT,
                "tags": {"Name": host.name},
                "private_dns_name": machine.private_dns_name,
            })
        })
        .collect();
    let mut metrics = Vec::new();
    for card in cards {
        // One is of no machine.
        let Some(machine) = launched.get(card.host) else { continue };
        let figures =
            [("gpu_utilization", card.periods(PERCENTS)), ("gpu_memory_used", card.periods(MIB))];
        for (metric, periods) in figures {
            let value = |of: fn(&(f64, f64)) -> f64| -> Vec<Option<f64>> {
                let numbers = 0..PERIODS;
                numbers.map(|period| periods.get(&period).map(of)).collect()
            };
            for (statistic, values) in
                [("average", value(|both| both.0)), ("maximum", value(|both| both.1))]
            {
                metrics.push(json!({
                    "instance": machine.instance_id,
                    "gpu": card.index,
                    "metric": metric,
                    "statistic": statistic,
                    "source": "generated",
                    "period_seconds": PERIOD_SECONDS,
                    "start": WINDOW_START,
                    "values": values,
                }));
            }
        }
    }
    json!({
        "estate_version": "1",
        "as_of": AS_OF,
        "window_start": WINDOW_START,
        "window_end": AS_OF,
        "period_seconds": PERIOD_SECONDS,
        "instances": instances,
        "metrics": metrics,
    })
}

#[test]
fn a_reading_on_a_border_is_of_the_period_that_begins() {
    let readings =
        [(START, 10.0), (START + 299, 20.0), (START + 300, 90.0), (END - 1, 5.0), (END, 99.0)];
    let expected = [(0, (15.0, 20.0)), (1, (90.0, 90.0)), (PERIODS - 1, (5.0, 5.0))];
    assert_eq!(periods(&readings), Periods::from(expected));
}
