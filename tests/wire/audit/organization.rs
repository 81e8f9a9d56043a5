//! The accounts of an organization in one audit: each with one g5.xlarge at 1.00 per hour,
//! which is 730.00 per month.

use jiff::SignedDuration;
use serde_json::{Value, json};
use std::time::Duration;

use super::account::{Account, another_number};
use super::command::Gpucost;
use super::days::Days;
use crate::wire::fleet::{Launch, launch, launch_as};
use crate::wire::loopback::{Fault, OwnedReserved, Price, Sessions, Target, Times, access_key_in};

/// The caller's account and two others of its organization.
struct Company {
    own: Account,
    others: [String; 2],
}

impl Company {
    fn open() -> Option<Self> {
        let own = Account::open()?;
        let others = [another_number(), another_number()];
        let loopback = &own.loopback;
        let plan = [Launch::on_demand("us-east-1a", "g5.xlarge")];
        launch(loopback, &plan);
        for account in &others {
            launch_as(loopback, &access_key_in(account), &plan);
            loopback.put_account(account, "ACTIVE");
        }
        loopback.put_account(&own.number, "ACTIVE");
        loopback.put_account(&another_number(), "SUSPENDED");
        loopback.put_price(Price::linux("g5.xlarge", "us-east-1", "1.00"));
        loopback.reset_calls();
        Some(Self { own, others })
    }

    fn audit(&self, arguments: &[&str]) -> Gpucost {
        Gpucost::audit(Days::ahead()).of(&self.own).args(&["--region", "us-east-1"]).args(arguments)
    }

    /// Accounts in order.
    fn ids(&self) -> Vec<&str> {
        let mut ids: Vec<&str> = self.others.iter().map(String::as_str).collect();
        ids.push(&self.own.number);
        ids.sort_unstable();
        ids
    }

    fn deny(&self, account: &str) {
        let target = Target::operation("sts", "AssumeRole").asking_for(account);
        let loopback = &self.own.loopback;
        loopback.inject(target, Fault::AccessDenied, Times::Always);
    }
}

/// Two g5.xlarge for 0.60 per hour each.
const RESERVED: OwnedReserved<'_> = OwnedReserved {
    id: "ri-1",
    region: "us-east-1",
    zone: None,
    instance_type: "g5.xlarge",
    count: 2,
    payment: "No Upfront",
    upfront: "0.0",
    hourly: "0.60",
    start: "2026-02-01T00:00:00.000Z",
    end: "2027-01-31T23:59:59.000Z",
    state: "active",
};

fn cost(report: &Value) -> &Value {
    &report["summary"]["monthly_cost"]
}

fn gaps_of_accounts(report: &Value) -> Vec<&Value> {
    let gaps = report["gaps"].as_array().expect("a list");
    gaps.iter().filter(|gap| gap["what"] == "account").collect()
}

#[test]
fn every_active_account_is_read_and_list_prices_once() {
    let Some(company) = Company::open() else { return };
    let loopback = &company.own.loopback;
    let alone = company.audit(&[]).run().json(0);
    assert_eq!(alone["summary"]["instances"], 1);
    let asked = loopback.calls("pricing", "GetProducts");
    loopback.reset_calls();
    let report = company.audit(&["--org"]).run().json(0);
    assert_eq!(report["summary"]["instances"], 3);
    assert_eq!(cost(&report), 2190.0);
    assert_eq!(report["scope"]["accounts"], json!(company.ids()));
    assert_eq!(gaps_of_accounts(&report), Vec::<&Value>::new());
    // An empty page and one with all four.
    assert_eq!(loopback.calls("organizations", "ListAccounts"), 2);
    assert_eq!(loopback.calls("sts", "AssumeRole"), 2);
    assert_eq!(loopback.calls("ec2", "DescribeInstances"), 3);
    assert_eq!(loopback.calls("pricing", "GetProducts"), asked);
}

#[test]
fn named_accounts_need_no_list() {
    let Some(company) = Company::open() else { return };
    let loopback = &company.own.loopback;
    let [first, _] = &company.others;
    let report = company.audit(&["--account", first]).run().json(0);
    assert_eq!(report["scope"]["accounts"], json!([first]));
    assert_eq!(cost(&report), 730.0);
    assert_eq!(loopback.calls("organizations", "ListAccounts"), 0);

    // Of the organization only those that it has are read.
    let both = format!("{first},999999999999");
    let report = company.audit(&["--org", "--account", &both]).run().json(0);
    assert_eq!(report["scope"]["accounts"], json!([first]));
    let gaps = gaps_of_accounts(&report);
    assert_eq!(gaps.len(), 1);
    assert_eq!(gaps[0]["where"], "999999999999");
}

