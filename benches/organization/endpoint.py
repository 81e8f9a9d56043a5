#!/usr/bin/env python3
"""An AWS endpoint of a made-up organization, for measurements on this host.

Speaks the calls of gpucost and of `sequential.py`: STS, Organizations, EC2, Auto Scaling,
CloudWatch, the price list and savings plans. Signatures are not verified; the access key of a session holds
its account. Counts are printed as JSON at the end (SIGTERM or SIGINT) and at `/_counts`.
"""

import argparse
import asyncio
import fnmatch
import json
import multiprocessing
import os
import re
import resource
import signal
import socket
import sys
import time

import fleet as made
from wire import Connection, Refusal, Throttled, encode, head

ACCOUNTS_PER_PAGE = 20
METRICS_PER_PAGE = 500
POINTS_PER_PAGE = 100_800
PRICES_PER_PAGE = 1_000
PRODUCTS_PER_PAGE = 100
GROUPS_PER_PAGE = 50
OPERATIONS = [
    "sts:GetCallerIdentity", "sts:AssumeRole", "organizations:ListAccounts",
    "ec2:DescribeRegions", "ec2:DescribeInstances", "ec2:DescribeInstanceTypes",
    "ec2:DescribeVolumes", "ec2:DescribeAddresses", "ec2:DescribeSpotPriceHistory",
    "ec2:DescribeReservedInstances", "ec2:DescribeCapacityReservations",
    "autoscaling:DescribeAutoScalingGroups",
    "cloudwatch:ListMetrics", "cloudwatch:GetMetricData", "pricing:GetProducts",
    "savingsplans:DescribeSavingsPlans", "savingsplans:DescribeSavingsPlansOfferingRates",
    "other",
]
# Published limits of an account and region: tokens at once, and tokens a second.
LIMITS = {
    "ec2": (100, 20),
    "cloudwatch:ListMetrics": (25, 25),
    "cloudwatch:GetMetricData": (50, 50),
    "points": (396_000, 396_000),
}


class Shared:
    """Counts and token buckets of all processes."""

    def __init__(self, accounts):
        self.lock = multiprocessing.Lock()
        self.accounts = accounts
        # Calls, throttled calls and refused calls by operation; points and bytes at the end.
        self.counts = multiprocessing.RawArray("q", 3 * len(OPERATIONS) + 2)
        buckets = len(accounts) * len(made.REGIONS) * len(LIMITS)
        self.buckets = multiprocessing.RawArray("d", 2 * buckets)

    def count(self, name, column, more=1):
        place = OPERATIONS.index(name if name in OPERATIONS else "other")
        with self.lock:
            self.counts[3 * place + column] += more

    def add(self, points, size):
        with self.lock:
            self.counts[-2] += points
            self.counts[-1] += size

    def take(self, limit, account, region, tokens=1):
        """Takes tokens of a bucket; False if it has fewer."""
        if account not in self.accounts or region not in made.REGIONS:
            return True
        most, per_second = LIMITS[limit]
        place = self.accounts.index(account) * len(made.REGIONS) + made.REGIONS.index(region)
        place = 2 * (place * len(LIMITS) + list(LIMITS).index(limit))
        with self.lock:
            now, then = time.monotonic(), self.buckets[place + 1]
            held = min(most, self.buckets[place] + (now - then) * per_second) if then else most
            enough = held >= tokens
            self.buckets[place] = held - tokens if enough else held
            self.buckets[place + 1] = now
            return enough

    def report(self):
        columns = [
            {name: self.counts[3 * place + column] for place, name in enumerate(OPERATIONS)}
            for column in range(3)
        ]
        calls, throttled, refused = [{k: v for k, v in one.items() if v} for one in columns]
        points, size = self.counts[-2], self.counts[-1]
        return {"calls": calls, "throttled": throttled, "refused": refused,
                "points": points, "bytes": size}


def xml(name, inner):
    return f"<{name}>{inner}</{name}>"


def items(parts, name="item"):
    return "".join(xml(name, part) for part in parts)


def fields(**values):
    return "".join(xml(name, value) for name, value in values.items())


def moment(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(seconds))


