//! An AWS account as a place that is read: EC2, CloudWatch, the price list, and what
//! was committed to; and beside it, where it is asked for, what SageMaker runs.

use super::batch::attach_environments;
use super::commitments::{has_savings_plans, region_commitments, savings_plans};
use super::ecs::claimed;
use super::inventory::{idle_storage_resources, inventory};
use super::meter::metric_cost_usd;
use super::metric_plan::{MetricsPlan, batches, in_detail, plan_metrics};
use super::metrics::{FIVE_MINUTES_KEPT, Fetched, MetricQuery, MetricValues, discover, fetch};
use super::opinions::{Hub, has_hub};
use super::prices::{on_demand_prices, spot_prices, storage_prices};
use super::sagemaker;
use super::scaling::scaling_groups;
use super::session::{AwsOptions, AwsService, RegionClients, Session};
use super::shapes::shapes;
use super::stretches::{Run, cut, runs, whole};
use crate::catalog::known_shape;
use crate::domain::{
    Cause, CauseKind, Clusters, Commitments, EstateSource, FailureKind, Gap, GapSubject, Gathered,
    Instance, InstanceShape, Managed, PriceBook, Provider, Window,
};
use crate::sources::whole_hours::are_whole;
use crate::sources::{
    Account, Answer, ByTheHour, CommitmentSource, Connection, Detail, Found, Inventory, MetricAsk,
    MetricCalls, MetricSource, PriceAsk, PriceSource, Readings, SourceError, WantedPrices,
};
use crate::usage::{Points, Series};
use futures_util::FutureExt;
use jiff::SignedDuration;
use std::collections::BTreeSet;

const HOUR_SECONDS: u32 = 3_600;

/// Connects to an account: credentials, identity, and the regions, which are those that
/// it has enabled where none are named. `agent_namespace` is the one that the CloudWatch
/// agent publishes under.
///
/// # Errors
/// When there are no usable credentials, or the regions cannot be listed.
pub async fn connect(
    options: &AwsOptions,
    regions: Option<&[String]>,
    agent_namespace: &str,
) -> Result<Gathered<Account>, SourceError> {
    let session = Session::connect(options).await?;
    let id = session.identity().await?.account;
    connected(options, session, id, regions, agent_namespace).await
}

/// An account of which credentials are at hand.
///
/// # Errors
/// When its regions cannot be listed.
pub(super) async fn connected(
    options: &AwsOptions,
    session: Session,
    id: String,
    regions: Option<&[String]>,
    agent_namespace: &str,
) -> Result<Gathered<Account>, SourceError> {
    let Gathered { value: names, gaps } = region_names(&session, regions).await?;
    let of_ec2 = names.iter().filter(|_| options.reads(AwsService::Ec2));
    let of_ec2 = of_ec2.map(|name| {
        let clients = session.in_region(name);
        Connection {
            provider: Some(Provider::Aws),
            region: name.clone(),
            inventory: Box::new(Ec2 {
                clients: clients.clone(),
                reads_ecs: options.reads(AwsService::Ecs),
                reads_batch: options.reads(AwsService::Batch),
            }),
            metrics: vec![Box::new(CloudWatch {
                clients: clients.clone(),
                agent_namespace: agent_namespace.to_owned(),
            })],
            jobs: None,
            prices: Some(Box::new(Ec2Prices(clients.clone()))),
            commitments: Some(Box::new(Ec2Commitments {
                clients,
                account: id.clone(),
            })),
        }
    });
    let managed = names
        .iter()
        .filter(|_| options.reads(AwsService::SageMaker));
    let managed = managed.map(|name| sagemaker::connection(session.in_region(name), &id));
    let connections: Vec<Connection> = of_ec2.chain(managed).collect();
    let has_plans =
        options.reads(AwsService::Ec2) && names.iter().any(|name| has_savings_plans(name));
    let plans = has_plans.then(|| {
        Box::new(SavingsPlans {
            session: session.clone(),
            account: id.clone(),
        }) as _
    });
    let is_asked = options.asks_opinions && has_hub(session.home_region());
    let opinions = is_asked.then(|| {
        Box::new(Hub {
            session: session.clone(),
        }) as _
    });
    let account = Account {
        connections,
        id,
        source: EstateSource::Aws,
        commitments: plans,
        opinions,
        meter: Box::new(move || session.usage()),
    };
    Ok(Gathered {
        value: account,
        gaps,
    })
}

