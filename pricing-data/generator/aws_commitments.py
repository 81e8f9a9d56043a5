"""Standard Reserved Instances, Capacity Blocks, and what each family sells."""

import json
from decimal import Decimal
from pathlib import Path

from .aws_prices import EC2_LIST, LINUX, PRICE_KEY, SYSTEMS, AwsLists, above_linux
from .tables import (
    Cells, Key, Row, SourceError, Table, date, index, money, note, number, read_table,
    required_money, required_number, rounded, whole,
)

HOURS_PER_YEAR = 8760
PAYMENTS = {
    "No Upfront": "no-upfront", "Partial Upfront": "partial-upfront", "All Upfront": "all-upfront",
}
BASES = {  # basis of the source -> (basis here, date)
    "observed 2026-01-21": ("observed", "2026-01-21"),
    "observed 2026-05": ("observed", EC2_LIST[1]),
    "derived from all-upfront by constant ratio": ("derived", EC2_LIST[1]),
}
JOINED_RESERVED = {  # (term, payment) -> column of the joined list
    (term, payment): f"ri_std_{term}y_{payment.replace('-', '_')}"
    for term in ("1", "3")
    for payment in PAYMENTS.values()
}
RESERVED_KEY = [*PRICE_KEY, "term_years", "payment"]
RESERVED_COLUMNS = [
    *RESERVED_KEY, "currency", "upfront", "hourly", "effective_hourly", "basis", "date",
]
BLOCK_COLUMNS = ["instance_type", "region", "currency", "accelerators", "hourly", "date"]

FAMILY_DATE = "2026-08-02"  # of the instance type list
FAMILY_COLUMNS = [
    "family", "launchable", "on_demand", "spot", "reserved_1yr", "reserved_3yr",
    "ec2_instance_savings_plan", "capacity_block", "size_flexible", "date", "note",
]
# Gone from the instance type list for three months or longer counts as no longer offered.
LAST_SEEN_LIMIT = "2026-05-01"
ULTRA_SERVERS = {"u-p6e-gb200x36": "p6e-gb200", "u-p6e-gb200x72": "p6e-gb200"}
# From the EC2 user guide (2026-08): instance size flexibility does not hold for these.
# P5e, P5en and P6 are sold without standard offers.
NOT_SIZE_FLEXIBLE = frozenset(
    "g4ad g4dn g5 g5g g6 g6e g6f gr6 gr6f p5 p5e p5en p6-b200 p6-b300 p6e-gb200 inf1 inf2".split()
)
# Not among those exceptions, and no longer sold: reservations of three years still run.
SIZE_FLEXIBLE_STILL = frozenset("p2 p3".split())


def family_of(instance_type: str) -> str:
    """The family of a type; UltraServers have a name without a dot."""
    return ULTRA_SERVERS.get(instance_type, instance_type.partition(".")[0])


def cents(row: Row, column: str) -> str:
    """An upfront fee, which is zero for No Upfront."""
    text = number(row, column)
    if not text or len(text.partition(".")[2]) > 2:
        raise row.error(f"{column} is not an amount in cents: {row[column]!r}")
    return text


def linux_offer(row: Row) -> tuple[Key, Cells]:
    """One row of the Linux table, checked to add up to its effective price."""
    if row["payment"] not in PAYMENTS or row["basis"] not in BASES or row["class"] != "standard":
        raise row.error("unknown payment, basis or class")
    term, payment = row["term_years"], PAYMENTS[row["payment"]]
    if term not in ("1", "3"):
        raise row.error(f"unknown term {term!r}")
    effective, upfront = required_money(row, "effective_hourly"), cents(row, "upfront_usd")
    hourly = required_number(row, "recurring_hourly")
    spread = Decimal(upfront) / (HOURS_PER_YEAR * int(term)) + hourly
    if abs(spread - Decimal(effective)) > Decimal("0.00001"):
        raise row.error("upfront_usd and recurring_hourly do not add up to effective_hourly")
    if row["on_demand"] and Decimal(effective) >= Decimal(required_money(row, "on_demand")):
        raise row.error("effective_hourly is not below on_demand")
    basis, day = BASES[row["basis"]]
    key = (row["instance_type"], row["region"], *LINUX, term, payment)
    return key, {
        **dict(zip(RESERVED_KEY, key)), "currency": "USD", "upfront": upfront,
        "hourly": rounded(hourly, 6), "effective_hourly": effective, "basis": basis,
        "date": day,
    }


