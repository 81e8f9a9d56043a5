//! What recorded audits expect of a bill: the hours that they kept, each as the run priced it that
//! counts for its day.

use crate::billing::{Expected, ExpectedInstance, RateSince};
use crate::domain::{
    DAY_SECONDS, GapSubject, HOUR_SECONDS, InstanceHour, InstanceRate, PastGap, RecordedRun,
    Window, region_of,
};
use crate::usage::HourUse;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Hours of a day.
const HOURS_OF_A_DAY: usize = 24;
/// Hours of instances that are held: half a gigabyte of them.
const MOST_HOURS: usize = 30_000_000;

/// More hours were kept than are held in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the history has more than {MOST_HOURS} hours of instances in these days")]
pub struct TooManyHours;

/// Takes in the hours of runs.
#[derive(Debug)]
pub struct RecordedExpectation<'a> {
    runs: &'a [RecordedRun],
    /// The runs that have a day, the best first.
    by_day: BTreeMap<Date, Vec<usize>>,
    hours: Window,
    length: usize,
    instances: BTreeMap<(String, String), Kept>,
    accounts: BTreeSet<String>,
    regions: BTreeSet<String>,
}

/// What is known of an instance.
#[derive(Debug)]
struct Kept {
    region: String,
    instance_type: String,
    hours: Vec<HourUse>,
    /// By day of the period.
    rates: BTreeMap<usize, Option<InstanceRate>>,
}

impl<'a> RecordedExpectation<'a> {
    /// Of runs that kept hours, over some of their days; absent where they have none of these.
    pub fn new(runs: &'a [RecordedRun], days: impl Fn(Date) -> bool) -> Option<Self> {
        let mut by_day: BTreeMap<Date, Vec<usize>> = BTreeMap::new();
        for (place, run) in runs.iter().enumerate() {
            for day in run.days.iter().filter(|day| days(**day)) {
                by_day.entry(*day).or_default().push(place);
            }
        }
        // What tags limit counts where nothing else has the day.
        for places in by_day.values_mut() {
            places.sort_by_key(|place| {
                let run = runs.get(*place);
                let is_limited = run.is_some_and(|run| !run.tag_filters.is_empty());
                (is_limited, Reverse(run.map(|run| (run.as_of, &run.run_id))))
            });
        }
        let (first, last) = (*by_day.keys().next()?, *by_day.keys().next_back()?);
        let begin = |day: Date| Some(day.to_zoned(TimeZone::UTC).ok()?.timestamp());
        let hours = Window { start: begin(first)?, end: begin(last.tomorrow().ok()?)? };
        let named = |of: fn(&RecordedRun) -> &Vec<String>| -> BTreeSet<String> {
            runs.iter().flat_map(|run| of(run).iter().cloned()).collect()
        };
        Some(Self {
            runs,
            by_day,
            hours,
            length: usize::try_from(hours.seconds() / HOUR_SECONDS).ok()?,
            instances: BTreeMap::new(),
            accounts: named(|run| &run.accounts),
            regions: named(|run| &run.regions),
        })
    }

    /// The runs that have days of it.
    pub fn wanted(&self) -> BTreeSet<usize> {
        self.by_day.values().flatten().copied().collect()
    }

    /// Takes in an hour of a run. What another run counts for is left out.
    ///
    /// # Errors
    /// When there are more than are held in memory.
    pub fn add(&mut self, run: usize, hour: InstanceHour) -> Result<(), TooManyHours> {
        let since = hour.hour.as_second() - self.hours.start.as_second();
        let place = usize::try_from(since.div_euclid(HOUR_SECONDS)).ok();
        let Some(place) = place.filter(|place| *place < self.length) else { return Ok(()) };
        let day = hour.hour.to_zoned(TimeZone::UTC).date();
        if self.best(&hour.account, &hour.region, day) != Some(run) {
            return Ok(());
        }
        if !self.accounts.contains(&hour.account) {
            self.accounts.insert(hour.account.clone());
        }
        if !self.regions.contains(&hour.region) {
            self.regions.insert(hour.region.clone());
        }
        let room = MOST_HOURS / self.length.max(1);
        let key = (hour.account, hour.instance);
        if !self.instances.contains_key(&key) && self.instances.len() >= room {
            return Err(TooManyHours);
        }
        let kept = self.instances.entry(key).or_insert_with(|| Kept {
            region: String::new(),
            instance_type: String::new(),
            hours: vec![HourUse::default(); self.length],
            rates: BTreeMap::new(),
        });
        (kept.region, kept.instance_type) = (hour.region, hour.instance_type);
        if let Some(used) = kept.hours.get_mut(place) {
            *used = HourUse {
                ran: hour.ran_seconds,
                measured: hour.measured_seconds,
                idle: hour.idle_seconds,
                useful: hundredths(hour.useful_seconds),
            };
        }
        kept.rates.insert(place / HOURS_OF_A_DAY, hour.rate);
        Ok(())
    }

