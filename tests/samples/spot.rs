//! Time-weighted spot figures against a recorded history: irregular steps, zones
//! interleaved, newest first.

use crate::support::data::shared;
use gpucost::domain::{Window, spot_history, time_weighted_mean};
use gpucost::savings::Checkpointing;
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::collections::BTreeMap;

type Changes = Vec<(Timestamp, Decimal)>;

/// The changes of a type by zone; nothing without the samples.
fn zones_of(name: &str) -> Option<BTreeMap<String, Changes>> {
    let folder = shared("spot history", "samples/aws-api/spot-price-history")?;
    let text = std::fs::read_to_string(folder.join(name)).expect("the history is there");
    let history: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let mut zones: BTreeMap<String, Changes> = BTreeMap::new();
    for change in history["SpotPriceHistory"].as_array().expect("a list") {
        let field = |name: &str| change[name].as_str().expect("a text").to_owned();
        zones.entry(field("AvailabilityZone")).or_default().push((
            field("Timestamp").parse().expect("a time"),
            field("SpotPrice").parse::<Decimal>().expect("a price"),
        ));
    }
    Some(zones)
}

fn window() -> Window {
    Window {
        start: "2019-12-24T00:00:00Z".parse().expect("a time"),
        end: "2020-02-20T00:00:00Z".parse().expect("a time"),
    }
}

#[test]
fn means_of_p3_2xlarge_by_zone() {
    let Some(zones) = zones_of("us-east-1.p3.2xlarge.json") else { return };
    // Worked out apart from this program by whoever published the samples' index.
    for (zone, expected) in [
        ("us-east-1b", "1.019785"),
        ("us-east-1c", "0.932820"),
        ("us-east-1d", "0.939882"),
        ("us-east-1f", "0.928515"),
    ] {
        let mean = time_weighted_mean(&zones[zone], window()).expect("prices in the window");
        assert_eq!(mean.round_dp(6).to_string(), expected, "{zone}");
        let figures = spot_history(&zones[zone], window()).expect("prices in the window");
        assert_eq!(figures.mean, mean.round_dp(6), "{zone}");
    }
}

/// Every second of the window with the price that held in it, as a count of
/// seconds by price: what a meter would have read, one reading a second.
fn metered(changes: &[(Timestamp, Decimal)]) -> (BTreeMap<Decimal, u64>, Option<Decimal>) {
    let mut oldest_first = changes.to_vec();
    oldest_first.sort();
    let (start, end) = (window().start.as_second(), window().end.as_second());
    let mut readings: BTreeMap<Decimal, u64> = BTreeMap::new();
    let mut coming = oldest_first.iter().peekable();
    let mut reading: Option<(Decimal, u64)> = None;
    let mut note = |reading: Option<(Decimal, u64)>| {
        if let Some((price, seconds)) = reading.filter(|(_, seconds)| *seconds > 0) {
            *readings.entry(price).or_default() += seconds;
        }
    };
    for second in start..end {
        while let Some((_, price)) = coming.next_if(|(time, _)| time.as_second() <= second) {
            note(reading.replace((*price, 0)));
        }
        if let Some((_, seconds)) = &mut reading {
            *seconds += 1;
        }
    }
    note(reading);
    (readings, reading.map(|(price, _)| price))
}

#[test]
fn figures_are_those_of_a_reading_every_second() {
    let Some(zones) = zones_of("us-east-1.p3.2xlarge.json") else { return };
    assert!(zones.len() >= 4, "{} zones", zones.len());
    for (zone, changes) in zones {
        let (readings, now) = metered(&changes);
        let figures = spot_history(&changes, window()).expect("prices in the window");
        assert_eq!(Some(figures.now), now, "{zone}");
        assert_eq!(Some(&figures.min), readings.keys().next(), "{zone}");
        assert_eq!(Some(&figures.max), readings.keys().next_back(), "{zone}");
        let total: u64 = readings.values().sum();
        // The reading that more than 5% of all readings are at or above.
        let mut more_expensive = 0;
        let p95 = readings.iter().rev().find(|(_, seconds)| {
            more_expensive += **seconds;
            20 * more_expensive > total
        });
        assert_eq!(Some(&figures.p95), p95.map(|(price, _)| price), "{zone}");
        // The deviation as the root of the mean square less the squared mean.
        let moment = |power: i32| {
            let weighed = readings.iter().map(|(price, seconds)| {
                price.to_f64().expect("a number").powi(power) * *seconds as f64
            });
            weighed.sum::<f64>() / total as f64
        };
        let volatility = (moment(2) - moment(1).powi(2)).sqrt() / moment(1) * 100.0;
        let computed = figures.volatility_percent.to_f64().expect("a number");
        assert!((computed - volatility).abs() < 1e-4, "{zone}: {computed} {volatility}");
        assert!(figures.min <= figures.mean && figures.mean <= figures.max);
    }
}

