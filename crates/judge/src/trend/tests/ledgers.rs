//! Which rows count.

use crate::domain::{
    CostSource, Currency, GapSubject, Money, PastGap, RecordedRun, TagFilter, WorkloadDay,
};
use crate::trend::lab::{day, decimal, ledger, night, row, run, steady, usd};
use crate::trend::{Change, ChangePart, Forecast, Horizon, Ledger, Span};
use rust_decimal::Decimal;

fn spend(ledger: &Ledger, number: i64) -> Decimal {
    let rows = ledger.rows_on(day(number)).iter();
    rows.filter_map(|row| row.effective).map(Money::amount).sum()
}

#[test]
fn of_two_runs_of_a_night_the_newer_counts() {
    let mut again = run(0);
    again.run_id = "again".to_owned();
    again.as_of = night(2);
    let mut corrected = row(0, "a", "24", "20");
    corrected.run_id = "again".to_owned();
    let gone = row(0, "b", "24", "24");
    let rows = vec![row(0, "a", "24", "24"), gone, corrected];
    // In either order: `b` is only in the older run of the same scope, and did not run.
    for runs in [[run(0), again.clone()], [again.clone(), run(0)]] {
        let recorded = Ledger::of(rows.clone(), &runs, night(3));
        assert_eq!(spend(&recorded, 0), decimal("20"));
        assert_eq!(recorded.rows.len(), 1);
    }
}

#[test]
fn a_job_in_two_scopes_counts_once_and_a_bill_before_an_estimate() {
    let mut other = run(0);
    other.run_id = "other".to_owned();
    other.scope = "one account".to_owned();
    other.as_of = night(5);
    let with = |id: &str, cost: &str, source| {
        let mut job_row = row(0, "a", "24", cost);
        job_row.run_id = id.to_owned();
        job_row.source = source;
        job_row
    };
    let runs = [run(0), other];
    let estimate = CostSource::Estimate;
    let rows = vec![with("run-0", "24", estimate), with("other", "23", estimate)];
    assert_eq!(spend(&Ledger::of(rows, &runs, night(6)), 0), decimal("23"));
    let bill = CostSource::Bill;
    let rows = vec![with("run-0", "21", bill), with("other", "23", estimate)];
    assert_eq!(spend(&Ledger::of(rows, &runs, night(6)), 0), decimal("21"));
}

#[test]
fn a_run_that_tags_limit_does_not_cut_a_group() {
    // Two of the three instances of a group have the tag, and their run is the newer one.
    let mut tagged = run(0);
    tagged.run_id = "tagged".to_owned();
    tagged.scope = "tag".to_owned();
    tagged.as_of = night(5);
    tagged.tag_filters =
        vec![TagFilter { key: "team".to_owned(), value: "ml".to_owned(), is_excluded: false }];
    let mut part = row(0, "web", "48", "48");
    part.run_id = "tagged".to_owned();
    let rows = vec![row(0, "web", "72", "72"), part.clone()];
    let recorded = Ledger::of(rows, &[run(0), tagged.clone()], night(6));
    assert_eq!(spend(&recorded, 0), decimal("72"));
    let recorded = Ledger::of(vec![part], &[run(0), tagged], night(6));
    assert_eq!(spend(&recorded, 0), decimal("48"));
}

#[test]
fn days_that_were_not_over_and_clocks_that_are_ahead_do_not_count() {
    let mut early = run(3);
    early.as_of = night(3);
    let mut ahead = run(700);
    ahead.days = vec![day(1), day(700)];
    let mut wrong = row(1, "a", "24", "999");
    wrong.run_id = "run-700".to_owned();
    let mut orphan = row(1, "a", "24", "999");
    orphan.run_id = "lost".to_owned();
    let rows = vec![row(1, "a", "24", "24"), wrong, orphan, row(3, "a", "24", "24")];
    let runs = [run(0), run(1), early, ahead];
    let recorded = Ledger::of(rows, &runs, night(4));
    assert_eq!(recorded.last_day(), Some(day(1)));
    assert_eq!(spend(&recorded, 1), decimal("24"));
    assert_eq!(recorded.skipped.runs_ahead, 1);
    assert_eq!(recorded.skipped.rows_without_run, 3);
}

