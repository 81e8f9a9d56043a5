//! `gpucost inventory`: the instances with their shape, state, purchase option and price, and
//! what clusters and SageMaker know beside them.

use super::doc::{Doc, Record, Table, columns, doc_schema, tables};
use super::reserved::{CURRENCIES, ORIGINS, SYSTEMS};
use super::shared::text::{ABSENT, counted, currency_code, joined, json_account, money_or_absent};
use super::shared::view::{RowFacts, team_of};
use crate::analysis::{ListedHost, ListedInstance, ListedJob, ListedNode, Listing};
use crate::domain::{
    AcceleratorKind, Claim, ClaimState, Copies, Currency, DeviceUnit, GpuOffer, HourlyRate,
    InferenceComponent, Instance, InstanceState, JobStatus, Lifecycle, Money, Node, NodeDevices,
    PlanStatus, PurchaseOption, Scheduler, Tenancy, TrainingPlan, Volume,
};
use rust_decimal::Decimal;

columns! {
    fn document<'a>(listing: Listing<'a>) {
        time "as_of", "", Data, listing.estate.as_of, "";
        texts "accounts", "", Data, listing.estate.accounts.clone(), "";
        texts "regions", "", Data, listing.estate.regions.clone(), "";
    }

    fn instances<'a>(row: &'a ListedInstance<'a>) {
        text "id", "", Data, row.instance.id.to_string(), "";
        text "native", "id", Screen, row.instance.id.native().to_owned(), "";
        opt text "name", "name", Narrow(0), row.instance.name().map(str::to_owned), "";
        opt text "account", "account", Wide, json_account(&row.instance.account), "null for a node that only its cluster shows.";
        text "region", "region", Narrow(1), row.instance.region.clone(), "";
        opt text "zone", "zone", Wide, row.instance.zone.clone(), "";
        text "instance_type", "type", Narrow(0), row.instance.instance_type.clone(), "";
        word[InstanceState::NAMES] "state", "", Data, row.instance.state.name(), "";
        word[PurchaseOption::NAMES] "purchase_option", "", Data, row.purchase_option.name(), "How its hours are paid for.";
        text "bought_as", "bought as", Screen, if row.instance.state.is_running() { row.purchase_option.name() } else { row.instance.state.name() }.to_owned(), "";
        opt text "capacity_reservation_id", "", Data, row.instance.capacity_reservation_id.clone(), "";
        opt word[AcceleratorKind::NAMES] "accelerator", "accelerator", Wide, row.shape.map(|shape| shape.accelerator.name()), "null for an unknown type.";
        text "gpu.model", "gpu", Narrow(2), offer(row).map(|gpu| gpu.model.name().to_owned()), "";
        quantity "gpu.count", "gpus", Narrow(3), offer(row).map(|gpu| gpu.share.count()), "GPUs per machine; a part of one where the machine has a part.";
        opt count "gpu.vram_mib", "", Data, offer(row).and_then(|gpu| gpu.vram_mib), "Of each GPU, in MiB.";
        opt count "vcpu", "", Data, row.shape.map(|shape| shape.vcpu), "";
        opt count "memory_mib", "", Data, row.shape.map(|shape| shape.memory_mib), "In MiB.";
        word[SYSTEMS] "operating_system", "os", Wide, row.instance.operating_system.name(), "";
        word[Tenancy::NAMES] "tenancy", "", Data, row.instance.tenancy.name(), "";
        time "launch_time", "launched", Wide, row.instance.launch_time, "";
        opt text "auto_scaling_group", "group", Wide, row.instance.auto_scaling_group.clone(), "";
        opt word[CURRENCIES] "currency", "", Data, currency(row), "Of its cost; null if no part has a price.";
        opt price "hourly_cost", "per hour", Narrow(0), row.hourly.map(HourlyRate::an_hour), "While it runs; null if stopped or unpriced.";
        opt word[ORIGINS] "price_origin", "price from", Wide, row.quote.as_ref().map(|quote| quote.origin.name()), "";
        opt date "price_effective_date", "price date", Wide, row.quote.as_ref().map(|quote| quote.effective_date), "";
        opt money "idle_storage_monthly_cost", "idle per month", Wide, idle_monthly(row), "For a stopped instance: per month, of its volumes and addresses that have a price.";
        opt count "volume_gib", "volumes GiB", Wide, known(row.instance, &row.instance.volumes).and_then(|volumes| volumes.iter().map(|volume| volume.size_gib).sum::<Option<u64>>()), "In GiB, of its volumes; null if they were not read or a size is unknown.";
        opt rows[volumes] "volumes", "", Data, known(row.instance, &row.instance.volumes), "null if they were not read.";
        opt texts "addresses", "addresses", Wide, known(row.instance, &row.instance.addresses).map(|addresses| addresses.iter().map(|address| address.id.clone()).collect::<Vec<_>>()), "null if they were not read.";
        pairs "tags", "", Data, &row.instance.tags, "";
    }

    fn volumes<'a>(volume: &'a Volume) {
        text "id", "", Data, volume.id.clone(), "";
        opt text "volume_type", "", Data, volume.volume_type.clone(), "";
        opt count "size_gib", "", Data, volume.size_gib, "In GiB.";
    }

    fn nodes<'a>(row: &'a ListedNode) {
        text "name", "node", Narrow(0), row.node.name.clone(), "";
        word[Scheduler::NAMES] "scheduler", "", Data, row.node.scheduler.name(), "";
        opt text "cluster", "", Data, row.node.cluster.clone(), "";
        text "instance", "", Data, row.node.machine.to_string(), "ID of its instance.";
        opt word[Lifecycle::NAMES] "price_class", "", Data, row.node.price_class.map(Lifecycle::name), "";
        opt flag "ready", "", Data, row.node.is_ready, "";
        flag "cordoned", "", Data, row.node.is_cordoned, "";
        opt count "pods", "", Data, row.node.pods, "Pods that have not ended; null if unknown.";
        opt count "cpu_only_pods", "", Data, row.node.cpu_only_pods, "Those that request no device; null if unknown.";
        opt quantity "gpus.physical", "gpus", Narrow(0), row.devices.physical, "In physical devices, as all of them.";
        quantity "gpus.allocatable", "allocatable", Narrow(0), row.devices.allocatable, "";
        opt quantity "gpus.requested", "requested", Narrow(0), row.devices.requested, "";
        opt quantity "gpus.free", "free", Narrow(0), row.devices.free(), "Allocatable and not requested.";
        opt quantity "gpus.unallocated", "", Data, row.devices.unallocated(), "Physical and not requested.";
        text "state", "state", Screen, state(&row.node).to_owned(), "";
        opt text "pool", "pool", Narrow(0), row.node.pool.clone(), "";
        rows[node_devices] "devices", "", Data, &row.node.devices, "";
        count "cpu_millicores.capacity", "", Data, row.node.cpu_millicores.capacity, "";
        count "cpu_millicores.allocatable", "", Data, row.node.cpu_millicores.allocatable, "";
        opt count "cpu_millicores.requested", "", Data, row.node.cpu_millicores.requested, "null where unknown.";
        count "memory_mib.capacity", "", Data, row.node.memory_mib.capacity, "";
        count "memory_mib.allocatable", "", Data, row.node.memory_mib.allocatable, "";
        opt count "memory_mib.requested", "", Data, row.node.memory_mib.requested, "null where unknown.";
    }

    fn node_devices<'a>(row: (&'a String, &'a NodeDevices)) {
        text "resource", "", Data, row.0.clone(), "";
        opt text "profile", "", Data, profile(&row.1.unit), "The MIG profile of one unit.";
        opt count "replicas", "", Data, replicas(&row.1.unit), "How many share one unit.";
        count "capacity", "", Data, row.1.capacity, "";
        count "allocatable", "", Data, row.1.allocatable, "";
    }

    fn claims<'a>(claim: &'a Claim) {
        text "namespace", "namespace", Narrow(0), claim.holder.namespace.clone(), "";
        opt text "pod", "pod", Narrow(0), claim.holder.pod.clone(), "";
        text "owner.kind", "", Data, claim.holder.owner.as_ref().map(|owner| owner.kind.clone()), "";
        text "owner.name", "owner", Narrow(2), claim.holder.owner.as_ref().map(|owner| owner.name.clone()), "";
        pairs "labels", "", Data, &claim.holder.labels, "";
        text "resource", "resource", Wide, claim.devices.resource.clone(), "";
        opt text "profile", "profile", Wide, profile(&claim.devices.unit), "";
        opt count "replicas", "", Data, replicas(&claim.devices.unit), "";
        count "count", "", Data, claim.devices.count, "Units that it holds or waits for.";
        quantity "gpus", "gpus", Narrow(0), claim.devices.physical(), "The same in physical devices.";
        word[ClaimState::NAMES] "state", "state", Narrow(0), claim.state.name(), "";
        opt time "since", "since", Narrow(1), claim.since, "";
        opt text "instance", "instance", Wide, claim.machine.as_ref().map(ToString::to_string), "null while it is pending.";
    }

    fn hosts<'a>(row: &'a ListedHost<'a>) {
        text "endpoint", "endpoint", Screen, row.host.group.strip_prefix("endpoint/").unwrap_or(&row.host.group).to_owned(), "";
        opt text "account", "", Data, json_account(&row.host.account), "";
        text "group", "", Data, row.host.group.clone(), "";
        texts "instances", "", Data, row.instances.iter().map(ToString::to_string).collect::<Vec<_>>(), "";
        opt quantity "gpus", "gpus", Narrow(0), row.gpus, "null if the type of an instance is unknown.";
        opt quantity "reserved_gpus", "reserved", Narrow(0), row.reserved, "";
        opt quantity "unreserved_gpus", "unreserved", Narrow(0), row.unreserved(), "";
        opt word[CURRENCIES] "currency", "", Data, currency_code(row.unreserved_hourly), "";
        opt money "unreserved_hourly_cost", "unreserved per hour", Narrow(0), row.unreserved_hourly, "Per hour, of GPUs that no component reserves; part of the cost of the instances.";
        text "region", "region", Narrow(0), row.host.region.clone(), "";
        text "copies", "copies", Screen, copies_in_words(&row.host.components), "";
        rows[components] "components", "", Data, &row.host.components, "";
    }

    fn components<'a>(component: &'a InferenceComponent) {
        text "name", "", Data, component.name.clone(), "";
        opt count "desired_copies", "", Data, component.desired_copies, "";
        rows[copies] "copies", "", Data, &component.copies, "";
    }

    fn copies<'a>(copies: &'a Copies) {
        opt text "instance_type", "", Data, copies.instance_type.clone(), "";
        count "count", "", Data, copies.count, "";
        opt quantity "gpus_each", "", Data, copies.gpus_each, "";
    }

    fn plans<'a>(plan: &'a TrainingPlan) {
        text "name", "plan", Screen, plan.name().to_owned(), "";
        text "id", "", Data, plan.id.clone(), "";
        opt text "account", "", Data, json_account(&plan.account), "";
        opt word[CURRENCIES] "currency", "", Data, currency_code(plan.fee()), "";
        opt money "upfront_fee", "fee", Narrow(0), plan.fee(), "Paid once for all instances.";
        opt price "effective_hourly", "per hour each", Narrow(0), plan.effective_hourly().map(HourlyRate::an_hour), "The fee for one hour of one instance; null if unknown.";
        opt text "use", "in use", Screen, plan.in_use.zip(plan.total).map(|(used, total)| format!("{used} of {total}")), "";
        opt count "total", "", Data, plan.total, "";
        opt count "in_use", "", Data, plan.in_use, "";
        opt word[PlanStatus::NAMES] "status", "status", Narrow(0), plan.status.map(PlanStatus::name), "";
        opt time "start", "from", Narrow(2), plan.start, "";
        opt time "end", "until", Narrow(1), plan.end, "";
        opt count "duration_minutes", "", Data, plan.duration_minutes, "";
        text "region", "region", Narrow(3), plan.region.clone(), "";
        text "machines", "instances", Screen, machines(&plan.instances), "";
        rows[parts] "instances", "", Data, &plan.instances, "";
    }

    fn parts<'a>(part: &'a (String, u32)) {
        text "instance_type", "", Data, part.0.clone(), "";
        count "count", "", Data, part.1, "";
    }

    fn jobs<'a>(row: &'a ListedJob<'a>) {
        text "name", "job", Narrow(0), row.job.name.clone(), "";
        opt text "account", "", Data, json_account(&row.job.account), "";
        opt word[CURRENCIES] "currency", "", Data, currency_code(row.cost.or(row.warm_pool_cost)), "";
        text "price", "cost", Screen, job_cost(row), "";
        opt money "cost", "", Data, row.cost, "null while it runs, if a training plan paid for it, or if a type has no price.";
        opt money "warm_pool_cost", "warm pool", Narrow(0), row.warm_pool_cost, "In addition to cost.";
        opt number "billable_hours", "billable hours", Screen, row.job.billable_seconds.map(|seconds| f64::from(seconds) / 3_600.0), "";
        opt percent[100] "spot_saving_percent", "spot saving", Narrow(0), row.job.spot_saving_percent(), "Share of the training time that is not billed.";
        opt word[JobStatus::NAMES] "status", "status", Narrow(0), row.job.status.map(JobStatus::name), "";
        text "region", "region", Narrow(1), row.job.region.clone(), "";
        text "machines", "instances", Screen, machines(&row.job.instances), "";
        rows[parts] "instances", "", Data, &row.job.instances, "";
        opt time "started", "started", Wide, row.job.started, "";
        opt time "ended", "ended", Wide, row.job.ended, "";
        opt count "billable_seconds", "", Data, row.job.billable_seconds, "Of each instance; null while unknown.";
        opt count "training_seconds", "", Data, row.job.training_seconds, "";
        opt count "warm_pool_seconds", "", Data, row.job.warm_pool_seconds, "";
        flag "spot", "", Data, row.job.is_spot, "";
        flag "checkpoints", "", Data, row.job.has_checkpoints, "";
        opt text "training_plan", "", Data, row.job.plan.clone(), "";
    }
}

