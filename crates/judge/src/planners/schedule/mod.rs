//! Jobs placed into idle hours of machines that run anyway, onto spot and on demand, by
//! dollars within their deadlines; beside them what first come, first served costs.

mod free;
mod place;
mod plan;

pub use free::{FreeGpus, Span};
pub use place::Spot;
pub use plan::{JobPlan, JobSchedule, MOST_MISS_PERCENT, Placement, Where, schedule_jobs};

use crate::domain::{Currency, HourlyRate, InterruptionBand, PriceQuote, shell_word};
use crate::planners::NoResult;
use crate::savings::Checkpointing;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// A job. Times are Unix seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Job {
    pub name: String,
    /// Which of the needs: the GPU that it asks for.
    pub need: usize,
    pub gpus: u32,
    /// How long it runs on these GPUs without an interruption.
    pub seconds: i64,
    /// It cannot start before.
    pub release: i64,
    pub deadline: Option<i64>,
    /// Whether it goes on from a checkpoint when it was interrupted.
    pub is_restartable: bool,
    /// Where its data is; absent where it has none, or it does not matter.
    pub data_region: Option<String>,
    pub data_gb: Decimal,
}

/// What is to be placed, and where that can be.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleRequest {
    pub jobs: Vec<Job>,
    pub needs: Vec<Need>,
    /// Machines that run anyway, with their idle hours.
    pub hosts: Vec<Host>,
    /// GPUs of rented machines at a time; absent for any number.
    pub most_gpus: Option<u32>,
    /// Where first come, first served runs jobs without data.
    pub home_region: String,
    /// Of all prices.
    pub currency: Currency,
    /// Data that leaves its region, per GB.
    pub transfer_per_gb: Decimal,
    pub checkpointing: Checkpointing,
    /// Interruptions a day and machine to compute with at least.
    pub least_interruptions_per_day: f64,
}

/// A machine that can be rented in any number.
#[derive(Debug, Clone, PartialEq)]
pub struct Rental {
    pub instance_type: String,
    pub region: String,
    pub gpus: u32,
    pub rate: HourlyRate,
    /// Absent where no list has the price that the rate comes from.
    pub quote: Option<PriceQuote>,
    pub is_spot: bool,
    /// How often spot machines of the type are interrupted.
    pub band: Option<InterruptionBand>,
}

/// A machine that is paid for already.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    pub id: String,
    pub instance_type: String,
    pub region: String,
    /// Its GPUs where every one of them is idle.
    pub free: FreeGpus,
    pub gpus: u32,
}

/// A GPU that jobs ask for, as it was written, with what has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Need {
    pub name: String,
    pub rentals: Vec<Rental>,
    /// Which of the hosts.
    pub hosts: Vec<usize>,
    /// Machines in their regions that are left out because they are priced in other currencies
    /// than that of the plan, by currency.
    pub other_currencies: BTreeMap<Currency, usize>,
}

/// No priced machine has the GPUs of a job.
fn no_machine(request: &ScheduleRequest, job: &Job) -> NoResult {
    let Job { name, gpus, .. } = job;
    let Need { name: need, other_currencies, .. } = &request.needs[job.need];
    no_result! {
        "no priced machine has the GPUs of the job `{name}`: {gpus} × {need}{}", elsewhere(other_currencies.values().sum());
        "`gpucost pricing --gpu {} --region all` shows where it is sold: pass `--region`", shell_word(need)
    }
}