/// A gate must not pass because the organization listed no account.
#[test]
fn an_organization_without_accounts_is_a_gap() {
    let Some(own) = Account::open() else { return };
    let days = Days::ahead();
    let report = Gpucost::audit(days)
        .of(&own)
        .args(&["--region", "us-east-1", "--org", "--allow-empty"])
        .run()
        .json(0);
    let gaps = gaps_of_accounts(&report);
    assert_eq!(gaps.len(), 1);
    assert_eq!(gaps[0]["where"], json!(own.number));
    for policy in ["[[budget]]\nmonthly_limit = 10\n", "[[forbid]]\nrule = \"idle-gpu\"\n"] {
        let mut check = Gpucost::new(&["check", "--policy", "policy.toml", "--org"])
            .args(&["--region", "us-east-1"])
            .of(&own);
        let file = check.folder().join("policy.toml");
        std::fs::write(file, policy).expect("a writable folder");
        let run = check.run();
        assert_eq!(run.code, 3, "{}{}", run.stdout, run.stderr);
    }
}

#[test]
fn an_account_in_another_state_is_a_gap_and_one_without_an_id_an_error() {
    let Some(company) = Company::open() else { return };
    let loopback = &company.own.loopback;
    let limited = another_number();
    loopback.put_account(&limited, "ACTIVE_LIMITED");
    let report = company.audit(&["--org"]).run().json(0);
    assert_eq!(cost(&report), 2190.0);
    let gaps = gaps_of_accounts(&report);
    assert_eq!(gaps.len(), 1);
    assert_eq!(gaps[0]["where"], json!(limited));
    let reason = "its state is unknown: ACTIVE_LIMITED; it is omitted";
    assert_eq!(gaps[0]["reason"], reason);

    loopback.put_account("x/../\u{1b}[31m*", "ACTIVE");
    let run = company.audit(&["--org"]).run();
    let start = "error: organizations:ListAccounts: the response is not in the service's format: \
                 the ID of an account is not 12 digits\n";
    let error = run.error(1);
    assert!(error.starts_with(start), "{error}");
    assert_eq!(loopback.calls("sts", "AssumeRole"), 2, "of the first run");
}

#[test]
fn an_account_that_refuses_the_role_is_a_gap() {
    let Some(company) = Company::open() else { return };
    let [denied, left] = &company.others;
    company.deny(denied);
    let report = company.audit(&["--org"]).run().json(0);
    assert_eq!(cost(&report), 1460.0);
    let gaps = gaps_of_accounts(&report);
    assert_eq!(gaps.len(), 1);
    assert_eq!(gaps[0]["where"], json!(denied));
    let text = |key: &str| gaps[0][key].as_str().expect("words").to_owned();
    let reason = text("reason");
    assert!(reason.starts_with("sts:AssumeRole: AccessDenied: "), "{reason}");
    assert!(reason.ends_with("; it is omitted"), "{reason}");
    assert!(text("hint").contains("`gpucost setup iam --org --account ID`"));

    // A region that cannot be read names its account.
    let loopback = &company.own.loopback;
    let target = Target::operation("ec2", "DescribeInstances").for_access_key(&access_key_in(left));
    loopback.inject(target, Fault::AccessDenied, Times::Always);
    let report = company.audit(&["--org"]).run().json(0);
    let gaps = report["gaps"].as_array().expect("a list");
    let region = gaps.iter().find(|gap| gap["what"] == "region");
    let region = region.expect("a gap");
    assert_eq!(region["where"], json!(format!("{left}/us-east-1")));

    // Where none can be read, there is nothing to audit.
    let run = company.audit(&["--account", denied]).run();
    let error = run.error(1);
    assert!(error.starts_with("error: sts:AssumeRole: AccessDenied: "), "{error}");
}

