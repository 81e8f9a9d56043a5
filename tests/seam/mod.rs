//! A second provider, made of a few lines: what gathering asks of a place is all that
//! it needs to know of it.

mod rolled_up;

use crate::rules::builder::Machine;
use futures_util::FutureExt;
use gpucost::analysis::{Audit, audit};
use gpucost::domain::{
    ApiUsage, CauseKind, Classification, Commitments, Currency, EstateSource, FailureKind, Gap,
    GapSubject, Gathered, HourlyRate, Instance, JoinedBy, Metric, Policy, PriceBasis, PriceBook,
    PriceKey, PriceOrigin, PriceQuote, Provider, ResourceId, Risk, SeriesSource, Statistic, Window,
};
use gpucost::gather::{GatherError, GatherOptions, Refine, gather};
use gpucost::sources::files::{Recorder, parse_estate, write_recorded};
use gpucost::sources::{
    Account, Answer, ByTheHour, Connection, Detail, Found, Inventory, MetricCalls, MetricRequest,
    MetricServer, MetricSource, PriceQuery, Readings, SourceError,
};
use gpucost::usage::{Estate, Points, Series, UsageBuilder};
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

const REGION: &str = "hall-2";
const TYPE: &str = "g5.xlarge";

fn now() -> Timestamp {
    "2026-11-01T00:00:00Z".parse().expect("a time stamp")
}

fn id_of(native: &str) -> ResourceId {
    ResourceId::new(Provider::OnPremises, "lab", REGION, native)
}

fn machine(id: &str) -> Instance {
    Instance {
        id: id_of(id),
        account: "lab".to_owned(),
        region: REGION.to_owned(),
        zone: None,
        launch_time: now() - SignedDuration::from_hours(90 * 24),
        ..Machine::new(id, TYPE).instance
    }
}

/// Machines of a list.
fn racks(ids: Vec<&'static str>) -> Inventory {
    Box::new(move || {
        let instances = ids.iter().map(|id| machine(id)).collect();
        let found = Found { instances, ..Found::default() };
        std::future::ready(Ok(Gathered::whole(found))).boxed_local()
    })
}

/// A hall whose door is locked.
fn locked() -> Answer<'static, Result<Gathered<Found>, SourceError>> {
    let error = SourceError {
        action: Some("racks:List"),
        kind: FailureKind::Denied,
        code: "Locked".to_owned(),
        said: String::new(),
        cause: None,
    };
    std::future::ready(Err(error)).boxed_local()
}

/// Tells one machine's utilization, as points or added up already.
struct Meter {
    of: &'static str,
    percent: f64,
    adds_up: bool,
    calls: Rc<Cell<u32>>,
}

impl Meter {
    fn series(&self, window: Window, period_seconds: u32) -> Vec<Series> {
        level(&id_of(self.of), self.percent, window, period_seconds)
    }
}

/// A machine at one level throughout.
fn level(of: &ResourceId, percent: f64, window: Window, period_seconds: u32) -> Vec<Series> {
    let figures = [
        (Metric::GpuUtilization, Some(0), Statistic::Average),
        (Metric::GpuUtilization, Some(0), Statistic::Maximum),
        (Metric::CpuUtilization, None, Statistic::Average),
    ];
    let periods = (window.seconds() / i64::from(period_seconds)) as u32;
    let series = figures.into_iter().map(|(metric, gpu, statistic)| {
        let values = [(Some(percent), periods)];
        let what = (metric, statistic);
        let (points, rejected) =
            Points::regular(window.start, values, what, window, period_seconds);
        Series {
            instance: of.clone(),
            gpu,
            metric,
            statistic,
            source: SeriesSource::Generated,
            joined_by: JoinedBy::InstanceId,
            points,
            rejected,
        }
    });
    series.collect()
}

/// Calls by their detail, each with the machines that it is about.
type Asked = Vec<(Detail, Vec<String>)>;

/// Tells every machine's utilization, by the hour too; an hour of the second machine is
/// not whole.
struct Clock {
    asked: Rc<RefCell<Asked>>,
    /// Whether it complains, before and after, where it is not asked by the hour.
    is_slow: bool,
    answers: ByTheHour,
}

