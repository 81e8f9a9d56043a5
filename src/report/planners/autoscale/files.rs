//! The policy as the systems that scale write it down. Nothing is applied.

use super::words::label;
use crate::planners::autoscale::{Autoscale, ScalingPolicy, ScheduleWindow, Trigger};
use crate::report::doc::Printed;
use serde_json::{Value as Json, json};

/// The longest stabilization window that Kubernetes accepts, seconds.
const LONGEST_STABILIZATION: i64 = 3_600;
const GROUP: &str = "AUTO_SCALING_GROUP";

pub(super) fn files(found: &Autoscale) -> Vec<Printed> {
    let policy = &found.ask.policy;
    let mut files = vec![group(found), scaling_policy(found)];
    if !policy.windows.is_empty() {
        files.push(scheduled_actions(found));
    }
    files.extend([scaled_object(found), node_pool(found)]);
    files
}

fn group_name(found: &Autoscale) -> &str {
    found.ask.subject.scaling_group.as_deref().unwrap_or(GROUP)
}

fn document(value: &Json) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

fn group(found: &Autoscale) -> Printed {
    let policy = &found.ask.policy;
    let mut group = json!({
        "AutoScalingGroupName": group_name(found),
        "MinSize": policy.min,
        "MaxSize": policy.max,
        "DefaultInstanceWarmup": policy.start_up_seconds,
    });
    if policy.spot.spot_percent > 0.0 {
        group["MixedInstancesPolicy"] = json!({
            "InstancesDistribution": {
                "OnDemandBaseCapacity": policy.spot.on_demand_base,
                "OnDemandPercentageAboveBaseCapacity":
                    (100.0 - policy.spot.spot_percent).round() as u32,
                "SpotAllocationStrategy": "price-capacity-optimized",
            }
        });
    }
    Printed {
        name: "auto-scaling-group.json".to_owned(),
        purpose: "Limits of the Auto Scaling group: aws autoscaling update-auto-scaling-group \
                  --cli-input-json file://auto-scaling-group.json"
            .to_owned(),
        text: document(&group),
    }
}

fn scaling_policy(found: &Autoscale) -> Printed {
    let policy = &found.ask.policy;
    let (metric, target, needs) = match policy.trigger {
        Trigger::Utilization { target_percent } => (
            json!({
                "MetricName": "nvidia_smi_utilization_gpu",
                "Namespace": "CWAgent",
                "Dimensions": [
                    { "Name": "AutoScalingGroupName", "Value": group_name(found) }
                ],
                "Statistic": "Average",
            }),
            target_percent,
            "The metric is that of the CloudWatch agent, which must add up by group: \
             \"append_dimensions\": {\"AutoScalingGroupName\": \"${aws:AutoScalingGroupName}\"} \
             and \"aggregation_dimensions\": [[\"AutoScalingGroupName\"]].",
        ),
        Trigger::Queue {
            requests_per_instance,
            ..
        } => (
            queue_metric(group_name(found)),
            requests_per_instance,
            "The metric divides the messages of an SQS queue, waiting and in flight, by the \
             instances in service: set QUEUE_NAME.",
        ),
    };
    let text = document(&json!({
        "AutoScalingGroupName": group_name(found),
        "PolicyName": "gpucost-target-tracking",
        "PolicyType": "TargetTrackingScaling",
        "EstimatedInstanceWarmup": policy.start_up_seconds,
        "TargetTrackingConfiguration": {
            "CustomizedMetricSpecification": metric,
            "TargetValue": target,
            "DisableScaleIn": false,
        }
    }));
    Printed {
        name: "scaling-policy.json".to_owned(),
        purpose: format!(
            "Target tracking: aws autoscaling put-scaling-policy --cli-input-json \
             file://scaling-policy.json. {needs} AWS has a cool-down of its own of 15 minutes."
        ),
        text,
    }
}

