//! Auto Scaling groups whose sizes are known when an action begins. A person changes other
//! groups: the advice says under which conditions.

use super::checks::{
    Market, account, group_sizes, in_service, interrupted, no_policies, no_schedules, no_way_back,
    offered, policies, quota, still_idle,
};
use super::command::{Command, Piece};
use super::kubernetes;
use super::procedure::{Procedure, Step, StepKind};
use super::schedule::{edges, put_back};
use crate::analysis::{GroupFix, WorkloadFix};
use crate::domain::{ActionKind, ScalingGroup, Target, Workload};
use crate::savings::{GroupSizes, REBALANCING};
use jiff::Timestamp;
use serde_json::json;

/// A group with the sizes at both ends of an action.
#[derive(Clone, Copy)]
struct Known<'a> {
    workload: &'a Workload,
    group: GroupFix<'a>,
    settings: &'a ScalingGroup,
    begins: GroupSizes,
    ends: GroupSizes,
}

impl<'a> Known<'a> {
    fn of(one: &'a WorkloadFix<'_>) -> Option<Self> {
        let group = one.group?;
        let (begins, ends) = group.sizes?;
        Some(Self {
            workload: &one.audited.workload,
            settings: group.settings?,
            group,
            begins,
            ends,
        })
    }

    fn region(&self) -> &'a str {
        &self.workload.key.region
    }

    fn act(&self, operation: &str) -> Command {
        Command::aws("autoscaling", operation, self.region())
            .with("--auto-scaling-group-name", self.group.name)
    }

    fn before(&self) -> Vec<Step> {
        vec![
            account(&self.workload.key.account),
            group_sizes(self.workload, &self.group, self.begins),
            policies(self.workload, &self.group),
        ]
    }

    /// Suspends or resumes the rebalancing of its zones.
    fn rebalancing(&self, operation: &str) -> Command {
        self.act(operation)
            .each("--scaling-processes", [REBALANCING])
    }

    fn update(&self, sizes: GroupSizes) -> Command {
        self.act("update-auto-scaling-group")
            .with("--min-size", &sizes.min.to_string())
            .with("--desired-capacity", &sizes.desired.to_string())
    }

    /// Sets the sizes with which the action began.
    fn undo(&self) -> Step {
        let GroupSizes { desired, min } = self.begins;
        let about = format!("desired capacity {desired} and minimum size {min} again");
        Step::run(about, self.update(self.begins))
    }

    fn describe(&self, query: &str) -> Command {
        let operation = "describe-auto-scaling-groups";
        Command::aws("autoscaling", operation, self.region())
            .each("--auto-scaling-group-names", [self.group.name])
            .prints(query)
    }

    /// The launch template of the group, in two variables.
    fn template(&self) -> [Step; 2] {
        let id = self.describe("AutoScalingGroups[0].LaunchTemplate.LaunchTemplateId");
        let version = self.describe("AutoScalingGroups[0].LaunchTemplate.Version");
        [
            Step::keep("its launch template", TEMPLATE, id),
            Step::keep("the version that it uses", VERSION, version),
        ]
    }

    fn refresh(&self) -> Step {
        let preferences = json!({"MinHealthyPercentage": 90});
        let command = self
            .act("start-instance-refresh")
            .json("--preferences", &preferences);
        let about = "replace its instances, a tenth of them at a time: an instance refresh fails \
                     if another one runs";
        Step::run(about, command)
    }
}

const TEMPLATE: &str = "LAUNCH_TEMPLATE_ID";
const VERSION: &str = "LAUNCH_TEMPLATE_VERSION";
const OLD_VERSION: &str = "OLD_VERSION";
const NEW_VERSION: &str = "NEW_VERSION";

