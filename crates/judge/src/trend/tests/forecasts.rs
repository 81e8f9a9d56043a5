//! What months end at.

use crate::domain::{CostKind, GapSubject, PastGap, PurchaseOption, WorkloadDay};
use crate::trend::lab::{day, decimal, ledger, night, paid, row, run, steady, usd};
use crate::trend::{
    Certainty, Chooser, DailySeries, Forecast, Horizon, Ledger, Method, band, origins,
    past_forecasts,
};
use proptest::prelude::*;

#[test]
fn committed_hours_and_what_runs_by_hand() {
    // Ten days of June. `a` runs on demand for $24 a day. `b` is reserved for $14.40 until
    // 2026-06-20 and would cost $24 without.
    let reserved = (0..10).map(|number| WorkloadDay {
        committed_until: Some(day(20)),
        ..paid(row(number, "b", "24", "14.40"), PurchaseOption::Reserved)
    });
    let mut rows = steady(10, "a", "24");
    rows.extend(reserved);
    let forecast = Forecast::of(&ledger(10, rows), Horizon::Month).expect("days");
    assert_eq!(forecast.state_day, day(9));
    assert_eq!((forecast.recorded_days, forecast.days_left), (10, 20));
    // 10 × 38.40; 10 × 14.40 + 10 × 24; 20 × 24.
    assert_eq!(forecast.spent, usd("384.00"));
    assert_eq!(forecast.committed, usd("384.00"));
    assert_eq!(forecast.running, usd("480.00"));
    assert_eq!(forecast.total(), usd("1248.00"));
    // Ten days say nothing about forecasts of twenty.
    let total = usd("1248.00");
    let range = Certainty::Range { low: total, high: total, origins: 0 };
    assert_eq!(forecast.certainty, range);
    assert_eq!((forecast.jobs, forecast.by_weekdays), (1, 0));
}

#[test]
fn a_quarter_goes_on_until_its_last_month() {
    let forecast = Forecast::of(&ledger(30, steady(30, "a", "24")), Horizon::Quarter);
    let forecast = forecast.expect("days");
    // The day after 2026-06-30 is in the third quarter: 31 + 31 + 30 days.
    assert_eq!((forecast.recorded_days, forecast.days_left), (0, 92));
    assert_eq!(forecast.total(), usd("2208.00"));
}

#[test]
fn a_step_is_the_new_level_and_the_range_says_how_else_it_could_be() {
    let mut rows = steady(10, "a", "24");
    rows[9] = row(9, "a", "48", "48");
    let forecast = Forecast::of(&ledger(10, rows), Horizon::Month).expect("days");
    assert_eq!(forecast.spent, usd("264.00"));
    assert_eq!(forecast.running, usd("960.00"));
    // Mean of seven: (6 × 24 + 48) / 7 × 20 = 548.57. Drift: 24 in 9 days, 20 × 48 +
    // 24 / 9 × (1 + … + 20) = 960 + 560.
    let bounds = forecast.bounds();
    assert_eq!(bounds, Some((usd("812.57"), usd("1784.00"))));
}

#[test]
fn weekdays_count_where_they_did_better() {
    let is_off = |number: i64| number % 7 >= 5;
    let daily = |number| if is_off(number) { "0" } else { "24" };
    let on = |nights: i64| -> Vec<WorkloadDay> {
        let days = (0..nights).filter(|number| !is_off(*number));
        days.map(|number| row(number, "a", daily(number), daily(number))).collect()
    };
    // Until Wednesday, 2026-08-05: 18 working days are left in August.
    let forecast = Forecast::of(&ledger(66, on(66)), Horizon::Month).expect("days");
    assert_eq!((forecast.days_left, forecast.by_weekdays), (26, 1));
    assert_eq!(forecast.running, usd("432.00"));
    // Until Sunday, 2026-08-09, when nothing runs: 16 are left.
    let forecast = Forecast::of(&ledger(70, on(70)), Horizon::Month).expect("days");
    assert_eq!((forecast.days_left, forecast.by_weekdays), (22, 1));
    assert_eq!(forecast.running, usd("384.00"));
    // Forecasts of 22 days from the first 48 days on; bands of the past need 20 of them that
    // were over, and there are fewer than five of these.
    let is_range = matches!(forecast.certainty, Certainty::Range { origins: 48, .. });
    assert!(is_range, "{:?}", forecast.certainty);
    // Four weeks are too few to say that weekdays do better.
    let forecast = Forecast::of(&ledger(38, on(38)), Horizon::Month).expect("days");
    assert_eq!(forecast.by_weekdays, 0);
}

