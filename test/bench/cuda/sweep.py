# SPDX-License-Identifier: MIT
"""Products by blocks of warps, layer by layer under many schedules, as a GPU measures them; what cost/warps.c is fitted with.

    sweep.py OUT.json [--layers=a,b] [--count=14] [--target=cuda-sm_90] [--architecture=sm_90]

A line of OUT.json: {"layer", "words", "blocks", "threads", "shared", "us", "own"}; own: it is dnncc's choice."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto as T, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "test" / "support"))
import cuda  # noqa: E402
import dnncc  # noqa: E402

# channels, outputs, window, stride, size of the image: those of ResNet-50
CONVOLUTIONS = {"c7": (3, 64, 7, 2, 224), "a1": (64, 64, 1, 1, 56), "a3": (64, 64, 3, 1, 56), "a4": (64, 256, 1, 1, 56), "b1": (256, 64, 1, 1, 56),
                "b3": (128, 128, 3, 1, 28), "b4": (128, 512, 1, 1, 28), "d1": (512, 128, 1, 1, 28), "d3": (256, 256, 3, 1, 14),
                "d4": (256, 1024, 1, 1, 14), "e1": (1024, 256, 1, 1, 14), "e3": (512, 512, 3, 1, 7), "e4": (512, 2048, 1, 1, 7), "f1": (2048, 512, 1, 1, 7)}
# rows, channels, outputs: those of BERT-base, squares, single rows
PRODUCTS = {"q": (128, 768, 768), "u": (128, 768, 3072), "v": (128, 3072, 768), "m1": (1024, 1024, 1024), "m4": (4096, 4096, 4096),
            "r1": (1, 2048, 1000), "r2": (1, 768, 3072)}


def weights(*shape):
    return (np.random.default_rng(1).standard_normal(shape) / np.sqrt(np.prod(shape[1:] if len(shape) > 2 else shape[:1]))).astype(np.float32)


def model(name, path):
    if name in CONVOLUTIONS:
        channels, outputs, window, stride, size = CONVOLUTIONS[name]
        w, x, y = weights(outputs, channels, window, window), [1, channels, size, size], [1, outputs, size // stride, size // stride]
        node = helper.make_node("Conv", ["x", "w"], ["p"], kernel_shape=[window] * 2, strides=[stride] * 2, pads=[window // 2] * 4)
    else:
        rows, channels, outputs = PRODUCTS[name]
        w, x, y = weights(channels, outputs), [rows, channels], [rows, outputs]
        node = helper.make_node("MatMul", ["x", "w"], ["p"])
    graph = helper.make_graph([node, helper.make_node("Relu", ["p"], ["y"])], name, [helper.make_tensor_value_info("x", T.FLOAT, x)],
                              [helper.make_tensor_value_info("y", T.FLOAT, y)], [numpy_helper.from_array(w, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def schedules(seed):
    every = [(tile, warps, panels, stages, depth, parts) for tile in (16, 32, 48, 64, 128, 256) for warps in (1, 2, 4) for panels in (1, 2, 4, 8)
             for stages in (2, 3, 4, 5) for depth in (16, 32, 64) for parts in (1, 1, 2, 4, 8)
             if tile % (16 * warps) == 0 and tile // warps <= 64 and warps * panels <= 16]
    random.Random(seed).shuffle(every)
    for tile, warps, panels, stages, depth, parts in every:
        yield f"tile={tile} warps={warps} panels={panels} stages={stages} depth={depth}" + (f" parts={parts}" if parts > 1 else "")


def variants(name, folder, o):
    """[(words, path of .cu, own)]"""
    options = [f"--target={o.target}", "--precision=f16"]
    written = folder / f"{name}.dnn"
    done = dnncc.run([dnncc.DNNCC, model(name, folder / f"{name}.onnx"), *options, "--emit=ir", "-o", written])
    if done.returncode:
        raise SystemExit(done.stderr)
    text = written.read_text()
    found = re.search(r'schedule="(tile=[^";]*)[^"]*"', text)
    if not found:
        return []
    made, tried = [], 0
    for words in [found[1].strip(), *(o.words or [f"{found[1].strip()} runs=1", *schedules(name)])]:
        if len(made) >= o.count or tried >= 6 * o.count:
            break
        tried += 1
        path = folder / f"{name}_{len(made)}.dnn"
        path.write_text(text[:found.start()] + f'schedule="{words}"' + text[found.end():])
        source = path.with_suffix(".cu")
        done = dnncc.run([dnncc.DNNCC, path, *options, "-q", f"--name={path.stem}", "--weights=incbin", "-o", source])
        if done.returncode == dnncc.OK and all(w in " ".join(source.read_text().replace("* ", "").split()) for w in words.split()[:1]) and "multiply_" in source.read_text():
            made.append((words, source, not made))
    return made


def nvcc(o, folder, out, *arguments):
    done = dnncc.run([cuda.nvcc(), "-O2", f"-arch={o.architecture}", "-diag-suppress", "177", f"-I{cuda.FOLDER}", f"-I{folder}", *arguments, "-o", out], timeout=300, cwd=folder)
    if done.returncode:
        print(done.stderr[:500])
    return out


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("out")
    p.add_argument("--layers", default=",".join([*CONVOLUTIONS, *PRODUCTS]))
    p.add_argument("--count", type=int, default=14)
    p.add_argument("--words", action="append", help="such a schedule, instead of random ones")
    p.add_argument("--target", default="cuda-sm_90")
    p.add_argument("--architecture", default="sm_90")
    o = p.parse_args()
    with tempfile.TemporaryDirectory() as top, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = pathlib.Path(top)
        made = dict(zip(o.layers.split(","), pool.map(lambda name: variants(name, folder, o), o.layers.split(","))))
        every = [source for rows in made.values() for _, source, _ in rows]
        host = nvcc(o, folder, folder / "gpu_host.o", "-x", "cu", "-c", cuda.FOLDER / "gpu_host.cpp")
        list(pool.map(lambda source: nvcc(o, folder, source.with_suffix(".o"), "-c", source), every))

        def program(name):
            (folder / f"{name}_table.cu").write_text(cuda.table([source for _, source, _ in made[name]]))
            table = nvcc(o, folder, folder / f"{name}_table.o", "-c", folder / f"{name}_table.cu")
            return nvcc(o, folder, folder / name, *[source.with_suffix(".o") for _, source, _ in made[name]], table, host)
        programs = dict(zip(made, pool.map(program, made)))
        with open(o.out, "w") as out:
            for name, rows in made.items():
                done = dnncc.run([programs[name], "--kernels", "10"], timeout=60)
                if done.returncode:
                    print(name, done.stderr[:300])
                times = {}
                for line in done.stdout.splitlines():
                    of, kernel, blocks, threads, shared, us = line.split()
                    times.setdefault(of, []).append((kernel, int(blocks), int(threads), int(shared), float(us)))
                for words, source, own in rows:
                    kernels = times.get(source.stem, [])
                    products = [k for k in kernels if k[3]]         # with shared memory; what joins parts follows
                    first = kernels.index(products[-1]) if products else 0
                    if products:
                        out.write(json.dumps({"layer": name, "words": words, "blocks": products[-1][1], "threads": products[-1][2], "shared": products[-1][3],
                                              "us": products[-1][4], "join": sum(k[4] for k in kernels[first + 1:first + 2]) if "parts=" in words else 0, "own": own}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
