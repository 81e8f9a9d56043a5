//! `gpucost history`: what recorded audits add up to, and `gpucost history digest`: what happened since
//! an earlier audit, short enough for a chat.

mod trend;

pub use trend::history_answer;

use crate::domain::{Money, PastTotals, Target};
use crate::report::doc::{Doc, Given, Missing, Table, Value, columns, rows};
use crate::report::history::trend::{caveats, change, days, missing, recorded_days, spent};
use crate::report::promises::promises_words;
use crate::report::shared::text::{counted, less, minute};
use crate::trend::{Digest, Realised, Span, Turn};

columns! {
    fn totals(row: (&'static str, [Value; 3])) {
        text "figure", "figure", Narrow(0), row.0.to_owned(), "";
        opt cell "before", "before", Narrow(0), row.1[0].clone(), "Of the earlier audit.";
        opt cell "now", "now", Narrow(0), row.1[1].clone(), "Of the last audit.";
        opt cell "change", "change", Narrow(0), row.1[2].clone(), "";
    }

    fn actions<'a>(row: (Turn, &'a Realised)) {
        text "turn", "what", Narrow(0), row.0.name().to_owned(), "What it did since the earlier audit.";
        text "name", "workload", Narrow(0), row.1.action.name.clone(), "";
        text "action", "action", Narrow(0), row.1.action.kind.name().to_owned(), "";
        opt text "target", "to", Narrow(0), row.1.action.target.as_ref().map(Target::to_string), "";
        money "expected_monthly", "per month", Narrow(0), row.1.action.expected_monthly, "What the plan said that it saves.";
        opt money "saved", "saved", Wide, row.1.saved.map(|(saved, _)| saved), "";
        opt money "missed", "not done cost", Narrow(0), row.1.missed, "";
        opt date "since", "since", Narrow(0), row.1.since, "The first day on which it was carried out, at least in part.";
        text "risk", "risk", Wide, row.1.action.risk.name().to_owned(), "";
        text "action_id", "action id", Wide, row.1.action.action_id.clone(), "";
    }
}

/// What happened between two audits; `flags` are those that lead to the history, each with a
/// blank before it.
pub fn digest_answer(digest: &Digest, flags: &str) -> Doc {
    let overview = &digest.overview;
    let title = "ACTIONS  done, undone, new, open, no longer advised";
    let gaps = digest.now.gaps_count;
    Doc {
        name: "history digest",
        headline: headline(digest),
        given: given(digest),
        tables: rows! {
            both(digest);
            ..change(overview);
            Table::of("actions", title, ("action", "actions"), actions(), digest.actions());
        },
        caveats: cautions(digest),
        missing: rows! {
            ..missing(overview);
            if gaps > 0 => Missing::new(format!("{} of the last audit", counted(gaps, "data gap", "data gaps")), "`gpucost audit` lists each with its fix");
        },
        next: rows! {
            "gpucost fix --format markdown --output runbook.md".to_owned();
            format!("gpucost history{flags} --since {}", overview.span.first);
        },
        ..Doc::default()
    }
}

fn headline(digest: &Digest) -> String {
    let moved = digest.overview.compared.map_or(String::new(), |compared| {
        let total = compared.change.total();
        let cost = match total.rounded().amount().is_zero() {
            true => "as much as".to_owned(),
            false => format!("{} than", less(Money::new(-total.amount(), total.currency()))),
        };
        format!("; a mean day cost {cost} {}", in_days(compared.before))
    });
    spent(&digest.overview, &format!("on GPUs {}", in_days(digest.overview.span))) + &moved
}

/// `from 2026-11-01 to 2026-11-07`, or `on 2026-11-01`.
fn in_days(span: Span) -> String {
    let word = if span.first == span.last { "on" } else { "from" };
    format!("{word} {}", days(span))
}

