//! What an audit expects of a bill, which hours a line of the bill is for, how both differ, and
//! how far what is billed was used.

use super::amounts::share;
use crate::domain::{HOUR_SECONDS, InstanceRate, LineKind, Window, named_enum, sums};
use crate::usage::HourUse;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

named_enum! {
    /// What a difference between a bill and an audit is about.
    DifferenceName {
        /// Hours that only one of both has.
        Hours = "hours",
        /// The price of an hour without commitments.
        Price = "price",
        /// What commitments make of that price.
        Commitment = "commitment",
        /// What only one of both is about.
        Scope = "scope",
        /// Lines that are for no hours of an instance with accelerators.
        Kind = "kind",
        /// Hours that are not billed yet.
        Late = "late",
        /// Hours for which the bill states no effective cost.
        Unstated = "unstated",
    }
}

/// Reasons, each with what its difference is about, and in words.
macro_rules! reasons {
    ($($(#[$doc:meta])* $reason:ident $(($kind:ident))? = $name:ident, $words:literal;)*) => {
        /// Why a bill and an audit differ.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum DifferenceReason {
            $($(#[$doc])* $reason $(($kind))?,)*
        }

        impl DifferenceReason {
            /// What the difference is about.
            pub fn name(self) -> DifferenceName {
                match self { $(Self::$reason { .. } => DifferenceName::$name,)* }
            }

            /// The reason in words; of a line of another kind its kind says more.
            pub fn words(self) -> &'static str {
                match self { $(Self::$reason { .. } => $words,)* }
            }
        }
    };
}
reasons! {
    NotSeen = Hours, "billed, not seen running";
    NotBilled = Hours, "seen running, not billed";
    UnknownInstance = Hours, "instance not in the audit";
    /// Another price of an hour.
    OtherPrice = Price, "another price";
    Unpriced = Price, "no price in the audit";
    Commitment = Commitment, "reserved instances and savings plans";
    /// Of an account that the audit has not read.
    OtherAccount = Scope, "account not in the audit";
    /// Of a region that the audit has not read.
    OtherRegion = Scope, "region not in the audit";
    /// Outside of the hours that the audit has read.
    OtherTime = Scope, "outside the hours of the audit";
    /// The audit was asked about instances with some tags alone.
    NotSelected = Scope, "not selected by tags";
    Unnamed = Scope, "no instance or time in the bill";
    /// The bill has no line of the account.
    NoLines = Scope, "account not in the bill";
    BeforeBill = Scope, "before the bill begins";
    /// A line of another kind, or of an instance without accelerators.
    Line(LineKind) = Kind, "line of another kind";
    /// After the last hour of instances in the bill.
    AfterBill = Late, "after the last billed hour";
    NoCost = Unstated, "no effective cost in the bill";
}

/// A part of a difference, bill less audit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DifferencePart {
    /// Hours of instances; zero where it is not about hours.
    pub hours: Decimal,
    pub cost: Decimal,
}

sums! {
    DifferencePart { hours, cost }
    UsedCost { cost, useful, spare, idle, unmeasured }
}

/// A bill beside an audit, in one currency. Costs are effective.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The whole hours of UTC that the audit has read.
    pub hours: Window,
    pub bill: Decimal,
    /// The hours in which the audit saw instances run, at what an hour costs.
    pub audit: Decimal,
    /// These add up to `bill − audit`.
    pub differences: BTreeMap<DifferenceReason, DifferencePart>,
    /// Instances of the audit that ran or are billed, the largest difference first.
    pub instances: Vec<ComparedInstance>,
    /// Instances with accelerators by what the bill is grouped by, else by type.
    pub used: BTreeMap<Option<String>, UsedCost>,
}

impl Comparison {
    /// Over all instances with accelerators.
    pub fn used(&self) -> UsedCost {
        self.used.values().copied().sum()
    }
}

/// An instance that the audit has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedInstance {
    pub account: String,
    pub id: String,
    pub region: String,
    pub instance_type: String,
    /// Hours that are billed in the hours of the audit.
    pub billed_hours: Decimal,
    /// Hours that it was seen running.
    pub seen_hours: Decimal,
    pub bill: Decimal,
    /// Absent where the audit has no price in this currency.
    pub audit: Option<Decimal>,
    /// These add up to `bill − audit`.
    pub differences: BTreeMap<DifferenceName, Decimal>,
    pub used: UsedCost,
}