/// The inventory as a document. `shown` are the places of the instances to list, in order.
pub fn inventory_doc(listing: &Listing<'_>, shown: &[usize]) -> Doc {
    let mut tables = tables(Some(listing), shown);
    for (table, title) in tables.iter_mut().zip(titles(listing)) {
        table.title = title;
    }
    let hidden = (listing.instances.len() - shown.len()) as u64;
    if hidden > 0 {
        let others = counted(hidden, "other instance", "other instances");
        tables[0].notes.push(format!("{others} outside of the filters"));
    }
    tables.retain(|table| !table.is_optional || !table.rows.is_empty());
    let instances = counted(listing.instances.len(), "instance", "instances");
    let place = match &listing.estate.regions[..] {
        [region] => region.clone(),
        regions => counted(regions.len(), "region", "regions"),
    };
    Doc {
        name: "inventory",
        headline: format!("{instances} in {place}"),
        record: Record::of(document(), listing),
        tables,
        gaps: Some(listing.gaps.clone()),
        ..Doc::default()
    }
}

schema! {
    /// The JSON schema of `gpucost inventory`.
    inventory_schema: "inventory", [Doc::form_with_gaps(Record::heads(document()), tables(None, &[]))],
    "The instances with their shape, state and price; docs/json.md has the promises of every document. Rates per hour have up to six decimals, amounts per month cents. Keys may be added within a schema version."
}

