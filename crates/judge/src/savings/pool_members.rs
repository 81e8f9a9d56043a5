//! How many instances of a pool run at once in each hour, members included that were not there in
//! all of them, and what fewer instances run of the hours of a group: they do not run less than the
//! group did while it ran few.

use super::pool::INSTANCE;
use crate::domain::HourlyActivity;
use rust_decimal::Decimal;
use std::cmp::Reverse;
use std::sync::Arc;

/// One instance of a pool, hour by hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberHours {
    /// How much of each hour it ran until the end of the window, in billionths, from
    /// the first whole hour after it was first seen.
    pub seen: Arc<[u64]>,
    /// The most of an hour that can run in its place, in billionths: an hour, or a share
    /// of one where its group moves to fewer instances.
    pub most: u64,
}

impl MemberHours {
    /// An instance that stays one.
    pub fn of(seen: Vec<u64>) -> Self {
        Self { seen: seen.into(), most: INSTANCE }
    }

    /// How much of each hour of the window it ran, as far as it was seen.
    pub(super) fn seen_in(&self, hours: usize) -> Vec<u64> {
        let mut whole = vec![0; hours.saturating_sub(self.seen.len())];
        whole.extend(&self.seen[self.seen.len().saturating_sub(hours)..]);
        whole
    }

    /// Whether it was seen in a part of the window alone.
    pub(super) fn is_young(&self, hours: usize) -> bool {
        !self.seen.is_empty() && self.seen.len() < hours
    }

    /// The order in which young members are placed, which no name decides: those that were seen
    /// longer first.
    pub(super) fn place_key(&self) -> impl Ord + '_ {
        (Reverse(self.seen.len()), &self.seen, self.most)
    }
}

/// Adds the hours of a young member before it was first seen to what the rest of its pool runs,
/// and returns its own over the whole window. It ran, as far as anybody knows, in its share of
/// those hours: where the rest of the pool is largest, of equals the latest, and in the last of
/// them in a part. So it fills no valley that it was not observed in, and a member more never
/// makes a pool steadier.
pub(super) fn place_unseen(member: &MemberHours, pool: &mut [u64]) -> Vec<u64> {
    let mut whole = member.seen_in(pool.len());
    if !member.is_young(pool.len()) {
        return whole;
    }
    let unseen = pool.len() - member.seen.len();
    let ran: u128 = member.seen.iter().map(|ran| u128::from(*ran)).sum();
    let mut left = ran * unseen as u128 / member.seen.len() as u128;
    let mut places: Vec<usize> = (0..unseen).collect();
    places.sort_by_key(|hour| Reverse((pool[*hour], *hour)));
    for hour in places {
        let placed = left.min(u128::from(member.most));
        whole[hour] = placed as u64;
        pool[hour] += placed as u64;
        left -= placed;
        if left == 0 {
            break;
        }
    }
    whole
}

/// The hours of each member of a pool over the whole window, in the order given.
pub fn whole_hours(members: &[MemberHours], hours: usize) -> Vec<Vec<u64>> {
    let mut whole: Vec<Vec<u64>> = members.iter().map(|member| member.seen_in(hours)).collect();
    let mut young: Vec<usize> =
        (0..members.len()).filter(|place| members[*place].is_young(hours)).collect();
    young.sort_by(|left, right| members[*left].place_key().cmp(&members[*right].place_key()));
    let mut pool = sum_of(&whole, hours);
    for place in young {
        whole[place] = place_unseen(&members[place], &mut pool);
    }
    whole
}

/// `N(t)` of a pool over so many hours, in billionths of an instance: the sum of
/// their whole hours, the unseen ones placed.
pub fn pooled_hours(members: &[MemberHours], hours: usize) -> Vec<u64> {
    sum_of(&whole_hours(members, hours), hours)
}

fn sum_of(members: &[Vec<u64>], hours: usize) -> Vec<u64> {
    let mut pool = vec![0; hours];
    for member in members {
        for (sum, ran) in pool.iter_mut().zip(member) {
            *sum += ran;
        }
    }
    pool
}

/// What stays of the running time of a group of which fewer instances do the work.
#[derive(Debug, Clone, PartialEq)]
pub struct Fewer {
    /// Of each hour until the end of the window, instances after over instances before.
    pub by_hour: Vec<Decimal>,
    /// Of all of its running time.
    pub share: Decimal,
    /// Instances that run then in each of these hours.
    pub after: Vec<Decimal>,
}

impl Fewer {
    /// At most so many instances at once, as many as ran where that is fewer: in an hour
    /// with `N(t)` of them, `min(N(t), count)`.
    pub fn at_most(activity: &HourlyActivity, count: u32) -> Option<Self> {
        Self::of(activity, |running| running.min(Decimal::from(count)))
    }

