"""List prices of other clouds, for comparison."""

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from .cloud_cards import AZURE_CARDS, GOOGLE_CARDS, CardSizes, card_name
from .specialised import read_specialised
from .tables import (
    Cells, Row, Table, boolean, date, index, money, note, number, plain, read_table,
    required_money, rounded, whole,
)

HOURS_PER_MONTH = 730
CLOUD_KEY = [
    "provider", "region", "instance_type", "gpu_model", "gpu_memory_mib", "vcpu", "memory_mib",
]
CLOUD_COLUMNS = [
    "provider", "region", "instance_type", "gpu_model", "gpu_count", "gpu_memory_mib", "vcpu",
    "memory_mib", "currency", "on_demand", "spot", "commitment_1yr", "commitment_3yr",
    "price_basis", "date", "origin",
]
GOOGLE = ("gcp-calculator-2026-07-30", "2026-07-30")
AZURE = ("karpenter-azure-2026-06-18", "2026-06-18")
# Series whose price doubles from size to size while the GPU count of the source does not.
AZURE_DOUBTFUL_COUNT = re.compile(r"Standard_(NG\d+\w*_V620\w*|NV\d+s_v2)")
EUROPEAN_ORIGIN = "eu-cloud-prices-2026-08-17"


def mebibytes(row: Row, column: str) -> str:
    """GiB as MiB."""
    text = number(row, column)
    return plain(Decimal(text) * 1024) if text else ""


def positive(row: Row, column: str, divisor: int = 1) -> str:
    """An hourly price with six decimals, from a table that carries more; empty stays empty."""
    text = number(row, column)
    if not text:
        return ""
    price = rounded(Decimal(text) / divisor, 6)
    if price == "0":
        raise row.error(f"{column} is zero")
    return price


def fitting(row: Row, sizes: CardSizes, card: str, gigabytes: str) -> str:
    """The card's memory; a size that the card does not have stops the build."""
    memory = sizes.memory(card, gigabytes)
    if memory is None:
        raise row.error(f"no {card} has {gigabytes} GB")
    return memory


def check_order(row: Row, cells: Cells) -> Cells:
    """Spot and commitments of a machine must lie below its on-demand price."""
    for column in ("spot", "commitment_1yr", "commitment_3yr"):
        if cells.get(column) and Decimal(cells[column]) >= Decimal(cells["on_demand"]):
            raise row.error(f"{column} is not below on_demand")
    return cells


def read_google(source: Path, sizes: CardSizes) -> Iterator[Cells]:
    """Accelerator machines in the regions that Karpenter's list confirms."""
    table = read_table(
        source, "prices/gcp_accel_prices_2026-07-30.csv",
        ["machine_type", "vcpus", "memory_gib", "gpu", "gpu_count", "region", "on_demand_hour",
         "spot_hour", "month_cud_1y", "month_cud_3y", "offered_per_karpenter_gcp"],
    )
    for row in index(table, "machine_type", "region").values():
        if boolean(row, "offered_per_karpenter_gcp") == "false":
            continue
        if row["gpu"] not in GOOGLE_CARDS:
            raise row.error(f"unknown card {row['gpu']!r}")
        card, gigabytes = GOOGLE_CARDS[row["gpu"]]
        yield check_order(row, {
            "provider": "gcp", "region": row["region"], "instance_type": row["machine_type"],
            "gpu_model": card, "gpu_count": number(row, "gpu_count"),
            "gpu_memory_mib": fitting(row, sizes, card, gigabytes), "vcpu": whole(row, "vcpus"),
            "memory_mib": mebibytes(row, "memory_gib"), "currency": "USD",
            "on_demand": positive(row, "on_demand_hour"), "spot": positive(row, "spot_hour"),
            "commitment_1yr": positive(row, "month_cud_1y", HOURS_PER_MONTH),
            "commitment_3yr": positive(row, "month_cud_3y", HOURS_PER_MONTH),
            "price_basis": "machine", "date": GOOGLE[1], "origin": GOOGLE[0],
        })


