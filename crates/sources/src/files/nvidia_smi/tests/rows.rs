//! Which rows are one sample, whatever their order and wherever the log stops, also of several
//! hosts or where nothing distinguishes them; and logs of any number of GPUs and samples, in any
//! dress, with rows missing.

use super::super::super::samples::ReadOptions;
use super::{gaps, read, reading, seconds, try_open, used};
use crate::domain::{GpuSample, Sample};
use proptest::collection::vec;
use proptest::prelude::*;

const HEADER: &str = "timestamp, index, utilization.gpu [%], utilization.memory [%], \
                      memory.used [MiB], memory.total [MiB], power.draw [W], power.limit [W]";

/// A row; GPU and second are in its memory in use.
fn row(second: u32, millisecond: u32, gpu: u32) -> String {
    format!(
        "2026/01/03 15:36:{second:02}.{millisecond:03}, {gpu}, 50 %, 20 %, {} MiB, 23028 MiB, \
         150.25 W, 300.00 W\n",
        second * 100 + gpu
    )
}

/// Samples a second apart, each with its GPUs in an order.
fn log(samples: u32, order: impl Fn(u32) -> Vec<u32>, spread_ms: u32) -> String {
    let mut log = format!("{HEADER}\n");
    for second in 0..samples {
        for (place, gpu) in order(second).into_iter().enumerate() {
            log.push_str(&row(second, place as u32 * spread_ms, gpu));
        }
    }
    log
}

fn losses(samples: &[Sample]) -> usize {
    let gpus = samples.iter().flat_map(|sample| &sample.gpus);
    gpus.filter(|gpu| matches!(gpu, GpuSample::Lost(_))).count()
}

#[test]
fn rows_are_one_sample_in_any_order() {
    let orders: [fn(u32) -> Vec<u32>; 4] = [
        |_| vec![0, 1, 2],
        |_| vec![2, 1, 0],
        |_| vec![1, 2, 0],
        |second| match second % 3 {
            0 => vec![0, 1, 2],
            1 => vec![2, 0, 1],
            _ => vec![1, 0, 2],
        },
    ];
    for (number, order) in orders.into_iter().enumerate() {
        for spread_ms in [0, 7] {
            let (reader, samples) = read(&log(30, order, spread_ms));
            let indices: Vec<u16> = reader.facts().gpus.iter().map(|gpu| gpu.index).collect();
            assert_eq!(indices, [0, 1, 2]);
            assert_eq!(samples.len(), 30, "order {number}, {spread_ms} ms");
            assert_eq!(losses(&samples), 0, "order {number}, {spread_ms} ms");
            for gpu in 0..3_u32 {
                let expected: Vec<Option<f64>> =
                    (0..30).map(|at| Some(f64::from(at * 100 + gpu))).collect();
                assert_eq!(used(&samples, gpu as usize), expected);
            }
        }
    }
}

#[test]
fn a_gpu_that_is_away_for_a_while_is_lost_for_that_while() {
    // GPU 0 is away from 10 s to 12 s, GPU 1 from 20 s on.
    let order = |second: u32| match second {
        10..=12 => vec![1],
        20.. => vec![0],
        _ => vec![1, 0],
    };
    let (_, samples) = read(&log(30, order, 7));
    assert_eq!(samples.len(), 30);
    assert_eq!(losses(&samples), 3 + 10);
    assert!(matches!(samples[29].gpus[1], GpuSample::Lost(_)));
}