impl Clock {
    fn gaps(&self, detail: Detail, reason: &str) -> Vec<Gap> {
        let is_told = self.is_slow && detail != Detail::Hours;
        let gap = Gap::in_words(GapSubject::named("clock"), REGION, reason, "wind it up");
        is_told.then_some(gap).into_iter().collect()
    }
}

impl MetricSource for Clock {
    fn period_seconds(&self, _: SignedDuration) -> u32 {
        300
    }

    fn by_the_hour(&self, gpus: u64) -> ByTheHour {
        // Each machine has one.
        assert!(gpus <= 3, "{gpus}");
        self.answers
    }

    fn plan<'a>(&'a self, ask: MetricRequest<'a>) -> Answer<'a, Gathered<MetricCalls<'a>>> {
        let call = async move {
            let is_known = |one: &Instance| ask.fleet.contains(one);
            assert!(ask.instances.iter().all(is_known));
            let names = ask.instances.iter().map(|one| one.id.to_string());
            self.asked.borrow_mut().push((ask.detail, names.collect()));
            let period_seconds = match ask.detail {
                Detail::Hours => 3_600,
                Detail::Full | Detail::Grid => ask.period_seconds,
            };
            let series: Vec<Series> = ask
                .instances
                .iter()
                .flat_map(|one| level(&one.id, 80.0, ask.window, period_seconds))
                .collect();
            let value = match ask.detail {
                Detail::Hours => {
                    Readings::Hours { series, partial: BTreeSet::from([id_of("box-b")]) }
                }
                Detail::Full | Detail::Grid => Readings::Series(series),
            };
            let gaps = self.gaps(ask.detail, "it was late");
            Gathered { value, gaps }
        };
        let calls =
            MetricCalls { series: 3, cost_usd: Decimal::ONE, calls: vec![call.boxed_local()] };
        let planned = Gathered { value: calls, gaps: self.gaps(ask.detail, "it is slow") };
        std::future::ready(planned).boxed_local()
    }
}

impl MetricSource for Meter {
    fn period_seconds(&self, _: SignedDuration) -> u32 {
        if self.adds_up { 3_600 } else { 300 }
    }

    fn plan<'a>(&'a self, ask: MetricRequest<'a>) -> Answer<'a, Gathered<MetricCalls<'a>>> {
        let call = async move {
            self.calls.set(self.calls.get() + 1);
            let series = self.series(ask.window, ask.period_seconds);
            Gathered::whole(if self.adds_up {
                let mut usage = UsageBuilder::new(ask.window, ask.period_seconds);
                series.iter().for_each(|one| usage.add(one));
                Readings::Usage(usage.finish())
            } else {
                Readings::Series(series)
            })
        };
        let calls =
            MetricCalls { series: 3, cost_usd: Decimal::ONE, calls: vec![call.boxed_local()] };
        std::future::ready(Gathered::whole(calls)).boxed_local()
    }
}

/// Two dollars an hour for everything that is asked for.
fn two_dollars(ask: PriceQuery) -> Answer<'static, Gathered<PriceBook>> {
    let mut book = PriceBook::default();
    for wanted in &ask.on_demand {
        for name in &wanted.in_use {
            let quote = PriceQuote {
                rate: HourlyRate::new(Decimal::TWO, Currency::Usd).expect("a rate"),
                instalments: None,
                origin: PriceOrigin::User,
                basis: PriceBasis::Observed,
                effective_date: ask.read_on,
                seen_on: ask.read_on,
                source: "the wall".to_owned(),
            };
            let key = PriceKey {
                provider: Provider::OnPremises,
                ..PriceKey::linux_on_demand(&wanted.region, name)
            };
            book.insert(key, quote);
        }
    }
    std::future::ready(Gathered::whole(book)).boxed_local()
}

/// A contract that nobody finds.
fn no_contract() -> Answer<'static, Gathered<Commitments>> {
    let gap =
        Gap::in_words(GapSubject::named("contract"), "lab", "the folder is empty", "ask again");
    let found = Gathered { value: Commitments::default(), gaps: vec![gap] };
    std::future::ready(found).boxed_local()
}

fn connection(region: &str, inventory: Inventory) -> Connection {
    Connection {
        provider: Some(Provider::OnPremises),
        region: region.to_owned(),
        inventory,
        metrics: Vec::new(),
        jobs: None,
        prices: Some(Box::new(two_dollars)),
        commitments: None,
    }
}

