//! A second provider, made of a few lines: what gathering asks of a place is all that
//! it needs to know of it.

use futures_util::FutureExt;
use gpucost::analysis::audit;
use gpucost::domain::{
    ApiUsage, CauseKind, Classification, Commitments, Currency, EstateSource, FailureKind, Gap,
    GapSubject, Gathered, HourlyRate, Instance, InstanceState, JoinedBy, Lifecycle, Metric,
    OperatingSystem, Policy, PriceBasis, PriceBook, PriceKey, PriceOrigin, PriceQuote, Provider,
    ResourceId, Risk, SeriesSource, Statistic, Tenancy, Window,
};
use gpucost::gather::{GatherError, GatherOptions, gather};
use gpucost::sources::{
    Account, Answer, CommitmentSource, Connection, Found, Inventory, MetricAsk, MetricCalls,
    MetricServer, MetricSource, PriceAsk, PriceSource, Readings, SourceError,
};
use gpucost::usage::{Points, Series, UsageBuilder};
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;
use std::cell::Cell;
use std::collections::BTreeMap;
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
        instance_type: TYPE.to_owned(),
        state: InstanceState::Running,
        lifecycle: Lifecycle::OnDemand,
        capacity_reservation_id: None,
        capacity_block_id: None,
        operating_system: OperatingSystem::Linux,
        tenancy: Tenancy::Shared,
        launch_time: now() - SignedDuration::from_hours(90 * 24),
        attached_time: None,
        state_transition_reason: None,
        tags: BTreeMap::new(),
        auto_scaling_group: None,
        private_dns_name: None,
        volumes: Vec::new(),
        addresses: Vec::new(),
    }
}

/// Machines of a list.
struct Racks(Vec<&'static str>);

impl Inventory for Racks {
    fn resources(&self) -> Answer<'_, Result<Gathered<Found>, SourceError>> {
        let instances = self.0.iter().map(|id| machine(id)).collect();
        let found = Found {
            instances,
            ..Found::default()
        };
        std::future::ready(Ok(Gathered::whole(found))).boxed_local()
    }
}

/// A hall whose door is locked.
struct Locked;

impl Inventory for Locked {
    fn resources(&self) -> Answer<'_, Result<Gathered<Found>, SourceError>> {
        let error = SourceError {
            action: Some("racks:List"),
            kind: FailureKind::Denied,
            code: "Locked".to_owned(),
            said: String::new(),
            cause: None,
        };
        std::future::ready(Err(error)).boxed_local()
    }
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
        let figures = [
            (Metric::GpuUtilization, Some(0), Statistic::Average),
            (Metric::GpuUtilization, Some(0), Statistic::Maximum),
            (Metric::CpuUtilization, None, Statistic::Average),
        ];
        let periods = (window.seconds() / i64::from(period_seconds)) as u32;
        let series = figures.into_iter().map(|(metric, gpu, statistic)| {
            let values = [(Some(self.percent), periods)];
            let what = (metric, statistic);
            let (points, rejected) =
                Points::regular(window.start, values, what, window, period_seconds);
            Series {
                instance: id_of(self.of),
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
}

impl MetricSource for Meter {
    fn period_seconds(&self, _: SignedDuration) -> u32 {
        if self.adds_up { 3_600 } else { 300 }
    }

    fn plan<'a>(&'a self, ask: MetricAsk<'a>) -> Answer<'a, Gathered<MetricCalls<'a>>> {
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
        let calls = MetricCalls {
            series: 3,
            cost_usd: Decimal::ONE,
            calls: vec![call.boxed_local()],
        };
        std::future::ready(Gathered::whole(calls)).boxed_local()
    }
}

/// Two dollars an hour for everything that is asked for.
struct TwoDollars;

impl PriceSource for TwoDollars {
    fn quotes<'a>(&'a self, ask: &'a PriceAsk) -> Answer<'a, Gathered<PriceBook>> {
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
}

/// A contract that nobody finds.
struct NoContract;

impl CommitmentSource for NoContract {
    fn commitments(&self) -> Answer<'_, Gathered<Commitments>> {
        let gap = Gap::in_words(
            GapSubject::named("contract"),
            "lab",
            "the folder is empty",
            "ask again",
        );
        let found = Gathered {
            value: Commitments::default(),
            gaps: vec![gap],
        };
        std::future::ready(found).boxed_local()
    }
}

fn connection(region: &str, inventory: Box<dyn Inventory>) -> Connection {
    Connection {
        provider: Some(Provider::OnPremises),
        region: region.to_owned(),
        inventory,
        metrics: Vec::new(),
        prices: Some(Box::new(TwoDollars)),
        commitments: None,
    }
}

fn meter(calls: &Rc<Cell<u32>>, of: &'static str, percent: f64) -> Box<dyn MetricSource> {
    Box::new(Meter {
        of,
        percent,
        adds_up: of == "box-b",
        calls: Rc::clone(calls),
    })
}

fn cost(calls: u64) -> Box<dyn Fn() -> ApiUsage> {
    Box::new(move || ApiUsage {
        calls,
        ..ApiUsage::default()
    })
}

/// Who measures the second machine, whatever its account.
fn server(calls: &Rc<Cell<u32>>) -> MetricServer {
    MetricServer {
        metrics: meter(calls, "box-b", 80.0),
        meter: cost(3),
    }
}

/// Two accounts: one with two machines, of which it measures one, and one that cannot be
/// read.
fn accounts(calls: &Rc<Cell<u32>>) -> [Account; 2] {
    let mut hall = connection(REGION, Box::new(Racks(vec!["box-b", "box-a"])));
    hall.metrics = vec![meter(calls, "box-a", 0.0)];
    [
        Account {
            id: "lab".to_owned(),
            source: EstateSource::Estate,
            connections: vec![hall],
            commitments: Some(Box::new(NoContract)),
            meter: cost(2),
        },
        Account {
            id: "other".to_owned(),
            source: EstateSource::Estate,
            connections: vec![connection("hall-1", Box::new(Locked))],
            commitments: None,
            meter: cost(5),
        },
    ]
}

fn options() -> GatherOptions {
    GatherOptions {
        as_of: now(),
        lookback: SignedDuration::from_hours(14 * 24),
        metrics: true,
        offline: false,
        max_api_cost_usd: None,
        cache: PriceBook::default(),
    }
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(work)
}

#[test]
fn two_accounts_of_another_provider_are_one_audit() {
    let calls = Rc::default();
    let estate = wait(gather(
        &accounts(&calls),
        &[server(&calls)],
        &options(),
        None,
        None,
        &|_| {},
    ));
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
    assert!(has(
        &GapSubject::Region,
        "other/hall-1",
        Some(CauseKind::CallFailed)
    ));
    assert!(has(&GapSubject::named("contract"), "lab", None));
}

#[test]
fn nothing_that_costs_is_asked_above_the_limit() {
    let calls = Rc::default();
    let options = GatherOptions {
        max_api_cost_usd: Some(Decimal::ONE),
        ..options()
    };
    let error = wait(gather(
        &accounts(&calls),
        &[server(&calls)],
        &options,
        None,
        None,
        &|_| {},
    ))
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
    let error = wait(gather(&[locked], &[], &options(), None, None, &|_| {})).expect_err("it is locked");
    assert_eq!(error.to_string(), "no region could be read (1 tried)");
}
