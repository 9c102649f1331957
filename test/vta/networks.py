# SPDX-License-Identifier: MIT
"""Networks of the zoo, quantized with dnncc's own --quantize, as programs of the machine: what they take, beside the bars.

    build/venv/bin/python test/vta/networks.py [--run] [--keep=DIR] [NAMES]

Weights are random, ranges are those of two inputs of the zoo. Prints a row for each network: cycles, the share in which the array
multiplies, instructions, micro-ops in its memory at a time, bytes read and written, launches, the share of products on the machine, and
processor seconds of `dnncc --emit=loops`; then cycles of the layers that a bar is for (residual adds and pools between them included), the
bar, and their bytes and instructions. --run holds every launch to the interpreter's bits, for two orders of its stages; without it the
programs are only timed (--emit=program runs the interpreter in both cases).
"""
import argparse
import dataclasses
import os
import pathlib
import re
import resource
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
from vta_tool import dnncc, vta  # noqa: E402
import zoo  # noqa: E402
from zoo import graph  # noqa: E402
from zoo.layers import classify, convolve_norm, relu6  # noqa: E402


def mobilenet_v1(g):
    """MobileNet (Howard et al. 2017), 1.0, 224"""
    x = convolve_norm(g, g.inputs["image"], "stem", 32, 3, 2, act=relu6)
    for number, (out, stride) in enumerate(((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1))):
        with g.scope(f"block{number}"):
            x = convolve_norm(g, x, "depthwise", x.shape[1], 3, stride, groups=x.shape[1], act=relu6)
            x = convolve_norm(g, x, "pointwise", out, 1, act=relu6)
    classify(g, x)


@dataclasses.dataclass(frozen=True)
class Network:
    """bars: cycles of all of it; of the layers from `begin` on (0: the first, 1: the one behind it) to the last before the average, and
    their bytes and instructions"""
    part: int
    begin: int
    whole: int | None = None
    bytes: int | None = None            # ... but for what residual adds read
    instructions: int | None = None
    added: int = 0                      # ... which is so many


NETWORKS = {"resnet18": Network(7_450_000, 1, 9_100_000, 18_000_000, 8_000, 2 * (200_704 + 100_352 + 50_176 + 25_088)), "resnet50": Network(20_200_000, 1),
            "mobilenet_v1": Network(5_700_000, 0), "mobilenet_v2": Network(5_400_000, 0)}
TAIL = 2                                # buffers that the average and the classifier write


def model(name, folder):
    if name in zoo.MODELS:
        return zoo.build(name), [zoo.inputs(name, seed)["image"] for seed in (100, 101)]
    image = zoo.picture(224)[0]
    samples = [image.sample(np.random.default_rng(seed)) for seed in (0, 100, 101)]
    g = graph.Graph(name, {"image": samples[0]}, 13)
    mobilenet_v1(g)
    path = folder / f"{name}.onnx"
    g.save(path, None)
    return path, samples[1:]


def quantized(name, folder):
    """options of dnncc, and the model"""
    path, samples = model(name, folder)
    ranges = folder / f"{name}.ranges"
    if not ranges.exists():
        np.savez(folder / f"{name}.npz", image=np.concatenate(samples))
        done = dnncc.run([dnncc.DNNCC, path, f"--calibrate={folder / name}.npz", "-o", ranges])
        assert done.returncode == 0, done.stderr
    return [path, "--target=vta", "-q", f"--quantize={ranges}", "--activations=s8", "--quantize-port", "logits=s8,0.1,0"]


def number(text, what):
    return int(re.search(rf"^{what} +([0-9]+)", text, re.M)[1])


@dataclasses.dataclass
class Figures:
    cycles: int = 0
    steps: int = 0
    instructions: int = 0
    micro_ops: int = 0
    read: int = 0
    written: int = 0
    launches: int = 0
    share: float = 0
    seconds: float = 0
    part: tuple = (0, 0, 0)             # cycles, bytes and instructions of the layers that a bar is for


def compiled(command, out, emit):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = dnncc.run([dnncc.DNNCC, *command, f"--emit={emit}", "-o", out])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stderr


def programs(out):
    """the exchange files of a network's launches, in their order"""
    files = [out]
    while (more := out.with_name(f"{out.stem}_{len(files) + 1}.vta")).exists():
        files.append(more)
    return files


def part_of(file, begin):
    """Cycles, bytes and instructions of the layers that store to the launch's buffers from number `begin` on, but for the last two: from
    the last store of the layer before them to their own last one."""
    rows = re.findall(r"^ +(\d+) +\w+ +(\d+) +(\d+)  (\S+) (.*)$", vta("cycles", file, "--each"), re.M)
    layers, size = {}, {"load.inp": 16, "load.wgt": 256, "load.acc": 64, "load.uop": 4, "store.out": 16}
    for number, _, end, word, fields in rows:
        if word == "store.out" and (name := re.search(r"dram=@(\w+)", fields)):
            layers[name[1]] = (int(number), int(end))
    ends = list(layers.values())
    first, last = ends[begin - 1] if begin else (-1, 0), ends[-1 - TAIL]
    moved = 0
    for number, _, _, word, fields in rows:
        if first[0] < int(number) <= last[0] and word in size and (extent := re.search(r"size=(\d+),(\d+)", fields)):
            moved += int(extent[1]) * int(extent[2]) * size[word]
    return last[1] - first[1], moved, last[0] - first[0]


def figures(name, folder, run=False, options=()):
    command, f = [*quantized(name, folder), *options], Figures()
    loops = folder / f"{name}.loops"
    f.seconds, _ = compiled(command, loops, "loops")
    text = loops.read_text()
    flops = {kind: sum(float(n) for n in re.findall(rf"^{kind} @.*? flops (\d+)", text, re.M)) for kind in ("stream", "kernel")}
    f.share = flops["stream"] / (flops["stream"] + flops["kernel"])
    for old in folder.glob(f"{name}*.vta"):
        os.remove(old)
    compiled(command, folder / f"{name}.vta", "program")
    f.part = part_of(folder / f"{name}.vta", NETWORKS[name].begin)
    for file in programs(folder / f"{name}.vta"):
        said = vta("cycles", file)
        f.launches += 1
        f.cycles += number(said, "cycles")
        f.steps += int(re.search(r"^product +\d+ +(\d+)", said, re.M)[1])
        f.instructions += number(said, "instructions")
        f.micro_ops = max(f.micro_ops, number(said, "micro-ops"))
        f.read += number(said, "bytes read")
        f.written += number(said, "bytes written")
        vta("check", file)
        for seed, poison in ((1, 0), (7, 170)) if run else ():
            vta("run", file, f"--seed={seed}", f"--poison={poison}")
    return f


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NETWORKS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        print(f"{'network':14} {'cycles':>11} {'array':>6} {'instr.':>7} {'places':>6} {'read':>11} {'written':>10} {'launches':>8} "
              f"{'products':>8} {'s':>5} {'layers':>11} {'bar':>11} {'bytes':>11} {'instr.':>7}", flush=True)
        for name in options.names or NETWORKS:
            f = figures(name, folder, options.run)
            print(f"{name:14} {f.cycles:11,} {f.steps / f.cycles:6.1%} {f.instructions:7,} {f.micro_ops:6,} {f.read:11,} {f.written:10,} "
                  f"{f.launches:8} {f.share:8.2%} {f.seconds:5.1f} {f.part[0]:11,} {NETWORKS[name].part:11,} {f.part[1]:11,} {f.part[2]:7,}",
                  flush=True)


if __name__ == "__main__":
    main()
