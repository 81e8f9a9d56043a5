//! The document that `terraform show -json` writes for a plan, read once from
//! front to back: what is not about instances is dropped as it goes by.

use super::address::Address;
use super::kinds::{ENDPOINT, KINDS, ONLY_NAMES};
use super::sieve::{NOTHING, Node, Room, Sieve};
use crate::domain::RUNS_NOTHING;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Resource types that run instances.
pub(super) const RUNNING: [&str; 6] = [
    "aws_instance",
    "aws_spot_instance_request",
    "aws_autoscaling_group",
    "aws_eks_node_group",
    "aws_spot_fleet_request",
    "aws_ec2_fleet",
];
pub(super) const LAUNCH_TEMPLATE: &str = "aws_launch_template";
pub(super) const LAUNCH_CONFIGURATION: &str = "aws_launch_configuration";

/// Names of accelerated types that a gap states; the others are counted.
const MOST_NAMES: usize = 3;

/// A change of a resource that runs instances or says what they are.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) address: String,
    pub(super) parts: Address,
    pub(super) resource_type: String,
    /// Its key `change`: actions, before, after, after_unknown.
    pub(super) change: Node,
    /// Accelerated types that any of its attributes names, today and afterwards; absent on a
    /// side without, and for what is read by its own attributes.
    pub(super) names: [Option<String>; 2],
    /// Its provider, where that is not one of AWS.
    pub(super) other_provider: Option<String>,
}

/// What is kept of a plan.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) format_version: Option<String>,
    pub(super) terraform_version: Option<String>,
    /// Whether it lists changes.
    pub(super) is_plan: bool,
    /// Whether it holds values without any changes, as a state does.
    pub(super) is_state: bool,
    /// Whether planning ended in an error.
    pub(super) errored: bool,
    /// Whether some changes are put off to another run.
    pub(super) deferred: bool,
    pub(super) resources: u64,
    pub(super) other_providers: BTreeMap<String, u64>,
    pub(super) changes: Vec<Change>,
    pub(super) variables: Node,
    pub(super) configuration: Node,
}

impl<'de> serde::Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TopLevel)
    }
}

struct TopLevel;

impl<'de> Visitor<'de> for TopLevel {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plan object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
        let mut found = Document::default();
        let room = Room::new();
        let (mut lists_changes, mut lists_values) = (false, false);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "format_version" => {
                    found.format_version = text(map.next_value_seed(Sieve::of(&key, &room))?);
                    refuse_newer(found.format_version.as_deref())?;
                }
                "terraform_version" => {
                    found.terraform_version = text(map.next_value_seed(Sieve::of(&key, &room))?);
                }
                "errored" => {
                    found.errored =
                        map.next_value_seed(Sieve::of(&key, &room))? == Node::Bool(true);
                }
                "complete" => {
                    found.deferred |=
                        map.next_value_seed(Sieve::of(&key, &room))? == Node::Bool(false);
                }
                "deferred_changes" | "deferred_actions" | "deferred_action_invocations" => {
                    let list = map.next_value_seed(Sieve::of(&key, &room))?;
                    found.deferred |= !list.is_empty();
                }
                "variables" => found.variables = map.next_value_seed(Sieve::of(&key, &room))?,
                "configuration" => {
                    found.configuration = map.next_value_seed(Sieve::of(&key, &room))?
                }
                "resource_changes" => {
                    found.is_plan = true;
                    lists_changes = map.next_value_seed(Changes(&mut found, &room))?;
                }
                "planned_values" => {
                    found.is_plan = true;
                    let values = map.next_value::<Option<Values>>()?.unwrap_or_default();
                    lists_values = values.lists_resources();
                }
                "values" => {
                    found.is_state = true;
                    map.next_value::<IgnoredAny>()?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        // Without its changes, a plan with resources would read as one without any.
        if lists_values && !lists_changes {
            return Err(A::Error::custom(
                "`planned_values` lists resources, but `resource_changes` lists none",
            ));
        }
        Ok(found)
    }
}

/// The planned values of a plan, of which only whether they list resources matters.
#[derive(Debug, Default, serde::Deserialize)]
struct Values {
    root_module: Option<Module>,
}

/// A module of the planned values.
#[derive(Debug, Default, serde::Deserialize)]
struct Module {
    resources: Option<Vec<IgnoredAny>>,
    child_modules: Option<Vec<IgnoredAny>>,
}

impl Values {
    fn lists_resources(&self) -> bool {
        let module = self.root_module.as_ref();
        module.is_some_and(|module| {
            let mut lists = [&module.resources, &module.child_modules].into_iter();
            lists.any(|list| list.as_ref().is_some_and(|list| !list.is_empty()))
        })
    }
}

