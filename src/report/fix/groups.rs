//! Auto Scaling groups whose sizes are known when an action begins. A person changes other
//! groups: the advice says under which conditions.

use super::checks::{
    Market, account, in_service, interrupted, no_way_back, offered, quota, still_idle,
};
use super::kubernetes;
use super::procedure::{Procedure, Step, StepKind, step, steps};
use super::schedule::{Edge, edges};
use crate::analysis::{GroupFix, WorkloadFix};
use crate::domain::{ActionKind, ScalingGroup, Target, Workload};
use crate::savings::{GroupSizes, REBALANCING, Scheduling};
use jiff::Timestamp;
use serde_json::json;

/// A group with the sizes at both ends of an action.
#[derive(Clone, Copy)]
struct Known<'a> {
    workload: &'a Workload,
    /// Its region and name, by which every command finds it.
    region: &'a str,
    name: &'a str,
    group: GroupFix<'a>,
    settings: &'a ScalingGroup,
    begins: GroupSizes,
    ends: GroupSizes,
}

impl<'a> Known<'a> {
    fn of(fix: &'a WorkloadFix<'_>) -> Option<Self> {
        let group = fix.group?;
        let (begins, ends) = group.sizes?;
        let (workload, settings) = (&*fix.audited.workload, group.settings?);
        let (region, name) = (workload.key.region.as_str(), group.name);
        Some(Self { workload, region, name, group, settings, begins, ends })
    }

    /// What begins with the account and the sizes of the group.
    fn begun(&self, others: impl IntoIterator<Item = Step>) -> Procedure {
        let first = [account(&self.workload.key.account), self.sizes(self.begins)];
        Procedure { before: first.into_iter().chain(others).collect(), ..Procedure::default() }
    }

    /// The sizes of a group must be those of the audit, or those that earlier actions left.
    fn sizes(&self, GroupSizes { desired, min }: GroupSizes) -> Step {
        let (region, name) = (self.region, self.name);
        step! { expect [format!("{desired} {min}")] "desired capacity and minimum size of the Auto Scaling group {name}", "aws autoscaling describe-auto-scaling-groups --region {} --auto-scaling-group-names {} --query 'AutoScalingGroups[].[DesiredCapacity, MinSize]' --output text", region, name }
    }

    /// Nothing is changed while a group is replaced.
    fn policies(&self) -> Step {
        step! { read "its scaling policies: adapt those that would start instances again", "aws autoscaling describe-policies --region {} --auto-scaling-group-name {}", self.region, self.name }
    }

    /// No scaling policy, and no scheduled action of somebody else, may start others in place of
    /// instances that end.
    fn quiet(&self) -> [Step; 2] {
        [
            step! { expect [0] "its enabled scaling policies: adapt those that would start instances again, and disable them until the instances have ended", "aws autoscaling describe-policies --region {} --auto-scaling-group-name {} --query 'length(ScalingPolicies[?Enabled == `true`])' --output text", self.region, self.name },
            step! { expect [0] "its scheduled actions: delete those that would start instances again", "aws autoscaling describe-scheduled-actions --region {} --auto-scaling-group-name {} --query 'length(ScheduledUpdateGroupActions[?!starts_with(ScheduledActionName, `\"gpucost-\"`)])' --output text", self.region, self.name },
        ]
    }

    fn sized(&self, GroupSizes { desired, min }: GroupSizes, again: &str) -> Step {
        step! { run "desired capacity {desired} and minimum size {min}{again}", "aws autoscaling update-auto-scaling-group --region {} --auto-scaling-group-name {} --min-size {} --desired-capacity {}", self.region, self.name, min, desired }
    }

    /// Sets the sizes with which the action began.
    fn undo(&self) -> Step {
        self.sized(self.begins, " again")
    }

    /// The launch template of the group, in two variables.
    fn template(&self) -> [Step; 2] {
        [
            step! { keep ["LAUNCH_TEMPLATE_ID"] "its launch template", "aws autoscaling describe-auto-scaling-groups --region {} --auto-scaling-group-names {} --query AutoScalingGroups[0].LaunchTemplate.LaunchTemplateId --output text", self.region, self.name },
            step! { keep ["LAUNCH_TEMPLATE_VERSION"] "the version that it uses", "aws autoscaling describe-auto-scaling-groups --region {} --auto-scaling-group-names {} --query AutoScalingGroups[0].LaunchTemplate.Version --output text", self.region, self.name },
        ]
    }

    fn refresh(&self) -> Step {
        let preferences = json!({"MinHealthyPercentage": 90});
        step! { run "replace its instances, a tenth of them at a time: an instance refresh fails if another one runs", "aws autoscaling start-instance-refresh --region {} --auto-scaling-group-name {} --preferences {}", self.region, self.name, preferences }
    }