fn given(digest: &Digest) -> Vec<Given> {
    let overview = &digest.overview;
    let line = |key, name, value| Given::new(key, name, value, "history");
    rows! {
        line("before", "earlier audit", Value::Time(digest.before.as_of));
        line("now", "last audit", Value::Time(digest.now.as_of));
        line("recorded_days", "days kept between", Value::make_count(recorded_days(overview)));
        for forecast in &overview.forecast => line("month_ends_at", "the month ends at", Value::Money(forecast.total()));
        for promises in digest.now.promises.as_deref().and_then(promises_words) => line("promises", "promises", Value::Text(promises));
    }
}

/// What both audits said, per month of what ran at their time.
fn both(digest: &Digest) -> Table {
    let (before, now) = (&digest.before, &digest.now);
    let amount = |name, of: fn(&PastTotals) -> Option<Money>| {
        let (old, new) = (of(&before.totals), of(&now.totals));
        let change = old.zip(new).and_then(|(old, new)| new.checked_sub(old).ok());
        (name, [old, new, change].map(Value::make_money))
    };
    let number = |name, old: u64, new: u64| {
        // A fleet has fewer than 2^53 of anything, so that the difference is exact.
        (name, [Value::Count(old), Value::Count(new), Value::Number(new as f64 - old as f64, 0)])
    };
    let (old, new) = (&before.totals, &now.totals);
    let rows = [
        amount("monthly cost", |totals| totals.monthly_cost),
        amount("waste", |totals| totals.monthly_waste),
        amount("planned savings", |totals| totals.monthly_savings),
        number("instances", old.instances, new.instances),
        number("GPUs", old.gpus, new.gpus),
        number("data gaps", before.gaps_count, now.gaps_count),
    ];
    let title = "TOTALS  per month, at the time of each audit";
    Table::of("totals", title, ("row", "rows"), totals(), rows)
}

fn cautions(digest: &Digest) -> Vec<String> {
    let (before, now) = (&digest.before.totals, &digest.now.totals);
    rows! {
        if digest.begins_later => format!("the history begins later than was asked: the earlier audit is its first, of {}", minute(digest.before.as_of));
        if digest.other_scopes > 0 => format!("the history also has audits of {}, which are in no figure: this is about the scope that was recorded last", counted(digest.other_scopes, "other scope", "other scopes"));
        if before.currency != now.currency => "the two audits are in different currencies".to_owned();
        if now.unpriced_instances > 0 => format!("{} no price and are in no amount", counted(now.unpriced_instances, "instance has", "instances have"));
        ..caveats(&digest.overview);
    }
}

/// What is shown of a history.
#[cfg(test)]
mod tests {
    use super::history_answer;
    use crate::domain::{
        ActionKind, CostKind, DatedPrice, PurchaseOption, RecordedAction, WorkloadDay,
    };
    use crate::report::{Doc, TableStyle, doc_csv, doc_html, doc_json, doc_table};
    use crate::trend::lab::{action, ledger, on_type, paid, row, steady};
    use crate::trend::{AnomalyLimits, Horizon, Ledger, Overview, Step, TrendKey, TrendRequest};
    use serde_json::{Value, json};

    fn ask(step: Step) -> TrendRequest {
        TrendRequest {
            step,
            key: TrendKey::Workload,
            since: None,
            horizon: Some(Horizon::Month),
            limits: AnomalyLimits::default(),
        }
    }

    fn overview(ledger: Ledger, actions: Vec<RecordedAction>, ask: TrendRequest) -> Overview {
        let no_list = |_: &str, _: &str| -> Option<DatedPrice> { None };
        let overview = Overview::of(ledger, actions, &[], &no_list, ask).expect("no units");
        overview.expect("days")
    }

