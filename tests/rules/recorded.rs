//! What is kept of an audit: a day of each workload, apart by who paid, and the actions of the
//! plan. Figures are worked out by hand, or by another way through the audit.

use crate::rules::builder::{A10G_MIB, Machine, as_of, audited, estate, flat, g5};
use crate::rules::committed::{by_day, machine, owned};
use crate::rules::fixtures::decimal;
use gpucost::analysis::{DayFacts, StoredAudit, audit};
use gpucost::domain::{
    ActionKind, CostKind, CostSource, InstanceState, Money, Policy, PurchaseOption, Risk,
    TagFilter, Volume, WorkloadDay,
};
use gpucost::sources::files::Demo;
use gpucost::usage::Estate;
use jiff::SignedDuration;
use jiff::civil::{Date, date};
use rust_decimal::Decimal;
use std::collections::BTreeSet;

const POLICY_HOURS: u32 = 730;

/// Kept when the whole window was over for six hours.
fn kept(estate: &Estate) -> StoredAudit {
    kept_after(estate, 6 * 60)
}

fn kept_after(estate: &Estate, minutes: i64) -> StoredAudit {
    let policy = Policy::default();
    assert_eq!(policy.hours_per_month, Decimal::from(POLICY_HOURS));
    let read_at = estate.window.end + SignedDuration::from_mins(minutes);
    let facts = DayFacts::of(estate, &policy, read_at);
    StoredAudit::of(&audited(estate), &facts, policy.hours_per_month)
}

/// The rows of a day.
fn on(kept: &StoredAudit, day: Date) -> Vec<&WorkloadDay> {
    kept.rows.iter().filter(|row| row.day == day).collect()
}

fn only(kept: &StoredAudit, day: Date) -> &WorkloadDay {
    let rows = on(kept, day);
    let [row] = rows[..] else {
        panic!("{rows:?}");
    };
    row
}

fn amount(money: Option<Money>) -> Option<String> {
    money.map(|money| money.amount().to_string())
}

fn text(number: Option<Decimal>) -> Option<String> {
    number.map(|number| number.to_string())
}

#[test]
fn members_of_a_workload_are_apart_by_the_tags_that_not_all_share() {
    let member =
        |id, team| g5(id).gpu(0, flat(50.0)).tag("gpucost:workload", "w").tag("team", team);
    let kept = kept(&estate(vec![member("i-1", "a"), member("i-2", "b"), member("i-3", "b")]));
    let rows = on(&kept, date(2026, 10, 20));
    let mut rows: Vec<(&str, Decimal)> =
        rows.iter().map(|row| (row.tags["team"].as_str(), row.hours)).collect();
    rows.sort();
    assert_eq!(rows, [("a", Decimal::from(24)), ("b", Decimal::from(48))]);
}

/// Busy at 80% from midnight to six, and at rest for the other 18 hours.
fn busy_at_night() -> Machine {
    g5("i-1").gpu(0, |period| Some(if period % 288 < 72 { 80.0 } else { 0.0 }))
}

#[test]
fn a_day_has_the_hours_the_amounts_and_the_use_of_that_day() {
    let kept = kept(&estate(vec![busy_at_night().tag("team", "search")]));
    assert_eq!(kept.rows.len(), 14);
    let row = only(&kept, date(2026, 10, 20));
    assert_eq!((&*row.workload, &*row.job, &*row.name), ("i-1", "i-1", "i-1"));
    assert_eq!(row.tags.get("team").map(String::as_str), Some("search"));
    assert_eq!((row.kind, row.source), (CostKind::Compute, CostSource::Estimate));
    assert_eq!((row.option, &row.commitment), (PurchaseOption::OnDemand, &None));
    assert_eq!(row.hours, Decimal::from(24));
    assert_eq!(text(row.gpus_per_instance).as_deref(), Some("1"));
    assert_eq!(text(row.gpu_hours).as_deref(), Some("24"));
    // 24 × 1.006.
    for money in [row.list, row.contracted, row.effective] {
        assert_eq!(amount(money).as_deref(), Some("24.144"));
    }
    // 6 h × 80%, 18 h at rest, all of it measured.
    assert_eq!(text(row.useful_gpu_hours).as_deref(), Some("4.8"));
    assert_eq!(text(row.idle_gpu_hours).as_deref(), Some("18"));
    assert_eq!(text(row.unmeasured_gpu_hours).as_deref(), Some("0"));
    let price = row.price.expect("it is in the catalog");
    assert_eq!(price.hourly.amount().to_string(), "1.006");
}

