//! Buying commitments, and cancelling capacity that nothing runs in.

use super::checks::account;
use super::procedure::{Procedure, Step, step, steps};
use crate::analysis::ReservationFix;
use crate::domain::{
    CommitmentTerm, OperatingSystem, PaymentOption, PriceOption, Provider, Tenancy,
};
use crate::report::doc::rows;
use crate::report::promises::promised;
use crate::savings::{Purchase, ScopeChange};
use rust_decimal::Decimal;

/// Buys what a plan buys; absent where a person has to.
pub(super) fn buy(purchase: &Purchase) -> Option<Procedure> {
    if purchase.key.provider != Provider::Aws {
        return None;
    }
    let credentials = purchase.account.as_ref().map_or_else(
        || step! { manual "use credentials of the account that buys commitments, such as the payer of the organization" },
        |id| account(id),
    );
    let before = rows! {
        credentials;
        step! { manual "check that the other actions on these workloads are done and stay: it is sized by what runs after them" };
        for step in &purchase.steps => Step::manual(step);
        for promised in promised(purchase) => Step::manual(format!("have whoever pays agree to {promised}"));
    };
    let mut procedure = Procedure { before, ..Procedure::default() };
    match purchase.term.option {
        PriceOption::Reserved(term) => reserve(purchase, term, &mut procedure)?,
        PriceOption::Ec2InstanceSavingsPlan(term) => plan(purchase, term, &mut procedure),
        PriceOption::OnDemand
        | PriceOption::Spot
        | PriceOption::ComputeSavingsPlan(_)
        | PriceOption::CapacityBlock => return None,
    }
    Some(procedure)
}

/// Lets a reservation of a zone hold for its region.
///
/// Source: <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ri-modifying.html>
pub(super) fn rescope(change: &ScopeChange) -> Procedure {
    let (id, zone, region) = (&change.id, &change.zone, &change.region);
    let count = change.count;
    let mut procedure = Procedure::default();
    procedure.before.push(step! { manual "check that nobody counts on capacity in {zone}: the reservation then holds none" });
    procedure.steps.push(step! { run "change its scope from {zone} to {region}", "aws ec2 modify-reserved-instances --region {} --reserved-instances-ids {} --target-configurations Scope=Region,InstanceCount={}", region, id, count });
    procedure.back.push(step! { run "change its scope back to {zone}", "aws ec2 modify-reserved-instances --region {} --reserved-instances-ids {} --target-configurations AvailabilityZone={},InstanceCount={}", region, id, zone, count });
    procedure
}

/// How AWS calls a payment option.
fn payment(term: CommitmentTerm) -> &'static str {
    match term.payment {
        PaymentOption::NoUpfront => "No Upfront",
        PaymentOption::PartialUpfront => "Partial Upfront",
        PaymentOption::AllUpfront => "All Upfront",
    }
}

/// Seconds of a term, as AWS counts them.
fn seconds(term: CommitmentTerm) -> String {
    (u64::from(term.hours()) * 3600).to_string()
}

