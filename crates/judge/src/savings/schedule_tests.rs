use super::*;
use crate::domain::{ACTIVE_PERCENT, Signal, Window};
use crate::usage::Timeline;
use jiff::Timestamp;
use proptest::prelude::*;

/// A Monday at midnight, UTC.
fn monday() -> Timestamp {
    "2026-10-05T00:00:00Z".parse().expect("a time stamp")
}

/// What one GPU of one instance did in an hour.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Was {
    Busy,
    Resting,
    Unknown,
    Stopped,
}

fn activity_from(start: Timestamp, hours: &[Was]) -> HourlyActivity {
    let window = Window { start, end: start + SignedDuration::from_hours(hours.len() as i64) };
    let maxima = hours.iter().map(|was| match was {
        Was::Busy => (1, Some(ACTIVE_PERCENT)),
        Was::Resting => (1, Some(0.9)),
        Was::Unknown => (1, None),
        Was::Stopped => (0, None),
    });
    let timeline = Timeline::of_maxima(window, 3_600, maxima);
    timeline.activity(Some(Signal::GpuUtilization), start)
}

fn activity(hours: &[Was]) -> HourlyActivity {
    activity_from(monday(), hours)
}

/// So many weeks of a habit by hour of the week.
fn weeks(count: usize, habit: impl Fn(usize) -> Was) -> Vec<Was> {
    (0..count * WEEK_HOURS).map(|hour| habit(hour % WEEK_HOURS)).collect()
}

fn utc(hours: &[Was]) -> Result<Schedule, NoSchedule> {
    schedule(&activity(hours), &TimeZone::UTC)
}

/// Tuesday and Friday from two to six.
fn evaluation(hour: usize) -> Was {
    if matches!(hour / 24, 1 | 4) && (2..6).contains(&(hour % 24)) {
        Was::Busy
    } else {
        Was::Resting
    }
}

#[test]
fn eight_hours_of_work_leave_a_hundred_and_sixty() {
    let schedule = utc(&weeks(2, evaluation)).expect("a schedule");
    assert_eq!(schedule.off_hours_per_week, 160);
    assert_eq!(schedule.off_share, Decimal::from(160) / Decimal::from(168));
    assert_eq!(schedule.saved_share, schedule.off_share);
    assert_eq!(schedule.in_words(), "Tue 06:00–Fri 02:00, Fri 06:00–Tue 02:00");
    assert_eq!(schedule.active_hours_cut(), 0);
    assert_eq!(schedule.counter_evidence.len(), 2);
}

#[test]
fn a_week_that_differs_is_counter_evidence_and_its_hours_stay_on() {
    // Of the second week Wednesday from 10 to 13 too: the first week alone would
    // have cut them.
    let mut hours = weeks(2, evaluation);
    hours[168 + 58..168 + 61].fill(Was::Busy);
    let schedule = utc(&hours).expect("a schedule");
    assert_eq!(schedule.off_hours_per_week, 157);
    let cut: Vec<usize> =
        schedule.counter_evidence.iter().map(|week| week.active_hours_cut).collect();
    assert_eq!(cut, [0, 3]);
}

#[test]
fn two_hours_are_a_window_and_one_is_none() {
    let rests = |length: usize| {
        utc(&weeks(
            2,
            move |hour| {
                if (30..30 + length).contains(&hour) { Was::Resting } else { Was::Busy }
            },
        ))
    };
    assert_eq!(rests(1), Err(NoSchedule::WindowsTooShort { longest_hours: 1 }));
    assert_eq!(rests(2).expect("a window").in_words(), "Tue 06:00–Tue 08:00");
    assert_eq!(rests(0), Err(NoSchedule::NeverOff));
}

#[test]
fn unknown_is_not_off() {
    let unknown = weeks(2, |hour| match evaluation(hour) {
        Was::Resting => Was::Unknown,
        other => other,
    });
    assert_eq!(utc(&unknown), Err(NoSchedule::DataMissing { unknown_hours: 320 }));
    let mut once = weeks(2, evaluation);
    once[80] = Was::Unknown;
    let schedule = utc(&once).expect("a schedule");
    assert_eq!(schedule.off_hours_per_week, 159);
    assert_eq!(schedule.unknown_hours_per_week, 1);
}

#[test]
fn two_weeks_are_needed_but_for_an_hour() {
    let hours = weeks(2, evaluation);
    assert_eq!(utc(&hours[..334]), Err(NoSchedule::TooFewWeeks { observed_hours: 334 }));
    // The last cell was seen once.
    assert_eq!(utc(&hours[..335]).expect("a schedule").off_hours_per_week, 159);
    assert_eq!(utc(&weeks(2, |_| Was::Resting)), Err(NoSchedule::NeverActive));
}

