//! Documents of the price list: one JSON text a product.

use crate::domain::{
    CommitmentTerm, Currency, HourlyRate, Instalments, PriceKey, PriceOption, PriceQuote,
};
use crate::sources::Quoted;
use crate::sources::quoted::{commitment_term, observed};
use jiff::civil::Date;
use rust_decimal::Decimal;
use serde_json::Value;

/// On-demand and standard reserved prices of one product under a key, each
/// with its effective date (`read_on` where the document has none).
pub(super) fn quotes(product: &Value, key: &PriceKey, read_on: Date) -> Vec<Quoted> {
    let mut quotes = Vec::new();
    for term in terms(product, "OnDemand") {
        let rate = term_dimensions(term)
            .find(|dimension| dimension["unit"] == "Hrs")
            .and_then(price_per_unit)
            .and_then(|(amount, currency)| HourlyRate::new(amount, currency));
        if let Some(rate) = rate {
            quotes.push((key.clone(), quote(rate, None, term, read_on)));
        }
    }
    for term in terms(product, "Reserved") {
        if let Some((sold, instalments, currency)) = reserved(term)
            && let Some(rate) = HourlyRate::new(instalments.effective_hourly(sold), currency)
        {
            let key = key.with_option(PriceOption::Reserved(sold));
            quotes.push((key, quote(rate, Some(instalments), term, read_on)));
        }
    }
    quotes
}

fn quote(
    rate: HourlyRate,
    instalments: Option<Instalments>,
    term: &Value,
    read_on: Date,
) -> PriceQuote {
    let effective_date = effective_date(term).unwrap_or(read_on);
    observed(rate, instalments, (effective_date, read_on), "pricing:GetProducts")
}

/// Since when a term holds, where the document says so.
fn effective_date(term: &Value) -> Option<Date> {
    term["effectiveDate"].as_str()?.get(..10)?.parse().ok()
}

fn terms<'a>(product: &'a Value, kind: &str) -> impl Iterator<Item = &'a Value> {
    product["terms"][kind].as_object().into_iter().flat_map(|terms| terms.values())
}

fn term_dimensions(term: &Value) -> impl Iterator<Item = &Value> {
    term["priceDimensions"].as_object().into_iter().flat_map(|dimensions| dimensions.values())
}

/// The amount of one price dimension in a known currency.
pub(super) fn price_per_unit(dimension: &Value) -> Option<(Decimal, Currency)> {
    dimension["pricePerUnit"].as_object()?.iter().find_map(|(code, amount)| {
        Some((amount.as_str()?.parse::<Decimal>().ok()?.normalize(), Currency::from_code(code)?))
    })
}

/// The first on-demand price of a product in a unit.
pub(super) fn unit_price(product: &Value) -> Option<(Decimal, Currency, Option<Date>)> {
    terms(product, "OnDemand").find_map(|term| {
        let (amount, currency) = term_dimensions(term).find_map(price_per_unit)?;
        (amount > Decimal::ZERO).then_some((amount, currency, effective_date(term)))
    })
}

/// A standard reserved term and how it is paid.
fn reserved(term: &Value) -> Option<(CommitmentTerm, Instalments, Currency)> {
    let attributes = &term["termAttributes"];
    if attributes["OfferingClass"] != "standard" {
        return None;
    }
    let length = attributes["LeaseContractLength"].as_str()?;
    let sold = commitment_term(length, attributes["PurchaseOption"].as_str()?)?;
    let mut upfront = Decimal::ZERO;
    let mut hourly = Decimal::ZERO;
    let mut currency = None;
    for dimension in term_dimensions(term) {
        let (amount, code) = price_per_unit(dimension)?;
        if currency.is_some_and(|known| known != code) {
            return None;
        }
        currency = Some(code);
        match dimension["unit"].as_str()? {
            "Hrs" => hourly += amount,
            "Quantity" => upfront += amount,
            _ => return None,
        }
    }
    Some((sold, Instalments { upfront, hourly }, currency?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn product() -> Value {
        json!({ "terms": {
            "OnDemand": { "A.B": {
                "effectiveDate": "2026-07-01T00:00:00Z",
                "priceDimensions": { "A.B.C": {
                    "unit": "Hrs", "pricePerUnit": { "USD": "3.0600000000" } } } } },
            "Reserved": {
                "A.R1": {
                    "termAttributes": { "LeaseContractLength": "1yr",
                        "OfferingClass": "standard", "PurchaseOption": "Partial Upfront" },
                    "priceDimensions": {
                        "x": { "unit": "Hrs", "pricePerUnit": { "USD": "1.0000000000" } },
                        "y": { "unit": "Quantity", "pricePerUnit": { "USD": "8760" } } } },
                "A.R2": {
                    "termAttributes": { "LeaseContractLength": "3yr",
                        "OfferingClass": "convertible", "PurchaseOption": "No Upfront" },
                    "priceDimensions": {
                        "x": { "unit": "Hrs", "pricePerUnit": { "USD": "1" } } } } }
        } })
    }

    #[test]
    fn upfront_is_spread_over_the_term_and_convertible_left_out() {
        let key = PriceKey::linux_on_demand("us-east-1", "p3.2xlarge");
        let read_on = jiff::civil::date(2026, 11, 20);
        let quotes = quotes(&product(), &key, read_on);
        let figures: Vec<(String, String)> = quotes
            .iter()
            .map(|(key, quote)| (key.option.to_string(), quote.rate.amount().to_string()))
            .collect();
        let expected = [("on-demand", "3.06"), ("reserved-1yr-partial-upfront", "2")];
        assert_eq!(figures, expected.map(|(option, rate)| (option.to_owned(), rate.to_owned())));
        assert_eq!(quotes[0].1.effective_date, jiff::civil::date(2026, 7, 1));
        assert_eq!(quotes[1].1.effective_date, read_on);
        assert_eq!(quotes[0].1.instalments, None);
        let instalments = Instalments { upfront: Decimal::from(8_760), hourly: Decimal::ONE };
        assert_eq!(quotes[1].1.instalments, Some(instalments));
    }

    #[test]
    fn a_price_of_zero_is_no_price() {
        let mut product = product();
        product["terms"]["OnDemand"]["A.B"]["priceDimensions"]["A.B.C"]["pricePerUnit"]["USD"] =
            json!("0.0000000000");
        let key = PriceKey::linux_on_demand("us-east-1", "p3.2xlarge");
        let quotes = quotes(&product, &key, jiff::civil::date(2026, 11, 20));
        assert!(quotes.iter().all(|(key, _)| key.option != PriceOption::OnDemand));
    }
}
