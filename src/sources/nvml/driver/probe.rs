//! Asking one device: what it does not support is remembered, what says that
//! it is gone ends the sample, and every answer can be recorded.

use super::calls::Call;
use crate::domain::DriverMetric;
use nvml_wrapper::error::NvmlError;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Why a call is not made again; of several the first tells most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Refusal {
    NoPermission,
    NotSupported,
    /// The library has no such call.
    TooOld,
}

impl Refusal {
    fn of(error: &NvmlError) -> Option<Self> {
        match error {
            NvmlError::NotSupported | NvmlError::VgpuEccNotSupported => Some(Self::NotSupported),
            NvmlError::FunctionNotFound | NvmlError::FailedToLoadSymbol(_) => Some(Self::TooOld),
            NvmlError::NoPermission => Some(Self::NoPermission),
            _ => None,
        }
    }
}

/// What an error says about the device as a whole, when it says that there is
/// no point in asking it for more.
fn loss_of(error: &NvmlError) -> Option<&'static str> {
    match error {
        NvmlError::GpuLost => Some("the GPU fell off the bus or cannot be reached"),
        NvmlError::ResetRequired => Some("the GPU needs a reset"),
        NvmlError::Uninitialized | NvmlError::DriverNotLoaded => {
            Some("the NVIDIA driver is no longer loaded")
        }
        NvmlError::LibRmVersionMismatch => Some("the NVIDIA driver was replaced"),
        NvmlError::IrqIssue => Some("the kernel reports an interrupt problem with the GPU"),
        _ => None,
    }
}

/// Why a device or a driver does not answer, in words.
pub(super) fn reason_of(error: &NvmlError) -> String {
    loss_of(error).map_or_else(|| format!("NVML error: {error}"), str::to_owned)
}

/// An error as traces hold it: NVML's code.
pub(super) fn recorded_error(error: NvmlError) -> Value {
    let error = match error {
        NvmlError::FailedToLoadSymbol(_) => NvmlError::FunctionNotFound,
        error => error,
    };
    json!({ "error": u32::from(error) })
}

/// Asks one device.
#[derive(Debug, Default)]
pub(super) struct Probe {
    /// Calls that are not made again.
    refused: BTreeMap<Call, Refusal>,
    /// Metrics that were told at least once.
    pub(super) reported: BTreeSet<DriverMetric>,
    /// Why the device is gone, since this sample.
    loss: Option<String>,
    /// Why a call of this sample failed without more being known.
    failure: Option<String>,
    /// Whether a call of this sample was answered.
    has_answered: bool,
    /// What the calls of this sample answered, when that is recorded.
    answers: Option<BTreeMap<&'static str, Value>>,
}

impl Probe {
    /// A probe that keeps what is answered, or not.
    pub(super) fn new(is_recorded: bool) -> Self {
        Self { answers: is_recorded.then(BTreeMap::new), ..Self::default() }
    }

    /// Begins a sample.
    pub(super) fn begin(&mut self) {
        self.loss = None;
        self.failure = None;
        self.has_answered = false;
    }

    /// Why the device is lost, after a sample: it says so, or it answers nothing.
    pub(super) fn loss(&self) -> Option<&str> {
        self.loss.as_deref().or(self.failure.as_deref().filter(|_| !self.has_answered))
    }

    /// Makes a call unless it was refused before or the device is gone; absent
    /// when it does not answer. What `answer` gives is recorded as it is.
    pub(super) fn ask<T: Serialize>(
        &mut self,
        call: Call,
        answer: impl FnOnce() -> Result<T, NvmlError>,
    ) -> Option<T> {
        if !self.may_ask(call) {
            return None;
        }
        self.heard(call, answer())
    }

    pub(super) fn may_ask(&self, call: Call) -> bool {
        self.loss.is_none() && !self.refused.contains_key(&call)
    }

    /// Takes note of an answer.
    pub(super) fn heard<T: Serialize>(
        &mut self,
        call: Call,
        answer: Result<T, NvmlError>,
    ) -> Option<T> {
        let answer = answer.inspect(|value| self.note(call, value));
        answer.map_err(|error| self.failed(call, error)).ok()
    }

    /// Takes note of an answer that came in several calls.
    pub(super) fn note<T: Serialize>(&mut self, call: Call, value: &T) {
        self.has_answered = true;
        self.reported.extend(call.metric);
        if let Some(answers) = &mut self.answers {
            answers.insert(call.name, serde_json::to_value(value).unwrap_or(Value::Null));
        }
    }

    /// Not to be asked again, without an error from the driver.
    pub(super) fn refuse(&mut self, call: Call, refusal: Refusal) {
        if let Some(metric) = call.metric {
            self.reported.remove(&metric);
        }
        self.refused.insert(call, refusal);
    }

    fn failed(&mut self, call: Call, error: NvmlError) {
        if let Some(refusal) = Refusal::of(&error) {
            self.has_answered |= refusal == Refusal::NotSupported;
            self.refused.insert(call, refusal);
        } else if let Some(loss) = loss_of(&error) {
            self.loss = Some(loss.to_owned());
        } else {
            self.failure = Some(reason_of(&error));
        }
        self.record(call.name, recorded_error(error));
    }

    /// Records an answer about the device that is not this probe's to judge.
    pub(super) fn record(&mut self, name: &'static str, answer: Value) {
        if let Some(answers) = &mut self.answers {
            answers.insert(name, answer);
        }
    }

    /// Why a call is not made again, if it is not.
    pub(super) fn refusal(&self, call: Call) -> Option<Refusal> {
        self.refused.get(&call).copied()
    }

    /// The metric of each call that was refused, and why.
    pub(super) fn refusals(&self) -> impl Iterator<Item = (DriverMetric, Refusal)> {
        self.refused.iter().filter_map(|(call, refusal)| Some((call.metric?, *refusal)))
    }

    /// Hands over what was answered since the last time.
    pub(super) fn take_answers(&mut self) -> BTreeMap<&'static str, Value> {
        self.answers.as_mut().map(std::mem::take).unwrap_or_default()
    }
}
