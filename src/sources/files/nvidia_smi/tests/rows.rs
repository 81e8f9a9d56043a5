//! Which rows are one sample, whatever their order and wherever the log stops.

use super::{gaps, read, seconds, used};
use crate::domain::{GpuSample, Sample};

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
