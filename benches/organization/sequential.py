#!/usr/bin/env python3
"""What a plain script does with boto3 (in its own environment): one call after the other.

For every account it assumes the role, for every region it lists the instances and the GPU
series, and for every instance it reads one metric a call, at 300 s over 14 days: CPU, and
utilization and memory of each GPU, each with average and maximum. That is less than gpucost
reads, and spares the calls that find out prices and commitments.

With `--sample N` everything is listed, and metrics are read of N instances that are drawn
with a fixed seed. The whole is then extrapolated by the number of metrics, and the output
says so.
"""

import argparse
import datetime
import json
import random
import resource
import time

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

AGENT = "CWAgent"
GPU_METRICS = ["nvidia_smi_utilization_gpu", "nvidia_smi_memory_used"]
STATISTICS = ["Average", "Maximum"]


class Counted:
    """Clients of one account and region, and what they called."""

    calls = 0

    def __init__(self, options, region, keys):
        self.options = {
            "endpoint_url": options.endpoint_url,
            "region_name": region,
            "config": Config(retries={"mode": "standard", "max_attempts": 10}),
            **keys,
        }

    def client(self, service):
        client = boto3.client(service, **self.options)

        def count(**_):
            Counted.calls += 1

        client.meta.events.register("before-send", count)
        return client


def session_keys(sts, account, role):
    arn = f"arn:aws:iam::{account}:role/{role}"
    given = sts.assume_role(RoleArn=arn, RoleSessionName="sequential")["Credentials"]
    return {
        "aws_access_key_id": given["AccessKeyId"],
        "aws_secret_access_key": given["SecretAccessKey"],
        "aws_session_token": given["SessionToken"],
    }


def listed(client, operation, key, **arguments):
    for page in client.get_paginator(operation).paginate(**arguments):
        yield from page[key]


def inventory(options):
    """Running instances with a client and the metrics of each; and accounts that refuse."""
    own = Counted(options, options.region[0], {})
    sts = own.client("sts")
    caller = sts.get_caller_identity()["Account"]
    organization = own.client("organizations")
    accounts = [one["Id"] for one in listed(organization, "list_accounts", "Accounts")]
    found, refused = [], []
    for account in accounts:
        try:
            keys = {} if account == caller else session_keys(sts, account, options.role)
        except ClientError as error:
            refused.append(f"{account}: {error.response['Error']['Code']}")
            continue
        for region in options.region:
            there = Counted(options, region, keys)
            cloudwatch, of_gpus = there.client("cloudwatch"), {}
            for name in GPU_METRICS:
                arguments = {"Namespace": AGENT, "MetricName": name}
                for metric in listed(cloudwatch, "list_metrics", "Metrics", **arguments):
                    values = {one["Name"]: one["Value"] for one in metric["Dimensions"]}
                    of_gpus.setdefault(values["InstanceId"], []).append(metric)
            states = [{"Name": "instance-state-name", "Values": ["running"]}]
            ec2 = there.client("ec2")
            for reservation in listed(ec2, "describe_instances", "Reservations", Filters=states):
                for instance in reservation["Instances"]:
                    id = instance["InstanceId"]
                    cpu = {
                        "Namespace": "AWS/EC2",
                        "MetricName": "CPUUtilization",
                        "Dimensions": [{"Name": "InstanceId", "Value": id}],
                    }
                    found.append((id, cloudwatch, [cpu] + of_gpus.get(id, [])))
    return found, refused


def read(cloudwatch, metric, end):
    """Mean and 95th percentile of one metric, and how many points it has."""
    queries = [
        {"Id": name.lower(), "MetricStat": {"Metric": metric, "Period": 300, "Stat": name}}
        for name in STATISTICS
    ]
    values = {query["Id"]: [] for query in queries}
    window = {"StartTime": end - datetime.timedelta(days=14), "EndTime": end}
    results = listed(
        cloudwatch, "get_metric_data", "MetricDataResults", MetricDataQueries=queries, **window
    )
    for result in results:
        values[result["Id"]] += result["Values"]
    averages = sorted(values["average"]) or [0.0]
    points = sum(map(len, values.values()))
    return sum(averages) / len(averages), averages[len(averages) * 95 // 100], points


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--endpoint-url", required=True)
    parser.add_argument("--region", type=lambda text: text.split(","), required=True)
    parser.add_argument("--role", default="GpucostReadOnly")
    parser.add_argument("--sample", type=int, help="instances to read metrics of; default: all")
    options = parser.parse_args()
    begin = time.monotonic()
    instances, refused = inventory(options)
    listing_s, listing_calls = time.monotonic() - begin, Counted.calls
    size = min(options.sample or len(instances), len(instances))
    sample = random.Random(1).sample(instances, size)
    now = datetime.datetime.now(datetime.timezone.utc)
    end = now - datetime.timedelta(seconds=now.timestamp() % 300)
    begin, points, asked = time.monotonic(), 0, 0
    for _, cloudwatch, metrics in sample:
        for metric in metrics:
            points += read(cloudwatch, metric, end)[2]
            asked += 1
    metrics_s = time.monotonic() - begin
    every = sum(len(metrics) for *_, metrics in instances)
    report = {
        "instances": len(instances),
        "accounts_refused": refused,
        "listing": {"calls": listing_calls, "seconds": round(listing_s, 1)},
        "measured": {
            "instances": len(sample),
            "metrics": asked,
            "calls": Counted.calls - listing_calls,
            "points": points,
            "seconds": round(metrics_s, 1),
            "seconds_per_instance": round(metrics_s / max(1, len(sample)), 3),
        },
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }
    if len(sample) < len(instances):
        factor = every / max(1, asked)
        report["extrapolated"] = {
            "by": "metrics of all instances over metrics measured",
            "calls": listing_calls + round((Counted.calls - listing_calls) * factor),
            "points": round(points * factor),
            "seconds": round(listing_s + metrics_s * factor),
        }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
