//! Logs of `--query-gpu`, times as they have them, and columns whose names were given: these
//! outrank what stands above the rows.

use super::super::super::samples::ReadOptions;
use super::{gaps, read, read_with, reading, refusal, seconds, try_open, used};
use crate::catalog::time_zone;
use crate::domain::{GpuSample, Sample};
use std::time::Duration;

const TWO: &str = "\
timestamp, index, name, utilization.gpu [%], memory.used [MiB], power.draw [W]
2026/01/03 15:36:53.500, 0, NVIDIA A10G, 10 %, 100 MiB, 60.25 W
2026/01/03 15:36:53.510, 1, NVIDIA A10G, 20 %, 200 MiB, [N/A]
2026/01/03 15:36:54.500, 0, NVIDIA A10G, 30 %, 300 MiB, [Not Supported]
2026/01/03 15:36:54.510, 1, NVIDIA A10G, 40 %, 400 MiB, 61 W
";

#[test]
fn rows_of_several_gpus_are_one_sample() {
    let (reader, samples) = read(TWO);
    assert_eq!(reader.facts().started.to_string(), "2026-01-03T15:36:53.5Z");
    assert_eq!(reader.facts().gpus.len(), 2);
    assert_eq!(reader.facts().gpus[1].index, 1);
    assert_eq!(reader.facts().interval_seconds, None);
    assert_eq!(seconds(&samples), [0.0, 1.0]);
    assert_eq!(used(&samples, 0), [Some(100.0), Some(300.0)]);
    assert_eq!(used(&samples, 1), [Some(200.0), Some(400.0)]);
    assert_eq!(reading(&samples[0], 0).power_w, Some(60.25));
    assert_eq!(reading(&samples[0], 1).power_w, None);
    assert_eq!(reading(&samples[1], 1).utilization_percent, Some(40.0));
    assert_eq!(reading(&samples[1], 1).processes, None);
    assert_eq!(reader.end(), None);
    assert_eq!(
        gaps(&reader),
        [
            "utilization.memory, memory.total, power.limit: the log has no such columns",
            "time zone: timestamps have no time zone and are read as UTC"
        ]
    );
}

#[test]
fn every_dress_of_the_same_log_says_the_same() {
    let (_, expected) = read(TWO);
    let bare = TWO.replace(" %,", ",").replace(" MiB,", ",").replace(" W\n", "\n");
    let header = TWO.lines().next().expect("a header");
    // A loop in a shell writes the header each time.
    let repeated =
        TWO.replace("\n2026/01/03 15:36:54.500", &format!("\n{header}\n2026/01/03 15:36:54.500"));
    let uuids =
        TWO.replace("index", "uuid").replace(", 0, ", ", GPU-b, ").replace(", 1, ", ", GPU-a, ");
    for log in [bare, repeated, uuids, TWO.replace('\n', "\r\n"), format!("\u{feff}{TWO}")] {
        let (_, samples) = read(&log);
        assert_eq!(samples, expected, "{log}");
    }
    let wide: Vec<u8> = format!("\u{feff}{}", TWO.replace('\n', "\r\n"))
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let reader = try_open(&wide, &ReadOptions::default()).expect("opens");
    let samples: Vec<Sample> = reader.map(|sample| sample.expect("a sample")).collect();
    assert_eq!(samples, expected);
    let given = ReadOptions {
        columns: Some(
            ["timestamp", "index", "name", "utilization.gpu", "memory.used", "power.draw"]
                .map(str::to_owned)
                .to_vec(),
        ),
        ..ReadOptions::default()
    };
    let headless = TWO.split_once('\n').expect("lines").1;
    assert_eq!(read_with(headless, &given).1, expected);
}

