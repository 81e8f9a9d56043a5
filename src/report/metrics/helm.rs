//! `gpucost setup metrics --prometheus`: Helm values for what a Prometheus server scrapes.

/// Values of the charts `dcgm-exporter` and `kube-state-metrics`, a document each. Nothing
/// in them depends on a cluster.
pub fn helm_values() -> &'static str {
    VALUES
}

const VALUES: &str = r#"# dcgm-exporter: save this document as dcgm-exporter.yaml and run
#   helm repo add gpu-helm-charts https://nvidia.github.io/dcgm-exporter/helm-charts
#   helm upgrade --install dcgm-exporter gpu-helm-charts/dcgm-exporter --values dcgm-exporter.yaml
# With the GPU operator, which brings its own exporter, put the list of metrics into the
# config map that `dcgmExporter.config.name` names, and the rest below `dcgmExporter`.
serviceMonitor:
  enabled: true
  # Values are collected every 30 seconds. Up to 5 minutes are fine enough for gpucost.
  interval: 30s
  # Without it, the pod that holds a GPU is in `exported_pod`, which gpucost reads as well.
  honorLabels: false
  relabelings:
    # The node is how gpucost finds the machine of a series. The exporter has it in
    # `hostname` where its variable NODE_NAME is set, as recent charts do.
    - sourceLabels: [__meta_kubernetes_pod_node_name]
      targetLabel: node

# Field of DCGM, kind, description. This list replaces that of the chart: add what else you
# collect.
customMetrics: |
  DCGM_FI_DEV_GPU_UTIL, gauge, GPU utilization (in %).
  # For GPUs with MIG. It needs a data center GPU and the capability SYS_ADMIN.
  DCGM_FI_PROF_GR_ENGINE_ACTIVE, gauge, Ratio of time the graphics engine is active.
  DCGM_FI_DEV_FB_USED, gauge, Framebuffer memory used (in MiB).
  DCGM_FI_DEV_FB_FREE, gauge, Framebuffer memory free (in MiB).
  DCGM_FI_DEV_FB_RESERVED, gauge, Framebuffer memory reserved (in MiB).
  DCGM_FI_DEV_POWER_USAGE, gauge, Power draw (in W).
  DCGM_FI_DEV_GPU_TEMP, gauge, GPU temperature (in C).
---
# kube-state-metrics: save this document as kube-state-metrics.yaml and run
#   helm repo add prometheus-community https://prometheus-community.github.io/helm-charts
#   helm upgrade --install kube-state-metrics prometheus-community/kube-state-metrics --values kube-state-metrics.yaml
# In kube-prometheus-stack, put it below `kube-state-metrics`.
#
# gpucost reads kube_node_info, which has the instance ID of each node and is always there.
# The labels below say in queries of your own which type, price class and pool a node has.
prometheus:
  monitor:
    enabled: true
metricLabelsAllowlist:
  - nodes=[node.kubernetes.io/instance-type,topology.kubernetes.io/region,topology.kubernetes.io/zone,karpenter.sh/capacity-type,karpenter.sh/nodepool,eks.amazonaws.com/capacityType,eks.amazonaws.com/nodegroup,cloud.google.com/gke-spot,cloud.google.com/gke-nodepool,kubernetes.azure.com/scalesetpriority,kubernetes.azure.com/agentpool,nvidia.com/gpu.product]
"#;