/// The tables, titled as their schema describes them.
fn tables<'a>(listing: Option<&'a Listing<'a>>, shown: &'a [usize]) -> Vec<Table> {
    let listings = || listing.into_iter();
    let chosen = listings()
        .flat_map(|listing| shown.iter().filter_map(move |place| listing.instances.get(*place)));
    let tables = tables! {
        "instances", "Sorted by account, region, type and ID.", ("instance", "instances"), instances(), chosen;
        "nodes", "Machines of clusters; absent where none was read.", ("node", "nodes"), nodes(), listings().flat_map(|listing| &listing.nodes), is_optional: true;
        "claims", "Devices that pods hold or wait for; absent where none was read.", ("claim", "claims"), claims(), listings().flat_map(|listing| &listing.claims), is_optional: true;
        "component_hosts", "Variants of SageMaker endpoints; absent where none was read.", ("endpoint", "endpoints"), hosts(), listings().flat_map(|listing| &listing.hosts), is_optional: true;
        "training_plans", "Training plans of SageMaker; absent where there are none.", ("plan", "plans"), plans(), listings().flat_map(|listing| &listing.estate.managed.plans), is_optional: true;
        "training_jobs", "Training jobs of SageMaker, the most expensive first; absent where none was read.", ("job", "jobs"), jobs(), listings().flat_map(|listing| &listing.jobs), is_optional: true;
    };
    tables.into()
}