/// Ends some instances of a group; absent where a person has to.
pub(super) fn stop(one: &WorkloadFix<'_>, as_of: Timestamp) -> Option<Procedure> {
    let known = Known::of(one)?;
    if !one.lowered.is_empty() || one.members.is_empty() {
        return None;
    }
    let mut procedure = Procedure {
        before: vec![
            account(&known.workload.key.account),
            group_sizes(known.workload, &known.group, known.begins),
            no_policies(known.workload, &known.group),
            no_schedules(known.workload, &known.group),
        ],
        ..Procedure::default()
    };
    procedure.before.extend(kubernetes::same(&one.members)?);
    procedure
        .before
        .extend(in_service(known.workload, &one.members));
    let idle = still_idle(known.workload, &one.members, as_of)?;
    procedure.before.extend(idle);
    procedure.before.push(Step::manual(
        "ask the owner: ended instances do not come back",
    ));
    if known.group.suspends_rebalancing {
        let about = "suspend the rebalancing of zones, which may end other instances, busy ones \
                     too";
        let suspend = known.rebalancing("suspend-processes");
        procedure.steps.push(Step::run(about, suspend));
    }
    procedure.steps.extend(kubernetes::drained(&one.members));
    let GroupSizes { desired, min } = known.ends;
    if min < known.begins.min {
        let command = known
            .act("update-auto-scaling-group")
            .with("--min-size", &min.to_string());
        let about = format!("lower its minimum size from {} to {min}", known.begins.min);
        procedure.steps.push(Step::run(about, command));
    }
    for member in &one.members {
        let id = member.member.id.native();
        let operation = "terminate-instance-in-auto-scaling-group";
        let command = Command::aws("autoscaling", operation, known.region())
            .with("--instance-id", id)
            .flag("--should-decrement-desired-capacity");
        procedure
            .steps
            .push(Step::run(format!("end {id}"), command));
    }
    let sizes = group_sizes(known.workload, &known.group, GroupSizes { desired, min });
    procedure.steps.push(sizes);
    procedure.back.push(known.undo());
    if known.group.suspends_rebalancing {
        let about = "resume the rebalancing of zones, once they hold the same numbers of \
                     instances: before that, the group ends other instances, busy ones too";
        let resume = known.rebalancing("resume-processes");
        procedure.back.push(Step::typed(about, resume));
    }
    Some(procedure)
}

/// Runs a group in some hours of the week; absent where a person has to.
pub(super) fn schedule(one: &WorkloadFix<'_>) -> Option<Procedure> {
    let known = Known::of(one)?;
    let found = one.audited.proposals.schedule()?;
    let mut procedure = Procedure {
        before: vec![
            account(&known.workload.key.account),
            group_sizes(known.workload, &known.group, known.begins),
            no_policies(known.workload, &known.group),
            no_schedules(known.workload, &known.group),
        ],
        ..Procedure::default()
    };
    for edge in edges(found) {
        procedure.steps.push(Step::run(
            edge.about(),
            edge.scheduled_action(known.act("put-scheduled-update-group-action"), known.begins),
        ));
        let delete = known
            .act("delete-scheduled-action")
            .with("--scheduled-action-name", &edge.name());
        procedure
            .back
            .push(Step::run("delete the scheduled action", delete));
    }
    procedure.back.push(known.undo());
    Some(procedure)
}

/// Another type or number for a whole group; absent where a person has to.
pub(super) fn resize(one: &WorkloadFix<'_>) -> Option<Procedure> {
    let known = Known::of(one)?;
    let to = one.to?;
    let is_moved = to.instance_type != one.instance_type;
    // Another type in a mixed instances policy is a choice among several.
    let is_mixed = !known.settings.instance_types.is_empty();
    if (is_moved && is_mixed) || !one.lowered.is_empty() {
        return None;
    }
    let mut procedure = Procedure {
        before: known.before(),
        ..Procedure::default()
    };
    if is_moved {
        let name = &to.instance_type;
        let offers = offered(known.workload, &one.members, name, Market::OnDemand);
        procedure.before.extend(offers);
        other_type(&known, to, &mut procedure);
        let retired = no_way_back(one.instance_type).map(Step::manual);
        procedure.back.extend(retired);
    }
    let image = is_moved.then_some("the image of its launch template");
    let interrupts = interrupted("the instances that it replaces or ends", image);
    procedure.before.push(interrupts);
    if known.ends != known.begins {
        let GroupSizes { desired, min } = known.ends;
        let about = format!("desired capacity {desired} and minimum size {min}");
        procedure
            .steps
            .push(Step::run(about, known.update(known.ends)));
        procedure.back.push(known.undo());
        let is_scheduled = one.before.contains(&ActionKind::Schedule);
        if let Some(found) = one.audited.proposals.schedule().filter(|_| is_scheduled) {
            // A schedule would set the old number again.
            let put = || known.act("put-scheduled-update-group-action");
            procedure.steps.extend(put_back(found, put, known.ends));
            procedure.back.extend(put_back(found, put, known.begins));
        }
    }
    // One refresh is enough where the next action starts another.
    if is_moved && !one.after.contains(&ActionKind::Spot) {
        procedure.steps.push(known.refresh());
        procedure.back.push(known.refresh());
    }
    (!procedure.steps.is_empty()).then_some(procedure)
}

