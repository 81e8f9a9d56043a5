//! Planners on the whole catalog, against filters of their own over its files, and on the
//! public lists that it was made from.

use crate::samples::data::{Line, book, lines};
use gpucost::analysis::{AWS, Question, SortBy, rentals, select_types};
use gpucost::catalog::{Prices, shape};
use gpucost::domain::{Architecture, GpuShare, OperatingSystem, Policy, PriceBook, WorkloadKind};
use gpucost::planners::Paying;
use gpucost::planners::select::{Budget, OfferedType, Selection, Wanted, select};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::collections::{BTreeMap, BTreeSet};

fn question(region: &str, providers: &[&str]) -> Question {
    Question {
        instance_types: Vec::new(),
        gpu: None,
        count: None,
        regions: vec![region.to_owned()],
        home_region: region.to_owned(),
        providers: providers.iter().map(|name| (*name).to_owned()).collect(),
        operating_system: OperatingSystem::Linux,
        sort: SortBy::Price,
    }
}

fn wanted() -> Wanted {
    Wanted {
        kind: WorkloadKind::Training,
        restartable: false,
        paying: None,
        gpus: Some(GpuShare::Whole(1)),
        models: Vec::new(),
        measured: None,
        names_accelerator: false,
        vram_mib: None,
        vram_total_mib: None,
        memory_mib: None,
        vcpu: None,
        vcpu_without_gpu: None,
        architecture: None,
        nvlink: false,
        efa: false,
        rate_per_second: None,
        budget: Budget::default(),
        hours: Decimal::from(730),
        hours_of_month: Decimal::from(730),
        today: None,
        sources: BTreeMap::new(),
    }
}

fn selected(region: &str, wanted: Wanted) -> Selection {
    let (gathered, terms) = (PriceBook::default(), BTreeMap::new());
    let prices = Prices::new(&gathered, &terms);
    select_types(&question(region, &[AWS]), wanted, &prices, &Policy::default())
}

/// The catalog as its files have it.
struct Files {
    shapes: Vec<Line>,
    /// Driver-reported memory and NVLink of a card, by model and memory.
    cards: BTreeMap<(String, String), (String, String)>,
    launchable: BTreeSet<String>,
    /// By type and region.
    prices: BTreeMap<(String, String), Row>,
}

/// Prices of a type in a region.
struct Row {
    on_demand: Option<Decimal>,
    spot: Option<Decimal>,
    band: String,
}

impl Files {
    fn read() -> Self {
        let cell = |line: &Line, column: &str| line.get(column).to_owned();
        let cards = book("gpu_specs.csv");
        let cards = cards.iter().map(|line| {
            let card = (cell(line, "gpu_model"), cell(line, "memory_mib"));
            let facts = (cell(line, "memory_mib_reported"), cell(line, "nvlink_gbps"));
            (card, facts)
        });
        let families = book("families.csv");
        let families = families.iter().filter(|line| line.get("launchable") == "true");
        let prices = book("prices.csv");
        let prices = prices
            .iter()
            .filter(|line| {
                line.get("operating_system") == "linux" && line.get("tenancy") == "shared"
            })
            .map(|line| {
                let place = (cell(line, "instance_type"), cell(line, "region"));
                let row = Row {
                    on_demand: line.amount("on_demand"),
                    spot: line.amount("spot_average"),
                    band: cell(line, "interruption_band"),
                };
                (place, row)
            });
        Self {
            shapes: book("shapes.csv"),
            cards: cards.collect(),
            launchable: families.map(|line| cell(line, "family")).collect(),
            prices: prices.collect(),
        }
    }

    /// Types of a region that do, with the price per hour that they are ranked by.
    fn fits(&self, region: &str, wanted: &Wanted) -> Vec<(Decimal, String)> {
        let mut fits: Vec<(Decimal, String)> = self
            .shapes
            .iter()
            .filter(|line| line.get("accelerator") == "gpu" && self.does(line, wanted))
            .filter_map(|line| {
                let name = line.get("instance_type").to_owned();
                let price = self.price(&name, region, wanted)?;
                Some((price, name))
            })
            .filter(|(price, _)| wanted.budget.hourly.is_none_or(|most| *price <= most))
            .collect();
        fits.sort();
        fits
    }

