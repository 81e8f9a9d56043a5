//! What training jobs cost: past spend, which no monthly figure includes.

use crate::catalog::Prices;
use crate::domain::{
    Cause, CauseKind, Gap, GapSubject, HourlyRate, Money, NoPrice, PriceQuote, TrainingJob,
};
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::cmp::Reverse;

/// A training job with what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedJob<'a> {
    pub job: &'a TrainingJob,
    /// Absent while it runs, where a training plan paid for it, and without a price for each
    /// of its types.
    pub cost: Option<Money>,
    /// What its instances cost in a warm pool after it.
    pub warm_pool_cost: Option<Money>,
    /// Whether a type of it has no price.
    pub is_unpriced: bool,
    /// The day of the oldest list that its prices were read from.
    pub seen_on: Option<Date>,
}

impl ListedJob<'_> {
    fn total(&self) -> Option<Decimal> {
        let parts = [self.cost, self.warm_pool_cost];
        let parts = parts.into_iter().flatten();
        parts.map(Money::amount).reduce(|left, right| left + right)
    }
}

/// Jobs with what they cost, the most expensive first; what has no price is a gap.
pub(super) fn listed_jobs<'a>(
    jobs: &'a [TrainingJob],
    prices: &Prices<'_>,
    gaps: &mut Vec<Gap>,
) -> Vec<ListedJob<'a>> {
    let mut rows: Vec<ListedJob<'a>> = jobs.iter().map(|job| listed(job, prices, gaps)).collect();
    rows.sort_by_key(|row| {
        let job = row.job;
        (Reverse(row.total()), &job.account, &job.region, &job.name)
    });
    rows
}

fn listed<'a>(job: &'a TrainingJob, prices: &Prices<'_>, gaps: &mut Vec<Gap>) -> ListedJob<'a> {
    let mut quotes: Vec<PriceQuote> = Vec::new();
    let mut is_unpriced = false;
    for key in job.price_keys() {
        match prices.get(&key) {
            Ok(quote) => quotes.push(quote),
            Err(NoPrice(key)) => {
                is_unpriced = true;
                // One for the type: a region may have hundreds of jobs.
                let cause = Cause::of(CauseKind::NoOwnPrice, [&key.to_string(), ""]);
                gaps.push(Gap::of(GapSubject::Price, job.region.as_str(), cause));
            }
        }
    }
    let rates: Vec<HourlyRate> = quotes.iter().map(|quote| quote.rate).collect();
    let cost = |seconds: Option<u32>| job.cost(seconds?, &rates);
    ListedJob {
        job,
        cost: cost(job.billable_seconds),
        warm_pool_cost: cost(job.warm_pool_seconds),
        is_unpriced,
        seen_on: quotes.iter().map(|quote| quote.seen_on).min(),
    }
}