    /// Sets an end of hours off, or their beginning: these sizes hold in the other hours.
    fn scheduled(&self, edge: &Edge<'_>, sizes: GroupSizes, about: &str) -> Step {
        let GroupSizes { desired, min } = edge.sizes(sizes);
        step! { run "{about}", "aws autoscaling put-scheduled-update-group-action --region {} --auto-scaling-group-name {} --scheduled-action-name {} --recurrence {} --time-zone {} --min-size {} --desired-capacity {}", self.region, self.name, edge.name(), edge.recurrence(), edge.zone, min, desired }
    }

    /// Sets what a schedule puts back when the hours off end.
    fn put_back(&self, schedule: &Scheduling, sizes: GroupSizes) -> Vec<Step> {
        let (desired, edges) = (sizes.desired, edges(schedule).into_iter());
        let steps = edges.filter(|edge| !edge.is_off).map(|edge| {
            let about = format!("desired capacity {desired} in its schedule too: {}", edge.about());
            self.scheduled(&edge, sizes, &about)
        });
        steps.collect()
    }
}

/// Ends some instances of a group; absent where a person has to.
pub(super) fn stop(fix: &WorkloadFix<'_>, as_of: Timestamp) -> Option<Procedure> {
    let known = Known::of(fix)?;
    if !fix.lowered.is_empty() || fix.members.is_empty() {
        return None;
    }
    let mut procedure = known.begun(known.quiet());
    let before = &mut procedure.before;
    before.extend(kubernetes::same(&fix.members)?);
    before.extend(in_service(known.workload, &fix.members));
    before.extend(still_idle(known.workload, &fix.members, as_of)?);
    before.push(step! { manual "ask the owner: ended instances do not come back" });
    if known.group.suspends_rebalancing {
        procedure.steps.push(step! { run "suspend the rebalancing of zones, which may end other instances, busy ones too", "aws autoscaling suspend-processes --region {} --auto-scaling-group-name {} --scaling-processes {}", known.region, known.name, REBALANCING });
    }
    procedure.steps.extend(kubernetes::drained(&fix.members));
    let (GroupSizes { min, .. }, begins) = (known.ends, known.begins.min);
    if min < begins {
        procedure.steps.push(step! { run "lower its minimum size from {begins} to {min}", "aws autoscaling update-auto-scaling-group --region {} --auto-scaling-group-name {} --min-size {}", known.region, known.name, min });
    }
    for member in &fix.members {
        let id = member.member.id.native();
        procedure.steps.push(step! { run "end {id}", "aws autoscaling terminate-instance-in-auto-scaling-group --region {} --instance-id {} --should-decrement-desired-capacity", known.region, id });
    }
    procedure.steps.push(known.sizes(known.ends));
    procedure.back.push(known.undo());
    if known.group.suspends_rebalancing {
        procedure.back.push(step! { typed "resume the rebalancing of zones, once they hold the same numbers of instances: before that, the group ends other instances, busy ones too", "aws autoscaling resume-processes --region {} --auto-scaling-group-name {} --scaling-processes {}", known.region, known.name, REBALANCING });
    }
    Some(procedure)
}

/// Runs a group in some hours of the week; absent where a person has to.
pub(super) fn schedule(fix: &WorkloadFix<'_>) -> Option<Procedure> {
    let known = Known::of(fix)?;
    let mut procedure = known.begun(known.quiet());
    for edge in edges(fix.audited.proposals.schedule()?) {
        procedure.steps.push(known.scheduled(&edge, known.begins, &edge.about()));
        procedure.back.push(step! { run "delete the scheduled action", "aws autoscaling delete-scheduled-action --region {} --auto-scaling-group-name {} --scheduled-action-name {}", known.region, known.name, edge.name() });
    }
    procedure.back.push(known.undo());
    Some(procedure)
}

/// Another type or number for a whole group; absent where a person has to.
pub(super) fn resize(fix: &WorkloadFix<'_>) -> Option<Procedure> {
    let known = Known::of(fix)?;
    let to = fix.to?;
    let is_moved = to.instance_type != fix.instance_type;
    // Another type in a mixed instances policy is a choice among several.
    let is_mixed = !known.settings.instance_types.is_empty();
    if (is_moved && is_mixed) || !fix.lowered.is_empty() {
        return None;
    }
    let mut procedure = known.begun([known.policies()]);
    if is_moved {
        let offers = offered(known.workload, &fix.members, &to.instance_type, Market::OnDemand);
        procedure.before.extend(offers);
        other_type(&known, to, &mut procedure);
        procedure.back.extend(no_way_back(fix.instance_type).map(Step::manual));
    }
    let image = is_moved.then_some("the image of its launch template");
    procedure.before.push(interrupted("the instances that it replaces or ends", image));
    if known.ends != known.begins {
        procedure.steps.push(known.sized(known.ends, ""));
        procedure.back.push(known.undo());
        let is_scheduled = fix.before.contains(&ActionKind::Schedule);
        let schedule = fix.audited.proposals.schedule();
        if let Some(schedule) = schedule.filter(|_| is_scheduled) {
            // A schedule would set the old number again.
            procedure.steps.extend(known.put_back(schedule, known.ends));
            procedure.back.extend(known.put_back(schedule, known.begins));
        }
    }
    // One refresh is enough where the next action starts another.
    if is_moved && !fix.after.contains(&ActionKind::Spot) {
        procedure.steps.push(known.refresh());
        procedure.back.push(known.refresh());
    }
    (!procedure.steps.is_empty()).then_some(procedure)
}

