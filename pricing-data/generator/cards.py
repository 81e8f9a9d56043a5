"""What the sources call each card, and what each card is called here."""

# (canonical name, MiB per device as in shapes.csv) -> name in the hardware table.
HARDWARE_NAMES = {
    ("K80", "12288"): "K80 (per GK210)", ("M60", "8192"): "M60 (per GPU)",
    ("V100", "16384"): "V100-SXM2-16GB", ("V100", "32768"): "V100-SXM2-32GB",
    ("T4", "16384"): "T4", ("T4G", "16384"): "T4G", ("A10G", "22888"): "A10G",
    ("A100", "40960"): "A100-SXM4-40GB", ("A100", "81920"): "A100-SXM4-80GB",
    ("L4", "22888"): "L4", ("L40S", "45776"): "L40S",
    ("RTX PRO 6000", "98304"): "RTX PRO 6000 Blackwell Server",
    ("RTX PRO 4500", "32768"): "RTX PRO 4500 Blackwell Server",
    ("H100", "81920"): "H100-SXM5-80GB", ("H200", "144384"): "H200-SXM-141GB",
    ("B200", "183359"): "B200-SXM-180GB", ("B300", "275040"): "B300-SXM",
    ("Radeon Pro V520", "8192"): "Radeon Pro V520",
    ("Inferentia1", "8192"): "Inferentia1", ("Inferentia2", "32768"): "Inferentia2",
    ("Trainium1", "32768"): "Trainium1", ("Trainium2", "98304"): "Trainium2",
    ("Gaudi HL-205", "32768"): "Gaudi HL-205", ("Cloud AI 100", "16000"): "Cloud AI 100",
}

# Cards that only other clouds rent: name in the hardware table -> name here. Their
# memory is the nominal size; a card that AWS rents in another form has a name of its own.
OTHER_CARDS = {
    "P4": "P4", "P40": "P40", "P100-PCIe-16GB": "P100", "V100-PCIe-16GB": "V100 PCIe",
    "A10": "A10", "A30": "A30", "A40": "A40", "A100-PCIe-40GB": "A100 PCIe",
    "A100-PCIe-80GB": "A100 PCIe", "L40": "L40", "H100-PCIe-80GB": "H100 PCIe",
    "H100-NVL-94GB": "H100 NVL", "H20-96GB": "H20", "GH200-96GB": "GH200",
    "GH200-144GB": "GH200", "GB200": "GB200", "GB300": "GB300",
    "Radeon Pro V710": "Radeon Pro V710", "MI300X": "MI300X", "MI325X": "MI325X",
}

# Name in the MIG table -> the cards here that have these profiles.
MIG_CARDS = {
    "A100-40GB": [("A100", "40960"), ("A100 PCIe", "40960")],
    "A100-80GB": [("A100", "81920"), ("A100 PCIe", "81920")],
    "A30-24GB": [("A30", "24576")],
    "H100-80GB": [("H100", "81920"), ("H100 PCIe", "81920")],
    "H100-94GB": [("H100 NVL", "96256")],
    "H100-96GB/GH200-96GB/H20-96GB": [("GH200", "98304"), ("H20", "98304")],
    "H200-141GB": [("H200", "144384")],
    "GH200-144GB": [("GH200", "144384")],
    "B200-180GB": [("B200", "183359")],
    "GB200-186GB": [("GB200", "190464")],
    "B300-269GB": [("B300", "275040")],
    "GB300-278GB": [("GB300", "294912")],
    "RTX-PRO-6000-Blackwell-96GB": [("RTX PRO 6000", "98304")],
    "RTX-PRO-4500-Blackwell-32GB": [("RTX PRO 4500", "32768")],
}

# (name in the MIG table, profile) -> (MiB that another driver shows for the profile,
# where it was seen). A workload has to fit under every driver: the smaller figure counts.
MIG_REPORTED = {
    ("A100-40GB", "1g.10gb"): ("9856", "`nvidia-smi` and NVIDIA's MIG user guide, 9.62 GiB"),
    ("A100-40GB", "2g.10gb"): ("9856", "`nvidia-smi`, driver 550.54.14"),
    ("A100-40GB", "3g.20gb"): ("19968", "`nvidia-smi`, driver 550.54.14"),
    ("A100-40GB", "4g.20gb"): ("19968", "NVIDIA's MIG user guide, 19.50 GiB"),
    ("A100-40GB", "7g.40gb"): ("40192", "NVIDIA's MIG user guide, 39.25 GiB"),
    ("H100-80GB", "3g.40gb"): ("40320", "`nvidia-smi`, driver 535.104.12"),
    ("H100-80GB", "4g.40gb"): ("40320", "not seen: as large as 3g.40gb, four memory slices"),
    **{
        ("RTX-PRO-6000-Blackwell-96GB", f"1g.24gb{variant}"): (
            "23674", "`nvidia-smi`, bigstack-oss/cubecos issue 312, 23.12 GiB",
        )
        for variant in ("", "+me", "+gfx", "+me.all", "-me")
    },
}

# nvidia-smi product name -> hardware table name, for the captures.
SMI_NAMES = {
    "Tesla T4": "T4", "NVIDIA T4G": "T4G", "NVIDIA A10G": "A10G", "NVIDIA L4": "L4",
    "NVIDIA L40S": "L40S", "NVIDIA A100-SXM4-40GB": "A100-SXM4-40GB",
    "NVIDIA A100-SXM4-80GB": "A100-SXM4-80GB", "NVIDIA H100 80GB HBM3": "H100-SXM5-80GB",
    "NVIDIA H200": "H200-SXM-141GB", "NVIDIA B200": "B200-SXM-180GB",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "RTX PRO 6000 Blackwell Server",
    "NVIDIA GB200": "GB200", "NVIDIA GB300": "GB300",
}

# Hardware table name -> (MiB that nvidia-smi shows, where it was seen). The
# hardware table mixes driver figures with AWS's nominal ones, and a nominal
# figure overstates what fits; so only these and the captures count as reported.
DRIVER_REPORTED = {
    "K80 (per GK210)": ("11441", "nvidia-smi, driver 470, ECC on"),
    "M60 (per GPU)": ("7613", "nvidia-smi, ECC on; 7618 with other drivers"),
    "V100-SXM2-16GB": ("16160", "nvidia-smi"),
    "V100-SXM2-32GB": ("32510", "nvidia-smi"),
    "T4G": ("15360", "nvidia-smi on g5g"),
    "A10G": ("23028", "nvidia-smi -q -x capture in influxdata/telegraf"),
    "A100-SXM4-80GB": ("81920", "nvidia-smi, modal-labs/modal-client pull request 2797"),
    "L4": ("23034", "nvidia-smi, modal-labs/modal-client pull request 2797"),
    "RTX PRO 6000 Blackwell Server": ("97887", "nvidia-smi on g7e.2xlarge"),
    "H200-SXM-141GB": ("143771", "nvidia-smi, driver 580"),
    "B300-SXM": ("275040", "nvidia-smi, driver 580"),
}

# Figures that the hardware table itself calls unverified, and what confirms them.
CONFIRMED = {
    "RTX PRO 4500 Blackwell Server": "800 GB/s and 165 W also published by Exxact (2026-05-20)",
}
