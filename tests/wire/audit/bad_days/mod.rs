//! What goes wrong between the program and AWS: each situation with one to
//! three instances, what the user is reported, and how the program ends.

mod answers;
mod credentials;
mod denied;
mod limits;
mod passing;
mod price_cache;

use serde_json::Value;

use super::account::Account;
use super::command::Gpucost;
use super::days::Days;
use super::signals::{self, Dimensions, Signal, Subject};
use crate::wire::fleet::{Launch, launch};
use crate::wire::loopback::Price;

const VIRGINIA: &str = "us-east-1a";
const IRELAND: &str = "eu-west-1a";

/// A few instances of `g5.xlarge`, at 1.10 an hour wherever they are, that
/// work by day: 80% for eight of 24 hours, neither hot nor near the limit of power.
struct Office {
    account: Account,
    days: Days,
    ids: Vec<String>,
}

/// 1.10 × 730 / 3, for the hours that CPU points prove.
const COST_BY_DAY: f64 = 267.67;
/// 1.10 × 730, when nothing proves that it slept.
const COST_AROUND_THE_CLOCK: f64 = 803.00;

impl Office {
    /// One On-Demand instance in each zone.
    fn open(zones: &[&str]) -> Option<Self> {
        let plan: Vec<Launch<'_>> =
            zones.iter().map(|zone| Launch::on_demand(zone, "g5.xlarge")).collect();
        Self::with(&plan)
    }

    fn with(plan: &[Launch<'_>]) -> Option<Self> {
        let account = Account::open()?;
        let days = Days::ahead();
        let mut ids = Vec::new();
        for (planned, launched) in plan.iter().zip(launch(&account.loopback, plan)) {
            let region = planned.zone.trim_end_matches(char::is_alphabetic);
            let subject = Subject {
                region,
                instance_type: planned.instance_type,
                gpus: 1,
                launched: &launched,
            };
            if !planned.stopped {
                let agent = (Dimensions::InstanceId, signals::OFFICE_HOURS);
                let load = Signal::Agent(agent.0, agent.1);
                subject.measure(&account.loopback, days, signals::cpu_office_hours, load);
                subject.stay_cool(&account.loopback, days, agent);
            }
            account.loopback.put_price(Price::linux(planned.instance_type, region, "1.10"));
            ids.push(launched.instance_id);
        }
        account.loopback.reset_calls();
        Some(Self { account, days, ids })
    }

    /// `gpucost audit --format json` of the two regions.
    fn audit(&self) -> Gpucost {
        self.audit_everywhere().args(&["--region", "us-east-1,eu-west-1"])
    }

    fn audit_everywhere(&self) -> Gpucost {
        Gpucost::audit(self.days).of(&self.account)
    }
}

/// The only gap about something, as place, reason and hint.
fn gap<'a>(report: &'a Value, what: &str) -> (&'a str, &'a str, &'a str) {
    let gaps = report["gaps"].as_array().expect("a list of gaps");
    let own: Vec<&Value> = gaps.iter().filter(|gap| gap["what"] == what).collect();
    let [only] = own.as_slice() else {
        panic!("{} gaps about {what}: {gaps:#?}", own.len());
    };
    let text = |field: &str| only[field].as_str().expect("words");
    (text("where"), text("reason"), text("hint"))
}

/// What all the gaps are about, in order.
fn gaps(report: &Value) -> Vec<&str> {
    let gaps = report["gaps"].as_array().expect("a list of gaps");
    gaps.iter().map(|gap| gap["what"].as_str().expect("words")).collect()
}

/// The workload of an instance.
fn workload<'a>(report: &'a Value, id: &str) -> &'a Value {
    let workloads = report["workloads"].as_array().expect("a list of workloads");
    workloads
        .iter()
        .find(|workload| workload["id"] == id)
        .unwrap_or_else(|| panic!("{id} is not among {workloads:#?}"))
}
