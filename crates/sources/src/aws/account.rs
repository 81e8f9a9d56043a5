//! An AWS account as a place that is read: EC2, CloudWatch, the price list, and what
//! was committed to; and beside it, where it is asked for, what SageMaker runs.

use super::batch::attach_environments;
use super::cloudwatch::CloudWatch;
use super::commitments::{has_savings_plans, region_commitments, savings_plans};
use super::ecs::claimed;
use super::inventory::{idle_storage_resources, inventory, shapes};
use super::opinions::{has_hub, opinions};
use super::prices::{on_demand_prices, spot_prices, storage_prices};
use super::sagemaker;
use super::scaling::scaling_groups;
use super::session::{AwsOptions, AwsService, RegionClients, Session};
use crate::domain::{
    Cause, CauseKind, Clusters, EstateSource, FailureKind, Gap, GapSubject, Gathered,
    InstanceShape, Managed, PriceBook, Provider,
};
use crate::error::or_gap;
use crate::{Account, Connection, Found, Outcome, PriceQuery, Quoted, WantedPrices};
use futures_util::FutureExt;
use std::collections::BTreeSet;

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
) -> Outcome<Gathered<Account>> {
    let session = Session::connect(options).await?;
    let id = session.account().await?;
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
) -> Outcome<Gathered<Account>> {
    let Gathered { value: names, gaps } = region_names(&session, regions).await?;
    let reads = (options.reads(AwsService::Ecs), options.reads(AwsService::Batch));
    let of_ec2 = names.iter().filter(|_| options.reads(AwsService::Ec2));
    let of_ec2 = of_ec2.map(|name| {
        let (clients, account) = (session.in_region(name), id.clone());
        let (of_inventory, of_prices) = (clients.clone(), clients.clone());
        Connection {
            provider: Some(Provider::Aws),
            region: name.clone(),
            inventory: Box::new(move || found(of_inventory.clone(), reads).boxed_local()),
            metrics: vec![Box::new(CloudWatch {
                clients: clients.clone(),
                agent_namespace: agent_namespace.to_owned(),
            })],
            jobs: None,
            prices: Some(Box::new(move |ask| prices(of_prices.clone(), ask).boxed_local())),
            commitments: Some(Box::new(move || {
                region_commitments(clients.clone(), account.clone()).boxed_local()
            })),
        }
    });
    let managed = names.iter().filter(|_| options.reads(AwsService::SageMaker));
    let managed =
        managed.map(|name| sagemaker::connection(session.in_region(name), &id, options.as_of));
    let connections: Vec<Connection> = of_ec2.chain(managed).collect();
    let plans = names.iter().any(|name| has_savings_plans(name)).then(|| {
        let (session, account) = (session.clone(), id.clone());
        Box::new(move || savings_plans(session.clone(), account.clone()).boxed_local()) as _
    });
    let is_asked = options.asks_opinions && has_hub(session.home_region());
    let advisor = session.clone();
    let account = Account {
        connections,
        id,
        source: EstateSource::Aws,
        commitments: plans,
        opinions: is_asked.then(|| Box::new(move || opinions(advisor.clone()).boxed_local()) as _),
        meter: Box::new(move || session.usage()),
    };
    Ok(Gathered { value: account, gaps })
}

/// The regions that are asked for, each once, else those that the account has enabled;
/// the home region alone where it may not list them.
///
/// # Errors
/// When they cannot be listed for another reason.
pub async fn region_names(
    session: &Session,
    asked: Option<&[String]>,
) -> Outcome<Gathered<Vec<String>>> {
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

/// What EC2 has of a region, and who holds it where other services are read too.
async fn found(
    clients: RegionClients,
    (reads_ecs, reads_batch): (bool, bool),
) -> Outcome<Gathered<Found>> {
    let mut gaps = Vec::new();
    let mut listed = inventory(&clients).await?;
    idle_storage_resources(&clients, &mut listed).await;
    let instances = listed.leave_gaps(&mut gaps);
    let types = instances.iter().map(|instance| instance.instance_type.clone());
    let types: Vec<String> = types.collect::<BTreeSet<String>>().into_iter().collect();
    let answer = if types.is_empty() { Ok(Vec::new()) } else { shapes(&clients, &types).await };
    let bundled = "the bundled catalog is used";
    let shapes = or_gap(answer, GapSubject::InstanceTypes, &clients.region, bundled);
    let by_type = |shape: InstanceShape| (shape.instance_type.clone(), shape);
    let shapes = shapes.leave_gaps(&mut gaps).into_iter().map(by_type).collect();
    let groups = scaling_groups(&clients, &instances).await;
    let groups = or_gap(groups, GapSubject::AutoScalingGroups, &clients.region, "");
    let mut scaling_groups = groups.leave_gaps(&mut gaps);
    if reads_batch {
        gaps.extend(attach_environments(&clients, &instances, &mut scaling_groups).await);
    }
    let clusters = if reads_ecs {
        claimed(&clients, &instances).await.leave_gaps(&mut gaps)
    } else {
        Clusters::default()
    };
    let managed = Managed::default();
    Ok(Gathered { value: Found { instances, shapes, clusters, scaling_groups, managed }, gaps })
}

/// What things of EC2 cost in a region, as far as AWS tells.
async fn prices(clients: RegionClients, ask: PriceQuery) -> Gathered<PriceBook> {
    let (session, place) = (&clients.session, &clients.region);
    let (mut book, mut gaps, mut unlisted) = (PriceBook::default(), Vec::new(), Vec::new());
    for wanted in &ask.on_demand {
        let answer = on_demand_prices(session, wanted, ask.read_on).await;
        unlisted.extend(answer.iter().filter_map(|found| unlisted_types(wanted, found)));
        let instead = "the price cache, or else the bundled price catalog, is used where a price \
                       is available";
        let found = or_gap(answer, GapSubject::LivePrices, place, instead).leave_gaps(&mut gaps);
        found.into_iter().for_each(|(key, quote)| book.insert(key, quote));
    }
    for (operating_system, types) in &ask.spot {
        let answer = spot_prices(&clients, *operating_system, types, ask.window).await;
        let instead = "the price cache, or else the bundled average, is used where available";
        let found = or_gap(answer, GapSubject::SpotPrices, place, instead);
        for (key, quote, history) in found.leave_gaps(&mut gaps) {
            book.insert_spot_history(key.clone(), history);
            book.insert(key, quote);
        }
    }
    let answer = storage_prices(session, place, &ask.storage).await;
    let found = or_gap(answer, GapSubject::StoragePrices, place, "");
    for (resource, quote) in found.leave_gaps(&mut gaps) {
        book.insert_storage(place, resource, quote);
    }
    gaps.extend(unlisted);
    Gathered { value: book, gaps }
}

/// The gap of types in use that the price list did not know.
fn unlisted_types(wanted: &WantedPrices, found: &[Quoted]) -> Option<Gap> {
    let listed: BTreeSet<&str> = found.iter().map(|(key, _)| key.instance_type.as_str()).collect();
    let missing = wanted.in_use.iter().map(String::as_str);
    let missing: Vec<&str> = missing.filter(|name| !listed.contains(name)).collect();
    let cause = Cause::of(CauseKind::PricesNotListed, [missing.join(", ").as_str()]);
    (!missing.is_empty()).then(|| Gap::of(GapSubject::LivePrice, &wanted.region, cause))
}
