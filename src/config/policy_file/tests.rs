use super::*;
use crate::analysis::gate::Scope;
use crate::domain::{ActionKind, Currency, Money, WorkloadKind};
use proptest::prelude::*;
use rust_decimal::Decimal;

fn parse(text: &str) -> Result<GatePolicy, Vec<Problem>> {
    parse_policy(text, "policy.toml")
}

#[test]
fn every_rule_keeps_its_line() {
    let text = r#"[[budget]]
monthly_limit = 50_000

[[budget]]
tag = "team=ml=2"
monthly_limit = 99.5
currency = "CNY"

[waste]
monthly_limit = 100
percent_limit = 7.5

[utilization]
training = 40

[tags]
required = [
    "team",
    "owner",
]

[[forbid]]
rule = "idle-gpu"
severity = "warning"

[[suppress]]
rule = "policy/budget"
workload = "everything"
owner = "a@example.com"
reason = "until the move"
expires = 2026-12-31
monthly_limit = 12.5
"#;
    let policy = parse(text).expect("valid");
    assert_eq!(policy.rules(), 8);
    let accepted = policy.suppressions[0].monthly_limit;
    assert_eq!(accepted, Some(Decimal::new(125, 1)));
    assert_eq!(policy.budgets[0].scope, Scope::Everything);
    assert_eq!(policy.budgets[0].line, 1);
    let tag = Scope::Tag { key: "team".to_owned(), value: "ml=2".to_owned() };
    assert_eq!(policy.budgets[1].scope, tag);
    let limit = Money::new(Decimal::new(995, 1), Currency::Cny);
    assert_eq!(policy.budgets[1].monthly_limit, limit);
    assert_eq!(policy.budgets[1].line, 4);
    let waste = policy.waste.expect("stated");
    assert_eq!(waste.monthly.expect("stated").1, 10);
    assert_eq!(waste.percent, Some((Decimal::new(75, 1), 11)));
    assert_eq!(policy.utilization[&WorkloadKind::Training].line, 14);
    let tags: Vec<(&str, usize)> =
        policy.required_tags.iter().map(|tag| (tag.key.as_str(), tag.line)).collect();
    assert_eq!(tags, [("team", 18), ("owner", 19)]);
    assert_eq!(policy.forbidden[0].line, 22);
    assert_eq!(policy.suppressions[0].line, 26);
    assert_eq!(policy.suppressions[0].expires, jiff::civil::date(2026, 12, 31));
}

#[test]
fn every_slip_is_shown_with_its_line_and_what_was_meant() {
    let text = r#"[[budget]]
acount = "1"
monthly_limit = -1

[wate]

[[forbid]]
rule = "idle-gpus"

[[suppress]]
rule = "idle-gpu"
workload = "i-1"
expires = "tomorrow"

[allow]
types = ["g5"]
regions = []

[prices]
max_age = "old"

[suppressions]
expired = "ignore"
"#;
    let problems = parse(text).expect_err("many errors");
    let shown: Vec<String> =
        problems.iter().map(|problem| format!("{}: {}", problem.line, problem.message)).collect();
    let begins = [
        "2: unknown key `acount` (did you mean account?); valid keys: account,",
        "3: expected an amount of zero or more",
        "5: unknown key `wate` (did you mean waste?)",
        "8: `idle-gpus` is not a rule (did you mean idle-gpu",
        "10: incomplete [[suppress]]: missing `owner`, `reason`",
        "13: expected a date such as 2026-12-31",
        "16: `g5` matches no instance type; did you mean g5.*?",
        "17: empty list; add an entry",
        "20: `old` is not a duration",
        "23: `ignore` is not one of fail, warn",
    ];
    assert_eq!(shown.len(), begins.len(), "{shown:#?}");
    for (shown, begin) in shown.iter().zip(begins) {
        assert!(shown.starts_with(begin), "{shown}");
    }
}

