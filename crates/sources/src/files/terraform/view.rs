//! One side of a change: values, what of them is known only after apply, and what the
//! configuration writes; and what that says of a resource: where its provider works, and which
//! resource an expression refers to.

use super::address::Address;
use super::document::{Change, Document};
use super::sieve::{NOTHING, Node};
use crate::domain::{Missing, Planned};
use std::collections::{BTreeMap, BTreeSet};

/// What the provider computes of a resource, or of a block by its name, where nobody
/// writes it: as good as always the usual value, which a plan lists as known only after
/// apply all the same.
fn computed(of: &str) -> &'static [&'static str] {
    match of {
        "aws_instance" | "aws_spot_instance_request" => &["instance_market_options", "tenancy"],
        "aws_eks_node_group" => &["ami_type", "capacity_type"],
        "aws_emr_cluster" => &[
            "core_instance_fleet", "core_instance_group", "master_instance_fleet",
            "master_instance_group",
        ],
        "aws_sagemaker_app" => &["resource_spec"],
        "aws_workspaces_workspace" => &["workspace_properties"],
        "compute_resources" => &["desired_vcpus"],
        "mixed_instances_policy" => &["instances_distribution"],
        "instances_distribution" => {
            &["on_demand_base_capacity", "on_demand_percentage_above_base_capacity"]
        }
        _ => &[],
    }
}

/// The attributes of a resource, or of a block of it, on one side of a plan.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) values: &'a Node,
    unknown: &'a Node,
    /// Absent where the configuration is not known.
    expressions: Option<&'a Node>,
    /// See [`computed`].
    computed: &'static [&'static str],
}

impl<'a> View<'a> {
    /// Today: everything is known.
    pub(super) fn before(change: &'a Change, expressions: Option<&'a Node>) -> Option<Self> {
        Self::of(change.change.get("before"), &NOTHING, expressions)
    }

    /// When the plan has been applied.
    pub(super) fn after(change: &'a Change, expressions: Option<&'a Node>) -> Option<Self> {
        let Change { change, resource_type, .. } = change;
        let unknown = change.get("after_unknown");
        Some(Self {
            computed: computed(resource_type),
            ..Self::of(change.get("after"), unknown, expressions)?
        })
    }

    /// Absent where there is nothing, unless all of it is known only after apply.
    fn of(values: &'a Node, unknown: &'a Node, expressions: Option<&'a Node>) -> Option<Self> {
        let is_there = matches!(values, Node::Map(_)) || unknown == &Node::Bool(true);
        is_there.then_some(Self { values, unknown, expressions, computed: &[] })
    }

    /// Whether an attribute is known only after apply, because somebody wrote an
    /// expression for it. One that nobody wrote gets the default of the cloud, and
    /// so does a computed one where nobody can tell.
    fn is_open(&self, key: &str) -> bool {
        let is_written = self.is_written(key).unwrap_or(!self.computed.contains(&key));
        self.is_unknown(key) && is_written
    }

    /// The same of blocks. A plan's configuration leaves `dynamic` ones out, so that
    /// what is missing there may be written all the same.
    fn are_open(&self, key: &str) -> bool {
        let may_be_written = !self.computed.contains(&key) || self.is_written(key) == Some(true);
        self.is_unknown(key) && may_be_written
    }

    /// Absent where the configuration is not known.
    fn is_written(&self, key: &str) -> Option<bool> {
        let expressions = self.expressions?;
        Some(!expressions.get(key).is_empty())
    }

    pub(super) fn is_unknown(&self, key: &str) -> bool {
        [self.unknown, self.unknown.get(key)].contains(&&Node::Bool(true))
    }

    /// Why the default of the cloud stands in for something that may be written
    /// all the same; absent where it does not.
    pub(super) fn assumed(&self) -> Option<Missing> {
        let is_assumed = |key: &&str| self.values.get(key).is_empty() && self.is_unknown(key);
        if self.expressions.is_some() || !self.computed.iter().any(is_assumed) {
            return None;
        }
        Some(Missing::elsewhere("the plan has no configuration that shows explicit settings"))
    }

    /// A value and whether it is there; absent counts as not said.
    pub(super) fn get(&self, key: &str) -> Planned<Option<&'a Node>> {
        let value = self.values.get(key);
        if !value.is_empty() {
            Ok(Some(value))
        } else if self.is_open(key) {
            Err(Missing::AfterApply)
        } else {
            Ok(None)
        }
    }

    /// A text; absent when it is not said.
    pub(super) fn text(&self, key: &str) -> Planned<Option<&'a str>> {
        Ok(self.get(key)?.and_then(Node::text))
    }

    /// A count; absent when it is not said.
    pub(super) fn whole(&self, key: &str) -> Planned<Option<u64>> {
        match self.get(key)? {
            None => Ok(None),
            Some(value) => value
                .whole()
                .map(Some)
                .ok_or_else(|| Missing::Elsewhere(format!("its {key} is not an instance count"))),
        }
    }

    /// The blocks of a name, in order.
    pub(super) fn blocks(&self, key: &str) -> Planned<Vec<Self>> {
        let list = self.values.get(key);
        if list.is_empty() {
            return if self.are_open(key) { Err(Missing::AfterApply) } else { Ok(Vec::new()) };
        }
        let unknown = self.unknown.get(key).elements();
        let written = self.expressions.map(|all| all.get(key).elements());
        let blocks = list.elements().iter().enumerate();
        let view = |(at, values): (usize, &'a Node)| {
            // Which of them is which is only known where none is dynamic.
            let written = written.filter(|written| written.len() == list.elements().len());
            let written = written.and_then(|written| written.get(at));
            Some(Self {
                computed: computed(key),
                ..Self::of(values, unknown.get(at).unwrap_or(&NOTHING), written)?
            })
        };
        Ok(blocks.filter_map(view).collect())
    }

    /// The first block of a name.
    pub(super) fn block(&self, key: &str) -> Planned<Option<Self>> {
        Ok(self.blocks(key)?.into_iter().next())
    }

    /// What the expression of an attribute refers to.
    pub(super) fn references(&self, key: &str) -> impl Iterator<Item = &'a str> {
        let expression = self.expressions.map_or(&NOTHING, |all| all.get(key));
        expression.get("references").elements().iter().filter_map(Node::text)
    }

    /// Tags in a map, into one that may hold some already.
    pub(super) fn tags(&self, tags: &mut BTreeMap<String, Option<String>>) {
        for key in ["tags", "tags_all"] {
            for (name, value) in self.values.get(key).entries() {
                if let Node::Text(value) = value {
                    tags.insert(name.clone(), Some(value.clone()));
                }
            }
            for (name, unknown) in self.unknown.get(key).entries() {
                if unknown == &Node::Bool(true) {
                    tags.insert(name.clone(), None);
                }
            }
        }
    }

    /// Whether there may be tags that are known only after apply; the provider
    /// may add some of its own, and its sum says so.
    pub(super) fn has_open_tags(&self) -> bool {
        self.is_open("tags") || self.is_unknown("tags_all")
    }
}

