//! The tools: which commands they are, and command lines from their arguments. What each
//! argument means is what the help of the flag says.

use super::roots::{McpArgs, Roots};
use crate::cli::command::command;
use crate::cli::setup::SchemaName;
use crate::report::text::fit;
use crate::sources::files::Demo;
use clap::{Arg, ArgAction};
use serde_json::{Map, Value, json};
use std::ffi::{OsStr, OsString};

/// Entries of each list of a document, unless a call asks for others.
const USUAL_LIMIT: usize = 20;
const MOST_LIMIT: usize = 10_000;
/// Characters of a value, and values of a list.
const MOST_CHARS: usize = 1_000;
const MOST_VALUES: usize = 100;
/// Columns of a name in a message.
const SHOWN_COLUMNS: usize = 100;

/// A command as a tool.
#[derive(Debug)]
pub(super) struct Tool {
    /// Also the name of the command.
    pub name: &'static str,
    pub title: &'static str,
    pub about: &'static str,
    /// Names of flags, with `_` for `-`, and of words of the command, with spaces between them.
    arguments: &'static str,
    /// The schema of what it answers with; text without one.
    pub output: Option<SchemaName>,
    /// Whether it is about the AWS account where no estate is named.
    pub is_of_account: bool,
}

/// What the value of an argument is.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Text,
    Texts,
    /// From 1.
    Count,
    Number,
    Switch,
    /// A file in a directory of the server.
    File,
    Demo,
}

/// Declares the tools: name, title, schema of the answer, whether it is about the account, what it is
/// about, and its arguments.
macro_rules! tools {
    ($($name:literal, $title:literal, $output:expr, $is_of_account:literal, $about:literal, $arguments:literal;)*) => {
        pub(super) const TOOLS: &[Tool] = &[$(Tool {
            name: $name,
            title: $title,
            about: $about,
            arguments: $arguments,
            output: $output,
            is_of_account: $is_of_account,
        }),*];
    };
}
tools! {
    "audit", "Audit GPU costs", Some(SchemaName::Audit), true,
        "What GPU instances cost, what is wasted and why, and one plan of actions whose savings add up. Amounts are per month. Pass `from` or `demo`. Lists are in order of importance and shortened to `limit` entries; `summary` is always whole.",
        "from demo region tag exclude_tag group_by risk redact";
    "inventory", "List GPU instances", Some(SchemaName::Inventory), true,
        "GPU instances with shape, state, purchase option and price. Pass `from` or `demo`.",
        "from demo region tag exclude_tag redact";
    "explain", "Explain a figure of an audit", None, true,
        "How a finding, verdict, cost or plan of an audit was derived, step by step. Pass the same `from` or `demo` as to `audit`.",
        "id from demo risk redact";
    "pricing", "Compare GPU prices", Some(SchemaName::Pricing), false,
        "Prices of GPU instance types from the price catalog: on demand, spot, reserved, savings plans and capacity blocks.",
        "types gpu count region provider os sort";
    "select", "Rank instance types for a piece of work", Some(SchemaName::Answer), false,
        "Instance types that suit stated needs, a language model, or a workload of an estate, cheapest first, and why others are out. For a model, with memory, speed and the price of a million tokens.",
        "kind restartable vram vram_total gpus gpu memory nvlink efa arch rate cpu_seconds model params active_params dtype kv_dtype context concurrency input_tokens output_tokens utilization type from demo workload budget_hourly budget_monthly hours_per_month rank_by region";
}

/// Arguments that are numbers, whatever the flag reads.
const NUMBERS: &[&str] = &[
    "budget_hourly", "budget_monthly", "count", "cpu_seconds", "gpus", "hours_per_month",
    "utilization",
];

impl Kind {
    /// Of an argument, by its name and by what the command line takes.
    fn of(name: &str, arg: &Arg) -> Self {
        match (name, arg.get_action()) {
            ("from", _) => Self::File,
            ("demo", _) => Self::Demo,
            (_, ArgAction::SetTrue) => Self::Switch,
            (_, ArgAction::Append) => Self::Texts,
            ("concurrency", _) => Self::Count,
            _ if NUMBERS.contains(&name) => Self::Number,
            _ => Self::Text,
        }
    }
}

/// An argument of a tool, and what the command line makes of it.
struct Argument {
    name: &'static str,
    kind: Kind,
    arg: Arg,
}