#[test]
fn names_that_nothing_can_have_are_refused_with_what_was_meant() {
    for (text, line, message) in [
        (
            "[deny]\ntypes = [\n  \"p4d.*\",\n  \"G6E.12XLARGE\",\n]\n",
            4,
            "`G6E.12XLARGE` matches no instance type: instance types are lowercase; did you \
             mean g6e.12xlarge?",
        ),
        (
            "[allow]\ntypes = [\"g6e.12xlarg\"]\n",
            2,
            "`g6e.12xlarg` matches no instance type; did you mean g6e.12xlarge?",
        ),
        (
            "[deny]\nregions = [\"us-esat-1\"]\n", 2,
            "`us-esat-1` matches no region; did you mean us-east-1?",
        ),
        (
            "[[budget]]\nmonthly_limit = 1\nregion = \"us-esat-1\"\n", 3,
            "`us-esat-1` matches no region; did you mean us-east-1?",
        ),
        (
            "[[budget]]\nmonthly_limit = 1\nregion = \"us-east-*\"\n",
            3,
            "`us-east-*` is a pattern, but a budget covers one region; add a [[budget]] for each",
        ),
        (
            "[[budget]]\nmonthly_limit = 1\naccount = \"12345\"\n", 3,
            "`12345` is not an account ID: account IDs have 12 digits",
        ),
    ] {
        let problems = parse(text).expect_err(text);
        let expected = Problem { line, message: message.to_owned() };
        assert_eq!(problems, [expected], "{text}");
    }
    // What AWS may sell one day can be denied before this program knows it.
    parse("[deny]\ntypes = [\"p9.*\"]\nregions = [\"us-east-3\"]\n").expect("may come");
}

#[test]
fn a_policy_without_a_rule_is_refused() {
    for text in ["", "# nothing\n", "[suppressions]\nexpired = \"warn\"\n", "[waste]\n"] {
        let problems = parse(text).expect_err("no rule");
        assert!(problems[0].message.contains("no rule is defined"), "{text}");
    }
}

#[test]
fn tables_differ_from_lists_of_tables() {
    for (text, expected) in [
        ("[budget]\nmonthly_limit = 1\n", "[[budget]]"),
        ("[[waste]]\npercent_limit = 1\n", "[waste]"),
        ("tags = \"team\"\n", "[tags]"),
        ("[[forbid]]\n", "neither a rule nor a severity"),
        ("[[budget]]\n", "[[budget]]: missing `monthly_limit`"),
        (
            "[[budget]]\nmonthly_limit = 1\n[[budget]]\nmonthly_limit = 2\n",
            "the first is on line 1",
        ),
        (
            "[[budget]]\naccount = \"111122223333\"\nregion = \"us-east-1\"\nmonthly_limit = 1\n",
            "one account, one region or one tag",
        ),
        ("[[budget]]\ntag = \"team\"\nmonthly_limit = 1\n", "team=ml"),
        ("[waste]\npercent_limit = 101\n", "from 0 to 100"),
    ] {
        let problems = parse(text).expect_err(text);
        let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
        assert!(messages.join("\n").contains(expected), "{text}: {messages:?}");
    }
}

#[test]
fn the_starting_policy_is_read_with_everything_it_offers() {
    parse(STARTING_POLICY).expect("as it is written");
    let is_example = |line: &str| {
        let rest = line.trim_start_matches('#').trim_start();
        rest.starts_with('[') || rest.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '))
    };
    let examples: String = STARTING_POLICY
        .lines()
        .filter(|line| is_example(line))
        .map(|line| format!("{}\n", line.trim_start_matches('#').trim_start()))
        .collect();
    let policy = parse(&examples).expect("with every example");
    assert_eq!(policy.suppressions.len(), 1);
    let schema = policy_schema();
    for (table, described) in schema["properties"].as_object().expect("tables") {
        assert!(examples.contains(&format!("[{table}]")), "{table}");
        let keys = &described.get("items").unwrap_or(described)["properties"];
        for key in keys.as_object().expect("keys").keys() {
            let offered = examples.contains(&format!("{key} = "));
            let of_scope = ["account", "region", "unknown"].contains(&key.as_str());
            assert!(offered || of_scope, "{table}.{key}");
        }
    }
}

