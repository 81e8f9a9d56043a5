//! The actions that are asked for, each with how it is carried out, and with what it means for a
//! Terraform configuration that manages the same resources: a plan names a resource and its
//! values, and not the file and the line.

use super::checks::account;
use super::procedure::{Procedure, Step, step};
use super::{groups, kubernetes, machines, purchase, schedule, share};
use crate::analysis::{Audit, Fix, FixTarget, GROUP_RESOURCE, WorkloadFix};
use crate::domain::{ActionKind, Money, PlannedResource, Provider, Risk, WorkloadKind, counted};
use crate::report::doc::Printed;
use crate::report::shared::text::{joined, money};
use crate::report::shared::view::sum;
use crate::savings::{GroupSizes, SavingsTarget};
use jiff::Timestamp;
use std::collections::BTreeSet;

/// Actions with how each is carried out, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct FixPlan<'a> {
    pub(super) as_of: Timestamp,
    /// The risk at which the plan was made.
    pub(super) risk: Risk,
    pub(super) target: Option<SavingsTarget>,
    pub(super) items: Vec<FixItem<'a>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct FixItem<'a> {
    /// Its place, from 1.
    pub(super) number: usize,
    pub(super) fix: Fix<'a>,
    pub(super) procedure: Procedure,
    /// Why a person carries it out; absent where a script does.
    pub(super) why_manual: Option<&'static str>,
}

impl<'a> FixPlan<'a> {
    pub fn of(audit: &Audit, fixes: Vec<Fix<'a>>) -> Self {
        let mut manual: BTreeSet<String> = BTreeSet::new();
        let items = fixes.into_iter().enumerate().map(|(index, fix)| {
            let mut procedure = procedure(&fix, audit.as_of);
            let workloads = fix.workloads();
            let why_manual = if matches!(fix.kind, ActionKind::Release | ActionKind::Commit) {
                Some("what it changes cannot be undone")
            } else if interrupts_training(&fix) {
                Some("its machines train: whoever owns the run changes them between two runs")
            } else if workloads.iter().any(|id| manual.contains(id)) {
                Some("an action before it on the same workload is manual")
            } else {
                procedure.why_manual()
            };
            if why_manual.is_some() {
                manual.extend(workloads);
                procedure = procedure.without_script();
            }
            FixItem { number: index + 1, fix, procedure, why_manual }
        });
        let Audit { as_of, plan_risk: risk, target, .. } = *audit;
        Self { as_of, risk, target, items: items.collect() }
    }

    /// How many actions of the plan these are, and in how many steps: a purchase is one step
    /// for the actions of all workloads that it is for.
    pub(super) fn number(&self) -> String {
        let mut of_workloads: BTreeSet<(ActionKind, String)> = BTreeSet::new();
        let mut others = 0;
        for item in &self.items {
            let workloads = item.fix.workloads();
            others += usize::from(workloads.is_empty());
            of_workloads.extend(workloads.into_iter().map(|id| (item.fix.kind, id)));
        }
        let (actions, items) = (of_workloads.len() + others, self.items.len());
        let steps = (actions != items).then(|| format!(" in {}", counted(items, "step", "steps")));
        counted(actions, "action", "actions") + &steps.unwrap_or_default()
    }

    /// What all of them save per month.
    pub(super) fn monthly_savings(&self) -> Option<Money> {
        sum(self.items.iter().map(|item| Some(item.fix.monthly_savings)))
    }
}

impl FixItem<'_> {
    /// Who carries it out.
    pub(super) fn by(&self) -> &'static str {
        if self.why_manual.is_some() { "manual" } else { "script" }
    }

    /// Whether it saves less where data is kept: snapshots of volumes are billed, and the
    /// saving is not net of them, because their price is not known.
    pub(super) fn saves_at_most(&self) -> bool {
        let FixTarget::Workload(target) = &self.fix.target else { return false };
        self.fix.kind == ActionKind::Release
            && target.audited.actions.iter().any(|action| {
                action.kind() == ActionKind::Release && action.certain() != action.monthly_savings()
            })
    }

    /// What it saves, such as `$7,659.63`, or `up to $52.80` before snapshots of unknown price.
    pub(super) fn saved(&self) -> String {
        let amount = money(self.fix.monthly_savings);
        if self.saves_at_most() { format!("up to {amount}") } else { amount }
    }

    /// Such as `1. stop llm-poc-old: $7,659.63 per month`.
    pub(super) fn heading(&self) -> String {
        let (number, fix) = (self.number, &self.fix);
        format!("{number}. {} {}: {} per month", fix.kind, fix.name(), self.saved())
    }

    /// What the audit recommends beside the steps.
    pub(super) fn advice(&self) -> Vec<&String> {
        let steps = &self.procedure.steps;
        let is_step = |advice: &String| steps.iter().any(|step| step.about == *advice);
        self.fix.advice.iter().filter(|advice| !is_step(advice)).collect()
    }

    /// Where it leads, such as `8 × g6e.4xlarge`; absent when nowhere.
    pub(super) fn to(&self) -> Option<String> {
        match &self.fix.target {
            FixTarget::Workload(target) => Some(target.to?.to_string()),
            FixTarget::Reservation(_) => None,
            FixTarget::Scope(change) => Some(change.region.clone()),
            FixTarget::Purchase(purchase) => {
                Some(format!("{} × {}", purchase.count, purchase.term.name))
            }
        }
    }

    /// The account and the region, as far as they are known.
    pub(super) fn place(&self) -> (Option<&str>, Option<&str>) {
        let (account, region) = match &self.fix.target {
            FixTarget::Workload(target) => {
                let key = &target.audited.workload.key;
                (Some(&key.account), Some(&key.region))
            }
            FixTarget::Reservation(reservation) => (None, reservation.row.region.as_ref()),
            FixTarget::Scope(change) => (None, Some(&change.region)),
            FixTarget::Purchase(purchase) => {
                (purchase.account.as_ref(), Some(&purchase.key.region))
            }
        };
        let known = |name: &&str| !name.is_empty();
        let [account, region] = [account, region].map(|name| name.map(String::as_str));
        (account.filter(known), region.filter(known))
    }
}