#[test]
fn where_a_log_stops_no_gpu_is_lost() {
    let whole = log(30, |_| vec![0, 1], 7);
    let (_, complete) = read(&whole);
    assert_eq!((complete.len(), losses(&complete)), (30, 0));
    let lines: Vec<&str> = whole.lines().collect();
    // The last row is missing: the header and 59 of 60 rows.
    let cut = format!("{}\n", lines[..60].join("\n"));
    let torn = &whole[..whole.len() - 40];
    let torn_figure = &whole[..whole.len() - 3];
    for log in [&cut, torn, torn_figure] {
        let (reader, samples) = read(log);
        assert_eq!(samples, complete[..29], "{}", &log[log.len() - 60..]);
        let reported = gaps(&reader);
        assert_eq!(
            reported[1],
            "the last sample: the log ends within the sample that begins on line 60; the \
             sample is omitted"
        );
    }
    // Five of eight GPUs are cut off.
    let eight = log(10, |_| (0..8).collect(), 7);
    let lines: Vec<&str> = eight.lines().collect();
    let (_, samples) = read(&lines[..lines.len() - 5].join("\n"));
    assert_eq!((samples.len(), losses(&samples)), (9, 0));
    assert_eq!(seconds(&samples).last(), Some(&8.0));
}

const WITH_INDEX: &str = "timestamp, index, utilization.gpu [%], memory.used [MiB]";

const WITH_UUID: &str = "timestamp, index, uuid, utilization.gpu [%], memory.used [MiB]";

/// A row, known by its memory in use.
fn row_of(second: u32, keys: &str, used_mib: u32) -> String {
    format!("2026/01/03 15:36:{second:02}.000, {keys}, 50 %, {used_mib} MiB\n")
}

fn has_gap(reported: &[String], gap: &str) -> bool {
    reported.iter().any(|reason| reason == gap)
}

#[test]
fn gpus_of_two_hosts_are_told_apart_by_whatever_tells() {
    for (columns, left, right) in [
        ("uuid", "GPU-6f0e2c1a", "GPU-7a1b9d02"),
        ("pci.bus_id", "00000000:1B:00.0", "00000000:1C:00.0"),
        ("serial", "1320618002145", "1320618002146"),
        ("hostname", "falcon", "eagle"),
        // Hosts of one type have the same bus ids.
        (
            "pci.bus_id, gpu_uuid", "00000000:00:1E.0, GPU-6f0e2c1a",
            "00000000:00:1E.0, GPU-7a1b9d02",
        ),
    ] {
        let mut log = format!("{}\n", WITH_UUID.replace("uuid", columns));
        for second in 0..10 {
            log.push_str(&row_of(second, &format!("0, {left}"), 100 + second));
            log.push_str(&row_of(second, &format!("0, {right}"), 200 + second));
        }
        let (reader, samples) = read(&log);
        let indices: Vec<u16> = reader.facts().gpus.iter().map(|gpu| gpu.index).collect();
        assert_eq!(indices, [0, 1], "{columns}");
        assert_eq!(reader.facts().hostname, None, "{columns}");
        assert_eq!(samples.len(), 10, "{columns}");
        assert_eq!(used(&samples, 0)[9], Some(109.0), "{columns}");
        assert_eq!(used(&samples, 1)[9], Some(209.0), "{columns}");
        let reported = gaps(&reader);
        assert!(reported.iter().any(|gap| gap.starts_with("index: several")), "{reported:?}");
    }
}

#[test]
fn ids_that_were_made_anonymous_tell_nothing() {
    let mut log = format!("{WITH_UUID}\n");
    for second in 0..4 {
        log.push_str(&row_of(second, "0, GPU-xxxxxxxx-xxxx-xxxx", 100));
        log.push_str(&row_of(second, "1, GPU-xxxxxxxx-xxxx-xxxx", 200));
    }
    let (reader, samples) = read(&log);
    assert_eq!(reader.facts().gpus.len(), 2);
    assert_eq!(used(&samples, 1), [Some(200.0); 4]);
}