#[test]
fn a_day_counts_when_it_was_over_for_six_hours() {
    let estate = estate(vec![busy_at_night()]);
    for (minutes, days) in [(0, 13), (6 * 60 - 1, 13), (6 * 60, 14), (48 * 60, 14)] {
        let kept = kept_after(&estate, minutes);
        assert_eq!(kept.run.days.len(), days, "{minutes}");
        assert_eq!(kept.rows.len(), days, "{minutes}");
    }
}

#[test]
fn a_discount_lowers_what_was_contracted_and_not_the_list() {
    let estate = estate(vec![busy_at_night()]);
    let mut policy = Policy::default();
    policy.discount_percent.insert("g5".to_owned(), Decimal::TEN);
    let read_at = as_of() + SignedDuration::from_hours(6);
    let facts = DayFacts::of(&estate, &policy, read_at);
    let report = audit(&estate, &policy, Risk::Medium);
    let kept = StoredAudit::of(&report, &facts, policy.hours_per_month);
    let row = only(&kept, date(2026, 10, 20));
    assert_eq!(amount(row.list).as_deref(), Some("24.144"));
    // 1.006 × 0.9 = 0.9054, × 24.
    assert_eq!(amount(row.contracted).as_deref(), Some("21.7296"));
    assert_eq!(amount(row.effective).as_deref(), Some("21.7296"));
}

#[test]
fn what_is_not_measured_is_absent_or_unmeasured() {
    let half = |period: u32| (period % 288 < 144).then_some(50.0);
    let half = kept(&estate(vec![g5("i-1").gpu(0, half)]));
    let row = only(&half, date(2026, 10, 20));
    // Twelve hours at 50%, of which no hour is at rest.
    assert_eq!(text(row.useful_gpu_hours).as_deref(), Some("6"));
    assert_eq!(text(row.idle_gpu_hours).as_deref(), Some("0"));
    assert_eq!(text(row.unmeasured_gpu_hours).as_deref(), Some("12"));

    for silent in [g5("i-1"), g5("i-1").power(flat(3.0))] {
        let silent = kept(&estate(vec![silent]));
        let row = only(&silent, date(2026, 10, 20));
        assert_eq!((row.useful_gpu_hours, row.idle_gpu_hours), (None, None));
        assert_eq!(text(row.unmeasured_gpu_hours).as_deref(), Some("24"));
    }

    let unknown = Machine::new("i-1", "zz9.large").cpu(flat(5.0));
    let unknown = kept(&estate(vec![unknown]));
    let row = only(&unknown, date(2026, 10, 20));
    assert_eq!(row.hours, Decimal::from(24));
    assert_eq!((row.gpus_per_instance, row.gpu_hours), (None, None));
    assert_eq!((row.list, row.contracted, row.effective), (None, None, None));
    assert_eq!((row.unmeasured_gpu_hours, row.price), (None, None));
}

#[test]
fn hours_that_a_commitment_pays_are_a_row_of_their_own() {
    let kept = kept(&owned(vec![machine("i-1", 50.0), machine("i-2", 50.0)], 1));
    let rows = on(&kept, date(2026, 10, 20));
    assert_eq!(rows.len(), 2);
    let of = |option| {
        let mut rows = rows.iter().filter(|row| row.option == option);
        *rows.next().expect("one of the two")
    };
    let (covered, open) = (of(PurchaseOption::Reserved), of(PurchaseOption::OnDemand));
    assert_eq!(covered.commitment.as_deref(), Some("ri-1"));
    assert_eq!(covered.committed_until, Some(date(2027, 2, 9)));
    // 24 × 0.63378; the list does not know of it.
    assert_eq!(amount(covered.effective).as_deref(), Some("15.21072"));
    assert_eq!(amount(covered.list).as_deref(), Some("24.144"));
    assert_eq!((&open.commitment, open.committed_until), (&None, None));
    assert_eq!(amount(open.effective).as_deref(), Some("24.144"));
}

