//! The fields of a row, wherever their columns are, and what a row becomes.

use super::values::{instant, number};
use crate::domain::{BillForm, Currency, plain_name};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde_json::Value;
use std::borrow::Cow;

/// What a cell holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell<'a> {
    Absent,
    Text(&'a str),
    Number(Decimal),
    Time(Timestamp),
    /// Keys with their values.
    Map(&'a [(String, String)]),
}

/// A row of a table.
pub(super) trait Row {
    /// # Errors
    /// In words, when the cell is damaged or out of range.
    fn cell(&self, column: usize) -> Result<Cell<'_>, String>;
}

/// A time that a row states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    At(Timestamp),
    Absent,
    /// It is there, and is not a time.
    Invalid,
}

/// The fields of a bill, each with the columns that it may be in, best first: those of a Cost and
/// Usage Report, as its version 2 calls them, and those of FOCUS.
macro_rules! fields {
    ($($field:ident: [$($report:literal),*] [$($focus:literal),*],)+) => {
        #[derive(Debug, Clone, Copy)]
        pub(super) enum Field { $($field,)+ }

        const COLUMNS: &[[&[&str]; 2]] = &[$([&[$($report),*], &[$($focus),*]],)+];
    };
}

fields! {
    Account: ["line_item_usage_account_id"] ["SubAccountId"],
    Billed: ["line_item_unblended_cost"] ["BilledCost"],
    CapacityStatus: ["capacity_reservation_capacity_reservation_status"]
        ["CapacityReservationStatus"],
    Category: ["line_item_line_item_type"] ["ChargeCategory"],
    Currency: ["line_item_currency_code"] ["BillingCurrency"],
    Description: ["line_item_line_item_description"] ["ChargeDescription"],
    End: ["line_item_usage_end_date"] ["ChargePeriodEnd"],
    Invoice: ["bill_invoice_id"] ["InvoiceId"],
    List: ["pricing_public_on_demand_cost"] ["ListCost"],
    Month: ["bill_billing_period_start_date"] ["BillingPeriodStart"],
    Payer: ["bill_payer_account_id"] ["BillingAccountId"],
    Quantity: ["line_item_usage_amount"] ["PricingQuantity"],
    Region: ["product_region_code", "product_region"] ["RegionId"],
    Resource: ["line_item_resource_id"] ["ResourceId"],
    Service: ["line_item_product_code"] ["ServiceName"],
    Start: ["line_item_usage_start_date"] ["ChargePeriodStart"],
    Unit: ["pricing_unit"] ["PricingUnit"],
    // Of FOCUS, columns of AWS and of Azure beside those of the specification, and of gpucost's
    // own export.
    Estimate: [] ["x_Estimate"],
    InstanceType: ["product_instance_type"] ["x_InstanceType", "x_SkuInstanceType"],
    MeterCategory: [] ["x_SkuMeterCategory"],
    Operation: ["line_item_operation"] ["x_Operation"],
    UsageType: ["line_item_usage_type"] ["x_UsageType"],
    // Of reports alone.
    LeaseClass: ["pricing_offering_class"] [],
    LeasePayment: ["pricing_purchase_option"] [],
    LeaseTerm: ["pricing_lease_contract_length"] [],
    NetBilled: ["line_item_net_unblended_cost"] [],
    Plan: ["savings_plan_savings_plan_a_r_n", "savings_plan_savings_plan_arn"] [],
    PlanCommitted: ["savings_plan_total_commitment_to_date"] [],
    PlanCost: ["savings_plan_savings_plan_effective_cost"] [],
    PlanOffer: ["savings_plan_offering_type"] [],
    PlanPayment: ["savings_plan_payment_option"] [],
    PlanTerm: ["savings_plan_purchase_term"] [],
    PlanUsed: ["savings_plan_used_commitment"] [],
    Reservation: ["reservation_reservation_a_r_n", "reservation_reservation_arn"] [],
    ReservedCost: ["reservation_effective_cost"] [],
    SplitCost: ["split_line_item_split_cost"] [],
    SplitParent: ["split_line_item_parent_resource_id"] [],
    SplitUnused: ["split_line_item_unused_cost"] [],
    SplitUsage: ["split_line_item_split_usage"] [],
    UnusedRecurring: ["reservation_unused_recurring_fee"] [],
    UnusedUpfront: ["reservation_unused_amortized_upfront_fee_for_billing_period"] [],
    Zone: ["line_item_availability_zone"] [],
    // Of FOCUS alone.
    Consumed: [] ["ConsumedQuantity"],
    ConsumedUnit: [] ["ConsumedUnit"],
    Contracted: [] ["ContractedCost"],
    Details: [] ["SkuPriceDetails", "x_SkuDetails"],
    Discount: [] ["CommitmentDiscountId"],
    DiscountCategory: [] ["CommitmentDiscountCategory"],
    DiscountStatus: [] ["CommitmentDiscountStatus"],
    DiscountType: [] ["CommitmentDiscountType"],
    Effective: [] ["EffectiveCost"],
    Pricing: [] ["PricingCategory"],
    Provider: [] ["ProviderName", "ServiceProviderName"],
    ResourceType: [] ["ResourceType"],
}

