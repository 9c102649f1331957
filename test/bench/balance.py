# SPDX-License-Identifier: MIT
"""balance.py NAME [OPTIONS OF DNNCC]: what N threads could take at best, and which kernels keep them from it.

The tasks of a parallel loop run one after another on one thread, each timed (CPU time, so a busy machine does not matter): the longest
is what the loop takes on threads that do not disturb each other. Beside it stands the program without threads. What is not in here:
hand-offs (half a microsecond each), and memory that threads share."""
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import subjects

THREADS, ROUNDS, SHOWN, CALLS = 2, 7, 12, 20000
HOOK = """#include <time.h>
static double last, parts, longest;
double total[20000], part[20000], most[20000];
static double now(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return 1e6 * t.tv_sec + 1e-3 * t.tv_nsec; }
void dnncc_profile(int k)
{
        double t = now();
        if (k >= 0) { total[k] = t - last; part[k] = parts; most[k] = longest; }
        parts = longest = 0;
        last = now();
}
void dnncc_parallel(void (*task)(void *, int, int), void *arg, int count)
{
        double most = 0;
        for (int i = 0; i < count; i++) {
                double t = now();
                task(arg, i, count);
                t = now() - t;
                parts += t;
                most = t > most ? t : most;
        }
        longest += most;
}
"""


def aligned(size):
    memory = np.zeros(size + (1 << 21), np.uint8)
    first = -memory.ctypes.data % (1 << 21)
    return memory[first:first + size]


class Program:
    """compiled for so many threads; times: of each run, rows total, part, most of all kernels"""

    def __init__(self, subject, threads, options, folder):
        dnncc = os.environ.get("DNNCC", subjects.ROOT / "build" / "dnncc")
        c, library = folder / f"m{threads}.c", folder / f"m{threads}.so"
        (folder / "hook.c").write_text(HOOK)
        subprocess.run([dnncc, subject.path, "-o", c, "--name=m", "--target=native", "--weights=file", "--profile", f"--threads={threads}",
                        f"--report={folder}/m{threads}.json", *options], check=True)
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", c, folder / "hook.c", "-o", library], check=True)
        report = json.loads((folder / f"m{threads}.json").read_text())
        weights = np.fromfile(folder / f"m{threads}.weights", np.uint8)
        self.calls, self.times, self.library = report["calls"], [], ctypes.CDLL(str(library), mode=os.RTLD_LOCAL)
        self.memory = [aligned(max(64, report["workspace"])), aligned(weights.size), *[np.ascontiguousarray(a) for _, a in subject.inputs],
                       *[aligned(b["bytes"]) for b in report["buffers"] if b["space"] == "output"]]
        self.memory[1][:] = weights
        self.arrays = [(ctypes.c_double * CALLS).in_dll(self.library, name) for name in ("total", "part", "most")]

    def run(self):
        status = self.library.m_run(*[ctypes.c_void_p(m.ctypes.data) for m in self.memory])
        assert status == 0, status
        self.times.append([a[:len(self.calls)] for a in self.arrays])

    def medians(self):
        return np.median(np.array(self.times[1:]), 0)


def main():
    name, *options = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subject = {name: make for models in subjects.SETS.values() for name, make in models().items()}[name](subjects.ROOT / "build" / "bench")
        one, several = programs = [Program(subject, threads, options, folder) for threads in (1, THREADS)]
        for _ in range(ROUNDS):
            for program in programs:
                program.run()
    alone, (total, part, most) = one.medians()[0], several.medians()
    best = total - part + most
    print(f"{name}: {alone.sum():.0f} us on one thread; on {THREADS}: work {total.sum():.0f}, of it on one thread {np.sum(total - part):.0f}, "
          f"longest tasks {most.sum():.0f}: at best {best.sum() / alone.sum():.3f} of the time")
    for k in np.argsort(total / THREADS - best)[:SHOWN]:
        call = several.calls[k]
        print(f"{best[k] - total[k] / THREADS:8.1f} us lost: work {total[k]:8.1f}, on one thread {total[k] - part[k]:6.1f}, longest {most[k]:8.1f}  "
              f"{call['kernel']}: {call['summary'][:90]}; {call.get('schedule', '')[:60]}")


if __name__ == "__main__":
    main()
