//! Rows of a bill, and where it is from.

use super::comparison::{self, Amounts};
use crate::billing::{
    Bill, CommitmentUse, CurrencyBill, DerivedRate, GroupCost, InstanceCost, KindCost, Parts,
    PodCost, RateRefusal, Tally, TypeCost, percent_of,
};
use crate::domain::{BillFile, BillFiles, Currency, Money, PurchaseOption, Window};
use crate::report::doc::{Table, columns, rows};
use crate::report::reserved::CURRENCIES;
use rust_decimal::Decimal;

/// Where a bill is from.
#[derive(Debug, Clone, Default)]
pub struct BillOrigin {
    /// What was given on the command line.
    pub paths: Vec<String>,
    pub read: BillFiles,
    /// The currency of rows without one, where it was given by hand.
    pub stated_currency: Option<Currency>,
    /// What it is compared with.
    pub audit: Option<BillAudit>,
}

/// An audit that a bill is compared with.
#[derive(Debug, Clone)]
pub struct BillAudit {
    /// Flags that lead to the same estate, each with a blank before it.
    pub flags: String,
    /// The whole hours of UTC that it has read.
    pub hours: Window,
    /// Instances that a bill does not name as an estate does.
    pub skipped: u64,
    /// Days between the first and the last whose hours no run has kept.
    pub days_missing: u64,
}

/// A row, and the bill in whose currency its amounts are.
type Row<'a, T> = (&'a T, &'a CurrencyBill);