/// The regions that are asked for, each once, else those that the account has enabled;
/// the home region alone where it may not list them.
///
/// # Errors
/// When they cannot be listed for another reason.
pub async fn region_names(
    session: &Session,
    asked: Option<&[String]>,
) -> Result<Gathered<Vec<String>>, SourceError> {
    if let Some(regions) = asked {
        let unique: BTreeSet<String> = regions.iter().cloned().collect();
        return Ok(Gathered::whole(unique.into_iter().collect()));
    }
    match session.enabled_regions().await {
        Ok(regions) => Ok(Gathered::whole(regions)),
        Err(error) if error.kind == FailureKind::Denied => {
            let home = session.home_region().to_owned();
            let cause = error.cause_of(CauseKind::RegionsNotListed, &home);
            Ok(Gathered {
                value: vec![home],
                gaps: vec![Gap::of(GapSubject::Regions, "account", cause)],
            })
        }
        Err(error) => Err(error),
    }
}

struct Ec2 {
    clients: RegionClients,
    reads_ecs: bool,
    reads_batch: bool,
}

impl Ec2 {
    async fn found(&self) -> Result<Gathered<Found>, SourceError> {
        let Self { clients, .. } = self;
        let mut listed = inventory(clients).await?;
        idle_storage_resources(clients, &mut listed).await;
        let mut gaps = listed.gaps;
        let types = listed.instances.iter().map(|one| one.instance_type.clone());
        let types: BTreeSet<String> = types.collect();
        let types: Vec<String> = types.into_iter().collect();
        let answer = if types.is_empty() {
            Ok(Vec::new())
        } else {
            shapes(clients, &types).await
        };
        let shapes = answer.unwrap_or_else(|error| {
            let cause = error.cause_of(CauseKind::CallFailed, "the bundled catalog is used");
            gaps.push(Gap::of(GapSubject::InstanceTypes, &clients.region, cause));
            Vec::new()
        });
        let groups = scaling_groups(clients, &listed.instances).await;
        let mut scaling_groups = groups.unwrap_or_else(|error| {
            let cause = error.cause_of(CauseKind::CallFailed, "");
            let place = &clients.region;
            gaps.push(Gap::of(GapSubject::AutoScalingGroups, place, cause));
            Vec::new()
        });
        if self.reads_batch {
            let asked = attach_environments(clients, &listed.instances, &mut scaling_groups);
            gaps.extend(asked.await);
        }
        let clusters = if self.reads_ecs {
            let found = claimed(clients, &listed.instances).await;
            gaps.extend(found.gaps);
            found.value
        } else {
            Clusters::default()
        };
        let by_type = |shape: InstanceShape| (shape.instance_type.clone(), shape);
        Ok(Gathered {
            value: Found {
                instances: listed.instances,
                shapes: shapes.into_iter().map(by_type).collect(),
                clusters,
                scaling_groups,
                managed: Managed::default(),
            },
            gaps,
        })
    }
}

impl Inventory for Ec2 {
    fn resources(&self) -> Answer<'_, Result<Gathered<Found>, SourceError>> {
        self.found().boxed_local()
    }
}

struct CloudWatch {
    clients: RegionClients,
    agent_namespace: String,
}

