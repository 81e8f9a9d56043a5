//! Buying commitments, and cancelling capacity that nothing runs in.

use super::checks::account;
use super::command::Command;
use super::procedure::{Procedure, Step};
use crate::analysis::ReservationFix;
use crate::domain::{
    CommitmentTerm, OperatingSystem, PaymentOption, PriceOption, Provider, Tenancy,
};
use crate::report::promises::promised;
use crate::savings::{Purchase, ScopeChange};
use rust_decimal::Decimal;

const OFFERING: &str = "OFFERING_ID";

/// Buys what a plan buys; absent where a person has to.
pub(super) fn buy(purchase: &Purchase) -> Option<Procedure> {
    if purchase.key.provider != Provider::Aws {
        return None;
    }
    let mut procedure = Procedure::default();
    procedure.before.push(match &purchase.account {
        Some(id) => account(id),
        None => Step::manual(
            "use credentials of the account that buys commitments, such as the payer of the \
             organization",
        ),
    });
    procedure.before.push(Step::manual(
        "check that the other actions on these workloads are done and stay: it is sized by what \
         runs after them",
    ));
    let steps = purchase.steps.iter().cloned();
    procedure.before.extend(steps.map(Step::manual));
    if let Some(promised) = promised(purchase) {
        let agreed = format!("have whoever pays agree to {promised}");
        procedure.before.push(Step::manual(agreed));
    }
    match purchase.term.option {
        PriceOption::Reserved(term) => reserve(purchase, term, &mut procedure)?,
        PriceOption::Ec2InstanceSavingsPlan(term) => plan(purchase, term, &mut procedure)?,
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
    let ScopeChange {
        id, zone, region, ..
    } = change;
    let modify = |scope: String| {
        Command::aws("ec2", "modify-reserved-instances", region)
            .with("--reserved-instances-ids", id)
            .with("--target-configurations", &scope)
    };
    let count = format!("InstanceCount={}", change.count);
    let mut procedure = Procedure::default();
    procedure.before.push(Step::manual(format!(
        "check that nobody counts on capacity in {zone}: the reservation then holds none"
    )));
    procedure.steps.push(Step::run(
        format!("change its scope from {zone} to {region}"),
        modify(format!("Scope=Region,{count}")),
    ));
    procedure.back.push(Step::run(
        format!("change its scope back to {zone}"),
        modify(format!("AvailabilityZone={zone},{count}")),
    ));
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
    let owned = Command::aws("ec2", "describe-reserved-instances", &key.region)
        .each(
            "--filters",
            [
                "Name=state,Values=active,payment-pending".to_owned(),
                format!("Name=instance-type,Values={}", key.instance_type),
            ],
        )
        .prints("ReservedInstances[].[ReservedInstancesId, InstanceCount, End]");
    let offerings = || {
        Command::aws("ec2", "describe-reserved-instances-offerings", &key.region)
            .with("--instance-type", &key.instance_type)
            .with("--product-description", system)
            .with("--instance-tenancy", tenancy)
            .with("--offering-class", "standard")
            .with("--offering-type", payment(term))
            .with("--min-duration", &seconds(term))
            .with("--max-duration", &seconds(term))
            .each("--filters", ["Name=scope,Values=Region"])
            .flag("--no-include-marketplace")
    };
    let prices = offerings().prints(
        "ReservedInstancesOfferings[].[FixedPrice, UsagePrice, RecurringCharges[0].Amount]",
    );
    let about = format!(
        "its price today: the plan counts with {}/h, upfront spread over the term",
        purchase.term.effective_hourly.amount().normalize()
    );
    procedure.before.extend([
        Step::read("reserved instances of this type that exist already", owned),
        Step::read(about, prices),
    ]);
    let found = offerings().prints("ReservedInstancesOfferings[].ReservedInstancesOfferingId");
    let buy = Command::aws("ec2", "purchase-reserved-instances-offering", &key.region)
        .kept("--reserved-instances-offering-id", OFFERING)
        .with("--instance-count", &purchase.count.to_string());
    let about = format!("buy {} × {}", purchase.count, purchase.what());
    procedure.steps.extend([
        Step::keep("the offering", OFFERING, found),
        Step::run(about, buy),
    ]);
    procedure.back.push(Step::manual(
        "AWS cancels no reserved instance: a registered seller can offer a standard one in the \
         Reserved Instance Marketplace (`aws ec2 create-reserved-instances-listing`)",
    ));
    Some(())
}

fn plan(purchase: &Purchase, term: CommitmentTerm, procedure: &mut Procedure) -> Option<()> {
    let key = &purchase.key;
    // Savings plans are global: one endpoint answers for every region of the partition.
    let act = |operation: &str| Command::new(&["aws", "savingsplans", operation]);
    let owned = act("describe-savings-plans").each("--states", ["active"]);
    let found = act("describe-savings-plans-offerings")
        .flag("--product-type")
        .flag("EC2")
        .each("--plan-types", ["EC2Instance"])
        .each("--payment-options", [payment(term)])
        .each("--durations", [seconds(term)])
        .each(
            "--currencies",
            [purchase.on_demand_hourly.currency().code()],
        )
        .each(
            "--filters",
            [
                format!("name=region,values={}", key.region),
                format!("name=instanceFamily,values={}", key.family()),
            ],
        )
        .prints("searchResults[].offeringId");
    let hourly = purchase.term.effective_hourly.amount() * Decimal::from(purchase.count);
    let hourly = hourly.round_dp(5).normalize().to_string();
    let buy = act("create-savings-plan")
        .kept("--savings-plan-offering-id", OFFERING)
        .with("--commitment", &hourly);
    procedure
        .before
        .push(Step::read("savings plans that exist already", owned));
    procedure.steps.extend([
        Step::keep("the offering", OFFERING, found),
        Step::run(format!("commit to {hourly} per hour, used or not"), buy),
    ]);
    procedure.back.push(Step::manual(
        "it can be returned until the time that `aws savingsplans describe-savings-plans` shows \
         as `returnableUntil` (`aws savingsplans return-savings-plan`); after that nothing ends it",
    ));
    Some(())
}

/// Cancels a capacity reservation that nothing runs in; absent where it is used in part.
pub(super) fn cancel(fix: &ReservationFix<'_>) -> Option<Procedure> {
    let reservation = fix.reservation?;
    let is_unused = fix.row.mean_room == Some(Decimal::from(reservation.total));
    if !is_unused || fix.is_lowered_before || fix.row.is_shared {
        return None;
    }
    let id = &reservation.id;
    let region = &reservation.region;
    let free = Command::aws("ec2", "describe-capacity-reservations", region)
        .each("--capacity-reservation-ids", [id])
        .prints("CapacityReservations[].[TotalInstanceCount, AvailableInstanceCount]");
    let total = reservation.total;
    let cancel = Command::aws("ec2", "cancel-capacity-reservation", region)
        .with("--capacity-reservation-id", id);
    let again = Command::aws("ec2", "create-capacity-reservation", region)
        .with("--instance-type", &reservation.instance_type)
        .kept("--instance-platform", "PLATFORM")
        .with("--availability-zone", &reservation.zone)
        .with("--instance-count", &total.to_string());
    let about = "reserve it again, as far as there is capacity; set PLATFORM, such as Linux/UNIX";
    Some(Procedure {
        before: vec![Step::expect(
            format!("{id}: its instances, and how many of them are free"),
            free,
            format!("{total} {total}"),
        )],
        steps: vec![Step::run(format!("cancel {id}"), cancel)],
        back: vec![Step::typed(about, again)],
        ..Procedure::default()
    })
}
