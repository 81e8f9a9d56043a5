//! Which prices of what was found are asked for, with the bundled catalog behind them.

use crate::catalog::{bundled_quote, family, known_shape, shapes, smaller_types};
use crate::domain::{
    AcceleratorKind, Cause, CauseKind, CommitmentTerm, Gap, GapSubject, Instance, InstanceShape,
    OperatingSystem, PriceBook, PriceKey, PriceOption, Provider, PurchaseOption, StorageResource,
    Tenancy, TrainingJob, Window, is_restartable,
};
use crate::{PriceQuery, WantedPrices};
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

/// The prices that figures about what was found in a region may rest on.
pub(super) fn price_ask(
    region: &str,
    instances: &[Instance],
    shapes: &BTreeMap<String, InstanceShape>,
    (window, read_on): (Window, Date),
) -> PriceQuery {
    PriceQuery {
        on_demand: wanted_prices(region, instances),
        spot: spot_types(instances, shapes),
        storage: idle_storage_resources(instances),
        window,
        read_on,
    }
}

/// The prices of the types of jobs; `None` where none is wanted.
pub(super) fn job_price_ask(
    region: &str,
    jobs: &[TrainingJob],
    (window, read_on): (Window, Date),
) -> Option<PriceQuery> {
    let keys = jobs.iter().flat_map(TrainingJob::price_keys);
    let types: BTreeSet<String> = keys.map(|key| key.instance_type).collect();
    let wanted = WantedPrices {
        region: region.to_owned(),
        operating_system: OperatingSystem::Linux,
        tenancy: Tenancy::Shared,
        instance_types: types.iter().cloned().collect(),
        in_use: types,
    };
    (!wanted.in_use.is_empty()).then(|| PriceQuery {
        on_demand: vec![wanted],
        spot: BTreeMap::new(),
        storage: Vec::new(),
        window,
        read_on,
    })
}

pub(super) fn accelerated_types() -> impl Iterator<Item = String> {
    shapes()
        .filter(|shape| shape.accelerator != AcceleratorKind::Cpu)
        .map(|shape| shape.instance_type.clone())
}

/// Types in use, and where any of them runs every accelerated one of its provider, because
/// each could take its place; by system and tenancy. The catalog knows the types of AWS.
fn wanted_prices(region: &str, instances: &[Instance]) -> Vec<WantedPrices> {
    let mut wanted: BTreeMap<_, (BTreeSet<String>, bool, BTreeSet<String>)> = BTreeMap::new();
    for instance in instances {
        let (types, runs, in_use) =
            wanted.entry((instance.operating_system, instance.tenancy)).or_default();
        types.insert(instance.instance_type.clone());
        let is_running = instance.state.is_running();
        *runs |= is_running && instance.id.provider() == Provider::Aws;
        if is_running && instance.purchase_option() == PurchaseOption::OnDemand {
            in_use.insert(instance.instance_type.clone());
        }
    }
    wanted
        .into_iter()
        .map(|((operating_system, tenancy), (mut types, runs, in_use))| {
            if runs {
                types.extend(accelerated_types());
            }
            WantedPrices {
                in_use,
                region: region.to_owned(),
                operating_system,
                tenancy,
                instance_types: types.into_iter().collect(),
            }
        })
        .collect()
}

/// Types that run on the spot market or could go there, and the smaller ones of
/// the same GPU, whose prices compare only when both are read at once. The history
/// of every type would be read page by page for minutes.
fn spot_types(
    instances: &[Instance],
    shapes: &BTreeMap<String, InstanceShape>,
) -> BTreeMap<OperatingSystem, Vec<String>> {
    let mut types: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    for instance in instances {
        let goes = match instance.purchase_option() {
            PurchaseOption::Spot => true,
            PurchaseOption::OnDemand => is_restartable(&instance.tags),
            _ => false,
        };
        if instance.state.is_running() && goes {
            let types = types.entry(instance.operating_system).or_default();
            types.insert(instance.instance_type.clone());
            let smaller =
                known_shape(shapes, &instance.instance_type).into_iter().flat_map(smaller_types);
            types.extend(smaller.map(|shape| shape.instance_type.clone()));
        }
    }
    types.into_iter().map(|(key, types)| (key, types.into_iter().collect())).collect()
}