/// Messages over instances, as metric math.
fn queue_metric(group: &str) -> Json {
    let messages = |id: &str, name: &str| {
        json!({
            "Id": id,
            "MetricStat": {
                "Metric": {
                    "Namespace": "AWS/SQS",
                    "MetricName": name,
                    "Dimensions": [{ "Name": "QueueName", "Value": "QUEUE_NAME" }],
                },
                "Stat": "Sum",
            },
            "ReturnData": false,
        })
    };
    json!({
        "Metrics": [
            messages("waiting", "ApproximateNumberOfMessagesVisible"),
            messages("inflight", "ApproximateNumberOfMessagesNotVisible"),
            {
                "Id": "instances",
                "MetricStat": {
                    "Metric": {
                        "Namespace": "AWS/AutoScaling",
                        "MetricName": "GroupInServiceInstances",
                        "Dimensions": [{ "Name": "AutoScalingGroupName", "Value": group }],
                    },
                    "Stat": "Average",
                },
                "ReturnData": false,
            },
            {
                "Id": "each",
                "Expression": "(waiting + inflight) / instances",
                "ReturnData": true,
            },
        ]
    })
}

/// When a window opens and when it closes, as cron lines.
fn cron(window: &ScheduleWindow) -> [String; 2] {
    let line = |minute: u16| {
        let is_next_day = minute == 24 * 60;
        let minute = minute % (24 * 60);
        let days = (0..7).filter(|day| window.days[*day]);
        // Cron begins the week on Sunday.
        let mut days: Vec<usize> = days
            .map(|day| (day + 1 + usize::from(is_next_day)) % 7)
            .collect();
        days.sort_unstable();
        let days: Vec<String> = days.iter().map(usize::to_string).collect();
        format!("{} {} * * {}", minute % 60, minute / 60, days.join(","))
    };
    [line(window.from_minute), line(window.to_minute)]
}

fn scheduled_actions(found: &Autoscale) -> Printed {
    let policy = &found.ask.policy;
    let actions = policy
        .windows
        .iter()
        .enumerate()
        .flat_map(|(index, window)| {
            let [opens, closes] = cron(window);
            let action = |name: &str, recurrence: String, min: u32| {
                json!({
                    "ScheduledActionName": format!("gpucost-window-{}-{name}", index + 1),
                    "Recurrence": recurrence,
                    "TimeZone": policy.time_zone.0,
                    "MinSize": min,
                })
            };
            [
                action("opens", opens, window.min.max(policy.min)),
                action("closes", closes, policy.min),
            ]
        });
    let actions: Vec<Json> = actions.collect();
    Printed {
        name: "scheduled-actions.json".to_owned(),
        purpose: "Windows: aws autoscaling batch-put-scheduled-update-group-action \
                  --cli-input-json file://scheduled-actions.json. Where windows overlap, the \
                  end of one lowers the minimum inside the other."
            .to_owned(),
        text: document(&json!({
            "AutoScalingGroupName": group_name(found),
            "ScheduledUpdateGroupActions": actions,
        })),
    }
}

fn scaled_object(found: &Autoscale) -> Printed {
    let (ask, policy) = (&found.ask, &found.ask.policy);
    let name = label(&ask.subject.name);
    let stabilization = policy.cool_down_seconds.min(LONGEST_STABILIZATION);
    let trigger = match policy.trigger {
        Trigger::Utilization { target_percent } => format!(
            "    - type: prometheus\n      metricType: AverageValue\n      metadata:\n        \
             serverAddress: http://prometheus.monitoring.svc:9090\n        \
             query: sum(DCGM_FI_DEV_GPU_UTIL{{exported_pod=~\"{name}-.*\"}})\n        \
             threshold: \"{}\"\n",
            target_percent * f64::from(ask.gpus_per_instance)
        ),
        Trigger::Queue {
            requests_per_instance,
            ..
        } => format!(
            "    - type: aws-sqs-queue\n      metadata:\n        \
             queueURL: https://sqs.{}.amazonaws.com/ACCOUNT/QUEUE_NAME\n        \
             queueLength: \"{}\"\n        scaleOnInFlight: \"true\"\n        awsRegion: \"{}\"\n",
            label(&ask.subject.region),
            queue_length(requests_per_instance),
            label(&ask.subject.region),
        ),
    };
    let windows: String = policy
        .windows
        .iter()
        .map(|one| keda_window(one, policy))
        .collect();
    let text = format!(
        "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata:\n  name: \"{name}\"\nspec:\n  \
         scaleTargetRef:\n    name: \"{name}\"\n  pollingInterval: 60\n  cooldownPeriod: {}\n  \
         minReplicaCount: {}\n  maxReplicaCount: {}\n  advanced:\n    \
         horizontalPodAutoscalerConfig:\n      behavior:\n        scaleDown:\n          \
         stabilizationWindowSeconds: {stabilization}\n  triggers:\n{trigger}{windows}",
        policy.cool_down_seconds, policy.min, policy.max,
    );
    let zero = if policy.min == 0 && matches!(policy.trigger, Trigger::Utilization { .. }) {
        " At zero this query has no value: add a trigger on requests."
    } else {
        ""
    };
    let mut differs = String::new();
    if policy.cool_down_seconds > LONGEST_STABILIZATION {
        differs = format!(
            " It ends replicas after {LONGEST_STABILIZATION} s, the longest that Kubernetes \
             takes, and not after the {} s that were replayed.",
            policy.cool_down_seconds
        );
    }
    if let Trigger::Queue {
        requests_per_instance: replayed,
        ..
    } = policy.trigger
        && queue_length(replayed) != replayed
    {
        differs.push_str(&format!(
            " Its queue length is {}, a whole number, and not the {replayed} that was replayed.",
            queue_length(replayed)
        ));
    }
    Printed {
        name: "scaledobject.yaml".to_owned(),
        purpose: format!(
            "KEDA, for a Deployment of which each replica takes {} GPUs: kubectl apply -f \
             scaledobject.yaml. Set the address of your server.{zero}{differs}",
            ask.gpus_per_instance
        ),
        text,
    }
}

