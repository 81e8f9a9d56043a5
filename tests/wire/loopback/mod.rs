//! A loopback stand-in for the AWS endpoints that `gpucost` talks to.
//!
//! [`Loopback`] listens on `127.0.0.1` and speaks the wire protocols of the
//! services themselves, so the compiled binary and the real SDK clients are
//! tested unchanged: point `AWS_ENDPOINT_URL` (or `endpoint_url`) at
//! [`Loopback::url`].
//!
//! What it answers itself, from data that a test puts into it:
//!
//! | service | operations | protocol |
//! |---|---|---|
//! | CloudWatch | `ListMetrics`, `GetMetricData` | RPC v2 CBOR |
//! | Price List | `GetProducts` | AWS JSON 1.1 |
//! | Savings Plans | `DescribeSavingsPlans`, `DescribeSavingsPlansOfferingRates` | REST JSON |
//! | Organizations | `ListAccounts` | AWS JSON 1.1 |
//! | Cost Optimization Hub | `ListRecommendations` | AWS JSON 1.0 |
//! | ECS | lists and descriptions of clusters, container instances and tasks | AWS JSON 1.1 |
//! | Batch | `DescribeComputeEnvironments`, `DescribeJobQueues` | REST JSON |
//! | SageMaker | `ListTrainingJobs`, `DescribeTrainingJob`, `Search`, `ListTrainingPlans`, `ListInferenceComponents`, `DescribeInferenceComponent` | AWS JSON 1.1 |
//! | Resource Groups Tagging | `GetResources` | AWS JSON 1.1 |
//! | STS | `AssumeRole` | AWS query |
//! | EC2 | `DescribeSpotPriceHistory`, `DescribeReservedInstances`, `DescribeCapacityReservations` | EC2 query |
//!
//! Everything else is forwarded to a [`Moto`] server when there is one, with
//! one correction (wildcards in the `instance-type` filter, see [`ec2`]) and, where a test
//! asks for it, another launch time ([`Loopback::backdate_launches`]).
//! Without one, and for whatever moto does not implement either, the answer
//! is the client error `InvalidAction`: moto's own HTML 500 would be retried
//! by the SDK.
//!
//! Failures are injected per operation ([`Loopback::inject`]) and every
//! attempt is counted ([`Loopback::calls`]), refused ones included.
//!
//! Not imitated: signatures (only the credential scope is read), quotas,
//! eventual consistency, metric retention and roll-up, metric math, percentile
//! statistics, cross-account observability. Metrics and prices belong to a
//! region, not to an account.

mod calls;
mod cbor;
mod cloudwatch;
mod containers;
mod ec2;
mod error;
mod faults;
mod form;
mod hub;
mod jobs;
mod managed;
mod metrics;
mod moto;
mod organization;
mod owned;
mod pricing;
mod products;
mod savings_plans;
mod server;
mod terms;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use jiff::Timestamp;

pub use calls::Operation;
pub use faults::{Fault, Target, Times};
pub use moto::Moto;
pub use organization::{Sessions, access_key_in};
pub use owned::{OwnedCapacity, OwnedPlan, OwnedReserved};
pub use products::Price;
pub use savings_plans::PlanRate;
pub use terms::Reserved;

use crate::support::http::Server;
use containers::cluster_arn;
use faults::Faults;
use metrics::MetricStore;
use products::Catalogue;

/// What tests have put: the answers.
#[derive(Default)]
struct Data {
    metrics: MetricStore,
    /// Statuses of metrics that CloudWatch does not read, by name.
    unread_metrics: BTreeMap<String, &'static str>,
    products: Catalogue,
    spot: ec2::SpotHistory,
    plan_rates: savings_plans::RateList,
    owned: owned::Owned,
    organization: organization::Organization,
    training_jobs: jobs::TrainingJobs,
    containers: containers::Containers,
    managed: managed::Managed,
    /// What AWS advises, as the hub words it.
    recommendations: Vec<serde_json::Value>,
    launched_types: ec2::LaunchedTypes,
    /// When every instance was launched, instead of when moto launched it.
    launched_at: Option<Timestamp>,
    /// Fewer results a page than a request accepts.
    page_limit: Option<usize>,
}