class Endpoint:
    def __init__(self, options):
        self.fleet = made.Fleet(options.accounts, options.instances, options.mix)
        self.denied, self.throttles = set(options.deny), options.throttle
        self.shared = Shared(self.fleet.accounts)
        self.spot = {}

    def respond(self, call):
        """Status, body, and the code of an error."""
        if call is None:
            return 200, json.dumps(self.shared.report()).encode(), None
        self.shared.count(call.name, 0)
        try:
            self.limited(call, call.service if call.service == "ec2" else call.name)
            if call.name not in OPERATIONS[:-1]:
                raise Refusal(400, "InvalidAction", f"{call.name} is not imitated")
            method = re.sub(r"(?<!^)(?=[A-Z])", "_", call.operation).lower()
            body = call.answer(getattr(self, method)(call))
            self.shared.add(0, len(body))
            return 200, body, None
        except Refusal as refusal:
            self.shared.count(call.name, 1 if isinstance(refusal, Throttled) else 2)
            return refusal.status, call.refused(refusal), refusal.code

    def limited(self, call, limit, tokens=1):
        if not self.throttles or limit not in LIMITS:
            return
        if not self.shared.take(limit, self.account(call), call.region, tokens):
            if call.service == "ec2":
                raise Throttled(503, "RequestLimitExceeded", "Request limit exceeded.")
            raise Throttled(400, "Throttling", "Rate exceeded")

    def account(self, call):
        """The account of a session; the first is that of the caller."""
        held = re.fullmatch(r"ASIA(\d{12})TEST", call.access_key)
        return held[1] if held else self.fleet.accounts[0]

    def running(self, call):
        return self.fleet.running(self.account(call), call.region)

    # STS and Organizations

    def get_caller_identity(self, call):
        account = self.account(call)
        who = fields(Arn=f"arn:aws:iam::{account}:user/auditor", UserId="AIDA", Account=account)
        return xml("GetCallerIdentityResponse", xml("GetCallerIdentityResult", who))

    def assume_role(self, call):
        arn = call.request.get("RoleArn", "")
        account = (arn.split(":") + [""] * 5)[4]
        if account in self.denied or account not in self.fleet.accounts:
            words = f"User is not authorized to perform: sts:AssumeRole on resource: {arn}"
            raise Refusal(403, "AccessDenied", words)
        session = fields(
            AccessKeyId=f"ASIA{account}TEST", SecretAccessKey="a-secret",
            SessionToken=f"a-token-of-{account}", Expiration="2099-01-01T00:00:00Z",
        )
        user = fields(Arn=f"arn:aws:sts::{account}:assumed-role/r/s", AssumedRoleId="AROA:s")
        inner = xml("AssumedRoleUser", user) + xml("Credentials", session)
        return xml("AssumeRoleResponse", xml("AssumeRoleResult", inner))

    def list_accounts(self, call):
        token = call.request.get("NextToken")
        if token is None:
            return {"Accounts": [], "NextToken": "0"}  # A first page may be empty.
        end = int(token) + min(ACCOUNTS_PER_PAGE, call.request.get("MaxResults", 20))
        page = [
            {"Id": id, "Arn": f"arn:aws:organizations::{id}:account/o-made/{id}",
             "Name": f"account {id}", "State": "ACTIVE", "Status": "ACTIVE"}
            for id in self.fleet.accounts[int(token) : end]
        ]
        more = {"NextToken": str(end)} if end < len(self.fleet.accounts) else {}
        return {"Accounts": page, **more}

    # EC2

    def page(self, call, name, found, most=1_000):
        """A page of a list of XML items."""
        skip = int(call.request.get("NextToken") or 0)
        end = skip + min(most, int(call.request.get("MaxResults", most)))
        token = xml("nextToken", end) if end < len(found) else ""
        return xml(f"{call.operation}Response", xml(name, items(found[skip:end])) + token)

    def describe_regions(self, call):
        found = [fields(regionName=one, optInStatus="opt-in-not-required") for one in made.REGIONS]
        return self.page(call, "regionInfo", found)

    def describe_instances(self, call):
        wanted = call.filters()
        types, ids = wanted.get("instance-type", ["*"]), wanted.get("instance-id")
        states = wanted.get("instance-state-name", ["running", "stopped"])
        account = self.account(call)
        found = [
            fields(reservationId=f"r-{one.id[2:]}", ownerId=account,
                   instancesSet=xml("item", self.instance(one)))
            for one in self.fleet.by_place.get((account, call.region), [])
            if any(fnmatch.fnmatchcase(one.type, pattern) for pattern in types)
            and (ids is None or one.id in ids)
            and ("stopped" if one.stopped else "running") in states
        ]
        return self.page(call, "reservationSet", found)

    def instance(self, one):
        launched = moment(self.fleet.today - 86400 * (60 + one.index % 300))
        tags = {"Name": f"{one.usage}-{one.index}", "team": f"team-{one.index % 7}"}
        if one.group:
            tags["aws:autoscaling:groupName"] = one.group
        stopped = moment(self.fleet.today - 30 * 86400)[:19].replace("T", " ")
        state = fields(code=80, name="stopped") if one.stopped else fields(code=16, name="running")
        volume = fields(volumeId=f"vol-{one.index:017x}", status="attached")
        attachment = fields(deviceIndex=0, status="attached", attachTime=launched)
        return fields(
            instanceId=one.id, imageId="ami-0123456789abcdef0", instanceState=state,
            privateDnsName=f"ip-10-{one.index >> 8}-{one.index & 255}.ec2.internal",
            reason=f"User initiated ({stopped} GMT)" if one.stopped else "",
            instanceType=one.type, launchTime=launched,
            placement=fields(availabilityZone=one.zone, tenancy="default"),
            **({"instanceLifecycle": "spot"} if one.spot else {}),
            platformDetails="Linux/UNIX", usageOperation="RunInstances",
            blockDeviceMapping=xml("item", fields(deviceName="/dev/xvda", ebs=volume)),
            networkInterfaceSet=xml("item", fields(attachment=attachment)),
            tagSet=items(fields(key=key, value=value) for key, value in tags.items()),
        )

    def describe_instance_types(self, call):
        names = call.filters().get("instance-type") or call.listed("InstanceType")
        known = [one for one in names if (call.region, one) in made.prices()]
        return self.page(call, "instanceTypeSet", [fields(instanceType=one) for one in known])

    def describe_volumes(self, call):
        ids = call.filters().get("volume-id", [])
        found = [fields(volumeId=id, size=200, volumeType="gp3", status="in-use") for id in ids]
        return self.page(call, "volumeSet", found)

    def describe_addresses(self, call):
        ids = call.filters().get("instance-id", [])
        found = [fields(instanceId=id, allocationId=f"eipalloc-{id[2:]}") for id in ids]
        return self.page(call, "addressesSet", found)

    def describe_spot_price_history(self, call):
        types = tuple(call.listed("InstanceType"))
        if (call.region, types) not in self.spot:
            found, end = [], self.fleet.today
            for name in types:
                spot = made.prices().get((call.region, name), ("", ""))[1]
                for day in range(16) if spot else []:
                    for zone in "abc":
                        price = f"{float(spot) * (1 + (day * 7 + ord(zone)) % 11 / 100):.6f}"
                        found.append(fields(
                            instanceType=name, productDescription="Linux/UNIX", spotPrice=price,
                            timestamp=moment(end - 86400 * day),
                            availabilityZone=call.region + zone,
                        ))
            self.spot[call.region, types] = found
        return self.page(call, "spotPriceHistorySet", self.spot[call.region, types])

    def describe_reserved_instances(self, call):
        bought = moment(self.fleet.today - 100 * 86400)
        found = fields(
            reservedInstancesId=f"ri-{self.account(call)}-{call.region}", instanceType="g5.xlarge",
            start=bought, end=moment(self.fleet.today + 265 * 86400), fixedPrice="0.0",
            usagePrice="0.0", instanceCount=4, productDescription="Linux/UNIX", state="active",
            instanceTenancy="default", currencyCode="USD", offeringClass="standard",
            offeringType="No Upfront", scope="Region",
            recurringCharges=xml("item", fields(frequency="Hourly", amount="0.634")),
        )
        return self.page(call, "reservedInstancesSet", [found])

    def describe_capacity_reservations(self, call):
        return self.page(call, "capacityReservationSet", [])

    # Auto Scaling

    def describe_auto_scaling_groups(self, call):
        members = {}
        for one in self.running(call):
            if one.group:
                members.setdefault(one.group, []).append(one)
        wanted = call.listed("AutoScalingGroupNames.member") or sorted(members)
        found = [self.group(name, members[name]) for name in wanted if name in members]
        skip = int(call.request.get("NextToken") or 0)
        end = skip + min(GROUPS_PER_PAGE, int(call.request.get("MaxRecords", GROUPS_PER_PAGE)))
        inner = xml("AutoScalingGroups", items(found[skip:end], "member"))
        inner += xml("NextToken", end) if end < len(found) else ""
        result = xml("DescribeAutoScalingGroupsResult", inner)
        return xml("DescribeAutoScalingGroupsResponse", result)

    def group(self, name, members):
        """It may halve and double; what runs on spot does so by its policy, and the first
        instance of every second group is kept."""
        running = len(members)
        mixed = xml("InstancesDistribution", fields(
            OnDemandBaseCapacity=0, OnDemandPercentageAboveBaseCapacity=0,
            SpotAllocationStrategy="price-capacity-optimized",
        ))
        types = fields(InstanceType=members[0].type)
        template = xml("LaunchTemplate", xml("Overrides", items([types], "member")))
        instances = [
            fields(InstanceId=one.id, LifecycleState="InService",
                   ProtectedFromScaleIn=str(one is members[0] and one.index % 2 == 0).lower())
            for one in members
        ]
        return fields(
            AutoScalingGroupName=name, MinSize=(running + 1) // 2, MaxSize=2 * running,
            DesiredCapacity=running, Instances=items(instances, "member"),
            **({"MixedInstancesPolicy": template + mixed} if members[0].spot else {}),
        )

    # Prices

    def get_products(self, call):
        terms = {one["Field"]: one["Value"] for one in call.request.get("Filters", [])}
        found = []
        if terms.get("productFamily") == "Storage":
            found = [self.product(terms, "0.08", "GB-Mo")]
        elif "group" in terms:
            found = [self.product(terms, "0.005", "Hrs")]
        elif (terms.get("operatingSystem"), terms.get("tenancy")) == ("Linux", "Shared"):
            for name in terms.get("instanceType", "").split(","):
                hourly = made.prices().get((terms.get("regionCode"), name), ("",))[0]
                if hourly:
                    terms = {**terms, "instanceType": name}
                    reserved = [("1yr", 0.63), ("3yr", 0.43)]
                    found.append(self.product(terms, hourly, "Hrs", reserved))
        skip = int(call.request.get("NextToken", 0))
        end = skip + PRODUCTS_PER_PAGE
        more = {"NextToken": str(end)} if end < len(found) else {}
        return {"FormatVersion": "aws_v1", "PriceList": found[skip:end], **more}

    def product(self, attributes, price, unit, reserved=()):
        def term(code, amount, kind):
            dimension = {"unit": unit, "pricePerUnit": {"USD": f"{float(amount):.10f}"}}
            return {f"SKU.{code}": {"sku": "SKU", "effectiveDate": "2026-05-01T00:00:00Z",
                                    "priceDimensions": {f"SKU.{code}.R": dimension},
                                    "termAttributes": kind}}

        terms = {"OnDemand": term("OD", price, {}), "Reserved": {}}
        for years, share in reserved:
            kind = {"LeaseContractLength": years, "OfferingClass": "standard",
                    "PurchaseOption": "No Upfront"}
            terms["Reserved"] |= term(years, float(price) * share, kind)
        return json.dumps({"product": {"sku": "SKU", "attributes": attributes}, "terms": terms})

    def describe_savings_plans(self, call):
        return {"savingsPlans": []}

    def describe_savings_plans_offering_rates(self, call):
        return {"searchResults": []}

    # CloudWatch

    def list_metrics(self, call):
        namespace, name = call.request.get("Namespace"), call.request.get("MetricName")
        found = []
        if namespace == made.AGENT and name in made.GPU_METRICS:
            of = ((one, gpu) for one in self.running(call) for gpu in range(one.gpus))
            found = [one.dimensions(gpu) for one, gpu in of]
        elif namespace == "AWS/EC2" and name in made.HOST_METRICS:
            found = [{"InstanceId": one.id} for one in self.running(call)]
        skip = int(call.request.get("NextToken") or 0)
        end = skip + METRICS_PER_PAGE
        page = [
            {"Namespace": namespace, "MetricName": name,
             "Dimensions": [{"Name": key, "Value": value} for key, value in one.items()]}
            for one in found[skip:end]
        ]
        more = {"NextToken": str(end)} if end < len(found) else {}
        return {"Metrics": page, **more}

    def series(self, call, query, start, end):
        """The series of a query; None where nothing is published."""
        stat = query["MetricStat"]
        metric, period = stat["Metric"], stat["Period"]
        if period % made.SLOT or 86_400 % period:
            raise Refusal(400, "ValidationError", f"a period of {period} s is not imitated")
        dimensions = {one["Name"]: one["Value"] for one in metric.get("Dimensions", [])}
        one, gpu = self.fleet.of_dimensions(self.account(call), call.region, dimensions)
        kinds = made.HOST_METRICS if gpu is None else made.GPU_METRICS
        kind = kinds.get(metric["MetricName"])
        if one is None or kind is None:
            return None
        return made.Series(one, gpu, kind, stat["Stat"], period, start, end)

    def get_metric_data(self, call):
        request = call.request
        queries = request.get("MetricDataQueries", [])
        if not 1 <= len(queries) <= 500:
            raise Refusal(400, "ValidationError", f"{len(queries)} queries are not 1 to 500")
        start, end = int(request["StartTime"]), int(request["EndTime"])
        newest_first = request.get("ScanBy") != "TimestampAscending"
        if newest_first and call.protocol == "cbor":
            raise Refusal(400, "ValidationError", "in CBOR only TimestampAscending is imitated")
        first, _, done = request.get("NextToken", "0:0").partition(":")
        first, done = int(first), int(done)
        room, results, more, points = request.get("MaxDatapoints", POINTS_PER_PAGE), [], {}, 0
        # A page lists every query that is not finished; the next goes on under its id.
        for place in range(first, len(queries)):
            query = queries[place]
            series = None if more else self.series(call, query, start, end)
            left = series.count - done if series else 0
            count = min(left, room - points)
            points += count
            if count < left:
                more = {"NextToken": f"{place}:{done + count}"}
            whole = not more
            results.append(self.result(call, query, series, (done, count), whole, newest_first))
            done = 0
        self.limited(call, "points", points)
        self.shared.add(points, 0)
        return {"Messages": [], "MetricDataResults": results, **more}

    def result(self, call, query, series, part, whole, newest_first):
        skip, count = part
        if series and newest_first:
            skip = series.count - skip - count
        label = query.get("Label") or query["MetricStat"]["Metric"]["MetricName"]
        status = "Complete" if whole else "PartialData"
        found = {"Id": query["Id"], "Label": label, "StatusCode": status}
        if call.protocol == "cbor":
            times, values = series.cbor(skip, count) if series else (b"", b"")
            times, values = head(4, count) + times, head(4, count) + values
            return encode({**found, "Timestamps": times, "Values": values})
        times, values = series.plain(skip, count) if series else ([], [])
        if newest_first:
            times, values = times[::-1], values[::-1]
        return {**found, "Timestamps": times, "Values": values}


