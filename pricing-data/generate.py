#!/usr/bin/env python3
"""Build the bundled price and hardware tables from the source tables.

Usage: python3 pricing-data/generate.py SOURCE_FOLDER

SOURCE_FOLDER holds `prices/` and `hardware/`. The results are written next to
this script, sorted and free of run dates, so the same sources always give the
same bytes. An empty cell means unknown; nothing is estimated here.
"""

import csv
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

HERE = Path(__file__).resolve().parent

EC2_LIST = ("ec2-list-2026-05", "2026-05-12")
KARPENTER = ("karpenter-2026-07-20", "2026-07-20")
KARPENTER_CN = ("karpenter-cn-2024-11-06", "2024-11-06")
JOINED_ORIGINS = {"vantage 2026-05": EC2_LIST, "karpenter 2026-07-20": KARPENTER, "": ("", "")}

RESERVED = {  # output column -> column of the joined table
    f"reserved_{term}yr_{payment}": f"ri_std_{term}y_{payment}"
    for term in (1, 3)
    for payment in ("no_upfront", "partial_upfront", "all_upfront")
}
PRICE_COLUMNS = [
    "instance_type", "region", "currency", "on_demand", "on_demand_date", "on_demand_origin",
    "spot_average", "spot_average_date", *RESERVED,
]
SHAPE_COLUMNS = [
    "instance_type", "accelerator", "vcpu", "memory_mib", "architecture", "gpu_model", "gpu_count",
    "gpu_memory_mib", "network_gbps", "efa", "local_storage_gb", "snapshot_date",
]
GPU_COLUMNS = [
    "gpu_model", "memory_mib", "memory_mib_reported", "memory_bandwidth_gbps", "fp16_dense_tflops",
    "bf16_dense_tflops", "power_limit_w", "idle_w", "compute_capability", "mig_slices",
    "max_operating_c", "basis",
]
STORAGE_COLUMNS = ["resource", "region", "currency", "unit", "price", "date", "basis"]

COMPARATOR_FAMILIES = frozenset(
    "c6i c7i c7a c7g c8g c8i m6i m7i m7a m7g m8g m8i r6i r7i r7a r7g r8g r8i t3 t4g".split()
)
REGION = re.compile(r"[a-z]{2}(-gov|-iso[a-z]?)?-[a-z]+-\d+")  # no local or Wavelength zone

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

# (canonical name, MiB per device as in shapes.csv) -> name in the hardware table.
HARDWARE_NAMES = {
    ("K80", "12288"): "K80 (per GK210)", ("M60", "8192"): "M60 (per GPU)",
    ("V100", "16384"): "V100-SXM2-16GB", ("V100", "32768"): "V100-SXM2-32GB",
    ("T4", "16384"): "T4", ("T4G", "16384"): "T4G", ("A10G", "22888"): "A10G",
    ("A100", "40960"): "A100-SXM4-40GB", ("A100", "81920"): "A100-SXM4-80GB",
    ("L4", "22888"): "L4", ("L40S", "45776"): "L40S",
    ("RTX PRO 6000", "98304"): "RTX PRO 6000 Blackwell Server",
    ("RTX PRO 4500", "32768"): "RTX PRO 4500 Blackwell Server",
    ("H100", "81920"): "H100-SXM5-80GB", ("H200", "144384"): "H200-SXM-141GB",
    ("B200", "183359"): "B200-SXM-180GB", ("B300", "275040"): "B300-SXM",
    ("Radeon Pro V520", "8192"): "Radeon Pro V520",
    ("Inferentia1", "8192"): "Inferentia1", ("Inferentia2", "32768"): "Inferentia2",
    ("Trainium1", "32768"): "Trainium1", ("Trainium2", "98304"): "Trainium2",
    ("Gaudi HL-205", "32768"): "Gaudi HL-205", ("Cloud AI 100", "16000"): "Cloud AI 100",
}

# nvidia-smi product name -> hardware table name, for the captures.
SMI_NAMES = {
    "Tesla T4": "T4", "NVIDIA T4G": "T4G", "NVIDIA A10G": "A10G", "NVIDIA L4": "L4",
    "NVIDIA L40S": "L40S", "NVIDIA A100-SXM4-40GB": "A100-SXM4-40GB",
    "NVIDIA A100-SXM4-80GB": "A100-SXM4-80GB", "NVIDIA H100 80GB HBM3": "H100-SXM5-80GB",
    "NVIDIA H200": "H200-SXM-141GB", "NVIDIA B200": "B200-SXM-180GB",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "RTX PRO 6000 Blackwell Server",
    "NVIDIA GB200": "GB200", "NVIDIA GB300": "GB300",
}