/// The configuration of a plan.
#[derive(Debug)]
pub(super) struct Configuration<'a> {
    /// What is written about each resource, by [`place`].
    resources: BTreeMap<String, &'a Node>,
    providers: &'a Node,
    variables: &'a Node,
}

/// The names of the modules that lead to a resource, and its type and name.
fn place(modules: &[impl AsRef<str>], base: &str) -> String {
    modules.iter().map(AsRef::as_ref).chain([base]).collect::<Vec<_>>().join("\n")
}

impl<'a> Configuration<'a> {
    pub(super) fn of(document: &'a Document) -> Self {
        let mut resources = BTreeMap::new();
        let mut modules = vec![(Vec::new(), document.configuration.get("root_module"))];
        while let Some((names, module)) = modules.pop() {
            for resource in module.get("resources").elements() {
                if let Some(base) = resource.get("address").text() {
                    resources.entry(place(&names, base)).or_insert(resource);
                }
            }
            let calls = module.get("module_calls").entries();
            modules.extend(
                calls.map(|(name, call)| {
                    ([&names[..], &[name.as_str()]].concat(), call.get("module"))
                }),
            );
        }
        Self {
            resources,
            providers: document.configuration.get("provider_config"),
            variables: &document.variables,
        }
    }

    /// What is written about a resource; nothing where that is not known.
    fn resource(&self, address: &Address) -> &'a Node {
        let place = place(&address.modules, &address.base);
        self.resources.get(&place).copied().unwrap_or(&NOTHING)
    }

    /// The expressions of a resource; absent where they are not known.
    pub(super) fn expressions(&self, address: &Address) -> Option<&'a Node> {
        let expressions = self.resource(address).get("expressions");
        matches!(expressions, Node::Map(_)).then_some(expressions)
    }

    /// The region in which the provider of a resource works, as far as the
    /// configuration says; `None` where it says nothing, so that the environment
    /// decides.
    pub(super) fn region(&self, address: &Address) -> Planned<Option<String>> {
        let key = self.resource(address).get("provider_config_key").text();
        // Keys of modules that inherit a provider name the module.
        let own = key.map(|key| self.providers.get(key).get("expressions").get("region"));
        if let Some(expression) = own.filter(|expression| !expression.is_empty()) {
            return self.value(expression).map(Some);
        }
        let alias = key.map(|key| key.rsplit(':').next().unwrap_or(key));
        let inherited = alias.map(|key| self.providers.get(key).get("expressions").get("region"));
        let may_be_another = key.is_some_and(|key| key.contains(':')) && self.regions().len() > 1;
        match inherited.filter(|expression| !expression.is_empty()) {
            Some(_) if may_be_another => Err(Missing::elsewhere(
                "several providers are configured, and the plan does not specify which one \
                 its module uses",
            )),
            Some(expression) => self.value(expression).map(Some),
            None if key.is_some() => Ok(None),
            None => self.only_region(),
        }
    }

    /// Without a word about the resource, the region that all providers share.
    fn only_region(&self) -> Planned<Option<String>> {
        let mut regions = self.regions().into_iter();
        match (regions.next(), regions.next()) {
            (Some(region), None) => Ok(Some(region)),
            (None, _) => Ok(None),
            (Some(_), Some(_)) => Err(Missing::elsewhere(
                "several providers are configured, and the plan does not specify which one \
                 it uses",
            )),
        }
    }

    fn regions(&self) -> BTreeSet<String> {
        let of_aws = self.providers.entries().filter(|(key, provider)| {
            let name = provider.get("name").text().unwrap_or(key);
            name == "aws"
        });
        of_aws
            .filter_map(|(_, provider)| self.value(provider.get("expressions").get("region")).ok())
            .collect()
    }

    /// The text of an expression: a constant, or a variable of the root module.
    fn value(&self, expression: &Node) -> Planned<String> {
        if let Some(constant) = expression.get("constant_value").text() {
            return Ok(constant.to_owned());
        }
        let references = expression.get("references").elements();
        let mut variables =
            references.iter().filter_map(|reference| reference.text()?.strip_prefix("var."));
        match (variables.next(), references) {
            (Some(name), [_]) => {
                let value = self.variables.get(name).get("value").text();
                let named = || Missing::Elsewhere(format!("the variable {name} has no value"));
                value.map(str::to_owned).ok_or_else(named)
            }
            _ => Err(Missing::elsewhere("its provider region is computed")),
        }
    }
}
