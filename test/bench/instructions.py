# SPDX-License-Identifier: MIT
"""How many instructions generated code takes on machines that are emulated: exact, and the same again each time.

    instructions.py                                        # models of ../shared/models on all such targets
    instructions.py --models=resnet8_fp32 --target=aarch64 --kernels
    instructions.py --before=old/dnncc                     # as a ratio to another build's
    instructions.py --target=aarch64 --cc='clang --target=aarch64-linux-gnu -isystem /usr/aarch64-linux-gnu/include'

One inference is half of what test/host.c runs, in the functions of the model alone (instructions.c, a plugin of QEMU). Products are the model's
multiply-adds, as --report has them: products an instruction, to be held against what a multiply does (4 for fma of 4 lanes, 16 for sdot)."""
import argparse
import collections
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402

MODELS = pathlib.Path(os.environ.get("DNNCC_MODELS", ROOT.parent / "shared" / "models"))
SMALL = ["resnet8_fp32", "resnet8_int8", "dscnn_kws_int8", "micro_kws_fp32", "micro_kws_qdq", "mnist_cnn"]
RUNS = 2                                # of test/host.c


def build_plugin(folder):
    plugin = folder / "instructions.so"
    source = pathlib.Path(__file__).with_name("instructions.c")
    subprocess.run(["gcc", "-std=gnu11", "-O2", "-fPIC", "-shared", "-o", plugin, source], check=True)
    return plugin


def bindings(model):
    shapes = model.with_name("shapes.txt")
    lines = [line.rsplit(None, 2) for line in shapes.read_text().splitlines()] if shapes.exists() else []
    return [f"--input={name}={shape}" for name, _, shape in lines if shape != "scalar"]


def write_inputs(program, folder):
    """small numbers that repeat: what is counted does not depend on them, but for branches of rare cases"""
    folder.mkdir()
    for k, port in enumerate(p for p in dnncc.describe(program) if p[0]):
        kind, count = np.dtype(dnncc.numpy_type(port[2])), int(np.prod(port[3], dtype=int))
        numbers = np.arange(count)
        (folder / f"{k}.bin").write_bytes((numbers % 7 / 8 if kind.kind == "f" else numbers % 2).astype(kind).tobytes())     # rows that any table has


def counted(folder, emulator, plugin):
    """{function: instructions} of one inference of folder/model.c"""
    dnncc.build_host(folder, ["-O2"], emulator=emulator)
    program, given, results = folder / "host", folder / "in", folder / "out"
    write_inputs(program, given)
    results.mkdir()
    command = [emulator.run[0], "-plugin", plugin, "-d", "plugin", "-D", folder / "counts.txt", *emulator.run[1:], folder / "host.emulated", given, results]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"the emulated program ended with {done.returncode}: {done.stderr[-1000:]}")
    own = {line.split()[-1] for line in subprocess.run(["nm", "--defined-only", folder / "model.o"], capture_output=True, text=True, check=True).stdout.splitlines()
           if line.split()[-2] in "tT"}
    counts = collections.Counter()
    for line in (folder / "counts.txt").read_text().splitlines():
        count, name = line.split(" ", 1)
        if name in own and "describe" not in name:
            counts[re.sub(r"\.\w+\.\d+$", "", name)] += int(count) // RUNS       # with its clones
    return counts


def measure(compiler, model, target, plugin, precision="f32", cc=None):
    """(instructions, products, [(instructions, kernel, products)])"""
    emulator = processor.emulator(target)
    emulator = dataclasses.replace(emulator, cc=cc) if cc else emulator
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subprocess.run([compiler, model, f"--target={target}", f"--precision={precision}", *bindings(model), "-q", "-o", folder / "model.c", f"--report={folder / 'r.json'}"], check=True)
        report = json.loads((folder / "r.json").read_text())
        counts = counted(folder, emulator, plugin)
    flops = collections.Counter()
    for call in report["calls"]:
        flops[call["kernel"]] += call["flops"]
    kernels = sorted(((n, name, flops.get(name, 0) / 2) for name, n in counts.items()), reverse=True)
    return sum(counts.values()), report["flops"] / 2, kernels


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--models", default=",".join(SMALL), help="names, or .onnx files")
    p.add_argument("--target", default="aarch64,aarch64-dotprod")
    p.add_argument("--dnncc", default=ROOT / "build" / "dnncc")
    p.add_argument("--before", metavar="DNNCC", help="another build")
    p.add_argument("--precision", default="f32")
    p.add_argument("--cc", help="another compiler for that machine, with its flags")
    p.add_argument("--kernels", action="store_true", help="a line for each kernel, too")
    o = p.parse_args()
    print("| model | target | instructions | products an instruction |" + (" of before's |" if o.before else ""))
    print("| --- | --- | ---: | ---: |" + (" ---: |" if o.before else ""))
    with tempfile.TemporaryDirectory() as folder:
        plugin = build_plugin(pathlib.Path(folder))
        for name in o.models.split(","):
            model = pathlib.Path(name) if name.endswith(".onnx") else MODELS / name / "model.onnx"
            for target in o.target.split(","):
                count, products, kernels = measure(o.dnncc, model, target, plugin, o.precision, o.cc)
                more = f" {count / measure(o.before, model, target, plugin, o.precision, o.cc)[0]:.2f} |" if o.before else ""
                print(f"| {name} | {target} | {count / 1e6:.3f} M | {products / count:.2f} |{more}", flush=True)
                for n, kernel, of_kernel in kernels if o.kernels else []:
                    print(f"    {n:12d} {of_kernel / n:6.2f}  {kernel}", flush=True)


if __name__ == "__main__":
    main()
