"""Reading source tables strictly, and writing result tables the same way each time."""

import csv
import io
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from pathlib import Path

Key = tuple[str, ...]
Cells = dict[str, str]

REGION = re.compile(r"[a-z]{2}(-gov|-iso[a-z]?)?-[a-z]+-\d+")  # no local or Wavelength zone


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


def index(rows: Iterable[Row], *columns: str) -> dict[Key, Row]:
    """Key the rows; two rows for one key would make the price a matter of luck."""
    found: dict[Key, Row] = {}
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


def rounded(value: Decimal, decimals: int) -> str:
    """Half up, as an invoice rounds, then the shortest plain notation."""
    return plain(value.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP))


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


def required_number(row: Row, column: str) -> Decimal:
    """A number that must be there, to compute with."""
    text = number(row, column)
    if not text:
        raise row.error(f"{column} is empty")
    return Decimal(text)


def required_money(row: Row, column: str) -> str:
    """A price that must be there."""
    text = money(row, column)
    if not text:
        raise row.error(f"{column} is empty")
    return text


def whole(row: Row, column: str) -> str:
    """A required whole number; the sources write 8 as 8.0."""
    text = number(row, column)
    if not text.isdecimal():
        raise row.error(f"{column} is not a whole number: {row[column]!r}")
    return text


def date(row: Row, column: str) -> str:
    """A day that a figure holds for."""
    if not re.fullmatch(r"20\d\d-[01]\d-[0-3]\d", row[column]):
        raise row.error(f"{column} is not a date: {row[column]!r}")
    return row[column]


def boolean(row: Row, column: str) -> str:
    """A truth value in lower case; anything else is a changed source."""
    if row[column] not in ("True", "False"):
        raise row.error(f"{column} is neither True nor False: {row[column]!r}")
    return row[column].lower()


def note(message: str) -> None:
    """Say what a person should know, without touching the results."""
    print(f"note: {message}", file=sys.stderr)


@dataclass(frozen=True)
class Table:
    """One result: its key columns make a row unique, and only `quoted` cells may hold a comma."""

    name: str
    columns: list[str]
    key: list[str]
    rows: list[Cells]
    quoted: bool = False

    def render(self) -> str:
        """The text of the file, with LF line ends, so it is the same on every system."""
        seen: set[Key] = set()
        for row in self.rows:
            key = tuple(row.get(column, "") for column in self.key)
            if key in seen:
                raise SourceError(f"{self.name}: duplicate key {' '.join(key)}")
            seen.add(key)
            for column, cell in row.items():
                if not self.quoted and any(mark in cell for mark in ',"\r\n'):
                    where = f"{self.name}: {' '.join(key)}"
                    raise SourceError(f"{where}: {column} needs quotes: {cell!r}")
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, self.columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return text.getvalue()
