"""A made-up organization: accounts, instances, what they cost, and what they measured.

Everything follows from indexes and checksums, so each process has the same fleet.
"""

import csv
import functools
import math
import pathlib
import random
import struct
import time
import zlib

REGIONS = ["us-east-1", "us-west-2", "eu-central-1"]
# (type, GPUs, name, MiB of each), 20 instances with 52 GPUs.
SINGLE = [("g4dn.xlarge", 1, "Tesla T4", 15360)] * 5 + [("g5.xlarge", 1, "NVIDIA A10G", 23028)] * 5
TYPES = (
    SINGLE
    + [("g5.12xlarge", 4, "NVIDIA A10G", 23028)] * 4
    + [("g4dn.12xlarge", 4, "Tesla T4", 15360)] * 2
    + [("p4d.24xlarge", 8, "NVIDIA A100-SXM4-40GB", 40960)] * 2
    + [("g6.xlarge", 1, "NVIDIA L4", 23034)] * 2
)
CLASSES = ["idle", "underused", "bursty", "busy"]
VARIANTS = 8
SLOT = 300  # seconds of the finest period
SLOTS = 28 * 288  # of a curve, which repeats after four weeks
READINGS = 5  # of a slot: one a minute
AGENT = "CWAgent"
GPU_METRICS = {
    "nvidia_smi_utilization_gpu": "utilization",
    "nvidia_smi_memory_used": "memory",
    "nvidia_smi_memory_total": "memory_total",
    "nvidia_smi_power_draw": "power",
    "nvidia_smi_temperature_gpu": "temperature",
    "nvidia_smi_encoder_stats_session_count": "encoder",
}
HOST_METRICS = {"CPUUtilization": "cpu", "NetworkIn": "network", "NetworkOut": "network"}
PRICING_DATA = pathlib.Path(__file__).resolve().parents[2] / "pricing-data"


