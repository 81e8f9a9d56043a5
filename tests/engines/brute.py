"""What a history keeps of points, worked out one by one as docs/history.md says it."""

import math
import struct

DAY = 86_400

KEPT = [
    ("gpu_utilization", "average", 300),
    ("gpu_utilization", "maximum", 300),
    ("gpu_memory_used", "average", 300),
    ("gpu_memory_used", "maximum", 300),
    ("gpu_memory_total", "maximum", DAY),
    ("gpu_power_draw", "average", 3_600),
    ("gpu_temperature", "maximum", 3_600),
    ("gpu_encoder_sessions", "maximum", 300),
    ("gpu_power_utilization", "average", 300),
    ("gpu_power_utilization", "maximum", 300),
    ("gpu_sm_activity", "average", 300),
    ("cpu_utilization", "average", 300),
    ("network_in", "sum", 3_600),
    ("network_out", "sum", 3_600),
]
DISTRIBUTED = {"gpu_utilization", "gpu_sm_activity", "cpu_utilization"}
PERCENT = DISTRIBUTED | {"gpu_power_utilization"}
OF_INSTANCE = {"cpu_utilization", "network_in", "network_out"}
KNOWN = {metric for metric, _, _ in KEPT}


def single(value):
    """As a number of single precision; None where that is infinite or none."""
    if not math.isfinite(value):
        return None
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return None


def rounded(value):
    """To a whole number, halves away from zero."""
    below = math.floor(value)
    return below + 1 if value - below >= 0.5 else below


def widened(value):
    decimal = rounded(value * 10_000.0) / 10_000.0
    return decimal if single(decimal) == value else value


def clean(raw, metric, statistic, period):
    dropped = [0, 0, 0, 0]
    periods = {}
    for time, value in raw:
        if single(value) is None:
            dropped[0] += 1
        elif value < 0:
            dropped[1] += 1
        elif metric in PERCENT and value > 100:
            dropped[2] += 1
        else:
            readings = periods.setdefault(time - time % period, {})
            dropped[3] += time in readings
            readings[time] = value
    points = []
    for begins, readings in sorted(periods.items()):
        values = [readings[time] for time in sorted(readings)]
        total = 0.0
        for value in values:
            total += value
        value = {"average": total / len(values), "maximum": max(values), "sum": total}[statistic]
        points.append((begins, single(value)))
    return points, dropped


def mebibytes(value):
    whole = min(rounded(value), 1 << 24)
    if whole < 2_048:
        return whole
    shift = whole.bit_length() - 11
    return shift * 1_024 + (whole >> shift)


def figures(metric, statistic, period, points):
    """n, period_seconds, min, max, sum, n_active, first, last"""
    none = [None] * 8
    if not points:
        return none
    values = [value for _, value in points]
    count = [len(points), period]
    most, least = widened(max(values)), widened(min(values))
    if (metric, statistic) == ("gpu_utilization", "maximum"):
        active = sum(value >= 1.0 for value in values)
        return count + [None, most, None, active, points[0][0], points[-1][0]]
    if metric in DISTRIBUTED:
        return count + none[2:]
    if metric == "gpu_memory_used":
        return count + [least, most] + none[4:]
    if metric in ("gpu_memory_total", "gpu_temperature", "gpu_encoder_sessions"):
        return none[:3] + [most] + none[4:]
    if metric == "gpu_power_draw":
        total = sum(rounded(widened(value) * 1_000.0) for value in values)
        return [len(points), None, None, None, total] + none[5:]
    if metric.startswith("network"):
        total = sum(rounded(widened(value)) for value in values)
        busiest = max(widened(value) * 8.0 / 3_600.0 / 1e9 for value in values)
        return count + [None, busiest, total] + none[5:]
    return none


def tables(rows, account, region, date):
    """The tables of rows of (instance, gpu, metric, ts, value); `date` names a day."""
    series, asked = {}, set()
    for instance, gpu, metric, time, value in rows:
        if value is None or metric not in KNOWN:
            continue
        gpu = None if metric in OF_INSTANCE else gpu
        series.setdefault((time // DAY, instance, gpu, metric), []).append((time, value))
        asked.add((time // DAY, instance))
    place = (account, region)
    found = {"usage_asked": [], "usage_series": [], "usage_grid": [], "usage_hist": []}
    for day, instance in asked:
        found["usage_asked"].append((*place, instance, "rollup", 300, date(day)))
    slots = {}
    for (day, instance, gpu, metric), raw in series.items():
        for _, statistic, period in (one for one in KEPT if one[0] == metric):
            points, dropped = clean(raw, metric, statistic, period)
            key = (*place, instance, metric, gpu, statistic)
            found["usage_series"].append(
                (
                    *key,
                    "prometheus",
                    "instance-id",
                    int(not points),
                    *figures(metric, statistic, period, points),
                    *dropped,
                    0,
                    date(day),
                )
            )
            steps = {}
            for begins, value in points:
                hundredths = rounded(value * 100.0)
                step = None
                if statistic == "average" and metric in ("gpu_memory_used", "gpu_power_draw"):
                    step = mebibytes(value)
                elif statistic == "average" and metric in DISTRIBUTED:
                    step = hundredths
                if step is not None:
                    steps[step] = steps.get(step, 0) + 1
                slot = lambda: slots.setdefault(
                    (day, instance, metric, begins), [0, 0, None, 0, 0]
                )
                if metric in ("gpu_utilization", "gpu_power_utilization"):
                    own = slot()
                    if statistic == "average":
                        own[0] += 1
                        own[1] += hundredths
                        own[4] |= int(hundredths >= 500)
                    else:
                        own[2] = hundredths if own[2] is None else max(own[2], hundredths)
                        own[3] += gpu is not None
                elif metric == "cpu_utilization" or (
                    metric == "gpu_encoder_sessions" and value > 0
                ):
                    slot()[0] = 1
            found["usage_hist"] += [(*key, step, n, date(day)) for step, n in steps.items()]
    for (day, instance, metric, begins), slot in slots.items():
        row = (*place, instance, metric, "prometheus", begins, *slot, date(day))
        found["usage_grid"].append(row)
    return found