fn elsewhere(skipped: usize) -> String {
    match skipped {
        0 => String::new(),
        1 => "; 1 offer in another currency is left out".to_owned(),
        more => format!("; {more} offers in other currencies are left out"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Currency, HourlyRate, InterruptionBand, MOST_JOBS};
    use crate::savings::Checkpointing;
    use rust_decimal::Decimal;
    use std::collections::BTreeMap;

    const HOUR: i64 = 3_600;
    const HOME: &str = "us-east-1";

    fn rental(region: &str, gpus: u32, cents: i64, is_spot: bool) -> Rental {
        Rental {
            instance_type: format!("z1.{gpus}"),
            region: region.to_owned(),
            gpus,
            rate: HourlyRate::new(Decimal::new(cents, 2), Currency::Usd).expect("positive"),
            quote: None,
            is_spot,
            band: is_spot.then_some(InterruptionBand::UnderFive),
        }
    }

    fn job(name: &str, gpus: u32, hours: i64, deadline: Option<i64>) -> Job {
        Job {
            name: name.to_owned(),
            need: 0,
            gpus,
            seconds: hours * HOUR,
            release: 0,
            deadline: deadline.map(|hours| hours * HOUR),
            is_restartable: false,
            data_region: None,
            data_gb: Decimal::ZERO,
        }
    }

    fn host(gpus: u32, spans: &[Span]) -> Host {
        let spans: Vec<Span> = spans.iter().map(|(from, to)| (from * HOUR, to * HOUR)).collect();
        Host {
            id: "i-1".to_owned(),
            instance_type: "z1.1".to_owned(),
            region: HOME.to_owned(),
            free: FreeGpus::within(gpus, &spans),
            gpus,
        }
    }

    fn request(jobs: Vec<Job>, rentals: Vec<Rental>, hosts: Vec<Host>) -> ScheduleRequest {
        ScheduleRequest {
            jobs,
            needs: vec![Need {
                name: "Z1".to_owned(),
                rentals,
                hosts: (0..hosts.len()).collect(),
                other_currencies: BTreeMap::new(),
            }],
            hosts,
            most_gpus: None,
            home_region: HOME.to_owned(),
            currency: Currency::Usd,
            transfer_per_gb: Decimal::new(2, 2),
            checkpointing: Checkpointing::default(),
            least_interruptions_per_day: 1.0,
        }
    }

    fn dollars(text: &str) -> Decimal {
        text.parse().expect("a decimal")
    }

    /// A machine of one GPU rests from hour 0 to 6 and from 24 to 30; renting one costs $1.
    /// `fit` (4 h by 6) rests there first. `test` (4 h by 8) finds 2 hours left and is rented:
    /// $4. `sweep` (3 h, restartable) takes these 2 hours, and after 5 minutes of restart one
    /// more from hour 24 on. At once all three cost 4 + 4 + 3 = $11.
    #[test]
    fn a_worked_example() {
        let mut sweep = job("sweep", 1, 3, None);
        sweep.is_restartable = true;
        let jobs = vec![sweep, job("fit", 1, 4, Some(6)), job("test", 1, 4, Some(8))];
        let hosts = vec![host(1, &[(0, 6), (24, 30)])];
        let answer = schedule_jobs(request(jobs, vec![rental(HOME, 1, 100, false)], hosts));
        let answer = answer.expect("a plan");
        let [sweep, fit, test] = answer.planned.placements.as_slice() else {
            panic!("{answer:?}");
        };
        assert_eq!((fit.place, fit.spans.as_slice()), (Where::Host(0), &[(0, 4 * HOUR)][..]));
        assert!(matches!(test.place, Where::Rental { machines: 1, .. }));
        assert_eq!((test.start(), test.end()), (0, 4 * HOUR));
        assert_eq!(sweep.spans, [(4 * HOUR, 6 * HOUR), (24 * HOUR, 25 * HOUR + 300)]);
        assert_eq!(answer.planned.cost(), dollars("4"));
        assert_eq!(answer.first_come.cost(), dollars("11"));
        assert_eq!((answer.planned.late(), answer.first_come.late()), (0, 0));
        let jobs = &answer.request.jobs;
        assert_eq!(answer.planned.makespan_seconds(jobs), 25 * HOUR + 300);
        assert_eq!(answer.first_come.makespan_seconds(jobs), 4 * HOUR);
        let (best, is_whole) = answer.best.as_ref().expect("three jobs");
        assert!(is_whole);
        assert_eq!(best.cost(), dollars("4"));
    }

    /// The earliest deadline is not the best first: `short` takes the hours that only `long`
    /// could use for nothing. Rented, it costs $1 instead of $6.
    #[test]
    fn every_order_beats_the_list_where_it_is_short_sighted() {
        let jobs = vec![job("short", 1, 1, Some(5)), job("long", 1, 6, Some(6))];
        let hosts = vec![host(1, &[(0, 6)])];
        let answer = schedule_jobs(request(jobs, vec![rental(HOME, 1, 100, false)], hosts));
        let answer = answer.expect("a plan");
        assert_eq!(answer.planned.cost(), dollars("6"));
        let (best, is_whole) = answer.best.expect("two jobs");
        assert_eq!((best.cost(), is_whole), (dollars("1"), true));
    }

    /// Eight hours cost $8 in Virginia and $4.80 in Oregon. Moving 100 GB there is $2, in all
    /// $6.80; with 200 GB it would be $8.80, so the job stays.
    #[test]
    fn data_that_leaves_its_region_is_paid_for() {
        let rentals = || vec![rental(HOME, 1, 100, false), rental("us-west-2", 1, 60, false)];
        for (gb, cost, transfer) in [(100, "6.8", "2"), (200, "8", "0")] {
            let mut train = job("train", 1, 8, None);
            train.data_region = Some(HOME.to_owned());
            train.data_gb = Decimal::from(gb);
            let answer =
                schedule_jobs(request(vec![train], rentals(), Vec::new())).expect("a plan");
            assert_eq!(answer.planned.cost(), dollars(cost));
            assert_eq!(answer.planned.transfer(), dollars(transfer));
            // At once it runs where its data is.
            assert_eq!(answer.first_come.cost(), dollars("8"));
        }
    }

    /// At one interruption a day: a checkpoint each sqrt(2 × 60 s × 86,400 s) = 3,220 s, and so
    /// 60 / 3,220 + (1,610 + 300) / 86,400 = 4.074% of the time. Ten hours take
    /// 36,000 / 0.95926 = 37,529 s: $4.1699 at 40 cents, less than $10.
    #[test]
    fn only_what_restarts_runs_on_spot() {
        let rentals = || vec![rental(HOME, 1, 100, false), rental(HOME, 1, 40, true)];
        let mut train = job("train", 1, 10, Some(12));
        let answer =
            schedule_jobs(request(vec![train.clone()], rentals(), Vec::new())).expect("a plan");
        assert_eq!(answer.planned.cost(), dollars("10"));
        assert_eq!(answer.planned.most_likely_miss(), None);
        train.is_restartable = true;
        let answer =
            schedule_jobs(request(vec![train.clone()], rentals(), Vec::new())).expect("a plan");
        let placement = &answer.planned.placements[0];
        // A second program adds up what each number of interruptions leaves.
        let miss = placement.miss.expect("spot, with a deadline");
        assert!((miss - 0.006_365).abs() < 1e-6, "{miss}");
        assert_eq!(placement.end(), 37_529);
        assert_eq!(answer.planned.cost().round_dp(4), dollars("4.1699"));
        assert_eq!(answer.first_come.cost(), dollars("10"));
        // It is expected to end by 10:25:29, and misses 11 h in 11% of all cases.
        train.deadline = Some(11 * HOUR);
        let answer =
            schedule_jobs(request(vec![train.clone()], rentals(), Vec::new())).expect("a plan");
        assert_eq!(answer.planned.cost(), dollars("10"));
        assert_eq!(answer.planned.late(), 0);
        // The longer time on spot would miss this deadline.
        train.deadline = Some(10 * HOUR);
        let answer = schedule_jobs(request(vec![train], rentals(), Vec::new())).expect("a plan");
        assert_eq!(answer.planned.cost(), dollars("10"));
    }

    #[test]
    fn a_job_takes_one_machine_unless_none_is_large_enough() {
        let rentals = || vec![rental(HOME, 1, 100, false), rental(HOME, 4, 500, false)];
        let of = |gpus: u32| {
            let asked = request(vec![job("train", gpus, 1, None)], rentals(), Vec::new());
            schedule_jobs(asked).expect("a plan").planned.cost()
        };
        assert_eq!([1, 2, 4, 5].map(of), ["1", "5", "5", "10"].map(dollars));
    }

    #[test]
    fn the_limit_makes_jobs_wait() {
        let jobs = vec![job("a", 1, 4, None), job("b", 2, 2, None), job("c", 1, 3, Some(3))];
        let mut asked = request(jobs, vec![rental(HOME, 1, 100, false)], Vec::new());
        asked.most_gpus = Some(2);
        let answer = schedule_jobs(asked.clone()).expect("a plan");
        // c from 0, a from 0, b from 4.
        let starts = |plan: &JobPlan| {
            let placements = plan.placements.iter();
            placements.map(|placement| placement.start() / HOUR).collect::<Vec<_>>()
        };
        assert_eq!(starts(&answer.planned), [0, 4, 0]);
        // a from 0, b from 4, c after b.
        assert_eq!(starts(&answer.first_come), [0, 4, 6]);
        assert_eq!(answer.first_come.late(), 1);
        asked.most_gpus = Some(1);
        let refused = schedule_jobs(asked).expect_err("b takes two");
        assert!(
            refused.to_string().ends_with("takes 2 GPUs of rented machines, above the limit of 1")
        );
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let rentals = || vec![rental(HOME, 1, 100, false)];
        let of = |jobs: Vec<Job>, rentals: Vec<Rental>| {
            schedule_jobs(request(jobs, rentals, Vec::new()))
        };
        let late = of(vec![job("fit", 1, 5, Some(4))], rentals()).expect_err("5 h by 4");
        assert!(late.to_string().starts_with("the job `fit` takes 5.00 h and misses"), "{late}");
        assert_eq!(late.hint, "the nearest deadline that it can meet is 1970-01-01T05:00:00Z");
        let nowhere = of(vec![job("fit", 1, 5, None)], Vec::new()).expect_err("no machine");
        assert!(nowhere.to_string().starts_with("no priced machine has the GPUs"), "{nowhere}");
        // Spot alone is not enough: what is interrupted for too long has nowhere to go.
        let spot = vec![rental(HOME, 1, 40, true)];
        assert!(of(vec![job("fit", 1, 5, None)], spot).is_err());
        let none = of(Vec::new(), rentals()).expect_err("none");
        assert_eq!(none.to_string(), "no jobs");
        let many = vec![job("fit", 1, 1, None); MOST_JOBS + 1];
        let many = of(many, rentals()).expect_err("too many").to_string();
        assert!(
            many.starts_with(&format!("{} jobs; at most {MOST_JOBS}", MOST_JOBS + 1)),
            "{many}"
        );
    }

    /// Every start at a whole hour on the host and on rented machines, checked hour by hour:
    /// the fewest late jobs, and of these the least dollars.
    struct BruteForce<'a> {
        request: &'a ScheduleRequest,
        idle: Vec<u32>,
        host: Vec<u32>,
        rented: Vec<u32>,
        best: (usize, i64),
    }

    const LAST_HOUR: usize = 20;

    impl BruteForce<'_> {
        fn best(request: &ScheduleRequest, idle: Vec<u32>) -> (usize, i64) {
            let mut search = BruteForce {
                request,
                idle,
                host: vec![0; LAST_HOUR],
                rented: vec![0; LAST_HOUR],
                best: (usize::MAX, i64::MAX),
            };
            search.place(0, (0, 0));
            search.best
        }

        fn place(&mut self, index: usize, so_far: (usize, i64)) {
            if so_far >= self.best {
                return;
            }
            let Some(job) = self.request.jobs.get(index) else {
                self.best = so_far;
                return;
            };
            let (length, gpus) = ((job.seconds / HOUR) as usize, job.gpus);
            let release = (job.release / HOUR) as usize;
            for start in release..=LAST_HOUR - length {
                let end = start + length;
                let late = usize::from(job.deadline.is_some_and(|at| (end as i64) * HOUR > at));
                let is_free = (start..end).all(|hour| self.host[hour] + gpus <= self.idle[hour]);
                if is_free {
                    self.host[start..end].iter_mut().for_each(|used| *used += gpus);
                    self.place(index + 1, (so_far.0 + late, so_far.1));
                    self.host[start..end].iter_mut().for_each(|used| *used -= gpus);
                }
                let most = self.request.most_gpus.expect("a limit");
                if (start..end).all(|hour| self.rented[hour] + gpus <= most) {
                    let cost = length as i64 * i64::from(gpus);
                    self.rented[start..end].iter_mut().for_each(|used| *used += gpus);
                    self.place(index + 1, (so_far.0 + late, so_far.1 + cost));
                    self.rented[start..end].iter_mut().for_each(|used| *used -= gpus);
                }
            }
        }
    }

    #[test]
    fn no_order_is_better_than_brute_force_finds() {
        let mut random = fastrand::Rng::with_seed(6);
        for _ in 0..40 {
            let jobs: Vec<Job> = (0..random.usize(1..=4))
                .map(|index| {
                    let hours = random.i64(1..=4);
                    let release = random.i64(0..=3);
                    let slack = random.i64(0..=6);
                    let deadline = random.bool().then_some(release + hours + slack);
                    let mut job = job(&index.to_string(), random.u32(1..=2), hours, deadline);
                    job.release = release * HOUR;
                    job
                })
                .collect();
            let idle: Vec<u32> =
                (0..LAST_HOUR).map(|hour| if hour < 12 && hour % 6 < 4 { 2 } else { 0 }).collect();
            let hosts = vec![host(2, &[(0, 4), (6, 10)])];
            let mut asked = request(jobs, vec![rental(HOME, 1, 100, false)], hosts);
            asked.most_gpus = Some(2);
            let brute = BruteForce::best(&asked, idle);
            let answer = schedule_jobs(asked.clone()).expect("a plan");
            let (best, is_whole) = answer.best.expect("few jobs");
            let cost = |plan: &JobPlan| (plan.late(), plan.cost());
            let brute = (brute.0, Decimal::from(brute.1));
            assert!(cost(&answer.planned) >= cost(&best), "{asked:?}");
            assert!(is_whole, "{asked:?}");
            assert_eq!(cost(&best), brute, "{asked:?}");
        }
    }
}
