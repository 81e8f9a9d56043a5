//! `gpucost setup metrics --prometheus`: Helm values for what a Prometheus server scrapes.

/// Values of the charts `dcgm-exporter` and `kube-state-metrics`, a document each. Nothing
/// in them depends on a cluster.
pub fn helm_values() -> &'static str {
    include_str!("helm.yaml")
}
