//! Times as logs have them, and those that nobody can read.

use super::super::super::samples::ReadOptions;
use super::{read, refusal};
use crate::domain::GpuSample;

fn log(times: &[&str]) -> String {
    let mut log = "timestamp, index, utilization.gpu [%]\n".to_owned();
    for time in times {
        log.push_str(&format!("{time}, 0, 50 %\n"));
    }
    log
}

#[test]
fn zones_and_seconds_since_1970_are_read() {
    // 2026-01-03T14:36:00Z is 1767450960 by `date -d`.
    for (first, second, started) in [
        (
            "2026/01/03 15:36:00.507 +01:00", "2026/01/03 15:36:01.507 +01:00",
            "2026-01-03T14:36:00.507Z",
        ),
        ("2026-01-03 15:36:00 +0100", "2026-01-03 15:36:01 +0100", "2026-01-03T14:36:00Z"),
        ("1767450960", "1767450961", "2026-01-03T14:36:00Z"),
        ("1767450960.25", "1767450961.25", "2026-01-03T14:36:00.25Z"),
        // No float is 0.507.
        ("1767450960.507", "1767450961.507", "2026-01-03T14:36:00.507Z"),
        ("Sat Jan  3 14:36:00 UTC 2026", "Sat Jan  3 14:36:01 UTC 2026", "2026-01-03T14:36:00Z"),
        ("2026/01/03 14:36:00.507 UTC", "2026/01/03 14:36:01.507 UTC", "2026-01-03T14:36:00.507Z"),
    ] {
        let (reader, samples) = read(&log(&[first, second]));
        assert_eq!(reader.facts().started.to_string(), started, "{first}");
        assert_eq!(samples[1].at_seconds, 1.0, "{first}");
    }
}

#[test]
fn a_time_that_cannot_be_read_is_named_as_the_cause() {
    for (time, says) in [
        (
            "Sat Jan  3 15:36:00 CET 2026",
            "smi.log:2: the time `Sat Jan  3 15:36:00 CET 2026` has the ambiguous zone \
             abbreviation `CET`",
        ),
        ("yesterday at noon", "smi.log:2: the time `yesterday at noon` cannot be read"),
        (
            "Sat Jan  3 02:36:00 PM UTC 2026",
            "smi.log:2: the time `Sat Jan  3 02:36:00 PM UTC 2026` cannot be read",
        ),
    ] {
        let refused = refusal(&log(&[time, time]), &ReadOptions::default());
        assert_eq!(refused.to_string(), says);
        assert!(refused.hint().contains("--read-zone"));
    }
}

/// A script may add a process to a row of a GPU.
#[test]
fn a_process_beside_readings_of_a_gpu_is_a_column_that_is_not_known() {
    let (_, samples) = read(
        "timestamp, index, utilization.gpu [%], memory.used [MiB], pid\n\
         2026/01/03 14:36:00, 0, 40 %, 512 MiB, 4711\n",
    );
    let [GpuSample::Read(reading)] = samples[0].gpus.as_slice() else {
        panic!("{samples:?}");
    };
    assert_eq!(reading.utilization_percent, Some(40.0));
    assert_eq!(reading.vram_used_mib, Some(512.0));
}

#[test]
fn a_log_of_processes_is_told_from_one_of_gpus() {
    for header in [
        "timestamp, gpu_name, gpu_bus_id, gpu_uuid, pid, process_name, used_gpu_memory [MiB]",
        "timestamp, pid, used_memory [MiB]",
        "pid, process_name, used_gpu_memory [MiB]",
    ] {
        let cells = header.split(',').count();
        let log = format!("{header}\n{}\n", vec!["512 MiB"; cells].join(", "));
        let refused = refusal(&log, &ReadOptions::default());
        assert!(refused.to_string().contains(" is neither a file of samples nor "), "{refused}");
        assert!(refused.hint().contains("--query-gpu=timestamp,index"));
    }
}
