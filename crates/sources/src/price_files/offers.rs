//! The price list of EC2 of a region as comma-separated values: five lines about the file, the
//! names of the columns, and a line for each price. It is read row by row, and no more of it is
//! held than the prices that are wanted.

use crate::domain::{
    CommitmentTerm, Currency, HourlyRate, Instalments, OperatingSystem, PaymentOption, PriceKey,
    PriceOption, PriceQuote,
};
use crate::files::{bounded, short_rows};
use crate::{Quoted, commitment_term, observed};
use csv::ByteRecord;
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

/// Bytes of a list, unpacked.
const MOST_BYTES: u64 = 16 << 30;
/// Lines about the file, at most, before the names of the columns.
const MOST_LINES_BEFORE: usize = 20;
/// Prices of one region, at most. The most in 2026 are some thousand.
const MOST_PRICES: usize = 200_000;

/// What is read of a region's list.
pub(super) struct PriceList<'a> {
    pub region: &'a str,
    pub types: &'a BTreeSet<String>,
    /// What quotes name as their source.
    pub source: &'a str,
    /// Today: no list is newer.
    pub read_on: Date,
}

/// A commitment, whose rows are its hourly and its upfront part.
struct Sold {
    key: PriceKey,
    term: CommitmentTerm,
    upfront: Option<Decimal>,
    hourly: Option<Decimal>,
    effective_date: Date,
}

/// Prices so far; of a key that two rows disagree about, none.
#[derive(Default)]
struct Found {
    prices: BTreeMap<PriceKey, Option<PriceQuote>>,
    /// By product and term.
    sold: BTreeMap<(String, String), Sold>,
}

/// The columns that are read.
const COLUMNS: [&str; 17] = [
    "SKU", "OfferTermCode", "TermType", "EffectiveDate", "Unit", "PricePerUnit", "Currency",
    "LeaseContractLength", "PurchaseOption", "OfferingClass", "Instance Type", "Tenancy",
    "Operating System", "License Model", "CapacityStatus", "MarketOption", "Pre Installed S/W",
];
/// The column that is read beside them: the file of a region has rows of no other.
const REGION: &str = "Region Code";

struct Row<'a> {
    columns: &'a BTreeMap<&'static str, usize>,
    cells: &'a ByteRecord,
}

impl Row<'_> {
    /// The text of a cell; empty where it is not UTF-8, as no wanted value is.
    fn get(&self, column: &str) -> &str {
        let place = self.columns.get(column);
        let cell = place.and_then(|place| self.cells.get(*place));
        cell.and_then(|cell| std::str::from_utf8(cell).ok()).unwrap_or_default().trim()
    }

    fn amount(&self) -> Result<Decimal, String> {
        let text = self.get("PricePerUnit");
        text.parse()
            .ok()
            .filter(|amount: &Decimal| !amount.is_sign_negative())
            .map(|amount: Decimal| amount.normalize())
            .ok_or_else(|| format!("`{text}` is not a price"))
    }
}