def read_linux_offers(source: Path, lists: AwsLists) -> dict[Key, Cells]:
    """The offers of accelerated types, which must agree with the joined list row by row."""
    table = index(
        read_table(
            source, "prices/aws_reserved_standard_linux.csv",
            ["instance_type", "region", "term_years", "payment", "class", "effective_hourly",
             "upfront_usd", "recurring_hourly", "on_demand", "basis"],
        ),
        "instance_type", "region", "term_years", "payment",
    )
    accelerated = {key[0] for key in lists.joined}
    rows = {k: row for k, row in table.items() if k[0] in accelerated}
    offers = dict(map(linux_offer, rows.values()))
    for key, row in lists.joined.items():
        for (term, payment), column in JOINED_RESERVED.items():
            expected = money(row, column)
            offer = offers.get((*key, *LINUX, term, payment))
            if expected and offer and expected != offer["effective_hourly"]:
                raise row.error(f"{column} differs from aws_reserved_standard_linux.csv")
    return offers


def system_offers(lists: AwsLists) -> dict[Key, Cells]:
    """The All Upfront offers of the other systems, the only ones that were observed."""
    offers: dict[Key, Cells] = {}
    omitted = 0
    for (instance_type, region, system), row in lists.systems.items():
        if system not in SYSTEMS:
            continue
        for term in ("1", "3"):
            column = f"ri_std_{term}y_all_upfront_eff"
            effective = money(row, column)
            if not effective:
                continue
            if not above_linux(lists, row, column) or not above_linux(lists, row, "on_demand"):
                omitted += 1
                continue
            if Decimal(effective) >= Decimal(required_money(row, "on_demand")):
                raise row.error(f"{column} is not below on_demand")
            hours = HOURS_PER_YEAR * int(term)
            key = (instance_type, region, SYSTEMS[system], "shared", term, "all-upfront")
            offers[key] = {
                **dict(zip(RESERVED_KEY, key)), "currency": "USD",
                "upfront": rounded(Decimal(effective) * hours, 2), "hourly": "0",
                "effective_hourly": effective, "basis": "observed", "date": EC2_LIST[1],
            }
    note(f"{omitted} reserved prices with a licence are not above a Linux price; left out")
    return offers


def build_reserved(source: Path, lists: AwsLists) -> Table:
    """All standard offers of accelerated types."""
    offers = read_linux_offers(source, lists) | system_offers(lists)
    rows = [offers[key] for key in sorted(offers)]
    return Table("reserved.csv", RESERVED_COLUMNS, RESERVED_KEY, rows)


def build_capacity_blocks(source: Path) -> Table:
    """The newest Capacity Block price for each type and region."""
    newest: dict[Key, Row] = {}
    table = read_table(
        source, "prices/aws_capacity_blocks_prices.csv",
        ["instance_type", "region", "accelerator_count", "hourly_usd",
         "per_accelerator_hourly_usd", "snapshot_date"],
    )
    for (instance_type, region, _), row in index(
        table, "instance_type", "region", "snapshot_date"
    ).items():
        where = f"{row.file}:{row.line}: {instance_type} {region} {date(row, 'snapshot_date')}"
        hourly = required_number(row, "hourly_usd")
        each = required_number(row, "per_accelerator_hourly_usd")
        if not hourly or not each:
            note(f"{where}: a zero price; left out")
            continue
        if region == "unknown":
            note(f"{where}: no region; left out")
            continue
        if abs(hourly - each * int(whole(row, "accelerator_count"))) > Decimal("0.01"):
            raise row.error("hourly_usd is not the price of all accelerators")
        known = newest.setdefault((instance_type, region), row)
        if known["snapshot_date"] < row["snapshot_date"]:
            newest[instance_type, region] = row
    rows = [
        {
            "instance_type": key[0], "region": key[1], "currency": "USD",
            "accelerators": whole(row, "accelerator_count"),
            "hourly": required_money(row, "hourly_usd"), "date": row["snapshot_date"],
        }
        for key, row in sorted(newest.items())
    ]
    return Table("capacity_blocks.csv", BLOCK_COLUMNS, ["instance_type", "region"], rows)


