"""What compiling a full-size ResNet-50 costs: time and peak memory of dnncc, then of gcc -O2 on what it wrote.

    make bench-compile
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from zoo import build

ROOT = pathlib.Path(__file__).resolve().parents[2]


def measure(command):
    """(seconds, peak resident MB) of a command"""
    start = time.monotonic()
    process = subprocess.Popen([str(c) for c in command])
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{command[0]} failed")
    return time.monotonic() - start, usage.ru_maxrss / 1024


def main():
    model = build("resnet50")
    size = model.stat().st_size / 1e6
    with tempfile.TemporaryDirectory() as folder:
        c = pathlib.Path(folder) / "model.c"
        runs = [measure([ROOT / "build" / "dnncc", model, "-o", c]) for _ in range(5)]
        seconds, memory = sorted(runs)[len(runs) // 2]
        print(f"dnncc:   {seconds:.2f} s (median of 5), {memory:.0f} MB for a model of {size:.0f} MB ({memory * 1.048576 / size:.2f}x)")
        seconds, memory = measure(["gcc", "-std=c99", "-O2", "-c", c, "-o", c.with_suffix(".o")])
        print(f"gcc -O2: {seconds:.1f} s, {memory:.0f} MB for {c.stat().st_size / 1e6:.0f} MB of C")


main()
