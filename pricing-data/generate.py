#!/usr/bin/env python3
"""Build the bundled price and hardware tables from the source tables.

Usage: python3 pricing-data/generate.py SOURCE_FOLDER

SOURCE_FOLDER holds `prices/` and `hardware/`. The results are written next to
this script, sorted and free of run dates, so the same sources always give the
same bytes. An empty cell means unknown; nothing is estimated here.
"""

import sys
from pathlib import Path

sys.dont_write_bytecode = True  # the package lies among the results

from generator.aws_commitments import (  # noqa: E402
    JOINED_RESERVED, build_capacity_blocks, build_families, build_reserved,
)
from generator.aws_prices import build_prices, read_aws_lists  # noqa: E402
from generator.aws_shapes import build_shapes, build_zones, read_specifications  # noqa: E402
from generator.clouds import build_other_clouds  # noqa: E402
from generator.hardware import build_gpu_specs, build_mig_profiles  # noqa: E402
from generator.sources_text import build_sources  # noqa: E402
from generator.storage import build_storage  # noqa: E402
from generator.tables import SourceError  # noqa: E402

HERE = Path(__file__).resolve().parent


def build(source: Path) -> None:
    """Build everything in memory first, so a bad source leaves the old files alone."""
    specifications = read_specifications(source)
    lists = read_aws_lists(source, JOINED_RESERVED.values())
    prices = build_prices(source, lists, specifications)
    reserved = build_reserved(source, lists)
    blocks = build_capacity_blocks(source)
    zones = build_zones(source)
    shapes = build_shapes(specifications, (row["instance_type"] for row in prices.rows))
    gpu_specs = build_gpu_specs(source, shapes)
    tables = [
        prices, reserved, blocks,
        build_families(source, lists, specifications, zones, prices, reserved, blocks),
        shapes, zones, gpu_specs, build_mig_profiles(source, gpu_specs),
        build_other_clouds(source, gpu_specs), build_storage(),
    ]
    texts = {table.name: table.render() for table in tables}
    texts["SOURCES.md"] = build_sources((HERE / "SOURCES.md").read_text(encoding="utf-8"))
    for name, text in texts.items():
        (HERE / name).write_text(text, encoding="utf-8", newline="\n")
    for table in tables:
        print(f"{table.name}: {len(table.rows)} rows")


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
