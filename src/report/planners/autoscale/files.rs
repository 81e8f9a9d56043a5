//! The policy as the systems that scale write it down. Nothing is applied.

use crate::domain::counted;
use crate::planners::autoscale::{Autoscale, ScalingPolicy, ScheduleWindow, Trigger};
use crate::report::doc::{Printed, rows};
use serde_json::{Value as Json, json};

/// The longest stabilization window that Kubernetes accepts, seconds.
const LONGEST_STABILIZATION: i64 = 3_600;

pub(super) fn files(plan: &Autoscale) -> Vec<Printed> {
    let (subject, policy) = (&plan.request.subject, &plan.request.policy);
    let group = subject.scaling_group.as_deref().unwrap_or("AUTO_SCALING_GROUP");
    rows! {
        Printed::new("auto-scaling-group.json", "Limits of the Auto Scaling group: aws autoscaling update-auto-scaling-group --cli-input-json file://auto-scaling-group.json", pretty(&limits(policy, group)));
        target_tracking(policy, group);
        if !policy.windows.is_empty() => Printed::new("scheduled-actions.json", "Windows: aws autoscaling batch-put-scheduled-update-group-action --cli-input-json file://scheduled-actions.json. Where windows overlap, the end of one lowers the minimum inside the other.", pretty(&scheduled_actions(policy, group)));
        scaled_object(plan);
        node_pools(plan);
    }
}

fn pretty(value: &Json) -> String {
    format!("{value:#}\n")
}

fn limits(policy: &ScalingPolicy, group: &str) -> Json {
    let mut limits = json!({
        "AutoScalingGroupName": group, "MinSize": policy.min, "MaxSize": policy.max,
        "DefaultInstanceWarmup": policy.start_up_seconds,
    });
    if policy.spot.spot_percent > 0.0 {
        limits["MixedInstancesPolicy"] = json!({ "InstancesDistribution": {
            "OnDemandBaseCapacity": policy.spot.on_demand_base,
            "OnDemandPercentageAboveBaseCapacity": (100.0 - policy.spot.spot_percent).round() as u32,
            "SpotAllocationStrategy": "price-capacity-optimized",
        } });
    }
    limits
}

fn target_tracking(policy: &ScalingPolicy, group: &str) -> Printed {
    let of_group = json!([{ "Name": "AutoScalingGroupName", "Value": group }]);
    let (metric, target, needs) = match policy.trigger {
        Trigger::Utilization { target_percent } => (
            json!({
                "MetricName": "nvidia_smi_utilization_gpu", "Namespace": "CWAgent",
                "Dimensions": of_group, "Statistic": "Average",
            }),
            target_percent,
            "The metric is that of the CloudWatch agent, which must add up by group: \
             \"append_dimensions\": {\"AutoScalingGroupName\": \"${aws:AutoScalingGroupName}\"} \
             and \"aggregation_dimensions\": [[\"AutoScalingGroupName\"]].",
        ),
        Trigger::Queue { requests_per_instance, .. } => (
            messages_per_instance(&of_group),
            requests_per_instance,
            "The metric divides the messages of an SQS queue, waiting and in flight, by the \
             instances in service: set QUEUE_NAME.",
        ),
    };
    let text = pretty(&json!({
        "AutoScalingGroupName": group, "PolicyName": "gpucost-target-tracking",
        "PolicyType": "TargetTrackingScaling", "EstimatedInstanceWarmup": policy.start_up_seconds,
        "TargetTrackingConfiguration": {
            "CustomizedMetricSpecification": metric, "TargetValue": target, "DisableScaleIn": false,
        },
    }));
    let purpose = format!(
        "Target tracking: aws autoscaling put-scaling-policy --cli-input-json \
         file://scaling-policy.json. {needs} AWS has a cool-down of its own of 15 minutes."
    );
    Printed::new("scaling-policy.json", purpose, text)
}

/// Metric math.
fn messages_per_instance(of_group: &Json) -> Json {
    let stat = |id: &str, (namespace, name): (&str, &str), dimensions: &Json, stat: &str| {
        json!({ "Id": id, "ReturnData": false, "MetricStat": {
            "Metric": { "Namespace": namespace, "MetricName": name, "Dimensions": dimensions },
            "Stat": stat,
        } })
    };
    let queue = json!([{ "Name": "QueueName", "Value": "QUEUE_NAME" }]);
    let waiting = ("AWS/SQS", "ApproximateNumberOfMessagesVisible");
    let in_flight = ("AWS/SQS", "ApproximateNumberOfMessagesNotVisible");
    let instances = ("AWS/AutoScaling", "GroupInServiceInstances");
    json!({ "Metrics": [
        stat("waiting", waiting, &queue, "Sum"), stat("inflight", in_flight, &queue, "Sum"),
        stat("instances", instances, of_group, "Average"),
        { "Id": "each", "Expression": "(waiting + inflight) / instances", "ReturnData": true },
    ] })
}

/// When a window opens and when it closes, as cron lines.
fn cron(window: &ScheduleWindow) -> [String; 2] {
    [window.from_minute, window.to_minute].map(|minute| {
        let is_next_day = minute == 24 * 60;
        let minute = minute % (24 * 60);
        let days = (0..7).filter(|day| window.days[*day]);
        // Cron begins the week on Sunday.
        let days = days.map(|day| (day + 1 + usize::from(is_next_day)) % 7);
        let mut days: Vec<String> = days.map(|day| day.to_string()).collect();
        days.sort_unstable();
        format!("{} {} * * {}", minute % 60, minute / 60, days.join(","))
    })
}

