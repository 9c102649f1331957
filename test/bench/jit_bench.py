#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What --jit costs beside a C compiler (docs/measurements/jit.md): processor seconds, dnncc's own included, from the command to the first output, and
how long a run takes.

    make bench-jit BENCH_FLAGS="--rounds=5 --threads=2 model.onnx:x86-64-v4 .."

Of each number the least of so many rounds is taken, all ways in turn, so that what else the machine does is in none of them, or in all. A run's time
is the 5 % of --bench."""
import argparse
import os
import pathlib
import re
import resource
import subprocess
import sys

WAYS = {"--jit": ["--jit"], "--jit=fast": ["--jit=fast"], "gcc -O2": ["--cc=gcc -O2"]}
UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


def seconds(command):
    """of processor time, of the command and what it starts"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={k: v for k, v in os.environ.items() if k != "CC"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def milliseconds(command):
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    number, unit = re.search(r"p5 ([\d.]+) (\w+)", said).groups()
    return float(number) * UNITS[unit]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL:TARGET")
    parser.add_argument("--dnncc", default="build/dnncc")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    print("| model | target | " + " | ".join(f"{way}: first output, s | run, ms" for way in WAYS) + " | run of --jit to gcc's |")
    print("| --- | --- |" + " ---: |" * (2 * len(WAYS) + 1))
    for text in options.models:
        model, _, target = text.rpartition(":")
        command = [options.dnncc, model, f"--target={target}", f"--threads={options.threads}", "-q"]
        first, run = dict.fromkeys(WAYS, float("inf")), dict.fromkeys(WAYS, float("inf"))
        for _ in range(options.rounds):
            for way, words in WAYS.items():
                first[way] = min(first[way], seconds([*command, "--run=random", *words]))
                run[way] = min(run[way], milliseconds([*command, "--bench=1", *words]))
        name = pathlib.Path(model)
        cells = [f"{first[way]:.2f} | {run[way]:.3f}" for way in WAYS]
        print(f"| {name.parent.name if name.stem == 'model' else name.stem} | {target} | {' | '.join(cells)} | {run['--jit'] / run['gcc -O2']:.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
