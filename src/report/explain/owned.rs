//! What a commitment of the account costs, and how far it is used.

use super::page::{Page, figure, share};
use crate::domain::{Policy, counted};
use crate::report::shared::text::money;
use crate::savings::{CommitmentUse, UnusedCommitment};
use crate::usage::Estate;
use rust_decimal::Decimal;

/// The derivation of a reserved instance or savings plan of the estate, from how
/// it is used, in lines of so many columns. `None` when the estate has none of this id.
pub fn commitment_explanation(
    estate: &Estate,
    used: &CommitmentUse,
    policy: &Policy,
    width: usize,
) -> Option<String> {
    let mut page = Page::new(width);
    page.heading(&format!("commitment {}", used.id));
    let owned = &estate.commitments;
    let month = policy.hours_per_month;
    if let Some(one) = owned
        .reserved_instances
        .iter()
        .find(|one| one.id == used.id)
    {
        page.line(&format!(
            "{} × {} in {}, {}, {}, {}, {}",
            one.count,
            one.instance_type,
            one.zone.as_ref().unwrap_or(&one.region),
            one.operating_system,
            one.tenancy,
            one.class,
            one.payment
        ));
        page.line(&format!("{} to {}", one.start, one.end));
        let hourly = one.effective_hourly();
        page.line(&format!(
            "{} / {} + {} = {}/h, used or not",
            one.upfront.normalize(),
            one.term_hours(),
            one.recurring_hourly.normalize(),
            figure(hourly, 6)
        ));
        page.line(&format!(
            "{} × {}/h × {month} h = {} per month",
            one.count,
            figure(hourly, 10),
            figure(hourly * Decimal::from(one.count) * month, 6)
        ));
    } else {
        let one = owned.savings_plans.iter().find(|one| one.id == used.id)?;
        page.line(&used.name);
        page.line(&format!("{} to {}", one.start, one.end));
        page.line(&format!(
            "{}/h × {month} h = {} per month, used or not",
            one.commitment_hourly.normalize(),
            figure(one.commitment_hourly * month, 6)
        ));
    }
    page.line(&format!("{} per month, rounded", money(used.monthly_cost)));
    page.line(&format!(
        "covers {} of {} eligible running hours",
        figure(used.covered_hours, 4),
        figure(used.eligible_hours, 4)
    ));
    match used.utilization {
        Some(utilization) => page.line(&format!("used {}", share(utilization))),
        None => page.line("its term does not overlap the window"),
    }
    if let Some(unused) = used.unused_monthly {
        page.line(&format!("{} per month unused", money(unused)));
    }
    page.line(&format!(
        "{} until expiration",
        counted(used.days_to_expiry, "day", "days")
    ));
    Some(page.into_text())
}

impl Page {
    /// What of a commitment is paid for and does not run, and what the plan does with it.
    pub(super) fn unused(&mut self, one: &UnusedCommitment) {
        self.heading(&format!("{} {}", one.kind, one.id));
        self.line(&format!("unused: {}", one.name));
        if let Some(account) = &one.account {
            self.line(&format!("account {account}"));
        }
        self.line(&one.detail);
        match one.monthly_cost {
            Some(cost) => self.line(&format!("{} per month, rounded", money(cost))),
            None => self.line("unpriced"),
        }
        if let Some(until) = one.committed_until {
            self.line(&format!("committed until {until} in any case"));
        }
        for action in &one.actions {
            self.step(action);
        }
        if let Some(planned) = one.planned_monthly_cost() {
            self.line(&format!("= {} after the plan", money(planned)));
        }
    }
}
