"""GPU and accelerator specifications, and MIG profiles."""

import re
from collections.abc import Iterator
from decimal import ROUND_FLOOR, Decimal
from pathlib import Path

from .cards import (
    CONFIRMED, DRIVER_REPORTED, HARDWARE_NAMES, MIG_CARDS, MIG_REPORTED, OTHER_CARDS,
    SMI_NAMES,
)
from .tables import (
    Cells, Key, Row, SourceError, Table, index, note, number, plain, read_table,
    required_number, whole,
)

FIGURES = {  # column -> column of the hardware table
    "memory_bandwidth_gbps": "memory_bw_gbps", "fp16_dense_tflops": "fp16_dense_tflops",
    "bf16_dense_tflops": "bf16_dense_tflops", "power_limit_w": "tdp_w",
    "mig_slices": "mig_max", "max_operating_c": "max_operating_c",
    "fp32_tflops": "fp32_tflops", "tf32_dense_tflops": "tf32_dense_tflops",
    "fp8_dense_tflops": "fp8_dense_tflops", "int8_dense_tops": "int8_dense_tops",
    "fp4_dense_tflops": "fp4_dense_tflops", "nvlink_gbps": "nvlink_gbps",
}
GPU_KEY = ["gpu_model", "memory_mib"]
GPU_COLUMNS = [
    *GPU_KEY, "memory_mib_reported", "memory_bandwidth_gbps", "fp16_dense_tflops",
    "bf16_dense_tflops", "power_limit_w", "idle_w", "compute_capability", "mig_slices",
    "max_operating_c", "architecture", "memory_type", "fp32_tflops", "tf32_dense_tflops",
    "fp8_dense_tflops", "int8_dense_tops", "fp4_dense_tflops", "nvlink_gbps", "slowdown_c",
    "shutdown_c", "basis",
]
MIG_KEY = ["gpu_model", "gpu_memory_mib", "profile"]
MIG_COLUMNS = [
    *MIG_KEY, "compute_slices", "memory_slices", "memory_mib", "max_instances",
    "placement_starts", "placement_size",
]


def read_captures(source: Path) -> dict[str, Row]:
    """`nvidia-smi -q -x` captures by name in the hardware table."""
    captures: dict[str, Row] = {}
    rows = read_table(
        source, "hardware/gpu_nvidia_smi_hardware_captures.csv",
        ["gpu", "fb_total_mib", "idle_p0_draw_w", "slowdown_temp_c", "shutdown_temp_c"],
    )
    for (gpu,), row in index(rows, "gpu").items():
        if gpu not in SMI_NAMES:
            raise row.error(f"unknown card {gpu!r}")
        captures[SMI_NAMES[gpu]] = row
    return captures