#[test]
fn the_external_id_is_handed_over_and_not_printed() {
    let Some(company) = Company::open() else { return };
    company.own.loopback.require_external_id("a-word");
    let report = company.audit(&["--org"]).run().json(0);
    assert_eq!(cost(&report), 730.0, "the own account needs no role");
    assert_eq!(gaps_of_accounts(&report).len(), 2);
    let report = company
        .audit(&["--org", "--external-id", "a-word", "--role", "audit/Reader"])
        .run()
        .json(0);
    assert_eq!(cost(&report), 2190.0);

    let table = Gpucost::new(&["audit", "--org", "--external-id", "a-word", "--all"])
        .args(&["--region", "us-east-1", "--lookback", "14d"])
        .args(&["--as-of", &Days::ahead().as_of()])
        .of(&company.own)
        .run();
    let advised = "--external-id \"$EXTERNAL_ID\"";
    assert!(table.stdout.contains(advised), "{}", table.stdout);
    for output in [&table.stdout, &table.stderr] {
        assert!(!output.contains("a-word"), "{output}");
    }
}

#[test]
fn who_may_not_list_accounts_can_name_them() {
    let Some(company) = Company::open() else { return };
    let target = Target::operation("organizations", "ListAccounts");
    let loopback = &company.own.loopback;
    loopback.inject(target.clone(), Fault::AccessDenied, Times::Always);
    let run = company.audit(&["--org"]).run();
    let error = run.error(1);
    let start = "error: organizations:ListAccounts: AccessDeniedException: ";
    assert!(error.starts_with(start), "{error}");
    assert!(error.contains("`--account ID,ID`"), "{error}");

    // Throttling and faults of the service pass.
    loopback.clear_faults();
    loopback.inject(target.clone(), Fault::Throttle, Times::Count(1));
    loopback.inject(target, Fault::ServerError, Times::Count(1));
    let report = company.audit(&["--org"]).run().json(0);
    assert_eq!(cost(&report), 2190.0);
}

#[test]
fn what_one_account_bought_covers_another_unless_nothing_is_shared() {
    let Some(company) = Company::open() else { return };
    let [first, _] = &company.others;
    let loopback = &company.own.loopback;
    loopback.put_reserved_instances_of(&company.own.number, RESERVED);
    let both = format!("{},{first}", company.own.number);
    // Both at 0.60: 2 × 438.00.
    let report = company.audit(&["--account", &both]).run().json(0);
    assert_eq!(cost(&report), 876.0);
    // One at 0.60 and one at 1.00, and the second reservation unused:
    // 438.00 + 730.00 + 438.00.
    let report = company.audit(&["--account", &both, "--no-commitment-sharing"]).run().json(0);
    assert_eq!(cost(&report), 1606.0);
}

/// Every call takes most of a second, and an account more than three of them, one after the
/// other: longer than its sessions are used.
#[test]
fn sessions_are_renewed_before_they_end() {
    let Some(company) = Company::open() else { return };
    let loopback = &company.own.loopback;
    loopback.set_latency(Duration::from_millis(800));
    let hold = SignedDuration::from_secs(3);
    loopback.end_sessions(Sessions { hold, say: hold });
    let report = company.audit(&["--org"]).run().json(0);
    assert_eq!(cost(&report), 2190.0);
    assert_eq!(gaps_of_accounts(&report), Vec::<&Value>::new());
    assert!(loopback.calls("sts", "AssumeRole") > 2, "one each at first");
    assert_eq!(loopback.expired(), 0);
}

/// As after a clock was set back, or a session was ended by somebody.
#[test]
fn a_session_that_ends_earlier_than_it_said_is_renewed() {
    let Some(company) = Company::open() else { return };
    let loopback = &company.own.loopback;
    loopback.set_latency(Duration::from_millis(800));
    loopback.end_sessions(Sessions {
        hold: SignedDuration::from_secs(2),
        say: SignedDuration::from_secs(3_600),
    });
    let report = company.audit(&["--org"]).run().json(0);
    assert_eq!(cost(&report), 2190.0);
    assert_eq!(gaps_of_accounts(&report), Vec::<&Value>::new());
    assert!(loopback.expired() > 0);
    assert!(loopback.calls("sts", "AssumeRole") > 2);

    // What is refused again with new credentials is a gap.
    let [ended, _] = &company.others;
    let once = Target::service("ec2").for_access_key(&access_key_in(ended));
    loopback.set_latency(Duration::ZERO);
    loopback.inject(once, Fault::ExpiredToken, Times::Always);
    let report = company.audit(&["--org"]).run().json(0);
    assert_eq!(cost(&report), 1460.0);
    let gaps = report["gaps"].as_array().expect("a list");
    let place = format!("{ended}/us-east-1");
    assert!(gaps.iter().any(|gap| gap["where"] == json!(place)));
}
