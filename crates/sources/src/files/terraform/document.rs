//! The document that `terraform show -json` writes for a plan, read once from
//! front to back: what is not about instances is dropped as it goes by.

use super::address::Address;
use super::kinds::{ENDPOINT, KINDS, ONLY_NAMES, PARAMETERS, may_name_accelerator};
use super::sieve::{NOTHING, Node, Notes, Room, Sieve};
use crate::domain::RUNS_NOTHING;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Resource types that run instances.
pub(super) const RUNNING: [&str; 6] = [
    "aws_instance", "aws_spot_instance_request", "aws_autoscaling_group", "aws_eks_node_group",
    "aws_spot_fleet_request", "aws_ec2_fleet",
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
    /// Attributes that may name an accelerated type and are known only after apply; none of
    /// what is read by its own attributes.
    pub(super) open: Vec<String>,
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
    /// Names of the stack sets that it has, whose instances run what their templates state.
    stack_sets: BTreeSet<String>,
    /// Addresses that it lists changes of.
    listed: BTreeSet<String>,
    /// Addresses of planned resources that no change is of.
    pub(super) unchanged: BTreeSet<String>,
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
        let mut document = Document::default();
        let room = Room::new();
        let (mut lists_changes, mut lists_values) = (false, false);
        let mut planned = BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            let sieve = Sieve::of(&key, &room);
            match key.as_str() {
                "format_version" => {
                    document.format_version = text(map.next_value_seed(sieve)?);
                    refuse_newer(document.format_version.as_deref())?;
                }
                "terraform_version" => {
                    document.terraform_version = text(map.next_value_seed(sieve)?);
                }
                "errored" => {
                    let said = map.next_value_seed(sieve)?;
                    document.errored = ![Node::Null, Node::Bool(false)].contains(&said);
                }
                "complete" => {
                    let said = map.next_value_seed(sieve)?;
                    document.deferred |= ![Node::Null, Node::Bool(true)].contains(&said);
                }
                "deferred_changes" | "deferred_actions" | "deferred_action_invocations" => {
                    document.deferred |= !map.next_value_seed(sieve)?.is_empty();
                }
                "variables" => document.variables = map.next_value_seed(sieve)?,
                "configuration" => document.configuration = map.next_value_seed(sieve)?,
                "resource_changes" => {
                    document.is_plan = true;
                    lists_changes = map.next_value_seed(Changes(&mut document, &room))?;
                }
                "planned_values" => {
                    document.is_plan = true;
                    let values = map.next_value::<Option<Values>>()?.unwrap_or_default();
                    lists_values =
                        values.root_module.is_some_and(|module| module.list(&mut planned));
                }
                "values" => {
                    document.is_state = true;
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
        let sets = std::mem::take(&mut document.stack_sets);
        document.changes.retain(|change| {
            let name = change.change.get("after").get(STACK_SET_NAME).text();
            name.is_none_or(|name| !sets.contains(name))
        });
        planned.retain(|address| !document.listed.contains(address));
        document.unchanged = planned;
        Ok(document)
    }
}

/// The planned values of a plan, of which only addresses matter.
#[derive(Debug, Default, serde::Deserialize)]
struct Values {
    root_module: Option<Module>,
}

/// A module of the planned values.
#[derive(Debug, serde::Deserialize)]
struct Module {
    resources: Option<Vec<Planned>>,
    child_modules: Option<Vec<Module>>,
}

/// The address of a planned resource that may run something.
#[derive(Debug, serde::Deserialize)]
#[serde(from = "PlannedValue")]
struct Planned(Option<String>);

/// A resource of the planned values.
#[derive(Debug, serde::Deserialize)]
struct PlannedValue {
    address: Option<String>,
    mode: Option<String>,
    #[serde(rename = "type")]
    resource_type: Option<String>,
    provider_name: Option<String>,
}

impl From<PlannedValue> for Planned {
    fn from(value: PlannedValue) -> Self {
        let resource_type = value.resource_type.as_deref().unwrap_or_default();
        let provider = provider(value.provider_name.as_deref(), resource_type);
        let is_data = value.mode.as_deref() == Some("data");
        Self(value.address.filter(|_| !is_data && !RUNS_NOTHING.contains(&provider)))
    }
}

impl Module {
    /// Takes the addresses of what may run something, and says whether there are resources at all.
    fn list(self, addresses: &mut BTreeSet<String>) -> bool {
        let resources = self.resources.unwrap_or_default();
        let mut lists_any = !resources.is_empty();
        addresses.extend(resources.into_iter().filter_map(|Planned(address)| address));
        for module in self.child_modules.unwrap_or_default() {
            lists_any |= module.list(addresses);
        }
        lists_any
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
        Some(Ok(_)) => {
            Err(E::custom(format!("format version {version} is newer than the supported 1.x")))
        }
        _ => Err(E::custom(format!("`format_version` is not a valid version: {version}"))),
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
        self.1.take_notes();
        while let Some(element) = list.next_element_seed(Sieve::of("resource_changes", self.1))? {
            lists_any = true;
            if !is_change(&element) {
                return Err(A::Error::custom(
                    "an element of `resource_changes` lacks an address, a type, actions, or what \
                     it creates",
                ));
            }
            self.0.add(element, self.1.take_notes());
        }
        Ok(lists_any)
    }
}

/// Whether an element says what every change says.
fn is_change(element: &Node) -> bool {
    let change = element.get("change");
    let actions = change.get("actions").elements();
    let creates = actions.iter().any(|action| action.text() == Some("create"));
    let is_shown =
        change.get("after") != &Node::Null || change.get("after_unknown") == &Node::Bool(true);
    ["address", "type"].iter().all(|key| element.get(key).text().is_some())
        && !actions.is_empty()
        && (is_shown || !creates)
}

impl Document {
    fn add(&mut self, element: Node, notes: Notes) {
        if element.get("mode").text() == Some("data") {
            return;
        }
        self.resources += 1;
        self.listed.extend(element.get("address").text().map(str::to_owned));
        let resource_type = element.get("type").text().unwrap_or_default();
        let provider = provider(element.get("provider_name").text(), resource_type);
        if provider != "aws" {
            *self.other_providers.entry(provider.to_owned()).or_insert(0) += 1;
        }
        let change = element.get("change");
        let is_read = is_read(provider, resource_type);
        let source = element.get("provider_name").text();
        let is_known = source.is_none_or(|source| {
            ["hashicorp/", "builtin/"].iter().any(|from| source.contains(from))
        });
        let runs_nothing =
            (is_known && RUNS_NOTHING.contains(&provider)) || ONLY_NAMES.contains(&resource_type);
        let mut open = notes.open;
        let template = change.get("after").get("template_body").text();
        let states_types = template.is_some_and(|template| template.contains("InstanceType"));
        open.retain(|attribute| {
            (states_types || attribute != PARAMETERS)
                && may_name_accelerator(resource_type, attribute)
        });
        if resource_type.ends_with("cloudformation_stack_set") {
            let name = change.get("after").get("name").text();
            self.stack_sets.extend(name.map(str::to_owned));
        }
        let names = if is_read || runs_nothing {
            open.clear();
            [None, None]
        } else {
            [
                joined(notes.before, resource_type, change.get("before"), &NOTHING),
                joined(
                    notes.after,
                    resource_type,
                    change.get("after"),
                    change.get("after_unknown"),
                ),
            ]
        };
        let matters = is_read || !open.is_empty() || names.iter().any(Option::is_some);
        let Some(address) = element.get("address").text().filter(|_| matters) else { return };
        // What replaces it is another change of the same address.
        let deposed = element.get("deposed").text();
        self.changes.push(Change {
            parts: Address::new(address),
            address: deposed
                .map_or_else(|| address.to_owned(), |key| format!("{address} (deposed {key})")),
            resource_type: resource_type.to_owned(),
            change: change.clone(),
            names,
            open: open.into_iter().collect(),
            other_provider: (!["aws", "awscc"].contains(&provider)).then(|| provider.to_owned()),
        });
    }
}

/// What names the stack set of an instance of one.
const STACK_SET_NAME: &str = "stack_set_name";

/// Names as a sentence lists them. A stack whose template stands elsewhere, or is known only
/// after apply, may run anything.
fn joined(
    names: BTreeSet<String>,
    resource_type: &str,
    side: &Node,
    unknown: &Node,
) -> Option<String> {
    let is_open = |key: &str| unknown.get(key) == &Node::Bool(true);
    let body = side.get("template_body").text();
    let is_nested = body.is_some_and(|body| body.contains("TemplateURL"));
    let template = if side.get(STACK_SET_NAME).text().is_some() {
        Some("the template of a stack set that the plan does not have")
    } else if is_nested || side.get("template_url").text().is_some() {
        Some("a template at a URL")
    } else if ["template_body", "template_url"].into_iter().any(is_open) {
        Some("a template that is known only after apply")
    } else {
        None
    };
    let template = template.filter(|_| resource_type.contains("cloudformation_stack"));
    let is_type = |setting: &Node| {
        let name = setting.get("name").text();
        let is_named = name.is_some_and(|name| name.starts_with("InstanceType"));
        is_named && setting.get("value").text().is_none()
    };
    let settings = side.get("setting").elements();
    let other = if resource_type.ends_with("servicecatalog_provisioned_product") {
        Some("a template of Service Catalog")
    } else if resource_type.contains("elastic_beanstalk")
        && (is_open("setting") || settings.iter().any(is_type))
    {
        Some("an instance type that is known only after apply")
    } else {
        None
    };
    let words = template.or(other).map(str::to_owned);
    let listed: Vec<String> = names.into_iter().chain(words).collect();
    let more = listed.len().saturating_sub(MOST_NAMES);
    let first = listed.get(..MOST_NAMES).unwrap_or(&listed).join(", ");
    match more {
        0 => (!first.is_empty()).then_some(first),
        more => Some(format!("{first} and {more} more")),
    }
}

/// Whether the attributes of a resource are read, and not only the names in them.
fn is_read(provider: &str, resource_type: &str) -> bool {
    provider == "aws"
        && (RUNNING.contains(&resource_type)
            || [LAUNCH_TEMPLATE, LAUNCH_CONFIGURATION, ENDPOINT].contains(&resource_type)
            || KINDS.iter().any(|kind| kind.resource_type == resource_type))
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
