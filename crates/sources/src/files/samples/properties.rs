//! What is written is read back the same, and nothing that is read can make the
//! reader fall over.

use super::{
    Input, ReadOptions, SampleFormat, SampleReader, SampleWriter, SamplesError, open_input,
    open_samples,
};
use crate::domain::{
    Activity, FineSample, GpuIdentity, GpuProcess, GpuReading, GpuSample, HostReading, Loss,
    MigSlot, RunEnd, RunFacts, Sample, SpotAction, SpotInterruption, SpotNotice, SpotRun,
    ThrottleReasons, UnitsDone,
};
use jiff::Timestamp;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::path::Path;

fn figure() -> impl Strategy<Value = Option<f64>> {
    option::of(prop_oneof![0.0..100.0_f64, 0.0..1e15_f64, Just(0.0), Just(1.0 / 3.0)])
}

/// Text that a spreadsheet might run, and text that needs quotes.
fn name() -> impl Strategy<Value = String> {
    "[='+@,\"a-zA-Z0-9 \\-\\.äß]{0,12}[a-z]"
}

prop_compose! {
    fn activity()(
        graphics_percent in figure(),
        sm_percent in figure(),
        tensor_percent in figure(),
        dram in 0.0..100.0_f64,
        nvlink_sent_bytes_per_second in figure(),
    ) -> Activity {
        Activity {
            graphics_percent,
            sm_percent,
            tensor_percent,
            dram_percent: Some(dram),
            nvlink_sent_bytes_per_second,
            ..Activity::default()
        }
    }
}

prop_compose! {
    fn process()(
        pid in any::<u32>(),
        name in option::of(name()),
        vram_mib in option::of(any::<u64>()),
        is_of_command in any::<bool>(),
    ) -> GpuProcess {
        GpuProcess { pid, name, vram_mib, sm_percent: None, is_of_command }
    }
}

prop_compose! {
    fn reading()(
        figures in vec(figure(), 13),
        throttle in option::of(any::<u64>()),
        processes in option::of(vec(process(), 0..3)),
        activity in option::of(activity()),
        fine in vec((any::<u64>(), 0.0..100.0_f64), 0..4),
        xids in vec(any::<u64>(), 0..3),
    ) -> GpuReading {
        GpuReading {
            utilization_percent: figures[0],
            memory_utilization_percent: figures[1],
            vram_used_mib: figures[2],
            vram_total_mib: figures[3],
            power_w: figures[4],
            energy_j: figures[5],
            temperature_c: figures[6].map(|value| -value),
            sm_clock_mhz: figures[7],
            memory_clock_mhz: figures[8],
            throttle: throttle.map(ThrottleReasons),
            pcie_sent_bytes_per_second: figures[9],
            pcie_received_bytes_per_second: figures[10],
            encoder_percent: figures[11],
            decoder_percent: figures[12],
            processes,
            activity,
            fine: fine.into_iter().map(|(at_microseconds, utilization_percent)| FineSample {
                at_microseconds,
                utilization_percent,
            }).collect(),
            xids,
        }
    }
}

fn gpu() -> impl Strategy<Value = GpuSample> {
    prop_oneof![
        4 => reading().prop_map(|reading| GpuSample::Read(Box::new(reading))),
        1 => (name(), vec(any::<u64>(), 0..3))
            .prop_map(|(reason, xids)| GpuSample::Lost(Loss { reason, xids })),
    ]
}

prop_compose! {
    fn identity(index: u16)(
        slot in option::of((option::of(any::<u32>()), option::of(any::<u32>()), option::of(name()))),
        uuid in option::of(name()),
        name in option::of(name()),
        figures in vec(figure(), 4),
        is_mig_enabled in option::of(any::<bool>()),
    ) -> GpuIdentity {
        GpuIdentity {
            index,
            mig: slot.map(|(gpu_instance, compute_instance, profile)| MigSlot {
                index: 3,
                gpu_instance,
                compute_instance,
                profile,
            }),
            uuid,
            name,
            vram_total_mib: figures[0],
            power_limit_w: figures[1],
            power_default_limit_w: figures[2],
            pcie_max_bytes_per_second: figures[3],
            is_mig_enabled,
        }
    }
}

