//! Every key that could be asked of the bundled catalog: a price exactly where the
//! files have one for that very key. The files are read by their columns here;
//! the program finds rows by bisection.

use crate::samples::data::{Line, book};
use gpucost::catalog::{Prices, bundled_quote};
use gpucost::domain::{
    CommitmentTerm, Currency, NoPrice, OperatingSystem, PriceBasis, PriceBook, PriceKey,
    PriceOption, Provider, Tenancy,
};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet, HashMap};

static NO_DISCOUNT: BTreeMap<String, Decimal> = BTreeMap::new();

/// What a file states of a key.
#[derive(Debug, PartialEq)]
struct Stated {
    amount: Decimal,
    currency: String,
    date: String,
    basis: &'static str,
}

/// Type, region, system, tenancy and option, as the files write them.
type Cell = (String, String, String, String, String);

fn cell(line: &Line, option: &str) -> Cell {
    let text = |column: &str| line.get(column).to_owned();
    (
        text("instance_type"),
        text("region"),
        text("operating_system"),
        text("tenancy"),
        option.to_owned(),
    )
}

fn stated(line: &Line, amount: &str, date: &str, basis: &'static str) -> Option<Stated> {
    Some(Stated {
        amount: line.amount(amount)?,
        currency: line.get("currency").to_owned(),
        date: line.get(date).to_owned(),
        basis,
    })
}

/// Every price of the files by its key.
fn prices_of_the_files() -> HashMap<Cell, Stated> {
    let mut prices = HashMap::new();
    let mut note = |cell: Cell, stated: Option<Stated>| {
        if let Some(stated) = stated {
            assert_eq!(prices.insert(cell, stated), None, "a key stands once");
        }
    };
    for line in book("prices.csv") {
        let on_demand = stated(&line, "on_demand", "on_demand_date", "observed");
        let spot = stated(&line, "spot_average", "spot_average_date", "observed");
        note(cell(&line, "on-demand"), on_demand);
        note(cell(&line, "spot"), spot);
    }
    let families = book("families.csv");
    let derived: BTreeSet<&str> = families
        .iter()
        .filter(|line| line.get("ec2_instance_savings_plan") == "derived")
        .map(|line| line.get("family"))
        .collect();
    for line in book("reserved.csv") {
        let basis = match line.get("basis") {
            "observed" => "observed",
            _ => "derived",
        };
        let price = |basis| stated(&line, "effective_hourly", "date", basis);
        let term = format!("{}yr-{}", line.get("term_years"), line.get("payment"));
        note(cell(&line, &format!("reserved-{term}")), price(basis));
        let family = line.get("instance_type").split('.').next();
        let plain = (line.get("operating_system"), line.get("tenancy")) == ("linux", "shared");
        if plain && family.is_some_and(|family| derived.contains(family)) {
            let plan = format!("ec2-instance-savings-plan-{term}");
            note(cell(&line, &plan), price("derived"));
        }
    }
    for line in book("capacity_blocks.csv") {
        let text = |column: &str| line.get(column).to_owned();
        let key = (
            text("instance_type"),
            text("region"),
            "linux".to_owned(),
            "shared".to_owned(),
            "capacity-block".to_owned(),
        );
        note(key, stated(&line, "hourly", "date", "observed"));
    }
    prices
}

/// Whatever stands in a column of any file of AWS, and two names that stand in
/// none.
fn names(column: &str, unknown: [&str; 2]) -> Vec<String> {
    let files = ["prices.csv", "reserved.csv", "capacity_blocks.csv", "zones.csv"];
    let names: BTreeSet<String> = files
        .into_iter()
        .flat_map(book)
        .map(|line| line.get(column).to_owned())
        .chain(unknown.map(str::to_owned))
        .collect();
    names.into_iter().collect()
}

fn options() -> Vec<PriceOption> {
    let mut options = vec![PriceOption::OnDemand, PriceOption::Spot, PriceOption::CapacityBlock];
    for term in CommitmentTerm::ALL {
        options.push(PriceOption::Reserved(term));
        options.push(PriceOption::Ec2InstanceSavingsPlan(term));
        options.push(PriceOption::ComputeSavingsPlan(term));
    }
    options
}

