#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fourier transforms of n complex elements beside numpy's pocketfft, in f32: microseconds of the fastest round, one thread.

    build/venv/bin/python test/bench/spectra.py --target=x86-64-v4 1:301 310:4097:37

Lengths are numbers or FROM:TO:STEP. pocketfft's time is the less of one call's, and its share of a call for many lines."""
import argparse
import ctypes
import pathlib
import subprocess
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper

HERE = pathlib.Path(__file__).resolve().parent
DRIVER = r"""
#include "model.h"
#include <stdlib.h>
#include <time.h>

double fastest(const float *x, float *y, int runs, int rounds)
{
        void *workspace = aligned_alloc(64, (MODEL_WORKSPACE_SIZE + 127) / 64 * 64);
        double least = 1e9;
        for (int round = 0; round < rounds; round++) {
                struct timespec a, b;
                clock_gettime(CLOCK_MONOTONIC, &a);
                for (int i = 0; i < runs; i++)
                        model_run(workspace, x, y);
                clock_gettime(CLOCK_MONOTONIC, &b);
                const double took = ((double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec)) / runs;
                least = took < least ? took : least;
        }
        free(workspace);
        return least;
}
"""


def save_model(n, path):
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, n, 2]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("DFT", ["x", "", "axis"], ["y"])], "spectrum", ports[:1], ports[1:], [helper.make_tensor("axis", TensorProto.INT64, [], [1])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)


def own_time(n, x, options):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        save_model(n, folder / "model.onnx")
        subprocess.run([options.dnncc, folder / "model.onnx", f"--target={options.target}", "--name=model", "-o", folder / "model.c"], check=True)
        (folder / "driver.c").write_text(DRIVER)
        subprocess.run(["gcc", "-O2", f"-march={options.march or options.target}", "-shared", "-fPIC", folder / "model.c", folder / "driver.c", "-o", folder / "model.so"], check=True)
        library, y = ctypes.CDLL(str(folder / "model.so")), np.zeros_like(x)
        library.fastest.restype = ctypes.c_double
        took = library.fastest(*(a.ctypes.data_as(ctypes.POINTER(ctypes.c_float)) for a in (x, y)), max(1, 20000 // n), 30)
    assert np.abs(y - np.fft.fft(x.astype(np.complex128))).max() <= 4e-7 * max(np.log2(n), 1) * np.abs(y).max()
    return took


def least(call, seconds):
    fastest, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        fastest = min(fastest, time.perf_counter() - start)
    return fastest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dnncc", default=str(HERE.parents[1] / "build" / "dnncc"))
    parser.add_argument("--target", default="x86-64-v4")
    parser.add_argument("--march", help="gcc's name of the target, where it is another")
    parser.add_argument("lengths", nargs="+", metavar="N")
    options = parser.parse_args()
    for n in [n for text in options.lengths for n in (range(*map(int, text.split(":"))) if ":" in text else [int(text)])]:
        x = (np.random.default_rng(n).standard_normal((n, 2)).astype(np.float32)).view(np.complex64)[:, 0].copy()
        lines = np.tile(x, (max(1, 100_000 // n), 1))
        own, peer = own_time(n, x, options), min(least(lambda: np.fft.fft(x), 0.03), least(lambda: np.fft.fft(lines), 0.05) / len(lines))
        print(f"{n} {1e6 * own:.3f} {1e6 * peer:.3f} {own / peer:.2f}", flush=True)


if __name__ == "__main__":
    main()
