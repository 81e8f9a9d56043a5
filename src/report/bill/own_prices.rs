//! Negotiated prices of a bill as the file that `prices.file` names.

use crate::billing::{Bill, CurrencyBill, DerivedRate};
use crate::report::shared::csv::{document, rate};

/// The columns, which the reader of the file knows.
const COLUMNS: [&str; 9] = [
    "provider", "region", "instance_type", "operating_system", "tenancy", "option", "hourly",
    "currency", "effective_date",
];

/// Prices of a bill that are negotiated and hold in every hour, with the currency of each.
pub fn negotiated_rates(bill: &Bill) -> impl Iterator<Item = (&CurrencyBill, &DerivedRate)> {
    let currencies = bill.currencies.iter();
    let rates =
        currencies.flat_map(|currency| currency.rates.iter().map(move |rate| (currency, rate)));
    rates.filter(|(_, rate)| rate.refusal.is_none())
}

/// The file of those prices.
///
/// # Errors
/// When a row cannot be written, which memory always can.
pub fn price_file(bill: &Bill) -> Result<String, csv::Error> {
    let rows = negotiated_rates(bill).map(|(of, derived)| {
        let key = &derived.key;
        let day = derived.last_day.map(|day| day.to_string());
        [
            key.provider.name().to_owned(),
            key.region.clone(),
            key.instance_type.clone(),
            key.operating_system.name().to_owned(),
            key.tenancy.name().to_owned(),
            key.option.to_string(),
            derived.hourly.map_or(String::new(), rate),
            of.currency.code().to_owned(),
            day.unwrap_or_default(),
        ]
    });
    document(COLUMNS, rows)
}