    fn does(&self, line: &Line, wanted: &Wanted) -> bool {
        let model = line.get("gpu_model");
        let family = line.get("instance_type").split('.').next().expect("a name");
        let number = |text: &str| text.parse::<f64>().ok();
        let count = number(line.get("gpu_count")).expect("a number of GPUs");
        let whole = count.max(1.0);
        let card = (model.to_owned(), line.get("gpu_memory_mib").to_owned());
        let reported = if count < 1.0 {
            number(line.get("gpu_memory_mib"))
        } else {
            self.cards.get(&card).and_then(|(mib, _)| number(mib))
        };
        // A part of a card has the link of its model, where the model is of one memory.
        let mut of_model = self.cards.iter().filter(|((name, _), _)| name == model);
        let link = match count < 1.0 {
            true => of_model.next().and_then(|(_, (_, link))| number(link)),
            false => self.cards.get(&card).and_then(|(_, link)| number(link)),
        };
        let holds = |needed: Option<f64>, times: f64| {
            needed.is_none_or(|needed| reported.is_some_and(|mib| mib * times >= needed))
        };
        !model.starts_with("Radeon")
            && self.launchable.contains(family)
            && wanted.gpus.is_none_or(|gpus| count >= gpus.count().to_f64().expect("a number"))
            && holds(wanted.vram_mib, 1.0)
            && holds(wanted.vram_total_mib, whole)
            && (!wanted.nvlink || link.is_some_and(|link| link > 0.0))
            && (!wanted.efa || line.get("efa") == "true")
            && wanted.memory_mib.is_none_or(|needed| {
                number(line.get("memory_mib")).is_some_and(|mib| mib >= needed)
            })
            && wanted.architecture.is_none_or(|wanted| line.get("architecture") == wanted.name())
    }

    fn price(&self, name: &str, region: &str, wanted: &Wanted) -> Option<Decimal> {
        let place = (name.to_owned(), region.to_owned());
        let row = self.prices.get(&place)?;
        let on_demand = row.on_demand?;
        // One interruption a day; 60 s per checkpoint, 300 s per restart: the interval of
        // Young is sqrt(2 × 60 × 86,400) = 3,220 s, which leaves 95.9% of the time.
        let interval = (2.0_f64 * 60.0 * 86_400.0).sqrt();
        let lost = 60.0 / interval + (interval / 2.0 + 300.0) / 86_400.0;
        let kept = Decimal::try_from(1.0 - lost).expect("a number");
        let saves = |spot: &Decimal| *spot / kept < on_demand;
        let is_spot = wanted.restartable && !row.band.is_empty();
        Some(row.spot.filter(|spot| is_spot && saves(spot)).unwrap_or(on_demand))
    }
}

/// Every type of a region with its prices, as the planner gets them.
fn offered(region: &str, restartable: bool) -> Vec<OfferedType> {
    let Selection { fits, refused, .. } = selected(region, Wanted { restartable, ..wanted() });
    let fits = fits.into_iter().map(|fit| fit.offered);
    fits.chain(refused.into_iter().map(|refusal| refusal.offered)).collect()
}

/// Needs in every combination, 1,024 for a region.
fn combinations() -> Vec<Wanted> {
    let mut selections = Vec::new();
    let part = GpuShare::Fraction(Decimal::new(25, 2));
    let gpus = [part, GpuShare::Whole(1), GpuShare::Whole(2), GpuShare::Whole(8)];
    for vram_mib in [None, Some(15_361.0), Some(40_960.0), Some(81_559.0)] {
        for gpus in gpus {
            for case in 0..64_u32 {
                let is = |bit: u32| case & (1 << bit) != 0;
                selections.push(Wanted {
                    gpus: Some(gpus),
                    vram_mib,
                    vram_total_mib: is(0).then_some(100_000.0),
                    memory_mib: is(1).then_some(262_144.0),
                    nvlink: is(2),
                    efa: is(3),
                    restartable: is(4),
                    architecture: is(5).then_some(Architecture::X86_64),
                    budget: Budget { hourly: is(1).then_some(Decimal::from(20)), monthly: None },
                    ..wanted()
                });
            }
        }
    }
    selections
}

