//! Small logs, made up, of everything that people's logs have in them.

mod documents;
mod given;
mod hosts;
mod properties;
mod rows;
mod table;
mod times;

use super::super::samples::{Input, ReadOptions, SampleReader, SamplesError, open_input};
use crate::domain::{GpuReading, Sample};

fn try_open(log: &[u8], options: &ReadOptions) -> Result<SampleReader, SamplesError> {
    open_input(Input::of_bytes("smi.log", log), options)
}

fn read_with(log: &str, options: &ReadOptions) -> (SampleReader, Vec<Sample>) {
    let mut reader = try_open(log.as_bytes(), options).expect("opens");
    let samples = reader.by_ref().collect::<Result<_, _>>().expect("reads");
    (reader, samples)
}

fn read(log: &str) -> (SampleReader, Vec<Sample>) {
    read_with(log, &ReadOptions::default())
}

fn reading(sample: &Sample, gpu: usize) -> &GpuReading {
    sample.gpus[gpu].reading().expect("it answered")
}

fn used(samples: &[Sample], gpu: usize) -> Vec<Option<f64>> {
    let used = |sample: &Sample| sample.gpus[gpu].reading()?.vram_used_mib;
    samples.iter().map(used).collect()
}

fn seconds(samples: &[Sample]) -> Vec<f64> {
    samples.iter().map(|sample| sample.at_seconds).collect()
}

fn gaps(reader: &SampleReader) -> Vec<String> {
    let reported = |gap: crate::domain::Gap| format!("{}: {}", gap.what, gap.reason);
    reader.gaps().into_iter().map(reported).collect()
}

fn refusal(log: &str, options: &ReadOptions) -> SamplesError {
    try_open(log.as_bytes(), options).expect_err("a refusal")
}
