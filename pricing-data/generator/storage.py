"""The few storage and address prices that have not moved for years."""

from decimal import Decimal

from .tables import Table, plain

STORAGE_COLUMNS = ["resource", "region", "currency", "unit", "price", "date", "basis"]

# Long-standing us-east-1 list prices in USD, undated on purpose.
STORAGE = [
    ("gp2", "gib-month", "0.10"),
    ("gp3", "gib-month", "0.08"),
    ("io2", "gib-month", "0.125"),
    ("public-ipv4", "hour", "0.005"),
    ("sc1", "gib-month", "0.015"),
    ("st1", "gib-month", "0.045"),
]


def build_storage() -> Table:
    """Constants, marked as such."""
    rows = [
        {
            "resource": resource, "region": "us-east-1", "currency": "USD", "unit": unit,
            "price": plain(Decimal(price)), "basis": "long-standing-list-price",
        }
        for resource, unit, price in sorted(STORAGE)
    ]
    return Table("storage.csv", STORAGE_COLUMNS, ["resource", "region"], rows)
