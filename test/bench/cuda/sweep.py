# SPDX-License-Identifier: MIT
"""Products by blocks of warps, layer by layer under many schedules, as a GPU measures them; what engines/grid/warp_cost.c is fitted with.

    sweep.py OUT.json [--layers=a,b] [--count=14] [--target=cuda-sm_90] [--architecture=sm_90] [--made=FOLDER]

A line of OUT.json: {"layer", "words", "blocks", "threads", "shared", "us", "own"}; own: it is dnncc's choice. Weights are what the memory has.
With --made programs are put there and not run, or, where they are there already, only run: so they can be compiled where no GPU is."""
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

# channels, outputs, window, stride, size of the image, images: those of ResNet-50
CONVOLUTIONS = {"c7": (3, 64, 7, 2, 224, 1), "a1": (64, 64, 1, 1, 56, 1), "a3": (64, 64, 3, 1, 56, 1), "a4": (64, 256, 1, 1, 56, 1), "b1": (256, 64, 1, 1, 56, 1),
                "b3": (128, 128, 3, 1, 28, 1), "b4": (128, 512, 1, 1, 28, 1), "d1": (512, 128, 1, 1, 28, 1), "d3": (256, 256, 3, 1, 14, 1),
                "d4": (256, 1024, 1, 1, 14, 1), "e1": (1024, 256, 1, 1, 14, 1), "e3": (512, 512, 3, 1, 7, 1), "e4": (512, 2048, 1, 1, 7, 1), "f1": (2048, 512, 1, 1, 7, 1),
                "a3_32": (64, 64, 3, 1, 56, 32), "a4_32": (64, 256, 1, 1, 56, 32), "d3_32": (256, 256, 3, 1, 14, 32), "d4_32": (256, 1024, 1, 1, 14, 32)}
# rows, channels, outputs: those of BERT-base, of 128 tokens and 384, squares, single rows
PRODUCTS = {"q": (128, 768, 768), "p": (128, 768, 2304), "u": (128, 768, 3072), "v": (128, 3072, 768), "q_384": (384, 768, 768), "p_384": (384, 768, 2304),
            "u_384": (384, 768, 3072), "v_384": (384, 3072, 768), "m1": (1024, 1024, 1024), "m4": (4096, 4096, 4096), "r1": (1, 2048, 1000), "r2": (1, 768, 3072)}


def weights(*shape):
    return (np.random.default_rng(1).standard_normal(shape) / np.sqrt(np.prod(shape[1:] if len(shape) > 2 else shape[:1]))).astype(np.float32)


def model(name, path):
    if name in CONVOLUTIONS:
        channels, outputs, window, stride, size, images = CONVOLUTIONS[name]
        w, x, y = weights(outputs, channels, window, window), [images, channels, size, size], [images, outputs, size // stride, size // stride]
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
    every = [(tile, warps, panels, stages, depth, parts) for tile in (16, 32, 48, 64, 128, 256) for warps in (1, 2, 4, 8) for panels in (1, 2, 3, 4, 6, 8)
             for stages in (2, 3, 4, 5) for depth in (32, 64, 128) for parts in (1, 1, 2, 3, 4, 8)
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
    for words in [found[1].strip(), *(o.words or [f"{found[1].strip()} bulk=1", *schedules(name)])]:
        if len(made) >= o.count or tried >= 6 * o.count:
            break
        tried += 1
        path = folder / f"{name}_{len(made)}.dnn"
        path.write_text(text[:found.start()] + f'schedule="{words}"' + text[found.end():])
        source = path.with_suffix(".cu")
        done = dnncc.run([dnncc.DNNCC, path, *options, "-q", f"--name={path.stem}", "--weights=file", "-o", source])
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
    p.add_argument("--made", type=pathlib.Path)
    o = p.parse_args()
    with tempfile.TemporaryDirectory() as top:
        folder = o.made or pathlib.Path(top)
        if not (folder / "made.json").exists():
            folder.mkdir(parents=True, exist_ok=True)
            make(o, folder)
            if o.made:
                return 0
        run(o, folder)
    return 0


def make(o, folder):
    """folder/LAYER for each, and made.json: {LAYER: [(words, name, own)]}"""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool, tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        host = nvcc(o, scratch, scratch / "gpu_host.o", "-x", "cu", "-c", cuda.FOLDER / "gpu_host.cpp")

        def program(name):
            rows = variants(name, scratch, o)
            sources = [source for _, source, _ in rows]
            (scratch / f"{name}_table.cu").write_text(cuda.table(sources, loads=False))
            objects = [nvcc(o, scratch, source.with_suffix(".o"), "-c", source) for source in sources]
            nvcc(o, scratch, folder / name, *objects, scratch / f"{name}_table.cu", host)
            print(name, len(rows), flush=True)
            return [(words, source.stem, own) for words, source, own in rows]
        names = o.layers.split(",")
        (folder / "made.json").write_text(json.dumps(dict(zip(names, pool.map(program, names)))))


def run(o, folder):
    with open(o.out, "w") as out:
        for name, rows in json.loads((folder / "made.json").read_text()).items():
            done = dnncc.run([folder / name, "--kernels", "10"], timeout=60)
            if done.returncode:
                print(name, done.stderr[:300])
            times = {}
            for line in done.stdout.splitlines():
                of, kernel, blocks, threads, shared, us = line.split()
                times.setdefault(of, []).append((kernel, int(blocks), int(threads), int(shared), float(us)))
            for words, stem, own in rows:
                kernels = times.get(stem, [])
                products = [k for k in kernels if k[3]]         # with shared memory; what joins parts follows
                first = kernels.index(products[-1]) if products else 0
                if products:
                    out.write(json.dumps({"layer": name, "words": words, "blocks": products[-1][1], "threads": products[-1][2], "shared": products[-1][3],
                                          "us": products[-1][4], "join": sum(k[4] for k in kernels[first + 1:first + 2]) if "parts=" in words else 0, "own": own}) + "\n")


if __name__ == "__main__":
    sys.exit(main())