impl PriceList<'_> {
    /// # Errors
    /// What is wrong with it, and in which row.
    pub(super) fn read(&self, text: impl Read) -> Result<Vec<Quoted>, String> {
        let (text, row_end) = short_rows(bounded(text, MOST_BYTES));
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(1 << 16)
            .from_reader(text);
        let mut cells = ByteRecord::new();
        let mut next = |cells: &mut ByteRecord| {
            let is_there = reader.read_byte_record(cells);
            row_end.passed();
            is_there.map_err(|error| error.to_string())
        };
        let mut published = None;
        let mut columns = None;
        for _ in 0..MOST_LINES_BEFORE {
            if !next(&mut cells)? {
                break;
            }
            match cells.get(0) {
                Some(b"Publication Date") => published = cells.get(1).and_then(day),
                Some(b"SKU") => {
                    columns = Some((self.columns(&cells)?, cells.len()));
                    break;
                }
                _ => {}
            }
        }
        let (columns, width) = columns.ok_or("it has no line with the names of its columns")?;
        let published = published.ok_or("it does not say when it was published")?;
        let seen_on: Date = published.min(self.read_on);
        let mut offers = Found::default();
        let mut row = 0_u64;
        while next(&mut cells)? {
            row += 1;
            let at_row = |why: String| format!("row {row}: {why}");
            if cells.len() != width {
                return Err(at_row(format!("{} cells instead of {width}", cells.len())));
            }
            let cells = Row { columns: &columns, cells: &cells };
            self.add(&cells, seen_on, &mut offers).map_err(at_row)?;
        }
        self.finished(offers, seen_on)
    }

    /// Where each column is.
    fn columns(&self, header: &ByteRecord) -> Result<BTreeMap<&'static str, usize>, String> {
        let mut columns = BTreeMap::new();
        for name in COLUMNS.into_iter().chain([REGION]) {
            let mut places = header.iter().enumerate().filter(|(_, cell)| *cell == name.as_bytes());
            match (places.next(), places.next()) {
                (Some((place, _)), None) => columns.insert(name, place),
                (None, _) => return Err(format!("column `{name}` is missing")),
                (Some(_), Some(_)) => return Err(format!("column `{name}` is a duplicate")),
            };
        }
        Ok(columns)
    }

    /// Takes over the price of a row, where it is one that is wanted.
    fn add(&self, row: &Row<'_>, seen_on: Date, offers: &mut Found) -> Result<(), String> {
        let Some(key) = self.key(row) else { return Ok(()) };
        let expected = Currency::of_region(self.region);
        let currency = row.get("Currency");
        if currency != expected.code() {
            return Err(format!(
                "a price in `{currency}`; {} is billed in {expected}",
                self.region
            ));
        }
        if offers.prices.len() + offers.sold.len() > MOST_PRICES {
            return Err("more prices than any region has".to_owned());
        }
        let amount = row.amount()?;
        let effective_date = day(row.get("EffectiveDate").as_bytes()).unwrap_or(seen_on);
        match row.get("TermType") {
            "OnDemand" if row.get("Unit") == "Hrs" => {
                // Rows at zero are rows of what is paid for elsewhere.
                if !amount.is_zero() {
                    let rate = HourlyRate::new(amount, expected)
                        .ok_or_else(|| format!("`{amount}` is not a price of an hour"))?;
                    let days = (effective_date, seen_on);
                    offers.insert(key, observed(rate, None, days, self.source));
                }
                Ok(())
            }
            "Reserved" => reserved(row, (key, amount, effective_date), offers),
            _ => Ok(()),
        }
    }

    /// What a row is a price of; `None` of what is not wanted: rows that share a type's name
    /// but not its price are those of Capacity Blocks, of unused reservations, of
    /// licensed software, and of licenses that customers bring.
    fn key(&self, row: &Row<'_>) -> Option<PriceKey> {
        let name = row.get("Instance Type");
        let is_wanted = self.types.contains(name)
            && row.get(REGION) == self.region
            && row.get("Tenancy") == "Shared"
            && row.get("CapacityStatus") == "Used"
            && row.get("MarketOption") == "OnDemand"
            && row.get("Pre Installed S/W") == "NA"
            && row.get("License Model") == "No License required";
        let operating_system = match row.get("Operating System") {
            "Linux" => OperatingSystem::Linux,
            "Windows" => OperatingSystem::Windows,
            "RHEL" => OperatingSystem::Rhel,
            "SUSE" => OperatingSystem::Sles,
            "Ubuntu Pro" => OperatingSystem::UbuntuPro,
            _ => return None,
        };
        is_wanted
            .then(|| PriceKey { operating_system, ..PriceKey::linux_on_demand(self.region, name) })
    }

    /// Every price, with both parts of what is sold ahead.
    fn finished(&self, mut offers: Found, seen_on: Date) -> Result<Vec<Quoted>, String> {
        let currency = Currency::of_region(self.region);
        for ((sku, _), sold) in std::mem::take(&mut offers.sold) {
            let (upfront, hourly) = match (sold.term.payment, sold.upfront, sold.hourly) {
                (PaymentOption::NoUpfront, None, Some(hourly)) => (Decimal::ZERO, hourly),
                (PaymentOption::AllUpfront, Some(upfront), None) => (upfront, Decimal::ZERO),
                (_, Some(upfront), Some(hourly)) => (upfront, hourly),
                _ => {
                    return Err(format!("a part of the price of {} is missing ({sku})", sold.key));
                }
            };
            let instalments = Instalments { upfront, hourly };
            let effective = instalments.effective_hourly(sold.term);
            if effective.is_zero() {
                continue;
            }
            let rate = HourlyRate::new(effective, currency)
                .ok_or_else(|| format!("`{effective}` is not a price of {}", sold.key))?;
            let days = (sold.effective_date, seen_on);
            offers.insert(sold.key, observed(rate, Some(instalments), days, self.source));
        }
        Ok(offers.prices.into_iter().filter_map(|(key, quote)| Some((key, quote?))).collect())
    }
}

impl Found {
    fn insert(&mut self, key: PriceKey, quote: PriceQuote) {
        self.prices
            .entry(key)
            .and_modify(|known| {
                if known.as_ref().is_some_and(|known| known.rate != quote.rate) {
                    *known = None;
                }
            })
            .or_insert(Some(quote));
    }
}