fn meter(calls: &Rc<Cell<u32>>, of: &'static str, percent: f64) -> Box<dyn MetricSource> {
    Box::new(Meter { of, percent, adds_up: of == "box-b", calls: Rc::clone(calls) })
}

fn cost(calls: u64) -> Box<dyn Fn() -> ApiUsage> {
    Box::new(move || ApiUsage { calls, ..ApiUsage::default() })
}

/// Who measures the second machine, whatever its account.
fn server(calls: &Rc<Cell<u32>>) -> MetricServer {
    MetricServer { metrics: meter(calls, "box-b", 80.0), meter: cost(3) }
}

/// Two accounts: one with two machines, of which it lists one twice and measures one, and one
/// that cannot be read.
fn accounts(calls: &Rc<Cell<u32>>) -> [Account; 2] {
    let mut hall = connection(REGION, racks(vec!["box-b", "box-a", "box-b"]));
    hall.metrics = vec![meter(calls, "box-a", 0.0)];
    [
        Account {
            id: "lab".to_owned(),
            source: EstateSource::Estate,
            connections: vec![hall],
            commitments: Some(Box::new(no_contract)),
            opinions: None,
            meter: cost(2),
        },
        Account {
            id: "other".to_owned(),
            source: EstateSource::Estate,
            connections: vec![connection("hall-1", Box::new(locked))],
            commitments: None,
            opinions: None,
            meter: cost(5),
        },
    ]
}

fn options() -> GatherOptions {
    GatherOptions {
        as_of: now(),
        lookback: SignedDuration::from_hours(14 * 24),
        metrics: true,
        hours_first: true,
        offline: false,
        max_api_cost_usd: None,
        cache: PriceBook::default(),
        history: None,
        rollups: None,
    }
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(work)
}

#[test]
fn two_accounts_of_another_provider_are_one_audit() {
    let calls = Rc::default();
    let estate =
        wait(gather(&accounts(&calls), &[server(&calls)], &options(), None, None, &|_| {}));
    let estate = estate.expect("one region was read");
    assert_eq!(calls.get(), 2, "one call a source");
    assert_eq!(estate.accounts, ["lab", "other"]);
    assert_eq!(estate.regions, ["hall-1", "hall-2"]);
    // The coarser of the two grids.
    assert_eq!(estate.period_seconds, 3_600);
    assert!(estate.metrics.is_empty(), "points are let go");
    assert_eq!(estate.api.calls, 10);

    let audit = audit(&estate, &Policy::default(), Risk::Low);
    let told: Vec<(String, f64, u64, Decimal)> = audit
        .workloads
        .iter()
        .map(|one| {
            let used = one.workload.utilization.as_ref().expect("it was measured");
            let cost = one.workload.monthly_cost().expect("it is priced");
            let mean = used.distribution.mean;
            (one.workload.id(), mean, used.n_samples, cost.amount())
        })
        .collect();
    // A sample an hour; 730 hours at two dollars.
    let cost = Decimal::from(1_460);
    let expected = [
        ("on-premises/lab/hall-2/box-a".to_owned(), 0.0, 336, cost),
        ("on-premises/lab/hall-2/box-b".to_owned(), 80.0, 336, cost),
    ];
    assert_eq!(told, expected);
    let class = audit.workloads[1].verdict.classification;
    assert_eq!(class, Classification::WellUtilized);

    let has = |what: &GapSubject, place: &str, cause: Option<CauseKind>| {
        audit.gaps.iter().any(|gap| {
            let kind = gap.cause.as_ref().map(|cause| cause.kind());
            gap.what == *what && gap.place == place && kind == cause
        })
    };
    assert!(has(&GapSubject::Region, "other/hall-1", Some(CauseKind::CallFailed)));
    assert!(has(&GapSubject::named("contract"), "lab", None));
}

#[test]
fn nothing_that_costs_is_asked_above_the_limit() {
    let calls = Rc::default();
    let options = GatherOptions { max_api_cost_usd: Some(Decimal::ONE), ..options() };
    let error = wait(gather(&accounts(&calls), &[server(&calls)], &options, None, None, &|_| {}))
        .expect_err("two dollars");
    assert!(matches!(
        error,
        GatherError::TooExpensive { metrics: 6, cost_usd, .. } if cost_usd == Decimal::TWO
    ));
    assert_eq!(calls.get(), 0);
}

