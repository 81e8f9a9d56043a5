//! JSON of which only the keys that matter here are kept: a plan repeats user
//! data, policies and whole files that nobody asks for.

use super::kinds::{
    CATEGORY, COUNTS, KEPT, MACHINE_KEYS, NAMED_BY_USERS, PARAMETERS, TYPE_KEYS, WITHOUT_TYPES,
    requested,
};
use crate::catalog::{
    family, is_accelerated, is_accelerated_category, names_accelerated_type, names_accelerator,
};
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

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
const MOST_NODES: u32 = 5_000_000;

/// Names of accelerated types that are noted of one side of a resource.
const MOST_NAMES: usize = 100;
/// Bytes of the longest of them: a longer text is none.
const LONGEST_NAME: usize = 100;

/// The key of an object of expressions under which the names of all attributes in it stand,
/// whatever is kept of them.
pub(super) const WRITTEN: &str = "(written)";

/// Where a value stands whose names are noted.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Before,
    After,
    AfterUnknown,
    Expressions,
}

/// What is noted of a resource beside the values that are kept.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Notes {
    /// Names of accelerated types in any attribute, today.
    pub(super) before: BTreeSet<String>,
    /// The same when the plan has been applied.
    pub(super) after: BTreeSet<String>,
    /// Attributes that may name a type and are known only after apply, such as `size` and
    /// `instance_group.instance_type`.
    pub(super) open: BTreeSet<String>,
    /// Attributes that have an expression.
    written: BTreeSet<String>,
}

/// What all values of one plan share.
#[derive(Debug)]
pub(super) struct Room {
    /// Values that may still be kept.
    left: Cell<u32>,
    /// Of the resource that is read.
    notes: RefCell<Notes>,
    /// Whether the requirement that is read asks for categories of types.
    is_category: Cell<bool>,
}

impl Room {
    pub(super) fn new() -> Self {
        Self {
            left: Cell::new(MOST_NODES),
            notes: RefCell::default(),
            is_category: Cell::new(false),
        }
    }

    /// What was noted of the resource that was read last.
    pub(super) fn take_notes(&self) -> Notes {
        self.notes.take()
    }
}

/// Reads what is left of a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sieve<'a> {
    key: &'a str,
    /// The key of the object in which it stands.
    parent: &'a str,
    is_kept: bool,
    room: &'a Room,
    /// Absent where nothing is noted.
    place: Option<Place>,
}

impl<'a> Sieve<'a> {
    /// Of the value of a key.
    pub(super) fn of(key: &'a str, room: &'a Room) -> Self {
        Self { key, parent: "", is_kept: true, room, place: None }
    }

