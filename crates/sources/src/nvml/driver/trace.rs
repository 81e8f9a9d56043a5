//! A record of what NVML answered, for a bug report.
//!
//! JSON lines. The first tells what was asked once:
//! `{"nvml_trace": 1, "system": {call: answer}, "devices": [{"gpu": 0, "mig":
//! null, "answers": {call: answer}}]}`. Every other one is a sample: `{"at":
//! seconds, "system": {…}, "devices": {position: {call: answer}}}`. An answer
//! is NVML's value in NVML's unit, or `{"error": code}`. A call that a sample does
//! not name answers as in the last one that names it; lists of samples and XID
//! errors belong to their sample alone.

use super::calls;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

/// Version of the format.
const VERSION: u32 = 1;

/// Answers of one device, or of the driver, in one sample.
pub(super) type Answers = BTreeMap<&'static str, Value>;

/// Writes a trace.
pub(super) struct Recorder {
    /// Or why the trace ends before the run does.
    out: Result<Box<dyn Write + Send>, String>,
    /// What each device last answered; the driver's own answers come first.
    last: Vec<Answers>,
}

impl Recorder {
    /// A recorder that wrote the first line.
    pub(super) fn begin(
        out: Box<dyn Write + Send>,
        system: Answers,
        devices: Vec<(u16, Option<u16>, Answers)>,
    ) -> Self {
        let mut recorder = Self { out: Ok(out), last: Vec::new() };
        let rows: Vec<Value> = devices
            .iter()
            .map(|(gpu, mig, answers)| json!({ "gpu": gpu, "mig": mig, "answers": answers }))
            .collect();
        recorder.write(&json!({ "nvml_trace": VERSION, "system": system, "devices": rows }));
        recorder.last.push(system);
        recorder.last.extend(devices.into_iter().map(|(_, _, answers)| answers));
        recorder
    }

    pub(super) fn sample(&mut self, at: Duration, system: Answers, devices: Vec<Answers>) {
        if self.out.is_err() {
            return;
        }
        let mut changes = self
            .last
            .iter_mut()
            .zip(std::iter::once(system).chain(devices))
            .map(|(last, answers)| changes(last, answers));
        let system = changes.next().unwrap_or_default();
        let devices: Map<String, Value> = changes
            .enumerate()
            .filter(|(_, changes)| !changes.is_empty())
            .map(|(position, changes)| (position.to_string(), changes.into()))
            .collect();
        let mut line = Map::new();
        line.insert("at".to_owned(), at.as_secs_f64().into());
        if !system.is_empty() {
            line.insert("system".to_owned(), system.into());
        }
        line.insert("devices".to_owned(), devices.into());
        self.write(&line.into());
    }

    /// Why the trace ends before the run does, if it does.
    pub(super) fn failure(&self) -> Option<&str> {
        self.out.as_ref().err().map(String::as_str)
    }

    /// Writes a line and hands it to the system, so that a killed run loses at
    /// most the sample it was in. After a failure nothing more is written.
    fn write(&mut self, line: &Value) {
        let Ok(out) = &mut self.out else { return };
        if let Err(error) = write_line(out, line) {
            self.out = Err(error.to_string());
        }
    }
}

fn write_line(out: &mut impl Write, line: &Value) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    out.write_all(&text)?;
    out.flush()
}

/// The answers that differ from the last ones, which they become.
fn changes(last: &mut Answers, answers: Answers) -> Map<String, Value> {
    let mut changes = Map::new();
    for (call, answer) in answers {
        if call == calls::SAMPLES.name || call == calls::EVENTS.name {
            if answer.as_array().is_none_or(|list| !list.is_empty()) {
                changes.insert(call.to_owned(), answer);
            }
        } else if last.get(call) != Some(&answer) {
            last.insert(call, answer.clone());
            changes.insert(call.to_owned(), answer);
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("not poisoned").write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_sample_holds_what_changed_and_every_list_of_samples() {
        let out = Shared::default();
        let power = calls::POWER.name;
        let samples = calls::SAMPLES.name;
        let device = Answers::from([(power, json!(70_000))]);
        let mut recorder = Recorder::begin(
            Box::new(out.clone()),
            Answers::from([(calls::DEVICE_COUNT, json!(1))]),
            vec![(0, None, device.clone())],
        );
        let count = || Answers::from([(calls::DEVICE_COUNT, json!(1))]);
        recorder.sample(Duration::from_secs(1), count(), vec![device]);
        let list = json!([[5, 40.0]]);
        let changed = Answers::from([(power, json!({ "error": 15 })), (samples, list)]);
        recorder.sample(Duration::from_secs(2), count(), vec![changed.clone()]);
        recorder.sample(Duration::from_secs(3), count(), vec![changed]);
        let text = String::from_utf8(out.0.lock().expect("not poisoned").clone()).expect("UTF-8");
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[0]["devices"][0]["answers"][power], json!(70_000));
        assert_eq!(lines[1], json!({ "at": 1.0, "devices": {} }));
        assert_eq!(lines[2]["devices"]["0"][power], json!({ "error": 15 }));
        assert_eq!(lines[3], json!({ "at": 3.0, "devices": { "0": { samples: [[5, 40.0]] } } }));
        assert_eq!(recorder.failure(), None);
    }

    #[test]
    fn a_full_disk_ends_the_trace_and_nothing_else() {
        let mut recorder = Recorder::begin(Box::new(Full), Answers::new(), Vec::new());
        recorder.sample(Duration::from_secs(1), Answers::new(), Vec::new());
        assert!(recorder.failure().is_some());
    }
}
