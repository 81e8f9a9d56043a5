//! `gpucost audit`: the document for programs with its schema, the lists that only CSV and
//! workbooks have, and the forms that other programs state.

pub(super) mod findings;
mod focus;
mod openmetrics;
mod record;
mod screen;
mod workloads;

pub use self::focus::focus_csv;
pub use self::openmetrics::audit_openmetrics;
pub use self::screen::{AuditScreen, audit_screen};

use self::findings::{findings, findings_table};
use self::record::{document, extras};
use self::screen::headline;
use self::workloads::{Step, actions, unused_table, workloads_table};
use crate::analysis::{Audit, Grouping, ReconciledRow, Reconciliation};
use crate::domain::{
    Money, PriceBasis, PriceKey, PriceOrigin, PriceQuote, StorageQuote, StorageResource,
};
use crate::report::doc::{CsvRows, Doc, Record, Table, columns, doc_schema, gaps_table, tables};
use crate::report::promises::purchases_table;
use crate::report::reserved::CURRENCIES;

/// An audit for programs: everything, with its groups where they were asked for.
pub fn audit_doc(audit: &Audit, by: Option<&Grouping>) -> Doc {
    Doc {
        name: "audit",
        headline: headline(audit),
        record: Record::of(document(), &audit),
        extras: Record::of(extras(), &(audit, by)),
        csv: CsvRows::Tables(2),
        tables: vec![
            workloads_table(&audit.workloads, false),
            unused_table(&audit.unused),
            purchases_table(&audit.purchases),
            findings_table(audit, |_| true, true),
        ],
        gaps: Some(audit.gaps.clone()),
        ..Doc::default()
    }
}

schema! {
    /// The JSON schema of an audit.
    audit_schema: "audit", [Doc { extras: Record::heads(extras()), ..Doc::form_with_gaps(Record::heads(document()), [workloads_table([], false), unused_table(&[]), purchases_table(&[]), Table::of("findings", "", ("", ""), findings(), [])]) }],
    "The report of an audit. Money per month has cents, rates per hour up to six decimals; percentages are 0-100 and shares 0-1. Keys may be added within a schema version."
}

/// A list of an audit that CSV can have in place of its workloads.
#[derive(Debug, Clone, Copy)]
pub enum AuditTable<'a> {
    Actions,
    Purchases,
    Findings,
    Gaps,
    Prices,
    Reconciliation(&'a Reconciliation),
}

/// A list of an audit as a document.
pub fn audit_list(audit: &Audit, list: AuditTable<'_>) -> Doc {
    let tables = tables_of(audit, list);
    Doc { csv: CsvRows::Tables(tables.len()), tables, ..Doc::default() }
}

/// An audit with all its lists, for a workbook.
pub fn audit_workbook(audit: &Audit, reconciled: &Reconciliation) -> Doc {
    let mut doc = audit_doc(audit, None);
    let lists = [
        AuditTable::Actions,
        AuditTable::Gaps,
        AuditTable::Prices,
        AuditTable::Reconciliation(reconciled),
    ];
    doc.tables.extend(lists.into_iter().flat_map(|list| tables_of(audit, list)));
    doc
}

/// The tables of a list. A price stands once, whatever figures rest on it.
fn tables_of(audit: &Audit, list: AuditTable<'_>) -> Vec<Table> {
    match list {
        AuditTable::Actions => Vec::from(tables! {
            "actions", "ACTIONS", ("action", "actions"), actions(), Step::all(audit), summed: &["monthly_savings", "waste_monthly_savings"];
        }),
        AuditTable::Purchases => vec![purchases_table(&audit.purchases)],
        AuditTable::Findings => vec![findings_table(audit, |_| true, true)],
        AuditTable::Gaps => vec![gaps_table(&audit.gaps)],
        AuditTable::Prices => Vec::from(tables! {
            "prices", "PRICES", ("price", "prices"), prices(), audit.prices.quotes();
            "storage_prices", "", ("price", "prices"), storage_prices(), audit.prices.storage();
        }),
        AuditTable::Reconciliation(reconciled) => Vec::from(tables! {
            "reconciliation", "", ("row", "rows"), reconciliation(), &reconciled.rows, summed: &["list_monthly_cost", "unlisted_monthly_cost", "discount_monthly", "spot_monthly", "commitment_monthly", "idle_storage_monthly_cost", "unused_monthly_cost", "monthly_cost"];
        }),
    }
}

