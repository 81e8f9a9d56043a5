"""EC2 on-demand and spot prices by operating system, and interruption bands."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from .tables import (
    REGION, Cells, Key, Row, Table, index, money, note, read_table, required_money,
)

EC2_LIST = ("ec2-list-2026-05", "2026-05-12")
KARPENTER = ("karpenter-2026-07-20", "2026-07-20")
KARPENTER_CN = ("karpenter-cn-2024-11-06", "2024-11-06")
JOINED_ORIGINS = {"vantage 2026-05": EC2_LIST, "karpenter 2026-07-20": KARPENTER, "": ("", "")}
SPOT_ADVISOR_DATE = "2025-06-28"

PRICE_KEY = ["instance_type", "region", "operating_system", "tenancy"]
PRICE_COLUMNS = [
    *PRICE_KEY, "currency", "on_demand", "on_demand_date", "on_demand_origin", "spot_average",
    "spot_average_date", "interruption_band", "interruption_band_date",
]
COMPARATOR_FAMILIES = frozenset(
    "c6i c7i c7a c7g c8g c8i m6i m7i m7a m7g m8g m8i r6i r7i r7a r7g r8g r8i t3 t4g".split()
)

LINUX = ("linux", "shared")
# Key of the all-systems list -> name here. Left out: `dedicated`, which is the price of a
# whole Dedicated Host, SQL Server variants and RHEL with high availability.
SYSTEMS = {"mswin": "windows", "rhel": "rhel", "sles": "sles", "ubuntu": "ubuntu-pro"}
OMITTED_SYSTEMS = frozenset(
    """dedicated linuxSQL linuxSQLEnterprise linuxSQLWeb mswinSQL mswinSQLEnterprise mswinSQLWeb
    rhelHA rhelHASQL rhelHASQLEnterprise rhelSQL rhelSQLEnterprise rhelSQLWeb""".split()
)
ADVISOR_SYSTEMS = {"Linux": "linux", "Windows": "windows"}
BANDS = {"0": "<5%", "1": "5-10%", "2": "10-15%", "3": "15-20%", "4": ">20%"}


@dataclass(frozen=True)
class AwsLists:
    """The source lists that several tables are built from, read and checked once."""

    joined: dict[Key, Row]  # accelerated types, Linux
    linux: dict[Key, Row]  # every type, Linux
    systems: dict[Key, Row]  # accelerated types by operating system
    newest: dict[Key, Row]  # us-east-1 and us-gov, on-demand only
    china: dict[Key, Row]


def read_lists(source: Path, *names: str) -> dict[Key, Row]:
    """Read Karpenter on-demand lists of one date and check every price in them."""
    columns = ["instance_type", "region", "on_demand", "currency"]
    rows = [row for name in names for row in read_table(source, name, columns)]
    for row in rows:
        required_money(row, "on_demand")
    return index(rows, "instance_type", "region")


def read_aws_lists(source: Path, joined_extra: Iterable[str]) -> AwsLists:
    """Read all lists; `joined_extra` names further columns of the joined one."""
    prices = ["instance_type", "region", "on_demand", "spot_avg"]
    joined = read_table(
        source, "prices/aws_accel_prices_joined.csv",
        [*prices, "od_source", "interruption_band_2025_06", *joined_extra],
    )
    terms = ["ri_std_1y_all_upfront_eff", "ri_std_3y_all_upfront_eff"]
    systems = read_table(
        source, "prices/aws_prices_accel_all_os_2026-05.csv", [*prices, "os", *terms]
    )
    for row in systems:
        if row["os"] not in SYSTEMS.keys() | OMITTED_SYSTEMS | {"linux"}:
            raise row.error(f"unknown operating system {row['os']!r}")
    return AwsLists(
        joined=index(joined, "instance_type", "region"),
        linux=index(
            read_table(source, "prices/aws_prices_linux_all_2026-05.csv", prices),
            "instance_type", "region",
        ),
        systems=index(systems, "instance_type", "region", "os"),
        newest=read_lists(
            source,
            "prices/aws_ondemand_karpenter_us-east-1_2026-07-20.csv",
            "prices/aws_ondemand_karpenter_us-gov_2026-07-20.csv",
        ),
        china=read_lists(source, "prices/aws_ondemand_karpenter_cn_2024-11-06.csv"),
    )


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


class PriceBook:
    """The growing table; each price carries the newest date it is confirmed for."""

    def __init__(self) -> None:
        """Start empty."""
        self.prices: dict[Key, Cells] = {}
        self.origins: list[tuple[str, str, Row]] = []

    def add(self, key: Key, row: Row, origin: tuple[str, str], currency: str) -> None:
        """Start an output row with its on-demand price, the only one that all lists have."""
        on_demand = money(row, "on_demand")
        source_key, date = origin if on_demand else ("", "")
        self.origins.append((key[1], currency, row))
        self.prices[key] = {
            **dict(zip(PRICE_KEY, key)), "currency": currency, "on_demand": on_demand,
            "on_demand_date": date, "on_demand_origin": source_key,
        }

    def add_spot(self, key: Key, row: Row) -> None:
        """The spot average, dated only where there is one."""
        spot = money(row, "spot_avg")
        self.prices[key] |= {"spot_average": spot, "spot_average_date": EC2_LIST[1] if spot else ""}


def add_linux(book: PriceBook, lists: AwsLists, accelerated: dict[str, bool]) -> None:
    """Linux on shared hardware, merged from all lists; the newest list wins."""
    for key, row in lists.joined.items():
        if row["od_source"] not in JOINED_ORIGINS:
            raise row.error(f"unknown od_source {row['od_source']!r}")
        origin = JOINED_ORIGINS[row["od_source"]]
        if row["on_demand"] and not origin[0]:
            raise row.error("on_demand without od_source")
        book.add(key + LINUX, row, origin, "USD")
        book.add_spot(key + LINUX, row)

    for key, row in lists.linux.items():
        family, _, size = key[0].partition(".")
        if family in COMPARATOR_FAMILIES and "metal" not in size and REGION.fullmatch(key[1]):
            book.add(key + LINUX, row, EC2_LIST, "USD")
            book.add_spot(key + LINUX, row)

    for source, origin in ((lists.newest, KARPENTER), (lists.china, KARPENTER_CN)):
        for key, row in source.items():
            if key + LINUX not in book.prices and accelerated.get(key[0]):
                book.add(key + LINUX, row, origin, row["currency"])

    for key, row in lists.newest.items():
        # Karpenter shows the Dedicated Host rate for many .metal types.
        if key + LINUX not in book.prices or "metal" in key[0]:
            continue
        on_demand = money(row, "on_demand")
        cells = book.prices[key + LINUX]
        if cells["on_demand"] not in ("", on_demand):
            note(f"{' '.join(key)}: on-demand {cells['on_demand']} became {on_demand}"
                 f" on {KARPENTER[1]}")
        cells |= {
            "on_demand": on_demand, "on_demand_date": KARPENTER[1],
            "on_demand_origin": KARPENTER[0],
        }
    for key, row in (lists.newest | lists.china).items():
        book.origins.append((key[1], row["currency"], row))


def above_linux(lists: AwsLists, row: Row, column: str) -> bool:
    """Whether a price with a licence in it stands above that of plain Linux.

    The list keeps one price for each system, so the rate of a Windows licence that the
    customer brings, or the licence fee alone of a type that is sold by Capacity Block,
    can stand where the full price belongs; both are at or below the Linux price.
    """
    plain_row = lists.systems.get((row["instance_type"], row["region"], "linux"))
    if plain_row is None or not plain_row[column]:
        return False
    return Decimal(required_money(row, column)) > Decimal(required_money(plain_row, column))


def add_systems(book: PriceBook, lists: AwsLists) -> None:
    """The other operating systems of accelerated types, where the price is the full one."""
    for (instance_type, region, system), row in lists.systems.items():
        if system not in SYSTEMS or not money(row, "on_demand"):
            continue
        if not above_linux(lists, row, "on_demand"):
            note(f"{instance_type} {region} {SYSTEMS[system]}: not above a Linux price; left out")
            continue
        key = (instance_type, region, SYSTEMS[system], "shared")
        book.add(key, row, EC2_LIST, "USD")
        book.add_spot(key, row)


def add_bands(source: Path, book: PriceBook, lists: AwsLists) -> None:
    """Interruption bands of accelerated types, checked against the joined list."""
    columns = ["instance_type", "region", "os", "interruption_band", "interruption_label"]
    advisor = index(
        read_table(source, "prices/aws_spot_advisor_2025-06-28.csv", columns),
        "instance_type", "region", "os",
    )
    accelerated = {key[0] for key in lists.joined}
    for (instance_type, region, system), row in advisor.items():
        if BANDS.get(row["interruption_band"]) != row["interruption_label"]:
            raise row.error(f"unknown interruption band {row['interruption_label']!r}")
        if system not in ADVISOR_SYSTEMS:
            raise row.error(f"unknown operating system {system!r}")
        key = (instance_type, region, ADVISOR_SYSTEMS[system], "shared")
        if instance_type in accelerated and key in book.prices:
            book.prices[key] |= {
                "interruption_band": row["interruption_label"],
                "interruption_band_date": SPOT_ADVISOR_DATE,
            }
    for key, row in lists.joined.items():
        band = book.prices[key + LINUX].get("interruption_band", "")
        if row["interruption_band_2025_06"] != band:
            raise row.error("interruption_band_2025_06 differs from the Spot Advisor table")


def build_prices(source: Path, lists: AwsLists, specifications: dict[Key, Row]) -> Table:
    """Merge the lists into one table, sorted by its key."""
    accelerated = {key[0]: row["accelerator_kind"] != "cpu" for key, row in specifications.items()}
    accelerated |= {key[0]: True for key in lists.joined}
    newest = {key[0] for key in lists.newest | lists.china}
    for instance_type in sorted(newest - accelerated.keys()):
        note(f"{instance_type}: no specification, taken as not accelerated; left out of prices.csv")
    book = PriceBook()
    add_linux(book, lists, accelerated)
    add_systems(book, lists)
    add_bands(source, book, lists)
    check_currencies(book.origins)
    rows = [book.prices[key] for key in sorted(book.prices)]
    return Table("prices.csv", PRICE_COLUMNS, PRICE_KEY, rows)