/// Whether an action stops or replaces machines that train. How much of a run that loses, and
/// whether it goes on by itself, only its owner knows; a wrong guess costs days of all machines.
fn interrupts_training(fix: &Fix<'_>) -> bool {
    let FixTarget::Workload(target) = &fix.target else { return false };
    let interrupts = matches!(fix.kind, ActionKind::Rightsize | ActionKind::Spot);
    interrupts && target.audited.workload.kind == WorkloadKind::Training
}

fn procedure(fix: &Fix<'_>, as_of: Timestamp) -> Procedure {
    let procedure = match &fix.target {
        FixTarget::Workload(target) => on_workload(fix.kind, target, as_of),
        FixTarget::Reservation(reservation) => purchase::cancel(reservation),
        FixTarget::Scope(change) => Some(purchase::rescope(change)),
        FixTarget::Purchase(purchase) => purchase::buy(purchase),
    };
    let mut procedure = procedure.unwrap_or_else(|| manual(fix));
    if let FixTarget::Workload(target) = &fix.target {
        if fix.kind == ActionKind::Rightsize {
            kubernetes::moved(target, &mut procedure);
        }
        managed(fix.kind, target, &mut procedure);
        if !target.before.is_empty() {
            let kinds = joined(target.before.iter().map(|kind| kind.name()), ", ");
            procedure.before.insert(0, step! { manual "carry out {kinds} of this workload first: what this saves starts from what it leaves" });
        }
    }
    procedure.watch = words_of(fix.kind).1.map(Step::manual).into();
    procedure.checked()
}

/// The commands of an action on a workload; absent where a person has to decide something.
fn on_workload(kind: ActionKind, fix: &WorkloadFix<'_>, as_of: Timestamp) -> Option<Procedure> {
    if fix.audited.workload.key.provider != Provider::Aws {
        return None;
    }
    let is_grouped = fix.group.is_some();
    match kind {
        // Those who hold GPUs are moved by their owners: the advice names them.
        ActionKind::Stop if fix.is_held => None,
        ActionKind::Stop if is_grouped => groups::stop(fix, as_of),
        ActionKind::Stop => machines::stop(fix, as_of).or_else(|| kubernetes::stop(fix, as_of)),
        // A group may keep them for itself.
        ActionKind::Release if is_grouped => None,
        ActionKind::Release => machines::release(fix, as_of),
        ActionKind::Schedule if is_grouped => groups::schedule(fix),
        ActionKind::Schedule => schedule::alone(fix),
        ActionKind::Rightsize if is_grouped => groups::resize(fix),
        ActionKind::Rightsize => machines::resize(fix, as_of),
        ActionKind::Share => share::share(fix),
        ActionKind::Spot if is_grouped => groups::spot(fix),
        ActionKind::Spot => Some(machines::on_spot(fix)),
        ActionKind::Commit => None,
    }
}

/// What a person does: the steps that the recommendation has.
fn manual(fix: &Fix<'_>) -> Procedure {
    let mut before = Vec::new();
    if let FixTarget::Workload(target) = &fix.target
        && target.audited.workload.key.provider == Provider::Aws
    {
        before.push(account(&target.audited.workload.key.account));
    }
    before.push(Step::manual("run the audit again, and check that its plan still has this action"));
    let mut steps: Vec<Step> = fix.advice.iter().map(Step::manual).collect();
    if steps.is_empty() {
        steps.push(Step::manual(&fix.detail));
        steps.extend(fix.caveats.iter().map(Step::manual));
    }
    let back = vec![Step::manual(words_of(fix.kind).0)];
    Procedure { before, steps, back, ..Procedure::default() }
}

