//! Instances that are in no Auto Scaling group: stopping them, moving them to another type,
//! and releasing their storage.

use super::checks::{
    MOST_IDS, Market, erased_store, ids, instances, interrupted, no_way_back, offered,
    on_instances, reserved, still_idle,
};
use super::kubernetes;
use super::procedure::{Procedure, Step, step, steps};
use crate::analysis::{Lowered, MemberFix, WorkloadFix};
use crate::catalog::shape;
use crate::domain::{PurchaseOption, Workload};
use jiff::Timestamp;
use serde_json::json;

/// Stops instances; absent where a person has to.
pub(super) fn stop(fix: &WorkloadFix<'_>, as_of: Timestamp) -> Option<Procedure> {
    let workload = &*fix.audited.workload;
    // A spot instance that its owner stops may be terminated.
    let can_stop = workload.key.purchase_option != PurchaseOption::Spot;
    if !can_stop || fix.members.is_empty() || kubernetes::are_replaced(fix) {
        return None;
    }
    let region = &workload.key.region;
    let mut procedure = on_instances(fix, "running");
    let before = &mut procedure.before;
    before.extend(kubernetes::same(&fix.members)?);
    before.extend(still_idle(workload, &fix.members, as_of)?);
    before.extend(fix.lowered.iter().map(reserved));
    before.push(Step::manual("ask the owner"));
    before.extend(erased_store(workload));
    procedure.steps.extend(kubernetes::drained(&fix.members));
    for some in fix.members.chunks(MOST_IDS) {
        let named = instances(some.len());
        steps! { procedure.steps;
            run "stop {named}: their volumes remain", "aws ec2 stop-instances --region {} --instance-ids {}", region, ids(some);
            run "wait until it is stopped", "aws ec2 wait instance-stopped --region {} --instance-ids {}", region, ids(some);
        }
    }
    lower(fix, &mut procedure);
    for some in fix.members.chunks(MOST_IDS) {
        procedure.back.push(step! { run "start them again, as long as they are not terminated: capacity may be missing then", "aws ec2 start-instances --region {} --instance-ids {}", region, ids(some) });
    }
    procedure.back.extend(kubernetes::uncordoned(&fix.members));
    Some(procedure)
}

/// Lowers the capacity reservations that instances leave, and raises them on the way back.
fn lower(fix: &WorkloadFix<'_>, procedure: &mut Procedure) {
    for &Lowered { reservation, from, to } in &fix.lowered {
        let (id, region) = (&reservation.id, &reservation.region);
        if to == 0 {
            procedure.steps.push(step! { run "cancel the capacity reservation {id}", "aws ec2 cancel-capacity-reservation --region {} --capacity-reservation-id {}", region, id });
            procedure.back.push(step! { manual "create a capacity reservation like {id}, as far as there is capacity" });
        } else {
            procedure.steps.push(step! { run "lower the capacity reservation {id} from {from} to {to}", "aws ec2 modify-capacity-reservation --region {} --capacity-reservation-id {} --instance-count {}", region, id, to });
            procedure.back.push(step! { run "raise the capacity reservation again, as far as there is capacity", "aws ec2 modify-capacity-reservation --region {} --capacity-reservation-id {} --instance-count {}", region, id, from });
        }
    }
}

/// Moves instances to another type, one after the other; absent where a person has to.
pub(super) fn resize(fix: &WorkloadFix<'_>, as_of: Timestamp) -> Option<Procedure> {
    let workload = &*fix.audited.workload;
    let to = fix.to?;
    let is_same_number = u32::try_from(fix.members.len()) == Ok(to.count);
    let is_on_demand = workload.key.purchase_option == PurchaseOption::OnDemand;
    let architecture = |name: &str| shape(name)?.architecture;
    let keeps_images = architecture(fix.instance_type).is_some()
        && architecture(fix.instance_type) == architecture(&to.instance_type);
    let is_moved = to.instance_type != fix.instance_type;
    let sizing = fix.audited.proposals.rightsize();
    let is_manual = sizing.is_some_and(|sizing| sizing.is_by_hand);
    if is_manual || !is_same_number || !is_on_demand || !keeps_images || !is_moved {
        return None;
    }
    if kubernetes::are_replaced(fix) {
        return None;
    }
    let mut procedure = on_instances(fix, "running");
    let before = &mut procedure.before;
    before.extend(kubernetes::same(&fix.members)?);
    before.extend(fix.lowered.iter().map(reserved));
    before.extend(ready(workload, &fix.members));
    let instance_type = to.instance_type.as_str();
    before.extend(offered(workload, &fix.members, instance_type, Market::OnDemand));
    before.push(interrupted(&instances(fix.members.len()), Some("each image")));
    before.extend(erased_store(workload));
    for member in &fix.members {
        moved(workload, member, (instance_type, as_of), &mut procedure);
    }
    lower(fix, &mut procedure);
    Some(procedure)
}