# Hardware table name -> (MiB that nvidia-smi shows, where it was seen). The
# hardware table mixes driver figures with AWS's nominal ones, and a nominal
# figure overstates what fits; so only these and the captures count as reported.
DRIVER_REPORTED = {
    "K80 (per GK210)": ("11441", "nvidia-smi, driver 470, ECC on"),
    "M60 (per GPU)": ("7613", "nvidia-smi, ECC on; 7618 with other drivers"),
    "V100-SXM2-16GB": ("16160", "nvidia-smi"),
    "V100-SXM2-32GB": ("32510", "nvidia-smi"),
    "T4G": ("15360", "nvidia-smi on g5g"),
    "A10G": ("23028", "nvidia-smi -q -x capture in influxdata/telegraf"),
    "A100-SXM4-80GB": ("81920", "nvidia-smi, modal-labs/modal-client pull request 2797"),
    "L4": ("23034", "nvidia-smi, modal-labs/modal-client pull request 2797"),
    "RTX PRO 6000 Blackwell Server": ("97887", "nvidia-smi on g7e.2xlarge"),
    "H200-SXM-141GB": ("143771", "nvidia-smi, driver 580"),
    "B300-SXM": ("275040", "nvidia-smi, driver 580"),
}

# Figures that the hardware table itself calls unverified, and what confirms them.
CONFIRMED = {
    "RTX PRO 4500 Blackwell Server": "800 GB/s and 165 W also published by Exxact (2026-05-20)",
}

# Long-standing us-east-1 list prices in USD, undated on purpose.
STORAGE = [
    ("gp2", "gib-month", "0.10"),
    ("gp3", "gib-month", "0.08"),
    ("io2", "gib-month", "0.125"),
    ("public-ipv4", "hour", "0.005"),
    ("sc1", "gib-month", "0.015"),
    ("st1", "gib-month", "0.045"),
]


class SourceError(Exception):
    """A source table that must not be turned into shipped figures."""


@dataclass(frozen=True)
class Row:
    """One source row that remembers where it stands, for error messages."""

    cells: dict[str, str]
    file: str
    line: int

    def __getitem__(self, column: str) -> str:
        """The cell, without surrounding blanks."""
        return self.cells[column].strip()

    def error(self, message: str) -> SourceError:
        """An error that names the file and line to look at."""
        return SourceError(f"{self.file}:{self.line}: {message}")


def read_table(source: Path, name: str, required: Iterable[str]) -> list[Row]:
    """Read a table; a missing column or a ragged row stops the build early."""
    try:
        with (source / name).open(encoding="utf-8", newline="") as handle:
            reader = csv.DictReader(handle)
            missing = [c for c in required if c not in (reader.fieldnames or [])]
            if missing:
                raise SourceError(f"{name}:1: missing column {', '.join(missing)}")
            rows = []
            for cells in reader:
                if None in cells or None in cells.values():
                    raise SourceError(f"{name}:{reader.line_num}: wrong number of cells")
                rows.append(Row(cells, name, reader.line_num))
            return rows
    except OSError as error:
        raise SourceError(f"{name}: {error.strerror}") from error


def index(rows: Iterable[Row], *columns: str) -> dict[tuple[str, ...], Row]:
    """Key the rows; two rows for one key would make the price a matter of luck."""
    found: dict[tuple[str, ...], Row] = {}
    for row in rows:
        key = tuple(row[column] for column in columns)
        if key in found:
            first = found[key]
            raise row.error(f"duplicate key {' '.join(key)}, first at {first.file}:{first.line}")
        found[key] = row
    return found


def plain(value: Decimal) -> str:
    """The shortest plain notation: no exponent, no trailing zeros."""
    return format(value.normalize(), "f")


def number(row: Row, column: str) -> str:
    """A non-negative number as plain text; empty stays empty."""
    if not row[column]:
        return ""
    try:
        value = Decimal(row[column])
    except InvalidOperation:
        raise row.error(f"{column} is not a number: {row[column]!r}") from None
    if not value.is_finite():
        raise row.error(f"{column} is not a number: {row[column]!r}")
    if value.is_signed():
        raise row.error(f"{column} is negative: {row[column]}")
    return plain(value)


