//! The price list: products as the Price List service documents them, and
//! the neighbours that a careless filter would take for the price.
//!
//! The attributes are those that tell products apart; descriptive ones that
//! the real documents also carry (`memory`, `storage`, `location`, …) are left
//! out, and SKUs are counted up instead of being random.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use serde_json::{Value, json};

use super::terms::{Offer, Reserved, term};

/// The hourly On-Demand price of an instance type in a region.
///
/// [`Price::linux`] is the usual one; other systems override its fields, with
/// the `operation` that EC2 calls the instance's usage operation:
/// `RunInstances:0002` for Windows, `RunInstances:0010` for RHEL.
#[derive(Clone, Copy, Debug)]
pub struct Price<'a> {
    pub instance_type: &'a str,
    pub region: &'a str,
    pub operating_system: &'a str,
    pub operation: &'a str,
    /// `USD`, or `CNY` in the China regions.
    pub currency: &'a str,
    /// A decimal number: `1.006`.
    pub hourly: &'a str,
    /// Reserved terms; when there are none, one year of the standard class without
    /// upfront at 37% off.
    pub reserved: &'a [Reserved<'a>],
}

impl<'a> Price<'a> {
    /// Linux in US dollars.
    pub fn linux(instance_type: &'a str, region: &'a str, hourly: &'a str) -> Self {
        Self {
            instance_type,
            region,
            operating_system: "Linux",
            operation: "RunInstances",
            currency: "USD",
            hourly,
            reserved: &[],
        }
    }
}

/// One product with its terms.
#[derive(Debug)]
pub struct Product {
    pub service_code: &'static str,
    family: &'static str,
    sku: String,
    attributes: BTreeMap<&'static str, String>,
    unit: &'static str,
    currency: String,
    on_demand: Decimal,
    reserved: Vec<Offer>,
}

impl Product {
    /// The value that filters compare, by field name.
    pub fn field(&self, name: &str) -> Option<&str> {
        match name {
            "productFamily" => Some(self.family),
            "sku" => Some(&self.sku),
            attribute => self.attributes.get(attribute).map(String::as_str),
        }
    }

    /// Whether it is sold in the China regions.
    pub fn is_in_china(&self) -> bool {
        self.field("regionCode").is_some_and(|region| region.starts_with("cn-"))
    }

    /// The price list document, as one entry of `PriceList` holds it.
    pub fn document(&self) -> Value {
        let Self { service_code, family, sku, attributes, .. } = self;
        let currency = self.currency.as_str();
        let on_demand = Offer::on_demand(self.unit, self.on_demand);
        let mut terms = json!({ "OnDemand": term(sku, currency, &[on_demand]) });
        if !self.reserved.is_empty() {
            terms["Reserved"] = term(sku, currency, &self.reserved);
        }
        json!({
            "product": { "productFamily": family, "attributes": attributes, "sku": sku },
            "serviceCode": service_code,
            "terms": terms,
            "version": "20261101000000",
            "publicationDate": "2026-11-01T00:00:00Z",
        })
    }
}

/// All products, in the order in which they were put.
#[derive(Default)]
pub struct Catalogue(Vec<Product>);

impl Catalogue {
    pub fn products(&self) -> &[Product] {
        &self.0
    }

    /// Adds the price and its neighbours. All share type, region, system and
    /// operation; each differs from the price in one attribute.
    pub fn put_instance(&mut self, price: Price<'_>) {
        let hourly = decimal(price.hourly);
        let sold_as_block =
            ["p4", "p5", "p6"].iter().any(|family| price.instance_type.starts_with(family));
        self.instance(price, hourly, &[]);
        let price = Price { reserved: &[], ..price };
        self.instance(price, Decimal::ZERO, &[("capacitystatus", "UnusedCapacityReservation")]);
        self.instance(price, Decimal::ZERO, &[("capacitystatus", "AllocatedCapacityReservation")]);
        self.instance(price, hourly + decimal("0.0625"), &[("tenancy", "Dedicated")]);
        self.instance(price, hourly + decimal("0.5"), &[("preInstalledSw", "SQL Web")]);
        if sold_as_block {
            self.instance(price, hourly / decimal("2"), &[("marketoption", "CapacityBlock")]);
        }
    }