/// A queue length that KEDA takes: rounded down, because more instances serve all the same.
fn queue_length(requests_per_instance: f64) -> f64 {
    requests_per_instance.floor().max(1.0)
}

fn keda_window(window: &ScheduleWindow, policy: &ScalingPolicy) -> String {
    let [opens, closes] = cron(window);
    format!(
        "    - type: cron\n      metadata:\n        timezone: {}\n        start: {opens}\n        \
         end: {closes}\n        desiredReplicas: \"{}\"\n",
        policy.time_zone.0,
        window.min.max(policy.min)
    )
}

fn node_pool(found: &Autoscale) -> Printed {
    let policy = &found.ask.policy;
    let on_demand = policy.spot.on_demand(policy.max);
    let spot = policy.max - on_demand;
    let mut pools = Vec::new();
    if on_demand > 0 {
        pools.push(pool(found, "on-demand", on_demand, 100));
    }
    if spot > 0 {
        pools.push(pool(found, "spot", spot, 10));
    }
    let order = if pools.len() > 1 {
        " Karpenter keeps no share: it fills the pool on demand first, up to its limit."
    } else {
        ""
    };
    Printed {
        name: "nodepool.yaml".to_owned(),
        purpose: format!(
            "Karpenter: kubectl apply -f nodepool.yaml. Set the name of your EC2NodeClass.{order}"
        ),
        text: pools.join("---\n"),
    }
}

fn pool(found: &Autoscale, option: &str, instances: u32, weight: u32) -> String {
    let ask = &found.ask;
    let name = label(&ask.subject.name);
    let instance_type = Json::from(ask.subject.instance_type.as_str());
    let gpus = u64::from(instances) * u64::from(ask.gpus_per_instance);
    format!(
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: \"{name}-{option}\"\nspec:\n  \
         weight: {weight}\n  template:\n    spec:\n      nodeClassRef:\n        \
         group: karpenter.k8s.aws\n        kind: EC2NodeClass\n        name: default\n      \
         requirements:\n        - key: node.kubernetes.io/instance-type\n          operator: In\n          \
         values: [{instance_type}]\n        - key: karpenter.sh/capacity-type\n          \
         operator: In\n          values: [\"{option}\"]\n      taints:\n        \
         - key: nvidia.com/gpu\n          effect: NoSchedule\n  limits:\n    \
         nvidia.com/gpu: {gpus}\n  disruption:\n    consolidationPolicy: WhenEmpty\n    \
         consolidateAfter: {}s\n",
        ask.policy.cool_down_seconds
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_become_cron_lines() {
        let of = |text: &str| cron(&ScheduleWindow::parse(text).expect("a window"));
        assert_eq!(
            of("mon-fri@07:45-16:00=4"),
            ["45 7 * * 1,2,3,4,5", "0 16 * * 1,2,3,4,5"]
        );
        // The end of Saturday is the beginning of Sunday, and that of Sunday of Monday.
        assert_eq!(of("sat,sun@00:00-24:00=1"), ["0 0 * * 0,6", "0 0 * * 0,1"]);
    }
}
