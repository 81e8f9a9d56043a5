//! Whether a stopped instance will run again, as far as its past tells: one that is up
//! half of the time costs the same whether an audit finds it up or stopped.

use crate::domain::Policy;
use crate::usage::Timeline;
use jiff::{SignedDuration, Timestamp};

/// Whether a stopped instance has ended: it is stopped for longer than the policy
/// says, and for longer than twice its longest earlier stop in the window. One that
/// was never seen running, and whose stop time is not known, has ended.
pub(in crate::analysis) fn has_ended(
    timeline: &Timeline,
    stopped_at: Option<Timestamp>,
    as_of: Timestamp,
    policy: &Policy,
) -> bool {
    let Some(stopped_at) = stopped_at.or_else(|| timeline.last_ran()) else { return true };
    let stopped = as_of.duration_since(stopped_at);
    let grace = SignedDuration::from_secs((policy.ended_after_hours * 3_600.0) as i64);
    let earlier = SignedDuration::from_secs(timeline.longest_stop_seconds());
    stopped > grace && stopped > earlier + earlier
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Window;

    const HOUR: i64 = 3_600;

    fn at(hour: i64) -> Timestamp {
        Timestamp::from_second(hour * HOUR).expect("in range")
    }

    /// Fourteen days by the hour, of which some ran.
    fn ended(ran: impl Fn(i64) -> bool, stopped_at: Option<i64>) -> bool {
        let window = Window { start: at(0), end: at(336) };
        let periods = (0..336).map(|hour| (u32::from(ran(hour)), None));
        let timeline = Timeline::of_maxima(window, 3_600, periods);
        has_ended(&timeline, stopped_at.map(at), at(336), &Policy::default())
    }

    #[test]
    fn a_box_up_by_day_has_not_ended_at_night() {
        let by_day = |hour: i64| hour % 24 < 12;
        assert!(!ended(by_day, Some(324)));
        assert!(!ended(by_day, None), "the last hour that ran tells it too");
    }

    #[test]
    fn three_days_are_the_border_for_what_never_stopped_before() {
        let until = |last: i64| move |hour: i64| hour < last;
        // 72 h are not longer than 72 h.
        assert!(!ended(until(264), Some(264)));
        assert!(ended(until(263), Some(263)));
    }

    #[test]
    fn a_box_of_one_day_a_week_ends_after_twice_its_week() {
        // Up on the first day of each week: stopped for 144 h between, and for 144
        // h now, which is less than 288.
        let weekly = |hour: i64| hour % 168 < 24;
        assert!(!ended(weekly, Some(192)));
        // Up in the first two hours of the window and of the third day: 46 h of
        // rest, 286 h of stop.
        let twice = |hour: i64| hour < 2 || (48..50).contains(&hour);
        assert!(ended(twice, Some(50)));
    }

    #[test]
    fn what_was_never_seen_running_has_ended() {
        assert!(ended(|_| false, None));
        assert!(!ended(|_| false, Some(335)), "it stopped an hour ago");
    }
}