#[test]
fn rejected_actions_need_no_rule_beside_them() {
    let text = "[[reject]]\nworkload = \"i-1\"\naction = \"spot\"\nreason = \"no restarts\"\n";
    let rejected = parse_rejected(text).expect("valid");
    let expected = RejectedAction {
        workload: "i-1".to_owned(),
        action: ActionKind::Spot,
        reason: "no restarts".to_owned(),
    };
    assert_eq!(rejected, [expected]);
    // A gate of it alone would let everything pass.
    assert!(parse(text).is_err());
    assert_eq!(parse_rejected("[waste]\npercent_limit = 1\n"), Ok(Vec::new()));
    for (text, expected) in [
        ("[[reject]]\n", "missing `workload`, `action`, `reason`"),
        ("[[reject]]\nworkload = \"w\"\naction = \"spot\"\n", "[[reject]]: missing `reason`"),
        ("[[reject]]\naction = \"sopt\"\n", "did you mean "),
        ("[[reject]]\nworkload = \"\"\n", "expected a quoted string"),
        ("[[reject]]\nactions = [\"spot\"]\n", "unknown key `actions`"),
        ("[reject]\nworkload = \"w\"\n", "double brackets"),
    ] {
        let problems = parse_rejected(text).expect_err(text);
        let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
        assert!(messages.join("\n").contains(expected), "{text}: {messages:?}");
    }
}

proptest! {
    /// Whatever is in the file, it is read or refused with lines of the file.
    #[test]
    fn any_text_is_read_or_refused(
        lines in prop::collection::vec(
            prop_oneof![
                r"\[\[(budget|forbid|suppress|waste)\]\]",
                r"\[(waste|utilization|tags|allow|deny|prices|suppressions|budget)\]",
                r#"(monthly_limit|percent_limit|training|minimum_percent) = (-?[0-9]{1,30}(\.[0-9]{1,30})?|nan|inf|1e9|"x")"#,
                r#"(tag|rule|workload|severity|max_age|expired|types|required|expires) = (".{0,9}"|\[\]|\["g5", 1\]|2026-13-01|2026-01-01|\{\})"#,
                ".{0,20}",
            ],
            0..12,
        )
    ) {
        let text = lines.join("\n");
        if let Err(problems) = parse(&text) {
            prop_assert!(!problems.is_empty());
            let last = text.matches('\n').count() + 1;
            for problem in problems {
                prop_assert!((1..=last).contains(&problem.line), "{problem:?}");
            }
        }
    }
}

const TITLE: &str = "# Actions that were chosen";
const CHOICE: &str = "# Actions that were chosen\n#   stop i-1\n\n[[reject]]\n\
                      workload = \"i-2\"\naction = \"spot\"\nreason = \"new\"\n";

#[test]
fn every_rule_and_comment_stays_and_the_choice_is_replaced() {
    let policy = "# Limits\n[waste]\npercent_limit = 10\n\n# Ours\n[[reject]]\n\
                  workload = \"i-1\" # [waste]\naction = \"stop\"\nreason = \"old\"\n\n\
                  # Idle\n[[forbid]]\nrule = \"idle-gpu\"\n";
    let rules = "# Limits\n[waste]\npercent_limit = 10\n\n# Ours\n# Idle\n[[forbid]]\n\
                 rule = \"idle-gpu\"\n";
    let once = with_choice(policy, CHOICE, TITLE).expect("it has other tables");
    assert_eq!(once, format!("{rules}\n{CHOICE}"));
    // A second choice takes the place of the first.
    assert_eq!(with_choice(&once, CHOICE, TITLE), Some(once.clone()));
}

#[test]
fn what_is_only_a_choice_is_replaced_whole() {
    for text in ["", "not TOML", "# Mine\n", CHOICE] {
        let written = with_choice(text, CHOICE, TITLE);
        assert_eq!(written.as_deref(), Some(CHOICE), "{text}");
    }
}

#[test]
fn what_cannot_be_kept_is_refused() {
    let rule = "[waste]\npercent_limit = 10\n";
    for odd in [
        format!("reject = []\n{rule}"),
        format!("{rule}[[reject]]\nreason = \"\"\"\n[deny]\ntypes = []\n\"\"\"\n"),
        format!("{rule}[[ reject ]]\nreason = \"r\"\n"),
    ] {
        assert_eq!(with_choice(&odd, CHOICE, TITLE), None, "{odd}");
    }
}