#[test]
fn no_region_at_all_is_an_error() {
    let [_, locked] = accounts(&Rc::default());
    let error =
        wait(gather(&[locked], &[], &options(), None, None, &|_| {})).expect_err("it is locked");
    assert_eq!(error.to_string(), "no region could be read (1 tried)");
}

/// Three machines, asked by the hour first: the third is always asked for again.
fn hours_first(
    limit_usd: Option<Decimal>,
    recorder: Option<&mut Recorder>,
) -> (Asked, Result<Estate, GatherError>) {
    let asked = Rc::new(RefCell::new(Vec::new()));
    let options = GatherOptions { max_api_cost_usd: limit_usd, ..half_past() };
    let hall = hall(vec![clock(&asked, ByTheHour::Possible)]);
    let estate = two_steps(&[hall], &[], &options, recorder);
    (asked.take(), estate)
}

/// A window of whole hours, whenever it is asked for.
fn half_past() -> GatherOptions {
    GatherOptions { as_of: now() + SignedDuration::from_mins(40), ..options() }
}

fn clock(asked: &Rc<RefCell<Asked>>, answers: ByTheHour) -> Box<dyn MetricSource> {
    Box::new(Clock { asked: Rc::clone(asked), is_slow: false, answers })
}

/// An account with three machines.
fn hall(metrics: Vec<Box<dyn MetricSource>>) -> Account {
    let mut hall = connection(REGION, racks(vec!["box-c", "box-b", "box-a"]));
    hall.metrics = metrics;
    Account {
        id: "lab".to_owned(),
        source: EstateSource::Estate,
        opinions: None,
        connections: vec![hall],
        commitments: None,
        meter: cost(1),
    }
}

/// Gathers three machines, of which the third is always asked for again.
fn two_steps(
    accounts: &[Account],
    servers: &[MetricServer],
    options: &GatherOptions,
    recorder: Option<&mut Recorder>,
) -> Result<Estate, GatherError> {
    let refine = |estate: Estate, partial: &BTreeSet<ResourceId>| {
        // The prices and the hours of all three are known by then.
        let audit = audit(&estate, &Policy::default(), Risk::Low);
        assert_eq!(samples(&audit), [("a", 336), ("b", 336), ("c", 336)].map(named));
        let mut fine = partial.clone();
        fine.insert(id_of("box-c"));
        (fine, estate.usage)
    };
    let gathered = gather(accounts, servers, options, recorder, Some(&refine), &|_| {});
    wait(gathered)
}

fn named((letter, samples): (&str, u64)) -> (String, u64) {
    (id_of(&format!("box-{letter}")).to_string(), samples)
}

/// The number of samples of each workload.
fn samples(audit: &Audit) -> Vec<(String, u64)> {
    let mut found: Vec<(String, u64)> = audit
        .workloads
        .iter()
        .map(|one| {
            let used = one.workload.utilization.as_ref().expect("it was measured");
            assert_eq!(used.distribution.mean, 80.0);
            assert_eq!(used.n_samples, used.expected_samples);
            (one.workload.id(), used.n_samples)
        })
        .collect();
    found.sort();
    found
}

#[test]
fn hours_are_asked_for_first_and_the_grid_where_it_matters() {
    let mut recorder = Recorder::default();
    let (asked, estate) = hours_first(None, Some(&mut recorder));
    let estate = estate.expect("it was read");
    assert_eq!(asked, in_two_steps());
    assert_eq!((estate.window.end, estate.period_seconds), (now(), 300));
    // 14 days have 336 hours, and 4,032 periods of five minutes.
    let of_all = [("a", 336), ("b", 4_032), ("c", 4_032)].map(named);
    let policy = Policy::default();
    assert_eq!(samples(&audit(&estate, &policy, Risk::Low)), of_all);

    // What is saved is what counted.
    let recording = recorder.finish().expect("a temporary file");
    let mut file = Vec::new();
    write_recorded(&estate, &recording, &|id| id, &mut file).expect("memory");
    let read = parse_estate(file.as_slice()).expect("it was written just now");
    assert_eq!(read.metrics.len(), 9, "three series of each machine");
    assert_eq!(samples(&audit(&read, &policy, Risk::Low)), of_all);
}

