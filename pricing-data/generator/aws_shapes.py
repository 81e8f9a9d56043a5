"""What each EC2 instance type consists of, and the zones that offer it."""

import re
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

from .tables import (
    Cells, Key, Row, Table, boolean, index, note, number, plain, read_table, whole,
)

SHAPE_COLUMNS = [
    "instance_type", "accelerator", "vcpu", "memory_mib", "architecture", "gpu_model", "gpu_count",
    "gpu_memory_mib", "network_gbps", "efa", "local_storage_gb", "snapshot_date",
]
ZONE_COLUMNS = ["instance_type", "region", "zone_ids"]

# AWS's accelerator name -> (canonical name, kind). Gaudi and Cloud AI 100 are
# deep-learning processors that are neither GPUs (AWS lists Gaudi among them)
# nor Neuron devices; the nearest kind is `inference`, although Gaudi trains too.
ACCELERATORS = {
    "K80": ("K80", "gpu"), "M60": ("M60", "gpu"), "V100": ("V100", "gpu"),
    "T4": ("T4", "gpu"), "T4g": ("T4G", "gpu"), "A10G": ("A10G", "gpu"),
    "A100": ("A100", "gpu"), "L4": ("L4", "gpu"), "L40S": ("L40S", "gpu"),
    "H100": ("H100", "gpu"), "H200": ("H200", "gpu"), "B200": ("B200", "gpu"),
    "B300": ("B300", "gpu"), "RTX PRO Server 6000": ("RTX PRO 6000", "gpu"),
    "RTX PRO 4500": ("RTX PRO 4500", "gpu"), "Radeon Pro V520": ("Radeon Pro V520", "gpu"),
    "Trainium": ("Trainium1", "neuron"), "Trainium2": ("Trainium2", "neuron"),
    "Inferentia": ("Inferentia1", "neuron"), "Inferentia2": ("Inferentia2", "neuron"),
    "Gaudi HL-205": ("Gaudi HL-205", "inference"),
    "Qualcomm AI100": ("Cloud AI 100", "inference"),
    "U30": ("Alveo U30", "media"),
    "Virtex UltraScale (VU9P)": ("Virtex VU9P", "fpga"),
    "Virtex UltraScale+ (VU47P)": ("Virtex VU47P", "fpga"),
}

# Canonical name -> (MiB per device that AWS reports, true MiB, why).
MEMORY_CORRECTIONS = {
    "Trainium2": ("524288", "98304", "AWS reports 512 GiB per device; a Trainium2 has 96 GiB"),
}


def read_specifications(source: Path) -> dict[Key, Row]:
    """DescribeInstanceTypes by instance type, accelerated and CPU."""
    columns = [
        "instance_type", "family", "accelerator_kind", "vcpus", "memory_mib", "arch", "gpu_name",
        "gpu_count", "gpu_logical_count", "gpu_partition_size", "gpu_memory_mib_each",
        "other_accel_name", "other_accel_count", "other_accel_memory_mib_each",
        "network_performance", "network_baseline_gbps", "efa_supported", "local_storage_gb",
        "snapshot_date",
    ]
    return index(read_table(source, "prices/aws_instance_specs.csv", columns), "instance_type")


def network_gbps(row: Row) -> str:
    """What the network carries all day: AWS's figure where it is fixed, else the baseline.

    The baseline column counts network cards four times (g6e.48xlarge) or by
    half (p6-b200), so it only serves the types that AWS gives no fixed figure for.
    """
    fixed = re.fullmatch(r"(?:(\d+)x )?([\d.]+) Gigabit", row["network_performance"])
    if not fixed:
        return number(row, "network_baseline_gbps")
    return plain(Decimal(fixed[1] or 1) * Decimal(fixed[2]))


def shape(row: Row) -> Cells:
    """One instance type with its accelerators."""
    accelerator, model, count, memory = "cpu", "", "", ""
    if row["accelerator_kind"] != "cpu":
        prefix = "gpu" if row["gpu_name"] else "other_accel"
        name = row[f"{prefix}_name"]
        if name not in ACCELERATORS:
            raise row.error(f"unknown accelerator {name!r}")
        model, accelerator = ACCELERATORS[name]
        count = whole(row, f"{prefix}_count")
        if count == "0":  # AWS counts no whole device where it sells a part of one
            parts = Decimal(whole(row, "gpu_logical_count"))
            count = plain(parts * Decimal(number(row, "gpu_partition_size") or 0))
        if count == "0":
            raise row.error("an accelerated type without accelerators")
        memory = whole(row, f"{prefix}_memory_mib_each")
        wrong, right, _ = MEMORY_CORRECTIONS.get(model, ("", "", ""))
        if memory == wrong:
            memory = right
    return {
        "instance_type": row["instance_type"], "accelerator": accelerator,
        "vcpu": whole(row, "vcpus"), "memory_mib": whole(row, "memory_mib"),
        "architecture": row["arch"], "gpu_model": model, "gpu_count": count,
        "gpu_memory_mib": memory, "network_gbps": network_gbps(row),
        "efa": boolean(row, "efa_supported"),
        # The API leaves the size out exactly where there is no instance store.
        "local_storage_gb": number(row, "local_storage_gb") or "0",
        "snapshot_date": row["snapshot_date"],
    }


def build_shapes(specifications: dict[Key, Row], priced: Iterable[str]) -> Table:
    """All accelerated types, and the CPU types that have a price to compare with."""
    priced = set(priced)
    for instance_type in sorted(priced - {key[0] for key in specifications}):
        note(f"{instance_type}: priced, but no specification row; left out of shapes.csv")
    rows = [
        shape(row)
        for (instance_type,), row in sorted(specifications.items())
        if row["accelerator_kind"] != "cpu" or instance_type in priced
    ]
    return Table("shapes.csv", SHAPE_COLUMNS, ["instance_type"], rows)


def build_zones(source: Path) -> Table:
    """The zones of each region that offer a type, by zone id, which is the same in all accounts."""
    offers = index(
        read_table(source, "prices/aws_accel_offerings_by_az.csv", ZONE_COLUMNS[:2] + ["az_id"]),
        "instance_type", "region", "az_id",
    )
    zones: dict[Key, list[str]] = {}
    for (instance_type, region, zone), row in offers.items():
        if not re.fullmatch(r"[a-z0-9-]+", zone):
            raise row.error(f"not a zone id: {zone!r}")
        zones.setdefault((instance_type, region), []).append(zone)
    rows = [
        {"instance_type": key[0], "region": key[1], "zone_ids": " ".join(sorted(zones[key]))}
        for key in sorted(zones)
    ]
    return Table("zones.csv", ZONE_COLUMNS, ["instance_type", "region"], rows)