impl Data {
    /// Results on a page, for a request that accepts so many.
    fn page(&self, accepted: usize) -> usize {
        self.page_limit.unwrap_or(accepted).min(accepted)
    }
}

/// What tests steer and read: failures, delay, counters.
#[derive(Default)]
struct Control {
    faults: Faults,
    latency: Duration,
    calls: BTreeMap<Operation, usize>,
    expired: usize,
}

/// Everything the request handlers share with the test.
#[derive(Default)]
struct State {
    data: RwLock<Data>,
    control: Mutex<Control>,
    /// `host:port` of the moto server that gets what is not imitated here.
    upstream: Option<String>,
    /// The moto account that every forwarded call is made in.
    account: Option<String>,
}

impl State {
    fn read(&self) -> RwLockReadGuard<'_, Data> {
        self.data.read().expect("a handler panicked, see above")
    }

    fn write(&self) -> RwLockWriteGuard<'_, Data> {
        self.data.write().expect("a handler panicked, see above")
    }

    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().expect("a handler panicked, see above")
    }
}

/// A running endpoint; dropping it stops the server and closes its sockets.
pub struct Loopback {
    state: Arc<State>,
    server: Server,
}

impl Loopback {
    /// Starts an endpoint on a free port of `127.0.0.1`, on a thread and a
    /// runtime of its own, so that it serves blocking and asynchronous tests
    /// alike. `moto_url` is where the rest goes: `Some(moto.url())`.
    pub fn start(moto_url: Option<String>) -> Self {
        Self::serve(moto_url, None)
    }

    /// The same in an account of moto's of its own, so that tests share a
    /// server without seeing each other's instances.
    pub fn start_in_account(moto_url: String, account: &str) -> Self {
        Self::serve(Some(moto_url), Some(account.to_owned()))
    }

    fn serve(moto_url: Option<String>, account: Option<String>) -> Self {
        let state = Arc::new(State {
            upstream: moto_url
                .map(|url| url.trim_start_matches("http://").trim_end_matches('/').to_owned()),
            account,
            ..State::default()
        });
        let shared = Arc::clone(&state);
        let answer = move |request| server::answer(Arc::clone(&shared), request);
        Self { server: Server::start(None, answer), state }
    }

    /// The endpoint address, for `AWS_ENDPOINT_URL`.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// Adds raw datums (epoch seconds, value) to one metric. The dimensions
    /// are its identity: a query must name exactly the same set.
    pub fn put_metric(
        &self,
        region: &str,
        namespace: &str,
        name: &str,
        dimensions: &[(&str, &str)],
        datums: impl IntoIterator<Item = (i64, f64)>,
    ) {
        self.state.write().metrics.put(region, namespace, name, dimensions, datums);
    }

    /// Has CloudWatch list a metric, and answer every query of it with a status and no points.
    pub fn refuse_metric(&self, name: &str, status: &'static str) {
        let name = name.to_owned();
        self.state.write().unread_metrics.insert(name, status);
    }

    /// Has CloudWatch answer queries of all metrics again.
    pub fn read_metrics(&self) {
        self.state.write().unread_metrics.clear();
    }

    /// Publishes an instance price, together with the neighbours that share
    /// its instance type in the real list: capacity reservations at zero,
    /// dedicated tenancy, SQL Server, capacity blocks.
    pub fn put_price(&self, price: Price<'_>) {
        self.state.write().products.put_instance(price);
    }

    /// Publishes what an hour in a Capacity Block costs, under the type's own
    /// name, as the real list does: at zero or at something else.
    pub fn put_capacity_block(&self, instance_type: &str, region: &str, hourly: &str) {
        let price = Price::linux(instance_type, region, hourly);
        self.state.write().products.put_capacity_block(price);
    }