/// All by the hour, then a machine with an hour that is not whole, and one that is chosen.
fn in_two_steps() -> [(Detail, Vec<String>); 3] {
    let id = |name: &str| id_of(name).to_string();
    [
        (Detail::Hours, vec![id("box-c"), id("box-b"), id("box-a")]),
        (Detail::Full, vec![id("box-b")]),
        (Detail::Grid, vec![id("box-c")]),
    ]
}

#[test]
fn a_server_that_needs_hours_is_asked_for_them_first() {
    let options = GatherOptions { hours_first: false, ..half_past() };
    let gathered = |answers| {
        let asked = Rc::new(RefCell::new(Vec::new()));
        let server = MetricServer { metrics: clock(&asked, answers), meter: cost(3) };
        let estate = two_steps(&[hall(Vec::new())], &[server], &options, None);
        (asked.take(), estate.expect("it was read"))
    };
    let (asked, estate) = gathered(ByTheHour::Needed);
    assert_eq!(asked, in_two_steps());
    assert_eq!(estate.window.end, now());
    let audit = audit(&estate, &Policy::default(), Risk::Low);
    let of_all = [("a", 336), ("b", 4_032), ("c", 4_032)].map(named);
    assert_eq!(samples(&audit), of_all);

    // Without a wish or a need, everything is asked for once.
    for answers in [ByTheHour::Never, ByTheHour::Possible] {
        let (asked, estate) = gathered(answers);
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].0, Detail::Full);
        assert_eq!(estate.window.end, now() + SignedDuration::from_mins(40));
    }
}

#[test]
fn hours_are_asked_for_only_where_every_source_answers_them() {
    let asked = Rc::new(RefCell::new(Vec::new()));
    let server = MetricServer { metrics: clock(&asked, ByTheHour::Needed), meter: cost(3) };
    let hall = hall(vec![clock(&asked, ByTheHour::Never)]);
    let estate = two_steps(&[hall], &[server], &half_past(), None);
    assert!(estate.is_ok());
    let details: Vec<Detail> = asked.take().iter().map(|(detail, _)| *detail).collect();
    assert_eq!(details, [Detail::Full, Detail::Full]);
}

#[test]
fn a_limit_below_the_cost_of_asking_twice_asks_for_everything_once() {
    let limit = Decimal::new(15, 1);
    let (asked, estate) = hours_first(Some(limit), None);
    assert!(estate.is_ok());
    let [(Detail::Full, all)] = asked.as_slice() else {
        panic!("{asked:?}");
    };
    assert_eq!(all.len(), 3);
}

#[test]
fn gaps_of_the_grid_name_the_account_too() {
    let accounts = [("lab", "box-a"), ("plant", "box-b")].map(|(id, machine)| {
        let mut hall = connection(REGION, racks(vec![machine]));
        hall.metrics = vec![Box::new(Clock {
            asked: Rc::default(),
            is_slow: true,
            answers: ByTheHour::Possible,
        })];
        Account {
            id: id.to_owned(),
            source: EstateSource::Estate,
            opinions: None,
            connections: vec![hall],
            commitments: None,
            meter: cost(1),
        }
    });
    let refine = |estate: Estate, partial: &BTreeSet<ResourceId>| {
        let mut fine = partial.clone();
        fine.insert(id_of("box-a"));
        (fine, estate.usage)
    };
    let refine = Some(&refine as Refine<'_>);
    let estate = wait(gather(&accounts, &[], &options(), None, refine, &|_| {}));
    let estate = estate.expect("both were read");
    let of_clocks = estate.gaps.iter();
    let of_clocks = of_clocks.filter(|gap| gap.what == GapSubject::named("clock"));
    let mut places: Vec<&str> = of_clocks.map(|gap| gap.place.as_str()).collect();
    places.sort_unstable();
    // One of the plan and one of the call.
    let expected = ["lab/hall-2", "lab/hall-2", "plant/hall-2", "plant/hall-2"];
    assert_eq!(places, expected);
}
