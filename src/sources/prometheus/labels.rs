//! Labels by the names that exporters and scrape configurations give them.

use super::answer::Labels;

/// The labels with one of some names, in any case of letters and in the order of the
/// names, as (name, value). An empty value is none: that is what it means to a server.
pub(super) fn find_all<'l>(
    labels: &'l Labels,
    names: &[&str],
) -> impl Iterator<Item = (&'l str, &'l str)> {
    let of_name = |name: &&str| {
        labels
            .iter()
            .find(|(own, value)| own.eq_ignore_ascii_case(name) && !value.is_empty())
            .map(|(own, value)| (own.as_str(), value.as_str()))
    };
    let found: Vec<_> = names.iter().filter_map(of_name).collect();
    found.into_iter()
}

/// The first of them.
pub(super) fn find<'l>(labels: &'l Labels, names: &[&str]) -> Option<(&'l str, &'l str)> {
    find_all(labels, names).next()
}

/// Whether a pod was scraped, or a series is of one.
pub(super) fn is_of_kubernetes(labels: &Labels) -> bool {
    const NAMES: [&str; 6] = [
        "pod",
        "namespace",
        "exported_pod",
        "exported_namespace",
        "pod_name",
        "@resource.k8s.pod.name",
    ];
    find(labels, &NAMES).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case_and_empty_values_are_none() {
        let labels: Labels = [("Hostname", "a"), ("node", ""), ("UUID", "GPU-1")]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        assert_eq!(
            find(&labels, &["node", "hostname"]),
            Some(("Hostname", "a"))
        );
        assert_eq!(find(&labels, &["uuid"]), Some(("UUID", "GPU-1")));
        assert_eq!(find(&labels, &["gpu"]), None);
        assert!(!is_of_kubernetes(&labels));
    }
}