#[test]
fn rows_of_the_same_time_and_gpu_are_left_out_and_counted() {
    let mut log = format!("{WITH_INDEX}\n");
    for second in 0..10 {
        log.push_str(&row_of(second, "0", 100 + second));
        log.push_str(&row_of(second, "1", 200 + second));
        if [3, 7].contains(&second) {
            log.push_str(&row_of(second, "0", 900));
        }
        if second == 7 {
            log.push_str(&row_of(second, "1", 900));
        }
    }
    let (reader, samples) = read(&log);
    assert_eq!(seconds(&samples), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 9.0]);
    // It answered, so that it is not lost; what it said nobody knows.
    assert_eq!(reading(&samples[3], 0).vram_used_mib, None);
    assert_eq!(reading(&samples[3], 1).vram_used_mib, Some(203.0));
    let reported = gaps(&reader);
    let gap = "rows: 6 rows are omitted: the log has another row with the same time and GPU; \
               the first is on line 8";
    assert!(has_gap(&reported, gap), "{reported:?}");
}

#[test]
fn rows_that_all_contradict_each_other_are_refused() {
    // The same with a header above every row, as a loop in a shell writes it.
    for is_headed_each_time in [false, true] {
        let mut log = format!("{WITH_INDEX}\n");
        for second in 0..10 {
            for used_mib in [100, 200] {
                log.push_str(&row_of(second, "0", used_mib));
                if is_headed_each_time {
                    log.push_str(&format!("{WITH_INDEX}\n"));
                }
            }
        }
        let reader = try_open(log.as_bytes(), &ReadOptions::default()).expect("opens");
        let refused = reader.collect::<Result<Vec<Sample>, _>>().expect_err("a refusal");
        assert_eq!(
            refused.to_string(),
            "smi.log:2: 20 rows have the same time and GPU as another row, and no column tells \
             them apart"
        );
        assert!(refused.hint().contains("`uuid`"));
    }
}

#[test]
fn a_second_log_behind_the_first_is_left_out() {
    let host = |from: u32, to: u32, mib: u32| -> String {
        (from..to).map(|second| row_of(second, "0", mib)).collect()
    };
    let (one, other) = (host(0, 10, 100), host(2, 20, 200));
    let (reader, samples) = read(&format!("{WITH_INDEX}\n{one}{WITH_INDEX}\n{other}"));
    assert_eq!(used(&samples, 0), [Some(100.0); 10]);
    let reported = gaps(&reader);
    let gap = "rows: 18 rows are omitted: the clock goes back to a time already logged for \
               the same GPU; the first is on line 13";
    assert!(has_gap(&reported, gap), "{reported:?}");
    // Runs in the wrong order have no time twice.
    let (one, other) = (host(20, 30, 100), host(2, 12, 200));
    let (reader, samples) = read(&format!("{WITH_INDEX}\n{one}{other}"));
    assert_eq!(samples.len(), 20);
    let reported = gaps(&reader);
    assert!(!reported.iter().any(|gap| gap.starts_with("rows")), "{reported:?}");
}

#[test]
fn a_row_that_may_be_of_several_gpus_is_left_out() {
    let mut log = format!("{WITH_UUID}\n");
    for second in 0..4 {
        log.push_str(&row_of(second, "0, GPU-6f0e2c1a", 100));
        log.push_str(&row_of(second, "0, GPU-7a1b9d02", 200));
    }
    log.push_str(&row_of(4, "0, [Unknown Error]", 300));
    let (reader, samples) = read(&log);
    assert_eq!(used(&samples, 0), [Some(100.0); 4]);
    let reported = gaps(&reader);
    let gap = "rows: 1 row is omitted: several GPUs have the same index, and nothing else \
               identifies them; the first is on line 10";
    assert!(has_gap(&reported, gap), "{reported:?}");
}

#[test]
fn rows_that_nothing_names_are_not_put_together_either() {
    let mut log = "timestamp, utilization.gpu [%], memory.used [MiB]\n".to_owned();
    for second in [53, 53, 54, 55, 55, 55, 56, 57] {
        log.push_str(&format!("2026/01/03 15:36:{second}, 50 %, 100 MiB\n"));
    }
    let (reader, samples) = read(&log);
    assert_eq!(reader.facts().gpus.len(), 1);
    assert_eq!(seconds(&samples), [1.0, 3.0, 4.0]);
    let reported = gaps(&reader);
    let gap = "rows: 5 rows are omitted: the log has another row with the same time and GPU; \
               the first is on line 2";
    assert!(has_gap(&reported, gap), "{reported:?}");
}