/// Another type in the launch template of a group.
fn other_type(known: &Known<'_>, to: &Target, procedure: &mut Procedure) {
    let instance_type = &to.instance_type;
    let data = json!({"InstanceType": instance_type});
    procedure.steps.extend(known.template());
    steps! { procedure.steps;
        keep ["OLD_VERSION"] "the number of that version", "aws ec2 describe-launch-template-versions --region {} --launch-template-id $LAUNCH_TEMPLATE_ID --versions $LAUNCH_TEMPLATE_VERSION --query LaunchTemplateVersions[0].VersionNumber --output text", known.region;
        keep ["NEW_VERSION"] "a version of it with {instance_type}", "aws ec2 create-launch-template-version --region {} --launch-template-id $LAUNCH_TEMPLATE_ID --source-version $OLD_VERSION --launch-template-data {} --query LaunchTemplateVersion.VersionNumber --output text", known.region, data;
        run "the group uses the new version", "aws autoscaling update-auto-scaling-group --region {} --auto-scaling-group-name {} --launch-template LaunchTemplateId=$LAUNCH_TEMPLATE_ID,Version=$NEW_VERSION", known.region, known.name;
    }
    procedure.back.push(step! { typed "the old version: set LAUNCH_TEMPLATE_ID and OLD_VERSION to what the steps printed", "aws autoscaling update-auto-scaling-group --region {} --auto-scaling-group-name {} --launch-template LaunchTemplateId=$LAUNCH_TEMPLATE_ID,Version=$OLD_VERSION", known.region, known.name });
}

/// The spot market for a whole group; absent where a person has to.
pub(super) fn spot(fix: &WorkloadFix<'_>) -> Option<Procedure> {
    let known = Known::of(fix)?;
    let mut procedure = known.begun([known.policies()]);
    procedure.before.push(quota(known.workload, fix.instance_type, Market::Spot));
    let about = "check that the job writes checkpoints and starts from the last one, and that the \
                 quota above leaves room: the steps replace every instance";
    procedure.before.push(Step::new(about, StepKind::Disruptive));
    let settings = known.settings;
    if let Some(percent) = settings.on_demand_above_base_percent {
        let policy = |base: u32, percent: u32, strategy: &str| {
            json!({"InstancesDistribution": {
                "OnDemandBaseCapacity": base,
                "OnDemandPercentageAboveBaseCapacity": percent,
                "SpotAllocationStrategy": strategy,
            }})
        };
        let base = settings.on_demand_base.unwrap_or(0);
        let strategy = settings.spot_allocation.as_deref().unwrap_or(STRATEGY);
        procedure.steps.push(step! { run "buy every instance on the spot market", "aws autoscaling update-auto-scaling-group --region {} --auto-scaling-group-name {} --mixed-instances-policy {}", known.region, known.name, policy(0, 0, STRATEGY) });
        procedure.back.push(step! { run "{base} instances and {percent}% of the others on demand again", "aws autoscaling update-auto-scaling-group --region {} --auto-scaling-group-name {} --mixed-instances-policy {}", known.region, known.name, policy(base, percent, strategy) });
    } else {
        procedure.steps.extend(known.template());
        procedure.steps.push(step! { run "a mixed instances policy that buys every instance on the spot market", "aws autoscaling update-auto-scaling-group --region {} --auto-scaling-group-name {} --mixed-instances-policy LaunchTemplate={LaunchTemplateSpecification={LaunchTemplateId=$LAUNCH_TEMPLATE_ID,Version=$LAUNCH_TEMPLATE_VERSION}},InstancesDistribution={OnDemandBaseCapacity=0,OnDemandPercentageAboveBaseCapacity=0,SpotAllocationStrategy=price-capacity-optimized}", known.region, known.name });
        procedure.back.push(step! { typed "the launch template alone: set LAUNCH_TEMPLATE_ID and LAUNCH_TEMPLATE_VERSION to what the steps printed", "aws autoscaling update-auto-scaling-group --region {} --auto-scaling-group-name {} --launch-template LaunchTemplateId=$LAUNCH_TEMPLATE_ID,Version=$LAUNCH_TEMPLATE_VERSION", known.region, known.name });
    }
    procedure.steps.push(known.refresh());
    procedure.back.push(known.refresh());
    Some(procedure)
}

/// How AWS advises to choose among spot markets.
const STRATEGY: &str = "price-capacity-optimized";