impl ComparedInstance {
    /// What it is billed more than the audit expects.
    pub fn difference(&self) -> Decimal {
        self.bill - self.audit.unwrap_or_default()
    }
}

/// What is billed for hours, by how far the GPUs were used in them. The four parts add up to
/// the cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UsedCost {
    pub cost: Decimal,
    /// In proportion to mean utilization.
    pub useful: Decimal,
    /// What is left of periods in which a GPU worked, or may have.
    pub spare: Decimal,
    /// Periods in which no GPU did anything.
    pub idle: Decimal,
    /// Hours whose use is not known.
    pub unmeasured: Decimal,
}

impl UsedCost {
    /// Adds the cost of an hour, with how it was used where that is known.
    pub(super) fn add(&mut self, cost: Decimal, hour: Option<HourUse>) {
        self.cost += cost;
        let Some(hour) = hour.filter(|hour| hour.measured > 0) else {
            self.unmeasured += cost;
            return;
        };
        let ran = Decimal::from(hour.ran);
        let of = |periods: Decimal| {
            (cost * periods).checked_div(ran).unwrap_or_default().round_dp(DECIMALS)
        };
        let unmeasured = of(Decimal::from(hour.ran.saturating_sub(hour.measured)));
        let idle = of(Decimal::from(hour.idle));
        let useful = of(Decimal::new(i64::from(hour.useful), 4));
        self.unmeasured += unmeasured;
        self.idle += idle;
        self.useful += useful;
        self.spare += cost - unmeasured - idle - useful;
    }

    /// The idle share of what was measured, percent.
    pub fn idle_percent(&self) -> Option<Decimal> {
        share(self.idle, self.cost - self.unmeasured)
    }
}

/// Decimals that amounts and hours keep.
pub(super) const DECIMALS: u32 = 18;

/// The instances of an audit, with when they ran and what an hour costs.
#[derive(Debug, Clone)]
pub struct Expected {
    /// The whole hours of UTC that it has read.
    pub hours: Window,
    pub periods_per_hour: u16,
    pub accounts: BTreeSet<String>,
    pub regions: BTreeSet<String>,
    /// Those of these hours that were not read, by account and region.
    pub unread: BTreeMap<String, BTreeMap<String, BTreeSet<usize>>>,
    /// Whether it was asked about instances with some tags alone.
    pub is_selection: bool,
    pub instances: Vec<ExpectedInstance>,
}

#[derive(Debug, Clone)]
pub struct ExpectedInstance {
    pub account: String,
    /// Its own id, such as `i-0123456789abcdef0`.
    pub id: String,
    pub region: String,
    pub instance_type: String,
    /// What its hours cost, from the first one on.
    pub rates: Vec<RateSince>,
    /// Each of the hours that were read.
    pub hours: Vec<HourUse>,
    /// Ids of its volumes.
    pub volumes: Vec<String>,
    /// Ids of its addresses.
    pub addresses: Vec<String>,
}

/// What hours of an instance cost from one of them on, until the next one says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateSince {
    /// The first of these hours.
    pub hour: usize,
    /// Absent where the audit has no price of it.
    pub rate: Option<InstanceRate>,
}

impl Expected {
    /// Whether an hour of an account and a region was not read. Where one of them is not
    /// known, it may have been read.
    pub fn is_unread(&self, account: Option<&str>, region: Option<&str>, hour: usize) -> bool {
        let of_account = account.and_then(|account| self.unread.get(account));
        let hours = of_account.and_then(|regions| regions.get(region?));
        hours.is_some_and(|hours| hours.contains(&hour))
    }

    /// For how much of an hour an instance ran, 0–1.
    pub(super) fn ran(&self, hour: HourUse) -> Decimal {
        let share = Decimal::from(hour.ran).checked_div(Decimal::from(self.periods_per_hour));
        share.unwrap_or_default().round_dp(DECIMALS)
    }
}

impl ExpectedInstance {
    /// Its hours in order, in stretches of one rate.
    pub fn stretches(&self) -> impl Iterator<Item = (Range<usize>, Option<InstanceRate>)> {
        let ends = self.rates.iter().skip(1).map(|next| next.hour).chain([self.hours.len()]);
        self.rates.iter().zip(ends).map(|(since, end)| (since.hour..end, since.rate))
    }

    /// The stretch that an hour is in.
    pub(super) fn stretch_of(&self, hour: usize) -> usize {
        self.rates.partition_point(|since| since.hour <= hour).saturating_sub(1)
    }

    pub(super) fn has_run(&self) -> bool {
        self.hours.iter().any(|hour| hour.ran > 0)
    }
}

