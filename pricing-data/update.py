#!/usr/bin/env python3
"""Bring on-demand, spot and reserved prices of the bundled tables up to date.

Usage: python3 pricing-data/update.py [--gpucost PROGRAM] [--region R[,R…]|all] [--endpoint-url URL]

Runs `gpucost pricing refresh --public`, which reads the files that AWS publishes for everyone,
and takes over what it read into `prices.csv` and `reserved.csv`. A price that is older than the
one in a table is left out. Nothing is written before both tables are built.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

sys.dont_write_bytecode = True  # the package lies among the results

from generator.aws_prices import PRICE_COLUMNS, PRICE_KEY  # noqa: E402
from generator.tables import Cells, Key, SourceError, Table, note, read_table, rounded  # noqa: E402

HERE = Path(__file__).resolve().parent
RESERVED_KEY = [*PRICE_KEY, "term_years", "payment"]
RESERVED_COLUMNS = [
    *RESERVED_KEY, "currency", "upfront", "hourly", "effective_hourly", "basis", "date",
]
LIST_ORIGIN = "aws-price-list"
# What quotes of the files name as their source begins with.
LISTED, SPOT = "AWS price list ", "AWS spot price page"
# A change that a person should review.
LARGE_CHANGE = Decimal("0.25")


def read_public(arguments: argparse.Namespace) -> list[dict[str, str]]:
    """Every price that the files state now, in the form of an estate."""
    command = [arguments.gpucost, "pricing", "refresh", "--public", "--region", arguments.region]
    if arguments.endpoint_url:
        command += ["--endpoint-url", arguments.endpoint_url]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "GPUCOST_CACHE_DIR": folder}
        try:
            subprocess.run(command, env=environment, stdout=sys.stderr, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SourceError(f"the files were not read: {error}") from error
        with gzip.open(Path(folder) / "prices.json.gz", "rt", encoding="utf-8") as handle:
            return json.load(handle)["prices"]


def read_rows(name: str, columns: list[str], key: list[str]) -> dict[Key, Cells]:
    """The rows of a table as they are, by key."""
    rows = read_table(HERE, name, columns)
    return {tuple(row[column] for column in key): dict(row.cells) for row in rows}


def check_change(key: Key, old: str, new: str) -> None:
    """Point out a price that moved far, or whose row was wrong."""
    if old and abs(Decimal(new) / Decimal(old) - 1) > LARGE_CHANGE:
        note(f"{' '.join(key)}: {old} is now {new}")


def update(public: list[dict[str, str]]) -> list[Table]:
    """Both tables, with what is newer."""
    prices = read_rows("prices.csv", PRICE_COLUMNS, PRICE_KEY)
    reserved = read_rows("reserved.csv", RESERVED_COLUMNS, RESERVED_KEY)
    for price in public:
        key = tuple(price[column] for column in PRICE_KEY)
        day = price.get("seen_on") or price["effective_date"]
        hourly = rounded(Decimal(price["hourly"]), 6)
        option, source = price["option"], price["source"]
        if option == "on-demand" and source.startswith(LISTED):
            row = prices.setdefault(key, {**dict(zip(PRICE_KEY, key)), "currency": price["currency"]})
            if row.get("on_demand_date", "") <= day:
                check_change(key, row.get("on_demand", ""), hourly)
                row |= {"on_demand": hourly, "on_demand_date": day, "on_demand_origin": LIST_ORIGIN}
        elif option == "spot" and source.startswith(SPOT):
            row = prices.setdefault(key, {**dict(zip(PRICE_KEY, key)), "currency": price["currency"]})
            if row.get("spot_average_date", "") <= day:
                row |= {"spot_average": hourly, "spot_average_date": day}
        elif option.startswith("reserved-") and source.startswith(LISTED):
            years, payment = option.removeprefix("reserved-").split("yr-")
            full = (*key, years, payment)
            row = reserved.setdefault(full, dict(zip(RESERVED_KEY, full)))
            if row.get("date", "") <= day:
                check_change(full, row.get("effective_hourly", ""), hourly)
                row |= {
                    "currency": price["currency"],
                    "upfront": rounded(Decimal(price["upfront"]), 2),
                    "hourly": rounded(Decimal(price["recurring_hourly"]), 6),
                    "effective_hourly": hourly, "basis": "observed", "date": day,
                }
    return [
        Table("prices.csv", PRICE_COLUMNS, PRICE_KEY, [prices[key] for key in sorted(prices)]),
        Table("reserved.csv", RESERVED_COLUMNS, RESERVED_KEY, [reserved[key] for key in sorted(reserved)]),
    ]


def main() -> int:
    """Return the exit status: 0 updated, 1 nothing was changed, 2 wrong usage."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gpucost", default="gpucost", help="the program [default: %(default)s]")
    parser.add_argument("--region", default="all", help="comma-separated regions [default: all]")
    parser.add_argument("--endpoint-url", help="another address of the files")
    try:
        tables = update(read_public(parser.parse_args()))
        texts = [(HERE / table.name, table.render()) for table in tables]
    except SourceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for path, text in texts:
        beside = path.with_suffix(".new")
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(path)
    for table in tables:
        print(f"{table.name}: {len(table.rows)} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