impl Tool {
    fn arguments(&self) -> Vec<Argument> {
        let program = command();
        let of_command = program.find_subcommand(self.name);
        let arguments = self.arguments.split(' ').filter_map(|name| {
            let arg = of_command?.get_arguments().find(|arg| is_named(arg, name))?;
            Some(Argument { name, kind: Kind::of(name, arg), arg: arg.clone() })
        });
        arguments.collect()
    }

    pub(super) fn named(name: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == name)
    }

    /// The JSON schema of its arguments.
    pub(super) fn input_schema(&self) -> Map<String, Value> {
        let arguments = self.arguments();
        let properties =
            arguments.iter().map(|argument| (argument.name.to_owned(), argument.property()));
        let mut properties: Map<String, Value> = properties.collect();
        if self.output.is_some() {
            let limit = json!({
                "type": "integer", "minimum": 1, "maximum": MOST_LIMIT, "default": USUAL_LIMIT,
                "description": "Most entries of each list of the document",
            });
            properties.insert("limit".to_owned(), limit);
        }
        let required = arguments.iter().filter(|argument| argument.arg.is_required_set());
        let schema = [
            ("type", json!("object")),
            ("properties", Value::Object(properties)),
            ("required", required.map(|argument| argument.name).collect()),
            ("additionalProperties", json!(false)),
        ];
        Map::from_iter(schema.map(|(key, value)| (key.to_owned(), value)))
    }

    /// The command line that answers a call.
    ///
    /// # Errors
    /// When an argument is not as its schema says, names a file elsewhere, or would need the
    /// account without `live`.
    pub(super) fn command_line(
        &self,
        given: &Map<String, Value>,
        roots: &Roots,
        server: &McpArgs,
    ) -> Result<Vec<OsString>, String> {
        self.check_names(given)?;
        let mut words: Vec<OsString> = vec!["gpucost".into(), self.name.into()];
        let format = if self.output.is_some() { "--format=json" } else { "--format=table" };
        words.push(format.into());
        let mut positional = Vec::new();
        for argument in self.arguments() {
            let name = argument.name;
            let Some(value) = stated(given, name) else { continue };
            let values = values(name, argument.kind, value, roots)?;
            if argument.arg.is_positional() {
                positional.extend(values);
            } else if matches!(argument.kind, Kind::Switch) {
                words.extend(values);
            } else {
                words.extend(values.into_iter().map(|value| option(name, value)));
            }
        }
        if self.is_of_account && ["from", "demo"].iter().all(|key| stated(given, key).is_none()) {
            words.extend(of_account(given, server)?);
        }
        // Whatever they begin with, they are not flags and not actions.
        if !positional.is_empty() {
            words.push("--".into());
            words.extend(positional);
        }
        Ok(words)
    }

    fn check_names(&self, given: &Map<String, Value>) -> Result<(), String> {
        let mut known: Vec<&str> = self.arguments.split(' ').collect();
        if self.output.is_some() {
            known.push("limit");
        }
        if let Some(unknown) = given.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(format!(
                "error: unknown argument `{}`\nhint: valid arguments: {}",
                fit(unknown, SHOWN_COLUMNS),
                known.join(", ")
            ));
        }
        let is_missing = |argument: &Argument| {
            argument.arg.is_required_set() && stated(given, argument.name).is_none()
        };
        match self.arguments().into_iter().find(is_missing) {
            Some(Argument { name, .. }) => {
                Err(format!("error: missing argument `{name}`\nhint: pass `{name}`"))
            }
            None => Ok(()),
        }
    }
}

/// How many entries each list has.
///
/// # Errors
/// When `limit` is not such a number.
pub(super) fn limit(given: &Map<String, Value>) -> Result<usize, String> {
    let Some(limit) = stated(given, "limit") else { return Ok(USUAL_LIMIT) };
    let limit = limit.as_u64().and_then(|limit| usize::try_from(limit).ok());
    limit.filter(|limit| (1..=MOST_LIMIT).contains(limit)).ok_or_else(|| {
        format!("error: invalid `limit`\nhint: pass a whole number from 1 to {MOST_LIMIT}")
    })
}