fn titles(listing: &Listing<'_>) -> [String; 6] {
    let held = counted(listing.claims.len(), "claim", "claims");
    let pending = listing.claims.iter().filter(|claim| claim.state == ClaimState::Pending);
    let (nodes, waiting) = (counted(listing.nodes.len(), "node", "nodes"), pending.count());
    let components = listing.hosts.iter().map(|host| host.host.components.len());
    let components = counted(components.sum::<usize>(), "component", "components");
    let endpoints = counted(listing.hosts.len(), "endpoint variant", "endpoint variants");
    let plans = counted(listing.estate.managed.plans.len(), "plan", "plans");
    let jobs = counted(listing.jobs.len(), "job", "jobs");
    [
        "INSTANCES".to_owned(),
        format!("NODES  {nodes}, {held} by {}, {waiting} waiting", holders(listing)),
        format!("CLAIMS  {held}"),
        format!("INFERENCE COMPONENTS  {components} on {endpoints}"),
        format!("TRAINING PLANS  {plans}, prepaid and in no monthly cost"),
        format!("TRAINING JOBS  {jobs}, billed in the past and in no monthly cost"),
    ]
}

/// What instances are chosen and sorted by, in their order.
pub fn inventory_rows(listing: &Listing<'_>) -> Vec<RowFacts> {
    let of = |listed: &ListedInstance<'_>| {
        let instance = listed.instance;
        let native = instance.id.native().to_owned();
        RowFacts {
            names: vec![instance.name().map_or(native.clone(), str::to_owned), native],
            instance_type: instance.instance_type.clone(),
            region: instance.region.clone(),
            team: team_of(&instance.tags).map(str::to_owned),
            cost: listed.hourly.map(|rate| rate.times_hours(Decimal::ONE)),
            ..RowFacts::default()
        }
    };
    listing.instances.iter().map(of).collect()
}