def money(row: Row, column: str) -> str:
    """A price: above zero, and not rounded here, so six decimals at most."""
    text = number(row, column)
    if text == "0":
        raise row.error(f"{column} is zero")
    if len(text.partition(".")[2]) > 6:
        raise row.error(f"{column} has more than 6 decimals: {row[column]}")
    return text


def whole(row: Row, column: str) -> str:
    """A required whole number; the sources write 8 as 8.0."""
    text = number(row, column)
    if not text.isdecimal():
        raise row.error(f"{column} is not a whole number: {row[column]!r}")
    return text


def note(message: str) -> None:
    """Say what a person should know, without touching the results."""
    print(f"note: {message}", file=sys.stderr)


def write_table(name: str, columns: list[str], rows: Iterable[dict[str, str]]) -> int:
    """Write one result with LF line ends, so it is the same on every system."""
    with (HERE / name).open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, columns, restval="", lineterminator="\n")
        writer.writeheader()
        count = 0
        for count, row in enumerate(rows, start=1):
            writer.writerow(row)
    return count


def read_lists(source: Path, *names: str) -> dict[tuple[str, ...], Row]:
    """Read Karpenter on-demand lists of one date and check every price in them."""
    columns = ["instance_type", "region", "on_demand", "currency"]
    rows = [row for name in names for row in read_table(source, name, columns)]
    for row in rows:
        if not money(row, "on_demand"):
            raise row.error("on_demand is empty")
    return index(rows, "instance_type", "region")


def check_currencies(rows: Iterable[tuple[str, str, Row]]) -> None:
    """One currency per region: a mixed region would add dollars to yuan."""
    seen: dict[str, tuple[str, Row]] = {}
    for region, currency, row in rows:
        first, origin = seen.setdefault(region, (currency, row))
        if first != currency:
            raise row.error(
                f"region {region} is in {currency!r} here and in {first!r} at"
                f" {origin.file}:{origin.line}"
            )


def build_prices(source: Path, specs: dict[tuple[str, ...], Row]) -> list[dict[str, str]]:
    """Merge the lists, so that each price carries the newest date it is confirmed for."""
    joined = index(
        read_table(
            source,
            "prices/aws_accel_prices_joined.csv",
            ["instance_type", "region", "on_demand", "od_source", "spot_avg", *RESERVED.values()],
        ),
        "instance_type", "region",
    )
    linux = index(
        read_table(
            source,
            "prices/aws_prices_linux_all_2026-05.csv",
            ["instance_type", "region", "on_demand", "spot_avg"],
        ),
        "instance_type", "region",
    )
    newest = read_lists(
        source,
        "prices/aws_ondemand_karpenter_us-east-1_2026-07-20.csv",
        "prices/aws_ondemand_karpenter_us-gov_2026-07-20.csv",
    )
    china = read_lists(source, "prices/aws_ondemand_karpenter_cn_2024-11-06.csv")

    known = {key[0]: row["accelerator_kind"] != "cpu" for key, row in specs.items()}
    known |= {key[0]: True for key in joined}
    for instance_type in sorted({key[0] for key in newest | china} - known.keys()):
        note(f"{instance_type}: no specification, taken as not accelerated; left out of prices.csv")

    prices: dict[tuple[str, ...], dict[str, str]] = {}
    origins: list[tuple[str, str, Row]] = []

    def add(key: tuple[str, ...], row: Row, origin: tuple[str, str], currency: str) -> None:
        """Start an output row with its on-demand price, the only one that all lists have."""
        on_demand = money(row, "on_demand")
        source_key, date = origin if on_demand else ("", "")
        origins.append((key[1], currency, row))
        prices[key] = {
            "instance_type": key[0], "region": key[1], "currency": currency,
            "on_demand": on_demand, "on_demand_date": date, "on_demand_origin": source_key,
        }

    def add_spot(key: tuple[str, ...], row: Row) -> None:
        """The spot average, dated only where there is one."""
        spot = money(row, "spot_avg")
        prices[key] |= {"spot_average": spot, "spot_average_date": EC2_LIST[1] if spot else ""}

    for key, row in joined.items():
        if row["od_source"] not in JOINED_ORIGINS:
            raise row.error(f"unknown od_source {row['od_source']!r}")
        origin = JOINED_ORIGINS[row["od_source"]]
        if row["on_demand"] and not origin[0]:
            raise row.error("on_demand without od_source")
        add(key, row, origin, "USD")
        add_spot(key, row)
        prices[key] |= {column: money(row, name) for column, name in RESERVED.items()}

    for key, row in linux.items():
        family, _, size = key[0].partition(".")
        if family in COMPARATOR_FAMILIES and "metal" not in size and REGION.fullmatch(key[1]):
            add(key, row, EC2_LIST, "USD")
            add_spot(key, row)

    for lists, origin in ((newest, KARPENTER), (china, KARPENTER_CN)):
        for key, row in lists.items():
            if key not in prices and known.get(key[0]):
                add(key, row, origin, row["currency"])

    for key, row in newest.items():
        # Karpenter shows the dedicated rate for many .metal types.
        if key not in prices or "metal" in key[0]:
            continue
        on_demand = money(row, "on_demand")
        before = prices[key]["on_demand"]
        if before not in ("", on_demand):
            note(f"{' '.join(key)}: on-demand {before} became {on_demand} on {KARPENTER[1]}")
        prices[key] |= {
            "on_demand": on_demand, "on_demand_date": KARPENTER[1],
            "on_demand_origin": KARPENTER[0],
        }

    origins += [(key[1], row["currency"], row) for key, row in (newest | china).items()]
    check_currencies(origins)
    return [prices[key] for key in sorted(prices)]


