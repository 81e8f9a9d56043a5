use super::super::scenes::gpu;
use super::*;

/// Time, time covered, power and energy counter.
type MeterReading = (f64, Option<f64>, Option<f64>, Option<f64>);

/// A run that took longer than its readings.
const LONG: f64 = 1_000.0;

fn meter(samples: &[MeterReading]) -> PowerMeter {
    let mut meter = PowerMeter::default();
    for (at_seconds, covered_seconds, power_w, energy_j) in samples {
        let moment = Moment { at_seconds: *at_seconds, covered_seconds: *covered_seconds };
        let reading =
            GpuReading { power_w: *power_w, energy_j: *energy_j, ..GpuReading::default() };
        meter.add(moment, &reading);
    }
    meter
}

#[test]
fn the_counter_tells_what_readings_miss() {
    // 100 W at every sample, and 200 W in truth: 400 J in 2 s.
    let meter = meter(&[
        (0.0, None, Some(100.0), Some(5_000.0)),
        (1.0, Some(1.0), Some(100.0), Some(5_250.0)),
        (2.0, Some(1.0), Some(100.0), Some(5_400.0)),
    ]);
    let figures = meter.figures(&gpu(0), LONG).expect("it was read");
    assert_eq!(figures.basis, PowerBasis::EnergyCounter);
    assert_eq!((figures.mean_w, figures.energy_j), (200.0, Some(400.0)));
    assert_eq!((figures.max_w, figures.seconds), (Some(100.0), 2.0));
    assert!((figures.mean_percent.expect("a limit is known") - 200.0 / 3.0).abs() < 1e-9);
}

#[test]
fn a_counter_that_begins_anew_loses_one_interval_and_not_the_mean() {
    let meter = meter(&[
        (0.0, None, None, Some(9_000.0)),
        (1.0, Some(1.0), None, Some(9_100.0)),
        (2.0, Some(1.0), None, Some(30.0)),
        (3.0, Some(1.0), None, Some(230.0)),
    ]);
    let figures = meter.figures(&gpu(0), LONG).expect("it was read");
    assert_eq!((figures.mean_w, figures.seconds), (150.0, 2.0));
    assert_eq!(figures.max_w, None);
}

#[test]
fn the_counter_covers_a_gap_without_samples() {
    let meter = meter(&[
        (0.0, None, Some(50.0), Some(0.0)),
        (1.0, Some(1.0), Some(50.0), Some(50.0)),
        (101.0, None, Some(50.0), Some(30_050.0)),
    ]);
    let figures = meter.figures(&gpu(0), LONG).expect("it was read");
    assert_eq!((figures.energy_j, figures.seconds), (Some(30_050.0), 101.0));
}

#[test]
fn readings_count_by_the_time_they_stand_for() {
    // The first stands for as long as the second: (100 + 100 + 3 × 300) / 5.
    let meter = meter(&[
        (0.0, None, Some(100.0), None),
        (1.0, Some(1.0), Some(100.0), None),
        (4.0, Some(3.0), Some(300.0), None),
    ]);
    // A run that goes on for a second after the last one, or ends with it: 4 × 220.
    for (elapsed_seconds, joules) in [(5.0, 1_100.0), (4.0, 880.0)] {
        let figures = meter.figures(&gpu(0), elapsed_seconds);
        let figures = figures.expect("it was read");
        assert_eq!(figures.basis, PowerBasis::Readings);
        assert_eq!((figures.mean_w, figures.energy_j), (220.0, Some(joules)));
        assert_eq!(figures.seconds, elapsed_seconds);
    }
}

#[test]
fn one_reading_is_a_power_and_no_energy() {
    let figures =
        meter(&[(0.0, None, Some(75.0), None)]).figures(&gpu(0), LONG).expect("it was read");
    assert_eq!((figures.mean_w, figures.energy_j), (75.0, None));
    assert_eq!(meter(&[(0.0, None, None, None)]).figures(&gpu(0), LONG), None);
    assert_eq!(meter(&[(0.0, None, None, Some(5.0))]).figures(&gpu(0), LONG), None);
}