#[test]
fn every_selection_is_that_of_a_filter_over_the_files() {
    let files = Files::read();
    let (mut compared, mut asked) = (0, 0);
    for region in ["us-east-1", "eu-west-1", "ap-south-1", "us-gov-west-1"] {
        let [steady, restartable] = [false, true].map(|flag| offered(region, flag));
        for wanted in combinations() {
            let expected = files.fits(region, &wanted);
            let offered = if wanted.restartable { &restartable } else { &steady };
            let selection = select(wanted.clone(), offered.clone());
            let fits: Vec<(Decimal, String)> = selection
                .fits
                .iter()
                .map(|offer| (offer.rate.amount(), offer.offered.shape.instance_type.clone()))
                .collect();
            assert_eq!(fits, expected, "{region} {wanted:?}");
            compared += fits.len();
            asked += 1;
        }
    }
    println!("{compared} offers in {asked} selections");
    assert_eq!(asked, 4_096);
    assert!(compared > 1_000, "{compared}");
}

#[test]
fn selected_types_cost_what_the_public_list_says() {
    let Some(listed) = lines("aws_accel_prices_joined.csv") else { return };
    let listed: BTreeMap<(&str, &str), &Line> =
        listed.iter().map(|line| ((line.get("instance_type"), line.get("region")), line)).collect();
    let mut compared = 0;
    for region in ["us-east-1", "eu-central-1", "ap-northeast-1"] {
        for fit in selected(region, wanted()).fits {
            let name = fit.offered.shape.instance_type.as_str();
            let line = listed.get(&(name, region)).expect("in the list");
            for (paying, column) in [
                (Paying::OnDemand, "on_demand"),
                (Paying::Spot, "spot_avg"),
                (Paying::Reserved1yr, "ri_std_1y_no_upfront"),
                (Paying::Reserved3yr, "ri_std_3y_no_upfront"),
            ] {
                let price = fit.offered.quote(paying);
                let amount = price.map(|quote| quote.rate.amount().normalize());
                assert_eq!(amount, line.amount(column), "{name} {region} {column}");
                compared += usize::from(amount.is_some());
            }
        }
    }
    println!("{compared} prices are those of the list");
    assert!(compared > 300, "{compared}");
}

#[test]
fn rented_h100_cost_what_the_list_of_providers_says() {
    let Some(listed) = lines("neoclouds_offerings_2026-05-24.csv") else { return };
    let (gathered, terms) = (PriceBook::default(), BTreeMap::new());
    let prices = Prices::new(&gathered, &terms);
    let providers = gpucost::analysis::providers();
    let names: Vec<&str> = providers.iter().map(String::as_str).collect();
    let gpu = shape("p5.48xlarge").and_then(|shape| shape.gpu.as_ref());
    let asked = Question {
        instance_types: vec!["p5.48xlarge".to_owned()],
        ..question("us-east-1", &names)
    };
    let offers = rentals(&asked, gpu.expect("eight H100"), &prices).found;
    let of_list = listed.iter().filter(|line| {
        let model = line.get("gpu_model");
        line.get("is_spot") != "True"
            && line.get("vram_gb") == "80"
            && model.contains("H100")
            && !model.contains("PCIe")
    });
    let mut compared = 0;
    for line in of_list {
        let (provider, price) = (line.get("provider_id"), line.amount("price_usd_hour"));
        let is_there = offers.iter().any(|offer| {
            offer.provider.as_deref() == Some(provider)
                && offer.paying == Paying::OnDemand
                && Some(offer.per_gpu_hour.normalize()) == price
        });
        assert!(is_there, "{provider} {price:?}");
        compared += 1;
    }
    assert_eq!(compared, 16);
}