    /// The run that counts for a place on a day.
    fn best(&self, account: &str, region: &str, day: Date) -> Option<usize> {
        let places = self.by_day.get(&day)?;
        let is_read = |place: &&usize| {
            let run = self.runs.get(**place);
            run.is_some_and(|run| reads(run, account, region))
        };
        places.iter().find(is_read).copied()
    }

    /// The days of the period that no run has.
    pub fn days_missing(&self) -> u64 {
        u64::try_from(self.hours.seconds() / DAY_SECONDS).unwrap_or(0) - self.by_day.len() as u64
    }

    /// What is expected of a bill.
    pub fn expected(self) -> Expected {
        let unread = self.unread();
        let first = self.by_day.values().filter_map(|places| places.first());
        let mut best = first.filter_map(|place| self.runs.get(*place));
        let is_selection = best.any(|run| !run.tag_filters.is_empty());
        let instances = self.instances.into_iter();
        let instances = instances.map(|((account, id), kept)| ExpectedInstance {
            account,
            id,
            region: kept.region,
            instance_type: kept.instance_type,
            rates: stretches(&kept.rates),
            hours: kept.hours,
            volumes: Vec::new(),
            addresses: Vec::new(),
        });
        Expected {
            hours: self.hours,
            periods_per_hour: u16::try_from(HOUR_SECONDS).unwrap_or(u16::MAX),
            accounts: self.accounts,
            regions: self.regions,
            unread,
            is_selection,
            instances: instances.collect(),
        }
    }

    /// The hours of days on which no run has read a place.
    fn unread(&self) -> BTreeMap<String, BTreeMap<String, BTreeSet<usize>>> {
        let mut unread: BTreeMap<String, BTreeMap<String, BTreeSet<usize>>> = BTreeMap::new();
        let first = self.hours.start.to_zoned(TimeZone::UTC).date();
        let days = std::iter::successors(Some(first), |day| day.tomorrow().ok());
        for (place, day) in days.take(self.length / HOURS_OF_A_DAY).enumerate() {
            let hours = place * HOURS_OF_A_DAY..(place + 1) * HOURS_OF_A_DAY;
            for account in &self.accounts {
                for region in &self.regions {
                    if self.best(account, region, day).is_none() {
                        let of_account = unread.entry(account.clone()).or_default();
                        of_account.entry(region.clone()).or_default().extend(hours.clone());
                    }
                }
            }
        }
        unread
    }
}

/// Whether a run has read a region of an account.
fn reads(run: &RecordedRun, account: &str, region: &str) -> bool {
    let is_named = |names: &[String], name: &str| {
        names.is_empty() || names.iter().any(|listed| listed == name)
    };
    let hides = |gap: &PastGap| match gap.what {
        GapSubject::Regions => true,
        GapSubject::Account => gap.place == account || gap.place.is_empty(),
        GapSubject::Region | GapSubject::Nodes => {
            let own = gap.place.strip_suffix(region_of(&gap.place));
            let own = own.and_then(|before| before.strip_suffix('/'));
            region_of(&gap.place) == region && own.is_none_or(|own| own == account)
        }
        _ => false,
    };
    is_named(&run.accounts, account)
        && is_named(&run.regions, region)
        && !run.unread.iter().any(hides)
}

/// The rates of days, as stretches of hours. The first one holds before its day as well.
fn stretches(days: &BTreeMap<usize, Option<InstanceRate>>) -> Vec<RateSince> {
    let mut rates: Vec<RateSince> = Vec::new();
    for (day, rate) in days {
        if rates.last().is_none_or(|last| last.rate != *rate) {
            let hour = if rates.is_empty() { 0 } else { day * HOURS_OF_A_DAY };
            rates.push(RateSince { hour, rate: *rate });
        }
    }
    rates
}