#[test]
fn rows_without_a_name_of_their_gpu_go_by_their_order() {
    let unnamed = TWO.replace(" index,", "").replace(", 0, N", ", N").replace(", 1, N", ", N");
    let later = unnamed.lines().skip(1).map(|line| line.replace("15:36", "15:37"));
    let log = format!("{unnamed}{}\n", later.collect::<Vec<_>>().join("\n"));
    let (reader, samples) = read(&log);
    assert_eq!(reader.facts().gpus.len(), 2);
    assert_eq!(seconds(&samples), [0.0, 1.0, 60.0, 61.0]);
    assert_eq!(used(&samples, 1), [200.0, 400.0, 200.0, 400.0].map(Some));
    // A row is missing: nothing says of which GPU.
    let short = log.replace("2026/01/03 15:37:53.510, NVIDIA A10G, 20 %, 200 MiB, [N/A]\n", "");
    let (reader, samples) = read(&short);
    assert_eq!(seconds(&samples), [0.0, 1.0, 61.0]);
    let reported = gaps(&reader);
    assert!(reported[2].starts_with("samples: 1 sample has a different number"), "{reported:?}");

    let (reader, samples) = read(
        "timestamp, utilization.gpu [%]\n2026/01/03 15:36:53, 5 %\n2026/01/03 15:36:54, 6 %\n\
         2026/01/03 15:36:58, 7 %\n",
    );
    assert_eq!(reader.facts().gpus.len(), 1);
    assert_eq!(seconds(&samples), [0.0, 1.0, 5.0]);
}

#[test]
fn names_in_turn_tell_how_many_gpus_there_are() {
    let log = "name, utilization.gpu [%]\nTesla T4, 1 %\nTesla V100, 2 %\nTesla T4, 3 %\n\
               Tesla V100, 4 %\n";
    let options =
        ReadOptions { interval: Some(Duration::from_millis(500)), ..ReadOptions::default() };
    let (reader, samples) = read_with(log, &options);
    assert_eq!(reader.facts().gpus[1].name.as_deref(), Some("Tesla V100"));
    assert_eq!(seconds(&samples), [0.0, 0.5]);
    assert_eq!(reading(&samples[1], 1).utilization_percent, Some(4.0));
    let refused = refusal(log, &ReadOptions::default());
    assert!(refused.to_string().contains(" has no column `timestamp`"));
    assert!(refused.hint().contains("--interval"));
}