def families_without_reserved(source: Path) -> dict[str, frozenset[str]]:
    """Term -> families for which the rules say that no standard RI was listed."""
    name = "prices/aws_commitment_rules.json"
    try:
        rules = json.loads((source / name).read_text(encoding="utf-8"))
        names, _, reason = rules["savings_plans"]["families_without_ri"].partition(": ")
    except (OSError, ValueError, KeyError) as error:
        raise SourceError(f"{name}:1: cannot be read: {error}") from error
    if not reason.startswith("no standard RI rows"):
        raise SourceError(f"{name}:1: families_without_ri does not read as expected")
    listed = [part.strip() for part in names.split(",")]
    always = {part for part in listed if " " not in part}
    one_year = {part.removesuffix(" 1-year") for part in listed if part.endswith(" 1-year")}
    return {"1": frozenset(always | one_year), "3": frozenset(always)}


def launchable(family: str, last_seen: str, offered: bool, blocks: bool) -> tuple[str, str]:
    """Whether AWS still offers the family for launch, and the evidence where it does not."""
    if last_seen == FAMILY_DATE:
        return "true", ""
    if offered:
        raise SourceError(f"{family}: offered in a zone, but not in the instance type list")
    if blocks:
        return "true", ""
    if not last_seen:
        return ("false", "in no instance type list since 2024-11; no zone offers it") \
            if family == "g2" else ("", "")
    seen = f"last in the instance type list of {last_seen}; no zone offers it on 2026-08-01"
    return ("false" if last_seen < LAST_SEEN_LIMIT else ""), seen


def sells(found: bool, denied: bool) -> str:
    """True by a price; false by a list that covers the family, or by a source's word."""
    return "true" if found else "false" if denied else ""


def build_families(
    source: Path, lists: AwsLists, specifications: dict[Key, Row], zones: Table,
    prices: Table, reserved: Table, blocks: Table,
) -> Table:
    """What each accelerated family sells, read off the other tables and the sources' notes."""
    facts = index(
        read_table(source, "prices/aws_family_facts.csv", ["family", "capacity_block", "note"]),
        "family",
    )
    without = families_without_reserved(source)
    last_seen: dict[str, str] = {}
    for row in specifications.values():
        if row["accelerator_kind"] != "cpu":
            last_seen[row["family"]] = max(last_seen.get(row["family"], ""), row["snapshot_date"])
    offered = {family_of(row["instance_type"]) for row in zones.rows}
    sold_blocks = {family_of(row["instance_type"]) for row in blocks.rows}
    listed = {family_of(key[0]) for key, row in lists.joined.items()
              if row["on_demand"] and row["od_source"].startswith("vantage")}
    priced = {column: {family_of(row["instance_type"]) for row in prices.rows if row.get(column)}
              for column in ("on_demand", "spot_average")}
    terms = {term: {family_of(row["instance_type"]) for row in reserved.rows
                    if row["term_years"] == term} for term in ("1", "3")}
    unknown = last_seen.keys() | sold_blocks | {family_of(key[0]) for key in lists.joined}
    if missing := sorted(unknown - {key[0] for key in facts}):
        raise SourceError(f"prices/aws_family_facts.csv:1: no row for {', '.join(missing)}")

    rows = []
    for (family,), row in sorted(facts.items()):
        blocks_only = family in sold_blocks and family not in priced["on_demand"]
        if row["capacity_block"] != ("yes" if family in sold_blocks else "no"):
            raise row.error("capacity_block contradicts aws_capacity_blocks_prices.csv")
        offers = {
            term: sells(family in terms[term], blocks_only or family in without[term] | listed)
            for term in ("1", "3")
        }
        state, evidence = launchable(
            family, last_seen.get(family, ""), family in offered, family in sold_blocks
        )
        remark = row["note"].replace(", ", "; ")
        rows.append({
            "family": family, "launchable": state,
            "on_demand": sells(family in priced["on_demand"], blocks_only),
            "spot": sells(family in priced["spot_average"], family in listed),
            "reserved_1yr": offers["1"], "reserved_3yr": offers["3"],
            "ec2_instance_savings_plan": "derived" if "true" in offers.values() else "unknown",
            "capacity_block": "true" if family in sold_blocks else "false",
            "size_flexible": "false" if family in NOT_SIZE_FLEXIBLE
            else "true" if "true" in offers.values() or family in SIZE_FLEXIBLE_STILL else "",
            "date": FAMILY_DATE,
            "note": "; ".join(part for part in (evidence, remark) if part),
        })
    return Table("families.csv", FAMILY_COLUMNS, ["family"], rows)