def network_gbps(row: Row) -> str:
    """What the network carries all day: AWS's figure where it is fixed, else the baseline.

    The baseline column counts network cards four times (g6e.48xlarge) or by
    half (p6-b200), so it only serves the types that AWS gives no fixed figure for.
    """
    fixed = re.fullmatch(r"(?:(\d+)x )?([\d.]+) Gigabit", row["network_performance"])
    if not fixed:
        return number(row, "network_baseline_gbps")
    return plain(Decimal(fixed[1] or 1) * Decimal(fixed[2]))


def boolean(row: Row, column: str) -> str:
    """A truth value in lower case; anything else is a changed source."""
    if row[column] not in ("True", "False"):
        raise row.error(f"{column} is neither True nor False: {row[column]!r}")
    return row[column].lower()


def shape(row: Row) -> dict[str, str]:
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


def build_shapes(specs: dict[tuple[str, ...], Row], priced: set[str]) -> list[dict[str, str]]:
    """All accelerated types, and the CPU types that have a price to compare with."""
    for instance_type in sorted(priced - {key[0] for key in specs}):
        note(f"{instance_type}: priced, but no specification row; left out of shapes.csv")
    return [
        shape(row)
        for (instance_type,), row in sorted(specs.items())
        if row["accelerator_kind"] != "cpu" or instance_type in priced
    ]


