//! JSON of which only the keys that matter here are kept: a plan repeats user
//! data, policies and whole files that nobody asks for.

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;

/// Keys that are kept, in order.
const KEPT: &[&str] = &[
    "actions",
    "address",
    "after",
    "after_unknown",
    "ami_type",
    "arn",
    "availability_zone",
    "availability_zones",
    "before",
    "capacity_type",
    "change",
    "constant_value",
    "default_target_capacity_type",
    "deposed",
    "desired_capacity",
    "desired_size",
    "expressions",
    "id",
    "instance_market_options",
    "instance_requirements",
    "instance_type",
    "instance_types",
    "instances_distribution",
    "key",
    "latest_version",
    "launch_configuration",
    "launch_specification",
    "launch_template",
    "launch_template_config",
    "launch_template_id",
    "launch_template_name",
    "launch_template_specification",
    "market_type",
    "max_size",
    "min_size",
    "mixed_instances_policy",
    "mode",
    "module",
    "module_calls",
    "name",
    "on_demand_base_capacity",
    "on_demand_percentage_above_base_capacity",
    "on_demand_target_capacity",
    "override",
    "overrides",
    "placement",
    "placement_tenancy",
    "propagate_at_launch",
    "provider_config",
    "provider_config_key",
    "provider_name",
    "references",
    "region",
    "resource_type",
    "resources",
    "root_module",
    "scaling_config",
    "spot_price",
    "spot_target_capacity",
    "tag",
    "tag_specifications",
    "tags",
    "tags_all",
    "target_capacity",
    "target_capacity_specification",
    "tenancy",
    "total_target_capacity",
    "type",
    "value",
    "version",
    "weighted_capacity",
];

/// Keys below which the names are the user's own, so that all of them count.
const NAMED_BY_USERS: [&str; 5] = [
    "module_calls",
    "provider_config",
    "tags",
    "tags_all",
    "variables",
];

/// What is left of a JSON value.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Node {
    #[default]
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Node>),
    Map(BTreeMap<String, Node>),
}

/// What stands in for a key that is not there.
pub(super) static NOTHING: Node = Node::Null;

impl Node {
    /// The value of a key; nothing for other values than objects.
    pub(super) fn get(&self, key: &str) -> &Node {
        match self {
            Self::Map(map) => map.get(key).unwrap_or(&NOTHING),
            _ => &NOTHING,
        }
    }

    /// A text that is not empty.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// A whole number of zero or more, also as text.
    pub(super) fn whole(&self) -> Option<u64> {
        const MOST: f64 = 1e9;
        match self {
            // In these bounds the conversion is exact.
            Self::Number(number) if (0.0..=MOST).contains(number) && number.fract() == 0.0 => {
                Some(*number as u64)
            }
            Self::Text(text) => text.parse().ok().filter(|number| *number <= MOST as u64),
            _ => None,
        }
    }

    /// The elements of a list, or the value itself where a list has one element
    /// and was written without brackets; nothing of nothing.
    pub(super) fn elements(&self) -> &[Node] {
        match self {
            Self::List(list) => list,
            Self::Null => &[],
            other => std::slice::from_ref(other),
        }
    }

    /// The entries of an object.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&String, &Node)> {
        let map = match self {
            Self::Map(map) => Some(map),
            _ => None,
        };
        map.into_iter().flatten()
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Text(text) => text.is_empty(),
            Self::List(list) => list.is_empty(),
            Self::Map(map) => map.is_empty(),
            Self::Bool(_) | Self::Number(_) => false,
        }
    }
}

/// Values that may be left of one plan: 100,000 resources with fifty each.
pub(super) const MOST_NODES: u32 = 5_000_000;

/// Reads what is left of a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sieve<'a> {
    every_key: bool,
    /// Values that may still be kept.
    room: &'a Cell<u32>,
}

impl<'a> Sieve<'a> {
    /// Of the value of a key.
    pub(super) fn of(key: &str, room: &'a Cell<u32>) -> Self {
        Self {
            every_key: NAMED_BY_USERS.contains(&key),
            room,
        }
    }

    fn keep<E: de::Error>(self, node: Node) -> Result<Node, E> {
        let left = self.room.get().checked_sub(1).ok_or_else(|| {
            E::custom(format!(
                "plans with more than {MOST_NODES} values are not supported"
            ))
        })?;
        self.room.set(left);
        Ok(node)
    }
}

impl<'de> DeserializeSeed<'de> for Sieve<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Sieve<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Node, E> {
        self.keep(Node::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Node, E> {
        self.keep(Node::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Node, E> {
        self.keep(Node::Number(value as f64))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Node, E> {
        self.keep(Node::Number(value as f64))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Node, E> {
        self.keep(Node::Number(value))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Node, E> {
        self.keep(Node::Text(value.to_owned()))
    }

    fn visit_string<E: de::Error>(self, value: String) -> Result<Node, E> {
        self.keep(Node::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut kept = Vec::new();
        while let Some(element) = list.next_element_seed(self)? {
            kept.push(element);
        }
        self.keep(Node::List(kept))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut kept = BTreeMap::new();
        while let Some(key) = map.next_key::<String>()? {
            if self.every_key || KEPT.binary_search(&key.as_str()).is_ok() {
                let value = map.next_value_seed(Self::of(&key, self.room))?;
                kept.insert(key, value);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        self.keep(Node::Map(kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sifted(text: &str) -> Node {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        Sieve::of("after", &Cell::new(MOST_NODES))
            .deserialize(&mut deserializer)
            .expect("JSON")
    }

    #[test]
    fn the_kept_keys_stand_in_order() {
        assert!(KEPT.is_sorted());
    }

    #[test]
    fn only_what_matters_is_kept() {
        let node = sifted(
            r#"{"instance_type": "g5.xlarge", "user_data": {"instance_type": "x"},
                "tags": {"any": "1", "user_data": "2"}, "desired_capacity": 3}"#,
        );
        assert_eq!(node.get("instance_type").text(), Some("g5.xlarge"));
        assert_eq!(node.get("user_data"), &Node::Null);
        assert_eq!(node.get("tags").get("user_data").text(), Some("2"));
        assert_eq!(node.get("desired_capacity").whole(), Some(3));
    }

    #[test]
    fn numbers_that_are_no_counts_are_none() {
        for text in ["-1", "1.5", "1e300", "\"-1\"", "\"x\"", "true", "null"] {
            assert_eq!(sifted(text).whole(), None, "{text}");
        }
        assert_eq!(sifted("\"4\"").whole(), Some(4));
    }
}