    /// June and ten days of July: `a` moves to a cheaper type on the 21st of June, and `b` is
    /// reserved.
    fn two_months() -> Overview {
        let mut rows: Vec<WorkloadDay> = (0..40)
            .map(|number| {
                if number < 20 {
                    row(number, "a", "24", "24")
                } else {
                    on_type(row(number, "a", "24", "14.40"), "g6.xlarge", 1, "0.6")
                }
            })
            .collect();
        rows.extend(
            (0..40).map(|number| paid(row(number, "b", "24", "15"), PurchaseOption::Reserved)),
        );
        rows.extend(steady(40, "z", "24"));
        let kind = (ActionKind::Rightsize, Some(("g6.xlarge", 1)));
        let moved = action(kind, "a", "24", "292", (10, 18));
        overview(ledger(40, rows), vec![moved], ask(Step::Month))
    }

    fn of_json(answer: &Doc) -> Value {
        let text = doc_json(answer).expect("JSON");
        serde_json::from_str(&text).expect("JSON")
    }

    #[test]
    fn figures_are_those_of_the_hand() {
        let json = of_json(&history_answer(&two_months(), " --history DIR"));
        // June: 20 × 24 + 10 × 14.40 + 30 × 15 + 30 × 24; July: 10 × (14.40 + 15 + 24).
        assert_eq!(json["periods"][0]["spend"], json!(1_794.0));
        assert_eq!(json["periods"][1]["spend"], json!(534.0));
        assert_eq!(json["periods"][1]["recorded_days"], json!(10));
        // 10 days of July: 240 + 240 of 144 + 240 + 240 … of the hours of `a`, `b` and `z` those
        // of `b` are covered: 24 of 62.40 at the public price.
        assert_eq!(json["periods"][1]["commitment_coverage_percent"], json!(38.4615));
        let action = &json["actions"][0];
        assert_eq!(action["status"], "done");
        // 20 days × (24 − 14.40).
        assert_eq!(action["saved"], json!(192.0));
        assert_eq!(action["saved_mix"], json!(192.0));
        assert_eq!(action["since"], "2026-06-21");
        // July: 534 so far, and 21 × 15 and 21 × 38.40 to come.
        let results: Vec<&Value> =
            json["steps"].as_array().expect("steps").iter().map(|step| &step["result"]).collect();
        assert_eq!(results[..4], [&json!(534.0), &json!(315.0), &json!(806.4), &json!(1_655.4)]);
        // Of 30 days each, the change is of one day: mix.
        assert_eq!(json["change"][0]["part"], "before");
        assert_eq!(json["currency"], "USD");
    }