#[test]
fn a_gpu_that_is_lost_is_lost_and_not_idle() {
    let log = format!(
        "{TWO}2026/01/03 15:36:55.500, 0, NVIDIA A10G, 50 %, 500 MiB, 62 W\n\
         2026/01/03 15:36:55.510, 1, [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost]\n\
         Unable to determine the device handle for GPU 0000:00:1E.0: GPU is lost.  Reboot the system\n\
         2026/01/03 15:36:56.500, 0, NVIDIA A10G, 60 %, 600 MiB, 63 W\n\
         2026/01/03 15:36:57.500, 0, NVIDIA A10G, [Unknown Error], [Unknown Error], [Unknown Error]\n"
    );
    let (reader, samples) = read(&log);
    assert_eq!(seconds(&samples), [0.0, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(samples[2].gpus[1], GpuSample::lost("GPU is lost"));
    assert_eq!(samples[3].gpus[1], GpuSample::lost("not in this part of the log"));
    assert_eq!(reading(&samples[3], 0).utilization_percent, Some(60.0));
    assert_eq!(samples[4].gpus[0], GpuSample::lost("Unknown Error"));
    let reported = gaps(&reader);
    assert!(
        reported[2].starts_with(
            "lines: 1 line is not part of the log; the first is line 8: `Unable \
                                 to"
        ),
        "{reported:?}"
    );
}

#[test]
fn gpus_of_an_anonymous_log_are_told_apart() {
    let log = TWO
        .replace("index", "index, uuid")
        .replace(", 0, ", ", 0, GPU-00000000-0000, ")
        .replace(", 1, ", ", 1, GPU-00000000-0000, ");
    let (reader, samples) = read(&log);
    assert_eq!(reader.facts().gpus.len(), 2);
    assert_eq!(reader.facts().gpus[0].uuid, None);
    assert_eq!(samples, read(TWO).1);
}

#[test]
fn columns_that_are_missing_or_not_known_are_named() {
    let (reader, samples) = read(
        "timestamp, index, utilization.gpu [%], pstate, my.column, mig.mode.current, \
         enforced.power.limit [W], pcie.link.gen.max, pcie.link.width.max, \
         clocks_throttle_reasons.active, memory.used [MiB], driver_version, hostname, fan.speed [%]\n\
         2026-01-03T15:36:53+01:00, 0, [N/A], P0, 7, Enabled, 300.00 W, 4, 16, \
         0x0000000000000005, 120 MB, 550.1, host-a, 30 %\n",
    );
    let facts = reader.facts();
    assert_eq!(facts.started.to_string(), "2026-01-03T14:36:53Z");
    assert_eq!(facts.driver_version.as_deref(), Some("550.1"));
    assert_eq!(facts.hostname.as_deref(), Some("host-a"));
    let gpu = &facts.gpus[0];
    assert_eq!(gpu.is_mig_enabled, Some(true));
    assert_eq!(gpu.power_limit_w, Some(300.0));
    // 16 lanes of 16 GT/s, 128 of 130 bits: 31.508 GB/s.
    let pcie = gpu.pcie_max_bytes_per_second.expect("a link");
    assert!((pcie - 31.507_692_3e9).abs() < 1e3, "{pcie}");
    let reading = reading(&samples[0], 0);
    assert_eq!(reading.utilization_percent, None);
    assert_eq!(reading.throttle.expect("a mask").names(), ["idle", "power cap"]);
    assert_eq!(reading.vram_used_mib, Some(120e6 / 1_048_576.0));
    assert_eq!(
        gaps(&reader),
        [
            "utilization.memory, memory.total, power.draw: the log has no such columns",
            "columns: unknown: my.column"
        ]
    );
}

#[test]
fn a_log_without_header_is_told_by_its_units_or_refused() {
    let (reader, samples) =
        read("2026/01/03 15:36:53.507, NVIDIA A10G, 41 %, 23028 MiB, 1129 MiB, 33.09 W\n");
    assert_eq!(reading(&samples[0], 0).vram_used_mib, Some(1_129.0));
    assert_eq!(reading(&samples[0], 0).vram_total_mib, Some(23_028.0));
    assert_eq!(reading(&samples[0], 0).power_w, Some(33.09));
    let reported = gaps(&reader);
    assert!(
        reported[1].ends_with("timestamp,name,utilization.gpu,memory.total,memory.used,power.draw"),
        "{reported:?}"
    );
    for (log, says) in [
        (
            "2026/01/03 15:36:53, 1 %, 2 %\n",
            "smi.log:1: the columns have no names: 2 columns are in %",
        ),
        ("2026/01/03 15:36:53, 5, 6, 7\n", "no cell has a unit"),
        ("2026/01/03 15:36:53, 5 %, 6 MiB, 7 MiB, 8 MiB\n", "3 columns are in MiB"),
    ] {
        let refused = refusal(log, &ReadOptions::default());
        assert!(refused.to_string().contains(says), "{refused}");
        assert!(refused.hint().contains("--read-columns"));
    }
}

#[test]
fn what_is_no_log_is_refused_with_what_it_says() {
    for (log, says) in [
        ("", "smi.log is neither a file of samples nor a log of nvidia-smi"),
        ("No devices were found\n", "it says `No devices were found`"),
        ("{\"estate_version\":\"1\"}", "it says `{\"estate_version\":\"1\"}`"),
        ("timestamp, gpu_name\n", "no column is a GPU metric"),
        (
            "timestamp, utilization.gpu [%]\nNVIDIA-SMI has failed because\u{1b}[2J\n",
            "smi.log holds no samples; it says `NVIDIA-SMI has failed because\\u{1b}[2J`",
        ),
        ("<nvidia_smi_log><timestamp>", "smi.log holds no samples"),
    ] {
        let refused = refusal(log, &ReadOptions::default()).to_string();
        assert!(refused.contains(says), "{refused}");
    }
}

#[test]
fn figures_that_cannot_be_are_left_out_and_counted() {
    let (reader, samples) = read(
        "timestamp, index, utilization.gpu [%], memory.used [MiB], power.draw [W]\n\
         2026/01/03 15:36:53, 0, 120 %, -1 MiB, nan W\n\
         2026/01/03 15:36:54, 0, 12 %, 7 W, 30 W\n\
         2026/01/03 15:36:55, 0, 13 %, 8 MiB, 31.",
    );
    assert_eq!(samples.len(), 2);
    assert_eq!(reading(&samples[0], 0).utilization_percent, None);
    assert_eq!(reading(&samples[1], 0).vram_used_mib, None);
    let reported = gaps(&reader);
    assert!(reported[2].starts_with("figures: 2 cells are not valid"), "{reported:?}");
    assert!(reported[3].starts_with("figures: 2 figures out of range"), "{reported:?}");
    assert!(reported[4].starts_with("the last sample: the log ends"), "{reported:?}");
}

#[test]
fn clocks_that_go_back_do_not_turn_time_around() {
    // Summer time ends on 25 October 2026 at 03:00 in Berlin.
    let log = "timestamp, index, utilization.gpu [%], memory.used [MiB], power.draw [W]\n\
               2026/10/25 02:59:59.000, 0, 1 %, 1 MiB, 1 W\n\
               2026/10/25 02:59:59.500, 0, 1 %, 1 MiB, 1 W\n\
               2026/10/25 02:00:00.000, 0, 1 %, 1 MiB, 1 W\n\
               2026/10/25 02:00:00.500, 0, 1 %, 1 MiB, 1 W\n";
    let (reader, samples) = read(log);
    assert_eq!(seconds(&samples), [0.0, 0.5, 1.0, 1.5]);
    assert!(gaps(&reader)[2].contains("the clock goes back 1 time"));
    let berlin = ReadOptions { zone: time_zone("Europe/Berlin"), ..ReadOptions::default() };
    let (reader, samples) = read_with(log, &berlin);
    assert_eq!(seconds(&samples), [0.0, 0.5, 1.0, 1.5]);
    assert_eq!(samples[0].time.to_string(), "2026-10-25T00:59:59Z");
    assert_eq!(samples[3].time.to_string(), "2026-10-25T01:00:00.5Z");
    assert_eq!(gaps(&reader).len(), 1, "columns alone");
}

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

const NAMES: [&str; 4] = ["timestamp", "index", "utilization.gpu", "memory.used"];
const ROWS: [&str; 2] =
    ["2026/01/03 15:36:53.500, 0, 10 %, 100 MiB", "2026/01/03 15:36:54.500, 0, 30 %, 300 MiB"];

fn given(names: &[&str]) -> ReadOptions {
    ReadOptions {
        columns: Some(names.iter().map(|name| (*name).to_owned()).collect()),
        ..ReadOptions::default()
    }
}

#[test]
fn given_names_outrank_a_header() {
    for header in [
        // Most names are known, half of them, and none.
        "timestamp, index, my.load, memory.used [MiB]",
        "time, gpu, utilization.gpu [%], memory.used [MiB]", "time, gpu, load, memory",
        // Names in another order, and one that lists of processes have.
        "timestamp, index, memory.used [MiB], utilization.gpu [%]",
        "timestamp, pid, load, memory.used [MiB]",
    ] {
        let once = format!("{header}\n{}\n{}\n", ROWS[0], ROWS[1]);
        let each_time = format!("{header}\n{}\n{header}\n{}\n", ROWS[0], ROWS[1]);
        for log in [once, each_time] {
            let (reader, samples) = read_with(&log, &given(&NAMES));
            assert_eq!(used(&samples, 0), [100.0, 300.0].map(Some), "{log}");
            let busy = reading(&samples[1], 0).utilization_percent;
            assert_eq!(busy, Some(30.0), "{log}");
            let reported = gaps(&reader);
            let is_of_header = |gap: &String| gap.starts_with("lines") || gap.starts_with("col");
            assert!(!reported.iter().any(is_of_header), "{reported:?}");
        }
    }
}

#[test]
fn as_many_names_as_cells_are_needed() {
    let rows = ROWS.join("\n");
    for (above, line) in [
        ("", 1),
        ("timestamp, index, utilization.gpu, memory.used\n", 1),
        ("time, gpu, load, memory\n", 2),
    ] {
        let log = format!("{above}{rows}\n");
        for names in [&NAMES[..3], &["timestamp", "a", "b", "utilization.gpu", "memory.used"]] {
            let refused = refusal(&log, &given(names));
            assert_eq!(
                refused.to_string(),
                format!(
                    "smi.log:{line}: the columns have no names: --read-columns has {}, and this line \
                     4",
                    names.len()
                )
            );
            assert!(refused.hint().contains("every column"));
        }
    }
    // A warning between the rows may have any number of cells.
    let (reader, samples) = read_with(&format!("warning: slow, 3\n{rows}\n"), &given(&NAMES));
    assert_eq!(samples.len(), 2);
    let reported = gaps(&reader);
    assert!(reported.iter().any(|gap| gap.starts_with("lines: 1 line is not")), "{reported:?}");
}