columns! {
    fn instances<'a>(row: Row<'a, InstanceCost>) {
        opt text "instance", "instance", Narrow(0), row.0.id.clone(), "";
        opt text "account", "account", Wide, row.0.account.clone(), "";
        opt text "region", "region", Narrow(0), row.0.region.clone(), "";
        text "instance_type", "type", Narrow(0), row.0.instance_type.clone(), "";
        text "purchase_options", "paid as", Narrow(0), options(&row.0.parts), "";
        opt number[2] "hours", "hours", Narrow(0), row.0.parts.hours().sum(), "";
        opt number[2] "gpu_hours", "GPU hours", Wide, row.0.gpu_hours(), "";
        opt money "list_cost", "list", Narrow(0), sum(row.1, row.0.parts.total().list), "";
        opt money "contracted_cost", "contracted", Wide, sum(row.1, row.0.parts.total().contracted), "";
        opt money "effective_cost", "effective", Narrow(0), sum(row.1, row.0.parts.total().effective), "Commitments are spread over the hours that they cover.";
        opt money "billed_cost", "billed", Wide, sum(row.1, row.0.parts.total().billed), "";
        opt money "transfer_cost", "transfer", Narrow(0), amount(row.1, row.0.transfer), "Data transfer.";
        opt money "volumes_cost", "volumes", Wide, amount(row.1, row.0.volumes), "null where it is not known which these are.";
        opt money "addresses_cost", "addresses", Wide, amount(row.1, row.0.addresses), "null where it is not known which these are.";
        count "lines_without_effective_cost", "no effective cost", Wide, row.0.parts.total().effective.absent(), "";
        word[CURRENCIES] "currency", "currency", Wide, row.1.currency.code(), "";
    }

    fn types<'a>(row: Row<'a, TypeCost>) {
        opt text "region", "region", Narrow(0), row.0.region.clone(), "";
        text "instance_type", "type", Narrow(0), row.0.instance_type.clone(), "";
        count "instances", "instances", Wide, row.0.instances, "";
        opt number[2] "hours", "hours", Narrow(0), row.0.parts.hours().sum(), "";
        opt number[2] "gpu_hours", "GPU hours", Wide, row.0.gpus.zip(row.0.parts.hours().sum()).map(|(gpus, hours)| gpus * hours), "";
        opt number[2] "on_demand_hours", "on-demand h", Wide, row.0.parts.hours_of(PurchaseOption::OnDemand), "";
        opt number[2] "reserved_hours", "reserved h", Wide, row.0.parts.hours_of(PurchaseOption::Reserved), "";
        opt number[2] "savings_plan_hours", "savings plan h", Wide, row.0.parts.hours_of(PurchaseOption::SavingsPlan), "";
        opt number[2] "spot_hours", "spot h", Wide, row.0.parts.hours_of(PurchaseOption::Spot), "";
        opt money "list_cost", "list", Narrow(0), sum(row.1, row.0.parts.total().list), "";
        opt money "contracted_cost", "contracted", Wide, sum(row.1, row.0.parts.total().contracted), "";
        opt money "effective_cost", "effective", Narrow(0), sum(row.1, row.0.parts.total().effective), "";
        opt money "billed_cost", "billed", Narrow(0), sum(row.1, row.0.parts.total().billed), "";
        opt percent "coverage_percent", "covered", Narrow(0), row.0.parts.coverage_percent(), "Of commitments, at list price.";
        opt percent "savings_percent", "saved", Narrow(0), row.0.parts.savings_percent(), "Against the list price.";
        word[CURRENCIES] "currency", "currency", Wide, row.1.currency.code(), "";
    }

    fn kinds<'a>(row: Row<'a, KindCost>) {
        text "kind", "kind", Narrow(0), row.0.kind.name().to_owned(), "";
        count "lines", "lines", Narrow(0), row.0.lines, "";
        opt money "list_cost", "list", Narrow(0), sum(row.1, row.0.costs.list), "";
        opt money "contracted_cost", "contracted", Wide, sum(row.1, row.0.costs.contracted), "";
        opt money "effective_cost", "effective", Narrow(0), sum(row.1, row.0.costs.effective), "";
        opt money "billed_cost", "billed", Narrow(0), sum(row.1, row.0.costs.billed), "";
        count "lines_without_effective_cost", "no effective cost", Wide, row.0.costs.effective.absent(), "";
        word[CURRENCIES] "currency", "currency", Wide, row.1.currency.code(), "";
    }

    fn unused<'a>(row: Row<'a, InstanceCost>) {
        opt text "reservation", "reservation", Narrow(0), row.0.id.clone(), "";
        opt text "account", "account", Wide, row.0.account.clone(), "";
        opt text "region", "region", Narrow(0), row.0.region.clone(), "";
        text "instance_type", "type", Narrow(0), row.0.instance_type.clone(), "";
        opt number[2] "hours", "hours", Narrow(0), row.0.parts.hours().sum(), "";
        opt money "effective_cost", "effective", Narrow(0), sum(row.1, row.0.parts.total().effective), "";
        word[CURRENCIES] "currency", "currency", Wide, row.1.currency.code(), "";
    }

    fn commitments<'a>(row: Row<'a, CommitmentUse>) {
        text "commitment", "commitment", Narrow(0), row.0.id.clone(), "";
        opt text "purchase_option", "kind", Narrow(0), row.0.option.map(|option| option.name().to_owned()), "null where no line says it.";
        text "instance_types", "GPU types", Wide, row.0.types.iter().map(String::as_str).collect::<Vec<_>>().join(", "), "";
        opt money "used_cost", "used", Narrow(0), sum(row.1, row.0.used), "";
        opt money "used_by_gpu_instances_cost", "by GPU instances", Narrow(0), sum(row.1, row.0.used_by_instances), "";
        opt money "unused_cost", "unused", Narrow(0), sum(row.1, row.0.unused), "";
        opt percent "utilization_percent", "utilization", Narrow(0), row.0.utilization_percent(), "";
        opt money "fees_cost", "fees", Wide, sum(row.1, row.0.fees), "What was invoiced for it.";
        word[CURRENCIES] "currency", "currency", Wide, row.1.currency.code(), "";
    }

    fn groups<'a>(row: Row<'a, GroupCost>) {
        opt text "group", "group", Narrow(0), row.0.value.clone(), "null of what has no value of the key.";
        number[2] "gpu_hours", "GPU hours", Narrow(0), row.0.gpu_hours, "";
        opt money "gpu_instances_cost", "GPU instances", Narrow(0), sum(row.1, row.0.instances), "";
        opt money "effective_cost", "effective", Narrow(0), sum(row.1, row.0.all), "";
        opt percent "share_percent", "share", Narrow(0), share(row.0, row.1), "Of the whole bill.";
        word[CURRENCIES] "currency", "currency", Wide, row.1.currency.code(), "";
    }

    fn pods<'a>(row: Row<'a, PodCost>) {
        opt text "cluster", "cluster", Narrow(0), row.0.cluster.clone(), "";
        opt text "namespace", "namespace", Narrow(0), row.0.namespace.clone(), "";
        opt text "pod", "pod", Narrow(0), row.0.name.clone(), "";
        opt number[2] "accelerator_hours", "GPU hours", Narrow(0), row.0.accelerator_hours, "";
        opt money "accelerators_cost", "GPUs", Narrow(0), sum(row.1, row.0.accelerators), "";
        opt money "others_cost", "others", Narrow(0), sum(row.1, row.0.others), "Of processors and memory.";
        opt money "unused_cost", "unused", Narrow(0), sum(row.1, row.0.unused), "Its part of what stayed unused.";
        opt money "effective_cost", "effective", Narrow(0), amount(row.1, row.0.total()), "";
        word[CURRENCIES] "currency", "currency", Wide, row.1.currency.code(), "";
    }

    fn rates<'a>(row: Row<'a, DerivedRate>) {
        text "instance_type", "type", Narrow(0), row.0.key.instance_type.clone(), "";
        text "region", "region", Narrow(0), row.0.key.region.clone(), "";
        text "operating_system", "system", Wide, row.0.key.operating_system.name().to_owned(), "";
        text "tenancy", "tenancy", Wide, row.0.key.tenancy.name().to_owned(), "";
        text "option", "option", Narrow(0), row.0.key.option.to_string(), "";
        number[2] "hours", "hours", Narrow(0), row.0.hours, "";
        opt price "list_hourly", "list", Narrow(0), amount(row.1, row.0.list_hourly), "";
        opt price "hourly", "paid", Narrow(0), amount(row.1, row.0.hourly), "";
        opt percent "discount_percent", "discount", Narrow(0), row.0.discount_percent(), "";
        opt date "effective_date", "last day", Wide, row.0.last_day, "The last day on which it held.";
        text "note", "note", Narrow(0), note(row.0, Amounts(row.1.currency)), "";
        word[CURRENCIES] "currency", "currency", Wide, row.1.currency.code(), "";
    }

    fn sources<'a>(row: &'a BillFile) {
        text "file", "file", Narrow(0), row.path.to_string_lossy().into_owned(), "";
        text "form", "form", Narrow(0), row.form.name().to_owned(), "";
        count "rows", "rows", Narrow(0), row.rows, "";
    }
}

