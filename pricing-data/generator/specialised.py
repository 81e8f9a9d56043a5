"""The specialised GPU clouds: hand-collected list prices for one GPU."""

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from .cloud_cards import CardSizes, card_name
from .tables import Cells, Key, Row, boolean, date, note, number, plain, read_table, required_money

ORIGIN = "gpu-pricing-2026-05-24"
PLAIN_TIERS = frozenset(["on-demand", "spot", "marketplace"])
NAMED_TIERS = frozenset(["community", "secure", "production", "prototyping"])


def offer_label(row: Row) -> str:
    """The provider's name for what it rents; the variant where it has more than one."""
    if row["tier"] not in PLAIN_TIERS | NAMED_TIERS:
        raise row.error(f"unknown tier {row['tier']!r}")
    series = re.match(r"Dataoorts ([\w-]+) ", row["notes"])
    variants = [
        series[1] if series else "",
        "bare metal" if row["notes"].startswith("Bare Metal") else "",
        row["tier"] if row["tier"] in NAMED_TIERS else "",
    ]
    return " ".join([row["gpu_model"], *(f"[{variant}]" for variant in variants if variant)])


def group_offers(rows: list[Row]) -> dict[Key, dict[str, Row]]:
    """Join the on-demand and the spot row of what is otherwise the same offer."""
    offers: dict[Key, dict[str, Row]] = {}
    for row in rows:
        key = (row["provider_id"], offer_label(row), row["vram_gb"], row["interconnect"],
               row["vcpu"], row["ram_gb"])
        column = "spot" if boolean(row, "is_spot") == "true" else "on_demand"
        found = offers.setdefault(key, {})
        if column in found:
            first = found[column].line
            raise row.error(f"two {column} prices for one offer, first at line {first}")
        found[column] = row
    return offers


def dearest(rows: list[Row]) -> dict[Key, Decimal]:
    """The highest on-demand price that a provider asks for each card."""
    found: dict[Key, Decimal] = {}
    for row in rows:
        if boolean(row, "is_spot") == "false":
            key = (row["provider_id"], card_name(row["gpu_model"], row["interconnect"]))
            price = Decimal(required_money(row, "price_usd_hour"))
            found[key] = max(found.get(key, price), price)
    return found


def read_specialised(source: Path, sizes: CardSizes) -> Iterator[Cells]:
    """One row per offer, the price of one GPU."""
    rows = read_table(
        source, "prices/neoclouds_offerings_2026-05-24.csv",
        ["provider_id", "gpu_model", "vram_gb", "interconnect", "tier", "is_spot",
         "price_usd_hour", "vcpu", "ram_gb", "notes", "collected_at"],
    )
    limits = dearest(rows)
    for (provider, label, _, interconnect, vcpu, _), found in group_offers(rows).items():
        row = next(iter(found.values()))
        card = card_name(row["gpu_model"], interconnect)
        memory = sizes.memory(card, number(row, "vram_gb"))
        if memory is None:
            note(f"{row.file}:{row.line}: no {card} has {row['vram_gb']} GB; left out")
            continue
        prices = {column: required_money(at, "price_usd_hour") for column, at in found.items()}
        limit = limits.get((provider, card))
        if limit is not None and Decimal(prices.get("spot", 0)) > limit:
            note(f"{found['spot'].file}:{found['spot'].line}: spot above on-demand; left out")
            del prices["spot"]
        if not prices:
            continue
        ram = number(row, "ram_gb")
        yield {
            "provider": provider, "region": "", "instance_type": label, "gpu_model": card,
            "gpu_count": "1", "gpu_memory_mib": memory,
            "vcpu": number(row, "vcpu") if vcpu else "",
            "memory_mib": plain(Decimal(ram) * 1024) if ram else "", "currency": "USD", **prices,
            "price_basis": "gpu", "date": date(row, "collected_at"), "origin": ORIGIN,
        }