impl CloudWatch {
    async fn calls<'a>(&'a self, ask: MetricAsk<'a>) -> Gathered<MetricCalls<'a>> {
        let mut gaps = Vec::new();
        let found = match discover(&self.clients, &self.agent_namespace).await {
            Ok(found) => found,
            Err(error) => {
                let cause = error.cause_of(CauseKind::CallFailed, "");
                gaps.push(Gap::of(GapSubject::Metrics, &self.clients.region, cause));
                if error.kind != FailureKind::Denied {
                    return Gathered {
                        value: MetricCalls::default(),
                        gaps,
                    };
                }
                // CPU needs no discovery: it still tells how long each ran.
                Vec::new()
            }
        };
        let MetricAsk {
            fleet: _,
            instances,
            shapes,
            window,
            period_seconds,
            detail,
            known,
        } = ask;
        let period_seconds = match detail {
            Detail::Hours => HOUR_SECONDS,
            Detail::Full | Detail::Grid => period_seconds,
        };
        let visible = |instance: &Instance| {
            known_shape(shapes, &instance.instance_type)
                .and_then(|shape| shape.gpu.as_ref())
                .map(|offer| offer.share.visible_devices())
        };
        let MetricsPlan {
            queries,
            gaps: unusable,
        } = plan_metrics(
            instances,
            window,
            visible,
            &found,
            &self.agent_namespace,
            period_seconds,
        );
        gaps.extend(unusable);
        let queries = in_detail(queries, detail);
        let value = match known {
            Some(known) => self.missing(runs(queries, instances, known), instances),
            None => {
                let series = queries.len();
                let batches = batches(queries, instances, window).into_iter();
                // What a call needs is taken once it is made: most of them wait.
                let calls = batches.map(|batch| {
                    let call = async move {
                        match detail {
                            Detail::Hours => self.read_hours(batch, window).boxed_local().await,
                            Detail::Full | Detail::Grid => {
                                self.read(batch, window).boxed_local().await
                            }
                        }
                    };
                    call.boxed_local()
                });
                MetricCalls {
                    series,
                    cost_usd: metric_cost_usd(series as u64),
                    calls: calls.collect(),
                }
            }
        };
        Gathered { value, gaps }
    }

    /// The calls for what is missing. A series that is asked for in two runs is paid twice.
    fn missing<'a>(&'a self, runs: Vec<Run>, instances: &[Instance]) -> MetricCalls<'a> {
        let series: usize = runs.iter().map(|run| run.queries.len()).sum();
        let mut calls = Vec::new();
        for Run { stretches, queries } in runs {
            for batch in batches(queries, instances, whole(&stretches)) {
                let stretches = stretches.clone();
                let call = async move { self.read_stretches(batch, stretches).boxed_local().await };
                calls.push(call.boxed_local());
            }
        }
        MetricCalls {
            series,
            cost_usd: metric_cost_usd(series as u64),
            calls,
        }
    }

    async fn read_stretches(
        &self,
        batch: Vec<MetricQuery>,
        stretches: Vec<Window>,
    ) -> Gathered<Readings> {
        match fetch(&self.clients, &batch, whole(&stretches)).await {
            Ok(found) => {
                let gaps = found.gaps(&self.clients.region);
                let failed = found.failed.keys().filter_map(|place| batch.get(*place));
                let unread = failed.map(|query| query.instance.clone()).collect();
                let values = cut(&found.values, &stretches).into_iter();
                let stretches = stretches.into_iter().zip(values);
                let series = |(stretch, values)| (stretch, to_series(&batch, values, stretch));
                let stretches = stretches.map(series).collect();
                Gathered {
                    value: Readings::Stretches { stretches, unread },
                    gaps,
                }
            }
            Err(error) => {
                let asked = batch.len().to_string();
                let cause = error.cause_of(CauseKind::SeriesNotRead, &asked);
                let unread = batch.into_iter().map(|query| query.instance);
                Gathered {
                    value: Readings::Stretches {
                        stretches: Vec::new(),
                        unread: unread.collect(),
                    },
                    gaps: vec![Gap::of(GapSubject::Metrics, &self.clients.region, cause)],
                }
            }
        }
    }

    async fn read(&self, batch: Vec<MetricQuery>, window: Window) -> Gathered<Readings> {
        match fetch(&self.clients, &batch, window).await {
            Ok(found) => Gathered {
                gaps: found.gaps(&self.clients.region),
                value: Readings::Series(to_series(&batch, found.values, window)),
            },
            Err(error) => {
                let asked = batch.len().to_string();
                let cause = error.cause_of(CauseKind::SeriesNotRead, &asked);
                Gathered {
                    value: Readings::Series(Vec::new()),
                    gaps: vec![Gap::of(GapSubject::Metrics, &self.clients.region, cause)],
                }
            }
        }
    }
}

impl CloudWatch {
    /// What cannot be read by the hour is asked for again, in full.
    async fn read_hours(&self, batch: Vec<MetricQuery>, window: Window) -> Gathered<Readings> {
        let answer = fetch(&self.clients, &batch, window).await;
        Gathered::whole(match answer {
            Ok(found) => hours(batch, found, window),
            Err(_) => Readings::Hours {
                series: Vec::new(),
                partial: batch.into_iter().map(|query| query.instance).collect(),
            },
        })
    }
}