#[test]
fn weekdays_do_not_win_on_noise_by_a_hair() {
    // A walk that knows no weekday. By another program, the sums of the following week are
    // wrong by 3.48% less with weekdays than with the last day, over 46 of 80 days.
    let walk: Vec<f64> = (0..80_i64)
        .scan(200, |level, place| {
            *level += (place * place * place + 5 * place) % 17 - 8;
            Some(*level as f64)
        })
        .collect();
    let (mut last, mut weekdays) = (0.0, 0.0);
    for origin in 28..=73 {
        let mut factors = [0.0; 7];
        for (place, value) in walk.iter().enumerate().take(origin).skip(origin - 28) {
            factors[place % 7] += value;
        }
        let mean = factors.iter().sum::<f64>() / 7.0;
        // A week has each weekday once: its sum is seven times the level.
        let level = walk[origin - 1] * mean / factors[(origin - 1) % 7];
        let actual: f64 = walk[origin..origin + 7].iter().sum();
        last += (walk[origin - 1] * 7.0 - actual).abs();
        weekdays += (level * 7.0 - actual).abs();
    }
    assert!((weekdays / last - 0.9652).abs() < 0.0001, "{weekdays} of {last}");
    let chooser = |values: Vec<f64>| {
        let known = values.into_iter().map(Some).collect();
        Chooser::new(DailySeries::new(day(0), known))
    };
    assert_eq!(chooser(walk).method(80), Method::LastDay);
    // Where weekends are half, they win by far, from 28 back-tests on.
    let weeks = |days: usize| -> Vec<f64> {
        let level = |place: usize| if place % 7 >= 5 { 50.0 } else { 100.0 };
        (0..days).map(level).collect()
    };
    assert_eq!(chooser(weeks(80)).method(80), Method::Weekdays);
    assert_eq!(chooser(weeks(80)).method(61), Method::LastDay);
    assert_eq!(chooser(weeks(80)).method(62), Method::Weekdays);
}

#[test]
fn days_that_are_missing_are_forecast_and_not_counted_as_nothing() {
    let mut rows = steady(10, "a", "24");
    rows.retain(|row| row.day != day(4));
    let runs: Vec<_> = (0..10).filter(|night| *night != 4).map(run).collect();
    let forecast = Forecast::of(&Ledger::of(rows, &runs, night(10)), Horizon::Month);
    let forecast = forecast.expect("days");
    assert_eq!((forecast.recorded_days, forecast.days_left), (9, 21));
    assert_eq!(forecast.total(), usd("720.00"));
}

#[test]
fn days_that_are_over_without_a_record_are_counted_apart() {
    // Of ten days of June the fourth was not recorded, and of the eighth `b` could not be read.
    let mut rows = steady(10, "a", "24");
    rows.extend(steady(10, "b", "10"));
    rows.retain(|row| row.day != day(3) && (row.day != day(7) || row.job != "b"));
    let mut runs: Vec<_> = (0..10).filter(|night| *night != 3).map(run).collect();
    runs[6].unread.push(PastGap {
        what: GapSubject::Instance,
        place: "b".to_owned(),
        cause: None,
        reason: String::new(),
    });
    let forecast = Forecast::of(&Ledger::of(rows, &runs, night(10)), Horizon::Month);
    let forecast = forecast.expect("days");
    // 8 whole days, 20 to come, and the two that are over: 22 × 34.
    assert_eq!((forecast.recorded_days, forecast.days_left), (8, 22));
    assert_eq!(forecast.unrecorded_days, 2);
    assert_eq!(forecast.running, usd("748.00"));
    let forecast = Forecast::of(&ledger(10, steady(10, "a", "24")), Horizon::Month);
    assert_eq!(forecast.expect("days").unrecorded_days, 0);
}

