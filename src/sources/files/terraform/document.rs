//! The document that `terraform show -json` writes for a plan, read once from
//! front to back: what is not about instances is dropped as it goes by.

use super::address::Address;
use super::sieve::{MOST_NODES, Node, Sieve};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::cell::Cell;
use std::collections::BTreeMap;
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

/// A change of a resource that runs instances or says what they are.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) address: String,
    pub(super) parts: Address,
    pub(super) resource_type: String,
    /// Its key `change`: actions, before, after, after_unknown.
    pub(super) change: Node,
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
        let room = Cell::new(MOST_NODES);
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
                    found.deferred =
                        map.next_value_seed(Sieve::of(&key, &room))? == Node::Bool(false);
                }
                "variables" => found.variables = map.next_value_seed(Sieve::of(&key, &room))?,
                "configuration" => {
                    found.configuration = map.next_value_seed(Sieve::of(&key, &room))?
                }
                "resource_changes" => {
                    found.is_plan = true;
                    map.next_value_seed(Changes(&mut found, &room))?;
                }
                "planned_values" => {
                    found.is_plan = true;
                    map.next_value::<IgnoredAny>()?;
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
        Ok(found)
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
struct Changes<'a>(&'a mut Document, &'a Cell<u32>);

impl<'de> DeserializeSeed<'de> for Changes<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Changes<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`resource_changes` as a list")
    }

    // A plan without changes may say null.
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(element) = list.next_element_seed(Sieve::of("resource_changes", self.1))? {
            self.0.add(element);
        }
        Ok(())
    }
}

impl Document {
    fn add(&mut self, element: Node) {
        if element.get("mode").text() == Some("data") {
            return;
        }
        self.resources += 1;
        let resource_type = element.get("type").text().unwrap_or_default();
        let provider = provider(element.get("provider_name").text(), resource_type);
        if provider != "aws" {
            *self.other_providers.entry(provider.to_owned()).or_insert(0) += 1;
            return;
        }
        let matters = RUNNING.contains(&resource_type)
            || [LAUNCH_TEMPLATE, LAUNCH_CONFIGURATION].contains(&resource_type);
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
            change: element.get("change").clone(),
        });
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
