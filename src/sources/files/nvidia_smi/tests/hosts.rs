//! Logs of several hosts, and rows that nothing distinguishes.

use super::super::super::samples::ReadOptions;
use super::{gaps, read, reading, seconds, try_open, used};
use crate::domain::Sample;

const HEADER: &str = "timestamp, index, utilization.gpu [%], memory.used [MiB]";

const WITH_UUID: &str = "timestamp, index, uuid, utilization.gpu [%], memory.used [MiB]";

/// A row, known by its memory in use.
fn row(second: u32, keys: &str, used_mib: u32) -> String {
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
            log.push_str(&row(second, &format!("0, {left}"), 100 + second));
            log.push_str(&row(second, &format!("0, {right}"), 200 + second));
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
        log.push_str(&row(second, "0, GPU-xxxxxxxx-xxxx-xxxx", 100));
        log.push_str(&row(second, "1, GPU-xxxxxxxx-xxxx-xxxx", 200));
    }
    let (reader, samples) = read(&log);
    assert_eq!(reader.facts().gpus.len(), 2);
    assert_eq!(used(&samples, 1), [Some(200.0); 4]);
}

#[test]
fn rows_of_the_same_time_and_gpu_are_left_out_and_counted() {
    let mut log = format!("{HEADER}\n");
    for second in 0..10 {
        log.push_str(&row(second, "0", 100 + second));
        log.push_str(&row(second, "1", 200 + second));
        if [3, 7].contains(&second) {
            log.push_str(&row(second, "0", 900));
        }
        if second == 7 {
            log.push_str(&row(second, "1", 900));
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
        let mut log = format!("{HEADER}\n");
        for second in 0..10 {
            for used_mib in [100, 200] {
                log.push_str(&row(second, "0", used_mib));
                if is_headed_each_time {
                    log.push_str(&format!("{HEADER}\n"));
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
        (from..to).map(|second| row(second, "0", mib)).collect()
    };
    let (one, other) = (host(0, 10, 100), host(2, 20, 200));
    let (reader, samples) = read(&format!("{HEADER}\n{one}{HEADER}\n{other}"));
    assert_eq!(used(&samples, 0), [Some(100.0); 10]);
    let reported = gaps(&reader);
    let gap = "rows: 18 rows are omitted: the clock goes back to a time already logged for \
               the same GPU; the first is on line 13";
    assert!(has_gap(&reported, gap), "{reported:?}");
    // Runs in the wrong order have no time twice.
    let (one, other) = (host(20, 30, 100), host(2, 12, 200));
    let (reader, samples) = read(&format!("{HEADER}\n{one}{other}"));
    assert_eq!(samples.len(), 20);
    let reported = gaps(&reader);
    assert!(!reported.iter().any(|gap| gap.starts_with("rows")), "{reported:?}");
}

#[test]
fn a_row_that_may_be_of_several_gpus_is_left_out() {
    let mut log = format!("{WITH_UUID}\n");
    for second in 0..4 {
        log.push_str(&row(second, "0, GPU-6f0e2c1a", 100));
        log.push_str(&row(second, "0, GPU-7a1b9d02", 200));
    }
    log.push_str(&row(4, "0, [Unknown Error]", 300));
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
