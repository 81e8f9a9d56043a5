//! Instances that are in no Auto Scaling group: stopping them, moving them to another type,
//! and releasing their storage.

use super::checks::{
    MOST_IDS, Market, account, erased_store, ids, instances, interrupted, no_way_back, offered,
    reserved, states, still_idle,
};
use super::command::{Command, Piece};
use super::kubernetes;
use super::procedure::{Procedure, Step};
use crate::analysis::{Lowered, MemberFix, WorkloadFix};
use crate::catalog::shape;
use crate::domain::{PurchaseOption, Workload};
use jiff::Timestamp;
use serde_json::json;

/// Stops instances; absent where a person has to.
pub(super) fn stop(one: &WorkloadFix<'_>, as_of: Timestamp) -> Option<Procedure> {
    let workload = &*one.audited.workload;
    // A spot instance that its owner stops may be terminated.
    let can_stop = workload.key.purchase_option != PurchaseOption::Spot;
    if !can_stop || one.members.is_empty() || kubernetes::are_replaced(one) {
        return None;
    }
    let region = &workload.key.region;
    let mut procedure = Procedure {
        before: vec![account(&workload.key.account)],
        ..Procedure::default()
    };
    let running = ("running", one.instance_type);
    procedure
        .before
        .extend(states(workload, &one.members, running));
    procedure.before.extend(kubernetes::same(&one.members)?);
    let idle = still_idle(workload, &one.members, as_of)?;
    procedure.before.extend(idle);
    procedure.before.extend(one.lowered.iter().map(reserved));
    procedure.before.push(Step::manual("ask the owner"));
    procedure.before.extend(erased_store(workload));
    procedure.steps.extend(kubernetes::drained(&one.members));
    for some in one.members.chunks(MOST_IDS) {
        let stop = Command::aws("ec2", "stop-instances", region).each("--instance-ids", ids(some));
        let wait = waited("instance-stopped", region, ids(some));
        let about = format!("stop {}: their volumes remain", instances(some.len()));
        procedure.steps.push(Step::run(about, stop));
        procedure
            .steps
            .push(Step::run("wait until it is stopped", wait));
    }
    procedure.steps.extend(one.lowered.iter().map(lowered));
    procedure.back.extend(one.lowered.iter().map(raised));
    for some in one.members.chunks(MOST_IDS) {
        let start = Command::aws("ec2", "start-instances", region);
        let start = start.each("--instance-ids", ids(some));
        let about = "start them again, as long as they are not terminated: capacity may be \
                     missing then";
        procedure.back.push(Step::run(about, start));
    }
    procedure.back.extend(kubernetes::uncordoned(&one.members));
    Some(procedure)
}

fn waited<'a>(state: &str, region: &str, ids: impl Iterator<Item = &'a str>) -> Command {
    Command::new(&["aws", "ec2", "wait", state])
        .with("--region", region)
        .each("--instance-ids", ids)
}

fn sized(one: &Lowered<'_>, count: u32) -> Command {
    let region = &one.reservation.region;
    Command::aws("ec2", "modify-capacity-reservation", region)
        .with("--capacity-reservation-id", &one.reservation.id)
        .with("--instance-count", &count.to_string())
}

fn lowered(one: &Lowered<'_>) -> Step {
    let region = &one.reservation.region;
    let id = &one.reservation.id;
    if one.to == 0 {
        let command = Command::aws("ec2", "cancel-capacity-reservation", region)
            .with("--capacity-reservation-id", id);
        return Step::run(format!("cancel the capacity reservation {id}"), command);
    }
    let about = format!(
        "lower the capacity reservation {id} from {} to {}",
        one.from, one.to
    );
    Step::run(about, sized(one, one.to))
}

fn raised(one: &Lowered<'_>) -> Step {
    if one.to == 0 {
        return Step::manual(format!(
            "create a capacity reservation like {}, as far as there is capacity",
            one.reservation.id
        ));
    }
    let about = "raise the capacity reservation again, as far as there is capacity";
    Step::run(about, sized(one, one.from))
}