class Instance:
    """One instance. Instances of the same type and region can share a group and a class."""

    def __init__(self, index, account, mix):
        self.index, self.account = index, account
        self.region = REGIONS[index % len(REGIONS)]
        self.id = f"i-{index:017x}"
        self.type, self.gpus, self.gpu_name, self.vram_mib = TYPES[index % len(TYPES)]
        self.zone = self.region + "abc"[index // 3 % 3]
        self.stopped = index % 100 == 99
        self.spot = index % 10 == 3
        place = index % 60
        self.group = f"serving-{place}" if place % 20 < 6 else None
        draw = zlib.crc32(f"{account}/{self.group or index}".encode()) % 100
        self.usage = next(name for name, end in mix if draw < end)

    def dimensions(self, gpu):
        """What the agent publishes a GPU under, with its usual `append_dimensions`."""
        return {
            "InstanceId": self.id,
            "InstanceType": self.type,
            "ImageId": "ami-0123456789abcdef0",
            "index": str(gpu),
            "name": self.gpu_name,
            "arch": "Ampere",
            "host": f"ip-10-{self.index >> 16}-{self.index >> 8 & 255}-{self.index & 255}",
        }


class Fleet:
    def __init__(self, accounts, instances, mix):
        ends = [sum(mix[: place + 1]) for place in range(len(mix))]
        classes = list(zip(CLASSES, ends))
        self.accounts = [f"{101 + place:012d}" for place in range(accounts)]
        self.instances = [
            Instance(index, self.accounts[index * accounts // instances], classes)
            for index in range(instances)
        ]
        self.by_place = {}
        for one in self.instances:
            self.by_place.setdefault((one.account, one.region), []).append(one)
        self.today = int(time.time()) // 86400 * 86400

    def running(self, account, region):
        return [one for one in self.by_place.get((account, region), []) if not one.stopped]

    def of_dimensions(self, account, region, dimensions):
        """The instance and the GPU of a series, where there is such a series."""
        text = dimensions.get("InstanceId", "")[2:]
        index = int(text, 16) if text else len(self.instances)
        if index >= len(self.instances):
            return None, None
        one = self.instances[index]
        if (one.account, one.region) != (account, region) or one.stopped:
            return None, None
        if "index" not in dimensions:
            return (one, None) if len(dimensions) == 1 else (None, None)
        gpu = int(dimensions["index"])
        return (one, gpu) if dimensions == one.dimensions(gpu) and gpu < one.gpus else (None, None)


@functools.cache
def utilization(usage, variant):
    """Average and maximum of each slot, in percent, as the agent reports whole percents."""
    chance = random.Random(f"{usage}-{variant}")
    averages, maxima, left, on = [], [], 0, False
    for slot in range(SLOTS):
        day = 0.5 - 0.5 * math.cos(2 * math.pi * (slot % 288) / 288)
        if usage == "idle":
            mean = 0.2 if variant >= 4 and chance.random() < 0.002 else 0.0
        elif usage == "underused":
            mean = 2 + 8 * day * chance.uniform(0.5, 1.5)
        elif usage == "bursty":
            left -= 1
            if left < 0:
                on = not on
                left = int(chance.expovariate(1 / (36 if on else 108)))
            mean = chance.uniform(75, 98) if on else chance.uniform(0, 1)
        else:
            mean = chance.uniform(70, 95)
        mean = round(mean * READINGS) / READINGS
        averages.append(mean)
        maxima.append(float(min(100, math.ceil(mean * chance.uniform(1.1, 2)))))
    return averages, maxima


@functools.cache
def curve(kind, usage, variant, vram_mib):
    """Average and maximum of each slot. All kinds follow the utilization."""
    if kind == "utilization":
        return utilization(usage, variant)
    used = utilization(usage, variant)
    if kind == "memory_total":
        same = [float(vram_mib)] * SLOTS
        return same, same
    if kind == "encoder":
        return [0.0] * SLOTS, [0.0] * SLOTS
    if kind == "memory":
        share = {"idle": 0.01, "underused": 0.15, "bursty": 0.4, "busy": 0.75}[usage]
        shape = lambda percent: float(round(vram_mib * share * (1 + percent / 400)))
    elif kind == "power":
        shape = lambda percent: round(30 + 2.1 * percent, 2)
    elif kind == "temperature":
        shape = lambda percent: float(round(31 + 0.4 * percent))
    elif kind == "cpu":
        shape = lambda percent: round(0.4 + 0.37 * percent + percent % 1, 3)
    else:
        shape = lambda percent: 20_000 + float(round(400_000 * percent))
    return tuple([shape(percent) for percent in values] for values in used)


def combined(values, statistic):
    """One value of some slots: (averages, maxima)."""
    averages, maxima = values
    if statistic == "Average":
        return math.fsum(averages) / len(averages)
    if statistic == "Maximum":
        return max(maxima)
    if statistic == "Minimum":
        return min(averages)
    if statistic == "Sum":
        return math.fsum(averages) * READINGS
    return float(len(averages) * READINGS)  # SampleCount


@functools.cache
def by_period(key, statistic, slots):
    """Values of all periods of a curve, as numbers."""
    averages, maxima = curve(*key)
    if slots == 1 and statistic in ("Average", "Maximum"):
        return averages if statistic == "Average" else maxima
    starts = range(0, SLOTS, slots)
    parts = ((averages[at : at + slots], maxima[at : at + slots]) for at in starts)
    return [combined(part, statistic) for part in parts]


@functools.cache
def packed(key, statistic, slots):
    """The same twice over in CBOR: a byte 0xfb before eight of a double."""
    values = by_period(key, statistic, slots) * 2
    plain = struct.pack(f">{len(values)}d", *values)
    return spread(b"\xfb", plain, 8)


def spread(head, plain, width):
    """Puts a head before every item of so many bytes."""
    step, count = len(head) + width, len(plain) // width
    out = bytearray(step * count)
    for place, byte in enumerate(head):
        out[place::step] = bytes([byte]) * count
    for place in range(width):
        out[len(head) + place :: step] = plain[place::width]
    return bytes(out)


@functools.lru_cache(64)
def timestamps(first, count, period):
    """Times in CBOR: tag 1 around 32 bits."""
    plain = struct.pack(f">{count}I", *range(first, first + count * period, period))
    return spread(b"\xc1\x1a", plain, 4)


class Series:
    """The values of a metric in a window, oldest first: whole periods from that of `start`,
    and of the last one what is before `end`."""

    def __init__(self, one, gpu, kind, statistic, period, start, end):
        mark = zlib.crc32(f"{one.id}/{gpu}".encode())
        vram_mib = one.vram_mib if kind.startswith("memory") else 0
        self.key = (kind, one.usage, mark % VARIANTS, vram_mib)
        self.statistic, self.period, self.slots = statistic, period, period // SLOT
        self.first = start - start % period
        self.count = -(-(end - self.first) // period)
        # Whole days, which all periods divide, so that periods of a curve stay the same.
        shift = mark // VARIANTS % 28 * 288
        self.at = (self.first // SLOT + shift) % SLOTS // self.slots
        # Slots of the last period that begin before the end; 0 if all do.
        self.rest = -(-(end % period) // SLOT) % self.slots

    def _last(self):
        begin = (self.at + self.count - 1) * self.slots % SLOTS
        parts = [values[begin : begin + self.rest] for values in curve(*self.key)]
        return combined(parts, self.statistic)

    def cbor(self, skip, count):
        """So many values after the first ones."""
        data = packed(self.key, self.statistic, self.slots)
        need = (self.at + skip + count) * 9
        if need > len(data):
            data *= -(-need // len(data))
        data = data[(self.at + skip) * 9 : need]
        if self.rest and count and skip + count == self.count:
            data = data[:-8] + struct.pack(">d", self._last())
        return timestamps(self.first + skip * self.period, count, self.period), data

    def plain(self, skip, count):
        values = by_period(self.key, self.statistic, self.slots)
        places = range(self.at + skip, self.at + skip + count)
        found = [values[place % len(values)] for place in places]
        if self.rest and count and skip + count == self.count:
            found[-1] = self._last()
        begin = self.first + skip * self.period
        return list(range(begin, begin + count * self.period, self.period)), found


@functools.cache
def prices():
    """Linux prices by region and type: on demand and spot, from the bundled tables."""
    with open(PRICING_DATA / "prices.csv", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        return {
            (row["region"], row["instance_type"]): (row["on_demand"], row["spot_average"])
            for row in rows
            if row["region"] in REGIONS
            and (row["operating_system"], row["tenancy"]) == ("linux", "shared")
        }


def warm_up():
    """Makes what most calls ask for, before processes are forked."""
    sizes = sorted({vram_mib for *_, vram_mib in TYPES})
    kinds = [("utilization", 0), ("cpu", 0)] + [("memory", size) for size in sizes]
    for usage in CLASSES:
        for variant in range(VARIANTS):
            for kind, vram_mib in kinds:
                for statistic in ("Average", "Maximum"):
                    packed((kind, usage, variant, vram_mib), statistic, 1)
    prices()