/// The tables of a bill. Those that only some bills have are absent where they are empty.
pub(super) fn all(bill: &Bill, origin: &BillOrigin) -> Vec<Table> {
    let key = bill.grouped_by.as_ref().map(ToString::to_string);
    let by = format!("GROUPS  by {}", key.unwrap_or_default());
    let optional: Vec<Table> = rows! {
        Table::of("groups", by, ("group", "groups"), groups(), each(bill, |part| &part.groups));
        Table::of("commitments", "COMMITMENTS  at effective cost", ("commitment", "commitments"), commitments(), each(bill, |part| &part.commitments));
        Table::of("unused_reservations", "RESERVED CAPACITY  in which nothing ran", ("reservation", "reservations"), unused(), each(bill, |part| &part.unused_reservations));
        Table::of("pods", "PODS  parts of the instances above, not costs beside them", ("pod", "pods"), pods(), each(bill, |part| &part.pods));
        Table::of("rates", "PRICES PER HOUR  that the bill shows", ("price", "prices"), rates(), each(bill, |part| &part.rates));
        Table::of("sources", "FILES", ("row", "rows"), sources(), &origin.read.files);
    };
    rows! {
        Table::of("instances", "GPU INSTANCES  with their data transfer", ("instance", "instances"), instances(), each(bill, |part| &part.instances));
        Table::of("types", "TYPES", ("type", "types"), types(), each(bill, |part| &part.types));
        Table::of("kinds", "KINDS OF LINES  of the whole bill", ("kind", "kinds"), kinds(), each(bill, |part| &part.kinds));
        ..comparison::tables(bill);
        ..optional.into_iter().filter(|table| !table.rows.is_empty());
    }
}

/// The rows of a kind in each currency.
fn each<'a, T: 'a>(
    bill: &'a Bill,
    rows: fn(&'a CurrencyBill) -> &'a [T],
) -> impl Iterator<Item = Row<'a, T>> {
    bill.currencies.iter().flat_map(move |part| rows(part).iter().map(move |row| (row, part)))
}

fn amount(bill: &CurrencyBill, amount: Option<Decimal>) -> Option<Money> {
    Some(Money::new(amount?, bill.currency))
}

fn sum(bill: &CurrencyBill, tally: Tally) -> Option<Money> {
    amount(bill, tally.sum())
}

fn share(group: &GroupCost, bill: &CurrencyBill) -> Option<Decimal> {
    percent_of(group.all.sum()?, bill.total().effective.sum()?)
}

fn options(parts: &Parts) -> String {
    let names = parts.options().map(|option| option.map_or("unknown", PurchaseOption::name));
    names.collect::<Vec<_>>().join(", ")
}

fn note(rate: &DerivedRate, amounts: Amounts) -> String {
    let note = match rate.refusal {
        None if rate.list_hourly.is_none() => "price of the commitment",
        None => "negotiated",
        Some(RateRefusal::Varies { least, most }) => {
            return format!("from {} to {}", amounts.text(least), amounts.text(most));
        }
        Some(RateRefusal::Unstated { lines: 1 }) => "1 line states none",
        Some(RateRefusal::Unstated { lines }) => return format!("{lines} lines state none"),
        Some(RateRefusal::Unlisted) => "no list price beside it",
        Some(RateRefusal::Public) => "public price",
        Some(RateRefusal::NotAPrice) => "not for a price file",
    };
    note.to_owned()
}
