"""Runs the statements of `gpucost history sql` on an engine, and says what they cost.

    measure.py duckdb SQL        of `--copy-to`, which writes the tables itself
    measure.py sail SQL OUT      writes the rows to OUT/TABLE/dt=DAY

One line at the end: seconds, CPU seconds and the peak memory of the engine, and rows that were
written here. It ends with 1 where a check of the statements failed.
"""

import os
import sys
import time

import compare


def of_process(pid):
    """CPU seconds and peak MiB of a process so far."""
    with open(f"/proc/{pid}/stat") as text:
        fields = text.read().rsplit(")", 1)[1].split()
    ticks = int(fields[11]) + int(fields[12])
    with open(f"/proc/{pid}/status") as text:
        peak = next(line.split()[1] for line in text if line.startswith("VmHWM:"))
    return ticks / os.sysconf("SC_CLK_TCK"), int(peak) / 1024


def keep(cursor, text, folder, number):
    """Writes the rows of a statement by day, under its number; how many."""
    import pyarrow.dataset as dataset

    cursor.execute(text)
    rows = 0

    def counted(reader):
        nonlocal rows
        for batch in reader:
            rows += batch.num_rows
            yield batch

    reader = cursor.fetch_record_batch()
    dataset.write_dataset(
        counted(reader),
        folder,
        schema=reader.schema,
        format="parquet",
        partitioning=["dt"],
        partitioning_flavor="hive",
        basename_template=f"{number}-{{i}}.parquet",
        max_rows_per_file=1 << 20,
        max_rows_per_group=1 << 16,
        existing_data_behavior="overwrite_or_ignore",
    )
    return rows


def main():
    name, script, *rest = sys.argv[1:]
    engine = {"duckdb": compare.DuckDb, "sail": compare.Sail}[name]()
    pid = os.getpid() if name == "duckdb" else engine.server.pid
    begun, bad, rows = time.monotonic(), False, 0
    try:
        for number, (comment, text) in enumerate(compare.statements(script)):
            if rest and not comment.startswith("Check first"):
                table = comment.split(":")[0]
                rows += keep(engine.cursor, text, f"{rest[0]}/{table}", number)
                continue
            names, found = engine.rows(text)
            if comment.startswith("Check first"):
                checks = [dict(zip(names, row)) for row in found]
                bad |= any(one.get("unplaced") or one.get("crowded") for one in checks)
        seconds = time.monotonic() - begun
        cpu_seconds, peak_mib = of_process(pid)
    finally:
        engine.close()
    print(f"{name}: {seconds:.1f} s, {cpu_seconds:.1f} CPU-s, {peak_mib:,.0f} MiB, {rows:,} rows")
    sys.exit(int(bad))


main()
