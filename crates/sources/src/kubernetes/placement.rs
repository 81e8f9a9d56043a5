//! Where a pod may be placed: what it asks of a node, what a node asks of it, and what of
//! it stays behind when it goes.

use super::values::{Parts, wire};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

type Labels = BTreeMap<String, String>;

/// The name of a node as a field that terms may ask for.
const NAME: &str = "metadata.name";
/// Where keys of taints begin that say how a node is now, such as cordoned or not ready.
const CONDITIONS: &str = "node.kubernetes.io/";

wire! {
    /// What a node asks of pods.
    struct Taint = "a taint with `key` and `effect`" {
        [key: String, effect: String]
        value: String,
    }

    struct Toleration = "a toleration" {
        key: String,
        operator: String,
        value: String,
        effect: String,
    }

    /// What a pod asks of its node, and of the pods beside it, before it is placed.
    struct Affinity = "an affinity" {
        node_affinity: NodeAffinity,
        pod_affinity: PodAffinity,
        pod_anti_affinity: PodAffinity,
    }

    struct NodeAffinity = "an affinity for nodes" {
        #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
        required: NodeTerms,
    }

    struct NodeTerms = "terms with `nodeSelectorTerms`" {
        #[serde(rename = "nodeSelectorTerms")]
        any: Parts<NodeTerm>,
    }

    struct NodeTerm = "a term with `matchExpressions`" {
        match_expressions: Parts<Requirement>,
        match_fields: Parts<Requirement>,
    }

    struct Requirement = "an expression with `key` and `operator`" {
        [key: String, operator: String]
        values: Parts<String>,
    }

    struct PodAffinity = "an affinity for pods" {
        #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
        required: Parts<IgnoredAny>,
    }

    /// How evenly pods are spread.
    struct SpreadConstraint = "a spread constraint" {
        [when_unsatisfiable: String]
    }

    struct Volume = "a volume" {
        empty_dir: Option<EmptyDir>,
        host_path: Option<IgnoredAny>,
    }

    struct EmptyDir = "an empty folder" {
        medium: String,
    }
}

impl Taint {
    /// Whether it keeps pods away for as long as somebody wants it to.
    pub(super) fn is_lasting(&self) -> bool {
        self.effect != "PreferNoSchedule" && !self.key.starts_with(CONDITIONS)
    }
}

impl Toleration {
    pub(super) fn tolerates(&self, taint: &Taint) -> bool {
        let has_effect = self.effect.is_empty() || self.effect == taint.effect;
        has_effect
            && match self.operator.as_str() {
                "Exists" => self.key.is_empty() || self.key == taint.key,
                "" | "Equal" => self.key == taint.key && self.value == taint.value,
                _ => false,
            }
    }
}

impl Affinity {
    /// Whether a node is one of those that it requires; any is without a requirement.
    pub(super) fn admits(&self, name: &str, labels: &Labels) -> bool {
        let terms = &self.node_affinity.required.any.0;
        terms.is_empty() || terms.iter().any(|term| term.is_met(name, labels))
    }

    /// Whether it depends on which pods are beside it.
    pub(super) fn is_of_pods(&self) -> bool {
        let both = [&self.pod_affinity, &self.pod_anti_affinity];
        both.iter().any(|affinity| !affinity.required.0.is_empty())
    }
}

impl NodeTerm {
    fn is_met(&self, name: &str, labels: &Labels) -> bool {
        let (expressions, fields) = (&self.match_expressions.0, &self.match_fields.0);
        let of_label = |requirement: &Requirement| {
            requirement.is_met(labels.get(&requirement.key).map(String::as_str))
        };
        let of_field =
            |requirement: &Requirement| requirement.key == NAME && requirement.is_met(Some(name));
        // A term that asks for nothing is met by no node.
        (!expressions.is_empty() || !fields.is_empty())
            && expressions.iter().all(of_label)
            && fields.iter().all(of_field)
    }
}

impl Requirement {
    fn is_met(&self, value: Option<&str>) -> bool {
        let is_listed = value.is_some_and(|value| self.values.0.iter().any(|known| known == value));
        let numbers = || -> Option<(i64, i64)> {
            Some((value?.parse().ok()?, self.values.0.first()?.parse().ok()?))
        };
        match self.operator.as_str() {
            "In" => is_listed,
            "NotIn" => !is_listed,
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            "Gt" => numbers().is_some_and(|(own, bound)| own > bound),
            "Lt" => numbers().is_some_and(|(own, bound)| own < bound),
            _ => false,
        }
    }
}

