//! One plan in every view: over every estate that ships, each command and each format names the
//! same action, target, cents, risk and caveats as `audit`.

use crate::cli::estates::series;
use crate::cli::world::{Outcome, World};
use crate::golden::{DEMOS, by_the_hour, inputs};
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What a view says of an action, caveats in their order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Said {
    workload: String,
    action: String,
    /// `2 × g6.xlarge`; empty for an action without a target.
    to: String,
    monthly_savings: String,
    risk: String,
    caveats: String,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn cents(value: &Value) -> String {
    format!("{:.2}", value.as_f64().expect("money"))
}

fn decimal(amount: &str) -> Decimal {
    amount.parse().expect("money")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn joined(values: &Value) -> String {
    let words: Vec<String> = list(values).iter().map(text).collect();
    words.join("; ")
}

/// A target as its object, or in words.
fn target(to: &Value) -> String {
    match to {
        Value::Object(to) => format!("{} × {}", to["count"], text(&to["instance_type"])),
        words => text(words),
    }
}

fn said(workload: &str, action: &Value) -> Said {
    Said {
        workload: workload.to_owned(),
        action: text(&action["action"]),
        to: target(&action["to"]),
        monthly_savings: cents(&action["monthly_savings"]),
        risk: text(&action["risk"]),
        caveats: joined(&action["caveats"]),
    }
}

/// `$1,234.56`, as pages print it.
fn dollars(amount: &str) -> String {
    let (whole, cents) = amount.split_once('.').expect("cents");
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("${grouped}.{cents}")
}

/// The rows of a page without their markup.
fn rows_of(page: &str) -> Vec<String> {
    let row = |row: &str| {
        let words = row.split('<').map(|part| part.rsplit('>').next());
        let words: Vec<&str> = words.flatten().collect();
        let words = words.join(" ").replace("&lt;", "<").replace("&gt;", ">");
        words
            .replace("&quot;", "\"")
            .replace("&#39;", "'")
            .replace("&#96;", "`")
            .replace("&amp;", "&")
    };
    page.split("<tr").skip(1).map(row).collect()
}

/// An estate as the flags that name it, with what `audit` says of it.
struct Views<'a> {
    flags: Vec<&'a str>,
    audit: Value,
    actions: Vec<Said>,
}

impl<'a> Views<'a> {
    /// `None` of an estate for which nothing is planned.
    fn of(flags: &'a str) -> Option<Self> {
        let mut views =
            Self { flags: flags.split(' ').collect(), audit: Value::Null, actions: Vec::new() };
        views.audit = views.json("audit");
        let subjects = ["workloads", "unused_commitments"].into_iter();
        let subjects = subjects.flat_map(|key| list(&views.audit[key]));
        views.actions = subjects
            .flat_map(|subject| {
                let actions = list(&subject["plan"]["actions"]).iter();
                actions.map(|action| said(subject["id"].as_str().expect("an id"), action))
            })
            .collect();
        views.actions.sort();
        (!views.actions.is_empty()).then_some(views)
    }

    fn run(&self, words: &str) -> Outcome {
        let mut typed: Vec<&str> = words.split(' ').collect();
        typed.extend(&self.flags);
        typed.push("--offline");
        let outcome = World::new().run(&typed);
        assert_eq!(outcome.code, 0, "{typed:?}: {}", outcome.stderr);
        outcome
    }

    fn json(&self, command: &str) -> Value {
        self.run(&format!("{command} --format json")).json()
    }

    /// The rows of a table by the names of its columns.
    fn csv(&self, words: &str) -> Vec<BTreeMap<String, String>> {
        let outcome = self.run(words);
        let mut reader = csv::Reader::from_reader(outcome.stdout.as_bytes());
        let rows = reader.deserialize();
        rows.map(|row| row.expect("a row")).collect()
    }

    fn workloads(&self) -> &[Value] {
        list(&self.audit["workloads"])
    }

    fn purchases(&self) -> &[Value] {
        list(&self.audit["purchases"])
    }

    /// Actions of a kind, and by its id the workload of each in a document that lists them.
    fn each<'d>(
        &'d self,
        kind: &'static str,
        document: &'d Value,
    ) -> impl Iterator<Item = (&'d Said, &'d Value)> {
        let own = self.actions.iter().filter(move |said| said.action == kind);
        own.map(|said| {
            let mut rows = list(&document["workloads"]).iter();
            let row = rows.find(|row| row["id"] == said.workload.as_str());
            (said, row.unwrap_or_else(|| panic!("{said:?}")))
        })
    }

    fn check_tables(&self) {
        let rows = self.csv("audit --format csv --csv-table actions");
        let rows = rows.into_iter().map(|mut row| {
            let mut take = |key: &str| row.remove(key).expect("a column");
            let (count, name) = (take("to_count"), take("to_instance_type"));
            Said {
                workload: take("workload"),
                action: take("action"),
                to: match name.as_str() {
                    "" => name,
                    _ => format!("{count} × {name}"),
                },
                monthly_savings: take("monthly_savings"),
                risk: take("risk"),
                caveats: take("caveats"),
            }
        });
        let mut rows: Vec<Said> = rows.collect();
        rows.sort();
        assert_eq!(rows, self.actions);
        let rows = self.csv("audit --format csv --csv-table purchases");
        assert_eq!(rows.len(), self.purchases().len());
        for (row, purchase) in rows.iter().zip(self.purchases()) {
            for key in ["kind", "option", "region", "instance_type", "risk"] {
                assert_eq!(row[key], text(&purchase[key]), "{key}");
            }
            for key in ["upfront", "monthly", "term_total", "monthly_savings"] {
                assert_eq!(row[key], cents(&purchase[key]), "{key}");
            }
            for key in ["caveats", "steps"] {
                assert_eq!(row[key], joined(&purchase[key]), "{key}");
            }
            assert_eq!(row["count"], purchase["count"].to_string());
        }
    }

    /// The actions of `fix`, each for all that are changed together, and its promises.
    fn check_fix(&self) {
        let fix = self.json("fix");
        // Of one currency, all actions and promises together save what the audit says.
        if !self.actions.is_empty() && !fix["monthly_savings"].is_null() {
            let saved = &self.audit["summary"]["monthly_savings"];
            assert_eq!(cents(&fix["monthly_savings"]), cents(saved));
        }
        let actions = list(&fix["actions"]).iter();
        let actions = actions.filter(|action| action["action"] != "commit");
        let mut steps: Vec<Said> = actions
            .flat_map(|action| {
                let of = list(&action["workloads"]).iter();
                let mut of: Vec<&str> = of.filter_map(Value::as_str).collect();
                if of.is_empty() {
                    // What nothing uses is of no workload, and in the id of its action.
                    let id = action["id"].as_str().and_then(|id| id.split_once(':'));
                    of.extend(id.map(|(_, id)| id));
                }
                of.into_iter().map(|id| said(id, action))
            })
            .collect();
        steps.sort();
        let own = self.actions.iter().filter(|said| said.action != "commit");
        assert_eq!(steps, own.cloned().collect::<Vec<_>>());
        let terms = |purchase: &Value| {
            let amounts = ["upfront", "monthly", "term_total"].map(|key| cents(&purchase[key]));
            (purchase["count"].clone(), text(&purchase["instance_type"]), amounts)
        };
        let sorted = |purchases: &[Value]| {
            let mut terms: Vec<String> =
                purchases.iter().map(|purchase| format!("{:?}", terms(purchase))).collect();
            terms.sort();
            terms
        };
        assert_eq!(sorted(list(&fix["promises"])), sorted(self.purchases()));
    }

    fn check_explain(&self) {
        for workload in self.workloads() {
            let id = workload["id"].as_str().expect("an id");
            if list(&workload["plan"]["actions"]).is_empty() {
                continue;
            }
            let explained = self.json(&format!("explain {id}"));
            let planned = "planned_monthly_cost";
            assert_eq!(explained[planned], workload["plan"][planned], "{id}");
            let of = |actions: &Value| -> Vec<Said> {
                list(actions).iter().map(|action| said(id, action)).collect()
            };
            assert_eq!(of(&explained["plan"]), of(&workload["plan"]["actions"]));
        }
    }

    /// The three reports about one lever, and the planner of another.
    fn check_levers(&self) {
        let sizings = self.json("rightsize");
        for (said, row) in self.each("rightsize", &sizings) {
            let words = format!("rightsize to {}", said.to);
            assert!(list(&row["plan"]).contains(&words.into()), "{said:?}");
            let candidates = list(&row["candidates"]).iter();
            let mut accepted = candidates.filter(|candidate| candidate["accepted"] == true);
            let chosen =
                accepted.find(|candidate| target(candidate) == said.to).expect("the target");
            assert_eq!(cents(&chosen["monthly_savings"]), said.monthly_savings);
            assert_eq!(text(&chosen["risk"]), said.risk);
            assert_eq!(joined(&chosen["caveats"]), said.caveats);
        }
        let spot = self.json("spot");
        for (said, row) in self.each("spot", &spot) {
            assert_eq!(row["eligible"], true, "{said:?}");
            assert_eq!(cents(&row["effective_monthly_savings"]), said.monthly_savings);
            assert_eq!(text(&row["risk"]), said.risk);
        }
        let reserved = self.json("reserved");
        let pools = ["reserved_pools", "savings_plan_pools"].into_iter();
        let pools = pools.flat_map(|key| list(&reserved[key]));
        let bought = pools.flat_map(|pool| list(&pool["purchases"])).collect();
        let sorted = |purchases: Vec<&Value>| {
            let mut texts: Vec<String> = purchases.into_iter().map(Value::to_string).collect();
            texts.sort();
            texts
        };
        assert_eq!(sorted(bought), sorted(self.purchases().iter().collect()));
        let mut shares = self.actions.iter().filter(|said| said.action == "share");
        if let Some(said) = shares.next() {
            assert_eq!(shares.next(), None, "of one type");
            let share = self.json("share");
            let rows = list(&share["plan"]).iter();
            let mut rows: Vec<Said> =
                rows.map(|row| self::said(row["workload"].as_str().expect("an id"), row)).collect();
            rows.sort();
            let placed: BTreeSet<&str> = rows.iter().map(|row| row.workload.as_str()).collect();
            assert!(placed.contains(said.workload.as_str()), "{said:?}");
            let own = self.actions.iter();
            let own = own.filter(|action| placed.contains(action.workload.as_str()));
            assert_eq!(rows, own.cloned().collect::<Vec<_>>());
            let mut methods = list(&share["methods"]).iter();
            let chosen = methods.find(|method| method["chosen"] == true).expect("a method");
            assert_eq!(cents(&chosen["saved_monthly"]), said.monthly_savings);
            let (count, _) = said.to.split_once(" × ").expect("a target");
            assert_eq!(chosen["instances"].to_string(), count);
        }
    }

    fn check_page(&self) {
        let rows = rows_of(&self.run("audit --format html").stdout);
        let stands = |words: &[&str]| {
            let mut rows = rows.iter();
            let stands = rows.any(|row| words.iter().all(|word| row.contains(word)));
            assert!(stands, "{words:?}\n{}", rows.as_slice().join("\n"));
        };
        let names: BTreeMap<&str, &str> = ["workloads", "unused_commitments"]
            .into_iter()
            .flat_map(|key| list(&self.audit[key]))
            .filter_map(|subject| Some((subject["id"].as_str()?, subject["name"].as_str()?)))
            .collect();
        for said in self.actions.iter().filter(|said| said.action != "commit") {
            let saved = dollars(&said.monthly_savings);
            let mut words = vec![names[said.workload.as_str()], &said.action, &said.to, &said.risk];
            words.push(&saved);
            words.extend(said.caveats.split("; "));
            stands(&words);
        }
        for purchase in self.purchases() {
            let total = dollars(&cents(&purchase["term_total"]));
            let (caveats, steps) = (joined(&purchase["caveats"]), joined(&purchase["steps"]));
            stands(&[&target(purchase), &total, &caveats, &steps]);
        }
    }

    /// What these say of the machines that the plan is about.
    fn check_inventory_and_focus(&self) {
        let inventory = self.json("inventory");
        let instances = list(&inventory["instances"]).iter();
        let instances: BTreeMap<&str, &Value> =
            instances.map(|instance| (instance["id"].as_str().expect("an id"), instance)).collect();
        for workload in self.workloads() {
            let own = list(&workload["instances"]).iter();
            let own = own.map(|id| instances[id.as_str().expect("an id")]);
            let mut hourly = 0.0;
            for instance in own {
                for key in ["account", "region", "instance_type"] {
                    assert_eq!(instance[key], workload[key], "{key}");
                }
                hourly += instance["hourly_cost"].as_f64().unwrap_or_default();
            }
            if workload["purchase_option"] == "on-demand" && workload["running_share"] == 1.0 {
                let stated = workload["hourly_cost"].as_f64().unwrap_or_default();
                assert!((hourly - stated).abs() < 1e-6, "{hourly}: {workload}");
            }
        }
        let mut named: BTreeSet<(&str, String)> = BTreeSet::new();
        let mut sum = Decimal::ZERO;
        for row in self.csv("audit --format focus") {
            let is_unused = row["x_Classification"] == "unused";
            let (key, id) = match is_unused {
                true => ("unused_commitments", &row["ResourceId"]),
                false => ("workloads", &row["x_WorkloadId"]),
            };
            let mut subjects = list(&self.audit[key]).iter();
            let one = subjects.find(|subject| subject["id"] == id.as_str()).expect("the subject");
            if !is_unused {
                let said = (row["x_Classification"].clone(), row["x_State"].clone());
                let class = text(&one["classification"]);
                assert_eq!(said, (class, text(&one["state"])), "{one}");
            }
            let actions = list(&one["plan"]["actions"]);
            let joined = |part: fn(&Value) -> String| {
                let words: Vec<String> = actions.iter().map(part).collect();
                words.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join("; ")
            };
            assert_eq!(row["x_PlanAction"], joined(|action| text(&action["action"])), "{one}");
            assert_eq!(row["x_PlanCaveats"], joined(|action| self::joined(&action["caveats"])));
            let targets = actions.iter().rev().map(|action| target(&action["to"]));
            let last = targets.into_iter().find(|to| !to.is_empty()).unwrap_or_default();
            assert_eq!(row["x_PlanTarget"], last, "{one}");
            let ranks = ["low", "medium", "high"].into_iter().rev();
            let highest = |risk: &&str| actions.iter().any(|action| action["risk"] == **risk);
            assert_eq!(row["x_PlanRisk"], { ranks }.find(highest).unwrap_or_default(), "{one}");
            let saved: Decimal =
                actions.iter().map(|action| decimal(&cents(&action["monthly_savings"]))).sum();
            let stated = Some(&row["x_PlanMonthlySavings"]).filter(|cell| !cell.is_empty());
            let stated = stated.map(|cell| decimal(cell));
            // Each saving stands once, in the first row that is about it.
            let is_first = named.insert((key, id.clone()));
            assert_eq!(stated, (is_first && !actions.is_empty()).then_some(saved), "{one}");
            sum += stated.unwrap_or_default();
        }
        let all = self.audit["summary"]["monthly_savings"].as_f64();
        assert_eq!(sum, all.map_or(Decimal::ZERO, |all| decimal(&format!("{all:.2}"))));
    }
}

