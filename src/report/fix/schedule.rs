//! Hours off: scheduled actions of Auto Scaling groups, and EventBridge Scheduler for
//! instances alone.

use super::checks::{MOST_IDS, erased_store, ids, instances, on_instances};
use super::kubernetes;
use super::procedure::{Procedure, Step, step, steps};
use crate::analysis::{MemberFix, WorkloadFix};
use crate::domain::{PurchaseOption, partition};
use crate::savings::{GroupSizes, Scheduling};
use serde_json::json;

const DAYS: [&str; 7] = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"];

/// The beginning or the end of hours off.
pub(super) struct Edge<'a> {
    /// Which of the windows it is of, from 1.
    number: usize,
    pub(super) is_off: bool,
    /// Hour of the week, from 0 on Monday at midnight.
    hour: usize,
    pub(super) zone: &'a str,
}

/// Every edge of a schedule: those that start instances first, so that one that fails leaves
/// none that only stops.
pub(super) fn edges(scheduling: &Scheduling) -> Vec<Edge<'_>> {
    let edges = scheduling.schedule.windows.iter().enumerate().flat_map(|(index, window)| {
        let edge =
            |is_off, hour| Edge { number: index + 1, is_off, hour, zone: &scheduling.zone_name };
        [edge(true, window.first_hour), edge(false, window.first_hour + window.hours)]
    });
    let (off, on): (Vec<Edge<'_>>, Vec<Edge<'_>>) = edges.partition(|edge| edge.is_off);
    on.into_iter().chain(off).collect()
}

impl Edge<'_> {
    fn day(&self) -> usize {
        self.hour / 24 % DAYS.len()
    }

    /// Names the scheduled action.
    pub(super) fn name(&self) -> String {
        let what = if self.is_off { "off" } else { "on" };
        format!("gpucost-{what}-{}", self.number)
    }

    pub(super) fn about(&self) -> String {
        let what = if self.is_off { "off" } else { "on" };
        format!("{what} on {} at {:02}:00, {}", DAYS[self.day()], self.hour % 24, self.zone)
    }

    /// As Auto Scaling writes it: Sunday is 0.
    pub(super) fn recurrence(&self) -> String {
        format!("0 {} * * {}", self.hour % 24, (self.day() + 1) % DAYS.len())
    }

    /// As EventBridge Scheduler writes it.
    fn expression(&self) -> String {
        format!("cron(0 {} ? * {} *)", self.hour % 24, DAYS[self.day()])
    }

    /// What a group has from it on: no instances in the hours off.
    pub(super) fn sizes(&self, on: GroupSizes) -> GroupSizes {
        if self.is_off { GroupSizes { desired: 0, min: 0 } } else { on }
    }
}

/// Stops and starts instances alone; absent where a person has to.
pub(super) fn alone(fix: &WorkloadFix<'_>) -> Option<Procedure> {
    let workload = &*fix.audited.workload;
    let key = &workload.key;
    let schedule = fix.audited.proposals.schedule()?;
    let first = fix.members.first()?;
    let is_spot = key.purchase_option == PurchaseOption::Spot;
    if key.account.is_empty() || is_spot || kubernetes::are_replaced(fix) {
        return None;
    }
    let region = &key.region;
    let mut procedure = on_instances(fix, "running");
    procedure
        .before
        .push(step! { manual "check that the work begins by itself when an instance starts" });
    procedure.before.extend(erased_store(workload));
    // What makes names its own: the first instance.
    let id = first.member.id.native().chars();
    let suffix: String = id.filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(30).collect();
    let role = format!("gpucost-schedule-{suffix}");
    create(fix, &role, &mut procedure.steps);
    for edge in edges(schedule) {
        for (part, some) in fix.members.chunks(MOST_IDS).enumerate() {
            let name = format!("{}-{}-{suffix}", edge.name(), part + 1);
            procedure.steps.push(scheduled(fix, &role, (&edge, &name), some));
            procedure.back.push(step! { run "delete the schedule", "aws scheduler delete-schedule --region {} --name {}", region, name });
        }
    }
    for some in fix.members.chunks(MOST_IDS) {
        procedure.back.push(step! { run "start them, if they are off", "aws ec2 start-instances --region {} --instance-ids {}", region, ids(some) });
    }
    steps! { procedure.back;
        run "delete what the role may do", "aws iam delete-role-policy --role-name {} --policy-name start-and-stop", role;
        run "delete the role", "aws iam delete-role --role-name {}", role;
    }
    Some(procedure)
}