#[test]
fn figures_that_no_day_has_are_left_out_instead_of_overflowing() {
    let mut huge = row(0, "huge", "24", "24");
    huge.effective = Some(Money::new(Decimal::MAX, Currency::Usd));
    let negative = WorkloadDay { hours: Decimal::NEGATIVE_ONE, ..row(0, "negative", "24", "24") };
    let recorded = ledger(1, vec![huge, negative, row(0, "a", "24", "24")]);
    assert_eq!(recorded.skipped.rows_beyond, 2);
    assert_eq!(spend(&recorded, 0), decimal("24"));
}

#[test]
fn currencies_are_not_added_up() {
    let mut yuan = row(0, "cn", "24", "24");
    for amount in [&mut yuan.effective, &mut yuan.list, &mut yuan.contracted] {
        *amount = Some(Money::new(decimal("170"), Currency::Cny));
    }
    let unpriced =
        WorkloadDay { effective: None, list: None, contracted: None, ..row(0, "new", "24", "24") };
    let rows = vec![row(0, "a", "24", "24"), row(0, "b", "1", "1"), yuan, unpriced];
    let recorded = ledger(1, rows.clone());
    assert_eq!((recorded.currency, spend(&recorded, 0)), (Currency::Usd, decimal("25")));
    assert_eq!(recorded.skipped.other_currencies.get("CNY"), Some(&1));
    // What has no amount is in no currency, and is known in each.
    assert_eq!(recorded.rows.len(), 3);
    let runs: Vec<RecordedRun> = vec![run(0)];
    let recorded = Ledger::in_currency(rows, &runs, night(1), Currency::Cny);
    assert_eq!(spend(&recorded, 0), decimal("170"));
}

#[test]
fn a_region_that_was_denied_for_a_night_did_not_save_anything() {
    let mut rows = steady(5, "a", "24");
    rows.retain(|row| row.day != day(2));
    rows.extend(steady(5, "b", "5").into_iter().map(|mut row| {
        row.region = "eu-west-1".to_owned();
        row
    }));
    let runs_with = |place: &str| -> Vec<RecordedRun> {
        let mut runs: Vec<RecordedRun> = (0..5).map(run).collect();
        runs[2].unread.push(PastGap {
            what: GapSubject::Region,
            place: place.to_owned(),
            cause: None,
            reason: String::new(),
        });
        runs
    };
    for (place, is_whole) in [
        ("us-east-1", false),
        ("111122223333/us-east-1", false),
        ("999999999999/us-east-1", true),
        ("eu-west-1", true),
    ] {
        let recorded = Ledger::of(rows.clone(), &runs_with(place), night(5));
        assert_eq!(recorded.is_whole(day(2)), is_whole, "{place}");
        assert!(recorded.is_whole(day(1)) && recorded.is_whole(day(3)), "{place}");
    }
    let recorded = Ledger::of(rows, &runs_with("us-east-1"), night(5));
    let missing = recorded.day(day(2)).map(|read| read.missing.clone());
    assert_eq!(missing.map(|rows| rows.len()), Some(1));
    // What is about other jobs alone is whole.
    assert!(recorded.only(|row| row.job == "b").is_whole(day(2)));
}

#[test]
fn a_region_that_stays_denied_keeps_its_days_open_until_it_is_read() {
    let mut rows = steady(2, "a", "24");
    rows.extend(steady(4, "b", "5"));
    let mut runs: Vec<RecordedRun> = (0..4).map(run).collect();
    for run in &mut runs[2..] {
        run.unread.push(PastGap {
            what: GapSubject::Instance,
            place: "a".to_owned(),
            cause: None,
            reason: String::new(),
        });
    }
    let recorded = Ledger::of(rows, &runs, night(4));
    assert!(!recorded.is_whole(day(2)) && !recorded.is_whole(day(3)));
    assert_eq!(recorded.last_whole_day(), Some(day(1)));
}

