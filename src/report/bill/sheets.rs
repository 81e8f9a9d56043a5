//! Rows of a bill.

use super::comparison;
use super::figures::{Amounts, hours, percent, text};
use super::origin::BillOrigin;
use crate::billing::{
    Bill, CurrencyBill, DerivedRate, InstanceCost, Parts, RateRefusal, percent_of,
};
use crate::domain::PurchaseOption;
use crate::report::doc::{Head, Table, Value, column, detail};

const INSTANCES: [Head; 16] = [
    column("instance", "instance"),
    detail("account", "account"),
    column("region", "region"),
    column("instance_type", "type"),
    column("purchase_options", "paid as"),
    column("hours", "hours"),
    detail("gpu_hours", "GPU hours"),
    column("list_cost", "list"),
    detail("contracted_cost", "contracted"),
    column("effective_cost", "effective"),
    detail("billed_cost", "billed"),
    column("transfer_cost", "transfer"),
    detail("volumes_cost", "volumes"),
    detail("addresses_cost", "addresses"),
    detail("lines_without_effective_cost", "no effective cost"),
    detail("currency", "currency"),
];
const TYPES: [Head; 16] = [
    column("region", "region"),
    column("instance_type", "type"),
    detail("instances", "instances"),
    column("hours", "hours"),
    detail("gpu_hours", "GPU hours"),
    detail("on_demand_hours", "on-demand h"),
    detail("reserved_hours", "reserved h"),
    detail("savings_plan_hours", "savings plan h"),
    detail("spot_hours", "spot h"),
    column("list_cost", "list"),
    detail("contracted_cost", "contracted"),
    column("effective_cost", "effective"),
    column("billed_cost", "billed"),
    column("coverage_percent", "covered"),
    column("savings_percent", "saved"),
    detail("currency", "currency"),
];
const KINDS: [Head; 8] = [
    column("kind", "kind"),
    column("lines", "lines"),
    column("list_cost", "list"),
    detail("contracted_cost", "contracted"),
    column("effective_cost", "effective"),
    column("billed_cost", "billed"),
    detail("lines_without_effective_cost", "no effective cost"),
    detail("currency", "currency"),
];
const UNUSED: [Head; 7] = [
    column("reservation", "reservation"),
    detail("account", "account"),
    column("region", "region"),
    column("instance_type", "type"),
    column("hours", "hours"),
    column("effective_cost", "effective"),
    detail("currency", "currency"),
];
const COMMITMENTS: [Head; 9] = [
    column("commitment", "commitment"),
    column("purchase_option", "kind"),
    detail("instance_types", "GPU types"),
    column("used_cost", "used"),
    column("used_by_gpu_instances_cost", "by GPU instances"),
    column("unused_cost", "unused"),
    column("utilization_percent", "utilization"),
    detail("fees_cost", "fees"),
    detail("currency", "currency"),
];
const GROUPS: [Head; 6] = [
    column("group", "group"),
    column("gpu_hours", "GPU hours"),
    column("gpu_instances_cost", "GPU instances"),
    column("effective_cost", "effective"),
    column("share_percent", "share"),
    detail("currency", "currency"),
];
const PODS: [Head; 9] = [
    column("cluster", "cluster"),
    column("namespace", "namespace"),
    column("pod", "pod"),
    column("accelerator_hours", "GPU hours"),
    column("accelerators_cost", "GPUs"),
    column("others_cost", "others"),
    column("unused_cost", "unused"),
    column("effective_cost", "effective"),
    detail("currency", "currency"),
];
const RATES: [Head; 12] = [
    column("instance_type", "type"),
    column("region", "region"),
    detail("operating_system", "system"),
    detail("tenancy", "tenancy"),
    column("option", "option"),
    column("hours", "hours"),
    column("list_hourly", "list"),
    column("hourly", "paid"),
    column("discount_percent", "discount"),
    detail("effective_date", "last day"),
    column("note", "note"),
    detail("currency", "currency"),
];
const FILES: [Head; 3] = [
    column("file", "file"),
    column("form", "form"),
    column("rows", "rows"),
];