/// Moves instances to another type, one after the other; absent where a person has to.
pub(super) fn resize(one: &WorkloadFix<'_>, as_of: Timestamp) -> Option<Procedure> {
    let workload = &*one.audited.workload;
    let to = one.to?;
    let is_same_number = u32::try_from(one.members.len()) == Ok(to.count);
    let is_on_demand = workload.key.purchase_option == PurchaseOption::OnDemand;
    let architecture = |name: &str| shape(name)?.architecture;
    let keeps_images = architecture(one.instance_type).is_some()
        && architecture(one.instance_type) == architecture(&to.instance_type);
    let is_moved = to.instance_type != one.instance_type;
    let found = one.audited.proposals.rightsize();
    let is_by_hand = found.is_some_and(|found| found.is_by_hand);
    if is_by_hand || !is_same_number || !is_on_demand || !keeps_images || !is_moved {
        return None;
    }
    if kubernetes::are_replaced(one) {
        return None;
    }
    let mut procedure = Procedure {
        before: vec![account(&workload.key.account)],
        ..Procedure::default()
    };
    let running = ("running", one.instance_type);
    procedure
        .before
        .extend(states(workload, &one.members, running));
    procedure.before.extend(kubernetes::same(&one.members)?);
    procedure.before.extend(one.lowered.iter().map(reserved));
    procedure.before.extend(ready(workload, &one.members));
    let offers = offered(workload, &one.members, &to.instance_type, Market::OnDemand);
    procedure.before.extend(offers);
    let named = instances(one.members.len());
    let interrupts = interrupted(&named, Some("each image"));
    procedure.before.push(interrupts);
    procedure.before.extend(erased_store(workload));
    let kept = as_of.strftime("%Y-%m-%d").to_string();
    for member in &one.members {
        let (steps, back) = moved(workload, member, (to.instance_type.as_str(), kept.as_str()));
        procedure.steps.extend(steps);
        procedure.back.extend(back);
    }
    procedure.steps.extend(one.lowered.iter().map(lowered));
    procedure.back.extend(one.lowered.iter().map(raised));
    Some(procedure)
}