/// Flags for the account, which `explain` reads as the last audit of it left it.
fn of_account(given: &Map<String, Value>, server: &McpArgs) -> Result<Vec<OsString>, String> {
    if !server.live {
        return Err(
            "error: this server does not read an account\nhint: pass `from` with a recorded \
             estate, or `demo`; `gpucost mcp --live` starts one that does"
                .to_owned(),
        );
    }
    let mut words = vec![option("max_api_cost", server.max_api_cost.to_string())];
    words.extend(server.profile.iter().map(|name| option("profile", name)));
    if stated(given, "region").is_none() {
        words.extend(server.region.iter().map(|names| option("region", names)));
    }
    Ok(words)
}

fn hyphens(name: &str) -> String {
    name.replace('_', "-")
}

/// Name and value in one word, so that no value is another flag.
pub(super) fn option(name: &str, value: impl AsRef<OsStr>) -> OsString {
    let mut word = OsString::from(format!("--{}=", hyphens(name)));
    word.push(value);
    word
}

fn is_named(arg: &Arg, name: &str) -> bool {
    arg.get_long().map_or(arg.get_id() == name, |long| long == hyphens(name))
}

/// An argument that is there; `null` is one that is not.
fn stated<'a>(given: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    given.get(name).filter(|value| !value.is_null())
}

impl Argument {
    /// Its schema.
    fn property(&self) -> Value {
        let text = json!({"type": "string", "maxLength": MOST_CHARS});
        let mut property = match self.kind {
            Kind::Text | Kind::File => text,
            Kind::Texts => json!({"type": "array", "items": text, "maxItems": MOST_VALUES}),
            Kind::Count => json!({"type": "integer", "minimum": 1}),
            Kind::Number => json!({"type": "number"}),
            Kind::Switch => json!({"type": "boolean"}),
            Kind::Demo => json!({"type": "string", "enum": demo_names()}),
        };
        let names = self.arg.get_possible_values();
        if matches!(self.kind, Kind::Text) && !names.is_empty() {
            let names: Vec<&str> = names.iter().map(|name| name.get_name()).collect();
            property["enum"] = json!(names);
        }
        let about = match self.kind {
            Kind::File => Some("Recorded estate, in a directory of the server".to_owned()),
            Kind::Demo => Some("Built-in demo estate".to_owned()),
            _ => self.arg.get_help().map(ToString::to_string),
        };
        if let Some(about) = about {
            property["description"] = json!(about);
        }
        property
    }
}

fn demo_names() -> Vec<&'static str> {
    Demo::ALL.iter().map(|demo| demo.name()).collect()
}

fn invalid(name: &str, expected: &str) -> String {
    format!("error: invalid `{name}`\nhint: pass {expected}")
}

/// The values of an argument as words; a switch is the word itself.
fn values(name: &str, kind: Kind, value: &Value, roots: &Roots) -> Result<Vec<OsString>, String> {
    let word = match kind {
        Kind::Texts => {
            let expected = || invalid(name, &format!("a list of at most {MOST_VALUES} texts"));
            let list = value.as_array().ok_or_else(expected)?;
            if list.len() > MOST_VALUES {
                return Err(expected());
            }
            return list.iter().map(|value| text(name, value).map(OsString::from)).collect();
        }
        Kind::Count => {
            let count = value.as_u64().filter(|count| *count > 0);
            count.ok_or_else(|| invalid(name, "a whole number from 1"))?.to_string().into()
        }
        Kind::Number => match value {
            Value::Number(number) => number.to_string().into(),
            _ => return Err(invalid(name, "a number")),
        },
        Kind::File => roots.file(&text(name, value)?)?.into_os_string(),
        Kind::Demo => {
            let names = demo_names();
            let known = value.as_str().filter(|demo| names.contains(demo));
            let expected = || invalid(name, &format!("one of {}", names.join(", ")));
            known.ok_or_else(expected)?.into()
        }
        Kind::Switch => match value {
            Value::Bool(true) => format!("--{}", hyphens(name)).into(),
            Value::Bool(false) => return Ok(Vec::new()),
            _ => return Err(invalid(name, "true or false")),
        },
        Kind::Text => text(name, value)?.into(),
    };
    Ok(vec![word])
}

/// A text; models write some of them as numbers.
fn text(name: &str, value: &Value) -> Result<String, String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return Err(invalid(name, "a text")),
    };
    if text.chars().count() > MOST_CHARS {
        return Err(invalid(name, &format!("a text of at most {MOST_CHARS} characters")));
    }
    Ok(text)
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
