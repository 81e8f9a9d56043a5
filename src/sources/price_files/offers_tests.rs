use super::*;
use jiff::civil::date;

/// The names of the columns, as the list of September 2025 has them; those that are not read
/// are left out but for some between.
const HEADER: &[&str] = &[
    "SKU", "OfferTermCode", "RateCode", "TermType", "PriceDescription", "EffectiveDate", "Unit",
    "PricePerUnit", "Currency", "LeaseContractLength", "PurchaseOption", "OfferingClass",
    "Product Family", "Instance Type", "Tenancy", "Operating System", "License Model",
    "CapacityStatus", "MarketOption", "Pre Installed S/W", "Region Code", "serviceName",
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