/// What stopped instances still pay for in the region.
fn idle_storage_resources(instances: &[Instance]) -> Vec<StorageResource> {
    let stopped = || instances.iter().filter(|i| !i.state.is_running());
    let mut resources: BTreeSet<StorageResource> = stopped()
        .flat_map(|instance| &instance.volumes)
        .filter_map(|volume| StorageResource::from_name(volume.volume_type.as_deref()?))
        .collect();
    if stopped().any(|instance| !instance.addresses.is_empty()) {
        resources.insert(StorageResource::PublicIpv4);
    }
    resources.into_iter().collect()
}

/// Copies the prices of the user's cache and of the bundled catalog that figures may
/// rest on into the estate, so that a recorded one gives the same answer later.
pub(super) fn add_known_prices(book: &mut PriceBook, cache: &PriceBook, instances: &[Instance]) {
    let mut running: BTreeMap<PriceKey, usize> = BTreeMap::new();
    for instance in instances {
        if let Some(key) = instance.price_key() {
            *running.entry(key.in_zone(None)).or_default() +=
                usize::from(instance.state.is_running());
        }
    }
    let mut add = |key: PriceKey| {
        if let Some(quote) = cache.get(&key).ok().cloned().or_else(|| bundled_quote(&key)) {
            book.insert(key.clone(), quote);
        }
        book.get(&key).ok().map(|quote| quote.rate)
    };
    for (key, running) in running {
        let own = add(key.clone());
        for option in [PriceOption::OnDemand, PriceOption::Spot].into_iter().chain(commitments()) {
            add(key.with_option(option));
        }
        if running == 0 || key.provider != Provider::Aws {
            continue;
        }
        // One instance of another type can take the place of all.
        let most = own.map(|rate| rate.amount() * Decimal::from(running));
        for shape in shapes() {
            let other = key.with_type(&shape.instance_type);
            let rate = add(other.clone());
            let may_be_bought = key.option == PriceOption::OnDemand
                && rate.zip(most).is_some_and(|(rate, most)| rate.amount() < most)
                && family(shape.family()).is_none_or(|facts| facts.launchable != Some(false));
            if may_be_bought {
                for option in commitments().chain([PriceOption::Spot]) {
                    add(other.with_option(option));
                }
            }
        }
    }
}

/// What can be bought ahead for years.
fn commitments() -> impl Iterator<Item = PriceOption> {
    CommitmentTerm::ALL.into_iter().flat_map(|term| {
        [
            PriceOption::Reserved(term),
            PriceOption::Ec2InstanceSavingsPlan(term),
            PriceOption::ComputeSavingsPlan(term),
        ]
    })
}