fn time() -> impl Strategy<Value = Timestamp> {
    (0..4_000_000_000_i64, 0..1_000_000_000_i32)
        .prop_map(|(second, nanosecond)| Timestamp::new(second, nanosecond).expect("in range"))
}

prop_compose! {
    fn facts(gpus: usize)(
        started in time(),
        interval_seconds in figure(),
        names in vec(option::of(name()), 5),
        is_command in any::<bool>(),
        gpus in (0..gpus).map(|index| identity(index as u16)).collect::<Vec<_>>(),
    ) -> RunFacts {
        RunFacts {
            started,
            interval_seconds,
            hostname: names[0].clone(),
            instance_id: names[1].clone(),
            instance_type: names[2].clone(),
            region: names[3].clone(),
            driver_version: names[4].clone(),
            is_command,
            gpus,
        }
    }
}

prop_compose! {
    fn sample(gpus: usize)(
        time in time(),
        gpus in vec(gpu(), gpus),
        cores in option::of(any::<u32>()),
        figures in vec(figure(), 12),
    ) -> Sample {
        Sample {
            at_seconds: 0.0,
            time,
            gpus,
            host: HostReading {
                cores,
                cpu_percent: figures[0],
                busiest_core_percent: figures[1],
                io_wait_percent: figures[2],
                cpu_pressure_percent: figures[3],
                io_pressure_percent: figures[4],
                memory_pressure_percent: figures[5],
                memory_used_mib: figures[6],
                memory_total_mib: figures[7],
                network_received_bytes_per_second: figures[8],
                network_sent_bytes_per_second: figures[9],
                disk_read_bytes_per_second: figures[10],
                disk_written_bytes_per_second: figures[11],
            },
        }
    }
}

prop_compose! {
    fn interruption()(
        action in proptest::sample::select(SpotAction::ALL),
        time in time(),
        noticed_seconds in 0.0..1e6_f64,
        warned_by in option::of(name()),
        action_seconds in 0.0..1e6_f64,
        deadline_seconds in 0.0..1e6_f64,
    ) -> SpotInterruption {
        SpotInterruption {
            notice: SpotNotice { action, time },
            noticed_seconds,
            warned_by,
            action_seconds,
            deadline_seconds,
        }
    }
}

prop_compose! {
    fn spot()(
        interruption in option::of(interruption()),
        is_unread in any::<bool>(),
    ) -> SpotRun {
        SpotRun { interruption, is_unread }
    }
}

prop_compose! {
    fn units()(unit in name(), count in 0..=1_000_000_000_000_000_000_u64) -> UnitsDone {
        UnitsDone { unit, count }
    }
}

/// A run of one to three GPUs, its samples and its end.
fn run() -> impl Strategy<Value = (RunFacts, Vec<Sample>, RunEnd)> {
    let ended = (option::of(any::<i32>()), option::of(spot()), vec(units(), 0..3));
    (1..4_usize, ended)
        .prop_flat_map(|(gpus, ended)| {
            let rounds = vec((sample(gpus), 0.001..10.0_f64), 1..5);
            (facts(gpus), rounds, Just(ended))
        })
        .prop_map(|(facts, rounds, (exit_code, spot, units))| {
            let mut at_seconds = 0.0;
            let mut samples = Vec::new();
            for (sample, step) in rounds {
                at_seconds += step;
                samples.push(Sample { at_seconds, ..sample });
            }
            let end = RunEnd { elapsed_seconds: at_seconds + 0.1, exit_code, spot, units };
            (facts, samples, end)
        })
}

fn write(path: &Path, facts: &RunFacts, samples: &[Sample], end: &RunEnd) {
    let mut writer = SampleWriter::create(path, facts).expect("created");
    for sample in samples {
        writer.write(sample).expect("written");
    }
    writer.finish(end).expect("finished");
}