/// Seconds of full use in hundredths of a percent of a second.
fn hundredths(seconds: Decimal) -> u32 {
    let hundredths = seconds * Decimal::from(10_000);
    hundredths.round().to_u32().unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Currency, PastTotals, TagFilter};
    use jiff::Timestamp;

    fn day(number: i8) -> Date {
        Date::constant(2026, 11, number)
    }

    fn run(as_of: &str, regions: &[&str], days: &[i8]) -> RecordedRun {
        let as_of: Timestamp = as_of.parse().expect("a time");
        RecordedRun {
            run_id: as_of.to_string(),
            as_of,
            scope: String::new(),
            source: "aws".to_owned(),
            accounts: vec!["1".to_owned()],
            regions: regions.iter().map(|region| (*region).to_owned()).collect(),
            tag_filters: Vec::new(),
            days: days.iter().map(|number| day(*number)).collect(),
            totals: PastTotals {
                currency: Currency::Usd,
                instances: 1,
                gpus: 8,
                unpriced_instances: 0,
                monthly_cost: None,
                planned_monthly_cost: None,
                monthly_savings: None,
                monthly_waste: None,
            },
            promises: None,
            gaps_count: 0,
            unread: Vec::new(),
            gpucost_version: String::new(),
            prices_seen_on: None,
        }
    }

    /// An hour of 1,800 seconds, of which 900 were at 50%.
    fn hour(begin: &str, price: i64) -> InstanceHour {
        InstanceHour {
            account: "1".to_owned(),
            region: "us-east-1".to_owned(),
            instance: "i-0a".to_owned(),
            instance_type: "p4d.24xlarge".to_owned(),
            hour: begin.parse().expect("a time"),
            ran_seconds: 1_800,
            measured_seconds: 1_800,
            idle_seconds: 900,
            useful_seconds: Decimal::from(450),
            rate: Some(InstanceRate {
                currency: Currency::Usd,
                price: Decimal::from(price),
                effective: Decimal::from(price),
            }),
        }
    }

    #[test]
    fn each_day_counts_once_by_its_best_run() {
        let (east, both) = (&["us-east-1"][..], &["eu-west-1", "us-east-1"][..]);
        let mut limited = run("2026-11-07T03:00:00Z", both, &[2, 4]);
        limited.tag_filters.push(TagFilter {
            key: "team".to_owned(),
            value: "a".to_owned(),
            is_excluded: false,
        });
        let runs = [
            run("2026-11-05T03:00:00Z", both, &[2]),
            // Newer, and of the same day.
            run("2026-11-06T03:00:00Z", east, &[2, 5]),
            limited,
        ];
        let mut expectation = RecordedExpectation::new(&runs, |_| true).expect("days");
        assert_eq!(expectation.wanted(), BTreeSet::from([0, 1, 2]));
        // The second to the fifth, without the third.
        assert_eq!(expectation.days_missing(), 1);
        let mut add = |run, begin, price| expectation.add(run, hour(begin, price)).expect("few");
        add(0, "2026-11-02T03:00:00Z", 30);
        add(1, "2026-11-02T05:00:00Z", 20);
        add(2, "2026-11-02T07:00:00Z", 99);
        add(2, "2026-11-04T00:00:00Z", 20);
        add(1, "2026-11-05T23:00:00Z", 10);
        let expected = expectation.expected();
        assert_eq!(expected.hours.seconds(), 4 * DAY_SECONDS);
        assert!(expected.is_selection, "of the fourth, tags limit what is known");
        let [instance] = expected.instances.as_slice() else {
            panic!("{:?}", expected.instances);
        };
        let ran: Vec<usize> =
            (0..instance.hours.len()).filter(|place| instance.hours[*place].ran > 0).collect();
        assert_eq!(ran, [5, 48, 95]);
        let used = HourUse {
            ran: 1_800,
            measured: 1_800,
            idle: 900,
            // 900 seconds at 5,000 hundredths of a percent.
            useful: 4_500_000,
        };
        assert_eq!(instance.hours[5], used);
        let rates = instance.rates.iter();
        let rates: Vec<(usize, Option<Decimal>)> =
            rates.map(|since| (since.hour, since.rate.map(|rate| rate.price))).collect();
        let price = |price: i64| Some(Decimal::from(price));
        assert_eq!(rates, [(0, price(20)), (72, price(10))]);
        // No run has read the third, and none has read Ireland on the fifth.
        let regions = &expected.unread["1"];
        let third: BTreeSet<usize> = (24..48).collect();
        let fifth: BTreeSet<usize> = (72..96).collect();
        assert_eq!(regions["us-east-1"], third);
        assert_eq!(regions["eu-west-1"], &third | &fifth);
    }

    #[test]
    fn what_a_run_could_not_read_is_unread() {
        let mut gone = run("2026-11-05T03:00:00Z", &["us-east-1"], &[2]);
        gone.unread.push(PastGap {
            what: GapSubject::Region,
            place: "1/us-east-1".to_owned(),
            cause: None,
            reason: String::new(),
        });
        let runs = [gone];
        let mut expectation = RecordedExpectation::new(&runs, |_| true).expect("a day");
        expectation.add(0, hour("2026-11-02T03:00:00Z", 1)).expect("left out");
        let expected = expectation.expected();
        assert!(expected.instances.is_empty());
        assert_eq!(expected.unread["1"]["us-east-1"].len(), 24);
        assert!(RecordedExpectation::new(&runs, |_| false).is_none());
    }
}