/// A column of the version before as version 2 calls it: `lineItem/UsageAccountId` is
/// `line_item_usage_account_id`.
pub(super) fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 8);
    for c in name.chars() {
        if c == '/' {
            snake.push('_');
        } else if c.is_ascii_uppercase() {
            if !snake.is_empty() && !snake.ends_with('_') {
                snake.push('_');
            }
            snake.push(c.to_ascii_lowercase());
        } else {
            snake.push(c);
        }
    }
    snake
}

/// Where the fields of a form are.
#[derive(Debug, Clone)]
pub(super) struct Places {
    /// The names of each field.
    names: Vec<&'static [&'static str]>,
    /// The columns of each field, best first.
    columns: Vec<Vec<usize>>,
}

impl Places {
    /// Of a form whose columns are compared without regard to case.
    pub(super) fn new(header: &[String], form: BillForm) -> Self {
        let side = usize::from(form.is_focus());
        let names: Vec<_> = COLUMNS.iter().map(|names| names[side]).collect();
        let place =
            |name: &&str| header.iter().position(|column| column.eq_ignore_ascii_case(name));
        let columns = names.iter().map(|names| names.iter().filter_map(place).collect());
        Self { columns: columns.collect(), names }
    }

    pub(super) fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.columns.iter().flatten().copied()
    }
}

/// A row with its fields.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    pub(super) row: &'a dyn Row,
    pub(super) places: &'a Places,
}