/// The sheets of a bill. Those that only some bills have are left out where they are empty.
pub(super) fn all(bill: &Bill, origin: &BillOrigin) -> Vec<Table> {
    let rows = |of: fn(&CurrencyBill) -> Vec<Vec<Value>>| -> Vec<Vec<Value>> {
        bill.currencies.iter().flat_map(of).collect()
    };
    let sheet = |key, title: &str, noun, columns: &[Head], rows| Table {
        key,
        title: title.to_owned(),
        noun,
        columns: columns.to_vec(),
        rows,
        ..Table::default()
    };
    let row = ("row", "rows");
    let group = match &bill.grouped_by {
        Some(key) => format!("GROUPS  by {key}"),
        None => String::new(),
    };
    let always = [
        sheet(
            "instances",
            "GPU INSTANCES  with their data transfer",
            ("instance", "instances"),
            &INSTANCES,
            rows(instances),
        ),
        sheet("types", "TYPES", ("type", "types"), &TYPES, rows(types)),
        sheet(
            "kinds",
            "KINDS OF LINES  of the whole bill",
            ("kind", "kinds"),
            &KINDS,
            rows(kinds),
        ),
    ];
    let sometimes = [
        sheet("groups", &group, ("group", "groups"), &GROUPS, rows(groups)),
        sheet(
            "commitments",
            "COMMITMENTS  at effective cost",
            ("commitment", "commitments"),
            &COMMITMENTS,
            rows(commitments),
        ),
        sheet(
            "unused_reservations",
            "RESERVED CAPACITY  in which nothing ran",
            ("reservation", "reservations"),
            &UNUSED,
            rows(unused_reservations),
        ),
        sheet(
            "pods",
            "PODS  parts of the instances above, not costs beside them",
            ("pod", "pods"),
            &PODS,
            rows(pods),
        ),
        sheet(
            "rates",
            "PRICES PER HOUR  that the bill shows",
            ("price", "prices"),
            &RATES,
            rows(rates),
        ),
        sheet("sources", "FILES", row, &FILES, files(origin)),
    ];
    let filled = sometimes.into_iter().filter(|one| !one.rows.is_empty());
    let always = always.into_iter().chain(comparison::sheets(bill));
    always.chain(filled).collect()
}

fn options(parts: &Parts) -> Value {
    let names: Vec<&str> = parts
        .options()
        .map(|option| option.map_or("unknown", PurchaseOption::name))
        .collect();
    Value::text(names.join(", "))
}

fn instances(bill: &CurrencyBill) -> Vec<Vec<Value>> {
    let amounts = Amounts(bill.currency);
    let row = |one: &InstanceCost| {
        let total = one.parts.total();
        vec![
            text(one.id.as_deref()),
            text(one.account.as_deref()),
            text(one.region.as_deref()),
            Value::text(&one.instance_type),
            options(&one.parts),
            hours(one.parts.hours().sum()),
            hours(one.gpu_hours()),
            amounts.sum(&total.list),
            amounts.sum(&total.contracted),
            amounts.sum(&total.effective),
            amounts.sum(&total.billed),
            amounts.of(one.transfer),
            amounts.of(one.volumes),
            amounts.of(one.addresses),
            Value::Count(total.effective.absent()),
            amounts.code(),
        ]
    };
    bill.instances.iter().map(row).collect()
}

fn types(bill: &CurrencyBill) -> Vec<Vec<Value>> {
    let amounts = Amounts(bill.currency);
    let rows = bill.types.iter().map(|one| {
        let total = one.parts.total();
        let all_hours = one.parts.hours().sum();
        let gpu_hours = one.gpus.zip(all_hours).map(|(gpus, hours)| gpus * hours);
        let of = |option| hours(one.parts.hours_of(option));
        vec![
            text(one.region.as_deref()),
            Value::text(&one.instance_type),
            Value::Count(one.instances),
            hours(all_hours),
            hours(gpu_hours),
            of(PurchaseOption::OnDemand),
            of(PurchaseOption::Reserved),
            of(PurchaseOption::SavingsPlan),
            of(PurchaseOption::Spot),
            amounts.sum(&total.list),
            amounts.sum(&total.contracted),
            amounts.sum(&total.effective),
            amounts.sum(&total.billed),
            percent(one.parts.coverage_percent()),
            percent(one.parts.savings_percent()),
            amounts.code(),
        ]
    });
    rows.collect()
}

fn kinds(bill: &CurrencyBill) -> Vec<Vec<Value>> {
    let amounts = Amounts(bill.currency);
    let rows = bill.kinds.iter().map(|one| {
        vec![
            Value::text(one.kind.name()),
            Value::Count(one.lines),
            amounts.sum(&one.costs.list),
            amounts.sum(&one.costs.contracted),
            amounts.sum(&one.costs.effective),
            amounts.sum(&one.costs.billed),
            Value::Count(one.costs.effective.absent()),
            amounts.code(),
        ]
    });
    rows.collect()
}