    #[test]
    fn a_page_has_a_bar_for_each_month() {
        let answer = history_answer(&two_months(), "");
        let csv = doc_csv(&answer).expect("CSV");
        assert_eq!(csv.lines().count(), 3);
        assert!(csv.starts_with("first_day,last_day,recorded_days,"), "{csv}");
        let page = doc_html(&answer);
        for part in [
            "$1,794.00", "$192.00", "<svg ",
            "role=\"img\"><title>Spend and waste by month</title>", "By workload",
        ] {
            assert!(page.contains(part), "{part}");
        }
        // Two bars each for two months, and none of waste.
        assert_eq!(page.matches("class=\"today\" x=").count(), 4);
        assert_eq!(page.matches("class=\"stays\" x=").count(), 2);
        for outside in ["http://", "https://", "<script", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn names_from_outside_do_nothing() {
        let name = "=HYPERLINK(\"x\")<script>alert(1)</script>\u{1b}[31m\u{202e}";
        let mut rows = steady(3, "a", "24");
        for row in &mut rows {
            row.name = name.to_owned();
            row.tags.insert("team".to_owned(), name.to_owned());
        }
        for key in [TrendKey::Workload, TrendKey::Tag("team".to_owned())] {
            let ask = TrendRequest { key, ..ask(Step::Day) };
            let mut stop = action((ActionKind::Stop, None), "a", "24", "730", (0, 1));
            stop.name = name.to_owned();
            let history = overview(ledger(3, rows.clone()), vec![stop], ask);
            let answer = history_answer(&history, "");
            let style =
                TableStyle { width: 200, color: false, wide: true, limit: None, ascii: false };
            let page = doc_html(&answer);
            assert!(!page.contains("<script>"), "a name is markup");
            for text in [doc_table(&answer, style), page] {
                assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
            }
            let json = of_json(&answer);
            assert_eq!(json["shares"][0]["name"], json!(name));
        }
    }

    #[test]
    fn what_is_unknown_is_absent_and_said() {
        let mut rows = steady(12, "a", "24");
        rows.retain(|row| row.day != crate::trend::lab::day(5));
        rows.push(WorkloadDay {
            effective: None,
            list: None,
            contracted: None,
            ..row(3, "new", "7", "0")
        });
        rows.push(WorkloadDay {
            kind: CostKind::IdleStorage,
            gpu_hours: None,
            list: None,
            ..row(4, "old", "24", "1")
        });
        let runs: Vec<_> =
            (0..12).filter(|night| *night != 5).map(crate::trend::lab::run).collect();
        let ledger = Ledger::of(rows, &runs, crate::trend::lab::night(12));
        let answer = history_answer(&overview(ledger, Vec::new(), ask(Step::Month)), "");
        let json = of_json(&answer);
        assert_eq!(json["periods"][0]["commitment_coverage_percent"], json!(0.0));
        assert_eq!(json["periods"][0]["commitment_utilization_percent"], Value::Null);
        assert_eq!(json["periods"][0]["missing_days"], json!(1));
        assert_eq!(json["missing"][0]["what"], "1 day without a record");
        // 11 days of $24 and $1 of storage, and 19 days of $24: 18 to come, and the missing one.
        let headline = json["headline"].as_str().expect("a sentence");
        assert!(
            headline.ends_with(
                "2026-06-01 to 2026-06-30 is forecast to end at $721.00; 1 of its 30 days was not \
             recorded whole and is taken at $24.00 a day, like those to come"
            ),
            "{headline}"
        );
        let caveats = json["caveats"].to_string();
        assert!(caveats.contains("7 hours of instances have no price"), "{caveats}");
        // Twelve days are too few for a band, and the last day is not judged.
        let steps = json["steps"].to_string();
        assert!(steps.contains("range, no band"), "{steps}");
        assert_eq!(json["last_day"], Value::Null);
    }

    #[test]
    fn a_band_is_called_by_what_was_observed() {
        // Until 2026-07-30, with a step after forty days: of forecasts of one day, that of the step
        // alone was wrong.
        let cost = |number| if number < 40 { "24" } else { "48" };
        let rows = (0..60).map(|number| row(number, "a", "24", cost(number)));
        let answer =
            history_answer(&overview(ledger(60, rows.collect()), Vec::new(), ask(Step::Month)), "");
        let json = of_json(&answer);
        // 59 forecasts, and bands from the twenty-first on: 38 of 39 held.
        let steps = json["steps"].to_string();
        assert!(steps.contains("band of 59 past errors, held 38 of 39 times (97.4%)"), "{steps}");
        assert!(!steps.contains("80%"), "{steps}");
        // Those that were over before the last day.
        assert_eq!(json["last_day"][0]["band_held"], "37 of 38");
        // Each day was recorded.
        let headline = json["headline"].as_str().expect("a sentence");
        assert!(!headline.contains("not recorded"), "{headline}");
    }

    /// Ten days, recorded in the night after each, and read some nights after the last: of a night the
    /// day before is the last that can be known.
    #[test]
    fn a_history_that_ended_says_so() {
        let caveats = |nights_later: i64| {
            let runs: Vec<_> = (0..10).map(crate::trend::lab::run).collect();
            let now = crate::trend::lab::night(10 + nights_later);
            let ledger = Ledger::of(steady(10, "a", "24"), &runs, now);
            history_answer(&overview(ledger, Vec::new(), ask(Step::Month)), "").caveats
        };
        let is_said =
            |nights_later: i64| caveats(nights_later)[0].contains("is the last day that was");
        assert!(!is_said(0) && !is_said(3));
        assert!(is_said(4) && is_said(400));
        let day = crate::trend::lab::day(9).to_string();
        assert!(caveats(4)[0].starts_with(&day));
    }
}
