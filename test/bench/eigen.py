# SPDX-License-Identifier: MIT
"""How many instructions Eigen takes for plain products of floats on 64-bit ARM, under qemu, beside generated code: an anchor of docs/arm.md.

    apt-get install libeigen3-dev g++-aarch64-linux-gnu
    eigen.py --products=128x768x768,128x768x3072,128x3072x768

ROWSxINNERxCOLUMNS; weights are constants here, which are packed when code is generated, and an operand there. One turn is the difference
between runs of one and of two."""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import instructions  # noqa: E402


def write_product(path, rows, inner, columns):
    value, w = helper.make_tensor_value_info, np.random.default_rng(1).standard_normal((inner, columns)).astype(np.float32)
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [value("x", TensorProto.FLOAT, [rows, inner])],
                              [value("y", TensorProto.FLOAT, [rows, columns])], [numpy_helper.from_array(w, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def eigen(program, shape, plugin, folder):
    counts = []
    for turns in (1, 2):
        subprocess.run(["qemu-aarch64", "-plugin", plugin, "-d", "plugin", "-D", folder / "counts.txt", program, *map(str, shape), str(turns)],
                       check=True, stdout=subprocess.DEVNULL)
        counts.append(sum(int(line.split(" ", 1)[0]) for line in (folder / "counts.txt").read_text().splitlines()))
    return counts[1] - counts[0]


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--products", default="128x768x768,128x768x3072,128x3072x768,196x256x512")
    p.add_argument("--target", default="aarch64")
    p.add_argument("--dnncc", default=instructions.ROOT / "build" / "dnncc")
    o = p.parse_args()
    print(f"| product | `{o.target}` | products an instruction | Eigen | products an instruction | of it |\n| --- |" + " ---: |" * 5)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        plugin, program, model = instructions.build_plugin(folder), folder / "eigen", folder / "product.onnx"
        subprocess.run(["aarch64-linux-gnu-g++", "-O3", "-DNDEBUG", "-static", "-I/usr/include/eigen3", pathlib.Path(__file__).with_name("eigen.cpp"), "-o", program], check=True)
        for text in o.products.split(","):
            shape = [int(n) for n in text.split("x")]
            write_product(model, *shape)
            ours, products, _ = instructions.measure(o.dnncc, model, o.target, plugin)
            theirs = eigen(program, shape, plugin, folder)
            print(f"| {text} | {ours / 1e6:.2f} M | {products / ours:.2f} | {theirs / 1e6:.2f} M | {products / theirs:.2f} | {ours / theirs:.2f} |", flush=True)


if __name__ == "__main__":
    main()