impl<'a> Fields<'a> {
    /// Of the columns of a field, the first that says something in this row.
    fn cell(&self, field: Field) -> Result<Cell<'a>, String> {
        for column in &self.places.columns[field as usize] {
            let cell = self.row.cell(*column)?;
            let is_stated = match cell {
                Cell::Absent => false,
                Cell::Text(text) => stated(text).is_some(),
                Cell::Number(_) | Cell::Time(_) | Cell::Map(_) => true,
            };
            if is_stated {
                return Ok(cell);
            }
        }
        Ok(Cell::Absent)
    }

    /// A text that is there: neither empty nor the word `null`.
    pub(super) fn text(&self, field: Field) -> Result<Option<Cow<'a, str>>, String> {
        Ok(match self.cell(field)? {
            Cell::Text(text) => stated(text).map(Cow::Borrowed),
            Cell::Number(number) => Some(Cow::Owned(number.to_string())),
            Cell::Time(at) => Some(Cow::Owned(at.to_string())),
            Cell::Absent | Cell::Map(_) => None,
        })
    }

    /// Whether a text is there that is a word, in any case.
    pub(super) fn is(&self, field: Field, word: &str) -> Result<bool, String> {
        Ok(self.text(field)?.is_some_and(|text| text.eq_ignore_ascii_case(word)))
    }

    pub(super) fn owned(&self, field: Field) -> Result<Option<String>, String> {
        Ok(self.text(field)?.map(Cow::into_owned))
    }

    /// A number that is there.
    ///
    /// # Errors
    /// When what is there is not a number: an amount is never left out unseen.
    pub(super) fn number(&self, field: Field) -> Result<Option<Decimal>, String> {
        match self.cell(field)? {
            Cell::Number(number) => Ok(Some(number)),
            Cell::Text(text) => match stated(text) {
                // Python's absent value, which some generators of bills print.
                None | Some("None") => Ok(None),
                Some(text) => number(text).map(Some).ok_or_else(|| {
                    let name = self.places.names[field as usize][0];
                    format!("`{text}` in `{name}` is not a number of at most 10^10")
                }),
            },
            Cell::Absent | Cell::Time(_) | Cell::Map(_) => Ok(None),
        }
    }

    /// The currency of the row; else the code of one that gpucost has no amounts in.
    ///
    /// # Errors
    /// When the row does not say it, and none is assumed.
    pub(super) fn currency(
        &self,
        assumed: Option<Currency>,
    ) -> Result<Result<Currency, String>, String> {
        // ISO 4217 writes codes in capitals, and some exports do not.
        Ok(match self.owned(Field::Currency)?.map(|code| code.to_uppercase()) {
            Some(code) => Currency::from_name(&code).ok_or(code),
            None => Ok(assumed.ok_or("it does not say its currency")?),
        })
    }

    pub(super) fn moment(&self, field: Field) -> Result<Moment, String> {
        Ok(match self.cell(field)? {
            Cell::Time(at) => Moment::At(at),
            Cell::Text(text) => match stated(text) {
                None => Moment::Absent,
                Some(text) => instant(text).map_or(Moment::Invalid, Moment::At),
            },
            Cell::Absent => Moment::Absent,
            Cell::Number(_) | Cell::Map(_) => Moment::Invalid,
        })
    }
}

/// A text without the words for nothing.
fn stated(text: &str) -> Option<&str> {
    let text = text.trim();
    (!text.is_empty() && !text.eq_ignore_ascii_case("null")).then_some(text)
}

/// How tags are stored: in a column for each, or in one for all.
#[derive(Debug, Clone, Default)]
pub(super) struct TagPlaces {
    /// The name that was asked for, as people type it.
    asked: String,
    /// Columns of the tag alone.
    own: Vec<usize>,
    /// A column of all tags: a map, or JSON.
    all: Option<usize>,
}

impl TagPlaces {
    /// Of a tag that was asked for; nothing is searched without one.
    pub(super) fn new(header: &[String], asked: Option<&str>) -> Self {
        let Some(asked) = asked.map(plain_tag) else { return Self::default() };
        let is_own = |name: &str| {
            let key = ["resourceTags/", "resource_tags_"];
            let key = key.iter().find_map(|head| name.strip_prefix(head));
            key.is_some_and(|key| plain_tag(key) == asked)
        };
        let is_all_tags = |name: &String| {
            let known = ["resource_tags", "Tags"];
            known.iter().any(|known| name.eq_ignore_ascii_case(known))
        };
        let columns = header.iter().enumerate();
        Self {
            own: columns.filter(|(_, name)| is_own(name)).map(|(column, _)| column).collect(),
            all: header.iter().position(is_all_tags),
            asked,
        }
    }

