//! XID errors, as the driver tells them.

use super::calls;
use super::probe::Probe;
use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, EventSet, Nvml};

/// XID errors that one sample takes at most: a GPU that reports without end must
/// not keep the sampler.
const MOST_PER_LOOK: usize = 64;
/// What NVML says for an XID error that it does not know.
const UNKNOWN_XID: u64 = 999;

/// XID errors of one GPU. A set of its own for each GPU tells them apart, and a
/// GPU that refuses does not spoil it for the others.
#[derive(Debug)]
pub(super) struct Events(Option<EventSet<'static>>);

impl Events {
    pub(super) const NONE: Self = Self(None);

    /// Asks to be told the XID errors of a GPU from now on.
    pub(super) fn of(nvml: &'static Nvml, device: &Device<'static>, probe: &mut Probe) -> Self {
        if !probe.may_ask(calls::REGISTER_EVENTS) {
            return Self::NONE;
        }
        let registered = nvml.create_event_set().and_then(|set| {
            device.register_events(EventTypes::CRITICAL_XID_ERROR, set).map_err(|e| e.error)
        });
        let (answer, set) = match registered {
            Ok(set) => (Ok(true), Some(set)),
            Err(error) => (Err(error), None),
        };
        probe.heard(calls::REGISTER_EVENTS, answer);
        Self(set)
    }

    /// What came since the last sample, in order; never waits.
    pub(super) fn take(&self, probe: &mut Probe) -> Vec<u64> {
        let mut xids = Vec::new();
        let Some(set) = &self.0 else { return xids };
        while xids.len() < MOST_PER_LOOK && probe.may_ask(calls::EVENTS) {
            match set.wait(0) {
                Ok(event) => xids.extend(event.event_data.map(|xid| match xid {
                    XidError::Value(xid) => xid,
                    XidError::Unknown => UNKNOWN_XID,
                })),
                Err(NvmlError::Timeout) => break,
                Err(error) => {
                    probe.heard::<()>(calls::EVENTS, Err(error));
                    break;
                }
            }
        }
        if !xids.is_empty() {
            probe.note(calls::EVENTS, &xids);
        }
        xids
    }
}
