# SPDX-License-Identifier: MIT
"""Writes models of the zoo, all or those named, and prints what they are.

    build/venv/bin/python test/bench/zoo/zoo.py [--check] [NAMES]

--check runs each on inputs of another seed than it was calibrated on, and looks at every intermediate value.
"""
import argparse
import pathlib
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).resolve().parents[1])      # `zoo` is the package, not this file
from zoo import FOLDER, MODELS, build  # noqa: E402
from zoo.check import worst  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MODELS))
    options = parser.parse_args()
    if unknown := set(options.names) - set(MODELS):
        parser.error(f"no model {', '.join(sorted(unknown))}; there are {', '.join(MODELS)}")
    print(f"{'model':16} {'about':36} {'parameters':>11} {'GFLOP':>7} {'MB':>6} {'s':>6}")
    for name in options.names or MODELS:
        start, model = time.monotonic(), MODELS[name]
        path = build(name)
        size = path.stat().st_size + (FOLDER / model.weights).stat().st_size if model.weights else path.stat().st_size
        print(f"{name:16} {model.about:36} {model.parameters:11} {model.flops / 1e9:7.3f} {size / 1e6:6.1f} {time.monotonic() - start:6.1f}",
              flush=True)
        if options.check:
            print(f"{'':16} {worst(name, seed=1)}", flush=True)


main()
