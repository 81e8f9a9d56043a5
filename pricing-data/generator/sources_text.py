"""SOURCES.md with its correction tables taken from the program, so they cannot drift."""

from collections.abc import Iterable

from .aws_shapes import MEMORY_CORRECTIONS
from .cards import DRIVER_REPORTED, MIG_REPORTED
from .tables import SourceError


def fill(text: str, marker: str, table: Iterable[tuple[str, ...]]) -> str:
    """Replace the table rows between two marker lines of SOURCES.md."""
    start, end = f"<!-- {marker} -->\n", f"<!-- end {marker} -->"
    head, found, rest = text.partition(start)
    _, found_end, tail = rest.partition(end)
    if not found or not found_end:
        raise SourceError(f"SOURCES.md:1: the marker lines for {marker} are missing")
    rows = "".join(f"| {' | '.join(cells)} |\n" for cells in table)
    return f"{head}{start}{rows}{end}{tail}"


def build_sources(text: str) -> str:
    """The text with its tables as the program has them."""
    corrections = [("Model", "AWS reports (MiB)", "Here (MiB)", "Reason"), ("---",) * 4]
    corrections += [(name, *cells) for name, cells in sorted(MEMORY_CORRECTIONS.items())]
    reported = [("Card", "MiB", "Seen in"), ("---",) * 3]
    reported += [(name, *cells) for name, cells in sorted(DRIVER_REPORTED.items())]
    slices = [("Card in the MIG table", "Profile", "MiB", "Seen in"), ("---",) * 4]
    slices += [(*key, *cells) for key, cells in sorted(MIG_REPORTED.items())]
    text = fill(fill(text, "corrections", corrections), "reported", reported)
    return fill(text, "slices", slices)