fn all(reader: &mut SampleReader) -> Result<Vec<Sample>, SamplesError> {
    reader.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_is_written_is_read_back_to_the_last_bit((facts, samples, end) in run()) {
        let folder = tempfile::tempdir().expect("a folder");
        for file in ["run.jsonl", "run.csv"] {
            let path = folder.path().join(file);
            write(&path, &facts, &samples, &end);
            let mut reader = open_samples(&path, &ReadOptions::default()).expect("opens");
            prop_assert_eq!(reader.facts(), &facts);
            let read_back = all(&mut reader).expect("reads");
            prop_assert_eq!(&read_back, &samples);
            let expected = (file == "run.jsonl").then_some(&end);
            prop_assert_eq!(reader.end(), expected);
            prop_assert_eq!(reader.gaps(), Vec::new());
        }
    }

    #[test]
    fn a_kill_loses_one_sample_at_most((facts, samples, end) in run(), cut in 0.0..1.0_f64) {
        let folder = tempfile::tempdir().expect("a folder");
        for file in ["run.jsonl", "run.csv"] {
            let path = folder.path().join(file);
            write(&path, &facts, &samples, &end);
            let bytes = std::fs::read(&path).expect("there");
            let header = bytes.iter().position(|byte| *byte == b'\n').expect("a header") + 1;
            // Ends of the lines or, of a CSV, the samples.
            let rows = if file == "run.csv" { facts.gpus.len() } else { 1 };
            let ends: Vec<usize> = bytes
                .iter()
                .enumerate()
                .filter(|(_, byte)| **byte == b'\n')
                .map(|(at, _)| at + 1)
                .skip(1)
                .collect();
            let rounds: Vec<usize> = ends.chunks(rows).map(|chunk| chunk[chunk.len() - 1]).collect();
            let first = rounds[0];
            let length = first + ((bytes.len() - first) as f64 * cut) as usize;
            prop_assume!(length >= header);
            let whole = rounds.iter().filter(|end| **end <= length).count().min(samples.len());
            let input = Input::of_bytes("cut", &bytes[..length]);
            let mut reader = open_input(input, &ReadOptions::default()).expect("opens");
            let read_back = all(&mut reader).expect("a truncated end is not an error");
            prop_assert!(read_back.len() >= whole, "{} of {whole}", read_back.len());
            prop_assert!(read_back.len() <= whole + 1);
            prop_assert_eq!(&read_back[..whole], &samples[..whole]);
        }
    }

    #[test]
    fn no_bytes_make_the_reader_fall_over(bytes in vec(any::<u8>(), 0..600), start in 0..7_usize) {
        let starts: [&[u8]; 7] = [
            b"",
            b"{\"samples_version\":\"1\"",
            b"time,elapsed_seconds,gpu_index\n2026-01-01T00:00:00Z,1,0\n",
            b"timestamp, index, utilization.gpu [%]\n2026/01/03 15:36:53.507, 0, 1 %\n",
            b"<?xml version=\"1.0\" ?>\n<nvidia_smi_log><timestamp>",
            b"\xff\xfet\0i\0m\0e\0",
            b"\x1f\x8b\x08\0",
        ];
        read_anything(&[starts[start], &bytes].concat());
    }

    #[test]
    fn no_words_make_the_reader_fall_over(
        words in vec(
            prop_oneof![
                Just("timestamp"), Just("utilization.gpu [%]"), Just("memory.used [MiB]"),
                Just("index"), Just("uuid"), Just("name"), Just("count"), Just(", "), Just("\n"),
                Just("2026/01/03 15:36:53"), Just("2026/10/25 02:30:00"), Just("[N/A]"),
                Just("GPU is lost"), Just("12%"), Just("1e999 MiB"), Just("-0"), Just("\u{feff}"),
                Just("<nvidia_smi_log>"), Just("</nvidia_smi_log>"), Just("<gpu id='a'>"),
                Just("</gpu>"), Just("<timestamp>Fri Aug  4 11:44:30 2023</timestamp>"),
                Just("{\"at_seconds\":1,\"time\":\"2026-01-01T00:00:00Z\",\"gpus\":[{}]}"),
                Just("{\"end\":{\"elapsed_seconds\":1}}"), Just("\""), Just("é"),
            ],
            0..60,
        ),
    ) {
        read_anything(words.concat().as_bytes());
    }
}

fn read_anything(bytes: &[u8]) {
    for interval in [None, Some(std::time::Duration::from_secs(1))] {
        let options = ReadOptions { interval, ..ReadOptions::default() };
        let Ok(mut reader) = open_input(Input::of_bytes("any", bytes), &options) else { continue };
        let gpus = reader.facts().gpus.len();
        let mut last = 0.0;
        for sample in reader.by_ref().flatten() {
            assert_eq!(sample.gpus.len(), gpus);
            assert!(sample.at_seconds >= last);
            last = sample.at_seconds;
        }
        let _ = (reader.gaps(), reader.end());
    }
}

