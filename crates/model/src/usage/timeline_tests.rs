use super::*;
use proptest::prelude::*;
use rust_decimal::Decimal;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("in range")
}

/// A timeline with the running GPUs and the maxima of each period.
fn timeline(start: i64, period: u32, periods: &[(u32, &[f64])]) -> Timeline {
    let window =
        Window { start: at(start), end: at(start + i64::from(period) * periods.len() as i64) };
    let mut timeline = Timeline::new(window, period);
    for (index, (running, maxima)) in periods.iter().enumerate() {
        let slot: &mut Slot = &mut timeline.slots[index];
        (slot.gpus, slot.instances) = (*running, u32::from(*running > 0));
        for maximum in *maxima {
            slot.add_maximum(hundredths(*maximum));
            slot.maxima += 1;
        }
    }
    timeline
}

fn of(timeline: &Timeline) -> HourlyActivity {
    timeline.activity(Some(Signal::GpuUtilization), timeline.window.start)
}

#[test]
fn an_hour_is_off_when_every_gpu_stayed_below_one_percent() {
    // By the hour: at rest; one of two GPUs at 1%; one of two silent; one silent
    // beside one that works; stopped.
    let hours = of(&timeline(
        7_200,
        3_600,
        &[(2, &[0.0, 0.99]), (2, &[0.0, 1.0]), (2, &[0.0]), (2, &[50.0]), (0, &[])],
    ));
    let off: Vec<bool> = hours.hours().map(|hour| hour.is_off()).collect();
    let active: Vec<bool> = hours.hours().map(|hour| hour.is_active()).collect();
    assert_eq!(off, [true, false, false, false, true]);
    assert_eq!(active, [false, true, false, true, false]);
    assert_eq!(whole(&hours), [1, 1, 1, 1, 0]);
    assert_eq!(hours.hours().next().map(|hour| hour.start), Some(at(7_200)));
}

#[test]
fn a_period_without_data_makes_its_hour_unknown_only_while_it_ran() {
    let mut periods: Vec<(u32, &[f64])> = vec![(1, &[0.0]); 36];
    // Two of twelve are more than a tenth.
    periods[5] = (1, &[]);
    periods[6] = (1, &[]);
    periods[17] = (0, &[]);
    let hours = of(&timeline(0, 300, &periods));
    let off: Vec<bool> = hours.hours().map(|hour| hour.is_off()).collect();
    assert_eq!(off, [false, true, true]);
    periods[6] = (1, &[0.0]);
    let hours_with_one_missing = of(&timeline(0, 300, &periods));
    assert!(hours_with_one_missing.hours().all(|hour| hour.is_off()));
    let ran: Vec<Decimal> =
        hours.hours().map(|hour| hour.instance_hours * Decimal::from(12)).collect();
    assert_eq!(ran, [12, 11, 12].map(Decimal::from));
    assert_eq!(whole(&hours), [1, 0, 1]);
}

#[test]
fn only_whole_hours_since_the_first_sight_count() {
    // From 00:50 to 03:10, first seen at 01:20: one whole hour.
    let line = timeline(3_000, 300, &vec![(1, &[0.0][..]); 28]);
    let hours = line.activity(Some(Signal::GpuUtilization), at(4_800));
    assert_eq!(hours.len(), 1);
    assert_eq!(hours.hours().next().map(|hour| hour.start), Some(at(7_200)));
    assert_eq!(of(&line).len(), 2);
    assert!(line.activity(Some(Signal::GpuUtilization), at(99_999)).is_empty());
}

#[test]
fn power_tells_nothing_about_an_hour() {
    let line = timeline(0, 3_600, &[(1, &[0.0]), (1, &[80.0])]);
    let hours = line.activity(Some(Signal::GpuPowerUtilization), at(0));
    assert!(!hours.is_measured());
    assert!(hours.hours().all(|hour| !hour.is_off() && !hour.is_active()));
}

#[test]
fn an_encoder_at_work_is_no_hour_off() {
    let mut line = timeline(0, 3_600, &[(1, &[0.0])]);
    line.slots[0].encodes = true;
    let hours = of(&line);
    assert!(hours.hours().all(|hour| hour.is_active() && !hour.is_off()));
}

#[test]
fn periods_that_do_not_fill_hours_give_none() {
    assert!(of(&timeline(0, 2_400, &[(1, &[0.0][..]); 6])).is_empty());
    assert!(of(&timeline(100, 3_600, &[(1, &[0.0][..]); 6])).is_empty());
}

proptest! {
    #[test]
    fn five_minutes_and_hours_agree(levels in prop::collection::vec(0..4_u32, 1..60)) {
        let fine: Vec<f64> = levels
            .iter()
            .flat_map(|level| (0..12).map(move |p| if p == 7 { f64::from(*level) } else { 0.0 }))
            .collect();
        let fine: Vec<(u32, &[f64])> =
            fine.chunks(1).map(|maximum| (1, maximum)).collect();
        let coarse: Vec<f64> = levels.iter().copied().map(f64::from).collect();
        let coarse: Vec<(u32, &[f64])> = coarse.chunks(1).map(|maximum| (1, maximum)).collect();
        let (fine, coarse) = (of(&timeline(0, 300, &fine)), of(&timeline(0, 3_600, &coarse)));
        prop_assert_eq!(
            fine.hours().collect::<Vec<_>>(),
            coarse.hours().collect::<Vec<_>>()
        );
    }
}

/// Instances in each hour, those in part rounded down.
fn whole(hours: &HourlyActivity) -> Vec<u64> {
    hours.instances().map(|count| count / 1_000_000_000).collect()
}

#[test]
fn the_first_work_is_that_of_the_first_period_that_shows_some() {
    // Five-minute periods from 7,200: at rest, silent, below 1%, one of two GPUs at 1%.
    let sampled =
        timeline(7_200, 300, &[(2, &[50.0]), (2, &[]), (2, &[0.9, 0.0]), (2, &[0.0, 1.0])]);
    let kind = Some(Signal::GpuUtilization);
    let after = |second: i64| sampled.first_work(kind, at(second)).map(|wait| wait.as_secs());
    // What worked before the launch is of another run: 8,100 less 7,500.
    assert_eq!(after(7_500), Some(600));
    assert_eq!(after(7_620), Some(480));
    // Inside of the period that worked, and in the first one.
    assert_eq!(after(8_250), Some(0));
    assert_eq!(after(7_210), Some(0));
    // At and before the start of the window, and at its end.
    assert_eq!([after(7_200), after(0), after(8_400)], [None, None, None]);
    let power = Some(Signal::GpuPowerUtilization);
    assert_eq!(sampled.first_work(power, at(7_500)), None);
}

#[test]
fn a_load_is_the_mean_over_the_gpus_that_ran() {
    // Two of four GPUs reported 50 and 100%; one of four; nothing ran; nothing reported.
    let mut sampled = timeline(0, 300, &[(4, &[]), (4, &[]), (0, &[]), (4, &[])]);
    sampled.slots[0].add_average(5_000);
    sampled.slots[0].add_average(10_000);
    sampled.slots[1].add_average(5_000);
    let busy: Vec<Option<f64>> = sampled.loads().map(|load| load.busy_gpus).collect();
    assert_eq!(busy, [Some(3.0), None, Some(0.0), None]);
    let ran: Vec<(u32, u32)> = sampled.loads().map(|load| (load.gpus, load.instances)).collect();
    assert_eq!(ran, [(4, 1), (4, 1), (0, 0), (4, 1)]);
}