impl SpreadConstraint {
    pub(super) fn is_required(&self) -> bool {
        self.when_unsatisfiable == "DoNotSchedule"
    }
}

impl Volume {
    /// Whether what is in it is on the disk of the node.
    pub(super) fn is_local(&self) -> bool {
        let of_disk = |directory: &EmptyDir| directory.medium != "Memory";
        self.host_path.is_some() || self.empty_dir.as_ref().is_some_and(of_disk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    fn read<T: DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).expect("it is valid")
    }

    #[test]
    fn taints_are_tolerated_by_key_value_and_effect() {
        let taint: Taint =
            read(json!({"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}));
        for (toleration, expected) in [
            (json!({"operator": "Exists"}), true),
            (json!({"key": "nvidia.com/gpu", "operator": "Exists"}), true),
            (json!({"key": "nvidia.com/gpu", "value": "true"}), true),
            (json!({"key": "nvidia.com/gpu", "value": "false"}), false),
            (json!({"key": "team", "operator": "Exists"}), false),
            (json!({"operator": "Exists", "effect": "NoExecute"}), false),
            (json!({"key": "nvidia.com/gpu", "operator": "Gt", "value": "true"}), false),
            (json!({}), false),
        ] {
            let one: Toleration = read(toleration.clone());
            assert_eq!(one.tolerates(&taint), expected, "{toleration}");
        }
        assert!(taint.is_lasting());
        for other in [
            json!({"key": "team", "effect": "PreferNoSchedule"}),
            json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}),
        ] {
            assert!(!read::<Taint>(other).is_lasting());
        }
    }

    #[test]
    fn a_node_meets_all_expressions_of_any_term() {
        let labels = [("zone", "b"), ("gpus", "8")];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let labels: Labels = labels.into();
        let admits = |terms: Value| {
            let required = json!({"nodeSelectorTerms": terms});
            let affinity: Affinity = read(json!({
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required},
            }));
            affinity.admits("gpu-1", &labels)
        };
        let of = |key: &str, operator: &str, values: &[&str]| {
            let one = json!({"key": key, "operator": operator, "values": values});
            json!([{"matchExpressions": [one]}])
        };
        for (terms, expected) in [
            (of("zone", "In", &["a", "b"]), true),
            (of("zone", "In", &["a"]), false),
            (of("zone", "NotIn", &["a"]), true),
            (of("rack", "NotIn", &["a"]), true),
            (of("rack", "Exists", &[]), false),
            (of("rack", "DoesNotExist", &[]), true),
            (of("gpus", "Gt", &["7"]), true),
            (of("gpus", "Lt", &["8"]), false),
            (of("zone", "Gt", &["7"]), false),
            (of("zone", "Like", &["b"]), false),
            (json!([{}]), false),
            (
                json!([{}, {"matchFields": [
                {"key": "metadata.name", "operator": "In", "values": ["gpu-1"]}]}]),
                true,
            ),
            (
                json!([{"matchFields": [
                {"key": "metadata.name", "operator": "In", "values": ["gpu-2"]}]}]),
                false,
            ),
        ] {
            assert_eq!(admits(terms.clone()), expected, "{terms}");
        }
        assert!(Affinity::default().admits("gpu-1", &labels));
        let beside: Affinity = read(json!({"podAntiAffinity":
            {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}}));
        assert!(beside.is_of_pods() && !Affinity::default().is_of_pods());
    }

    #[test]
    fn memory_and_claimed_volumes_are_not_on_the_disk_of_a_node() {
        for (volume, expected) in [
            (json!({"name": "a", "emptyDir": {}}), true),
            (json!({"name": "a", "emptyDir": {"medium": "Memory"}}), false),
            (json!({"name": "a", "hostPath": {"path": "/mnt"}}), true),
            (json!({"name": "a", "persistentVolumeClaim": {"claimName": "b"}}), false),
        ] {
            assert_eq!(read::<Volume>(volume.clone()).is_local(), expected, "{volume}");
        }
    }
}