#[test]
fn hours_that_are_stopped_already_save_nothing() {
    // Monday to Friday 08:00 to 18:00 at work and up until 20:00: ten of the
    // sixty hours that it runs are off.
    let habit = |hour: usize| match (hour / 24, hour % 24) {
        (0..=4, 8..=17) => Was::Busy,
        (0..=4, 18..=19) => Was::Resting,
        _ => Was::Stopped,
    };
    let schedule = utc(&weeks(2, habit)).expect("a schedule");
    assert_eq!(schedule.off_hours_per_week, 118);
    assert_eq!(schedule.saved_share.round_dp(9), Decimal::new(166_666_667, 9));
}

#[test]
fn hours_are_those_of_the_zone() {
    // 02:00 to 06:00 UTC are 04:00 to 08:00 in Berlin in summer, and 07:30 to
    // 11:30 in India, which touches five hours of the clock.
    let berlin = crate::catalog::time_zone("Europe/Berlin").expect("a zone");
    let hours = activity(&weeks(2, evaluation));
    let in_berlin = schedule(&hours, &berlin).expect("a schedule");
    assert_eq!(in_berlin.in_words(), "Tue 08:00–Fri 04:00, Fri 08:00–Tue 04:00");
    let kolkata = crate::catalog::time_zone("Asia/Kolkata").expect("a zone");
    let in_kolkata = schedule(&hours, &kolkata).expect("a schedule");
    assert_eq!(in_kolkata.in_words(), "Tue 12:00–Fri 07:00, Fri 12:00–Tue 07:00");
    assert_eq!(in_kolkata.off_hours_per_week, 158);
}

#[test]
fn an_hour_that_the_clock_skips_is_seen_too_seldom() {
    // Berlin puts its clocks forward on Sunday 29 March 2026 from 02:00 to 03:00.
    let berlin = crate::catalog::time_zone("Europe/Berlin").expect("a zone");
    let start = "2026-03-15T23:00:00Z".parse().expect("a time stamp");
    let hours = activity_from(start, &weeks(2, evaluation));
    let in_berlin = schedule(&hours, &berlin).expect("a schedule");
    assert!(!in_berlin.off_cells[6 * 24 + 2], "once, on the Sunday before");
    assert!(in_berlin.off_cells[6 * 24 + 4]);
}

/// Counter-evidence the long way: for each active hour of a week, whether every
/// other week was off in its cell, often enough, and beside another such cell.
fn cut_by_brute_force(hours: &[Was], week: usize) -> usize {
    let count = hours.len() / WEEK_HOURS;
    let is_off = |cell: usize| {
        let others = (0..count).filter(|other| *other != week);
        let mut seen = 0;
        for other in others {
            if !matches!(hours[other * WEEK_HOURS + cell], Was::Resting | Was::Stopped) {
                return false;
            }
            seen += 1;
        }
        seen >= 2.min(count - 1)
    };
    (0..WEEK_HOURS)
        .filter(|cell| {
            let beside =
                is_off((cell + 1) % WEEK_HOURS) || is_off((cell + WEEK_HOURS - 1) % WEEK_HOURS);
            hours[week * WEEK_HOURS + cell] == Was::Busy && is_off(*cell) && beside
        })
        .count()
}

fn some_weeks() -> impl Strategy<Value = Vec<Was>> {
    let was = prop_oneof![
        2 => Just(Was::Busy),
        9 => Just(Was::Resting),
        1 => Just(Was::Unknown),
        3 => Just(Was::Stopped),
    ];
    let habit = prop::collection::vec(was.clone(), WEEK_HOURS);
    let changes = prop::collection::vec((0..4 * WEEK_HOURS, was), 0..60);
    (habit, changes, 2..5_usize).prop_map(|(habit, changes, count)| {
        let mut hours = weeks(count, |hour| habit[hour]);
        for (hour, was) in changes {
            if let Some(changed) = hours.get_mut(hour) {
                *changed = was;
            }
        }
        hours
    })
}

proptest! {
    #[test]
    fn no_hour_that_was_active_or_unknown_is_cut(hours in some_weeks(), extra in 0..168_usize) {
        let cells: Vec<Was> = hours.iter().chain(&hours[..extra]).copied().collect();
        if let Ok(schedule) = utc(&cells) {
            for (hour, was) in cells.iter().enumerate() {
                if schedule.off_cells[hour % WEEK_HOURS] {
                    prop_assert!(matches!(was, Was::Resting | Was::Stopped), "{}", hour);
                }
            }
            let in_windows: usize = schedule.windows.iter().map(|window| window.hours).sum();
            prop_assert_eq!(in_windows, schedule.off_hours_per_week);
            prop_assert!(schedule.windows.iter().all(|window| window.hours >= 2));
            prop_assert!(
                schedule.saved_share >= Decimal::ZERO && schedule.saved_share <= Decimal::ONE
            );
        }
    }

    #[test]
    fn counter_evidence_equals_a_brute_force(hours in some_weeks()) {
        if let Ok(schedule) = utc(&hours) {
            for (week, evidence) in schedule.counter_evidence.iter().enumerate() {
                prop_assert_eq!(evidence.active_hours_cut, cut_by_brute_force(&hours, week));
            }
        }
    }
}
