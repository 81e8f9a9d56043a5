//! The terms of a product as the price list documents them: offers with their
//! codes, and the price dimensions of each.

use rust_decimal::Decimal;
use serde_json::{Map, Value, json};

use super::products::decimal;

/// A reserved term that a price comes with.
#[derive(Clone, Copy, Debug)]
pub struct Reserved<'a> {
    pub years: u8,
    /// `standard` or `convertible`.
    pub class: &'a str,
    /// `No Upfront`, `Partial Upfront` or `All Upfront`.
    pub payment: &'a str,
    pub upfront: &'a str,
    pub hourly: &'a str,
}

/// Codes of the reserved offers by years, class and payment.
const CODES: &[(u8, &str, &str, &str)] = &[
    (1, "standard", "No Upfront", "4NA7Y494T4"),
    (1, "standard", "Partial Upfront", "HU7G6KETJZ"),
    (1, "standard", "All Upfront", "6QCMYABX3D"),
    (3, "standard", "No Upfront", "BPH4J8HBKS"),
    (3, "standard", "Partial Upfront", "38NPMPTW36"),
    (3, "standard", "All Upfront", "NQ3QZPMQV9"),
    (1, "convertible", "No Upfront", "7NE97W5U4E"),
    (1, "convertible", "Partial Upfront", "CUZHX8X6JH"),
    (1, "convertible", "All Upfront", "VJWZNREJX2"),
    (3, "convertible", "No Upfront", "Z2E3P23VKM"),
    (3, "convertible", "Partial Upfront", "R5XV2EPZQZ"),
    (3, "convertible", "All Upfront", "MZU6U2429S"),
];
/// Code of a rate by the hour, or by what else is used.
const RATE: &str = "6YS6EN2CT7";
/// Code of a fee at the beginning.
const UPFRONT: &str = "2TG2D8R56U";

/// One offer under a product.
#[derive(Debug)]
pub struct Offer {
    code: &'static str,
    /// Rate code, unit and amount of each price dimension.
    dimensions: Vec<(&'static str, &'static str, Decimal)>,
    attributes: Value,
}

impl Offer {
    pub fn on_demand(unit: &'static str, rate: Decimal) -> Self {
        Self { code: "JRTCKXETXF", dimensions: vec![(RATE, unit, rate)], attributes: json!({}) }
    }

    /// One year of the standard class without upfront.
    pub fn one_year(hourly: Decimal) -> Self {
        Self::reserved(&Reserved {
            years: 1,
            class: "standard",
            payment: "No Upfront",
            upfront: "0",
            hourly: &hourly.to_string(),
        })
    }

    /// What is paid all upfront has an hourly rate too, of zero; what is not paid
    /// upfront has no fee.
    pub fn reserved(term: &Reserved<'_>) -> Self {
        let (_, _, _, code) = CODES
            .iter()
            .find(|(years, class, payment, _)| {
                (*years, *class, *payment) == (term.years, term.class, term.payment)
            })
            .unwrap_or_else(|| panic!("AWS sells no {term:?}"));
        let mut dimensions = vec![(RATE, "Hrs", decimal(term.hourly))];
        if term.payment != "No Upfront" {
            dimensions.push((UPFRONT, "Quantity", decimal(term.upfront)));
        }
        Self {
            code,
            dimensions,
            attributes: json!({
                "LeaseContractLength": format!("{}yr", term.years),
                "OfferingClass": term.class,
                "PurchaseOption": term.payment,
            }),
        }
    }
}

/// A block of terms: offers by their codes.
pub fn term(sku: &str, currency: &str, offers: &[Offer]) -> Value {
    let block: Map<String, Value> = offers
        .iter()
        .map(|offer| {
            let term = format!("{sku}.{}", offer.code);
            let dimensions: Map<String, Value> = offer
                .dimensions
                .iter()
                .map(|dimension| priced(&term, currency, dimension))
                .collect();
            let document = json!({
                "offerTermCode": offer.code,
                "sku": sku,
                "effectiveDate": "2026-11-01T00:00:00Z",
                "priceDimensions": dimensions,
                "termAttributes": offer.attributes,
            });
            (term, document)
        })
        .collect();
    block.into()
}

fn priced(
    term: &str,
    currency: &str,
    (code, unit, amount): &(&str, &str, Decimal),
) -> (String, Value) {
    let rate_code = format!("{term}.{code}");
    let mut dimension = json!({
        "rateCode": rate_code,
        "unit": unit,
        "description": format!("{amount} per {unit}"),
        "appliesTo": [],
        "pricePerUnit": { currency: format!("{amount:.10}") },
    });
    if *code == RATE {
        dimension["beginRange"] = "0".into();
        dimension["endRange"] = "Inf".into();
    }
    (rate_code, dimension)
}