def work(endpoint, port, latency):
    """One process. The system spreads connections over those that share the port."""

    async def serve():
        loop = asyncio.get_running_loop()
        make = lambda: Connection(endpoint.respond, latency)
        await loop.create_server(make, "127.0.0.1", port, reuse_port=True, backlog=1024)
        await asyncio.Event().wait()

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    asyncio.run(serve())


def main():
    numbers = lambda text: [int(part) for part in text.split(",")]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0, help="default: a free one")
    parser.add_argument("--accounts", type=int, default=40)
    parser.add_argument("--instances", type=int, default=10_000)
    parser.add_argument("--mix", type=numbers, default=[35, 25, 25, 15],
                        help="percent idle, underused, bursty and busy")
    parser.add_argument("--latency-ms", type=float, default=50)
    parser.add_argument("--throttle", action="store_true", help="enforce the published limits")
    parser.add_argument("--deny", type=lambda text: text.split(","), default=[], metavar="ID[,ID]")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    endpoint = Endpoint(options)
    made.warm_up()
    # Bound, never listening: it keeps the port for the processes.
    keeper = socket.socket()
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    keeper.bind(("127.0.0.1", options.port))
    port = keeper.getsockname()[1]
    context = multiprocessing.get_context("fork")
    arguments = (endpoint, port, options.latency_ms / 1000)
    workers = [context.Process(target=work, args=arguments) for _ in range(options.processes)]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for worker in workers:
        worker.start()
    gpus = sum(one.gpus for one in endpoint.fleet.instances)
    print(json.dumps({"url": f"http://127.0.0.1:{port}", "gpus": gpus}), flush=True)
    try:
        for worker in workers:
            worker.join()
        sys.exit("a process ended")
    except KeyboardInterrupt:
        for worker in workers:
            worker.terminate()
            worker.join()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = {"cpu_seconds": round(used.ru_utime + used.ru_stime, 1)}
        print(json.dumps(endpoint.shared.report() | cpu, indent=2))


if __name__ == "__main__":
    main()