/// Another type in the launch template of a group.
fn other_type(known: &Known<'_>, to: &Target, procedure: &mut Procedure) {
    let region = known.region();
    let old = Command::aws("ec2", "describe-launch-template-versions", region)
        .kept("--launch-template-id", TEMPLATE)
        .kept("--versions", VERSION)
        .prints("LaunchTemplateVersions[0].VersionNumber");
    let data = json!({"InstanceType": to.instance_type});
    let new = Command::aws("ec2", "create-launch-template-version", region)
        .kept("--launch-template-id", TEMPLATE)
        .kept("--source-version", OLD_VERSION)
        .json("--launch-template-data", &data)
        .prints("LaunchTemplateVersion.VersionNumber");
    let used = |version: &'static str| {
        let pieces = vec![
            Piece::text("LaunchTemplateId="),
            Piece::Kept(TEMPLATE),
            Piece::text(",Version="),
            Piece::Kept(version),
        ];
        known
            .act("update-auto-scaling-group")
            .composed("--launch-template", pieces)
    };
    procedure.steps.extend(known.template());
    procedure.steps.extend([
        Step::keep("the number of that version", OLD_VERSION, old),
        Step::keep(
            format!("a version of it with {}", to.instance_type),
            NEW_VERSION,
            new,
        ),
        Step::run("the group uses the new version", used(NEW_VERSION)),
    ]);
    procedure.back.push(Step::typed(
        "the old version: set LAUNCH_TEMPLATE_ID and OLD_VERSION to what the steps printed",
        used(OLD_VERSION),
    ));
}

/// The spot market for a whole group; absent where a person has to.
pub(super) fn spot(one: &WorkloadFix<'_>) -> Option<Procedure> {
    let known = Known::of(one)?;
    let mut procedure = Procedure {
        before: known.before(),
        ..Procedure::default()
    };
    procedure
        .before
        .push(quota(known.workload, one.instance_type, Market::Spot));
    let about = "check that the job writes checkpoints and starts from the last one, and that the \
                 quota above leaves room: the steps replace every instance";
    procedure
        .before
        .push(Step::new(about, StepKind::Disruptive));
    let settings = known.settings;
    let policy = |base: u32, percent: u32, strategy: &str| {
        let policy = json!({"InstancesDistribution": {
            "OnDemandBaseCapacity": base,
            "OnDemandPercentageAboveBaseCapacity": percent,
            "SpotAllocationStrategy": strategy,
        }});
        known
            .act("update-auto-scaling-group")
            .json("--mixed-instances-policy", &policy)
    };
    if let Some(percent) = settings.on_demand_above_base_percent {
        let about = "buy every instance on the spot market";
        procedure
            .steps
            .push(Step::run(about, policy(0, 0, STRATEGY)));
        let base = settings.on_demand_base.unwrap_or(0);
        let strategy = settings.spot_allocation.as_deref().unwrap_or(STRATEGY);
        let about = format!("{base} instances and {percent}% of the others on demand again");
        procedure
            .back
            .push(Step::run(about, policy(base, percent, strategy)));
    } else {
        let pieces = vec![
            Piece::text("LaunchTemplate={LaunchTemplateSpecification={LaunchTemplateId="),
            Piece::Kept(TEMPLATE),
            Piece::text(",Version="),
            Piece::Kept(VERSION),
            Piece::Text(format!(
                "}}}},InstancesDistribution={{OnDemandBaseCapacity=0,\
                 OnDemandPercentageAboveBaseCapacity=0,SpotAllocationStrategy={STRATEGY}}}"
            )),
        ];
        let mixed = known
            .act("update-auto-scaling-group")
            .composed("--mixed-instances-policy", pieces);
        procedure.steps.extend(known.template());
        let about = "a mixed instances policy that buys every instance on the spot market";
        procedure.steps.push(Step::run(about, mixed));
        let pieces = vec![
            Piece::text("LaunchTemplateId="),
            Piece::Kept(TEMPLATE),
            Piece::text(",Version="),
            Piece::Kept(VERSION),
        ];
        let plain = known
            .act("update-auto-scaling-group")
            .composed("--launch-template", pieces);
        let about = "the launch template alone: set LAUNCH_TEMPLATE_ID and \
                     LAUNCH_TEMPLATE_VERSION to what the steps printed";
        procedure.back.push(Step::typed(about, plain));
    }
    procedure.steps.push(known.refresh());
    procedure.back.push(known.refresh());
    Some(procedure)
}

/// How AWS advises to choose among spot markets.
const STRATEGY: &str = "price-capacity-optimized";
