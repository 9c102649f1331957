# SPDX-License-Identifier: MIT
"""Every kernel of a network while the network runs, against what the machine can do in the same process in the same seconds."""
import json
import math
import re

from engines import Engine, Gate

SHAPE = re.compile(r"<([^>]*)>")


def shape(text):
    return [int(d) for d in text.split(" x ") if d.isdigit()]


def kind(summary):
    """what a summary of the report is about: "3x3 s1", "strided", "depthwise", "gemm", ..."""
    word = summary.split(" ", 1)[0]
    shapes = [shape(s) for s in SHAPE.findall(summary)]
    if word in ("dot", "dot_blocks"):
        return "gemm"
    if word == "convolve_winograd":
        return "winograd"
    if word == "convolve_lanes":
        return "depthwise"
    if word not in ("convolve", "convolve_packed") or len(shapes) < 3:
        return "other"
    x, w, y = shapes[0], shapes[1], shapes[-1]
    window = w[2:] if word == "convolve" else w[2:-3]
    if word == "convolve" and w[1] == 1 and x[1] == w[0] > 1:
        return "depthwise"
    if not window:
        return "gemm"
    outer = zip(x[2:2 + len(window)], y[2:2 + len(window)])
    if any(after > 1 and before / after > 1.6 for before, after in outer):
        return "strided"
    return "x".join(map(str, window)) + " s1"


# Classes of contractions, and the share of the peak that each should reach while the network runs. Several in one kernel are
# "layer chains", whatever they are.
CLASSES = {"3x3 s1": 0.8, "1x1 s1": 0.7, "strided": 0.6, "7-wide": 0.6, "winograd": None, "products": None, "layer chains": None, "other": None}
DIRECT = "--limit=winograd_percent=0"     # the option that leaves Winograd's algorithm out


def layer_class(summary):
    """of CLASSES, or None: not bound by multiply-adds"""
    what = kind(summary)
    if what in ("depthwise", "other"):
        return None
    if summary.count("convolve") > 1:
        return "layer chains"
    if what in ("gemm", "winograd"):
        return "products" if what == "gemm" else "winograd"
    y = shape(SHAPE.findall(summary)[-1])
    wide = y[3 if summary.startswith("convolve_packed") and len(y) == 5 else -1]
    if what != "strided" and 1 < wide <= 7:
        return "7-wide"
    return what if what in CLASSES else "other"


def by_class(result):
    """{class: (calls, seconds, flops)}"""
    classes = {}
    for c in result["calls"]:
        name = layer_class(c["summary"])
        if name:
            count, seconds, flops = classes.get(name, (0, 0.0, 0))
            classes[name] = (count + 1, seconds + c["time"], flops + c["flops"])
    return classes


def measure(subject, threads, o, compiler):
    folder = compiler.compile(subject.path, o.target, threads, ["--profile", *o.options.split()])[0]
    report = json.loads((folder / "report.json").read_text())
    lanes = report["vector_bytes"] // 4 or 4
    footprint = report["constants"] + report["workspace"]
    given, results = subject.write_inputs(o.out / "io" / subject.name / "in"), o.out / "io" / subject.name / "layers"
    engine = Engine("dnncc", compiler.command(folder, given, results, o.cores[:threads], lanes, footprint))
    gate = Gate(o.patience)
    try:
        gate.wait()
        timed = engine.ask(f"layers {o.rounds * o.seconds} {o.clock}")
    finally:
        engine.close()
    calls = [{"kind": kind(c["summary"]), "time": t, "low": low, **c} for c, (t, low) in zip(report["calls"], timed.pop("calls"))]
    return {"threads": threads, "target": o.target, "options": o.options, "lanes": lanes, "footprint": footprint, "calls": calls,
            "gate_gave_up": gate.gave_up, **timed}


def by_kind(result):
    """[(kind, calls, seconds, flops)], longest first"""
    kinds = {}
    for c in result["calls"]:
        count, seconds, flops = kinds.get(c["kind"], (0, 0.0, 0))
        kinds[c["kind"]] = (count + 1, seconds + c["time"], flops + c["flops"])
    return sorted(((k, *v) for k, v in kinds.items()), key=lambda row: -row[2])


def rates(flops, seconds, result):
    """GFLOP/s, and the share of the peak; blank where nothing is computed"""
    if not flops or not seconds:
        return "", ""
    rate = 1e-9 * flops / seconds
    return f"{rate:.1f}", f"{100 * rate / result['peak']:.0f} %"


def summary(result):
    total = result["total"]
    weights = sum(c["constants"] for c in result["calls"])
    amid = f" ({result['amid']:.0f} amid the kernels)" if result.get("amid") else ""
    return (f"{1e3 * total:.3f} ms a run ({result['runs']} runs, {1e3 * sum(c['time'] for c in result['calls']):.3f} ms in kernels); "
            f"peak {result['peak']:.0f} GFLOP/s{amid} in vectors of {result['lanes']}, reading {result['footprint'] / 1e6:.1f} MB again and again "
            f"{result['read']:.1f} GB/s, weights are read at {1e-9 * weights / total:.1f} GB/s")


def text(name, result):
    """a table for the terminal; "low" is the time that a tenth of the runs is below: on a noisy machine the better figure"""
    total, rows = result["total"], []
    rows.append(f"{name}, {result['threads']} thread(s), {result['target']}: {summary(result)}")
    rows.append(f"{'ms':>9} {'low':>9} {'share':>6} {'GFLOP/s':>8} {'peak':>6} {'GB/s':>6}  kernel")
    for c in sorted(result["calls"], key=lambda c: -c["time"]):
        rate, share = rates(c["flops"], c["time"], result)
        bandwidth = 1e-9 * (c["read"] + c["written"]) / c["time"] if c["time"] else math.inf
        rows.append(f"{1e3 * c['time']:9.4f} {1e3 * c['low']:9.4f} {100 * c['time'] / total:5.1f}% {rate:>8} {share:>6} {bandwidth:6.1f}  "
                    f"{c['kernel']}: {c['summary']}; {c['schedule']}".rstrip("; "))
    rows.append("by kind:")
    for what, count, seconds, flops in by_kind(result):
        rate, share = rates(flops, seconds, result)
        rows.append(f"{1e3 * seconds:9.4f} {'':9} {100 * seconds / total:5.1f}% {rate:>8} {share:>6} {'':6}  {what} ({count})")
    return "\n".join(rows)