def idle_watts(source: Path) -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
    """Idle draw and driver-reported memory per card, from real nvidia-smi output.

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
    memory: dict[str, str] = {}
    captures = read_table(
        source, "hardware/gpu_nvidia_smi_hardware_captures.csv",
        ["gpu", "fb_total_mib", "idle_p0_draw_w"],
    )
    for (gpu,), row in index(captures, "gpu").items():
        if gpu not in SMI_NAMES:
            raise row.error(f"unknown card {gpu!r}")
        memory[SMI_NAMES[gpu]] = whole(row, "fb_total_mib")
        if watts := number(row, "idle_p0_draw_w"):
            idle.setdefault(SMI_NAMES[gpu], (watts, "P0 capture, not on EC2"))
    return idle, memory


def build_gpu_specs(source: Path, shapes: list[dict[str, str]]) -> Iterator[dict[str, str]]:
    """The cards that occur in shapes.csv, so that each whole device can be joined."""
    columns = {
        "memory_bandwidth_gbps": "memory_bw_gbps", "fp16_dense_tflops": "fp16_dense_tflops",
        "bf16_dense_tflops": "bf16_dense_tflops", "power_limit_w": "tdp_w",
        "mig_slices": "mig_max", "max_operating_c": "max_operating_c",
    }
    hardware = index(
        read_table(
            source, "hardware/gpu_specs.csv",
            ["gpu", "memory_gb", "compute_capability", "basis", *columns.values()],
        ),
        "gpu",
    )
    idle, captured = idle_watts(source)
    whole_devices = {
        (s["gpu_model"], s["gpu_memory_mib"])
        for s in shapes
        if s["gpu_count"] and Decimal(s["gpu_count"]) >= 1
    }
    for model, memory in sorted(whole_devices, key=lambda key: (key[0], int(key[1]))):
        name = HARDWARE_NAMES.get((model, memory))
        if name is None:
            note(f"{model} {memory} MiB: no known hardware row; left out of gpu_specs.csv")
            continue
        if (name,) not in hardware:
            raise SourceError(f"hardware/gpu_specs.csv:1: no row for {name!r}")
        row = hardware[(name,)]
        nominal = Decimal(number(row, "memory_gb")) * 1024
        if abs(int(memory) - nominal) > nominal / 10:
            note(f"{model}: AWS reports {memory} MiB, the hardware table {plain(nominal)}")
        reported, seen = DRIVER_REPORTED.get(name, ("", "no driver figure known"))
        if name in captured:
            reported, seen = captured[name], "nvidia-smi -q -x capture"
        watts, watts_seen = idle.get(name, ("", "unknown"))
        basis = [
            row["basis"], CONFIRMED.get(name, ""),
            f"reported memory: {seen}", f"idle: {watts_seen}",
        ]
        yield {
            "gpu_model": model, "memory_mib": memory, "memory_mib_reported": reported,
            **{column: number(row, origin) for column, origin in columns.items()},
            "idle_w": watts, "compute_capability": row["compute_capability"],
            "basis": "; ".join(part for part in basis if part),
        }


def build_storage() -> Iterator[dict[str, str]]:
    """The few storage and address prices that have not moved for years."""
    for resource, unit, price in sorted(STORAGE):
        yield {
            "resource": resource, "region": "us-east-1", "currency": "USD", "unit": unit,
            "price": plain(Decimal(price)), "basis": "long-standing-list-price",
        }


def fill(text: str, marker: str, table: Iterable[tuple[str, ...]]) -> str:
    """Replace the table rows between two marker lines of SOURCES.md."""
    start, end = f"<!-- {marker} -->\n", f"<!-- end {marker} -->"
    head, found, rest = text.partition(start)
    _, found_end, tail = rest.partition(end)
    if not found or not found_end:
        raise SourceError(f"SOURCES.md:1: the marker lines for {marker} are missing")
    rows = "".join(f"| {' | '.join(cells)} |\n" for cells in table)
    return f"{head}{start}{rows}{end}{tail}"


def build_sources() -> str:
    """SOURCES.md with its correction tables taken from this script, so they cannot drift."""
    text = (HERE / "SOURCES.md").read_text(encoding="utf-8")
    corrections = [("Model", "AWS reports (MiB)", "Here (MiB)", "Reason"), ("---",) * 4]
    corrections += [(name, *cells) for name, cells in sorted(MEMORY_CORRECTIONS.items())]
    reported = [("Card", "MiB", "Seen in"), ("---",) * 3]
    reported += [(name, *cells) for name, cells in sorted(DRIVER_REPORTED.items())]
    return fill(fill(text, "corrections", corrections), "reported", reported)


def build(source: Path) -> None:
    """Build everything in memory first, so a bad source leaves the old files alone."""
    specs = index(
        read_table(
            source, "prices/aws_instance_specs.csv",
            [
                "instance_type", "accelerator_kind", "vcpus", "memory_mib", "arch", "gpu_name",
                "gpu_count", "gpu_logical_count", "gpu_partition_size", "gpu_memory_mib_each",
                "other_accel_name", "other_accel_count", "other_accel_memory_mib_each",
                "network_performance", "network_baseline_gbps", "efa_supported",
                "local_storage_gb", "snapshot_date",
            ],
        ),
        "instance_type",
    )
    prices = build_prices(source, specs)
    shapes = build_shapes(specs, {row["instance_type"] for row in prices})
    gpu_specs = list(build_gpu_specs(source, shapes))
    sources = build_sources()
    for name, columns, rows in (
        ("prices.csv", PRICE_COLUMNS, prices),
        ("shapes.csv", SHAPE_COLUMNS, shapes),
        ("gpu_specs.csv", GPU_COLUMNS, gpu_specs),
        ("storage.csv", STORAGE_COLUMNS, build_storage()),
    ):
        print(f"{name}: {write_table(name, columns, rows)} rows")
    (HERE / "SOURCES.md").write_text(sources, encoding="utf-8", newline="\n")


def main(arguments: list[str]) -> int:
    """Return the exit status: 0 built, 1 bad source, 2 wrong usage."""
    if len(arguments) != 1:
        print("usage: generate.py SOURCE_FOLDER", file=sys.stderr)
        return 2
    try:
        build(Path(arguments[0]))
    except SourceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
