# SPDX-License-Identifier: Apache-2.0
"""The append alone, and `block` at full speed with the reader on the same cores: runs of append_bench."""
import json

from measure import BUILD, adopt_orphans, interval, progress, run, scratch, shown, table, trace_facts

KINDS = ["line", "instruction", "branch", "return", "start", "jump", "mixed"]


def append_bench(kind, events, *rest):
    cost = run([BUILD / "bin" / "append_bench", kind, int(events), *rest])
    return json.loads(cost.output) | {"reader_cpu": cost.reader_cpu}


def append(options):
    adopt_orphans()
    rows = []
    with scratch() as folder:
        trace = folder / "trace.kymo"
        runs = {kind: {"overwrite": [], "block": []} for kind in KINDS}
        for _ in range(options.pairs):
            for kind in KINDS:
                progress(f"append {kind}")
                runs[kind]["overwrite"].append(append_bench(kind, 1e8 * options.scale, "overwrite"))
                runs[kind]["block"].append(append_bench(kind, 1e8 * options.scale, "block", trace))
                # 2^16 events come before the clock starts
                assert trace_facts(trace)["events"] == runs[kind]["block"][-1]["recorded"]
        progress("")
    for kind in KINDS:
        block = runs[kind]["block"]
        rows.append({
            "kind": kind,
            "ns": interval(r["wall_ns"] / r["events"] for r in runs[kind]["overwrite"]),
            "block_ns": interval(r["wall_ns"] / r["events"] for r in block),
            "stalled_share": interval(r["stalled_ns"] / r["wall_ns"] for r in block),
            "longest_stall_ms": max(r["longest_stall_ns"] for r in block) / 1e6,
            "lost": sum(r["lost"] for r in block),
            "runs": runs[kind],
        })
    table("append alone", ["record", "ns, nobody reads", "ns, block", "stalled share", "longest stall, ms", "lost"],
          [[row["kind"], shown(row["ns"]), shown(row["block_ns"]), shown(row["stalled_share"], 3),
            f"{row['longest_stall_ms']:.2f}", row["lost"]] for row in rows])
    return rows
