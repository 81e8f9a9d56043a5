//! The best plan of a few jobs, by trying every order and every place.

use super::place::Options;
use super::plan::{JobPlan, Left, Placement};
use super::question::ScheduleRequest;
use rust_decimal::Decimal;

/// Placements that are tried; after them the best so far counts.
const MOST_TRIALS: u32 = 100_000;

/// The plan with the fewest late jobs, of these the cheapest, of these the one that ends
/// first, and whether everything was tried. Jobs that are placed one after the other, each
/// as early as it can, reach the best of all plans in one of their orders.
pub(super) fn best(
    request: &ScheduleRequest,
    options: &Options,
    known: &JobPlan,
) -> (JobPlan, bool) {
    let left = Left::all(request);
    let cheapest = (0..request.jobs.len())
        .map(|index| {
            let ways = left.ways(request, options, index).into_iter();
            ways.map(|way| way.total()).min().unwrap_or_default()
        })
        .collect();
    let mut search = Search { request, options, cheapest, best: known.clone(), trials: 0 };
    search.go_on(&left, &mut Vec::new());
    let is_whole = search.trials < MOST_TRIALS;
    (search.best, is_whole)
}

struct Search<'a> {
    request: &'a ScheduleRequest,
    options: &'a Options,
    /// The least that each job can cost.
    cheapest: Vec<Decimal>,
    best: JobPlan,
    trials: u32,
}

impl Search<'_> {
    fn go_on(&mut self, left: &Left, placed: &mut Vec<Placement>) {
        let jobs = &self.request.jobs;
        let is_placed = |index: &usize| placed.iter().any(|placement| placement.job == *index);
        let open: Vec<usize> = (0..jobs.len()).filter(|index| !is_placed(index)).collect();
        let so_far = JobPlan { placements: placed.clone() };
        let (late, cost, makespan) = so_far.rank(jobs);
        let least: Decimal = open.iter().map(|index| self.cheapest[*index]).sum();
        if (late, cost + least, makespan) >= self.best.rank(jobs) {
            return;
        }
        if open.is_empty() {
            self.best = JobPlan::of(placed.clone());
            return;
        }
        for index in open {
            let mut ways = left.ways(self.request, self.options, index);
            ways.sort_by_key(|way| (way.is_late, way.total(), way.end()));
            for way in ways {
                if self.trials >= MOST_TRIALS {
                    return;
                }
                self.trials += 1;
                let mut rest = left.clone();
                rest.take(self.request, &way);
                placed.push(way);
                self.go_on(&rest, placed);
                placed.pop();
            }
        }
    }
}
