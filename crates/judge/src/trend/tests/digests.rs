//! What a digest says.

use crate::domain::{ActionKind, DatedPrice, PurchaseOption, WorkloadDay};
use crate::trend::lab::{action, day, night, paid, row, run, steady, usd};
use crate::trend::{ChangePart, Digest, Kept, NoDigest, Since, Turn};
use rust_decimal::Decimal;

fn digest(kept: Kept, since: Since) -> Result<Digest, NoDigest> {
    let no_list = |_: &str, _: &str| -> Option<DatedPrice> { None };
    Digest::of(kept, since, &no_list, night(14))
}

/// Two weeks of nights. After the first, `a` runs half of the hours and `c` is on spot.
fn fortnight() -> Kept {
    let mut rows: Vec<WorkloadDay> = Vec::new();
    for number in 0..14 {
        let hours = if number < 7 { "24" } else { "12" };
        rows.push(row(number, "a", hours, hours));
        rows.push(if number < 7 {
            row(number, "c", "24", "24")
        } else {
            paid(row(number, "c", "24", "10"), PurchaseOption::Spot)
        });
    }
    for job in ["b", "d", "e"] {
        rows.extend(steady(14, job, "24"));
    }
    let spot = (ActionKind::Spot, None);
    let actions = vec![
        action(spot, "b", "24", "100", (9, 13)),
        action(spot, "c", "24", "200", (2, 6)),
        action(spot, "d", "24", "300", (2, 6)),
        action(spot, "e", "24", "400", (2, 13)),
    ];
    Kept { runs: (0..14).map(run).collect(), rows, actions }
}

#[test]
fn a_week_is_what_was_kept_after_the_earlier_audit() {
    let digested = digest(fortnight(), Since::Days(7)).expect("two audits");
    assert_eq!(digested.before.as_of, night(7));
    assert_eq!(digested.now.as_of, night(14));
    let span = digested.overview.span;
    assert_eq!((span.first, span.last), (day(7), day(13)));
    // Seven days of 12 (a), 10 (c) and three times 24.
    assert_eq!(digested.overview.sums.spend, Decimal::from(7 * (12 + 10 + 72)));
    let change = digested.overview.compared.expect("a week before").change;
    // From 5 × 24 a day to 94.
    assert_eq!((change.before, change.after), (usd("120"), usd("94")));
    assert!(!digested.begins_later);
    assert_eq!(digested.other_scopes, 0);
}

#[test]
fn actions_say_what_they_did_since() {
    let digested = digest(fortnight(), Since::Days(7)).expect("two audits");
    let turns: Vec<(Turn, &str)> = digested
        .actions()
        .into_iter()
        .map(|(turn, realised)| (turn, realised.action.job.as_str()))
        .collect();
    assert_eq!(turns, [(Turn::Done, "c"), (Turn::New, "b"), (Turn::Open, "e"), (Turn::Gone, "d"),]);
    // What was carried out before the earlier audit is not news, and neither is what ended.
    let later = digest(fortnight(), Since::Last).expect("two audits");
    let turns: Vec<(Turn, &str)> = later
        .actions()
        .into_iter()
        .map(|(turn, realised)| (turn, realised.action.job.as_str()))
        .collect();
    assert_eq!(turns, [(Turn::Open, "e"), (Turn::Open, "b")]);
}

#[test]
fn the_change_is_that_between_the_two_audits() {
    // The first audit is of 24 hours a day; from the next day on it is 12. The totals have
    // that difference, and so has the change: not that of two days alike at the end.
    let mut rows = vec![row(0, "a", "24", "24")];
    rows.extend((1..10).map(|number| row(number, "a", "12", "12")));
    let kept = Kept { runs: (0..10).map(run).collect(), rows, actions: Vec::new() };
    let digested = digest(kept, Since::Days(90)).expect("two audits");
    assert_eq!(digested.before.as_of, night(1));
    let compared = digested.overview.compared.expect("two ends");
    assert_eq!((compared.before.first, compared.before.last), (day(0), day(0)));
    assert_eq!((compared.after.first, compared.after.last), (day(9), day(9)));
    let change = compared.change;
    assert_eq!((change.before, change.after), (usd("24"), usd("12")));
    assert_eq!(
        (change.parts[ChangePart::Usage as usize], change.parts[ChangePart::Mix as usize]),
        (usd("-12"), usd("0"))
    );
}

#[test]
fn what_was_not_done_says_what_it_cost() {
    let digested = digest(fortnight(), Since::Days(7)).expect("two audits");
    let missed = |job: &str| {
        let actions = digested.actions();
        let advised = actions.into_iter().find(|(_, advised)| advised.action.job == job);
        advised.expect("it is advised").1.missed
    };
    // Advised in the night after day 2, so from day 3 to day 13: 11 × 400 × 12 / 365.
    assert_eq!(missed("e"), Some(usd("144.66")));
    // From day 10 to day 13: 4 × 100 × 12 / 365.
    assert_eq!(missed("b"), Some(usd("13.15")));
    // Carried out from day 7 on: 4 × 200 × 12 / 365 until then.
    assert_eq!(missed("c"), Some(usd("26.30")));
}

#[test]
fn the_earlier_audit_is_the_one_that_was_asked_for() {
    for (since, before, begins_later) in [
        (Since::Last, night(13), false),
        (Since::Days(1), night(13), false),
        (Since::Days(0), night(13), false),
        (Since::Day(day(9)), night(9), false),
        (Since::Day(day(14)), night(13), false),
        (Since::Days(90), night(1), true),
        (Since::Days(i64::MAX), night(1), true),
    ] {
        let digested = digest(fortnight(), since).expect("two audits");
        assert_eq!(digested.before.as_of, before, "{since:?}");
        assert_eq!(digested.begins_later, begins_later, "{since:?}");
    }
}

#[test]
fn another_scope_is_in_no_figure() {
    let mut kept = fortnight();
    let mut other = run(8);
    other.run_id = "other-8".to_owned();
    other.scope = "other".to_owned();
    kept.runs.push(other);
    let mut expensive = row(8, "x", "24", "1000");
    expensive.run_id = "other-8".to_owned();
    kept.rows.push(expensive);
    let of_other = action((ActionKind::Spot, None), "x", "24", "900", (8, 13));
    kept.actions.push(of_other);
    let digested = digest(kept, Since::Days(7)).expect("two audits");
    assert_eq!(digested.other_scopes, 1);
    assert_eq!(digested.overview.sums.spend, Decimal::from(658));
    assert!(digested.actions().iter().all(|(_, realised)| realised.action.job != "x"));
}

#[test]
fn without_two_audits_there_is_nothing_to_say() {
    assert_eq!(digest(Kept::default(), Since::Last), Err(NoDigest::Empty));
    let kept = Kept { runs: vec![run(3)], rows: steady(4, "a", "24"), actions: Vec::new() };
    assert_eq!(digest(kept, Since::Last), Err(NoDigest::OneAudit));
    let mut idle = fortnight();
    idle.runs.truncate(2);
    idle.runs[1].days.clear();
    assert_eq!(digest(idle, Since::Last), Err(NoDigest::NoDay));
    // A clock that is days ahead is not believed.
    let mut ahead = fortnight();
    ahead.runs.push(run(20));
    let digested = digest(ahead, Since::Last).expect("two audits");
    assert_eq!(digested.now.as_of, night(14));
}
