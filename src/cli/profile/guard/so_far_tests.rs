//! News in the order in which they may come.

use super::*;

const START: i64 = 1_764_000_000;

fn at(seconds: i64) -> Moment {
    Moment {
        elapsed: Duration::from_secs(seconds.unsigned_abs()),
        wall: wall(seconds),
    }
}

fn wall(seconds: i64) -> Timestamp {
    Timestamp::from_second(START + seconds).expect("in range")
}

fn guard() -> SoFar {
    guard_with(None)
}

fn guard_with(cost: Option<i64>) -> SoFar {
    SoFar::new(Terms {
        margin: SignedDuration::from_secs(10),
        checkpoint_cost: cost.map(SignedDuration::from_secs),
        has_marks: true,
    })
}

fn interruption(action: SpotAction, seconds: i64) -> Result<SpotState, String> {
    Ok(SpotState {
        interruption: Some(SpotNotice {
            action,
            time: wall(seconds),
        }),
        rebalance: None,
    })
}

fn recommended() -> Result<SpotState, String> {
    Ok(SpotState {
        interruption: None,
        rebalance: Some(wall(0)),
    })
}

fn warnings(steps: &[Step]) -> Vec<SpotNoticeKind> {
    let kind = |step: &Step| match step {
        Step::Warn(kind) => Some(*kind),
        _ => None,
    };
    steps.iter().filter_map(kind).collect()
}

fn marks(done: u64, first: i64, last: i64) -> MarksSeen {
    MarksSeen {
        done,
        first: Some(wall(first)),
        last: Some(wall(last)),
        ..MarksSeen::default()
    }
}

#[test]
fn an_interruption_warns_once_and_has_a_deadline() {
    let mut guard = guard();
    assert_eq!(guard.answered(Ok(SpotState::default()), at(0)), []);
    assert_eq!(guard.deadline(), None);
    let steps = guard.answered(interruption(SpotAction::Terminate, 1_118), at(1_000));
    assert_eq!(warnings(&steps), [SpotNoticeKind::Interruption]);
    // 118 s are left, 10 s of which are the margin.
    assert_eq!(guard.deadline(), Some(Duration::from_secs(1_108)));
    let found = guard.interruption().expect("noticed");
    assert_eq!(found.action_seconds, 1_118.0);
    // The notice stays; it is said once.
    let again = guard.answered(interruption(SpotAction::Terminate, 1_118), at(1_005));
    assert_eq!(again, []);
}

#[test]
fn clocks_that_are_wrong_change_a_deadline_within_two_minutes_only() {
    for (time, deadline) in [(9_000, 1_110), (1_000, 1_000), (0, 1_000), (1_004, 1_000)] {
        let mut guard = guard();
        guard.answered(interruption(SpotAction::Stop, time), at(1_000));
        assert_eq!(
            guard.deadline(),
            Some(Duration::from_secs(deadline)),
            "{time}"
        );
    }
}

#[test]
fn a_hibernated_command_is_warned_and_not_waited_for() {
    let mut guard = guard();
    let steps = guard.answered(interruption(SpotAction::Hibernate, 1_000), at(1_000));
    assert_eq!(warnings(&steps), [SpotNoticeKind::Interruption]);
    assert!(guard.hibernates());
    assert_eq!(guard.deadline(), None);
}

#[test]
fn notices_that_were_not_read_to_the_end_are_unknown() {
    let unread = |guard: &SoFar| guard.run(at(20)).is_unread;
    let mut guard = guard();
    assert!(unread(&guard), "nothing was asked");
    guard.answered(Ok(SpotState::default()), at(0));
    assert!(!unread(&guard));
    guard.answered(Err("refused".to_owned()), at(5));
    assert!(unread(&guard), "an interruption may have come since");
    guard.answered(Ok(SpotState::default()), at(10));
    assert!(!unread(&guard), "a notice would still be there");
    guard.unwatched("this is not a spot instance");
    assert!(unread(&guard));
}