/// A row for each kind of action: the way back from what a person did, then what to watch after
/// it, and for how long.
macro_rules! words_of {
    ($($kind:ident: $back:literal, $watch:literal, $money:literal;)*) => {
        fn words_of(kind: ActionKind) -> (&'static str, [&'static str; 2]) {
            match kind {
                $(ActionKind::$kind => ($back, [$watch, $money]),)*
            }
        }
    };
}
words_of! {
    Stop: "start the instances again, or set the sizes of their group to what they were", "7 days: requests and jobs that fail because an instance is missing", "2 days: the cost of the instances in the bill, which falls to that of their volumes";
    Release: "restore volumes from their snapshots, and capacity as far as there is any", "7 days: requests for data of the volumes; the image brings them back", "2 days: the cost of the volumes in the bill, which ends but for the snapshots";
    Schedule: "remove the schedule, and start what is off", "14 days: every start, which can fail with insufficient capacity", "14 days: requests and jobs in the hours off";
    Rightsize: "set the type and the number of today again", "7 days: GPU utilization at most 80% on average and VRAM below 85% at its peak", "7 days: latency at p95, or the duration of jobs, compared with the week before";
    Share: "give each tenant a GPU of its own again", "7 days: latency at p95 of every tenant, compared with the week before", "7 days: memory and activity of each slice (DCGM_FI_DEV_FB_USED, DCGM_FI_PROF_GR_ENGINE_ACTIVE)";
    Spot: "buy on demand again", "14 days: interruptions per day and instance, of which the plan counts with one", "14 days: work that is lost between checkpoints";
    Commit: "nothing ends a commitment before its term does", "30 days: the utilization of the commitment, which is to stay near 100%", "until it ends: its expiry, 60 days ahead";
}

/// Adds what the configuration needs, and leaves to Terraform what it would set back.
pub(super) fn managed(kind: ActionKind, fix: &WorkloadFix<'_>, procedure: &mut Procedure) {
    if fix.planned.is_empty() {
        return;
    }
    let named = joined(fix.planned.iter().map(|planned| planned.address.as_str()), ", ");
    let (groups, machines): (Vec<&PlannedResource>, Vec<&PlannedResource>) =
        fix.planned.iter().copied().partition(|resource| resource.resource_type == GROUP_RESOURCE);
    match kind {
        ActionKind::Rightsize if !machines.is_empty() => {
            let files = machines.into_iter().filter_map(|resource| another_type(fix, resource));
            procedure.files.extend(files);
            procedure.steps = vec![
                step! { manual "change the configuration of {named} as the files below say, and apply it: Terraform stops each instance, changes its type and starts it" },
            ];
            procedure.back = vec![Step::manual("revert the change, and apply again")];
            return;
        }
        ActionKind::Stop if groups.is_empty() => {
            procedure.before.push(step! { manual "Terraform manages {named} and leaves instances stopped: remove the resource from the configuration before an instance is terminated" });
        }
        ActionKind::Release | ActionKind::Spot if groups.is_empty() => {
            procedure.before.push(step! { manual "Terraform manages {named}: make the same change in its configuration, otherwise the next apply reverts it" });
        }
        _ => {}
    }
    for resource in groups {
        procedure.files.extend(of_group(kind, fix, resource));
        let address = &resource.address;
        procedure.before.push(step! { manual "Terraform manages {address}: merge the change of its configuration together with these steps, otherwise the next apply reverts them" });
    }
}

fn another_type(fix: &WorkloadFix<'_>, resource: &PlannedResource) -> Option<Printed> {
    let (old, new) = (fix.instance_type, &fix.to?.instance_type);
    let (address, old, new) = (&resource.address, quoted(old), quoted(new));
    let change = resource.type_reference.as_ref().map_or_else(
        || format!("@@ {address} @@\n-  instance_type = {old}\n+  instance_type = {new}\n"),
        |name| format!("@@ {name}, the instance_type of {address} @@\n-  {old}\n+  {new}\n"),
    );
    Some(file(resource, &change))
}

fn of_group(
    kind: ActionKind,
    fix: &WorkloadFix<'_>,
    resource: &PlannedResource,
) -> Option<Printed> {
    let (begins, ends) = fix.group?.sizes?;
    let mut text = format!("@@ {} @@\n", resource.address);
    if kind == ActionKind::Schedule {
        text.push_str("+  lifecycle {\n+    ignore_changes = [min_size, desired_capacity]\n+  }\n");
        return Some(file(resource, &text));
    }
    (begins != ends).then(|| {
        for (sign, GroupSizes { desired, min }) in [("-", begins), ("+", ends)] {
            text.push_str(&format!(
                "{sign}  min_size         = {min}\n{sign}  desired_capacity = {desired}\n"
            ));
        }
        file(resource, &text)
    })
}

fn file(resource: &PlannedResource, change: &str) -> Printed {
    let purpose = "in the file that holds the resource, which a plan does not name";
    let text = format!("--- a configuration\n+++ b configuration\n{change}");
    Printed::new(format!("{}.diff", resource.address), purpose, text)
}

/// A text as Terraform writes it: templates in it are none.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace("${", "$${").replace("%{", "%%{")
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn no_text_is_a_template() {
        assert_eq!(quoted("g5.xlarge"), "\"g5.xlarge\"");
        assert_eq!(quoted("${file(\"x\")}%{if}"), "\"$${file(\\\"x\\\")}%%{if}\"");
    }
}