fn reserve(purchase: &Purchase, term: CommitmentTerm, procedure: &mut Procedure) -> Option<()> {
    let key = &purchase.key;
    let system = match key.operating_system {
        OperatingSystem::Linux => "Linux/UNIX",
        OperatingSystem::Windows => "Windows",
        OperatingSystem::Rhel => "Red Hat Enterprise Linux",
        OperatingSystem::Sles => "SUSE Linux",
        OperatingSystem::UbuntuPro | OperatingSystem::OtherLicensed => return None,
    };
    let tenancy = match key.tenancy {
        Tenancy::Shared => "default",
        Tenancy::Dedicated => "dedicated",
        Tenancy::Host => return None,
    };
    let (region, instance_type) = (&key.region, &key.instance_type);
    let (payment, seconds) = (payment(term), seconds(term));
    let price = purchase.term.effective_hourly.amount().normalize();
    let (count, what) = (purchase.count, purchase.what());
    steps! { procedure.before;
        read "reserved instances of this type that exist already", "aws ec2 describe-reserved-instances --region {} --filters Name=state,Values=active,payment-pending Name=instance-type,Values={} --query 'ReservedInstances[].[ReservedInstancesId, InstanceCount, End]' --output text", region, instance_type;
        read "its price today: the plan counts with {price}/h, upfront spread over the term", "aws ec2 describe-reserved-instances-offerings --region {} --instance-type {} --product-description {} --instance-tenancy {} --offering-class standard --offering-type {} --min-duration {} --max-duration {} --filters Name=scope,Values=Region --no-include-marketplace --query 'ReservedInstancesOfferings[].[FixedPrice, UsagePrice, RecurringCharges[0].Amount]' --output text", region, instance_type, system, tenancy, payment, seconds, seconds;
    }
    steps! { procedure.steps;
        keep ["OFFERING_ID"] "the offering", "aws ec2 describe-reserved-instances-offerings --region {} --instance-type {} --product-description {} --instance-tenancy {} --offering-class standard --offering-type {} --min-duration {} --max-duration {} --filters Name=scope,Values=Region --no-include-marketplace --query ReservedInstancesOfferings[].ReservedInstancesOfferingId --output text", region, instance_type, system, tenancy, payment, seconds, seconds;
        run "buy {count} × {what}", "aws ec2 purchase-reserved-instances-offering --region {} --reserved-instances-offering-id $OFFERING_ID --instance-count {}", region, count;
    }
    procedure.back.push(step! { manual "AWS cancels no reserved instance: a registered seller can offer a standard one in the Reserved Instance Marketplace (`aws ec2 create-reserved-instances-listing`)" });
    Some(())
}

/// Savings plans are global: one endpoint answers for every region of the partition.
fn plan(purchase: &Purchase, term: CommitmentTerm, procedure: &mut Procedure) {
    let key = &purchase.key;
    let (payment, seconds) = (payment(term), seconds(term));
    let currency = purchase.on_demand_hourly.currency().code();
    let hourly = purchase.term.effective_hourly.amount() * Decimal::from(purchase.count);
    let hourly = hourly.round_dp(5).normalize().to_string();
    procedure.before.push(step! { read "savings plans that exist already", "aws savingsplans describe-savings-plans --states active" });
    steps! { procedure.steps;
        keep ["OFFERING_ID"] "the offering", "aws savingsplans describe-savings-plans-offerings --product-type EC2 --plan-types EC2Instance --payment-options {} --durations {} --currencies {} --filters name=region,values={} name=instanceFamily,values={} --query searchResults[].offeringId --output text", payment, seconds, currency, &key.region, key.family();
        run "commit to {hourly} per hour, used or not", "aws savingsplans create-savings-plan --savings-plan-offering-id $OFFERING_ID --commitment {}", hourly;
    }
    procedure.back.push(step! { manual "it can be returned until the time that `aws savingsplans describe-savings-plans` shows as `returnableUntil` (`aws savingsplans return-savings-plan`); after that nothing ends it" });
}

/// Cancels a capacity reservation that nothing runs in; absent where it is used in part.
pub(super) fn cancel(fix: &ReservationFix<'_>) -> Option<Procedure> {
    let reservation = fix.reservation?;
    let is_unused = fix.row.mean_room == Some(Decimal::from(reservation.total));
    if !is_unused || fix.is_lowered_before || fix.row.is_shared {
        return None;
    }
    let (id, region, total) = (&reservation.id, &reservation.region, reservation.total);
    let mut procedure = Procedure::default();
    procedure.before.push(step! { expect [format!("{total} {total}")] "{id}: its instances, and how many of them are free", "aws ec2 describe-capacity-reservations --region {} --capacity-reservation-ids {} --query 'CapacityReservations[].[TotalInstanceCount, AvailableInstanceCount]' --output text", region, id });
    procedure.steps.push(step! { run "cancel {id}", "aws ec2 cancel-capacity-reservation --region {} --capacity-reservation-id {}", region, id });
    procedure.back.push(step! { typed "reserve it again, as far as there is capacity; set PLATFORM, such as Linux/UNIX", "aws ec2 create-capacity-reservation --region {} --instance-type {} --instance-platform $PLATFORM --availability-zone {} --instance-count {}", region, &reservation.instance_type, &reservation.zone, total });
    Some(procedure)
}