columns! {
    fn prices<'a>(price: (&'a PriceKey, &'a PriceQuote)) {
        text "provider", "", Flat, price.0.provider.name().to_owned(), "";
        text "region", "", Flat, price.0.region.clone(), "";
        opt text "zone", "", Flat, price.0.zone.clone(), "";
        text "resource", "", Flat, price.0.instance_type.clone(), "";
        text "operating_system", "", Flat, price.0.operating_system.name().to_owned(), "";
        text "tenancy", "", Flat, price.0.tenancy.name().to_owned(), "";
        text "option", "", Flat, price.0.option.to_string(), "";
        word[CURRENCIES] "currency", "", Flat, price.1.rate.currency().code(), "";
        price "price", "", Flat, Money::new(price.1.rate.amount(), price.1.rate.currency()), "";
        text "per", "", Flat, "hour".to_owned(), "";
        word[PriceBasis::NAMES] "basis", "", Flat, price.1.basis.name(), "";
        word[PriceOrigin::NAMES] "origin", "", Flat, price.1.origin.name(), "";
        date "effective_date", "", Flat, price.1.effective_date, "";
        date "seen_on", "", Flat, price.1.seen_on, "";
        text "source", "", Flat, price.1.source.clone(), "";
    }

    fn storage_prices<'a>(price: (&'a str, StorageResource, &'a StorageQuote)) {
        text "region", "", Flat, price.0.to_owned(), "";
        text "resource", "", Flat, price.1.name().to_owned(), "";
        word[CURRENCIES] "currency", "", Flat, price.2.unit_price.currency().code(), "";
        price "price", "", Flat, price.2.unit_price, "";
        text "per", "", Flat, if price.1 == StorageResource::PublicIpv4 { "hour" } else { "GiB-month" }.to_owned(), "";
        word[PriceOrigin::NAMES] "origin", "", Flat, price.2.origin.name(), "";
        opt date "effective_date", "", Flat, price.2.effective_date, "";
        text "source", "", Flat, price.2.source.clone(), "";
    }

    /// From list prices to the cost, in the order of the arithmetic.
    fn reconciliation<'a>(row: &'a ReconciledRow) {
        text "id", "", Flat, row.id.clone(), "";
        text "name", "", Flat, row.name.clone(), "";
        opt text "account", "", Flat, row.account.clone().filter(|account| !account.is_empty()), "";
        opt text "region", "", Flat, row.region.clone(), "";
        opt text "instance_type", "", Flat, row.instance_type.clone(), "";
        word[CURRENCIES] "currency", "", Flat, row.currency.code(), "";
        money "list_monthly_cost", "", Flat, Money::new(row.steps.list, row.currency), "";
        money "unlisted_monthly_cost", "", Flat, Money::new(row.steps.unlisted, row.currency), "";
        money "discount_monthly", "", Flat, Money::new(row.steps.discount, row.currency), "";
        money "spot_monthly", "", Flat, Money::new(row.steps.spot, row.currency), "";
        money "commitment_monthly", "", Flat, Money::new(row.steps.commitments, row.currency), "";
        money "idle_storage_monthly_cost", "", Flat, Money::new(row.steps.idle_storage, row.currency), "";
        money "unused_monthly_cost", "", Flat, Money::new(row.steps.unused, row.currency), "";
        money "monthly_cost", "", Flat, Money::new(row.steps.cost, row.currency), "";
    }
}
