# SPDX-License-Identifier: MIT
"""Schedules of a model's products, as a GPU measures the whole model: what stands between other kernels waits for its weights in memory, and for
its instructions, which the same kernel in a row (sweep.py) has at hand.

    sweep_model.py OUT.json MODEL [--count=12] [--alike=4] [--precision=f16] [--target=cuda-sm_90] [--architecture=sm_90] [--words="tile=.."]

Products of the same extents and schedule are alike, and get another one together; those that occur most often are tried. A line of OUT.json:
{"model", "channels", "outputs", "count", "words", "us"}; us: of a replay; the first line of each kind is as dnncc has it."""
import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import bench_cuda  # noqa: E402
import cuda  # noqa: E402
import dnncc  # noqa: E402
import sweep  # noqa: E402

PRODUCT = re.compile(r'convolve_packed\((?![^\n]*\bgroups=)[^\n]*? channels=(\d+) outputs=(\d+)[^\n]*?schedule="(tile=[^";]*)[^"]*"')


def alike(text):
    """[((channels, outputs, words), count)], the most frequent first"""
    return collections.Counter((m[1], m[2], m[3].strip()) for m in PRODUCT.finditer(text)).most_common()


def replaced(text, kind, words):
    def one(m):
        return m[0] if (m[1], m[2], m[3].strip()) != kind else m[0][:m.start(3) - m.start()] + words + '"'
    return PRODUCT.sub(one, text)


def tried(words, o):
    """as it is; with weights as runs; with other numbers of stages; others"""
    plain = re.sub(r" stages=\d+", "", words)
    stages = [w for w in (f"{plain} stages={n}" for n in (2, 3, 4, 5)) if int(words[5:].split()[0]) >= 16]
    return [words, *(o.words or [f"{words} bulk=1", *stages, *itertools.islice(sweep.schedules(words), o.count)])]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("out")
    p.add_argument("model")
    p.add_argument("--count", type=int, default=12)
    p.add_argument("--alike", type=int, default=4)
    p.add_argument("--precision", default="f16")
    p.add_argument("--words", action="append", help="such schedules, instead of random ones")
    p.add_argument("--target", default="cuda-sm_90")
    p.add_argument("--architecture", default="sm_90")
    p.add_argument("--replays", type=int, default=60)
    o = p.parse_args()
    with tempfile.TemporaryDirectory() as top, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        top = pathlib.Path(top)
        model = bench_cuda.model_path(o.model)
        options = [f"--target={o.target}", f"--precision={o.precision}", *bench_cuda.bindings(model)]
        dump = top / "model.dnn"
        done = dnncc.run([dnncc.DNNCC, model, *options, "--emit=ir", "-q", "-o", dump])
        if done.returncode:
            raise SystemExit(done.stderr)
        text, given = dump.read_text(), top / "given"
        given.mkdir()
        for k, a in enumerate(bench_cuda.inputs_of(o.model, model, bench_cuda.bindings(model))):
            (given / f"{k}.bin").write_bytes(np.ascontiguousarray(a).tobytes())

        def made(kind, count, words, number):
            folder = top / f"v{number}"
            folder.mkdir()
            path = top / f"v{number}.dnn"       # beside its constants
            path.write_text(replaced(text, kind, words))
            done = dnncc.run([dnncc.DNNCC, path, f"--target={o.target}", f"--precision={o.precision}", "-q", "--name=model", "--weights=incbin", "-o", folder / "model.cu"])
            path.unlink()
            if done.returncode:
                print(words, done.stderr[:300])
            return (kind, count, words, folder, bench_cuda.gpu_program(folder / "model.cu", o.architecture, folder)) if done.returncode == dnncc.OK else None
        jobs = [(kind, count, words) for kind, count in alike(text)[:o.alike] for words in tried(kind[2], o)]
        futures = [pool.submit(made, *job, number) for number, job in enumerate(jobs)]
        with open(o.out, "w") as out:
            for found in (f.result() for f in futures):
                if not found:
                    continue
                kind, count, words, folder, program = found
                results = folder / "out"
                results.mkdir()
                done = dnncc.run([program, "model", given, results, str(o.replays), str(1 << 20)], timeout=120)
                if done.returncode == 0:
                    out.write(json.dumps({"model": o.model, "channels": int(kind[0]), "outputs": int(kind[1]), "count": count, "words": words,
                                          "us": float(done.stdout.split()[0])}) + "\n")
                else:
                    print(words, done.stderr[:200])
                program.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