impl MetricSource for CloudWatch {
    fn period_seconds(&self, lookback: SignedDuration) -> u32 {
        if lookback <= FIVE_MINUTES_KEPT {
            300
        } else {
            HOUR_SECONDS
        }
    }

    fn by_the_hour(&self, _: u64) -> ByTheHour {
        ByTheHour::Possible
    }

    fn plan<'a>(&'a self, ask: MetricAsk<'a>) -> Answer<'a, Gathered<MetricCalls<'a>>> {
        self.calls(ask).boxed_local()
    }
}

/// The series of hours, and the machines of which they are not whole.
fn hours(batch: Vec<MetricQuery>, found: Fetched, window: Window) -> Readings {
    let mut partial = BTreeSet::new();
    let (mut queries, mut measured) = (Vec::new(), Vec::new());
    for (place, (query, raw)) in batch.into_iter().zip(found.values).enumerate() {
        if found.failed.contains_key(&place) {
            partial.insert(query.instance);
        } else if !query.counts_readings {
            queries.push(query);
            measured.push(raw);
        } else if !are_whole(&raw, window) {
            partial.insert(query.instance);
        }
    }
    Readings::Hours {
        series: to_series(&queries, measured, window),
        partial,
    }
}

/// Cleaned as they come: raw points weigh four times as much.
fn to_series(queries: &[MetricQuery], values: Vec<MetricValues>, window: Window) -> Vec<Series> {
    queries
        .iter()
        .zip(values)
        .filter_map(|(query, raw)| {
            let (points, rejected) = Points::clean(
                raw,
                (query.metric, query.statistic),
                window,
                query.period_seconds,
            );
            // A series without any point says nothing; one whose points were
            // all bad is worth a gap.
            let is_empty = points.is_empty() && rejected.total() == 0;
            (!is_empty).then(|| Series {
                instance: query.instance.clone(),
                gpu: query.gpu,
                metric: query.metric,
                statistic: query.statistic,
                source: query.source,
                joined_by: query.joined_by,
                points,
                rejected,
            })
        })
        .collect()
}

struct Ec2Prices(RegionClients);

impl Ec2Prices {
    async fn read(&self, ask: &PriceAsk) -> Gathered<PriceBook> {
        let Self(clients) = self;
        let (session, place) = (&clients.session, &clients.region);
        let mut book = PriceBook::default();
        let mut gaps = Vec::new();
        let mut fail = |subject: GapSubject, error: SourceError, instead: &str| {
            let cause = error.cause_of(CauseKind::CallFailed, instead);
            gaps.push(Gap::of(subject, place, cause));
        };
        let mut unlisted = Vec::new();
        for wanted in &ask.on_demand {
            match on_demand_prices(session, wanted, ask.read_on).await {
                Ok(found) => {
                    let listed = found.iter().map(|(key, _)| key.instance_type.as_str());
                    unlisted.extend(without_price(wanted, &listed.collect()));
                    for (key, quote) in found {
                        book.insert(key, quote);
                    }
                }
                Err(error) => {
                    let instead = "the price cache, or else the bundled price catalog, is used \
                                   where a price is available";
                    fail(GapSubject::LivePrices, error, instead);
                }
            }
        }
        for (operating_system, types) in &ask.spot {
            match spot_prices(clients, *operating_system, types, ask.window).await {
                Ok(found) => {
                    for (key, quote, history) in found {
                        book.insert_spot_history(key.clone(), history);
                        book.insert(key, quote);
                    }
                }
                Err(error) => {
                    let instead =
                        "the price cache, or else the bundled average, is used where available";
                    fail(GapSubject::SpotPrices, error, instead);
                }
            }
        }
        if !ask.storage.is_empty() {
            match storage_prices(session, place, &ask.storage).await {
                Ok(found) => {
                    for (resource, quote) in found {
                        book.insert_storage(place, resource, quote);
                    }
                }
                Err(error) => fail(GapSubject::StoragePrices, error, ""),
            }
        }
        gaps.extend(unlisted.into_iter().map(|missing| {
            let cause = Cause::of(CauseKind::PricesNotListed, [&missing]);
            Gap::of(GapSubject::LivePrice, place, cause)
        }));
        Gathered { value: book, gaps }
    }
}