#[test]
fn a_newer_file_and_a_second_run_are_refused_by_name() {
    let open = |text: &str| {
        open_input(Input::of_bytes("a.jsonl", text.as_bytes()), &ReadOptions::default())
    };
    let newer = open("{\"samples_version\":\"2\",\"what\":1}\n").expect_err("newer");
    assert_eq!(newer.to_string(), "a.jsonl has samples version 2; this program reads version 1");
    let header = "{\"samples_version\":\"1\",\"gpucost_version\":\"0.1.0\",\
        \"started\":\"2026-01-01T00:00:00Z\",\"is_command\":false,\"gpus\":[{\"index\":0}]}\n";
    let round = "{\"at_seconds\":1,\"time\":\"2026-01-01T00:00:01Z\",\"gpus\":[{}]}\n";
    let invalid = |text: String| {
        let reader = open(&text).expect("opens");
        let results: Vec<_> = reader.collect();
        let error = results.into_iter().next_back().expect("a result");
        error.expect_err("an error").to_string()
    };
    assert_eq!(
        invalid(format!("{header}{round}{header}{round}")),
        "a.jsonl:3: a second run begins here"
    );
    assert_eq!(
        invalid(format!("{header}{round}{}", round.replace(":1,", ":0.5,"))),
        "a.jsonl:3: `at_seconds` decreases from 1 to 0.5"
    );
    assert_eq!(
        invalid(format!("{header}{}", round.replace("[{}]", "[{},{}]"))),
        "a.jsonl:2: 2 GPUs instead of 1"
    );
    let message = invalid(format!("{header}{round}what?\n{round}"));
    assert!(message.starts_with("a.jsonl:3: not a GPU sample"), "{message}");
}

#[test]
fn formulas_in_names_are_disarmed_in_the_file_and_read_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.csv");
    let facts = RunFacts {
        started: Timestamp::UNIX_EPOCH,
        interval_seconds: Some(1.0),
        hostname: Some("=HYPERLINK(\"http://x\")".to_owned()),
        instance_id: None,
        instance_type: None,
        region: None,
        driver_version: None,
        is_command: false,
        gpus: vec![GpuIdentity {
            index: 0,
            mig: None,
            uuid: None,
            name: None,
            vram_total_mib: None,
            power_limit_w: None,
            power_default_limit_w: None,
            pcie_max_bytes_per_second: None,
            is_mig_enabled: None,
        }],
    };
    let round = Sample {
        at_seconds: 1.0,
        time: Timestamp::UNIX_EPOCH,
        gpus: vec![GpuSample::lost("-gone")],
        host: HostReading::default(),
    };
    let end = RunEnd { elapsed_seconds: 1.0, exit_code: None, spot: None, units: Vec::new() };
    write(&path, &facts, &[round], &end);
    let text = std::fs::read_to_string(&path).expect("there");
    assert!(text.contains(",\"'=HYPERLINK(\"\"http://x\"\")\","), "{text}");
    assert!(text.contains(",'-gone,"), "{text}");
    let reader = open_samples(&path, &ReadOptions::default()).expect("opens");
    assert_eq!(reader.facts().hostname, facts.hostname);
}

#[test]
fn a_full_disk_is_an_error_and_no_panic() {
    if !Path::new("/dev/full").exists() {
        println!("SKIPPED: there is no /dev/full here");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.csv");
    #[cfg(unix)]
    std::os::unix::fs::symlink("/dev/full", &path).expect("a link");
    let facts = RunFacts {
        started: Timestamp::UNIX_EPOCH,
        interval_seconds: None,
        hostname: None,
        instance_id: None,
        instance_type: None,
        region: None,
        driver_version: None,
        is_command: false,
        gpus: Vec::new(),
    };
    let mut writer = SampleWriter::create(&path, &facts).expect("it opens");
    let round = Sample {
        at_seconds: 0.0,
        time: Timestamp::UNIX_EPOCH,
        gpus: Vec::new(),
        host: HostReading::default(),
    };
    let error = writer.write(&round).expect_err("full");
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    let error = SampleWriter::create(Path::new("run.txt"), &facts).expect_err("which format");
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    assert_eq!(SampleFormat::of(Path::new("A.JSONL")), Some(SampleFormat::JsonLines));
}
