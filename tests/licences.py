"""Checks that every dependency may be used under a licence of a short list.

Reads `cargo metadata --format-version 1` from standard input.
"""

import json
import re
import sys

ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "BlueOak-1.0.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "OpenSSL",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}


def is_allowed(expression: str) -> bool:
    """Whether an SPDX expression can be satisfied with allowed licences."""
    expression = expression.replace("/", " OR ")
    tokens = re.findall(r"\(|\)|[^\s()]+(?: WITH [^\s()]+)?", expression)

    def any_of(position: int) -> tuple[bool, int]:
        value, position = all_of(position)
        while position < len(tokens) and tokens[position] == "OR":
            other, position = all_of(position + 1)
            value = value or other
        return value, position

    def all_of(position: int) -> tuple[bool, int]:
        value, position = one(position)
        while position < len(tokens) and tokens[position] == "AND":
            other, position = one(position + 1)
            value = value and other
        return value, position

    def one(position: int) -> tuple[bool, int]:
        if tokens[position] == "(":
            value, position = any_of(position + 1)
            return value, position + 1
        return tokens[position] in ALLOWED, position + 1

    return any_of(0)[0]


def main() -> int:
    packages = json.load(sys.stdin)["packages"]
    refused = [
        f"{package['name']} {package['version']}: {package['license'] or 'no licence stated'}"
        for package in packages
        if not package["license"] or not is_allowed(package["license"])
    ]
    for line in refused:
        print(f"licence not allowed: {line}", file=sys.stderr)
    print(f"{len(packages)} packages, {len(refused)} with a licence that is not allowed")
    return 1 if refused else 0


sys.exit(main())