    pub(super) fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.own.iter().copied().chain(self.all)
    }

    /// Whether a key of a map is the tag that was asked for.
    pub(super) fn is_asked(&self, key: &str) -> bool {
        !self.asked.is_empty() && plain_tag(key) == self.asked
    }

    /// The value of the tag on a row. A cell that is not JSON has no tags.
    pub(super) fn value(&self, row: &dyn Row) -> Result<Option<String>, String> {
        for column in self.columns() {
            let value = match row.cell(column)? {
                Cell::Map(pairs) => {
                    let pair = pairs.iter().find(|(key, _)| self.is_asked(key));
                    pair.and_then(|(_, value)| stated(value).map(str::to_owned))
                }
                Cell::Text(text) if Some(column) == self.all => self.of_json(text),
                Cell::Text(text) => stated(text).map(str::to_owned),
                Cell::Number(number) => Some(number.to_string()),
                Cell::Absent | Cell::Time(_) => None,
            };
            if value.is_some() {
                return Ok(value);
            }
        }
        Ok(None)
    }

    fn of_json(&self, text: &str) -> Option<String> {
        let tags: serde_json::Map<String, Value> = serde_json::from_str(stated(text)?).ok()?;
        let (_, value) = tags.iter().find(|(key, _)| self.is_asked(key))?;
        match value {
            Value::String(text) => stated(text).map(str::to_owned),
            Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }
}

/// The key of a tag as people type it: AWS puts `user:` or `user_` before those of users.
fn plain_tag(key: &str) -> String {
    plain_name(["user:", "user_"].iter().find_map(|head| key.strip_prefix(head)).unwrap_or(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Texts(Vec<&'static str>);

    impl Row for Texts {
        fn cell(&self, column: usize) -> Result<Cell<'_>, String> {
            Ok(self.0.get(column).map_or(Cell::Absent, |text| Cell::Text(text)))
        }
    }

    fn header(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_is_absent_is_neither_text_nor_zero() {
        let header = header(&["X_SKUINSTANCETYPE", "BilledCost"]);
        let places = Places::new(&header, BillForm::Focus10);
        let row = Texts(vec!["NULL", " x "]);
        let fields = Fields { row: &row, places: &places };
        assert_eq!(fields.owned(Field::Billed), Ok(Some("x".to_owned())));
        assert_eq!(fields.owned(Field::InstanceType), Ok(None));
        assert_eq!(fields.number(Field::InstanceType), Ok(None));
        assert_eq!(fields.number(Field::List), Ok(None));
        let error = fields.number(Field::Billed).expect_err("no number");
        assert_eq!(error, "`x` in `BilledCost` is not a number of at most 10^10");
    }

    #[test]
    fn of_several_columns_the_first_that_says_something_counts() {
        let header = header(&["product_region", "product_region_code"]);
        let places = Places::new(&header, BillForm::Cur2);
        let of = |cells: [&'static str; 2]| {
            let row = Texts(cells.to_vec());
            let fields = Fields { row: &row, places: &places };
            fields.owned(Field::Region).expect("a text")
        };
        assert_eq!(of(["one", "two"]).as_deref(), Some("two"));
        assert_eq!(of(["one", "NULL"]).as_deref(), Some("one"));
        assert_eq!(of(["", ""]), None);
    }

    #[test]
    fn a_tag_is_found_however_it_is_stored() {
        for (names, cells) in [
            (vec!["resourceTags/user:Team"], vec!["search"]),
            (vec!["resource_tags_user_team"], vec!["search"]),
            (vec!["resource_tags"], vec![r#"{"user_team":"search"}"#]),
            (vec!["Tags"], vec![r#"{"a":"b","team":"search"}"#]),
        ] {
            let places = TagPlaces::new(&header(&names), Some("team"));
            let value = places.value(&Texts(cells));
            assert_eq!(value, Ok(Some("search".to_owned())), "{names:?}");
        }
        for cells in ["", "NULL", "no JSON", r#"{"team":""}"#, r#"{"team":null}"#] {
            let places = TagPlaces::new(&header(&["Tags"]), Some("team"));
            assert_eq!(places.value(&Texts(vec![cells])), Ok(None), "{cells}");
        }
        let places = TagPlaces::new(&header(&["Tags"]), Some("size"));
        let value = places.value(&Texts(vec![r#"{"Size":500}"#]));
        assert_eq!(value, Ok(Some("500".to_owned())));
        let none = TagPlaces::new(&header(&["Tags"]), None);
        assert_eq!(none.value(&Texts(vec![r#"{"":"x"}"#])), Ok(None));
    }
}
