//! One side of a change: values, what of them is known only after apply, and
//! what the configuration writes.

use super::sieve::{NOTHING, Node};
use crate::domain::{Missing, Planned};
use std::collections::BTreeMap;

/// What the provider computes where nobody writes it: as good as always the usual
/// value, so that a plan lists it as known only after apply.
const COMPUTED: [&str; 4] = [
    "ami_type",
    "capacity_type",
    "instance_market_options",
    "tenancy",
];

/// The attributes of a resource, or of a block of it, on one side of a plan.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) values: &'a Node,
    unknown: &'a Node,
    /// Absent where the configuration is not known.
    expressions: Option<&'a Node>,
}

impl<'a> View<'a> {
    /// Today: everything is known.
    pub(super) fn before(change: &'a Node, expressions: Option<&'a Node>) -> Option<Self> {
        Self::of(change.get("before"), &NOTHING, expressions)
    }

    /// When the plan has been applied.
    pub(super) fn after(change: &'a Node, expressions: Option<&'a Node>) -> Option<Self> {
        Self::of(
            change.get("after"),
            change.get("after_unknown"),
            expressions,
        )
    }

    fn of(values: &'a Node, unknown: &'a Node, expressions: Option<&'a Node>) -> Option<Self> {
        matches!(values, Node::Map(_)).then_some(Self {
            values,
            unknown,
            expressions,
        })
    }

    /// Whether an attribute is known only after apply, because somebody wrote an
    /// expression for it. One that nobody wrote gets the default of the cloud, and
    /// so does a computed one where nobody can tell.
    fn is_open(&self, key: &str) -> bool {
        let is_written = self
            .expressions
            .map_or(!COMPUTED.contains(&key), |expressions| {
                !expressions.get(key).is_empty()
            });
        self.is_unknown(key) && is_written
    }

    fn is_unknown(&self, key: &str) -> bool {
        self.unknown.get(key) == &Node::Bool(true)
    }

    /// Why the default of the cloud stands in for something that may be written
    /// all the same; absent where it does not.
    pub(super) fn assumed(&self) -> Option<Missing> {
        let is_assumed = |key: &&str| self.values.get(key).is_empty() && self.is_unknown(key);
        if self.expressions.is_some() || !COMPUTED.iter().any(is_assumed) {
            return None;
        }
        let reason = "the plan holds no configuration that would show what is written";
        Some(Missing::Elsewhere(reason.to_owned()))
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
                .ok_or_else(|| Missing::Elsewhere(format!("its {key} is no count of instances"))),
        }
    }

    /// The blocks of a name, in order.
    pub(super) fn blocks(&self, key: &str) -> Planned<Vec<Self>> {
        let Some(list) = self.get(key)? else {
            return Ok(Vec::new());
        };
        let unknown = self.unknown.get(key).elements();
        let written = self.expressions.map(|all| all.get(key).elements());
        let blocks = list.elements().iter().enumerate();
        let view = |(at, values): (usize, &'a Node)| {
            // A dynamic block is written once and stands many times.
            let written = written.and_then(|written| match written {
                [one] => Some(one),
                many => many.get(at),
            });
            Self::of(values, unknown.get(at).unwrap_or(&NOTHING), written)
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
        let references = expression.get("references").elements();
        references.iter().filter_map(Node::text)
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