fn scheduled_actions(policy: &ScalingPolicy, group: &str) -> Json {
    let actions = policy.windows.iter().enumerate().flat_map(|(index, window)| {
        let [opens, closes] = cron(window);
        let most = window.min.max(policy.min);
        [("opens", opens, most), ("closes", closes, policy.min)].map(|(name, at, min)| {
            let name = format!("gpucost-window-{}-{name}", index + 1);
            json!({
                "ScheduledActionName": name, "Recurrence": at, "TimeZone": policy.time_zone.0,
                "MinSize": min,
            })
        })
    });
    let actions: Vec<Json> = actions.collect();
    json!({ "AutoScalingGroupName": group, "ScheduledUpdateGroupActions": actions })
}

fn scaled_object(plan: &Autoscale) -> Printed {
    let (request, policy) = (&plan.request, &plan.request.policy);
    let (name, cool_down) = (label(&request.subject.name), policy.cool_down_seconds);
    let mut text = format!(
        include_str!("scaledobject.yaml"),
        name = name,
        cool_down = cool_down,
        min = policy.min,
        max = policy.max,
        stabilization = cool_down.min(LONGEST_STABILIZATION)
    );
    let mut purpose = format!(
        "KEDA, for a Deployment of which each replica takes {}: kubectl apply -f \
         scaledobject.yaml. Set the address of your server.",
        counted(request.gpus_per_instance, "GPU", "GPUs")
    );
    let mut differs = String::new();
    match policy.trigger {
        Trigger::Utilization { target_percent } => {
            text += &format!(
                "    - type: prometheus\n      metricType: AverageValue\n      metadata:\n        \
                 serverAddress: http://prometheus.monitoring.svc:9090\n        \
                 query: sum(DCGM_FI_DEV_GPU_UTIL{{exported_pod=~\"{name}-.*\"}})\n        \
                 threshold: \"{}\"\n",
                target_percent * f64::from(request.gpus_per_instance)
            );
            if policy.min == 0 {
                purpose += " At zero this query has no value: add a trigger on requests.";
            }
        }
        Trigger::Queue { requests_per_instance: replayed, .. } => {
            let region = label(&request.subject.region);
            // KEDA takes whole numbers; rounded down, because more instances serve all the same.
            let length = replayed.floor().max(1.0);
            text += &format!(
                "    - type: aws-sqs-queue\n      metadata:\n        \
                 queueURL: https://sqs.{region}.amazonaws.com/ACCOUNT/QUEUE_NAME\n        \
                 queueLength: \"{length}\"\n        scaleOnInFlight: \"true\"\n        \
                 awsRegion: \"{region}\"\n"
            );
            if length != replayed {
                differs = format!(
                    " Its queue length is {length}, a whole number, and not the {replayed} that \
                     was replayed."
                );
            }
        }
    }
    for window in &policy.windows {
        let ([opens, closes], least) = (cron(window), window.min.max(policy.min));
        text += &format!(
            "    - type: cron\n      metadata:\n        timezone: {}\n        start: {opens}\n        \
             end: {closes}\n        desiredReplicas: \"{least}\"\n",
            policy.time_zone.0
        );
    }
    if cool_down > LONGEST_STABILIZATION {
        purpose += &format!(
            " It ends replicas after {LONGEST_STABILIZATION} s, the longest that Kubernetes \
             takes, and not after the {cool_down} s that were replayed."
        );
    }
    Printed::new("scaledobject.yaml", purpose + &differs, text)
}

fn node_pools(plan: &Autoscale) -> Printed {
    let (request, policy) = (&plan.request, &plan.request.policy);
    let on_demand = policy.spot.on_demand(policy.max);
    let pools = [("on-demand", on_demand, 100), ("spot", policy.max - on_demand, 10)];
    let pools = pools.into_iter().filter(|(_, instances, _)| *instances > 0);
    let pools = pools.map(|(option, instances, weight)| {
        format!(
            include_str!("nodepool.yaml"),
            name = label(&request.subject.name),
            option = option,
            weight = weight,
            instance_type = Json::from(request.subject.instance_type.as_str()),
            gpus = u64::from(instances) * u64::from(request.gpus_per_instance),
            cool_down = policy.cool_down_seconds
        )
    });
    let pools: Vec<String> = pools.collect();
    let mut purpose =
        "Karpenter: kubectl apply -f nodepool.yaml. Set the name of your EC2NodeClass.".to_owned();
    if pools.len() > 1 {
        purpose += " Karpenter keeps no share: it fills the pool on demand first, up to its limit.";
    }
    Printed::new("nodepool.yaml", purpose, pools.join("---\n"))
}

/// A name as Kubernetes accepts it: small letters, digits and dashes, 40 at most.
fn label(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let letters = name.chars().take(40);
    let plain: String = letters.map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    match plain.trim_matches('-') {
        "" => "workload".to_owned(),
        plain => plain.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_become_cron_lines() {
        let of = |text: &str| cron(&ScheduleWindow::parse(text).expect("a window"));
        assert_eq!(of("mon-fri@07:45-16:00=4"), ["45 7 * * 1,2,3,4,5", "0 16 * * 1,2,3,4,5"]);
        // The end of Saturday is the beginning of Sunday, and that of Sunday of Monday.
        assert_eq!(of("sat,sun@00:00-24:00=1"), ["0 0 * * 0,6", "0 0 * * 0,1"]);
    }

    #[test]
    fn names_of_kubernetes_are_plain() {
        assert_eq!(label("asg:Speech_Online"), "asg-speech-online");
        assert_eq!(label("--\u{1b}[2J"), "2j");
        assert_eq!(label("模型"), "workload");
    }
}