    /// So many instances in every hour in which any ran, because each has a part of the
    /// work of all: `count × min(N(t), 1)`.
    pub fn together(activity: &HourlyActivity, count: u32) -> Option<Self> {
        Self::of(activity, |running| running.min(Decimal::ONE) * Decimal::from(count))
    }

    /// `None` where nothing is known to have run.
    fn of(activity: &HourlyActivity, after: impl Fn(Decimal) -> Decimal) -> Option<Self> {
        let running: Vec<Decimal> = activity.hours().map(|hour| hour.instance_hours).collect();
        let total: Decimal = running.iter().sum();
        let after: Vec<Decimal> = running.iter().map(|hour| after(*hour)).collect();
        let hours = after.iter().zip(&running);
        let by_hour = hours.map(|(after, hour)| after.checked_div(*hour).unwrap_or(Decimal::ONE));
        Some(Self {
            by_hour: by_hour.collect(),
            share: after.iter().sum::<Decimal>().checked_div(total)?,
            after,
        })
    }

    /// Share of what they run then that falls into some of these hours, 0–1.
    pub fn share_in(&self, hours: &[bool]) -> Decimal {
        let inside = self.after.iter().zip(hours).filter(|(_, is_in)| **is_in);
        let inside: Decimal = inside.map(|(after, _)| *after).sum();
        let total: Decimal = self.after.iter().sum();
        inside.checked_div(total).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn member(seen: &[u64]) -> MemberHours {
        MemberHours::of(seen.iter().map(|tenths| tenths * INSTANCE / 10).collect())
    }

    fn tenths(pool: &[u64]) -> Vec<u64> {
        pool.iter().map(|sum| sum * 10 / INSTANCE).collect()
    }

    #[test]
    fn a_young_member_runs_where_the_rest_is_largest() {
        // An old box is up in hours 0, 2 and 3 of eight; a young one, seen for the
        // last four, ran in half of them and so in two of the four before: 3 and 2,
        // where the other ran too, the later first.
        let old = member(&[10, 0, 10, 10, 0, 10, 0, 10]);
        let young = member(&[10, 0, 10, 0]);
        let pool = pooled_hours(&[old, young], 8);
        assert_eq!(tenths(&pool), [10, 0, 20, 20, 10, 10, 10, 10]);
    }

    #[test]
    fn a_remainder_is_a_part_of_an_hour() {
        // A quarter of the last two hours is half an hour of the two before.
        let young = member(&[5, 0]);
        assert_eq!(tenths(&pooled_hours(&[young], 4)), [0, 5, 5, 0]);
        // Nine tenths throughout stay nine tenths in the mean: 1 and 0.8.
        let steady = member(&[9, 9]);
        assert_eq!(tenths(&pooled_hours(&[steady], 4)), [8, 10, 9, 9]);
    }

    #[test]
    fn a_group_that_shrinks_runs_its_share() {
        let mut shrinking = member(&[6, 6]);
        shrinking.most = INSTANCE * 6 / 10;
        assert_eq!(tenths(&pooled_hours(&[shrinking.clone(), shrinking], 3)), [12, 12, 12]);
    }

    #[test]
    fn two_young_members_follow_each_other() {
        // Both ran in all hours that they were seen: both ran before.
        let pool = pooled_hours(&[member(&[10]), member(&[10, 10])], 3);
        assert_eq!(tenths(&pool), [20, 20, 20]);
        assert!(pooled_hours(&[], 3).iter().all(|sum| *sum == 0));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_member_keeps_its_share(
            members in vec(vec(0_u64..=10, 1..24), 1..5),
        ) {
            let hours = 24;
            let members: Vec<MemberHours> = members.iter().map(|seen| member(seen)).collect();
            let pool = pooled_hours(&members, hours);
            let total: u64 = pool.iter().sum();
            let expected: f64 = members
                .iter()
                .map(|member| {
                    let ran: u64 = member.seen.iter().sum();
                    ran as f64 / member.seen.len() as f64 * hours as f64
                })
                .sum();
            // A billionth for each member is cut off.
            prop_assert!((total as f64 - expected).abs() <= 8.0, "{total} {expected}");
        }

        #[test]
        fn a_member_more_never_lowers_what_the_rest_ran_at_its_peaks(
            old in vec(0_u64..=10, 24),
            seen in vec(0_u64..=10, 1..24),
        ) {
            let alone = pooled_hours(&[member(&old)], 24);
            let both = pooled_hours(&[member(&old), member(&seen)], 24);
            for (alone, both) in alone.iter().zip(&both) {
                prop_assert!(both >= alone);
            }
        }
    }
}