/// A part of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    /// The hour; absent outside of the hours that are known.
    pub(super) hour: Option<usize>,
    /// Share of the whole; these add up to one, but for rounding.
    pub(super) share: Decimal,
}

/// The hours of a period. A day or a month of an instance is divided up in proportion to when
/// it was seen running, and evenly where it was not.
pub(super) fn shares(period: Window, hours: Window, uses: &[HourUse]) -> Vec<Share> {
    let begin = hours.start.as_second();
    let start = period.start.as_second();
    let end = period.end.as_second().max(start + 1);
    let hour_of = |second: i64| (second - begin).div_euclid(HOUR_SECONDS);
    let (first, last) = (hour_of(start), hour_of(end - 1));
    if first == last {
        let hour = usize::try_from(first).ok().filter(|hour| *hour < uses.len());
        return vec![Share { hour, share: Decimal::ONE }];
    }
    let inside = (first.max(0)..(last + 1).min(uses.len() as i64)).map(|hour| {
        let opens = begin + hour * HOUR_SECONDS;
        (hour as usize, end.min(opens + HOUR_SECONDS) - start.max(opens))
    });
    let inside: Vec<(usize, i64)> = inside.collect();
    let seconds: i64 = inside.iter().map(|(_, seconds)| seconds).sum();
    let ran = |(hour, seconds): &(usize, i64)| {
        seconds * i64::from(uses.get(*hour).map_or(0, |hour| hour.ran))
    };
    let has_run = inside.iter().any(|part| ran(part) > 0);
    let weight = |part: &(usize, i64)| if has_run { ran(part) } else { part.1 };
    let weights = Decimal::from(inside.iter().map(weight).sum::<i64>());
    let of = |part: Decimal, whole: Decimal| part.checked_div(whole).unwrap_or_default();
    let of_period = |seconds: i64| of(Decimal::from(seconds), Decimal::from(end - start));
    let outside = end - start - seconds;
    let outside = (outside > 0).then(|| Share { hour: None, share: of_period(outside) });
    let share_inside = of_period(seconds);
    let parts = inside.iter().filter(|part| weight(part) > 0).map(|part| Share {
        hour: Some(part.0),
        share: of(share_inside * Decimal::from(weight(part)), weights),
    });
    outside.into_iter().chain(parts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    fn hours(start: i64, end: i64) -> Window {
        let at = |hour: i64| Timestamp::from_second(hour * HOUR_SECONDS).expect("in range");
        Window { start: at(start), end: at(end) }
    }

    fn uses(ran: &[u16]) -> Vec<HourUse> {
        let of = |ran: &u16| HourUse { ran: *ran, ..HourUse::default() };
        ran.iter().map(of).collect()
    }

    fn found(period: Window, ran: &[u16]) -> Vec<(Option<usize>, String)> {
        let known = hours(10, 10 + ran.len() as i64);
        let shares = shares(period, known, &uses(ran)).into_iter();
        shares.map(|share| (share.hour, share.share.round_dp(4).normalize().to_string())).collect()
    }

    fn share(hour: Option<usize>, share: &str) -> (Option<usize>, String) {
        (hour, share.to_owned())
    }

    #[test]
    fn an_hour_is_for_itself() {
        assert_eq!(found(hours(11, 12), &[12, 0]), [share(Some(1), "1")]);
        assert_eq!(found(hours(9, 10), &[12, 0]), [share(None, "1")]);
        assert_eq!(found(hours(12, 13), &[12, 0]), [share(None, "1")]);
        // A period without an end is a second long.
        assert_eq!(found(hours(10, 10), &[12]), [share(Some(0), "1")]);
    }

    #[test]
    fn a_day_is_for_the_hours_that_ran() {
        let found_here = found(hours(10, 14), &[12, 0, 6, 6]);
        let expected = [share(Some(0), "0.5"), share(Some(2), "0.25"), share(Some(3), "0.25")];
        assert_eq!(found_here, expected);
        // Where nothing was seen, all hours are alike.
        let evenly = [share(Some(0), "0.5"), share(Some(1), "0.5")];
        assert_eq!(found(hours(10, 12), &[0, 0]), evenly);
        // Two of four hours are not known.
        let outside = [share(None, "0.5"), share(Some(0), "0.5")];
        assert_eq!(found(hours(8, 12), &[12, 0]), outside);
        assert_eq!(found(hours(0, 5), &[12]), [share(None, "1")]);
    }
}