    /// Adds a Capacity Block under the type's own name, and nothing else.
    pub fn put_capacity_block(&mut self, price: Price<'_>) {
        let option = [("marketoption", "CapacityBlock")];
        self.instance(price, decimal(price.hourly), &option);
    }

    pub fn put_storage(&mut self, region: &str, volume_api_name: &str, gb_month: &str) {
        self.add(
            ("AmazonEC2", "Storage", "GB-Mo"),
            &[
                ("regionCode", region),
                ("volumeApiName", volume_api_name),
                ("usagetype", &format!("EBS:VolumeUsage.{volume_api_name}")),
            ],
            ("USD", decimal(gb_month), Vec::new()),
        );
    }

    /// Adds what an hour of a SageMaker type costs under one component.
    pub fn put_component(&mut self, region: &str, name: &str, component: &str, hourly: &str) {
        self.add(
            ("AmazonSageMaker", "ML Instance", "Hrs"),
            &[
                ("regionCode", region),
                ("instanceName", name),
                ("component", component),
                ("instanceType", &format!("{name}-{component}")),
            ],
            ("USD", decimal(hourly), Vec::new()),
        );
    }

    pub fn put_public_ipv4(&mut self, region: &str, hourly: &str) {
        for (use_of, description) in [("InUse", "In-use"), ("Idle", "Idle")] {
            self.add(
                ("AmazonVPC", "VpcPublicIPv4Address", "Hrs"),
                &[
                    ("regionCode", region),
                    ("group", "VPCPublicIPv4Address"),
                    ("groupDescription", &format!("{description} public IPv4 address")),
                    ("usagetype", &format!("PublicIPv4:{use_of}Address")),
                ],
                ("USD", decimal(hourly), Vec::new()),
            );
        }
    }

    /// Adds one instance product; `deviations` replace its usual attributes.
    fn instance(&mut self, price: Price<'_>, hourly: Decimal, deviations: &[(&'static str, &str)]) {
        let family = if price.instance_type.contains(".metal") {
            "Compute Instance (bare metal)"
        } else {
            "Compute Instance"
        };
        let usual = [
            ("instanceType", price.instance_type),
            ("regionCode", price.region),
            ("operatingSystem", price.operating_system),
            ("operation", price.operation),
            ("tenancy", "Shared"),
            ("preInstalledSw", "NA"),
            ("capacitystatus", "Used"),
            ("marketoption", "OnDemand"),
            ("licenseModel", "No License required"),
        ];
        let mut attributes = BTreeMap::from(usual);
        attributes.extend(deviations.iter().copied());
        let usage_type = match attributes["capacitystatus"] {
            "UnusedCapacityReservation" => "UnusedBox",
            "AllocatedCapacityReservation" => "Reservation",
            _ => "BoxUsage",
        };
        let usage_type = format!("{usage_type}:{}", price.instance_type);
        attributes.insert("usagetype", &usage_type);
        let attributes: Vec<(&'static str, &str)> = attributes.into_iter().collect();
        // A reservation pays for what On-Demand would: 37% off.
        let reserved = match price.reserved {
            [] if hourly.is_zero() => Vec::new(),
            [] => vec![Offer::one_year(hourly * decimal("0.63"))],
            terms => terms.iter().map(Offer::reserved).collect(),
        };
        self.add(("AmazonEC2", family, "Hrs"), &attributes, (price.currency, hourly, reserved));
    }

    fn add(
        &mut self,
        (service_code, family, unit): (&'static str, &'static str, &'static str),
        attributes: &[(&'static str, &str)],
        (currency, on_demand, reserved): (&str, Decimal, Vec<Offer>),
    ) {
        let mut attributes: BTreeMap<&'static str, String> =
            attributes.iter().map(|&(name, value)| (name, value.to_owned())).collect();
        attributes.insert("servicecode", service_code.to_owned());
        self.0.push(Product {
            service_code,
            family,
            sku: format!("SKU{:013}", self.0.len()),
            attributes,
            unit,
            currency: currency.to_owned(),
            on_demand,
            reserved,
        });
    }
}

pub fn decimal(text: &str) -> Decimal {
    text.parse().expect("tests put prices as decimal numbers")
}
