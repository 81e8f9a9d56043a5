//! Logs of `nvidia-smi` from real hosts, against the figures that others read
//! from them.

use crate::support::data::shared;
use flate2::read::GzDecoder;
use gpucost::domain::{Distribution, GpuIdentity, GpuReading, Sample};
use gpucost::sources::files::{ReadOptions, SampleReader, open_samples};
use gpucost::usage::distribution;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes in a MiB.
const MIB: f64 = 1_048_576.0;

fn all(path: &Path) -> (SampleReader, Vec<Sample>) {
    let mut reader =
        open_samples(path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let samples =
        reader.by_ref().map(|sample| sample.unwrap_or_else(|error| panic!("{error}"))).collect();
    (reader, samples)
}

fn figures(samples: &[Sample], get: fn(&GpuReading) -> Option<f64>) -> Distribution {
    let figure = |sample: &Sample| sample.gpus[0].reading().and_then(get).expect("a figure");
    distribution(samples.iter().map(figure).collect()).expect("samples")
}

#[test]
fn the_logs_have_the_figures_that_were_computed_elsewhere() {
    let Some(folder) = shared("logs of nvidia-smi", "samples/nvidia-smi") else { return };
    for (file, taken, mean, p95, max, peak_mib, seconds) in [
        ("rtx4090_vlm_1s_2619rows.csv", 2_619, "82.987", 97.0, 99.0, 18_141.0, 2_880.454),
        ("v100s_1s_107rows.csv", 107, "3.673", 11.0, 19.0, 1_094.0, 106.053),
    ] {
        let (reader, samples) = all(&folder.join(file));
        assert_eq!(samples.len(), taken, "{file}");
        assert_eq!(reader.facts().gpus.len(), 1, "{file}");
        let busy = figures(&samples, |reading| reading.utilization_percent);
        assert_eq!(format!("{:.3}", busy.mean), mean, "{file}");
        assert_eq!((busy.p95, busy.max), (p95, max), "{file}");
        let held = figures(&samples, |reading| reading.vram_used_mib);
        assert_eq!(held.max, peak_mib, "{file}");
        // The last time of the log less the first.
        let last = samples.last().expect("samples").at_seconds;
        assert!((last - seconds).abs() < 1e-6, "{file}: {last}");
    }
}

/// The part of a transcript below a title.
fn section(transcript: &str, title: &str) -> String {
    let start = transcript.find(&format!("# {title}")).expect("a section");
    let body = transcript[start..].lines().skip_while(|line| line.starts_with('#'));
    let lines: Vec<&str> = body.take_while(|line| !line.starts_with("####")).collect();
    lines.join("\n")
}

/// What another exporter read, by name; those with one value only.
fn metrics(path: &Path) -> BTreeMap<String, f64> {
    let text = std::fs::read_to_string(path).expect("the metrics open");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let (name, value) = line.rsplit_once(' ')?;
            let name = name.split('{').next()?.strip_prefix("nvidia_smi_")?;
            Some((name.to_owned(), value.parse().ok()?))
        })
        .collect()
}

/// What the other exporter has of a reading, in our units.
fn expected(metrics: &BTreeMap<String, f64>, name: &str, scale: f64) -> Option<f64> {
    metrics.get(name).map(|value| value * scale)
}

#[test]
fn transcripts_say_what_another_exporter_read_from_them() {
    let Some(folder) = shared("transcripts of nvidia-smi", "samples/nvidia-smi") else { return };
    let scratch = tempfile::tempdir().expect("a folder");
    let mut compared = 0;
    for host in
        ["linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01", "linux-x86_64__nvidia-l40s__595.80"]
    {
        let mut transcript = String::new();
        let packed = File::open(folder.join(format!("{host}.txt.gz"))).expect("a transcript");
        GzDecoder::new(packed).read_to_string(&mut transcript).expect("text");
        for state in ["idle", "load"] {
            let log = scratch.path().join("log.csv");
            std::fs::write(&log, section(&transcript, &format!("{state} :: query-gpu (csv")))
                .expect("written");
            let (reader, samples) = all(&log);
            let metrics = metrics(&folder.join(format!("{host}__{state}.metrics")));
            assert_eq!(samples.len(), 1, "{host} {state}");
            let gpu = &reader.facts().gpus[0];
            let reading = samples[0].gpus[0].reading().expect("it answered");
            compared += compare(&metrics, gpu, reading);
            let version = host.rsplit("__").next();
            assert_eq!(reader.facts().driver_version.as_deref(), version);
        }
    }
    assert_eq!(compared, 4 * 15);
}

