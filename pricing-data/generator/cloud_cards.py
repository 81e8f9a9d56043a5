"""One name and one memory size for each card, whatever a cloud calls it."""

import re
from decimal import Decimal

from .tables import Table, plain

# Name in the Google table -> (name here, nominal GB).
GOOGLE_CARDS = {
    "A100-40GB": ("A100", "40"), "A100-80GB": ("A100", "80"), "H100-80GB": ("H100", "80"),
    "H100-80GB-mega": ("H100", "80"), "L4": ("L4", "24"), "RTX PRO 6000": ("RTX PRO 6000", "96"),
}
AZURE_CARDS = {  # name in the Azure table -> name here
    "A10": "A10", "A100-PCIe-80GB": "A100 PCIe", "A100-SXM-40GB": "A100", "A100-SXM-80GB": "A100",
    "GB200": "GB200", "H100-NVL": "H100 NVL", "H100-SXM": "H100", "H200": "H200", "K80": "K80",
    "M60": "M60", "MI25": "Radeon Instinct MI25", "MI300X": "MI300X", "P100": "P100", "P40": "P40",
    "RTX PRO 6000": "RTX PRO 6000", "T4": "T4", "V100": "V100", "V100-PCIe-16GB": "V100 PCIe",
    "V100-SXM2-32GB": "V100", "V620": "Radeon Pro V620", "V710": "Radeon Pro V710",
    "Alveo U250 FPGA": "Alveo U250",
}
MAKERS = ("NVIDIA ", "AMD ", "Tesla ", "HGX ", "GeForce ")
SPELLINGS = {  # after the words below are taken off
    "A6000": "RTX A6000", "B200 NVL": "B200", "RTX 6000 Pro": "RTX PRO 6000",
    "RTX PRO 6000 CC": "RTX PRO 6000", "RTX PRO 6000 SE": "RTX PRO 6000",
    "RTX PRO-A6000 SE": "RTX PRO 6000", "RTX Pro 6000": "RTX PRO 6000",
    "RTX Pro 6000 Blackwell": "RTX PRO 6000", "RTX Pro 6000 SE": "RTX PRO 6000",
}
# Forms of one card; what remains is the name. PCIe is a card of its own for these.
FORM = re.compile(r" (SXM\d?|NVLink|PCIe?|\d+GB?)(?= |$)")
PCIE_CARDS = frozenset(["A100", "H100", "V100"])


def card_name(name: str, interconnect: str = "") -> str:
    """The name here; a PCIe card only where the offer says PCIe."""
    for maker in MAKERS:
        name = name.removeprefix(maker)
    name = re.sub(r" \(.*\)$", "", name)  # "(48 GB mod)", "(High freq.)"
    bare = FORM.sub("", name)
    if bare in PCIE_CARDS and ("PCI" in name or interconnect == "PCIe"):
        return f"{bare} PCIe"
    return SPELLINGS.get(bare, bare)


class CardSizes:
    """The memory sizes of the cards in gpu_specs.csv."""

    def __init__(self, gpu_specs: Table) -> None:
        """Index the sizes by card."""
        self.sizes: dict[str, list[int]] = {}
        for row in gpu_specs.rows:
            self.sizes.setdefault(row["gpu_model"], []).append(int(row["memory_mib"]))

    def memory(self, card: str, gigabytes: str) -> str | None:
        """MiB as in gpu_specs.csv, so that the two join; None where no such card exists.

        Clouds round: a B200 is sold with 180 or 192 GB. Empty stays unknown, unless the
        card comes in one size.
        """
        sizes = self.sizes.get(card, [])
        if not gigabytes:
            return str(sizes[0]) if len(sizes) == 1 else ""
        nominal = Decimal(gigabytes) * 1024
        if not sizes:
            return plain(nominal)
        nearest = min(sizes, key=lambda size: abs(size - nominal))
        return str(nearest) if abs(nearest - nominal) <= nominal / 10 else None