/// Types in use that the price list did not know, in one text.
fn without_price(wanted: &WantedPrices, listed: &BTreeSet<&str>) -> Option<String> {
    let missing = wanted.in_use.iter().map(String::as_str);
    let missing: Vec<&str> = missing.filter(|name| !listed.contains(name)).collect();
    (!missing.is_empty()).then(|| missing.join(", "))
}

impl PriceSource for Ec2Prices {
    fn quotes<'a>(&'a self, ask: &'a PriceAsk) -> Answer<'a, Gathered<PriceBook>> {
        self.read(ask).boxed_local()
    }
}

struct Ec2Commitments {
    clients: RegionClients,
    account: String,
}

impl CommitmentSource for Ec2Commitments {
    fn commitments(&self) -> Answer<'_, Gathered<Commitments>> {
        async {
            let (value, gaps) = region_commitments(&self.clients, &self.account).await;
            Gathered { value, gaps }
        }
        .boxed_local()
    }
}

struct SavingsPlans {
    session: Session,
    account: String,
}

impl CommitmentSource for SavingsPlans {
    fn commitments(&self) -> Answer<'_, Gathered<Commitments>> {
        async {
            let (value, gaps) = savings_plans(&self.session, &self.account).await;
            Gathered { value, gaps }
        }
        .boxed_local()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{JoinedBy, Metric, ResourceId, SeriesSource, Statistic};
    use jiff::Timestamp;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    fn minutes(minutes: i64) -> Window {
        Window {
            start: Timestamp::from_second(0).expect("in range"),
            end: Timestamp::from_second(minutes * 60).expect("in range"),
        }
    }

    fn query(instance: &str) -> MetricQuery {
        MetricQuery {
            instance: ResourceId::named(instance),
            gpu: Some(0),
            metric: Metric::GpuUtilization,
            statistic: Statistic::Average,
            counts_readings: false,
            period_seconds: 300,
            namespace: "".into(),
            name: "",
            dimensions: Arc::default(),
            source: SeriesSource::CloudWatchAgent,
            joined_by: JoinedBy::InstanceId,
        }
    }

    #[test]
    fn hours_of_a_query_that_failed_are_asked_for_again() {
        let counted = |instance| MetricQuery {
            counts_readings: true,
            ..query(instance)
        };
        let batch = vec![
            query("i-1"),
            counted("i-1"),
            query("i-2"),
            counted("i-2"),
            query("i-3"),
            counted("i-3"),
        ];
        let at = Timestamp::from_second(0).expect("in range");
        let (seven, sixty) = (vec![(at, 7.0)], vec![(at, 60.0)]);
        let found = Fetched {
            values: vec![
                seven.clone(),
                sixty.clone(),
                Vec::new(),
                sixty,
                seven,
                Vec::new(),
            ],
            failed: BTreeMap::from([
                (2, "InternalError".to_owned()),
                (5, "InternalError".to_owned()),
            ]),
        };
        let Readings::Hours { series, partial } = hours(batch, found, minutes(60)) else {
            panic!("not hours");
        };
        let measured: Vec<&str> = series.iter().map(|one| one.instance.as_str()).collect();
        assert_eq!(measured, ["i-1", "i-3"]);
        let again: Vec<&str> = partial.iter().map(ResourceId::as_str).collect();
        assert_eq!(again, ["i-2", "i-3"]);
    }

    #[test]
    fn series_without_points_are_dropped_and_bad_ones_kept_for_their_gap() {
        let window = minutes(50);
        let query = query("i-1");
        let queries = [query.clone(), query.clone(), query];
        let at = Timestamp::from_second(300).expect("in range");
        let values = vec![vec![], vec![(at, -1.0)], vec![(at, 7.0)]];
        let series = to_series(&queries, values, window);
        let figures: Vec<(usize, u64)> = series
            .iter()
            .map(|s| (s.points.len(), s.rejected.negative))
            .collect();
        assert_eq!(figures, [(0, 1), (1, 0)]);
    }
}