#[test]
fn a_commitment_that_is_not_used_is_a_row() {
    let kept = kept(&owned(vec![by_day("i-1", 50.0)], 1));
    let rows = on(&kept, date(2026, 10, 20));
    let [compute, unused] = rows[..] else {
        panic!("{rows:?}");
    };
    assert_eq!(compute.hours, Decimal::from(8));
    // 8 × 0.63378.
    assert_eq!(amount(compute.effective).as_deref(), Some("5.07024"));
    assert_eq!((unused.kind, unused.option), (CostKind::Unused, PurchaseOption::Reserved));
    assert_eq!((&*unused.job, unused.commitment.as_deref()), ("ri-1", Some("ri-1")));
    assert_eq!((unused.list, unused.gpu_hours), (None, None));
    // 16 of 24 hours: 0.63378 × 730 × 2/3 = 308.44 a month, × 24/730 a day.
    let daily = decimal("308.44") * Decimal::from(24) / Decimal::from(POLICY_HOURS);
    let effective = unused.effective.expect("it has a price");
    assert_eq!(effective.amount(), daily.round_dp(6));
}

/// A g5.2xlarge that stopped at midnight, ten days before the end, with a volume.
fn stopped(id: &str, size_gib: u64) -> Machine {
    let mut machine = Machine::new(id, "g5.2xlarge");
    machine.instance.state = InstanceState::Stopped;
    machine.instance.volumes.push(Volume {
        id: format!("vol-{id}"),
        volume_type: Some("gp3".to_owned()),
        size_gib: Some(size_gib),
    });
    let stopped = as_of() - SignedDuration::from_hours(240);
    let reason = stopped.strftime("User initiated (%Y-%m-%d %H:%M:%S GMT)");
    machine.instance.state_transition_reason = Some(reason.to_string());
    machine
}

#[test]
fn disks_are_of_the_tags_of_their_instances() {
    let of_team = |id, size_gib, team| {
        stopped(id, size_gib).tag("gpucost:workload", "w").tag("team", team).tag("Name", id)
    };
    let machines =
        vec![of_team("i-1", 500, "a"), of_team("i-2", 100, "b"), of_team("i-3", 50, "b")];
    let kept = kept(&estate(machines));
    let rows = on(&kept, date(2026, 10, 22));
    let mut rows: Vec<(&str, Option<String>)> =
        rows.iter().map(|row| (row.tags["team"].as_str(), amount(row.effective))).collect();
    rows.sort();
    // 500 × 0.08 and 150 × 0.08 a month, of which a day is 24/730.
    assert_eq!(rows, [("a", Some("1.315068".to_owned())), ("b", Some("0.394521".to_owned()))]);
}

#[test]
fn what_has_ended_cost_its_hours_and_costs_its_disks() {
    let machine = stopped("i-1", 500);
    let kept = kept(&estate(vec![machine]));
    assert_eq!(kept.rows.len(), 14);
    let ran = only(&kept, date(2026, 10, 21));
    assert_eq!((ran.kind, ran.hours), (CostKind::Compute, Decimal::from(24)));
    // 24 × 1.212.
    assert_eq!(amount(ran.effective).as_deref(), Some("29.088"));
    let stands = only(&kept, date(2026, 10, 22));
    assert_eq!(stands.kind, CostKind::IdleStorage);
    // 500 × 0.08 a month × 24/730.
    let daily = decimal("40") * Decimal::from(24) / Decimal::from(POLICY_HOURS);
    assert_eq!(stands.effective.map(|money| money.amount()), Some(daily.round_dp(6)));
    assert_eq!((&ran.job, &ran.workload), (&stands.job, &stands.workload));
}

#[test]
fn an_action_is_kept_with_how_its_workload_ran() {
    let idle = g5("i-1").gpu(0, flat(0.0)).vram(0, 100.0, A10G_MIB);
    let kept = kept(&estate(vec![idle]));
    let [action] = &kept.actions[..] else {
        panic!("{:?}", kept.actions);
    };
    assert_eq!((action.kind, &*action.job), (ActionKind::Stop, "i-1"));
    // By another program: FNV-1a of 64 bits over `i-1`, 0xff, `stop`, 0xff.
    assert_eq!(action.action_id, "9fe32031a5cd48fc");
    assert_eq!((action.first_seen, action.last_seen), (as_of(), as_of()));
    let baseline = &action.baseline;
    assert_eq!(baseline.hours_daily, Decimal::from(24));
    assert_eq!(text(baseline.gpu_hours_daily).as_deref(), Some("24"));
    assert_eq!(baseline.effective_hourly.amount().to_string(), "1.006");
    assert_eq!(action.expected_monthly.amount(), decimal("734.38"));
}