fn unused_reservations(bill: &CurrencyBill) -> Vec<Vec<Value>> {
    let amounts = Amounts(bill.currency);
    let row = |one: &InstanceCost| {
        vec![
            text(one.id.as_deref()),
            text(one.account.as_deref()),
            text(one.region.as_deref()),
            Value::text(&one.instance_type),
            hours(one.parts.hours().sum()),
            amounts.sum(&one.parts.total().effective),
            amounts.code(),
        ]
    };
    bill.unused_reservations.iter().map(row).collect()
}

fn commitments(bill: &CurrencyBill) -> Vec<Vec<Value>> {
    let amounts = Amounts(bill.currency);
    let rows = bill.commitments.iter().map(|one| {
        let types: Vec<&str> = one.types.iter().map(String::as_str).collect();
        vec![
            Value::text(&one.id),
            text(one.option.map(PurchaseOption::name)),
            Value::text(types.join(", ")),
            amounts.sum(&one.used),
            amounts.sum(&one.used_by_instances),
            amounts.sum(&one.unused),
            percent(one.utilization_percent()),
            amounts.sum(&one.fees),
            amounts.code(),
        ]
    });
    rows.collect()
}

fn groups(bill: &CurrencyBill) -> Vec<Vec<Value>> {
    let amounts = Amounts(bill.currency);
    let all = bill.total().effective.sum();
    let rows = bill.groups.iter().map(|one| {
        let share = one.all.sum().zip(all);
        let share = share.and_then(|(one, all)| percent_of(one, all));
        vec![
            text(one.value.as_deref()),
            hours(Some(one.gpu_hours)),
            amounts.sum(&one.instances),
            amounts.sum(&one.all),
            percent(share),
            amounts.code(),
        ]
    });
    rows.collect()
}

fn pods(bill: &CurrencyBill) -> Vec<Vec<Value>> {
    let amounts = Amounts(bill.currency);
    let rows = bill.pods.iter().map(|one| {
        vec![
            text(one.cluster.as_deref()),
            text(one.namespace.as_deref()),
            text(one.name.as_deref()),
            hours(one.accelerator_hours),
            amounts.sum(&one.accelerators),
            amounts.sum(&one.others),
            amounts.sum(&one.unused),
            amounts.of(one.total()),
            amounts.code(),
        ]
    });
    rows.collect()
}

fn rates(bill: &CurrencyBill) -> Vec<Vec<Value>> {
    let amounts = Amounts(bill.currency);
    let row = |one: &DerivedRate| {
        vec![
            Value::text(&one.key.instance_type),
            Value::text(&one.key.region),
            Value::text(one.key.operating_system.name()),
            Value::text(one.key.tenancy.name()),
            Value::text(one.key.option.to_string()),
            hours(Some(one.hours)),
            amounts.price(one.list_hourly),
            amounts.price(one.hourly),
            percent(one.discount_percent()),
            text(one.last_day.map(|day| day.to_string()).as_deref()),
            Value::text(note(one, amounts)),
            amounts.code(),
        ]
    };
    bill.rates.iter().map(row).collect()
}

fn note(rate: &DerivedRate, amounts: Amounts) -> String {
    match rate.refusal {
        None if rate.list_hourly.is_none() => "price of the commitment".to_owned(),
        None => "negotiated".to_owned(),
        Some(RateRefusal::Varies { least, most }) => {
            format!("from {} to {}", amounts.text(least), amounts.text(most))
        }
        Some(RateRefusal::Unstated { lines: 1 }) => "1 line states none".to_owned(),
        Some(RateRefusal::Unstated { lines }) => format!("{lines} lines state none"),
        Some(RateRefusal::Unlisted) => "no list price beside it".to_owned(),
        Some(RateRefusal::Public) => "public price".to_owned(),
        Some(RateRefusal::NotAPrice) => "not for a price file".to_owned(),
    }
}

fn files(origin: &BillOrigin) -> Vec<Vec<Value>> {
    let rows = origin.files.iter().map(|file| {
        vec![
            Value::text(&file.name),
            Value::text(file.form),
            Value::Count(file.rows),
        ]
    });
    rows.collect()
}
