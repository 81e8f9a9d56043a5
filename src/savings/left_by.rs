//! What the actions of a plan leave of a workload.

use super::offers::{Alternatives, Stage};
use crate::domain::{Action, ActionKind};

impl Alternatives {
    /// How a workload runs after these actions of its plan, whatever then pays for its hours;
    /// absent where nothing of it goes on, or nothing of it may be moved.
    pub fn left_by(&self, actions: &[Action]) -> Option<Stage> {
        let today = self.today.as_ref()?;
        let is_scheduled = actions.iter().any(|action| action.kind() == ActionKind::Schedule);
        let schedule = self.schedule.as_ref().filter(|_| is_scheduled);
        let hours = schedule.map(|offer| &offer.hours);
        let mut resizes = self.resizes.iter();
        let resized = resizes.find(|offer| actions.iter().any(|action| offer.leads_to(action)));
        Some(match (resized, hours) {
            (Some(offer), hours) => offer.stage(hours),
            (None, Some(hours)) => today.in_share(hours.on_share),
            (None, None) => today.clone(),
        })
    }
}