/// Asks for the systems, tenancies and options of one type in one region: how
/// many keys were asked, and how many had a price.
fn ask(
    name: &str,
    region: &str,
    files: &HashMap<Cell, Stated>,
    options: &[(PriceOption, String)],
) -> (usize, usize) {
    let (mut asked, mut priced) = (0, 0);
    let mut key = PriceKey::linux_on_demand(region, name);
    for system in OperatingSystem::ALL {
        for tenancy in Tenancy::ALL {
            (key.operating_system, key.tenancy) = (*system, *tenancy);
            // No file has another tenancy than shared, so that two options of
            // the others will do; if one had, its prices would be missed below.
            let asked_options = match tenancy {
                Tenancy::Shared => options,
                Tenancy::Dedicated | Tenancy::Host => &options[..2],
            };
            for (option, option_name) in asked_options {
                key.option = *option;
                let cell = (
                    name.to_owned(),
                    region.to_owned(),
                    system.name().to_owned(),
                    tenancy.name().to_owned(),
                    option_name.clone(),
                );
                asked += 1;
                let Some(quote) = bundled_quote(&key) else {
                    assert_eq!(files.get(&cell), None, "{key} is in a file and has no price");
                    continue;
                };
                priced += 1;
                assert!(quote.rate.amount() > Decimal::ZERO, "{key}");
                let in_yuan = quote.rate.currency() == Currency::Cny;
                assert_eq!(in_yuan, region.starts_with("cn-"), "{key}");
                assert_eq!(quote.effective_date, quote.seen_on, "{key}");
                let quoted = Stated {
                    amount: quote.rate.amount().normalize(),
                    currency: quote.rate.currency().code().to_owned(),
                    date: quote.seen_on.to_string(),
                    basis: quote.basis.name(),
                };
                assert_eq!(Some(&quoted), files.get(&cell), "{key}");
            }
        }
    }
    (asked, priced)
}

#[test]
fn every_key_has_the_price_of_its_own_cell_or_none() {
    let files = prices_of_the_files();
    let types = names("instance_type", ["p4d", "z9.24xlarge"]);
    let regions = names("region", ["us-east", "mars-1"]);
    let options: Vec<(PriceOption, String)> =
        options().into_iter().map(|option| (option, option.to_string())).collect();
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let of_worker = |worker: usize| {
        let mut sums = (0, 0);
        for name in types.iter().skip(worker).step_by(workers) {
            for region in &regions {
                let (asked, priced) = ask(name, region, &files, &options);
                sums = (sums.0 + asked, sums.1 + priced);
            }
        }
        sums
    };
    let (asked, priced) = std::thread::scope(|scope| {
        let running: Vec<_> =
            (0..workers).map(|worker| scope.spawn(move || of_worker(worker))).collect();
        running
            .into_iter()
            .map(|worker| worker.join().expect("every key holds"))
            .fold((0, 0), |sums, counts: (usize, usize)| (sums.0 + counts.0, sums.1 + counts.1))
    });
    println!("{asked} keys asked, {priced} priced, {} in the files", files.len());
    assert_eq!(priced, files.len(), "every price of the files is found");
    assert!(asked > 4_000_000, "{asked}");
}

#[test]
fn without_anything_gathered_prices_are_those_of_the_book() {
    let nothing = PriceBook::default();
    let prices = Prices::new(&nothing, &NO_DISCOUNT);
    for (name, region, system, tenancy, option) in prices_of_the_files().keys() {
        let key = PriceKey {
            operating_system: OperatingSystem::from_name(system).expect("known"),
            tenancy: Tenancy::from_name(tenancy).expect("known"),
            option: PriceOption::from_name(option).expect("known"),
            ..PriceKey::linux_on_demand(region, name)
        };
        assert_eq!(prices.get(&key).ok(), bundled_quote(&key), "{key}");
        let nowhere = PriceKey { region: format!("{region}x"), ..key };
        assert_eq!(prices.get(&nowhere), Err(NoPrice(nowhere.clone())));
        let elsewhere = PriceKey { provider: Provider::Gcp, region: region.clone(), ..nowhere };
        assert_eq!(bundled_quote(&elsewhere), None, "of AWS alone");
    }
}

#[test]
fn a_derived_plan_costs_what_its_reserved_instance_does() {
    let mut compared = 0;
    for (name, region, system, tenancy, option) in prices_of_the_files().keys() {
        let Some(term) = option.strip_prefix("ec2-instance-savings-plan-") else { continue };
        let term = CommitmentTerm::from_name(term).expect("a term");
        let key = PriceKey::linux_on_demand(region, name);
        assert_eq!((system.as_str(), tenancy.as_str()), ("linux", "shared"));
        let quote = |option| bundled_quote(&key.with_option(option)).expect("priced");
        let plan = quote(PriceOption::Ec2InstanceSavingsPlan(term));
        assert_eq!(plan.rate, quote(PriceOption::Reserved(term)).rate);
        assert_eq!(plan.basis, PriceBasis::Derived);
        compared += 1;
    }
    assert!(compared > 5_000, "{compared}");
}
