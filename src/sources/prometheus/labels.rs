//! Labels by the names that exporters and scrape configurations give them.

use super::answer::Labels;

/// A label as (name, value).
pub(super) type Label<'l> = (&'l str, &'l str);

/// The labels with one of some names, in any case of letters and in the order of the
/// names, as (name, value). An empty value is none: that is what it means to a server.
pub(super) fn find_all<'l>(labels: &'l Labels, names: &[&str]) -> impl Iterator<Item = Label<'l>> {
    let of_name = |name: &&str| {
        labels
            .iter()
            .find(|(own, value)| own.eq_ignore_ascii_case(name) && !value.is_empty())
            .map(|(own, value)| (own.as_str(), value.as_str()))
    };
    let pairs: Vec<_> = names.iter().filter_map(of_name).collect();
    pairs.into_iter()
}

/// The first of them.
pub(super) fn find<'l>(labels: &'l Labels, names: &[&str]) -> Option<Label<'l>> {
    find_all(labels, names).next()
}

/// Whether a pod was scraped, or a series is of one.
pub(super) fn is_of_kubernetes(labels: &Labels) -> bool {
    const NAMES: [&str; 6] = [
        "pod", "namespace", "exported_pod", "exported_namespace", "pod_name",
        "@resource.k8s.pod.name",
    ];
    find(labels, &NAMES).is_some()
}

/// The namespace and the name of the pod that a series is of. Without `honorLabels`, the
/// server puts the exporter's own pod into `namespace` and `pod`, and prefixes what the
/// exporter says.
const POD_LABELS: [(&str, &str); 3] =
    [("exported_namespace", "exported_pod"), ("pod_namespace", "pod_name"), ("namespace", "pod")];
/// The labels among them that may name the exporter's own pod.
const TARGET: usize = 2;
/// Parts of the names that exporters have, as containers and as pods.
const EXPORTERS: [&str; 3] = ["exporter", "dcgm", "neuron-monitor"];

/// The labels that name the pods of a host. Of several the least one counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PodLabels {
    place: usize,
    pub(super) namespace: String,
    pub(super) pod: String,
}

/// Whose a series is, where it names a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PodOf {
    /// That of one that holds the GPU, by these labels.
    Holder(PodLabels),
    /// That of the exporter, by its name: no pod holds the GPU.
    Exporter(String),
}

/// Whose a series is. A pod without its namespace may be any of several.
pub(super) fn pod_of(labels: &Labels) -> Option<PodOf> {
    let mut pods = POD_LABELS.iter().enumerate().filter_map(|(place, (namespace, pod))| {
        let (namespace, _) = find(labels, &[*namespace])?;
        let (pod, name) = find(labels, &[*pod])?;
        Some((PodLabels { place, namespace: namespace.to_owned(), pod: pod.to_owned() }, name))
    });
    let (of, name) = pods.next()?;
    let container = find(labels, &["container"]).map_or(name, |(_, container)| container);
    let is_own = of.place == TARGET && EXPORTERS.iter().any(|own| container.contains(own));
    Some(if is_own { PodOf::Exporter(name.to_owned()) } else { PodOf::Holder(of) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::prometheus::scenes::labels;

    #[test]
    fn the_pod_of_a_series_is_the_one_that_holds_the_gpu() {
        let holder = |text: &str| match pod_of(&labels(text)) {
            Some(PodOf::Holder(of)) => Some((of.namespace, of.pod)),
            _ => None,
        };
        let both = |namespace: &str, pod: &str| Some((namespace.to_owned(), pod.to_owned()));
        let own = r#"namespace="gpu",pod="dcgm-exporter-1",container="exporter""#;
        let renamed = format!(r#"{own},exported_namespace="ml",exported_pod="train-1""#);
        assert_eq!(holder(&renamed), both("exported_namespace", "exported_pod"));
        let honored = r#"namespace="ml",pod="onnx-exporter-1",container="main""#;
        assert_eq!(holder(honored), both("namespace", "pod"));
        let old = r#"pod_namespace="ml",pod_name="train-1""#;
        assert_eq!(holder(old), both("pod_namespace", "pod_name"));
        let exporter = Some(PodOf::Exporter("dcgm-exporter-1".to_owned()));
        assert_eq!(pod_of(&labels(own)), exporter);
        let unnamed = r#"namespace="gpu",pod="dcgm-exporter-1""#;
        assert_eq!(pod_of(&labels(unnamed)), exporter);
        assert_eq!(pod_of(&labels(r#"pod="train-1""#)), None);
    }

    #[test]
    fn names_are_found_in_any_case_and_empty_values_are_none() {
        let labels: Labels = [("Hostname", "a"), ("node", ""), ("UUID", "GPU-1")]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        assert_eq!(find(&labels, &["node", "hostname"]), Some(("Hostname", "a")));
        assert_eq!(find(&labels, &["uuid"]), Some(("UUID", "GPU-1")));
        assert_eq!(find(&labels, &["gpu"]), None);
        assert!(!is_of_kubernetes(&labels));
    }
}