    /// Publishes the rate of a savings plan, together with the neighbours that
    /// share its plan and type: Windows, dedicated tenancy, capacity that is
    /// reserved and not used.
    pub fn put_plan_rate(&self, rate: PlanRate<'_>) {
        self.state.write().plan_rates.put(rate);
    }

    /// Has the account own reserved instances.
    pub fn put_reserved_instances(&self, reserved: OwnedReserved<'_>) {
        self.state.write().owned.put_reserved(reserved);
    }

    /// Has one account of several own reserved instances.
    pub fn put_reserved_instances_of(&self, account: &str, reserved: OwnedReserved<'_>) {
        let mut data = self.state.write();
        data.owned.put_reserved(reserved);
        if let Some(item) = data.owned.reserved.last_mut() {
            item.account = Some(account.to_owned());
        }
    }

    /// Has the organization have an account in a state, such as `ACTIVE`.
    pub fn put_account(&self, id: &str, state: &str) {
        let account = (id.to_owned(), state.to_owned());
        self.state.write().organization.accounts.push(account);
    }

    /// Has the hub advise something.
    pub fn put_recommendation(&self, recommendation: serde_json::Value) {
        self.state.write().recommendations.push(recommendation);
    }

    /// Has ECS describe a container instance of a cluster in a region with these words.
    pub fn put_container_instance(&self, region: &str, cluster: &str, instance: serde_json::Value) {
        let instance = (region.to_owned(), cluster_arn(region, cluster), instance);
        self.state.write().containers.instances.push(instance);
    }

    /// Has ECS describe a task of a cluster in a region with these words.
    pub fn put_task(&self, region: &str, cluster: &str, task: serde_json::Value) {
        let task = (region.to_owned(), cluster_arn(region, cluster), task);
        self.state.write().containers.tasks.push(task);
    }

    /// Has Batch describe a compute environment in a region with these words.
    pub fn put_compute_environment(&self, region: &str, environment: serde_json::Value) {
        let environment = (region.to_owned(), environment);
        self.state.write().containers.environments.push(environment);
    }

    /// Has Batch describe a job queue in a region with these words.
    pub fn put_job_queue(&self, region: &str, queue: serde_json::Value) {
        let queue = (region.to_owned(), queue);
        self.state.write().containers.queues.push(queue);
    }

    /// Has every role ask for an external id.
    pub fn require_external_id(&self, id: &str) {
        self.state.write().organization.external_id = Some(id.to_owned());
    }

    /// Has sessions in roles end after a time, and STS say when they expire.
    pub fn end_sessions(&self, sessions: Sessions) {
        self.state.write().organization.sessions = Some(sessions);
    }

    /// How many calls were refused because their session had ended.
    pub fn expired(&self) -> usize {
        self.state.control().expired
    }

    /// Has the account see a capacity reservation.
    pub fn put_capacity_reservation(&self, reservation: OwnedCapacity<'_>) {
        self.state.write().owned.put_capacity(reservation);
    }

    /// Has the account own a savings plan.
    pub fn put_savings_plan(&self, plan: OwnedPlan<'_>) {
        self.state.write().owned.put_plan(plan);
    }

    /// Puts so many products, rates, plans or capacity reservations on a page, where a request
    /// would accept more. The services do as they please, too.
    pub fn limit_pages(&self, results: usize) {
        self.state.write().page_limit = Some(results);
    }

    /// Publishes the price of an EBS volume type (`gp3`, `io2`, …) in USD per
    /// GB and month.
    pub fn put_storage_price(&self, region: &str, volume_api_name: &str, gb_month: &str) {
        self.state.write().products.put_storage(region, volume_api_name, gb_month);
    }

    /// Publishes what an hour of a SageMaker type, such as `ml.g5.xlarge`, costs under one
    /// component, such as `Hosting`.
    pub fn put_component_price(&self, region: &str, name: &str, component: &str, hourly: &str) {
        self.state.write().products.put_component(region, name, component, hourly);
    }