def read_azure(source: Path, sizes: CardSizes) -> Iterator[Cells]:
    """Sizes that have a price, a known card and a known count."""
    specifications = index(
        read_table(
            source, "prices/azure_accel_specs.csv",
            ["vm_size", "vcpus", "memory_mib", "gpu_model", "gpu_count", "gpu_memory_gb_each"],
        ),
        "vm_size",
    )
    prices = read_table(
        source, "prices/azure_accel_ondemand_2026-06-18.csv",
        ["vm_size", "region", "on_demand_hour"],
    )
    unknown = set()
    for row in index(prices, "vm_size", "region").values():
        if (row["vm_size"],) not in specifications:
            raise row.error(f"no specification of {row['vm_size']}")
        size = specifications[row["vm_size"],]
        count = number(size, "gpu_count")
        if not count or AZURE_DOUBTFUL_COUNT.fullmatch(row["vm_size"]):
            unknown.add(row["vm_size"])
            continue
        if size["gpu_model"] not in AZURE_CARDS:
            raise size.error(f"unknown card {size['gpu_model']!r}")
        card = AZURE_CARDS[size["gpu_model"]]
        yield {
            "provider": "azure", "region": row["region"], "instance_type": row["vm_size"],
            "gpu_model": card, "gpu_count": rounded(Decimal(count), 6),
            "gpu_memory_mib": fitting(size, sizes, card, number(size, "gpu_memory_gb_each")),
            "vcpu": whole(size, "vcpus"), "memory_mib": number(size, "memory_mib"),
            "currency": "USD", "on_demand": required_money(row, "on_demand_hour"),
            "price_basis": "machine", "date": AZURE[1], "origin": AZURE[0],
        }
    note(f"{len(unknown)} priced Azure sizes have no reliable GPU count; left out")


def european_card(row: Row) -> tuple[str, str, int] | None:
    """Name, nominal GB (or empty) and count; None where the table does not know them all."""
    try:
        gpu = json.loads(row["gpu"])
        if not isinstance(gpu, dict):
            raise ValueError
    except ValueError:
        raise row.error("gpu is not a JSON object") from None
    name = gpu.get("gpu_model", gpu.get("gpu_type"))
    count = gpu.get("gpu_count", gpu.get("gpu"))
    if not isinstance(name, str) or not isinstance(count, int) or count < 1:
        return None
    in_name = re.search(r" (\d+)GB$", name)
    gigabytes = str(gpu.get("gpu_memory_gb", in_name[1] if in_name else ""))
    if not re.fullmatch(r"\d*", gigabytes):
        raise row.error(f"gpu_memory_gb is not a whole number: {gigabytes!r}")
    return card_name(name), gigabytes, count


def read_european(source: Path, sizes: CardSizes) -> Iterator[Cells]:
    """Machines of European providers, in euro."""
    table = read_table(
        source, "prices/eu_clouds_gpu_2026-08-17.csv",
        ["provider", "id", "vcpu", "ram_gb", "price_hourly_eur", "location", "gpu", "fetched_at"],
    )
    unknown = 0
    for row in index(table, "provider", "id", "location").values():
        found = european_card(row)
        price = positive(row, "price_hourly_eur")
        if found is None or not price:
            unknown += 1
            continue
        card, gigabytes, count = found
        yield {
            "provider": row["provider"],
            "region": "" if row["location"] == "global" else row["location"],
            "instance_type": row["id"], "gpu_model": card, "gpu_count": str(count),
            "gpu_memory_mib": fitting(row, sizes, card, gigabytes), "vcpu": whole(row, "vcpu"),
            "memory_mib": mebibytes(row, "ram_gb"), "currency": "EUR", "on_demand": price,
            "price_basis": "machine", "date": date(row, "fetched_at"), "origin": EUROPEAN_ORIGIN,
        }
    note(f"{unknown} European machines have no known GPU or price; left out")


def build_other_clouds(source: Path, gpu_specs: Table) -> Table:
    """All providers in one table."""
    sizes = CardSizes(gpu_specs)
    rows = [
        row
        for read in (read_google, read_azure, read_european, read_specialised)
        for row in read(source, sizes)
    ]
    rows.sort(key=lambda row: tuple(row[column] for column in CLOUD_KEY))
    return Table("other_clouds.csv", CLOUD_COLUMNS, CLOUD_KEY, rows)