def idle_watts(source: Path, captures: dict[str, Row]) -> dict[str, tuple[str, str]]:
    """Idle draw per card and where it was seen, from real nvidia-smi output.

    Idle draw is the lower median of the EC2 observations (an observed value,
    not an average of two; zeros are drivers that do not report it), else the
    idle P0 draw of a capture from another machine.
    """
    draws: dict[str, list[Decimal]] = {}
    for row in read_table(
        source, "hardware/aws_ec2_nvidia_smi_observed.csv", ["name", "avg_power_draw_watts"]
    ):
        if row["name"] not in SMI_NAMES:
            raise row.error(f"unknown card {row['name']!r}")
        if (watts := number(row, "avg_power_draw_watts")) not in ("", "0"):
            draws.setdefault(SMI_NAMES[row["name"]], []).append(Decimal(watts))
    idle = {
        name: (plain(sorted(values)[(len(values) - 1) // 2]),
               f"median of {len(values)} on EC2" if len(values) > 1 else "observed once on EC2")
        for name, values in draws.items()
    }
    for name, row in captures.items():
        if watts := number(row, "idle_p0_draw_w"):
            idle.setdefault(name, (watts, "P0 capture, not on EC2"))
    return idle


def aws_cards(shapes: Table) -> Iterator[tuple[Key, str]]:
    """The whole devices in shapes.csv with their names in the hardware table."""
    devices = {
        (shape["gpu_model"], shape["gpu_memory_mib"])
        for shape in shapes.rows
        if shape["gpu_count"] and Decimal(shape["gpu_count"]) >= 1
    }
    for key in sorted(devices):
        if key in HARDWARE_NAMES:
            yield key, HARDWARE_NAMES[key]
        else:
            note(f"{key[0]} {key[1]} MiB: no known hardware row; left out of gpu_specs.csv")


def build_gpu_specs(source: Path, shapes: Table) -> Table:
    """The cards of shapes.csv, so that each whole device can be joined, and other clouds' cards."""
    hardware = index(
        read_table(
            source, "hardware/gpu_specs.csv",
            ["gpu", "architecture", "memory_gb", "memory_type", "compute_capability",
             "slowdown_c", "basis", *FIGURES.values()],
        ),
        "gpu",
    )
    captures = read_captures(source)
    idle = idle_watts(source, captures)
    names = sorted(HARDWARE_NAMES.values()) + sorted(OTHER_CARDS)
    if missing := sorted(set(names) - {key[0] for key in hardware}):
        raise SourceError(f"hardware/gpu_specs.csv:1: no row for {', '.join(missing)}")
    nominal = {name: required_number(hardware[name,], "memory_gb") * 1024 for name in names}
    cards = dict(aws_cards(shapes))
    for (model, memory), name in cards.items():
        if abs(int(memory) - nominal[name]) > nominal[name] / 10:
            note(f"{model}: AWS reports {memory} MiB, the hardware table {plain(nominal[name])}")
    cards |= {(model, plain(nominal[name])): name for name, model in OTHER_CARDS.items()}

    rows = []
    for model, memory in sorted(cards, key=lambda card: (card[0], int(card[1]))):
        name = cards[model, memory]
        row, capture = hardware[name,], captures.get(name)
        reported, seen = DRIVER_REPORTED.get(name, ("", "no driver figure known"))
        if capture:
            reported, seen = whole(capture, "fb_total_mib"), "nvidia-smi -q -x capture"
        watts, watts_seen = idle.get(name, ("", "unknown"))
        slowdown = number(row, "slowdown_c") or (capture and number(capture, "slowdown_temp_c"))
        basis = [
            row["basis"], CONFIRMED.get(name, ""),
            f"reported memory: {seen}", f"idle: {watts_seen}",
        ]
        rows.append({
            "gpu_model": model, "memory_mib": memory, "memory_mib_reported": reported,
            **{column: number(row, origin) for column, origin in FIGURES.items()},
            "idle_w": watts, "compute_capability": row["compute_capability"],
            "architecture": row["architecture"], "memory_type": row["memory_type"],
            "slowdown_c": slowdown or "",
            "shutdown_c": number(capture, "shutdown_temp_c") if capture else "",
            "basis": "; ".join(part for part in basis if part),
        })
    return Table("gpu_specs.csv", GPU_COLUMNS, GPU_KEY, rows, quoted=True)


def placements(row: Row) -> str:
    """The memory slices at which an instance may start, ascending."""
    if not re.fullmatch(r"\d+( \d+)*", row["placement_starts"]):
        raise row.error(f"placement_starts is not a list of slices: {row['placement_starts']!r}")
    starts = [int(start) for start in row["placement_starts"].split()]
    last = starts[-1] + int(whole(row, "placement_size"))
    if starts != sorted(set(starts)) or last > int(whole(row, "total_memory_slices")):
        raise row.error("placement_starts is out of order or leaves the card")
    return " ".join(map(str, starts))


def slice_memory(row: Row) -> str:
    """MiB of a profile: the smallest figure that any driver has shown for it."""
    observed = number(row, "memory_gib_observed")
    # Down, so that a slice never promises more than was seen.
    figures = [int((Decimal(observed) * 1024).to_integral_value(ROUND_FLOOR))] if observed else []
    if other := MIG_REPORTED.get((row["gpu"], row["profile"])):
        figures.append(int(other[0]))
    return str(min(figures)) if figures else ""


def build_mig_profiles(source: Path, gpu_specs: Table) -> Table:
    """The profiles of the cards in gpu_specs.csv, smallest first."""
    table = read_table(
        source, "hardware/mig_profiles.csv",
        ["gpu", "profile", "compute_slices", "memory_slices", "memory_gib_observed",
         "max_instances", "placement_starts", "placement_size", "total_memory_slices"],
    )
    known = {(row["gpu_model"], row["memory_mib"]) for row in gpu_specs.rows}
    rows: dict[tuple[str, int, int, int, str], Cells] = {}
    profiles = index(table, "gpu", "profile")
    if missing := sorted(set(MIG_REPORTED) - set(profiles)):
        raise SourceError(f"hardware/mig_profiles.csv:1: no row for {missing}")
    for (gpu, profile), row in profiles.items():
        if gpu not in MIG_CARDS:
            raise row.error(f"unknown card {gpu!r}")
        cells = {
            "profile": profile, "compute_slices": whole(row, "compute_slices"),
            "memory_slices": whole(row, "memory_slices"),
            "memory_mib": slice_memory(row),
            "max_instances": whole(row, "max_instances"), "placement_starts": placements(row),
            "placement_size": whole(row, "placement_size"),
        }
        for model, memory in MIG_CARDS[gpu]:
            if (model, memory) not in known:
                raise row.error(f"{model} {memory} MiB is not in gpu_specs.csv")
            place = (model, int(memory), int(cells["memory_slices"]),
                     int(cells["compute_slices"]), profile)
            rows[place] = {"gpu_model": model, "gpu_memory_mib": memory, **cells}
    return Table("mig_profiles.csv", MIG_COLUMNS, MIG_KEY, [rows[key] for key in sorted(rows)])