/// One row: utilization, memory in use, and whether it is in the log.
type Cell = (u32, u32, bool);

/// How a log is dressed.
#[derive(Debug, Clone, Copy)]
struct Dress {
    has_units: bool,
    is_headed_each_time: bool,
    key: &'static str,
    line_end: &'static str,
}

fn dress() -> impl Strategy<Value = Dress> {
    let keys = prop_oneof![Just("index"), Just("uuid"), Just("pci.bus_id")];
    let ends = prop_oneof![Just("\n"), Just("\r\n")];
    (any::<bool>(), any::<bool>(), keys, ends).prop_map(
        |(has_units, is_headed_each_time, key, line_end)| Dress {
            has_units,
            is_headed_each_time,
            key,
            line_end,
        },
    )
}

fn key(dress: Dress, gpu: usize) -> String {
    match dress.key {
        "index" => gpu.to_string(),
        "uuid" => format!("GPU-{:x}", 200 - gpu),
        _ => format!("00000000:{:02X}:00.0", 16 + gpu),
    }
}

fn dressed_log(dress: Dress, rounds: &[Vec<Cell>]) -> String {
    let mut log = String::new();
    for (number, round) in rounds.iter().enumerate() {
        if number == 0 || dress.is_headed_each_time {
            let header = format!(
                "timestamp, {}, utilization.gpu [%], memory.used [MiB], power.draw [W]",
                dress.key
            );
            log.push_str(&(header + dress.line_end));
        }
        for (gpu, (busy, held, _)) in round.iter().enumerate().filter(|(_, cell)| cell.2) {
            let time = format!("2026/01/03 10:{:02}:{:02}.{gpu:03}", number / 60, number % 60);
            let row = if dress.has_units {
                format!("{time}, {}, {busy} %, {held} MiB, [N/A]", key(dress, gpu))
            } else {
                format!("{time}, {}, {busy}, {held}, [N/A]", key(dress, gpu))
            };
            log.push_str(&(row + dress.line_end));
        }
    }
    log
}

fn rounds() -> impl Strategy<Value = Vec<Vec<Cell>>> {
    (1..6_usize).prop_flat_map(|gpus| {
        let cell = (0..=100_u32, 0..80_000_u32, prop::bool::weighted(0.8));
        vec(vec(cell, gpus), 1..90)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_row_is_found_at_its_gpu_and_second(dress in dress(), mut rounds in rounds()) {
        // The first sample names every GPU; later ones have the first GPU at least,
        // without which a sample cannot be distinguished from the rest of the one before.
        rounds[0].iter_mut().for_each(|cell| cell.2 = true);
        rounds.iter_mut().for_each(|round| round[0].2 = true);
        let (reader, samples) = read(&dressed_log(dress, &rounds));
        prop_assert_eq!(reader.facts().gpus.len(), rounds[0].len());
        // Where the log stops, rows that the sample before had may just not be written.
        let is_cut = rounds.len() > 1 && {
            let (before, last) = (&rounds[rounds.len() - 2], &rounds[rounds.len() - 1]);
            before.iter().zip(last).any(|(before, last)| before.2 && !last.2)
        };
        prop_assert_eq!(samples.len(), rounds.len() - usize::from(is_cut));
        for (number, (sample, round)) in samples.iter().zip(&rounds).enumerate() {
            prop_assert_eq!(sample.at_seconds, number as f64);
            for (gpu, (busy, held, is_there)) in sample.gpus.iter().zip(round) {
                let figures = gpu
                    .reading()
                    .map(|reading| (reading.utilization_percent, reading.vram_used_mib));
                let expected = is_there.then(|| (Some(f64::from(*busy)), Some(f64::from(*held))));
                prop_assert_eq!(figures, expected);
            }
        }
    }
}