#[test]
fn what_was_launched_on_the_last_day_is_forecast_by_whole_days() {
    // Launched at 12:00 and 18:00 of the tenth day: 12 hours of one machine, and 6 + 24 of
    // a group of two at least. `c` runs nine hours a day as ever, and `d` was stopped again.
    let with = |added: Vec<WorkloadDay>| {
        let mut rows = steady(10, "c", "9");
        rows.extend(added);
        Forecast::of(&ledger(10, rows), Horizon::Month).expect("days")
    };
    let stopped = WorkloadDay {
        kind: CostKind::IdleStorage,
        gpu_hours: None,
        list: None,
        ..row(9, "d", "12", "1")
    };
    let forecast = with(vec![
        row(9, "a", "12", "12"),
        row(9, "b", "30", "15"),
        row(9, "d", "4", "4"),
        stopped,
    ]);
    // 20 days of 24 + 48 × 0.50 + 9 + 4 + 1.
    assert_eq!(forecast.running, usd("1240.00"));
    assert_eq!(forecast.launched, 2);
    // A whole day stays one, and rounding of hours does not make a further machine.
    let forecast = with(vec![row(9, "a", "24.000001", "24")]);
    assert_eq!((forecast.running, forecast.launched), (usd("660.00"), 0));
    // Of the first day of a history, and after a night without a record, it is not known when
    // something was launched.
    let forecast = Forecast::of(&ledger(1, steady(1, "a", "12")), Horizon::Month);
    assert_eq!(forecast.expect("a day").running, usd("348.00"));
}

#[test]
fn what_has_no_price_is_said_and_nothing_to_go_on_is_no_forecast() {
    let mut rows = steady(3, "a", "24");
    rows.push(WorkloadDay {
        effective: None,
        list: None,
        contracted: None,
        ..row(2, "b", "24", "0")
    });
    let forecast = Forecast::of(&ledger(3, rows), Horizon::Month).expect("days");
    assert_eq!(forecast.unpriced_hours, decimal("24"));
    assert!(Forecast::of(&ledger(0, Vec::new()), Horizon::Month).is_none());
    // A recorded night on which nothing ran costs nothing.
    let forecast = Forecast::of(&ledger(1, Vec::new()), Horizon::Month).expect("a day");
    assert_eq!(forecast.total(), usd("0"));
}

#[test]
fn months_that_are_over_are_compared_with_what_they_cost() {
    // June, and July with a step on the 20th: 19 × 24 + 12 × 48 = 1,032.
    let rows: Vec<WorkloadDay> = (0..61)
        .map(|number| {
            let daily = if number < 49 { "24" } else { "48" };
            row(number, "a", daily, daily)
        })
        .collect();
    let past = past_forecasts(&ledger(61, rows));
    let brief: Vec<_> = past
        .iter()
        .map(|past_forecast| {
            (past_forecast.made_after, past_forecast.forecast, past_forecast.actual)
        })
        .collect();
    assert_eq!(
        brief,
        [
            (day(14), usd("720.00"), usd("720.00")),
            (day(29), usd("744.00"), usd("1032.00")),
            (day(44), usd("744.00"), usd("1032.00")),
        ]
    );
    // 288 of 1,032.
    let error = past[1].error_percent().expect("it cost something");
    assert!((error + 27.9070).abs() < 0.0001, "{error}");
}

/// The band of a series by counting, in another way than the program does.
fn counted_band(values: &[f64], days: usize, at: usize) -> Option<(f64, f64)> {
    let mut ratios: Vec<f64> = Vec::new();
    for origin in 1..=at.checked_sub(days)? {
        let actual: f64 = values[origin..origin + days].iter().sum();
        let forecast = values[origin - 1] * days as f64;
        if forecast > 0.0 {
            ratios.push(actual / forecast);
        }
    }
    let number = ratios.len();
    if number < 20 {
        return None;
    }
    // Of `number + 1` equally likely ranks at most a tenth is below, and a tenth above.
    let at_most = (number + 1) / 10;
    let smaller = |value: f64| ratios.iter().filter(|other| **other < value).count();
    let larger = |value: f64| ratios.iter().filter(|other| **other > value).count();
    let low =
        ratios.iter().copied().filter(|value| smaller(*value) < at_most).fold(f64::MIN, f64::max);
    let high =
        ratios.iter().copied().filter(|value| larger(*value) < at_most).fold(f64::MAX, f64::min);
    Some((low, high))
}