/// Takes over a part of the price of a standard reserved instance.
fn reserved(
    row: &Row<'_>,
    (key, amount, effective_date): (PriceKey, Decimal, Date),
    offers: &mut Found,
) -> Result<(), String> {
    let length = row.get("LeaseContractLength");
    let Some(term) = commitment_term(length, row.get("PurchaseOption")) else { return Ok(()) };
    if row.get("OfferingClass") != "standard" {
        return Ok(());
    }
    let offer = (row.get("SKU").to_owned(), row.get("OfferTermCode").to_owned());
    let sold = offers.sold.entry(offer).or_insert_with(|| Sold {
        key: key.with_option(PriceOption::Reserved(term)),
        term,
        upfront: None,
        hourly: None,
        effective_date,
    });
    let part = match row.get("Unit") {
        "Hrs" => &mut sold.hourly,
        "Quantity" => &mut sold.upfront,
        unit => return Err(format!("`{unit}` is not a unit of reserved instances")),
    };
    match part.replace(amount) {
        Some(known) if known != amount => Err(format!("two prices of {}", sold.key)),
        _ => Ok(()),
    }
}

/// The day at the beginning of an instant.
fn day(text: &[u8]) -> Option<Date> {
    std::str::from_utf8(text.get(..10)?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    /// The names of the columns, as the list of September 2025 has them; those that are not read
    /// are left out but for some between.
    const HEADER: &[&str] = &[
        "SKU", "OfferTermCode", "RateCode", "TermType", "PriceDescription", "EffectiveDate",
        "Unit", "PricePerUnit", "Currency", "LeaseContractLength", "PurchaseOption",
        "OfferingClass", "Product Family", "Instance Type", "Tenancy", "Operating System",
        "License Model", "CapacityStatus", "MarketOption", "Pre Installed S/W", "Region Code",
        "serviceName",
    ];

    /// A row of Linux on demand, with some cells changed.
    fn row(changes: &[(&str, &str)]) -> String {
        let usual = [
            ("SKU", "A1"),
            ("OfferTermCode", "JRTCKXETXF"),
            ("TermType", "OnDemand"),
            ("PriceDescription", "$1.006 per On Demand Linux, in quotes"),
            ("EffectiveDate", "2026-11-01"),
            ("Unit", "Hrs"),
            ("PricePerUnit", "1.0060000000"),
            ("Currency", "USD"),
            ("Product Family", "Compute Instance"),
            ("Instance Type", "g5.xlarge"),
            ("Tenancy", "Shared"),
            ("Operating System", "Linux"),
            ("License Model", "No License required"),
            ("CapacityStatus", "Used"),
            ("MarketOption", "OnDemand"),
            ("Pre Installed S/W", "NA"),
            ("Region Code", "us-east-1"),
        ];
        let cell = |name: &&str| {
            let mut columns = changes.iter().chain(&usual);
            let value = columns.find(|(known, _)| known == name);
            format!("\"{}\"", value.map_or("", |(_, value)| *value))
        };
        HEADER.iter().map(cell).collect::<Vec<_>>().join(",")
    }

    /// A row of a standard reserved instance.
    fn sold(term: [&str; 3], unit: &str, amount: &str) -> String {
        let [code, years, payment] = term;
        row(&[
            ("TermType", "Reserved"),
            ("OfferTermCode", code),
            ("LeaseContractLength", years),
            ("PurchaseOption", payment),
            ("OfferingClass", "standard"),
            ("Unit", unit),
            ("PricePerUnit", amount),
        ])
    }

    fn file(rows: &[String]) -> String {
        let header: Vec<String> = HEADER.iter().map(|name| format!("\"{name}\"")).collect();
        format!(
            "\"FormatVersion\",\"v1.0\"\n\"Disclaimer\",\"For information, and no more\"\n\
             \"Publication Date\",\"2026-11-18T20:59:55Z\"\n\"Version\",\"20261118205955\"\n\
             \"OfferCode\",\"AmazonEC2\"\n{}\n{}\n",
            header.join(","),
            rows.join("\n")
        )
    }

    fn read_in(region: &str, text: &str) -> Result<Vec<(PriceKey, PriceQuote)>, String> {
        let list = PriceList {
            region,
            types: &["g5.xlarge", "p5.48xlarge"].map(str::to_owned).into(),
            source: "list",
            read_on: date(2026, 11, 23),
        };
        list.read(text.as_bytes())
    }

    fn read(rows: &[String]) -> Result<Vec<(PriceKey, PriceQuote)>, String> {
        read_in("us-east-1", &file(rows))
    }

    /// What was found, in words.
    fn words(prices: &[(PriceKey, PriceQuote)]) -> Vec<String> {
        let one = |(key, quote): &(PriceKey, PriceQuote)| format!("{key} {}", quote.rate.amount());
        prices.iter().map(one).collect()
    }

    #[test]
    fn both_parts_of_a_commitment_are_spread_over_its_term() {
        let partial = ["T1", "1yr", "Partial Upfront"];
        let all = ["T2", "3yr", "All Upfront"];
        let none = ["T3", "1yr", "No Upfront"];
        let prices = read(&[
            row(&[]),
            sold(partial, "Hrs", "0.3000000000"),
            sold(partial, "Quantity", "2628"),
            sold(all, "Quantity", "10512"),
            sold(all, "Hrs", "0.0000000000"),
            sold(none, "Hrs", "0.6338000000"),
        ])
        .expect("a list");
        // 2,628 / 8,760 + 0.3; 10,512 / 26,280.
        let expected = [
            "g5.xlarge us-east-1 linux shared on-demand 1.006",
            "g5.xlarge us-east-1 linux shared reserved-1yr-no-upfront 0.6338",
            "g5.xlarge us-east-1 linux shared reserved-1yr-partial-upfront 0.60",
            "g5.xlarge us-east-1 linux shared reserved-3yr-all-upfront 0.40",
        ];
        assert_eq!(words(&prices), expected);
        let quote = &prices[0].1;
        assert_eq!(quote.effective_date, date(2026, 11, 1));
        assert_eq!(quote.seen_on, date(2026, 11, 18), "the day of the list");
    }

    #[test]
    fn rows_that_share_a_name_and_not_a_price_are_left_out() {
        let other = |changes: &[(&str, &str)]| {
            let cells: Vec<_> = [("SKU", "B2"), ("PricePerUnit", "9.9900000000")]
                .iter()
                .chain(changes)
                .copied()
                .collect();
            row(&cells)
        };
        let prices = read(&[
            row(&[]),
            other(&[("MarketOption", "CapacityBlock")]),
            other(&[("CapacityStatus", "UnusedCapacityReservation")]),
            other(&[("Tenancy", "Dedicated")]),
            other(&[("Pre Installed S/W", "SQL Web")]),
            other(&[("License Model", "Bring your own license")]),
            other(&[("Operating System", "Red Hat Enterprise Linux with HA")]),
            other(&[("Instance Type", "m5.large")]),
            other(&[("Region Code", "us-east-1-atl-1")]),
            other(&[("TermType", "Reserved"), ("OfferingClass", "convertible")]),
            row(&[("SKU", "Z"), ("PricePerUnit", "0.0000000000")]),
            row(&[("Operating System", "SUSE"), ("PricePerUnit", "1.131")]),
        ])
        .expect("a list");
        let expected = [
            "g5.xlarge us-east-1 linux shared on-demand 1.006",
            "g5.xlarge us-east-1 sles shared on-demand 1.131",
        ];
        assert_eq!(words(&prices), expected);
        // Of two prices neither is taken.
        let twice = [row(&[]), other(&[]), row(&[])];
        assert!(read(&twice).expect("a list").is_empty());
    }

    #[test]
    fn a_list_that_is_not_whole_or_not_as_before_is_refused() {
        let whole = file(&[row(&[]), row(&[])]);
        let cut = whole.len() - 40;
        let in_region = |region: &str, text: &str| read_in(region, text).expect_err("refused");
        let of = |text: &str| in_region("us-east-1", text);
        let price = |amount: &str| read(&[row(&[("PricePerUnit", amount)])]).expect_err("refused");
        assert_eq!(of(&whole[..cut]), "row 2: 17 cells instead of 22");
        assert_eq!(
            of(&whole.replace("\"MarketOption\"", "\"Market\"")),
            "column `MarketOption` is missing"
        );
        assert_eq!(of(&whole.replace("\"serviceName\"", "\"SKU\"")), "column `SKU` is a duplicate");
        assert_eq!(
            of(&whole.replace("Publication Date", "Published")),
            "it does not say when it was published"
        );
        for text in ["", "<html>\n<body>Not found</body>\n</html>\n"] {
            assert_eq!(of(text), "it has no line with the names of its columns");
        }
        let yuan = file(&[row(&[("Region Code", "cn-north-1")])]);
        assert_eq!(
            in_region("cn-north-1", &yuan),
            "row 1: a price in `USD`; cn-north-1 is billed in CNY"
        );
        for invalid in ["", "-1.5", "NaN", "inf", "1e400", "=cmd"] {
            assert_eq!(price(invalid), format!("row 1: `{invalid}` is not a price"));
        }
        assert_eq!(price("10000000"), "row 1: `10000000` is not a price of an hour");
        let half = sold(["T1", "1yr", "Partial Upfront"], "Hrs", "0.3");
        assert_eq!(
            read(&[half]).expect_err("refused"),
            "a part of the price of g5.xlarge us-east-1 linux shared \
             reserved-1yr-partial-upfront is missing (A1)"
        );
    }

    #[test]
    fn a_list_of_the_future_is_of_today() {
        let text = file(&[row(&[])]).replace("2026-11-18T", "9999-12-31T");
        let prices = read_in("us-east-1", &text).expect("a list");
        assert_eq!(prices[0].1.seen_on, date(2026, 11, 23));
    }
}
