//! Logs of any number of GPUs and samples, in any dress, with rows missing.

use super::read;
use proptest::collection::vec;
use proptest::prelude::*;

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

fn log(dress: Dress, rounds: &[Vec<Cell>]) -> String {
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
        let (reader, samples) = read(&log(dress, &rounds));
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