#[test]
fn a_band_is_of_the_own_errors_and_says_how_bands_did() {
    // Ninety days, each up to six from the one before, whatever the weekday is; four days ahead.
    let steps = (0..90).map(|place| (7 * place * place + place) % 13 - 6);
    let values: Vec<f64> = steps
        .scan(100.0, |level, step| {
            *level += f64::from(step);
            Some(*level)
        })
        .collect();
    let series = DailySeries::new(day(0), values.iter().copied().map(Some).collect());
    let chooser = Chooser::new(series);
    assert!((0..=90).all(|origin| chooser.method(origin) == Method::LastDay));
    let past = origins(&[&chooser], 4);
    assert_eq!(past.len(), 86);
    let measured_band = band(&past, 4, 90).expect("enough origins");
    let (low, high) = counted_band(&values, 4, 90).expect("enough origins");
    assert_eq!((measured_band.low, measured_band.high), (low, high));
    assert_eq!(measured_band.origins, 86);
    let (mut checked, mut inside) = (0, 0);
    for origin in 1..=86 {
        if let Some((low, high)) = counted_band(&values, 4, origin) {
            let ratio = values[origin..origin + 4].iter().sum::<f64>() / (values[origin - 1] * 4.0);
            checked += 1;
            inside += usize::from(low <= ratio && ratio <= high);
        }
    }
    assert_eq!((measured_band.checked, measured_band.inside), (checked, inside));
    // The first band has 20 origins whose four days were over: from the 24th day on.
    assert_eq!(checked, 86 - 23);
    assert!(measured_band.past_coverage_percent().expect("checked") > 70.0);
}

#[test]
fn there_is_no_band_before_there_is_one() {
    let steady = |days: usize| {
        let series = DailySeries::new(day(0), vec![Some(24.0); days]);
        let chooser = Chooser::new(series);
        band(&origins(&[&chooser], 1), 1, days)
    };
    // 20 origins make a band, and five of those after them can be checked.
    assert_eq!(steady(25), None);
    let measured_band = steady(26).expect("25 origins");
    assert_eq!((measured_band.origins, measured_band.checked, measured_band.inside), (25, 5, 5));
    assert_eq!((measured_band.low, measured_band.high), (1.0, 1.0));
}

#[test]
fn an_unknown_day_is_neither_forecast_from_nor_compared_with() {
    let mut values = vec![Some(24.0); 30];
    values[10..14].fill(None);
    let chooser = Chooser::new(DailySeries::new(day(0), values));
    let past = origins(&[&chooser], 2);
    // Of 28 origins, those from 9 to 13 have an unknown day ahead, and the three days behind
    // that of 14 are unknown.
    let places: Vec<usize> = past.iter().map(|origin| origin.at).collect();
    let expected: Vec<usize> = (1..=28).filter(|at| !(9..=14).contains(at)).collect();
    assert_eq!(places, expected);
    let forecasts: Vec<f64> = past.iter().map(|origin| origin.forecast).collect();
    let actual: Vec<f64> = past.iter().map(|origin| origin.actual).collect();
    assert_eq!(forecasts, actual);
}

proptest! {
    #[test]
    fn a_forecast_is_what_was_spent_and_what_is_left(
        daily in proptest::collection::vec(0_u32..50_000, 1..70),
        horizon in prop_oneof![Just(Horizon::Month), Just(Horizon::Quarter)],
    ) {
        let nights = daily.len() as i64;
        let cost = |cents: &u32| rust_decimal::Decimal::new(i64::from(*cents), 2).to_string();
        let rows = (0..nights).zip(&daily).map(|(number, cents)| row(number, "a", "24", &cost(cents)));
        let forecast = Forecast::of(&ledger(nights, rows.collect()), horizon).expect("days");
        prop_assert_eq!(forecast.recorded_days + forecast.days_left, forecast.span.days());
        if let Some((low, high)) = forecast.bounds() {
            prop_assert!(low.amount() <= high.amount());
        }
        let is_band = matches!(forecast.certainty, Certainty::Band { .. });
        prop_assert!(!is_band || daily.len() >= forecast.days_left as usize + 20);
        if forecast.by_weekdays == 0 {
            let last = rust_decimal::Decimal::new(i64::from(daily[daily.len() - 1]), 2);
            let left = last * rust_decimal::Decimal::from(forecast.days_left);
            prop_assert_eq!(forecast.running.amount(), left);
        }
    }
}