fn offer<'a>(listed: &ListedInstance<'a>) -> Option<&'a GpuOffer> {
    listed.shape.and_then(|shape| shape.gpu.as_ref())
}

/// What a stopped instance costs each month; absent when nothing is priced.
fn idle_monthly(listed: &ListedInstance<'_>) -> Option<Money> {
    listed.idle_storage.as_ref().and_then(|costs| costs.monthly)
}

/// The currency of what it costs; absent when nothing of it is priced.
fn currency(listed: &ListedInstance<'_>) -> Option<&'static str> {
    let running = listed.hourly.map(|rate| rate.currency());
    running.or(idle_monthly(listed).map(Money::currency)).map(Currency::code)
}

/// Volumes or addresses of an instance; absent when they were not read: they
/// are read for stopped ones alone, where they are what still costs.
fn known<'a, T>(instance: &Instance, resources: &'a [T]) -> Option<&'a [T]> {
    let unread = instance.state.is_running() && resources.is_empty();
    (!unread).then_some(resources)
}

/// Who claims devices of the nodes.
fn holders(listing: &Listing<'_>) -> &'static str {
    let has = |scheduler| listing.nodes.iter().any(|row| row.node.scheduler == scheduler);
    match (has(Scheduler::Kubernetes), has(Scheduler::Ecs)) {
        (true, true) => "pods and tasks",
        (false, true) => "tasks",
        (_, false) => "pods",
    }
}

fn state(node: &Node) -> &'static str {
    match (node.scheduler, node.is_ready, node.is_cordoned) {
        (Scheduler::Kubernetes, Some(false), true) => "not ready, cordoned",
        (Scheduler::Kubernetes, Some(false), false) => "not ready",
        (Scheduler::Kubernetes, _, true) => "cordoned",
        (Scheduler::Ecs, Some(false), true) => "agent not connected, draining",
        (Scheduler::Ecs, Some(false), false) => "agent not connected",
        (Scheduler::Ecs, _, true) => "draining",
        (_, Some(true), false) => "ready",
        (_, None, false) => ABSENT,
    }
}

fn profile(unit: &DeviceUnit) -> Option<String> {
    if let DeviceUnit::Slice { profile, .. } = unit { Some(profile.clone()) } else { None }
}

/// Among how many a unit is shared; absent for one that is not.
fn replicas(unit: &DeviceUnit) -> Option<u32> {
    match unit {
        DeviceUnit::Whole => None,
        DeviceUnit::Replica { per_device } => Some(*per_device),
        DeviceUnit::Slice { replicas, .. } => Some(*replicas).filter(|number| *number > 1),
    }
}

/// Copies of each component, such as `2 × llama`.
fn copies_in_words(components: &[InferenceComponent]) -> Option<String> {
    let copies = components.iter().map(|component| (component.current_copies(), &component.name));
    let copies = joined(copies.map(|(number, name)| format!("{number} × {name}")), ", ");
    (!copies.is_empty()).then_some(copies)
}

/// Numbers of instances by type, such as `2 × ml.g5.xlarge`.
fn machines(parts: &[(String, u32)]) -> String {
    joined(parts.iter().map(|(name, count)| format!("{count} × {name}")), ", ")
}

fn job_cost(listed: &ListedJob<'_>) -> String {
    match listed.cost {
        None if listed.job.plan.is_some() => "prepaid".to_owned(),
        None if listed.is_unpriced => "unpriced".to_owned(),
        cost => money_or_absent(cost),
    }
}