fn text(node: Node) -> Option<String> {
    match node {
        Node::Text(text) => Some(text),
        _ => None,
    }
}

/// A newer layout is refused before anything is made of it: nothing is guessed.
fn refuse_newer<E: Error>(version: Option<&str>) -> Result<(), E> {
    let version = version.unwrap_or("not a string");
    match version.split('.').next().map(str::parse::<u64>) {
        Some(Ok(0 | 1)) => Ok(()),
        Some(Ok(_)) => Err(E::custom(format!(
            "format version {version} is newer than the supported 1.x"
        ))),
        _ => Err(E::custom(format!(
            "`format_version` is not a valid version: {version}"
        ))),
    }
}

/// The list of changes, one by one.
struct Changes<'a>(&'a mut Document, &'a Room);

impl<'de> DeserializeSeed<'de> for Changes<'_> {
    /// Whether it lists any.
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Changes<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`resource_changes` as a list")
    }

    // A plan without changes may say null.
    fn visit_unit<E: Error>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<bool, A::Error> {
        let mut lists_any = false;
        // Deferred changes before it have the same form.
        self.1.take_names();
        while let Some(element) = list.next_element_seed(Sieve::of("resource_changes", self.1))? {
            lists_any = true;
            self.0.add(element, self.1.take_names());
        }
        Ok(lists_any)
    }
}

impl Document {
    fn add(&mut self, element: Node, names: [BTreeSet<String>; 2]) {
        if element.get("mode").text() == Some("data") {
            return;
        }
        self.resources += 1;
        let resource_type = element.get("type").text().unwrap_or_default();
        let provider = provider(element.get("provider_name").text(), resource_type);
        let is_of_aws = provider == "aws";
        if !is_of_aws {
            *self.other_providers.entry(provider.to_owned()).or_insert(0) += 1;
        }
        let change = element.get("change");
        let is_read = is_of_aws
            && (RUNNING.contains(&resource_type)
                || [LAUNCH_TEMPLATE, LAUNCH_CONFIGURATION, ENDPOINT].contains(&resource_type)
                || KINDS.iter().any(|kind| kind.resource_type == resource_type));
        let runs_nothing = RUNS_NOTHING.contains(&provider) || ONLY_NAMES.contains(&resource_type);
        let names = if is_read || runs_nothing {
            [None, None]
        } else {
            let [before, after] = names;
            [
                joined(before, resource_type, change.get("before"), &NOTHING),
                joined(
                    after,
                    resource_type,
                    change.get("after"),
                    change.get("after_unknown"),
                ),
            ]
        };
        let matters = is_read || names.iter().any(Option::is_some);
        let Some(address) = element.get("address").text().filter(|_| matters) else {
            return;
        };
        // What replaces it is another change of the same address.
        let deposed = element.get("deposed").text();
        self.changes.push(Change {
            parts: Address::new(address),
            address: deposed.map_or_else(
                || address.to_owned(),
                |key| format!("{address} (deposed {key})"),
            ),
            resource_type: resource_type.to_owned(),
            change: change.clone(),
            names,
            other_provider: (!["aws", "awscc"].contains(&provider)).then(|| provider.to_owned()),
        });
    }
}

/// Names as a sentence lists them. A stack whose template stands elsewhere, or is known only
/// after apply, may run anything.
fn joined(
    names: BTreeSet<String>,
    resource_type: &str,
    side: &Node,
    unknown: &Node,
) -> Option<String> {
    let is_open = |key: &str| unknown.get(key) == &Node::Bool(true);
    let template = if side.get("template_url").text().is_some() {
        Some("a template at a URL")
    } else if ["template_body", "template_url"].into_iter().any(is_open) {
        Some("a template that is known only after apply")
    } else {
        None
    };
    let template = template.filter(|_| resource_type.contains("cloudformation_stack"));
    let all: Vec<String> = names
        .into_iter()
        .chain(template.map(str::to_owned))
        .collect();
    let more = all.len().saturating_sub(MOST_NAMES);
    let first = all.get(..MOST_NAMES).unwrap_or(&all).join(", ");
    match more {
        0 => (!first.is_empty()).then_some(first),
        more => Some(format!("{first} and {more} more")),
    }
}

/// The short name of a provider, such as `aws` of
/// `registry.terraform.io/hashicorp/aws`; of a plan without, what the type begins
/// with.
fn provider<'a>(name: Option<&'a str>, resource_type: &'a str) -> &'a str {
    match name {
        Some(name) => name.rsplit('/').next().unwrap_or(name),
        None => resource_type.split('_').next().unwrap_or(resource_type),
    }
}