    /// Has SageMaker describe a training job in a region with these words.
    pub fn put_training_job(&self, region: &str, job: serde_json::Value) {
        let job = (region.to_owned(), job);
        self.state.write().training_jobs.push(job);
    }

    /// Has SageMaker describe an inference component in a region with these words.
    pub fn put_inference_component(&self, region: &str, component: serde_json::Value) {
        let component = (region.to_owned(), component);
        self.state.write().managed.components.push(component);
    }

    /// Has the variants of an endpoint configuration have no model of their own.
    pub fn drop_models(&self, endpoint_config: &str) {
        let name = endpoint_config.to_owned();
        self.state.write().managed.without_model.push(name);
    }

    /// Has SageMaker list a training plan in a region with these words.
    pub fn put_training_plan(&self, region: &str, plan: serde_json::Value) {
        let plan = (region.to_owned(), plan);
        self.state.write().managed.plans.push(plan);
    }

    /// Has a resource of a region have tags.
    pub fn put_tags(&self, region: &str, arn: &str, tags: &[(&str, &str)]) {
        let tags = tags.iter();
        let tags = tags.map(|(key, value)| serde_json::json!({ "Key": key, "Value": value }));
        let tags: Vec<serde_json::Value> = tags.collect();
        let row = serde_json::json!({ "ResourceARN": arn, "Tags": tags });
        self.state.write().managed.tagged.push((region.to_owned(), row));
    }

    /// Publishes the hourly price of a public IPv4 address, in use and idle.
    pub fn put_public_ipv4_price(&self, region: &str, hourly: &str) {
        self.state.write().products.put_public_ipv4(region, hourly);
    }

    /// Adds change points (epoch seconds, USD per hour) to the spot price of
    /// one instance type in one zone; `product` is for example `Linux/UNIX`.
    pub fn put_spot_prices(
        &self,
        region: &str,
        zone: &str,
        instance_type: &str,
        product: &str,
        changes: &[(i64, &str)],
    ) {
        self.state.write().spot.put(region, zone, instance_type, product, changes);
    }

    /// Has every instance launched at a time of the past, as if its disks and interfaces had
    /// been attached then. moto launches now, so that only windows that lie ahead would see
    /// its instances run.
    pub fn backdate_launches(&self, launched_at: Timestamp) {
        self.state.write().launched_at = Some(launched_at);
    }

    /// Makes the calls that `target` names fail; of several rules the first
    /// that still has a failure to give wins.
    pub fn inject(&self, target: Target, fault: Fault, times: Times) {
        self.state.control().faults.add(target, fault, times);
    }

    /// Forgets every injected failure.
    pub fn clear_faults(&self) {
        self.state.control().faults.clear();
    }

    /// Delays every answer from now on, as the network of a far region would.
    pub fn set_latency(&self, latency: Duration) {
        self.state.control().latency = latency;
    }

    /// How often an operation was attempted, in all regions, retries and
    /// refused attempts included. Services go by their IAM prefix.
    pub fn calls(&self, service: &str, operation: &str) -> usize {
        self.call_counts()
            .iter()
            .filter(|(seen, _)| seen.service == service && seen.operation == operation)
            .map(|(_, count)| count)
            .sum()
    }

    /// Attempts per service, operation and region.
    pub fn call_counts(&self) -> BTreeMap<Operation, usize> {
        self.state.control().calls.clone()
    }

    /// The distinct operations seen, as IAM actions (`ec2:DescribeInstances`),
    /// sorted: comparable with the actions of a policy document.
    pub fn actions(&self) -> Vec<String> {
        let mut actions: Vec<String> = self
            .call_counts()
            .keys()
            .map(|seen| format!("{}:{}", seen.service, seen.operation))
            .collect();
        actions.sort();
        actions.dedup();
        actions
    }

    /// Starts counting anew, for example after a fleet has been launched.
    pub fn reset_calls(&self) {
        self.state.control().calls.clear();
    }
}