/// Newer types need the network adapter ENA.
fn ready(workload: &Workload, members: &[MemberFix<'_>]) -> Vec<Step> {
    let of_some = |some: &[MemberFix<'_>]| {
        let command = Command::aws("ec2", "describe-instances", &workload.key.region)
            .each("--instance-ids", ids(some))
            .prints("length(Reservations[].Instances[] | [?EnaSupport==`true`])");
        let about = "instances with ENA support, without which newer types do not start";
        Step::expect(about, command, some.len())
    };
    members.chunks(MOST_IDS).map(of_some).collect()
}

/// How one instance gets another type, and how it gets the old one back.
fn moved(
    workload: &Workload,
    member: &MemberFix<'_>,
    (to, day): (&str, &str),
) -> (Vec<Step>, Vec<Step>) {
    let region = &workload.key.region;
    let id = member.member.id.native();
    let only = || std::iter::once(id);
    let some = std::slice::from_ref(member);
    let act =
        |operation: &str| Command::aws("ec2", operation, region).each("--instance-ids", only());
    let of_type = |name: &str| {
        Command::aws("ec2", "modify-instance-attribute", region)
            .with("--instance-id", id)
            .with("--instance-type", &format!("Value={name}"))
    };
    let image = Command::aws("ec2", "create-image", region)
        .with("--instance-id", id)
        .with("--name", &format!("gpucost {id} {day}"))
        .prints("ImageId");
    let imaged = Command::new(&["aws", "ec2", "wait", "image-available"])
        .with("--region", region)
        .kept("--image-ids", "IMAGE_ID");
    let stopped = || waited("instance-stopped", region, only());
    let started = || waited("instance-status-ok", region, only());
    let today = &workload.key.instance_type;
    let mut steps = kubernetes::drained(some);
    steps.extend([
        Step::run(format!("{id}: stop"), act("stop-instances")),
        Step::run("wait until it is stopped", stopped()),
        Step::keep("an image of all of its volumes", "IMAGE_ID", image),
        Step::run("wait until the image is complete", imaged),
        Step::run(format!("another type: {to}"), of_type(to)),
        Step::run("start", act("start-instances")),
        Step::run("wait until both status checks pass", started()),
    ]);
    steps.extend(kubernetes::uncordoned(some));
    let start = no_way_back(today).map_or("start".to_owned(), |said| format!("start: {said}"));
    let back = vec![
        Step::run(format!("{id}: stop"), act("stop-instances")),
        Step::run("wait until it is stopped", stopped()),
        Step::run(format!("the type of today: {today}"), of_type(today)),
        Step::run(start, act("start-instances")),
    ];
    (steps, back)
}

/// Releases the storage of stopped instances, once an image holds it; absent where a person
/// has to.
pub(super) fn release(one: &WorkloadFix<'_>, as_of: Timestamp) -> Option<Procedure> {
    let workload = &*one.audited.workload;
    let region = &workload.key.region;
    let mut procedure = Procedure {
        before: vec![account(&workload.key.account)],
        ..Procedure::default()
    };
    let stopped = ("stopped", one.instance_type);
    procedure
        .before
        .extend(states(workload, &one.members, stopped));
    procedure.before.push(Step::manual(
        "ask the owner which data is needed: an image keeps it, and its snapshots are billed for \
         what the volumes hold",
    ));
    let day = as_of.strftime("%Y-%m-%d").to_string();
    for member in &one.members {
        release_one(region, member, &day, &mut procedure);
    }
    (!procedure.steps.is_empty()).then_some(procedure)
}

fn release_one(region: &str, member: &MemberFix<'_>, day: &str, procedure: &mut Procedure) {
    let id = member.member.id.native();
    let ec2 = |operation: &str| Command::aws("ec2", operation, region);
    if !member.instance.volumes.is_empty() {
        let image = ec2("create-image")
            .with("--instance-id", id)
            .with("--name", &format!("gpucost {id} {day}"))
            .prints("ImageId");
        let imaged = Command::new(&["aws", "ec2", "wait", "image-available"])
            .with("--region", region)
            .kept("--image-ids", "IMAGE_ID");
        procedure.steps.extend([
            Step::keep(
                format!("{id}: an image of all of its volumes"),
                "IMAGE_ID",
                image,
            ),
            Step::run("wait until the image is complete", imaged),
            Step::read(
                "bytes that its snapshots hold, which are billed per GB and month",
                snapshots(region, member),
            ),
        ]);
        let restored = ec2("run-instances")
            .kept("--image-id", "IMAGE_ID")
            .with("--instance-type", &member.instance.instance_type);
        let about = format!(
            "{id}: start an instance from the image; set IMAGE_ID, and add its subnet, security \
             groups and role"
        );
        procedure.back.push(Step::typed(about, restored));
    }
    for volume in &member.instance.volumes {
        let on_volume = |operation: &str| ec2(operation).with("--volume-id", &volume.id);
        let available = Command::new(&["aws", "ec2", "wait", "volume-available"])
            .with("--region", region)
            .each("--volume-ids", [&volume.id]);
        procedure.steps.extend([
            Step::run(
                format!("detach {}", volume.id),
                on_volume("detach-volume").with("--instance-id", id),
            ),
            Step::run("wait until it is detached", available),
            Step::run(format!("delete {}", volume.id), on_volume("delete-volume")),
        ]);
    }
    for address in &member.instance.addresses {
        let found = ec2("describe-addresses")
            .each("--allocation-ids", [&address.id])
            .prints(&format!("Addresses[?InstanceId=='{id}'].AssociationId"));
        let apart = ec2("disassociate-address").kept("--association-id", "ASSOCIATION_ID");
        let released = ec2("release-address").with("--allocation-id", &address.id);
        procedure.steps.extend([
            Step::keep(
                format!("how {} is attached", address.id),
                "ASSOCIATION_ID",
                found,
            ),
            Step::run("detach the address", apart),
            Step::run(format!("release {}", address.id), released),
        ]);
        procedure.back.push(Step::manual(format!(
            "{}: a released address comes back only with `aws ec2 allocate-address --address`, \
             and only while no other account has it",
            address.id
        )));
    }
}

/// The snapshots of the volumes of an instance with what each holds.
fn snapshots(region: &str, member: &MemberFix<'_>) -> Command {
    let volumes = member.instance.volumes.iter();
    let volumes: Vec<&str> = volumes.map(|volume| volume.id.as_str()).collect();
    let of_volumes = format!("Name=volume-id,Values={}", volumes.join(","));
    Command::aws("ec2", "describe-snapshots", region)
        .each("--owner-ids", ["self"])
        .each("--filters", [of_volumes])
        .prints("Snapshots[].[SnapshotId, VolumeId, FullSnapshotSizeInBytes]")
}

/// What launches an instance like another on the spot market.
pub(super) fn on_spot(one: &WorkloadFix<'_>) -> Procedure {
    let workload = &*one.audited.workload;
    let region = &workload.key.region;
    let instance_type = one.instance_type;
    let mut procedure = Procedure {
        before: vec![account(&workload.key.account)],
        ..Procedure::default()
    };
    let running = ("running", instance_type);
    procedure
        .before
        .extend(states(workload, &one.members, running));
    procedure
        .before
        .extend(offered(workload, &one.members, instance_type, Market::Spot));
    let prices = Command::aws("ec2", "describe-spot-price-history", region)
        .each("--instance-types", [instance_type])
        .flag("--max-items")
        .flag("10")
        .prints("SpotPriceHistory[].[AvailabilityZone, SpotPrice, Timestamp]");
    procedure
        .before
        .push(Step::read("the spot prices of today", prices));
    procedure.before.push(Step::manual(
        "check that the job writes checkpoints and starts from the last one",
    ));
    for member in &one.members {
        replaced_by_spot(one, member, &mut procedure);
    }
    procedure
}

/// How a spot instance takes the place of one on demand, with its data, role and key.
fn replaced_by_spot(one: &WorkloadFix<'_>, member: &MemberFix<'_>, procedure: &mut Procedure) {
    let region = &one.audited.workload.key.region;
    let id = member.member.id.native();
    let data = Command::aws("ec2", "describe-instances", region)
        .each("--instance-ids", [id])
        .prints(
            "Reservations[].Instances[].[SubnetId, SecurityGroups[0].GroupId, KeyName, \
             IamInstanceProfile.Arn]",
        );
    let about = format!("{id}: its subnet, its first security group, its key and its role");
    procedure.before.push(Step::read(about, data));
    let image = Command::aws("ec2", "create-image", region)
        .with("--instance-id", id)
        .with("--name", &format!("gpucost spot {id}"))
        .prints("ImageId");
    let about = format!(
        "{id}: at a checkpoint of its job, an image of all of its volumes: this restarts it"
    );
    procedure.steps.push(Step::keep(about, "IMAGE_ID", image));
    let imaged = Command::new(&["aws", "ec2", "wait", "image-available"])
        .with("--region", region)
        .kept("--image-ids", "IMAGE_ID");
    let about = "wait until the image is complete";
    procedure.steps.push(Step::run(about, imaged));
    let market = json!({
        "MarketType": "spot",
        "SpotOptions": {
            "SpotInstanceType": "persistent",
            "InstanceInterruptionBehavior": "stop",
        },
    });
    let role = vec![Piece::text("Arn="), Piece::Kept("PROFILE_ARN")];
    let launch = Command::aws("ec2", "run-instances", region)
        .kept("--image-id", "IMAGE_ID")
        .with("--instance-type", one.instance_type)
        .kept("--subnet-id", "SUBNET_ID")
        .kept("--security-group-ids", "SECURITY_GROUP_ID")
        .kept("--key-name", "KEY_NAME")
        .composed("--iam-instance-profile", role)
        .json("--instance-market-options", &market);
    let about = format!(
        "in place of {id}: set SUBNET_ID, SECURITY_GROUP_ID, KEY_NAME and PROFILE_ARN to those of \
         the instance, and leave out what it does not have, because an instance that runs cannot \
         move to the spot market"
    );
    procedure.steps.push(Step::typed(about, launch));
    let stop = Command::aws("ec2", "stop-instances", region).each("--instance-ids", [id]);
    let about = format!("{id}: stop it once the job runs on the spot instance");
    procedure.steps.push(Step::typed(about, stop));
    let start = Command::aws("ec2", "start-instances", region).each("--instance-ids", [id]);
    let about = format!("{id}: start it again, and end the spot request and its instance");
    procedure.back.push(Step::run(about, start));
}