/// Creates what EventBridge Scheduler acts as: it may start and stop these instances, nothing else.
fn create(fix: &WorkloadFix<'_>, role: &str, list: &mut Vec<Step>) {
    let key = &fix.audited.workload.key;
    let (region, account) = (&key.region, &key.account);
    let arn = |id| format!("arn:{}:ec2:{region}:{account}:instance/{id}", partition(region));
    let resources: Vec<String> = ids(&fix.members).into_iter().map(arn).collect();
    let trust = json!({
        "Version": "2012-10-17",
        "Statement": [{
            "Effect": "Allow",
            "Principal": {"Service": "scheduler.amazonaws.com"},
            "Action": "sts:AssumeRole",
            "Condition": {"StringEquals": {"aws:SourceAccount": account}},
        }],
    });
    let rights = json!({
        "Version": "2012-10-17",
        "Statement": [{
            "Effect": "Allow",
            "Action": ["ec2:StartInstances", "ec2:StopInstances"],
            "Resource": resources,
        }],
    });
    steps! { list;
        run "a role for EventBridge Scheduler", "aws iam create-role --role-name {} --assume-role-policy-document {}", role, trust;
        run "it may start and stop these instances, nothing else", "aws iam put-role-policy --role-name {} --policy-name start-and-stop --policy-document {}", role, rights;
        run "wait until IAM knows it everywhere", "sleep 20";
    }
}

fn scheduled(
    fix: &WorkloadFix<'_>,
    role: &str,
    (edge, name): (&Edge<'_>, &str),
    some: &[MemberFix<'_>],
) -> Step {
    let key = &fix.audited.workload.key;
    let (region, partition) = (&key.region, partition(&key.region));
    let operation = if edge.is_off { "stopInstances" } else { "startInstances" };
    let target = json!({
        "Arn": format!("arn:{partition}:scheduler:::aws-sdk:ec2:{operation}"),
        "RoleArn": format!("arn:{partition}:iam::{}:role/{role}", key.account),
        "Input": json!({"InstanceIds": ids(some)}).to_string(),
    });
    let (named, about) = (instances(some.len()), edge.about());
    step! { run "{named}: {about}", "aws scheduler create-schedule --region {} --name {} --schedule-expression {} --schedule-expression-timezone {} --flexible-time-window Mode=OFF --target {}", region, name, edge.expression(), edge.zone, target }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_an_hour_of_the_week_are_the_same_hour() {
        let edge = |hour| Edge { number: 1, is_off: true, hour, zone: "UTC" };
        // Monday 00:00, Saturday 20:00 (5 × 24 + 20), Sunday 23:00 (6 × 24 + 23), and
        // Monday 02:00 of the next week (7 × 24 + 2).
        let expected = [
            (0, "0 0 * * 1", "cron(0 0 ? * MON *)"),
            (140, "0 20 * * 6", "cron(0 20 ? * SAT *)"),
            (167, "0 23 * * 0", "cron(0 23 ? * SUN *)"),
            (170, "0 2 * * 1", "cron(0 2 ? * MON *)"),
        ];
        for (hour, recurrence, expression) in expected {
            assert_eq!(edge(hour).recurrence(), recurrence);
            assert_eq!(edge(hour).expression(), expression);
        }
    }
}