#[test]
fn a_run_is_named_by_its_second_and_its_scope() {
    let mut fleet = estate(vec![busy_at_night()]);
    let kept = |estate: &Estate| self::kept(estate).run;
    let run = kept(&fleet);
    let (time, scope) = run.run_id.split_once('-').expect("two parts");
    assert_eq!((time, scope), ("20261101T000000Z", &*run.scope));
    assert_eq!(scope.len(), 16);
    assert_eq!(kept(&fleet), run, "the same estate is the same run");
    fleet.tag_filters.push(TagFilter {
        key: "team".to_owned(),
        value: "search".to_owned(),
        is_excluded: false,
    });
    let tagged = kept(&fleet).scope;
    fleet.tag_filters[0].is_excluded = true;
    let without = kept(&fleet).scope;
    fleet.regions.push("eu-west-1".to_owned());
    let more = kept(&fleet).scope;
    let scopes = BTreeSet::from([run.scope, tagged, without, more]);
    assert_eq!(scopes.len(), 4);
}

#[test]
fn days_that_another_run_kept_are_left_out() {
    let mut kept = kept(&estate(vec![busy_at_night()]));
    let days = &kept.run.days;
    let known: BTreeSet<Date> = days[..12].iter().copied().collect();
    let left = days[12..].to_vec();
    kept.leave_out(&known);
    assert_eq!(kept.run.days, left);
    let rows: Vec<Date> = kept.rows.iter().map(|row| row.day).collect();
    assert_eq!(rows, left);
}

/// The hours and amounts of each workload and day by another way through the audit: from the
/// hours of its members one by one.
#[test]
fn days_of_the_demos_are_the_hours_of_their_members() {
    for demo in Demo::ALL {
        let estate = demo.estate().expect("it is built in");
        let kept = kept(&estate);
        let report = audited(&estate);
        let mut compared = 0;
        for audited in &report.workloads {
            let workload = &audited.workload;
            let was_there = |first| first <= estate.window.start;
            let is_old = workload.members.iter().all(|member| was_there(member.first_seen));
            let Some(cost) = workload.cost.as_ref().filter(|_| is_old) else { continue };
            for day in &kept.run.days {
                let (mut hours, mut dollars) = (Decimal::ZERO, Decimal::ZERO);
                for (member, cost) in workload.members.iter().zip(&cost.instances) {
                    let own = member.activity.hours();
                    let utc = jiff::tz::TimeZone::UTC;
                    let own = own.filter(|hour| hour.start.to_zoned(utc.clone()).date() == *day);
                    let own: Decimal = own.map(|hour| hour.instance_hours).sum();
                    hours += own;
                    dollars += own * cost.hourly.amount();
                }
                let rows = kept.rows.iter();
                let rows = rows.filter(|row| row.workload == workload.id() && row.day == *day);
                let rows: Vec<&WorkloadDay> = rows.collect();
                let near = |sum: Decimal, expected: Decimal| {
                    let parts = Decimal::from(rows.len().max(1));
                    (sum - expected).abs() <= Decimal::new(1, 6) * parts
                };
                let sum: Decimal = rows.iter().map(|row| row.hours).sum();
                assert!(near(sum, hours), "{} on {day}: {sum}, {hours}", workload.id());
                let sum: Decimal =
                    rows.iter().filter_map(|row| row.effective).map(Money::amount).sum();
                assert!(near(sum, dollars), "{} on {day}: {sum}, {dollars}", workload.id());
                for row in rows {
                    assert_ne!(row.option, PurchaseOption::Mixed);
                    let parts = [row.useful_gpu_hours, row.unmeasured_gpu_hours];
                    let parts: Decimal = parts.into_iter().flatten().sum();
                    let limit = row.gpu_hours.unwrap_or_default() + Decimal::new(2, 6);
                    assert!(parts <= limit, "{row:?}");
                    compared += 1;
                }
            }
        }
        assert!(compared > 50, "{compared} rows of {demo:?}");
    }
}