    /// Of the value of a key of this object.
    fn below<'b>(self, key: &'b str) -> Sieve<'b>
    where
        'a: 'b,
    {
        let is_kept = NAMED_BY_USERS.contains(&self.key) || KEPT.binary_search(&key).is_ok();
        Sieve {
            key,
            parent: self.key,
            is_kept: self.is_kept && is_kept,
            room: self.room,
            place: match (self.place, key) {
                (None, "before") if self.key == "change" => Some(Place::Before),
                (None, "after") if self.key == "change" => Some(Place::After),
                (None, "after_unknown") if self.key == "change" => Some(Place::AfterUnknown),
                (None, "expressions") => Some(Place::Expressions),
                (Some(Place::Expressions), "constant_value" | "references") => None,
                (place, "name") if ["sku", "selections"].contains(&self.key) => place,
                _ if WITHOUT_TYPES.contains(&key) && self.key != PARAMETERS => None,
                (place, _) => place,
            },
        }
    }

    fn keep<E: de::Error>(self, node: Node) -> Result<Node, E> {
        if !self.is_kept {
            return Ok(Node::Null);
        }
        let left = self.room.left.get().checked_sub(1).ok_or_else(|| {
            E::custom(format!("plans with more than {MOST_NODES} values are not supported"))
        })?;
        self.room.left.set(left);
        Ok(node)
    }

    /// Notes a key that has an expression or is an accelerated type.
    fn note_key(self, key: &str) {
        if self.place == Some(Place::Expressions) {
            self.room.notes.borrow_mut().written.insert(key.to_owned());
        } else if names_accelerated_type(key) {
            self.note(key);
        }
    }

    /// Whether it is the type of a card: any value of it is accelerated.
    fn is_card(self) -> bool {
        match self.key {
            "accelerator_manufacturers"
            | "accelerator_names"
            | "accelerator_type"
            | "accelerator_types"
            | "gpu_kind"
            | "gpu_type"
            | "gpu_type_ids"
            | "vgpu_profile" => true,
            "type" => self.parent.contains("accelerator"),
            "include_names" | "manufacturers" | "sku" => self.parent == "gpu",
            // Of the accelerators of a fleet of Deadline Cloud.
            "name" => self.parent == "selections",
            _ => false,
        }
    }

    /// Whether types of machines and cards stand in it.
    fn names_type(self) -> bool {
        let is_sku = self.key == "name" && self.parent == "sku";
        let is_limit = self.key == "resource_type" && self.parent == "resource_limits";
        TYPE_KEYS.contains(&self.key)
            || MACHINE_KEYS.contains(&self.key)
            || self.is_card()
            || is_sku
            || is_limit
    }

    /// Notes an attribute that names a type and is known only after apply.
    fn note_open(self) {
        let is_parameter = [self.key, self.parent].contains(&PARAMETERS);
        let is_count = COUNTS.contains(&self.key);
        let may_be_type = is_parameter || is_count || self.names_type();
        if self.place != Some(Place::AfterUnknown) || !may_be_type {
            return;
        }
        let mut notes = self.room.notes.borrow_mut();
        if is_parameter {
            notes.open.insert(PARAMETERS.to_owned());
            return;
        }
        if self.parent == "after_unknown" {
            notes.open.insert(self.key.to_owned());
        } else if is_count
            || self.is_card()
            || TYPE_KEYS.contains(&self.key)
            || self.parent == "sku"
            || (MACHINE_KEYS.contains(&self.key)
                && ["flavor", "launch_details", "pool"].iter().any(|of| self.parent.contains(of)))
        {
            notes.open.insert(format!("{}.{}", self.parent, self.key));
        }
    }

    /// Notes that some accelerators are requested, of whatever type.
    fn note_count(self) {
        let keys = [self.key, self.parent].into_iter();
        keys.filter(|key| COUNTS.contains(key)).for_each(|key| self.add_name(key));
    }

    /// Notes an accelerated type that a text names.
    fn note(self, text: &str) {
        match self.place {
            Some(Place::Before | Place::After) => {}
            _ => return,
        }
        let is_category = &self.room.is_category;
        match self.key {
            "key" => is_category.set(text.ends_with(CATEGORY)),
            "operator" if text == "NotIn" => is_category.set(false),
            _ => {}
        }
        // Families stand alone, or before what stands for any size: `p5`, `p5.*`, `g6e-*`.
        // A longer name with a dash is one of users, unless the catalog has it.
        let is_family = |name: &str| {
            let is_short = !name.contains(['.', '-']);
            is_accelerated(name) && (is_short || family(name).is_some())
        };
        let start = text.trim_end_matches(['*', '.', '-']);
        // Karpenter has the families of a requirement under `values`.
        // Definitions of tasks and images have a family of their own.
        let lists_families = self.key == "values"
            || self.parent == "instance_families"
            || (self.key != "family"
                && ["famil", "instance_type"].iter().any(|word| self.key.contains(word)));
        let is_name = |part: &&str| {
            // A parameter of a template may be the size: `g5.${Size}`.
            let open = part.strip_suffix('.').filter(|_| text.contains(&format!("{part}${{")));
            let any_size = open.or(part.strip_suffix(".*")).or(part.strip_suffix("-*"));
            names_accelerated_type(part.trim_matches('*')) || any_size.is_some_and(is_family)
        };
        let (_, last) = text.rsplit_once('/').unwrap_or(("", text));
        let name = match self.key {
            _ if self.is_card() => Some(last),
            key if COUNTS.contains(&key) => Some(key).filter(|_| text != "0"),
            "values" if is_category.get() && is_accelerated_category(text) => Some(text),
            _ if lists_families && is_family(start) => Some(text),
            _ if self.names_type() && names_accelerator(last) => Some(last),
            // Karpenter chooses types that have GPUs.
            "key" if text.contains("/instance-gpu-") => Some(last),
            // A template, a manifest and a request in JSON are texts of many words.
            _ => text
                .split(|c: char| !c.is_ascii_alphanumeric() && !"._-*".contains(c))
                .find(is_name)
                .or_else(|| requested(text)),
        };
        if let Some(name) = name {
            self.add_name(name);
        }
    }

    fn add_name(self, name: &str) {
        let notes = &mut *self.room.notes.borrow_mut();
        let names = match self.place {
            Some(Place::Before) => &mut notes.before,
            Some(Place::After) => &mut notes.after,
            _ => return,
        };
        if (1..=LONGEST_NAME).contains(&name.len()) && names.len() < MOST_NAMES {
            names.insert(name.to_owned());
        }
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
        if value {
            self.note_open();
        }
        self.keep(Node::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Node, E> {
        self.visit_f64(value as f64)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Node, E> {
        self.visit_f64(value as f64)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Node, E> {
        if value > 0.0 {
            self.note_count();
        }
        self.keep(Node::Number(value))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Node, E> {
        self.note(value);
        if !self.is_kept {
            return Ok(Node::Null);
        }
        self.keep(Node::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut kept = Vec::new();
        while let Some(element) = list.next_element_seed(self)? {
            if self.is_kept {
                kept.push(element);
            }
        }
        self.keep(Node::List(kept))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut kept = BTreeMap::new();
        while let Some(key) = map.next_key::<String>()? {
            self.note_key(&key);
            let below = self.below(&key);
            if !below.is_kept && below.place.is_none() {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = map.next_value_seed(below)?;
            if below.is_kept {
                kept.insert(key, value);
            }
        }
        if self.key == "expressions" && self.place == Some(Place::Expressions) {
            let written = self.room.notes.take().written.into_iter();
            let written = written.map(|name| self.keep(Node::Text(name)));
            let written = written.collect::<Result<_, A::Error>>()?;
            kept.insert(WRITTEN.to_owned(), Node::List(written));
        }
        self.keep(Node::Map(kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sifted(text: &str) -> Node {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        Sieve::of("after", &Room::new()).deserialize(&mut deserializer).expect("JSON")
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

    #[test]
    fn accelerated_types_in_any_attribute_are_noted_by_side() {
        let text = r#"{"index": "p4d.24xlarge", "change": {
            "before": {"any": [{"deep": "g5.xlarge"}]},
            "after": {"any": {"deep": "m5.large, p7.48xlarge"}, "accelerator_type": "TPU",
                "body": "{\"vmSize\":\"Standard_ND96asr_v4\"}",
                "template": "InstanceType: !Sub p4de.${Size}", "yaml_body": "key: karpenter.k8s.aws/instance-family\n      values: [\"gr6\"]",
                "chart": "nvidia.com/gpu: 8", "taint": "key: nvidia.com/gpu, value: present", "node_shape": "VM.GPU.A10.1", "node_type": "a2-highgpu-node-96-680", "yaml": "in:\n- trn2.48xlarge\n",
                "tags": {"was": "p3.2xlarge"}, "description": "p3.8xlarge",
                "allowed_instance_types": ["trn1.*", "m5.*"],
                "guest_accelerator": [{"type": "x/acceleratorTypes/nvidia-l4"}],
                "template_body": "Type: g4dn.xlarge # small", "by_type": {"g6.xlarge": 3, "m5.large": 1},
                "limits": {"nvidia.com/gpu": "1", "google.com/tpu": "0"}, "gpu_type_ids": ["NVIDIA H100"],
                "accelerator_count": [{"min": 0, "max": 4}], "sku": {"name": "Standard_NC6s_v3"},
                "families": ["p5", "m5"], "patterns": ["g6e-*", "p4d.*", "c5.*"],
                "node_selector": [{"accelerator": "nvidia-t4"}], "shape": "BM.GPU.H100.8",
                "size": "gpu-h100x8-640gb", "accelerator_config": [{"type": "V4"}],
                "requirements": [{"key": "karpenter.k8s.aws/instance-gpu-count"},
                    {"key": "karpenter.k8s.aws/instance-family", "values": ["g6e", "m7i"]}],
                "names": ["gpu-alerts", "p1", "BM.GPU", "p1-service-*"], "family": "p1-service"}}}"#;
        let room = Room::new();
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let node =
            Sieve::of("resource_changes", &room).deserialize(&mut deserializer).expect("JSON");
        assert_eq!(node.get("change").get("after").get("any"), &Node::Null);
        let Notes { before, after, .. } = room.take_notes();
        let sorted = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(sorted(before), "g5.xlarge");
        assert_eq!(
            sorted(after),
            "BM.GPU.H100.8 NVIDIA H100 Standard_NC6s_v3 Standard_ND96asr_v4 TPU V4 VM.GPU.A10.1 \
             a2-highgpu-node-96-680 accelerator_count g4dn.xlarge g6.xlarge g6e g6e-* \
             gpu-h100x8-640gb gr6 instance-gpu-count \
             nvidia-l4 nvidia-t4 nvidia.com/gpu p4d.* p4de. p5 p7.48xlarge trn1.* trn2.48xlarge"
        );
        assert_eq!(room.take_notes(), Notes::default());
    }
}
