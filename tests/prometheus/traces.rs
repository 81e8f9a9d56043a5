//! What GPUs did, every 57 seconds for most of a day: 80 real containers where their traces
//! are at hand, else as many made-up ones.

use crate::support::data::{at_hand, shared};
use flate2::read::GzDecoder;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

const FOLDER: &str = "samples/gpu-containers";
const CONTAINERS: u64 = 80;
/// Of these, so many were there all the time; the others began late, ended early or
/// missed readings.
const WHOLE_CONTAINERS: u64 = 52;
/// A whole trace has nearly as many readings as there are steps.
const WHOLE_READINGS: usize = 1_433;
const FIRST_SECOND: i64 = 1_662_858_720;
const STEP_SECONDS: i64 = 57;
const STEPS: i64 = 1_441;
const MIB: f64 = 1_048_576.0;

/// Second and value of each reading, ascending.
pub type Readings = Vec<(i64, f64)>;

/// What one container did to its GPU.
pub struct Trace {
    pub name: String,
    /// Utilization.
    pub percents: Readings,
    /// Memory in use on a card of 80 GiB.
    pub mib: Readings,
}

impl Trace {
    pub fn is_whole(&self) -> bool {
        self.percents.len() >= WHOLE_READINGS
    }
}

/// Every trace, by name.
pub fn traces() -> Vec<Trace> {
    at_hand(FOLDER).map_or_else(made_up, |folder| recorded(&folder))
}

fn recorded(folder: &Path) -> Vec<Trace> {
    let mut memory = readings(&folder.join("pod_gpu_memory_used_bytes_anon.csv.gz"));
    readings(&folder.join("pod_gpu_duty_cycle_anon.csv.gz"))
        .into_iter()
        .map(|(name, percents)| {
            let bytes = memory.remove(&name).expect("every container has both");
            let mib = bytes.into_iter().map(|(second, size)| (second, size / MIB));
            Trace { name, percents, mib: mib.collect() }
        })
        .collect()
}

/// Readings by container. The two files order their columns differently.
fn readings(file: &Path) -> BTreeMap<String, Readings> {
    let mut text = String::new();
    GzDecoder::new(File::open(file).expect("the sample opens"))
        .read_to_string(&mut text)
        .expect("the sample is text");
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let column = |name: &str| {
        let place = header.iter().position(|cell| *cell == name);
        place.unwrap_or_else(|| panic!("a column {name}"))
    };
    let (name, second, value) = (column("container_ip"), column("timestamp_anon"), column("value"));
    let mut by_name: BTreeMap<String, Readings> = BTreeMap::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |column: usize| cells[column].parse::<f64>().expect("a number");
        by_name
            .entry(cells[name].to_owned())
            .or_default()
            .push((number(second) as i64, number(value)));
    }
    by_name
}

/// The same shape without the data: loads that last for some minutes, and the last
/// containers with holes. The mean is about 15%, half of the time nothing computes.
fn made_up() -> Vec<Trace> {
    (0..CONTAINERS)
        .map(|number| {
            let mut random = fastrand::Rng::with_seed(number + 1);
            let is_whole = number < WHOLE_CONTAINERS;
            let begin = if is_whole { 0 } else { random.i64(0..STEPS / 2) };
            let mut level = 0.0;
            let (mut percents, mut mib) = (Readings::new(), Readings::new());
            for step in begin..STEPS {
                if random.u8(0..20) == 0 {
                    level = f64::from(random.u8(0..60)) * f64::from(random.u8(0..2));
                }
                if is_whole || random.u8(0..5) > 0 {
                    let second = FIRST_SECOND + step * STEP_SECONDS;
                    percents.push((second, level));
                    mib.push((second, 20_000.0 + 200.0 * level));
                }
            }
            Trace { name: format!("made-up-{number:02}"), percents, mib }
        })
        .collect()
}

#[test]
fn real_traces_are_read_as_they_were_measured() {
    let Some(folder) = shared("container traces as DCGM series", FOLDER) else { return };
    let traces = recorded(&folder);
    let text = std::fs::read_to_string(folder.join("per_container_expected.csv"));
    let text = text.expect("it is beside the traces");
    let mut rows = text.lines();
    let header = rows.next().expect("a header");
    assert!(header.starts_with("container_ip,n,mean,median,"), "{header}");
    assert!(header.contains(",mem_n,mem_mean_gib,"), "{header}");
    let mut compared = 0;
    for (trace, row) in traces.iter().zip(rows) {
        let cells: Vec<&str> = row.split(',').collect();
        let number = |column: usize| cells[column].parse::<f64>().expect("a number");
        let mean = |readings: &Readings| {
            readings.iter().map(|(_, value)| value).sum::<f64>() / readings.len() as f64
        };
        let name = &trace.name;
        assert_eq!(cells[0], name);
        assert_eq!(trace.percents.len() as f64, number(1), "{name}");
        assert!((mean(&trace.percents) - number(2)).abs() < 1e-6, "{name}");
        assert_eq!(trace.mib.len() as f64, number(9), "{name}");
        assert!((mean(&trace.mib) / 1_024.0 - number(10)).abs() < 1e-6, "{name}");
        compared += 1;
    }
    assert_eq!((compared, traces.len()), (80, 80));
}
