//! Which kind of bill a table is, by its columns alone.

use super::fields::Read;
use super::fields::{Fields, Places, Row, TagPlaces};
use super::{cur, focus};
use crate::domain::{BillForm, Currency};
use std::collections::BTreeSet;

/// What is read of a bill beside its amounts.
#[derive(Debug, Clone, Default)]
pub struct BillOptions {
    /// The tag whose values are read.
    pub tag: Option<String>,
    /// The currency of a bill that does not state one.
    pub currency: Option<Currency>,
}

/// How the rows of a table are read.
pub(super) struct Reading<'a> {
    pub(super) form: BillForm,
    places: Places,
    tags: TagPlaces,
    options: &'a BillOptions,
}

impl<'a> Reading<'a> {
    /// # Errors
    /// In words, when the columns are those of no known form.
    pub(super) fn new(header: &[String], options: &'a BillOptions) -> Result<Self, String> {
        let form = form_of(header)?;
        let places = if form.is_focus() { focus::places(header) } else { cur::places(header) };
        Ok(Self { form, places, tags: TagPlaces::new(header, options.tag.as_deref()), options })
    }

    /// The columns that are read.
    pub(super) fn columns(&self) -> BTreeSet<usize> {
        self.places.columns().chain(self.tags.columns()).collect()
    }

    /// Whether a key of a column of tags is read.
    pub(super) fn is_asked(&self, key: &str) -> bool {
        self.tags.is_asked(key)
    }

    /// # Errors
    /// In words, when a value of the row is invalid.
    pub(super) fn line(&self, row: &dyn Row) -> Result<Read, String> {
        let fields = Fields { row, places: &self.places };
        let mut read = if self.form.is_focus() {
            focus::line(fields, self.options.currency)?
        } else {
            cur::line(fields, self.options.currency)?
        };
        if let Read::Line { line, .. } = &mut read {
            line.tag = self.tags.value(row)?;
        }
        Ok(read)
    }
}

fn form_of(header: &[String]) -> Result<BillForm, String> {
    let has = |name: &str| header.iter().any(|column| column.eq_ignore_ascii_case(name));
    if focus::REQUIRED.iter().all(|name| has(name)) {
        let first_with: [(BillForm, &[&str]); 3] = [
            (BillForm::Focus13, &["AllocatedMethodId", "ServiceProviderName"]),
            (BillForm::Focus12, &["InvoiceId", "PricingCurrency"]),
            (BillForm::Focus11, &["SkuMeter", "CapacityReservationId"]),
        ];
        let newer = first_with.into_iter().find(|(_, names)| names.iter().any(|name| has(name)));
        return Ok(newer.map_or(BillForm::Focus10, |(form, _)| form));
    }
    let renamed: BTreeSet<String> = header.iter().map(|name| cur::snake(name)).collect();
    if cur::REQUIRED.iter().all(|name| renamed.contains(*name)) {
        let is_second = ["product", "resource_tags", "bill_payer_account_name"];
        return Ok(if is_second.iter().any(|name| has(name)) {
            BillForm::Cur2
        } else {
            BillForm::LegacyCur
        });
    }
    Err(unknown(header))
}

/// Which columns a bill would have, and which ones were found.
fn unknown(header: &[String]) -> String {
    const SHOWN: usize = 8;
    const LONGEST: usize = 40;
    let cut = |name: &String| name.chars().take(LONGEST).collect::<String>();
    let some: Vec<String> = header.iter().take(SHOWN).map(cut).collect();
    let more = header.len().saturating_sub(SHOWN);
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "a Cost and Usage Report has the columns {}, and FOCUS {}; found: {}{more}",
        cur::REQUIRED.join(" and "),
        focus::REQUIRED.join(", "),
        some.join(", "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(names: &str) -> Result<BillForm, String> {
        let header: Vec<String> = names.split(',').map(str::to_owned).collect();
        form_of(&header)
    }

    #[test]
    fn the_columns_decide() {
        for (names, expected) in [
            ("lineItem/LineItemType,lineItem/UnblendedCost", BillForm::LegacyCur),
            (
                "line_item_line_item_type,line_item_unblended_cost,product_region",
                BillForm::LegacyCur,
            ),
            ("line_item_unblended_cost,resource_tags,line_item_line_item_type", BillForm::Cur2),
            ("EffectiveCost,BilledCost,ChargeCategory", BillForm::Focus10),
            ("EffectiveCost,BilledCost,ChargeCategory,SkuMeter", BillForm::Focus11),
            ("EffectiveCost,BilledCost,ChargeCategory,SkuMeter,InvoiceId", BillForm::Focus12),
            (
                "EffectiveCost,BilledCost,ChargeCategory,InvoiceId,AllocatedMethodId",
                BillForm::Focus13,
            ),
        ] {
            assert_eq!(form(names), Ok(expected), "{names}");
        }
        let error = form("Date,Description,Amount").expect_err("no bill");
        assert!(error.ends_with("found: Date, Description, Amount"), "{error}");
        let many: Vec<String> = (0..100).map(|n| format!("{n}{}", "x".repeat(500))).collect();
        let error = form(&many.join(",")).expect_err("no bill");
        assert!(error.len() < 800 && error.ends_with(" and 92 more"), "{error}");
    }
}
