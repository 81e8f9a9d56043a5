"""Prints what run.sh measured as tables for docs/BENCHMARKS.md."""

import json
import pathlib
import sys

folder, runs = pathlib.Path(sys.argv[1]), sys.argv[2:]
number = lambda value: f"{value:,}"
table = lambda cells: print("| " + " | ".join(cells) + " |")
duration = lambda seconds: f"{seconds:,.1f} s"
counts = {run: json.loads((folder / f"{run}.endpoint").read_text()) for run in runs}
reports = {run: json.loads((folder / f"{run}.json").read_text() or "{}") for run in runs}

table(["run", "calls", "points", "throttled", "wall", "CPU", "peak memory", "endpoint's CPU"])
table(["---"] * 8)
for run in runs:
    count, report = counts[run], reports[run]
    last = (folder / f"{run}.time").read_text().splitlines()[-1]
    wall, user, system, kib = map(float, last.split())
    calls, points = sum(count["calls"].values()), count["points"]
    name = f"`--resolution {run}`" if run in ("auto", "full") else run
    if run == "sequential":
        read = report["measured"]["instances"]
        name = f"boto3, one call after the other, metrics of {read} instances"
    cells = [number(calls), number(points), number(sum(count["throttled"].values()))]
    cells += [duration(wall), duration(user + system), f"{kib / 1024:,.0f} MiB"]
    table([name, *cells, duration(count["cpu_seconds"])])
    if whole := report.get("extrapolated"):
        cells = [number(whole["calls"]), number(whole["points"]), "—", duration(whole["seconds"])]
        table(["the same of all instances, extrapolated", *cells, "—", "—", "—"])
print()
table(["operation", *runs])
table(["---"] * (1 + len(runs)))
for name in sorted({name for count in counts.values() for name in count["calls"]}):
    table([f"`{name}`", *(number(counts[run]["calls"].get(name, 0)) for run in runs)])
print()
for run in runs:
    report = reports[run]
    if "summary" in report:
        seen, gaps = report["summary"], report["gaps"]
        print(f"{run}: {seen['instances']} instances, {seen['gpus']} GPUs; GPUs by class: ", end="")
        print({name: one["gpus"] for name, one in seen["by_classification"].items()})
        print(f"{run}: gaps: {[gap['what'] + ' ' + gap['where'] for gap in gaps][:5]}")
audits = [report for report in reports.values() if "summary" in report]
if len(audits) > 1:
    same = all(one["summary"] == audits[0]["summary"] for one in audits)
    print(f"The summaries of the audits are {'equal' if same else 'NOT equal'}.")
