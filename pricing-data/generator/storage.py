"""Volume and address prices, as AWS has stated them in public."""

from decimal import Decimal

from .tables import Cells, SourceError, Table, plain

STORAGE_COLUMNS = ["resource", "region", "currency", "unit", "price", "date", "basis"]

# Long-standing us-east-1 list prices in USD, undated on purpose.
LONG_STANDING = {
    "gp2": "0.10", "gp3": "0.08", "io2": "0.125", "public-ipv4": "0.005", "sc1": "0.015",
    "st1": "0.045",
}

# AWS's page of EBS prices on PAGE_DATE, USD per GiB-month; "" where the page has none.
# SOURCES.md says why io2 is left out of ca-central-1 and eu-west-1.
PAGE_DATE = "2021-07-14"
PAGE_COLUMNS = ("gp3", "gp2", "io2", "st1", "sc1")
PAGE = {
    "af-south-1": ("0.1047", "0.1309", "", "0.0595", "0.019992"),
    "ap-east-1": ("0.1056", "0.132", "0.1518", "0.0594", "0.0198"),
    "ap-northeast-1": ("0.096", "0.12", "0.142", "0.054", "0.018"),
    "ap-northeast-2": ("0.0912", "0.114", "0.1278", "0.051", "0.0174"),
    "ap-northeast-3": ("0.096", "0.12", "", "0.054", "0.018"),
    "ap-south-1": ("0.0912", "0.114", "0.131", "0.051", "0.0174"),
    "ap-southeast-1": ("0.096", "0.12", "0.138", "0.054", "0.018"),
    "ap-southeast-2": ("0.096", "0.12", "0.138", "0.054", "0.018"),
    "ca-central-1": ("0.088", "0.11", "", "0.05", "0.0168"),
    "eu-central-1": ("0.0952", "0.119", "0.149", "0.054", "0.018"),
    "eu-north-1": ("0.0836", "0.1045", "0.1311", "0.0475", "0.01596"),
    "eu-south-1": ("0.0924", "0.1155", "", "0.0525", "0.01764"),
    "eu-west-1": ("0.088", "0.11", "", "0.05", "0.0168"),
    "eu-west-2": ("0.0928", "0.116", "0.145", "0.053", "0.0174"),
    "eu-west-3": ("0.0928", "0.116", "", "0.053", "0.0174"),
    "me-south-1": ("0.0968", "0.121", "0.1518", "0.055", "0.01848"),
    "sa-east-1": ("0.152", "0.19", "", "0.086", "0.0288"),
    "us-east-2": ("0.08", "0.10", "0.125", "0.045", "0.015"),
    "us-west-1": ("0.096", "0.12", "0.138", "0.054", "0.018"),
    "us-west-2": ("0.08", "0.10", "0.125", "0.045", "0.015"),
}

# What AWS's price list said later, with the day of the list: (resource, region) ->
# (day, USD per GiB-month).
PRICE_LIST = {
    ("gp3", "af-south-1"): ("2024-07-05", "0.1047"),
    ("gp3", "ap-south-1"): ("2026-10-07", "0.0912"),
    ("gp3", "ap-southeast-1"): ("2026-08-12", "0.096"),
    ("gp3", "eu-central-1"): ("2026-09-03", "0.0952"),
    ("gp3", "eu-north-1"): ("2026-10-01", "0.0836"),
    ("gp3", "eu-west-2"): ("2026-09-25", "0.0928"),
    ("gp3", "eu-west-3"): ("2026-09-01", "0.0928"),
    ("gp3", "us-west-2"): ("2026-10-04", "0.08"),
    ("gp2", "ap-northeast-1"): ("2026-09-10", "0.12"),
    ("gp3", "ap-northeast-1"): ("2026-09-10", "0.096"),
    ("io2", "ap-northeast-1"): ("2026-09-10", "0.142"),
    ("sc1", "ap-northeast-1"): ("2026-09-10", "0.018"),
    ("st1", "ap-northeast-1"): ("2026-09-10", "0.054"),
}

# Since IPV4_DATE an address costs the same per hour in every commercial region; these
# were open then.
IPV4_DATE = "2024-02-01"
IPV4_PRICE = "0.005"
IPV4_REGIONS = sorted([
    *PAGE, "ap-south-2", "ap-southeast-3", "ap-southeast-4", "ca-west-1", "eu-central-2",
    "eu-south-2", "il-central-1", "me-central-1",
])


def cells(resource: str, region: str, price: str, date: str, basis: str) -> Cells:
    """One row; every price is above zero and in USD."""
    if Decimal(price) <= 0:
        raise SourceError(f"storage.csv: {resource} {region}: no price: {price}")
    unit = "hour" if resource == "public-ipv4" else "gib-month"
    return {
        "resource": resource, "region": region, "currency": "USD", "unit": unit,
        "price": plain(Decimal(price)), "date": date, "basis": basis,
    }


def volume_rows() -> list[Cells]:
    """The page by region, with the date of the newest list that says the same."""
    rows = []
    listed = dict(PRICE_LIST)
    for region, prices in PAGE.items():
        for resource, price in zip(PAGE_COLUMNS, prices, strict=True):
            if not price:
                continue
            date, basis = PAGE_DATE, "ebs-price-page"
            if newer := listed.pop((resource, region), None):
                date, basis = newer[0], "aws-price-list"
                if Decimal(newer[1]) != Decimal(price):
                    raise SourceError(f"storage.csv: {resource} {region}: {price} or {newer[1]}")
            rows.append(cells(resource, region, price, date, basis))
    if listed:
        raise SourceError(f"storage.csv: not on the page: {sorted(listed)}")
    return rows


def build_storage() -> Table:
    """Constants of this file, each with its origin and, but for us-east-1, its day."""
    rows = [
        cells(resource, "us-east-1", price, "", "long-standing-list-price")
        for resource, price in LONG_STANDING.items()
    ]
    rows += volume_rows()
    rows += [
        cells("public-ipv4", region, IPV4_PRICE, IPV4_DATE, "public-ipv4-charge")
        for region in IPV4_REGIONS
    ]
    rows.sort(key=lambda row: (row["resource"], row["region"]))
    return Table("storage.csv", STORAGE_COLUMNS, ["resource", "region"], rows)