#[test]
fn a_region_without_the_type_has_no_history() {
    let Some(zones) = zones_of("eu-north-1.p3.2xlarge.EMPTY.json") else { return };
    assert!(zones.is_empty());
}

/// The runs of an instance with a bid: each lasts until the price is above it, and the next
/// begins when it is not. The last one, which the window ends, is its seconds alone.
fn runs(changes: &[(Timestamp, Decimal)], bid: Decimal) -> (Vec<i64>, i64) {
    let mut oldest_first = changes.to_vec();
    oldest_first.sort();
    let (start, end) = (window().start.as_second(), window().end.as_second());
    let (mut ends, mut began) = (Vec::new(), None);
    for (time, price) in oldest_first {
        let at = time.as_second().max(start);
        if at >= end {
            break;
        }
        match (began, price > bid) {
            (Some(since), true) => {
                // What ended before the window is none of it.
                ends.extend((at > start).then_some(at - since));
                began = None;
            }
            (None, false) => began = Some(at),
            _ => {}
        }
    }
    (ends, began.map_or(0, |since| end - since))
}

/// A meter that counts work second by second, and forgets it once it is saved.
fn metered_loss(end: i64, every: i64, cost: i64) -> i64 {
    let (mut unsaved, mut phase) = (0, 0);
    for _ in 0..end {
        unsaved += 1;
        phase += 1;
        if phase == every + cost {
            (unsaved, phase) = (0, 0);
        }
    }
    unsaved
}

/// Interruptions by the price of p3.2xlarge in four zones, with
/// the interval that is advised for one interruption a day. Another program found the same.
#[test]
fn interruptions_by_recorded_prices_lose_half_an_interval_each() {
    let Some(zones) = zones_of("us-east-1.p3.2xlarge.json") else { return };
    let (every, cost) = (3_220, 60);
    let (mut losses, mut running) = (Vec::new(), 0);
    for (zone, bid, expected) in [
        ("us-east-1b", 100, 8_400),
        ("us-east-1c", 93, 8_049),
        ("us-east-1d", 93, 8_839),
        ("us-east-1f", 93, 9_795),
    ] {
        let (ends, rest) = runs(&zones[zone], Decimal::new(bid, 2));
        let lost = ends.iter().map(|end| metered_loss(*end, every, cost));
        let lost: Vec<i64> = lost.collect();
        assert_eq!(lost.iter().sum::<i64>(), expected, "{zone}: {ends:?}");
        running += ends.iter().sum::<i64>() + rest;
        losses.extend(lost);
    }
    let (count, sum) = (losses.len() as f64, losses.iter().sum::<i64>() as f64);
    let per_day = count / (running as f64 / 86_400.0);
    assert_eq!((losses.len(), sum), (22, 35_083.0));
    assert!((per_day - 0.2105).abs() < 1e-4, "{per_day}");
    // Half of 3,220 s is 1,610 s.
    assert!((sum / count - 1_594.7).abs() < 0.1);
    // 60 / 3,220 + 1,610 × 22 / 9,028,843 s of running time, without restarts.
    let checkpointing = Checkpointing {
        cost: SignedDuration::from_secs(cost),
        restart: SignedDuration::ZERO,
        ..Checkpointing::default()
    };
    let interval = SignedDuration::from_secs(every);
    let formula = checkpointing.overhead(interval, per_day / 24.0);
    let share = sum / running as f64 + cost as f64 / (every + cost) as f64;
    println!("{count} interruptions: {:.2}% lost, {:.2}% computed", share * 100.0, formula * 100.0);
    assert!((share - 0.022_2).abs() < 1e-4 && (formula - 0.022_6).abs() < 1e-4);
}