#[test]
fn every_view_of_every_estate_names_the_actions_of_the_audit() {
    let world = World::new();
    let demos = DEMOS.map(|(name, file)| {
        let path = world.file(&format!("{name}.json"), by_the_hour(file));
        format!("--from {path}")
    });
    let others = inputs().into_iter().map(|(_, flags)| flags);
    let others = others.filter(|flags| flags.starts_with("--from ") && !flags.contains("target/"));
    let estates: Vec<String> = demos.into_iter().chain(others).collect();
    let (next, planned) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let check = || {
        while let Some(flags) = estates.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Some(views) = Views::of(flags) else { continue };
            planned.fetch_add(1, Ordering::Relaxed);
            views.check_tables();
            views.check_fix();
            views.check_explain();
            views.check_levers();
            views.check_page();
            views.check_inventory_and_focus();
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(check)).collect();
        workers.into_iter().for_each(|worker| worker.join().expect("every view agrees"));
    });
    let planned = planned.into_inner();
    assert!(planned >= 30, "{planned} of {} estates", estates.len());
}

/// An idle p3.8xlarge under a reservation of 7.00 an hour, 5,110.00 a month, beside a busy
/// p3.16xlarge: of both, 22,980.40 are paid. Once the first stops, the reservation covers half of
/// the second, 8,935.20, of which 5,110.00 is the cost of what stops and the rest is saved by what
/// runs on. Every list has both.
#[test]
fn what_a_stop_frees_for_another_is_in_every_list() {
    let mut metrics = Vec::new();
    for (id, gpus, level, cpu) in [("i-idle", 4, 0.0, 1.0), ("i-busy", 8, 90.0, 60.0)] {
        for (metric, statistic, value) in [
            ("cpu_utilization", "average", cpu),
            ("cpu_utilization", "maximum", cpu),
            ("network_in", "sum", 1_000.0),
            ("network_out", "sum", 1_000.0),
        ] {
            metrics.push(series(id, None, metric, statistic, value));
        }
        for gpu in 0..gpus {
            for statistic in ["average", "maximum"] {
                metrics.push(series(id, Some(gpu), "gpu_utilization", statistic, level));
                let used = if level > 0.0 { 15_000.0 } else { 3.0 };
                metrics.push(series(id, Some(gpu), "gpu_memory_used", statistic, used));
            }
            metrics.push(series(id, Some(gpu), "gpu_memory_total", "maximum", 16_160.0));
        }
    }
    let instance = |id: &str, instance_type: &str| {
        json!({"id": id, "account": "111122223333", "region": "us-east-1",
            "instance_type": instance_type, "state": "running",
            "launch_time": "2026-06-01T00:00:00Z", "tags": {"gpucost:kind": "training"}})
    };
    let estate = json!({
        "estate_version": "1", "as_of": "2026-11-01T00:00:00Z", "period_seconds": 300,
        "instances": [instance("i-busy", "p3.16xlarge"), instance("i-idle", "p3.8xlarge")],
        "metrics": metrics,
        "commitments": [{"kind": "reserved-instances", "id": "ri-1", "account": "111122223333",
            "region": "us-east-1", "instance_type": "p3.8xlarge", "count": 1,
            "payment": "no-upfront", "start": "2026-02-01T00:00:00Z",
            "end": "2027-02-01T00:00:00Z", "recurring_hourly": "7"}],
    });
    let world = World::new();
    let path = world.estate("freed.json", &estate);
    let audit = world.audit(&estate);
    assert_eq!(audit["summary"]["monthly_cost"], 22_980.4);
    assert_eq!(audit["summary"]["monthly_savings"], 8_935.2);
    let fix = world.run(&["fix", "--from", &path, "--format", "json"]).json();
    assert_eq!(fix["monthly_savings"], 8_935.2);
    for more in [&[][..], &["--all"], &["--format", "markdown"], &["--format", "html"]] {
        let shown = world.run(&[&["audit", "--from", &path], more].concat()).stdout;
        for amount in ["5,110.00", "3,825.20"] {
            assert!(shown.contains(amount), "{more:?} lacks {amount}: {shown}");
        }
    }
}
