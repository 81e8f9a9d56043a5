"""Runs the statements of `gpucost history sql` on an engine, and compares their rows with the
tables that gpucost writes of the same points, and with those of brute.py.

    compare.py duckdb|sail usage SQL POINTS HISTORY ACCOUNT REGION
    compare.py duckdb|sail bill SQL CSV
    compare.py duckdb run SQL

It prints a line for each difference, and ends with 77 where the engine is not installed.
"""

import datetime
import decimal
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

ABSENT = 77
PATIENCE_SECONDS = 60
TABLES = ["usage_asked", "usage_series", "usage_grid", "usage_hist"]

try:
    import duckdb
except ImportError:
    sys.exit(ABSENT)


class DuckDb:
    def __init__(self):
        self.connection = duckdb.connect()

    def rows(self, text):
        cursor = self.connection.execute(text)
        return [one[0] for one in cursor.description], cursor.fetchall()

    def close(self):
        self.connection.close()


class Sail:
    """A server of this host, on a port of its own."""

    def __init__(self):
        try:
            import pysail  # noqa: F401
            from adbc_driver_flightsql import dbapi
        except ImportError:
            sys.exit(ABSENT)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.server = subprocess.Popen(
            [str(Path(sys.executable).with_name("sail")), "flight", "server", "--port", str(port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TZ": "UTC"},
        )
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                self.connection = dbapi.connect(f"grpc://127.0.0.1:{port}", autocommit=True)
                self.cursor = self.connection.cursor()
                self.cursor.execute("select 1")
                self.cursor.fetchall()
                break
            except Exception:
                if time.monotonic() > until:
                    self.server.kill()
                    raise
                time.sleep(0.3)

    def rows(self, text):
        self.cursor.execute(text)
        names = [one[0] for one in self.cursor.description]
        return names, self.cursor.fetchall()

    def close(self):
        self.cursor.close()
        self.connection.close()
        self.server.terminate()
        self.server.wait()


def statements(path):
    """Each statement with the comment above it."""
    for part in Path(path).read_text().split(";\n\n"):
        lines = part.strip().splitlines()
        comment = [line[3:] for line in lines if line.startswith("-- ")]
        text = "\n".join(line for line in lines if not line.startswith("-- "))
        if text:
            yield " ".join(comment), text


def date(day):
    return (datetime.date(1970, 1, 1) + datetime.timedelta(days=day)).isoformat()


def in_order(rows):
    return sorted(rows, key=lambda row: [(cell is not None, 0 if cell is None else cell) for cell in row])


def differ(what, one, other):
    """Says where two lists of rows differ."""
    one, other = in_order(one), in_order(other)
    if one == other:
        return False
    left, right = [row for row in one if row not in set(other)], set(other) - set(one)
    print(f"{what}: {len(one)} and {len(other)} rows, such as {left[:2]} and {sorted(right, key=str)[:2]}")
    return True


def usage(engine, script, points, history, account, region):
    import brute

    reader = DuckDb()
    _, rows = reader.rows(
        f"select instance, gpu, metric, ts, value from read_parquet('{points}/*.parquet')"
    )
    expected = brute.tables(rows, account, region, date)
    found, bad = {table: [] for table in TABLES}, False
    columns = {}
    for comment, text in statements(script):
        names, result = engine.rows(text)
        if comment.startswith("Check first"):
            checks = [dict(zip(names, row)) for row in result]
            if "unplaced" in names:
                bad |= differ(
                    "rows", [(len(rows), 0)],
                    [(sum(one["n"] for one in checks), sum(one["unplaced"] for one in checks))],
                )
            elif "crowded" in names:
                bad |= differ("crowded periods", [(0,)], [(checks[0]["crowded"],)])
            else:
                key = [row[:4] for row in rows if row[4] is not None and row[2] in brute.KNOWN]
                twice = len(key) - len(set(key))
                own = [(one["duplicates"] or 0, one["conflicts"] or 0) for one in checks]
                bad |= differ("duplicates", [(twice, 0)], own)
            continue
        table = comment.split(":")[0]
        if table in found:
            columns[table] = names
            found[table] += [tuple(row) for row in result]
    for table in TABLES:
        names, kept = reader.rows(
            f"select * exclude (dt), cast(dt as varchar) as dt from "
            f"read_parquet('{history}/v1/{table}/*/*.parquet', hive_partitioning = true)"
        )
        bad |= differ(f"columns of {table}", [tuple(names)], [tuple(columns[table])])
        bad |= differ(f"{table} and gpucost", [tuple(row) for row in kept], found[table])
        bad |= differ(f"{table} and brute.py", expected[table], found[table])
        if not kept:
            print(f"{table} is empty")
            bad = True
        print(f"compared {len(kept)} rows of {table}", file=sys.stderr)
    return bad


def bill(engine, script, source):
    import csv

    reader = DuckDb()
    folder = Path(script).parent
    reader.rows(
        f"copy (select * from read_csv('{source}', all_varchar = true, nullstr = 'NULL')) "
        f"to '{folder}/bill.parquet' (format parquet)"
    )
    with open(source, newline="") as text:
        lines = list(csv.DictReader(text))
    bad = False
    for comment, text in statements(script):
        names, rows = engine.rows(text)
        rows = [dict(zip(names, row)) for row in rows]
        if comment.startswith("Check first"):
            bad |= differ("lines", [(len(lines), len(lines))], [(rows[0]["n"], rows[0]["counted"])])
            continue
        bad |= differ("lines", [(len(lines),)], [(sum(row["n"] for row in rows),)])
        for own, name in [
            ("list_cost", "ListCost"),
            ("contracted_cost", "ContractedCost"),
            ("effective_cost", "EffectiveCost"),
            ("billed_cost", "BilledCost"),
        ]:
            # Prices of credits and taxes compare with nothing.
            is_price = own in ("list_cost", "contracted_cost")
            counted = [
                line[name]
                for line in lines
                if not (is_price and line["ChargeCategory"] in ("Credit", "Adjustment", "Tax"))
            ]
            exact = sum(decimal.Decimal(text) for text in counted if text != "NULL")
            added = sum(row[own] for row in rows if row[own] is not None)
            bad |= differ(own, [(exact,)], [(added,)])
    return bad


def run(engine, script):
    """Runs statements that write files, after their checks."""
    bad = False
    for _, text in statements(script):
        names, rows = engine.rows(text)
        checks = [dict(zip(names, row)) for row in rows]
        wrong = [one for one in checks if one.get("unplaced") or one.get("crowded")]
        if wrong:
            print(f"a check failed: {wrong[:2]}")
            bad = True
    return bad


def main():
    engine, what, *rest = sys.argv[1:]
    engine = {"duckdb": DuckDb, "sail": Sail}[engine]()
    try:
        bad = {"usage": usage, "bill": bill, "run": run}[what](engine, *rest)
    finally:
        engine.close()
    sys.exit(int(bad))


if __name__ == "__main__":
    main()