/// Newer types need the network adapter ENA.
fn ready(workload: &Workload, members: &[MemberFix<'_>]) -> Vec<Step> {
    let region = &workload.key.region;
    let of_some = |some: &[MemberFix<'_>]| step! { expect [some.len()] "instances with ENA support, without which newer types do not start", "aws ec2 describe-instances --region {} --instance-ids {} --query 'length(Reservations[].Instances[] | [?EnaSupport==`true`])' --output text", region, ids(some) };
    members.chunks(MOST_IDS).map(of_some).collect()
}

/// How one instance gets another type, and how it gets the old one back.
fn moved(
    workload: &Workload,
    member: &MemberFix<'_>,
    (to, as_of): (&str, Timestamp),
    procedure: &mut Procedure,
) {
    let region = &workload.key.region;
    let id = member.member.id.native();
    let some = std::slice::from_ref(member);
    let today = &workload.key.instance_type;
    procedure.steps.extend(kubernetes::drained(some));
    steps! { procedure.steps;
        run "{id}: stop", "aws ec2 stop-instances --region {} --instance-ids {}", region, id;
        run "wait until it is stopped", "aws ec2 wait instance-stopped --region {} --instance-ids {}", region, id;
        keep ["IMAGE_ID"] "an image of all of its volumes", "aws ec2 create-image --region {} --instance-id {} --name {} --query ImageId --output text", region, id, image_name(id, as_of);
        run "wait until the image is complete", "aws ec2 wait image-available --region {} --image-ids $IMAGE_ID", region;
        run "another type: {to}", "aws ec2 modify-instance-attribute --region {} --instance-id {} --instance-type Value={}", region, id, to;
        run "start", "aws ec2 start-instances --region {} --instance-ids {}", region, id;
        run "wait until both status checks pass", "aws ec2 wait instance-status-ok --region {} --instance-ids {}", region, id;
    }
    procedure.steps.extend(kubernetes::uncordoned(some));
    let start = no_way_back(today).map_or("start".to_owned(), |why| format!("start: {why}"));
    steps! { procedure.back;
        run "{id}: stop", "aws ec2 stop-instances --region {} --instance-ids {}", region, id;
        run "wait until it is stopped", "aws ec2 wait instance-stopped --region {} --instance-ids {}", region, id;
        run "the type of today: {today}", "aws ec2 modify-instance-attribute --region {} --instance-id {} --instance-type Value={}", region, id, today;
        run "{start}", "aws ec2 start-instances --region {} --instance-ids {}", region, id;
    }
}

fn image_name(id: &str, as_of: Timestamp) -> String {
    format!("gpucost {id} {}", as_of.strftime("%Y-%m-%d"))
}

/// Releases the storage of stopped instances, once an image holds it; absent where a person
/// has to.
pub(super) fn release(fix: &WorkloadFix<'_>, as_of: Timestamp) -> Option<Procedure> {
    let mut procedure = on_instances(fix, "stopped");
    procedure.before.push(step! { manual "ask the owner which data is needed: an image keeps it, and its snapshots are billed for what the volumes hold" });
    for member in &fix.members {
        release_one(&fix.audited.workload.key.region, member, as_of, &mut procedure);
    }
    (!procedure.steps.is_empty()).then_some(procedure)
}

fn release_one(region: &str, member: &MemberFix<'_>, as_of: Timestamp, procedure: &mut Procedure) {
    let id = member.member.id.native();
    let volumes = member.instance.volumes.iter();
    let volumes: Vec<&str> = volumes.map(|volume| volume.id.as_str()).collect();
    if !volumes.is_empty() {
        let instance_type = &member.instance.instance_type;
        steps! { procedure.steps;
            keep ["IMAGE_ID"] "{id}: an image of all of its volumes", "aws ec2 create-image --region {} --instance-id {} --name {} --query ImageId --output text", region, id, image_name(id, as_of);
            run "wait until the image is complete", "aws ec2 wait image-available --region {} --image-ids $IMAGE_ID", region;
            read "bytes that its snapshots hold, which are billed per GB and month", "aws ec2 describe-snapshots --region {} --owner-ids self --filters Name=volume-id,Values={} --query 'Snapshots[].[SnapshotId, VolumeId, FullSnapshotSizeInBytes]' --output text", region, volumes.join(",");
        }
        procedure.back.push(step! { typed "{id}: start an instance from the image; set IMAGE_ID, and add its subnet, security groups and role", "aws ec2 run-instances --region {} --image-id $IMAGE_ID --instance-type {}", region, instance_type });
    }
    for volume in volumes {
        steps! { procedure.steps;
            run "detach {volume}", "aws ec2 detach-volume --region {} --volume-id {} --instance-id {}", region, volume, id;
            run "wait until it is detached", "aws ec2 wait volume-available --region {} --volume-ids {}", region, volume;
            run "delete {volume}", "aws ec2 delete-volume --region {} --volume-id {}", region, volume;
        }
    }
    for address in &member.instance.addresses {
        let address = &address.id;
        let query = format!("Addresses[?InstanceId=='{id}'].AssociationId");
        steps! { procedure.steps;
            keep ["ASSOCIATION_ID"] "how {address} is attached", "aws ec2 describe-addresses --region {} --allocation-ids {} --query {} --output text", region, address, query;
            run "detach the address", "aws ec2 disassociate-address --region {} --association-id $ASSOCIATION_ID", region;
            run "release {address}", "aws ec2 release-address --region {} --allocation-id {}", region, address;
        }
        procedure.back.push(step! { manual "{address}: a released address comes back only with `aws ec2 allocate-address --address`, and only while no other account has it" });
    }
}

/// What launches an instance like another on the spot market.
pub(super) fn on_spot(fix: &WorkloadFix<'_>) -> Procedure {
    let workload = &*fix.audited.workload;
    let (region, instance_type) = (&workload.key.region, fix.instance_type);
    let mut procedure = on_instances(fix, "running");
    procedure.before.extend(offered(workload, &fix.members, instance_type, Market::Spot));
    steps! { procedure.before;
        read "the spot prices of today", "aws ec2 describe-spot-price-history --region {} --instance-types {} --max-items 10 --query 'SpotPriceHistory[].[AvailabilityZone, SpotPrice, Timestamp]' --output text", region, instance_type;
        manual "check that the job writes checkpoints and starts from the last one";
    }
    for member in &fix.members {
        replaced_by_spot(fix, member, &mut procedure);
    }
    procedure
}

/// How a spot instance takes the place of one on demand, with its data, role and key.
fn replaced_by_spot(fix: &WorkloadFix<'_>, member: &MemberFix<'_>, procedure: &mut Procedure) {
    let (region, instance_type) = (&fix.audited.workload.key.region, fix.instance_type);
    let id = member.member.id.native();
    let market = json!({
        "MarketType": "spot",
        "SpotOptions": {
            "SpotInstanceType": "persistent",
            "InstanceInterruptionBehavior": "stop",
        },
    });
    procedure.before.push(step! { read "{id}: its subnet, its first security group, its key and its role", "aws ec2 describe-instances --region {} --instance-ids {} --query 'Reservations[].Instances[].[SubnetId, SecurityGroups[0].GroupId, KeyName, IamInstanceProfile.Arn]' --output text", region, id });
    steps! { procedure.steps;
        keep ["IMAGE_ID"] "{id}: at a checkpoint of its job, an image of all of its volumes: this restarts it", "aws ec2 create-image --region {} --instance-id {} --name {} --query ImageId --output text", region, id, format!("gpucost spot {id}");
        run "wait until the image is complete", "aws ec2 wait image-available --region {} --image-ids $IMAGE_ID", region;
        typed "in place of {id}: set SUBNET_ID, SECURITY_GROUP_ID, KEY_NAME and PROFILE_ARN to those of the instance, and leave out what it does not have, because an instance that runs cannot move to the spot market", "aws ec2 run-instances --region {} --image-id $IMAGE_ID --instance-type {} --subnet-id $SUBNET_ID --security-group-ids $SECURITY_GROUP_ID --key-name $KEY_NAME --iam-instance-profile Arn=$PROFILE_ARN --instance-market-options {}", region, instance_type, market;
        typed "{id}: stop it once the job runs on the spot instance", "aws ec2 stop-instances --region {} --instance-ids {}", region, id;
    }
    procedure.back.push(step! { run "{id}: start it again, and end the spot request and its instance", "aws ec2 start-instances --region {} --instance-ids {}", region, id });
}