#[test]
fn a_recommendation_warns_before_an_interruption_and_not_after_it() {
    let mut guard = guard();
    let steps = guard.answered(recommended(), at(100));
    assert_eq!(warnings(&steps), [SpotNoticeKind::Rebalance]);
    assert_eq!(guard.deadline(), None);
    let steps = guard.answered(interruption(SpotAction::Terminate, 320), at(200));
    assert_eq!(warnings(&steps), [SpotNoticeKind::Interruption]);
    let run = guard.run(at(300));
    assert_eq!(
        run.rebalance.map(|found| found.noticed_seconds),
        Some(100.0)
    );

    // Both at once: the command is warned of what leaves less time.
    let mut guard = self::guard();
    let both = SpotState {
        rebalance: Some(wall(0)),
        ..interruption(SpotAction::Terminate, 120).expect("a state")
    };
    let steps = guard.answered(Ok(both), at(0));
    assert_eq!(warnings(&steps), [SpotNoticeKind::Interruption]);
    assert!(guard.run(at(1)).rebalance.is_some());
}

#[test]
fn a_service_that_fails_is_reported_when_it_begins_and_ends() {
    let mut guard = guard();
    let failed = |guard: &mut SoFar| guard.answered(Err("refused".to_owned()), at(0));
    let steps = failed(&mut guard);
    assert!(matches!(&steps[..], [Step::Complain { .. }]), "{steps:?}");
    assert_eq!(failed(&mut guard), []);
    let steps = guard.answered(Ok(SpotState::default()), at(10));
    assert!(matches!(&steps[..], [Step::Say(_)]), "{steps:?}");
    let gaps = guard.gaps();
    assert_eq!(gaps.len(), 1);
    assert_eq!(gaps[0].reason, "2 of 3 queries failed: refused");
    // It still hears an interruption.
    let steps = guard.answered(interruption(SpotAction::Stop, 100), at(15));
    assert_eq!(warnings(&steps), [SpotNoticeKind::Interruption]);
}

#[test]
fn checkpoints_are_placed_in_the_run() {
    let mut guard = guard();
    assert_eq!(guard.marked(marks(2, 300, 900)), None);
    let run = guard.run(at(1_000));
    let seen = run.checkpoints.expect("marks were named");
    assert_eq!((seen.count, seen.first_seconds), (2, Some(300.0)));
    assert_eq!(seen.interval_seconds(), Some(600.0));
    // A wall clock that was set back by an hour puts no mark after the end.
    let later = Moment {
        elapsed: Duration::from_secs(1_000),
        wall: wall(-2_600),
    };
    let seen = guard.run(later).checkpoints.expect("marks were named");
    assert_eq!(seen.last_seconds, Some(1_000.0));
}

#[test]
fn the_time_of_a_checkpoint_is_given_or_logged_or_from_a_warning() {
    let mut guard = guard();
    guard.marked(marks(1, 300, 300));
    assert_eq!(guard.run(at(400)).checkpoint_cost, None);
    guard.answered(interruption(SpotAction::Terminate, 520), at(400));
    guard.warned(SpotNoticeKind::Interruption, "SIGTERM", wall(400));
    // What was saved before the warning does not answer it.
    assert_eq!(guard.marked(marks(1, 300, 300)), None);
    assert!(guard.marked(marks(2, 300, 442)).is_some());
    let cost = |guard: &SoFar| guard.run(at(450)).checkpoint_cost.expect("measured");
    assert_eq!(cost(&guard).basis, CheckpointBasis::Warning);
    assert_eq!(cost(&guard).seconds, 42.0);
    let timed = MarksSeen {
        timed: 4,
        timed_seconds: 100.0,
        ..marks(5, 300, 445)
    };
    guard.marked(timed);
    assert_eq!(cost(&guard).basis, CheckpointBasis::Log);
    assert_eq!(cost(&guard).seconds, 25.0);
    let mut guard = guard_with(Some(60));
    guard.marked(timed);
    assert_eq!(cost(&guard).basis, CheckpointBasis::Given);
    assert_eq!(cost(&guard).seconds, 60.0);
}

#[test]
fn a_failed_warning_is_kept_with_its_reason() {
    let mut guard = guard();
    guard.answered(interruption(SpotAction::Terminate, 120), at(0));
    guard.warned(SpotNoticeKind::Interruption, "command", wall(0));
    guard.not_warned(SpotNoticeKind::Interruption, "no such file".to_owned());
    let found = guard.run(at(1)).interruption.expect("noticed");
    assert_eq!(found.warning.warned_by.as_deref(), Some("command"));
    assert_eq!(found.warning.failure.as_deref(), Some("no such file"));
}
