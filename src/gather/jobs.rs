//! Training jobs of the regions that were read, and the prices that their costs rest on.

use super::places::Place;
use crate::domain::{Gathered, OperatingSystem, Tenancy, TrainingJob, Window};
use crate::sources::{PriceQuery, WantedPrices};
use futures_util::{StreamExt, stream};
use jiff::civil::Date;
use std::collections::{BTreeMap, BTreeSet};

/// Regions that are asked side by side.
const REGIONS_AT_ONCE: usize = 8;

/// A region with its jobs.
pub(super) type RegionJobs<'a> = (&'a Place<'a>, Vec<TrainingJob>);

/// Jobs that changed in a window, of each region that has any.
pub(super) async fn training_jobs<'a>(
    regions: Vec<&'a Place<'a>>,
    window: Window,
) -> Gathered<Vec<RegionJobs<'a>>> {
    let asked = regions.into_iter().filter_map(|place| {
        let source = place.connection.jobs.as_ref()?;
        Some(async move { (place, source.jobs(window).await) })
    });
    let answers: Vec<_> = stream::iter(asked).buffered(REGIONS_AT_ONCE).collect().await;
    let mut jobs = Vec::new();
    let mut gaps = Vec::new();
    for (place, answer) in answers {
        gaps.extend(place.named(answer.gaps));
        if !answer.value.is_empty() {
            jobs.push((place, answer.value));
        }
    }
    Gathered { value: jobs, gaps }
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

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

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
