//! Read-only towards the cloud: the operations that `crates/sources/src/aws` sends are
//! the actions of the policy, no more and no fewer, and none of them changes
//! anything.

use crate::support::source::{files_under, is_word, line_of, program_files, root};
use gpucost::sources::aws::{
    ACTIONS, BILL_ACTIONS, HISTORY_ACTIONS, ORG_ACTIONS, Role, Trusted, bill_policy,
    history_policy, iam_policy, organization_policy,
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Beginnings of operations that change something.
const MUTATING: &[&str] = &[
    "accept", "add", "allocate", "apply", "assign", "associate", "attach", "authorize", "bundle",
    "cancel", "copy", "create", "delete", "deregister", "detach", "disable", "disassociate",
    "enable", "import", "invoke", "modify", "move", "provision", "publish", "purchase", "put",
    "reboot", "register", "reject", "release", "replace", "request", "reset", "restore", "revoke",
    "run", "send", "set", "start", "stop", "tag", "terminate", "unassign", "untag", "update",
];

/// Fields of answers whose names begin like an operation, and the name of an element.
const FIELDS: &[&str] = &["start_date", "attach_time", "tag_name"];

/// Beginnings of operations that only read.
const READING: &[&str] = &["describe", "get", "list", "search"];

/// `ec2:DescribeInstances` as the SDK spells it: `describe_instances`.
fn method_of(action: &str) -> String {
    let (_, operation) = action.split_once(':').expect("service:Operation");
    let mut method = String::new();
    for c in operation.chars() {
        if c.is_ascii_uppercase() && !method.is_empty() {
            method.push('_');
        }
        method.push(c.to_ascii_lowercase());
    }
    method
}

/// The calls of the method chain that ends at an offset, first to last, each
/// with whether it has no arguments. Fields of the chain are left out.
fn chain_before(code: &str, end: usize) -> Vec<(String, bool)> {
    let chars: Vec<char> = code[..end].chars().collect();
    let mut calls = Vec::new();
    let mut at = chars.len();
    loop {
        at = without_blanks(&chars, at);
        let mut arguments = None;
        if at > 0 && chars[at - 1] == ')' {
            let open = opening(&chars, at - 1);
            arguments = Some(chars[open + 1..at - 1].iter().all(|c| c.is_whitespace()));
            at = without_blanks(&chars, open);
        }
        let word_end = at;
        while at > 0 && is_word(chars[at - 1]) {
            at -= 1;
        }
        let name: String = chars[at..word_end].iter().collect();
        if let Some(is_empty) = arguments {
            calls.push((name, is_empty));
        }
        at = without_blanks(&chars, at);
        if at == 0 || chars[at - 1] != '.' {
            break;
        }
        at -= 1;
    }
    calls.reverse();
    calls
}

fn without_blanks(chars: &[char], mut at: usize) -> usize {
    while at > 0 && chars[at - 1].is_whitespace() {
        at -= 1;
    }
    at
}

/// The bracket that a closing one belongs to.
fn opening(chars: &[char], closing: usize) -> usize {
    let mut depth = 0;
    for at in (0..=closing).rev() {
        match chars[at] {
            ')' => depth += 1,
            '(' => {
                depth -= 1;
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    panic!("unbalanced brackets");
}

/// The actions of the policies: in every account, and of a caller who reads several.
fn actions() -> impl Iterator<Item = &'static str> {
    ACTIONS.iter().chain(ORG_ACTIONS).copied()
}

/// The services that have no client, by the constants that name them.
fn services() -> BTreeMap<String, String> {
    let mut services = BTreeMap::new();
    for file in files_under("crates/sources/src/aws") {
        for (at, _) in file.text.match_indices(": Service = Service {") {
            let name = file.text[..at].rsplit("const ").next().expect("a constant");
            let (_, rest) = file.text[at..].split_once(" id: \"").expect("an id");
            let id = rest.split('"').next().expect("its end");
            services.insert(name.to_owned(), id.to_owned());
        }
    }
    services
}

/// Every operation sent, with the places that send it: methods of clients, and actions of
/// services that have none.
fn operations_sent() -> BTreeMap<String, Vec<String>> {
    let mut sent: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let services = services();
    for file in program_files() {
        for (at, _) in file.code.match_indices(".send()") {
            let place = format!("{}:{}", file.path, line_of(&file.code, at));
            // A request that is sent again after throttling is made before it is sent.
            let made = match file.code[..at].ends_with("request.clone()") {
                true => {
                    let start = file.code[..at].rfind("let request =").expect("it is made");
                    start + file.code[start..at].find(';').expect("it ends")
                }
                false => at,
            };
            let operation = chain_before(&file.code, made)
                .into_iter()
                .find(|(_, is_empty)| *is_empty)
                .unwrap_or_else(|| panic!("{place}: no operation before `.send()`"))
                .0;
            sent.entry(operation).or_default().push(place);
        }
        // Services without a client are asked by the operation's name.
        let is_of_aws = file.path.starts_with("crates/sources/src/aws/");
        let asked = [".ask(", ".ask_form(", ".ask_list(", ".ask_members("];
        let asked = asked.iter().flat_map(|call| file.text.match_indices(call));
        for (at, _) in asked.filter(|_| is_of_aws) {
            let place = format!("{}:{}", file.path, line_of(&file.text, at));
            let operation = file.text[at..].split('"').nth(1);
            let operation = operation.expect("it is a literal");
            let (_, arguments) = file.text[at..].split_once("(").expect("arguments");
            let service = arguments.trim_start().trim_start_matches('&');
            let service = service.split(',').next().expect("a constant");
            let service = services.get(service);
            let service = service.unwrap_or_else(|| panic!("{place}: no constant"));
            let action = format!("{service}:{operation}");
            sent.entry(action).or_default().push(place);
        }
    }
    sent
}

#[test]
fn the_operations_sent_are_the_actions_of_the_policy() {
    let sent = operations_sent();
    let unique: BTreeSet<&str> = actions().collect();
    assert_eq!(unique.len(), actions().count(), "an action");
    // Of a client by its method, of a service without one by its name.
    let allowed: BTreeSet<String> =
        actions().flat_map(|action| [method_of(action), action.to_owned()]).collect();
    for (operation, places) in &sent {
        assert!(allowed.contains(operation), "`{operation}` is not in the policy: {places:?}");
    }
    for action in actions() {
        assert!(
            sent.contains_key(&method_of(action)) || sent.contains_key(action),
            "{action} is in the policy and never sent"
        );
    }
}

#[test]
fn errors_name_the_actions_of_the_policy() {
    let mut named = BTreeSet::new();
    for file in files_under("crates/sources/src/aws") {
        for quoted in file.text.split('"') {
            let is_action = quoted.split_once(':').is_some_and(|(service, operation)| {
                let services = [
                    "autoscaling", "batch", "ec2", "ecs", "cloudwatch", "cost-optimization-hub",
                    "organizations", "pricing", "sagemaker", "savingsplans", "sts", "tag",
                ];
                services.contains(&service)
                    && operation.starts_with(|c: char| c.is_ascii_uppercase())
                    && operation.chars().all(|c| c.is_ascii_alphanumeric())
            });
            // The condition of a role's trust is not an action.
            if is_action && quoted != "sts:ExternalId" {
                named.insert(quoted.to_owned());
            }
        }
    }
    let actions: BTreeSet<String> = actions().map(str::to_owned).collect();
    assert_eq!(named, actions);
}

#[test]
fn no_operation_changes_anything() {
    // It gives a session in another account, which a role that only reads bounds.
    for action in actions().filter(|action| *action != "sts:AssumeRole") {
        let method = method_of(action);
        let verb = method.split('_').next().expect("a first word");
        assert!(READING.contains(&verb), "{action} does not only read");
    }
    for file in files_under("crates/sources/src/aws") {
        let calls = file.code.match_indices("()").map(|(at, _)| {
            let name: Vec<char> =
                file.code[..at].chars().rev().take_while(|c| is_word(*c)).collect();
            (at, name.into_iter().rev().collect::<String>())
        });
        for (at, name) in calls {
            // An operation has a verb and an object; `send()` has no object.
            let mutates = name.split_once('_').is_some_and(|(verb, _)| MUTATING.contains(&verb));
            let line = line_of(&file.code, at);
            let mutates = mutates && !FIELDS.contains(&name.as_str());
            assert!(!mutates, "{}:{line}: `{name}()`", file.path);
        }
    }
}

#[test]
fn clients_of_the_cloud_exist_in_one_folder_only() {
    for file in program_files() {
        if !file.path.starts_with("crates/sources/src/aws/") {
            assert!(!file.code.contains("aws_sdk_"), "{} names a client", file.path);
        }
    }
}

#[test]
fn the_search_for_operations_sees_through_fields_and_arguments() {
    let code = "let page = clients\n    .ec2\n    .run_instances()\n    .filters(a(b()).build())\n    .send()";
    let end = code.find(".send()").expect("it is there");
    let calls = chain_before(code, end);
    assert_eq!(calls, [("run_instances".to_owned(), true), ("filters".to_owned(), false)]);
    assert_eq!(method_of("ec2:DescribeSpotPriceHistory"), "describe_spot_price_history");
}

#[test]
fn the_policy_is_json_with_exactly_these_actions_in_order() {
    let policy: Value = serde_json::from_str(&iam_policy()).expect("valid JSON");
    assert_eq!(policy["Version"], "2012-10-17");
    let statements = policy["Statement"].as_array().expect("a list");
    assert_eq!(statements.len(), 1);
    assert_eq!(statements[0]["Effect"], "Allow");
    assert_eq!(statements[0]["Resource"], "*");
    let actions: Vec<&str> = statements[0]["Action"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|action| action.as_str().expect("text"))
        .collect();
    assert_eq!(actions, ACTIONS);
    assert!(actions.is_sorted_by(|left, right| left < right));
    assert!(actions.iter().all(|action| !action.contains('*')));
}

#[test]
fn the_documented_policy_is_the_one_that_the_program_prints() {
    let page = std::fs::read_to_string(root().join("docs/iam.md")).expect("a page");
    let (_, rest) = page.split_once("```json\n").expect("the policy");
    let (documented, _) = rest.split_once("```").expect("its end");
    assert_eq!(documented, iam_policy());
    for action in actions() {
        assert!(page.contains(&format!("| `{action}` |")), "no row says why {action} is asked for");
    }
}

#[test]
fn what_an_organization_takes_is_the_actions_and_two_more() {
    let trusted = Trusted::named("111122223333").expect("an account");
    let text = organization_policy(&trusted, &Role::default(), None);
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let member: Value = serde_json::from_str(&iam_policy()).expect("JSON");
    assert_eq!(all["member_policy"], member);
    let statements = all["caller_policy"]["Statement"].as_array();
    let statements = statements.expect("a list");
    let granted: Vec<&str> = statements
        .iter()
        .flat_map(|one| match &one["Action"] {
            Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
            one => one.as_str().into_iter().collect::<Vec<_>>(),
        })
        .collect();
    let expected: Vec<&str> = ORG_ACTIONS.iter().chain(ACTIONS).copied().collect();
    assert_eq!(granted, expected);
    assert_eq!(statements[1]["Resource"], "arn:aws:iam::*:role/GpucostReadOnly");
}

/// A bill is read, and nothing in its bucket is written.
#[test]
fn a_bill_takes_two_actions_on_its_own_prefix() {
    let below = "arn:aws:s3:::billing/cur/gpu*";
    for (prefix, condition, objects) in [
        (
            "cur/gpu/",
            "cur/gpu/*",
            vec!["arn:aws:s3:::billing/cur/gpu", "arn:aws:s3:::billing/cur/gpu/*"],
        ),
        ("", "*", vec!["arn:aws:s3:::billing/*"]),
    ] {
        let text = bill_policy("billing", prefix);
        let policy: Value = serde_json::from_str(&text).expect("JSON");
        let statements = policy["Statement"].as_array().expect("a list");
        let actions = statements.iter().filter_map(|one| one["Action"].as_str());
        let actions: BTreeSet<&str> = actions.collect();
        let expected: BTreeSet<&str> = BILL_ACTIONS.iter().copied().collect();
        assert_eq!(actions, expected);
        let [list, read] = statements.as_slice() else {
            panic!("{text}");
        };
        assert_eq!(list["Resource"], "arn:aws:s3:::billing");
        assert_eq!(list["Condition"]["StringLike"]["s3:prefix"], condition);
        assert_eq!(read["Resource"], serde_json::json!(objects));
    }
    // Another export beside it is not read.
    assert!(!bill_policy("billing", "cur/gpu/").contains(below));
}

/// The bucket of a history is what the user names, and the only thing that is written to.
#[test]
fn a_history_takes_three_actions_on_its_own_prefix() {
    let text = history_policy("nights", "gpu/cost/");
    let policy: Value = serde_json::from_str(&text).expect("JSON");
    let statements = policy["Statement"].as_array().expect("a list");
    let mut actions = BTreeSet::new();
    for one in statements {
        assert_eq!(one["Effect"], "Allow");
        let own = match &one["Action"] {
            Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
            one => one.as_str().into_iter().collect::<Vec<_>>(),
        };
        let is_list = own == ["s3:ListBucket"];
        let resource = one["Resource"].as_str().expect("one resource");
        if is_list {
            assert_eq!(resource, "arn:aws:s3:::nights");
            let prefix = &one["Condition"]["StringLike"]["s3:prefix"];
            assert_eq!(prefix, "gpu/cost/v1/*");
        } else {
            assert_eq!(resource, "arn:aws:s3:::nights/gpu/cost/v1/*");
        }
        actions.extend(own.into_iter().map(str::to_owned));
    }
    let actions: Vec<&str> = actions.iter().map(String::as_str).collect();
    assert_eq!(actions, HISTORY_ACTIONS);
    // What is audited is not written to: none of these is in the other policies.
    assert!(!iam_policy().contains("s3:"));
    let trusted = Trusted::named("111122223333").expect("an account");
    let all = organization_policy(&trusted, &Role::default(), None);
    assert!(!all.contains("s3:"));
}