#[test]
fn an_account_that_left_the_scope_is_not_missing_for_ever() {
    let history = |nights: i64, is_back: bool| {
        let mut rows = steady(nights, "a", "24");
        let other = steady(2, "b", "10").into_iter().map(|mut row| {
            row.account = "444455556666".to_owned();
            row
        });
        rows.extend(other);
        let mut runs: Vec<RecordedRun> = (0..nights).map(run).collect();
        for place in [0, 1] {
            runs[place].accounts.push("444455556666".to_owned());
        }
        if is_back {
            let last = runs.last_mut().expect("a night");
            last.accounts.push("444455556666".to_owned());
        }
        Ledger::of(rows, &runs, night(nights))
    };
    // It was read until the second day: seven days later its recorder may have failed.
    for nights in [3, 6, 9] {
        let last = history(nights, false).last_whole_day();
        assert_eq!(last, Some(day(1)), "{nights} nights");
    }
    assert_eq!(history(10, false).last_whole_day(), Some(day(9)));
    // It comes back: in between it was not read.
    let recorded = history(6, true);
    let whole: Vec<bool> = (0..6).map(|number| recorded.is_whole(day(number))).collect();
    assert_eq!(whole, [true, true, false, false, false, true]);
}

#[test]
fn an_account_whose_recorder_is_late_still_runs() {
    // Two accounts are recorded apart, and the night of one of them has not come yet.
    let mut rows = steady(20, "a", "24");
    rows.extend(steady(19, "b", "240").into_iter().map(|mut row| {
        row.run_id = format!("b-{}", row.run_id);
        row.account = "444455556666".to_owned();
        row
    }));
    let mut runs: Vec<RecordedRun> = (0..20).map(run).collect();
    runs.extend((0..19).map(|number| {
        let mut run = run(number);
        run.run_id = format!("b-{}", run.run_id);
        run.scope = "b".to_owned();
        run.accounts = vec!["444455556666".to_owned()];
        run
    }));
    let recorded = Ledger::of(rows, &runs, night(20));
    assert_eq!(recorded.last_whole_day(), Some(day(18)));
    let forecast = Forecast::of(&recorded, Horizon::Month).expect("whole days");
    // June: 19 whole days and the 11 that are left, each 24 + 240.
    assert_eq!(forecast.total().amount(), decimal("7920"));
    // Before it joined, an account was not missing.
    let mut rows = steady(4, "a", "24");
    let mut joined = row(3, "b", "24", "240");
    joined.account = "444455556666".to_owned();
    rows.push(joined);
    let mut runs: Vec<RecordedRun> = (0..4).map(run).collect();
    runs[3].accounts.push("444455556666".to_owned());
    let recorded = Ledger::of(rows, &runs, night(4));
    assert!((0..4).all(|number| recorded.is_whole(day(number))));
}

/// Five nights of two teams, each recorded by a run of its own that the tag of the team limits.
/// `keep` says which of them ran, by team and night.
fn of_two_teams(keep: impl Fn(&str, i64) -> bool) -> Ledger {
    let (mut rows, mut runs) = (Vec::new(), Vec::new());
    for (team, job, daily) in [("ml", "a", "24"), ("web", "b", "100")] {
        for number in (0..5).filter(|number| keep(team, *number)) {
            let mut filtered = run(number);
            filtered.run_id = format!("{team}-{number}");
            filtered.scope = team.to_owned();
            filtered.tag_filters = vec![TagFilter {
                key: "team".to_owned(),
                value: team.to_owned(),
                is_excluded: false,
            }];
            let mut own = row(number, job, daily, daily);
            own.run_id.clone_from(&filtered.run_id);
            own.tags.insert("team".to_owned(), team.to_owned());
            rows.push(own);
            runs.push(filtered);
        }
    }
    Ledger::of(rows, &runs, night(5))
}

