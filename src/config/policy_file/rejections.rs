//! The rejected actions of a policy file.

use super::super::reader::{Reader, did_you_mean};
use super::keys_of;
use crate::analysis::gate::GatePolicy;
use crate::domain::{ActionKind, RejectedAction};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

impl Reader<'_> {
    pub(super) fn reject(&mut self, table: &DeTable<'_>, line: usize, policy: &mut GatePolicy) {
        let (mut workload, mut action, mut reason) = (None, None, None);
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "workload" => workload = Some(self.string(value)),
                "action" => action = Some(self.action(value)),
                "reason" => reason = Some(self.string(value)),
                unknown => self.unknown(key.span(), unknown, keys_of("reject")),
            }
        }
        for (name, is_missing) in [
            ("workload", workload.is_none()),
            ("action", action.is_none()),
            ("reason", reason.is_none()),
        ] {
            if is_missing {
                self.at(line, &format!("`{name}` is missing from this [[reject]]"));
            }
        }
        if let (Some(workload), Some(action), Some(reason)) =
            (workload.flatten(), action.flatten(), reason.flatten())
        {
            policy.rejected.push(RejectedAction {
                workload,
                action,
                reason,
            });
        }
    }

    /// A kind of action by its name.
    fn action(&mut self, value: &Spanned<DeValue<'_>>) -> Option<ActionKind> {
        let name = self.string(value)?;
        let action = ActionKind::from_name(&name);
        if action.is_none() {
            let known = || ActionKind::ALL.iter().map(|kind| kind.name());
            let meant = did_you_mean(&name, known());
            let known: Vec<&str> = known().collect();
            let message = format!(
                "`{name}` is not an action{meant}; valid values: {}",
                known.join(", ")
            );
            self.problem(value.span(), message);
        }
        action
    }
}