/// A gap for each region in which something runs that the catalog has no price of,
/// when nothing but the catalog was to be asked.
pub(super) fn prices_not_asked_for(book: &PriceBook, instances: &[Instance]) -> Vec<Gap> {
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for instance in instances.iter().filter(|instance| instance.state.is_running()) {
        let key = instance.price_key().map(|key| key.in_zone(None));
        if key.is_some_and(|key| book.get(&key).is_err()) {
            missing.entry(&instance.region).or_default().insert(&instance.instance_type);
        }
    }
    missing
        .into_iter()
        .map(|(region, types)| {
            let types: Vec<&str> = types.into_iter().collect();
            let cause = Cause::of(CauseKind::PricesNotAsked, [&types.join(", ")]);
            Gap::of(GapSubject::LivePrices, region, cause)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{InstanceState, Lifecycle, PriceKey};
    use jiff::Timestamp;

    fn spot(instance_type: &str) -> Instance {
        Instance {
            zone: Some("us-east-1a".to_owned()),
            lifecycle: Lifecycle::Spot,
            ..Instance::sample("i-1", instance_type, Timestamp::UNIX_EPOCH)
        }
    }

    #[test]
    fn the_spot_market_is_asked_for_the_types_that_spot_could_move_to() {
        let by_system = spot_types(&[spot("g5.4xlarge")], &BTreeMap::new());
        let types = &by_system[&OperatingSystem::Linux];
        assert_eq!(*types, ["g5.2xlarge", "g5.4xlarge", "g5.xlarge"]);
    }

    #[test]
    fn an_estate_keeps_the_bundled_spot_prices_that_a_move_was_judged_by() {
        let mut book = PriceBook::default();
        add_known_prices(&mut book, &PriceBook::default(), &[spot("g5.4xlarge")]);
        for name in ["g5.4xlarge", "g5.2xlarge", "g5.xlarge"] {
            let key = PriceKey::linux_on_demand("us-east-1", name).with_option(PriceOption::Spot);
            assert_eq!(book.get(&key).ok(), bundled_quote(&key).as_ref(), "{name}");
            assert!(book.get(&key).is_ok(), "{name}");
        }
    }

    #[test]
    fn offline_names_what_the_book_lacks() {
        let mut book = PriceBook::default();
        let mut licensed = spot("g5.xlarge");
        licensed.operating_system = OperatingSystem::OtherLicensed;
        let mut unknown = spot("zz9.huge");
        unknown.region = "eu-west-1".to_owned();
        let instances = [spot("g5.xlarge"), licensed, unknown];
        add_known_prices(&mut book, &PriceBook::default(), &instances);
        let gaps = prices_not_asked_for(&book, &instances);
        let causes: Vec<_> =
            gaps.iter().map(|gap| (gap.place.as_str(), gap.reason.as_str())).collect();
        let reason = |names| format!("not requested, and the bundled catalog has none for {names}");
        assert_eq!(
            causes,
            [
                ("eu-west-1", reason("zz9.huge").as_str()),
                ("us-east-1", reason("g5.xlarge").as_str())
            ]
        );
        assert!(gaps.iter().all(|gap| gap.hint.contains("--offline")));
        assert_eq!(prices_not_asked_for(&book, &instances[..1]), []);
    }

    #[test]
    fn the_spot_market_is_asked_for_what_may_go_there() {
        let tagged = |tags: &[(&str, &str)]| Instance {
            tags: tags
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            ..on_demand("g5.xlarge")
        };
        let asked = |instance: Instance| !spot_types(&[instance], &BTreeMap::new()).is_empty();
        assert!(asked(tagged(&[("gpucost:restartable", "true")])));
        assert!(!asked(tagged(&[("gpucost:restartable", "false")])));
        assert!(!asked(tagged(&[])));
        let stopped = Instance {
            state: InstanceState::Stopped,
            ..tagged(&[("gpucost:restartable", "true")])
        };
        assert!(!asked(stopped));
    }

    #[test]
    fn an_estate_keeps_the_spot_price_that_an_on_demand_instance_could_have() {
        let mut book = PriceBook::default();
        let cache = PriceBook::default();
        add_known_prices(&mut book, &cache, &[on_demand("g5.4xlarge")]);
        for name in ["g5.4xlarge", "g5.2xlarge", "g5.xlarge"] {
            let on_demand = PriceKey::linux_on_demand("us-east-1", name);
            assert!(book.get(&on_demand).is_ok(), "{name}");
            let on_spot = on_demand.with_option(PriceOption::Spot);
            assert!(book.get(&on_spot).is_ok(), "{name}");
        }
    }

    /// An on-demand instance of a type.
    fn on_demand(instance_type: &str) -> Instance {
        Instance { lifecycle: Lifecycle::OnDemand, ..spot(instance_type) }
    }

    #[test]
    fn the_price_list_is_asked_for_all_that_could_take_a_running_instances_place() {
        let mut stopped = on_demand("g4dn.xlarge");
        stopped.operating_system = OperatingSystem::Windows;
        stopped.state = InstanceState::Stopped;
        let wanted =
            wanted_prices("us-east-1", &[on_demand("g5.xlarge"), stopped, on_demand("zz9.huge")]);
        let [linux, windows] = &wanted[..] else {
            panic!("two systems, not {wanted:?}");
        };
        assert_eq!(linux.operating_system, OperatingSystem::Linux);
        // The accelerated rows of shapes.csv, and the type that nobody knows.
        assert_eq!(linux.instance_types.len(), 104 + 1);
        assert!(linux.instance_types.is_sorted());
        for name in ["dl1.24xlarge", "g5.xlarge", "p5.48xlarge", "zz9.huge"] {
            assert!(linux.instance_types.iter().any(|listed| listed == name), "{name}");
        }
        assert!(!linux.instance_types.iter().any(|listed| listed == "c6i.4xlarge"));
        assert_eq!(windows.operating_system, OperatingSystem::Windows);
        assert_eq!(windows.instance_types, ["g4dn.xlarge"]);
    }

    /// What the estate of some instances keeps when nobody answers.
    fn kept(instances: &[Instance]) -> impl Fn(&str, PriceOption) -> bool + use<> {
        let mut book = PriceBook::default();
        add_known_prices(&mut book, &PriceBook::default(), instances);
        move |name, option| {
            let key = PriceKey::linux_on_demand("us-east-1", name).with_option(option);
            book.get(&key).is_ok()
        }
    }

    #[test]
    fn an_estate_keeps_what_every_type_costs() {
        let kept = kept(&[on_demand("g5.xlarge")]);
        // Another GPU, a more expensive one, another maker's, none at all.
        for name in ["g4dn.xlarge", "p5.48xlarge", "trn1.2xlarge", "c6i.12xlarge"] {
            assert!(kept(name, PriceOption::OnDemand), "{name}");
        }
    }

    #[test]
    fn an_estate_keeps_the_terms_of_what_could_be_bought_after_a_move() {
        let sold = |name: &str, kept: &dyn Fn(&str, PriceOption) -> bool| {
            let count = |of: fn(CommitmentTerm) -> PriceOption| {
                let terms = CommitmentTerm::ALL.into_iter();
                terms.filter(|term| kept(name, of(*term))).count()
            };
            (
                count(PriceOption::Reserved),
                count(PriceOption::Ec2InstanceSavingsPlan),
                kept(name, PriceOption::Spot),
            )
        };
        // By the hour: g4dn.xlarge 0.526, g5.xlarge 1.006, g5.12xlarge 5.672.
        let one = kept(&[on_demand("g5.xlarge")]);
        assert_eq!(sold("g5.xlarge", &one), (6, 6, true));
        assert_eq!(sold("g4dn.xlarge", &one), (6, 6, true));
        assert_eq!(sold("g5.12xlarge", &one), (0, 0, false));
        // One g5.12xlarge costs less than six g5.xlarge, and more than five.
        let five = kept(&vec![on_demand("g5.xlarge"); 5]);
        assert_eq!(sold("g5.12xlarge", &five), (0, 0, false));
        let six = kept(&vec![on_demand("g5.xlarge"); 6]);
        assert_eq!(sold("g5.12xlarge", &six), (6, 6, true));
        // Nothing is bought ahead for what runs on spot.
        let on_spot = kept(&[spot("g5.xlarge")]);
        assert_eq!(sold("g4dn.xlarge", &on_spot), (0, 0, true));
        assert!(on_spot("p5.48xlarge", PriceOption::Spot));
    }

    #[test]
    fn an_estate_keeps_the_rates_of_compute_savings_plans_that_the_cache_knows() {
        let own = PriceKey::linux_on_demand("us-east-1", "g5.xlarge");
        let rate =
            own.with_option(PriceOption::ComputeSavingsPlan(CommitmentTerm::ONE_YEAR_NO_UPFRONT));
        let quote = bundled_quote(&own).expect("priced");
        let (mut book, mut cache) = (PriceBook::default(), PriceBook::default());
        cache.insert(rate.clone(), quote.clone());
        add_known_prices(&mut book, &cache, &[on_demand("g5.xlarge")]);
        assert_eq!(book.get(&rate), Ok(&quote));
    }

    #[test]
    fn a_stopped_instance_keeps_its_own_prices_alone() {
        let kept = kept(&[Instance { state: InstanceState::Stopped, ..on_demand("g5.xlarge") }]);
        assert!(kept("g5.xlarge", PriceOption::OnDemand));
        assert!(!kept("g4dn.xlarge", PriceOption::OnDemand));
    }

    fn job(types: &[&str], plan: Option<&str>) -> TrainingJob {
        let types = types.iter();
        TrainingJob {
            name: "fit".to_owned(),
            account: "111122223333".to_owned(),
            region: "us-east-1".to_owned(),
            instances: types.map(|name| ((*name).to_owned(), 1)).collect(),
            status: None,
            started: None,
            ended: None,
            billable_seconds: Some(60),
            training_seconds: Some(60),
            warm_pool_seconds: None,
            is_spot: false,
            has_checkpoints: false,
            plan: plan.map(str::to_owned),
        }
    }

    #[test]
    fn each_type_is_asked_for_once_and_none_that_a_plan_paid_for() {
        let window = Window { start: Timestamp::UNIX_EPOCH, end: Timestamp::UNIX_EPOCH };
        let dates = (window, jiff::civil::date(2026, 11, 15));
        let planned = job(&["ml.p5.48xlarge-training"], Some("arn"));
        let mixed = job(&["ml.m5.xlarge-training", "ml.g5.xlarge-training"], None);
        let single = job(&["ml.g5.xlarge-training"], None);
        assert_eq!(job_price_ask("us-east-1", std::slice::from_ref(&planned), dates), None);
        let ask = job_price_ask("us-east-1", &[planned, mixed, single], dates);
        let wanted = ask.expect("two types").on_demand;
        let [wanted] = wanted.as_slice() else {
            panic!("{wanted:?}");
        };
        let types = ["ml.g5.xlarge-training", "ml.m5.xlarge-training"];
        assert_eq!(wanted.instance_types, types);
    }
}