#[test]
fn a_recorder_of_a_tag_that_failed_for_a_night_saved_nothing() {
    // The night of the third day of `web` fails.
    let recorded = of_two_teams(|team, number| team != "web" || number != 2);
    let whole: Vec<bool> = (0..5).map(|number| recorded.is_whole(day(number))).collect();
    assert_eq!(whole, [true, true, false, true, true]);
    let missing = &recorded.day(day(2)).expect("recorded").missing;
    assert_eq!(missing.len(), 1);
    assert_eq!(missing[0].job, "b");
    // The mean whole day costs 124 before and after.
    let span = |first, last| Span { first: day(first), last: day(last) };
    let change = Change::between(&recorded, span(1, 2), span(3, 4)).expect("whole days");
    assert_eq!((change.before, change.after), (usd("124"), usd("124")));
    assert!(change.parts.iter().all(|part| part.amount().is_zero()));
    // The last night, too: June is 4 × 124 and 26 × 124.
    let recorded = of_two_teams(|team, number| team != "web" || number != 4);
    assert_eq!(recorded.last_whole_day(), Some(day(3)));
    let forecast = Forecast::of(&recorded, Horizon::Month).expect("whole days");
    assert_eq!(forecast.total(), usd("3720"));
}

#[test]
fn a_team_that_joins_is_scope_and_no_use() {
    // `web` is recorded from the third day on.
    let recorded = of_two_teams(|team, number| team != "web" || number >= 2);
    assert!((0..5).all(|number| recorded.is_whole(day(number))));
    let span = |first, last| Span { first: day(first), last: day(last) };
    let change = Change::between(&recorded, span(0, 1), span(2, 3)).expect("whole days");
    assert_eq!(
        (change.parts[ChangePart::Usage as usize], change.parts[ChangePart::Scope as usize]),
        (usd("0"), usd("100"))
    );
    // A run without a filter would have found it on the first day: it did not run.
    let mut unfiltered = run(0);
    unfiltered.run_id = "all".to_owned();
    let mut joined = row(1, "b", "24", "100");
    joined.run_id = "web".to_owned();
    let mut web = run(1);
    web.run_id = "web".to_owned();
    web.scope = "web".to_owned();
    web.tag_filters =
        vec![TagFilter { key: "team".to_owned(), value: "web".to_owned(), is_excluded: false }];
    let recorded = Ledger::of(vec![joined], &[unfiltered, web], night(2));
    let change = Change::between(&recorded, span(0, 0), span(1, 1)).expect("whole days");
    assert_eq!(
        (change.parts[ChangePart::Usage as usize], change.parts[ChangePart::Scope as usize]),
        (usd("100"), usd("0"))
    );
}

#[test]
fn a_job_of_a_run_of_everything_is_missing_where_only_a_tag_was_read() {
    // Of three nights, the second has only the run of a tag, which `a` has and `b` has not.
    let mut rows: Vec<WorkloadDay> = Vec::new();
    let mut runs: Vec<RecordedRun> = (0..3).map(run).collect();
    runs[1].scope = "ml".to_owned();
    runs[1].tag_filters =
        vec![TagFilter { key: "team".to_owned(), value: "ml".to_owned(), is_excluded: false }];
    for number in 0..3 {
        let mut tagged = row(number, "a", "24", "24");
        tagged.tags.insert("team".to_owned(), "ml".to_owned());
        rows.push(tagged);
    }
    rows.extend([row(0, "b", "24", "10"), row(2, "b", "24", "10")]);
    let recorded = Ledger::of(rows.clone(), &runs, night(3));
    let missing = &recorded.day(day(1)).expect("recorded").missing;
    let jobs: Vec<&str> = missing.iter().map(|row| row.job.as_str()).collect();
    assert_eq!(jobs, ["b"]);
    // A job with the tag that is not there did end.
    rows.retain(|row| row.job == "b" || row.day == day(0));
    let recorded = Ledger::of(rows, &runs, night(3));
    let missing = &recorded.day(day(1)).expect("recorded").missing;
    assert!(missing.iter().all(|row| row.job == "b"));
}

#[test]
fn an_empty_history_has_nothing() {
    let recorded = Ledger::of(Vec::new(), &[], night(0));
    assert_eq!(recorded.first_day(), None);
    assert_eq!(recorded.last_whole_day(), None);
    assert!(recorded.rows_on(day(0)).is_empty());
}
