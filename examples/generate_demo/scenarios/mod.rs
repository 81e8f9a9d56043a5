//! The estates: each a table of jobs, and what is bought ahead beside it.

pub mod mixed_fleet;
pub mod quarter_used;
pub mod starter;

use super::fleet::{self, Job};
use super::recording;
use gpucost::domain::{ApiUsage, Commitments, EstateSource, PriceBook, Window};
use gpucost::sources::files::Demo;
use gpucost::usage::Estate;
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// An estate that ships inside the program.
pub struct Scenario {
    /// Which one.
    pub demo: Demo,
    /// Makes it.
    pub estate: fn() -> Estate,
}

impl Scenario {
    /// Its file in `fixtures/demo/`.
    pub fn file(&self) -> String {
        match self.demo {
            Demo::Starter => "estate.json.gz".to_owned(),
            named => format!("{named}.json.gz"),
        }
    }
}

/// Every estate.
pub const SCENARIOS: &[Scenario] = &[
    Scenario { demo: Demo::Starter, estate: starter::estate },
    Scenario { demo: Demo::QuarterUsed, estate: quarter_used::estate },
    Scenario { demo: Demo::MixedFleet, estate: mixed_fleet::estate },
];

/// The instant that every demo describes; a Sunday, so that the fortnight before
/// it holds two whole weeks.
const AS_OF: &str = "2026-11-01T00:00:00Z";

fn time(text: &str) -> Timestamp {
    text.parse().expect("a constant in RFC 3339")
}

/// An estate of some jobs. It records neither prices nor shapes: the bundled catalog
/// knows both, and the demo follows the catalog.
fn estate(jobs: &[Job], seed: u64) -> Estate {
    let as_of = time(AS_OF);
    let fortnight = SignedDuration::from_hours(14 * 24);
    let window = Window::before(as_of, fortnight, recording::PERIOD_SECONDS)
        .expect("a fortnight before a constant date");
    let (instances, metrics) = fleet::fleet(jobs, seed, window);
    let accounts: BTreeSet<&str> = jobs.iter().map(|job| job.setting.account).collect();
    Estate {
        as_of,
        window,
        source: EstateSource::Demo,
        accounts: accounts.into_iter().map(str::to_owned).collect(),
        regions: vec![fleet::REGION.to_owned()],
        period_seconds: recording::PERIOD_SECONDS,
        instances,
        tag_filters: Vec::new(),
        out_of_scope: Vec::new(),
        shapes: BTreeMap::new(),
        usage: gpucost::usage::Usages::default(),
        metrics,
        profiles: Vec::new(),
        clusters: gpucost::domain::Clusters::default(),
        managed: gpucost::domain::Managed::default(),
        jobs: Vec::new(),
        opinions: Vec::new(),
        scaling_groups: Vec::new(),
        prices: PriceBook::default(),
        commitments: Commitments::default(),
        gaps: Vec::new(),
        api: ApiUsage::default(),
    }
}
