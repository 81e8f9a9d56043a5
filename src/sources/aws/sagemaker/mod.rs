//! SageMaker: machines that AWS runs itself, of endpoints, notebook instances, Studio apps,
//! HyperPod clusters and training jobs. They are in no answer of EC2, and their prices are
//! not those of EC2.

mod components;
mod inventory;
mod jobs;
mod listed;
mod machine;
mod metrics;
mod plans;
mod prices;
mod tags;

pub(super) use listed::SAGEMAKER;
pub(super) use tags::TAGGING;

use super::session::RegionClients;
use crate::domain::Provider;
use crate::sources::Connection;
use futures_util::FutureExt;
use inventory::Machines;
use jiff::Timestamp;
use jobs::TrainingJobs;
use metrics::VariantMetrics;

/// What SageMaker runs in a region of an account at an instant.
pub(super) fn connection(clients: RegionClients, account: &str, as_of: Timestamp) -> Connection {
    let machines = Machines::new(clients.clone(), account, as_of);
    let jobs = TrainingJobs { clients: clients.clone(), account: account.to_owned() };
    Connection {
        provider: Some(Provider::SageMaker),
        region: clients.region.clone(),
        inventory: Box::new(move || machines.clone().found().boxed_local()),
        metrics: vec![Box::new(VariantMetrics(clients.clone()))],
        jobs: Some(Box::new(move |window| jobs.clone().read(window).boxed_local())),
        prices: Some(Box::new(move |ask| prices::prices(clients.clone(), ask).boxed_local())),
        commitments: None,
    }
}
