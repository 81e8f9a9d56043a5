//! One side of a change: values, what of them is known only after apply, and
//! what the configuration writes.

use super::document::Change;
use super::sieve::{NOTHING, Node};
use crate::domain::{Missing, Planned};
use std::collections::BTreeMap;

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