fn compare(metrics: &BTreeMap<String, f64>, gpu: &GpuIdentity, reading: &GpuReading) -> usize {
    let lanes = metrics["pcie_link_width_max"];
    let generation = metrics["pcie_link_gen_max"];
    // Twice the rate with each generation; 8 GT/s and 128 of 130 bits in the third.
    let link = lanes * 8e9 * 2_f64.powf(generation - 3.0) * 128.0 / 130.0 / 8.0;
    let throttle = reading.throttle.map(|reasons| reasons.0 as f64);
    let figures = [
        ("utilization_gpu_ratio", 100.0, reading.utilization_percent),
        ("utilization_memory_ratio", 100.0, reading.memory_utilization_percent),
        ("utilization_encoder_ratio", 100.0, reading.encoder_percent),
        ("utilization_decoder_ratio", 100.0, reading.decoder_percent),
        ("memory_used_bytes", 1.0 / MIB, reading.vram_used_mib),
        ("memory_total_bytes", 1.0 / MIB, reading.vram_total_mib),
        ("memory_total_bytes", 1.0 / MIB, gpu.vram_total_mib),
        ("power_draw_watts", 1.0, reading.power_w),
        ("enforced_power_limit_watts", 1.0, gpu.power_limit_w),
        ("power_default_limit_watts", 1.0, gpu.power_default_limit_w),
        ("temperature_gpu", 1.0, reading.temperature_c),
        ("clocks_current_sm_clock_hz", 1e-6, reading.sm_clock_mhz),
        ("clocks_current_memory_clock_hz", 1e-6, reading.memory_clock_mhz),
        ("clocks_event_reasons_active", 1.0, throttle),
    ];
    for (name, scale, figure) in figures {
        let expected = expected(metrics, name, scale);
        let (Some(figure), Some(expected)) = (figure, expected) else {
            panic!("{name}: {figure:?} instead of {expected:?}");
        };
        let difference = (figure - expected).abs();
        assert!(difference <= expected.abs() * 1e-9, "{name}: {figure} instead of {expected}");
    }
    let bandwidth = gpu.pcie_max_bytes_per_second.expect("a link");
    assert!((bandwidth - link).abs() < 1.0, "{bandwidth} instead of {link}");
    figures.len() + 1
}

fn xml(folder: &Path, file: &str) -> (SampleReader, Vec<Sample>) {
    let path: PathBuf = folder.join(file);
    all(&path)
}

/// Figures read off the files by eye.
#[test]
fn documents_of_several_drivers_are_read() {
    let Some(folder) = shared("documents of nvidia-smi", "samples/nvidia-smi") else { return };
    let (reader, samples) = xml(&folder, "telegraf_a10g.xml");
    let gpu = &reader.facts().gpus[0];
    assert_eq!(reader.facts().started.to_string(), "2023-04-24T16:11:51Z");
    assert_eq!(gpu.power_limit_w, Some(300.0));
    let reading = samples[0].gpus[0].reading().expect("it answered");
    assert_eq!(reading.power_w, Some(25.58));
    assert_eq!((reading.vram_used_mib, reading.vram_total_mib), (Some(22.0), Some(23_028.0)));
    assert_eq!(reading.temperature_c, Some(17.0));
    assert_eq!((reading.sm_clock_mhz, reading.memory_clock_mhz), (Some(210.0), Some(405.0)));
    assert_eq!(reading.throttle.expect("reasons").names(), ["idle"]);
    let process = &reading.processes.as_ref().expect("a list")[0];
    assert_eq!((process.pid, process.vram_mib), (725, Some(22)));
    assert_eq!(process.name.as_deref(), Some("/usr/lib/xorg/Xorg"));

    let (_, samples) = xml(&folder, "telegraf_tesla-t4.xml");
    let reading = samples[0].gpus[0].reading().expect("it answered");
    assert_eq!(reading.power_w, Some(26.78));
    let processes = reading.processes.as_ref().expect("a list");
    let held: Vec<_> = processes.iter().map(|row| (row.pid, row.vram_mib)).collect();
    assert_eq!(held, [(675, Some(22)), (5762, Some(1_005))]);

    let (reader, samples) = xml(&folder, "telegraf_a100-sxm4-v12.xml");
    let gpus = &reader.facts().gpus;
    assert_eq!(gpus.len(), 5);
    assert_eq!(gpus[0].is_mig_enabled, Some(true));
    let slots: Vec<_> =
        gpus[1..].iter().map(|gpu| gpu.mig.as_ref().and_then(|slot| slot.gpu_instance)).collect();
    assert_eq!(slots, [3, 4, 5, 6].map(Some));
    let whole = samples[0].gpus[0].reading().expect("it answered");
    assert_eq!((whole.utilization_percent, whole.power_w), (None, Some(67.03)));
    assert_eq!(whole.pcie_sent_bytes_per_second, Some(4e6));
    let slice = samples[0].gpus[4].reading().expect("it answered");
    assert_eq!((slice.vram_used_mib, slice.vram_total_mib), (Some(12.0), Some(19_968.0)));
}
