# SPDX-License-Identifier: MIT
"""How many instructions XNNPACK takes for a network's convolutions and products with weights, under qemu: the anchors of docs/arm.md.

    mkdir -p lists/partial cache/archives/partial root
    o="-o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State::Lists=$PWD/lists -o Dir::Cache=$PWD/cache"
    apt-get $o update && apt-get $o download libxnnpack-dev libxnnpack0 libpthreadpool-dev libpthreadpool0 libcpuinfo0
    for package in *.deb; do dpkg-deb -x $package root; done
    xnnpack.py --root=root --models=resnet8_fp32,resnet8_int8 --cpu=cortex-a72,max

One turn is the difference between two runs, of one turn and of two; everything else that a network does (sums, pools, copies) is left out, to the
advantage of XNNPACK. --cpu=cortex-a72 has no dot product, max has."""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import onnx
from onnx import shape_inference

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from instructions import MODELS, SMALL, build_plugin  # noqa: E402


def shapes_of(model):
    found = {}
    graph = shape_inference.infer_shapes(model).graph
    for value in [*graph.input, *graph.value_info, *graph.output]:
        found[value.name] = [max(d.dim_value, 1) for d in value.type.tensor_type.shape.dim]
    found.update({t.name: list(t.dims) for t in model.graph.initializer})
    return found


def padding(node, attributes, x, window, stride):
    """top, right, bottom, left"""
    automatic = attributes.get("auto_pad", b"NOTSET").decode()
    if automatic.startswith("SAME"):
        total = [max((-(-n // stride) - 1) * stride + k - n, 0) for n, k in zip(x, window)]
        low = [t // 2 if automatic == "SAME_UPPER" else t - t // 2 for t in total]
        return low[0], total[1] - low[1], total[0] - low[0], low[1]
    top, left, bottom, right = attributes.get("pads", [0, 0, 0, 0])
    return top, right, bottom, left


def layers_of(path):
    """a line of xnnpack.c for each"""
    model, lines = onnx.load(path), []
    shapes = shapes_of(model)
    quantized = any(node.op_type.startswith(("Q", "DequantizeLinear")) for node in model.graph.node)
    kind = "qc8" if quantized else "f32"
    for node in model.graph.node:
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        if node.op_type in ("Conv", "QLinearConv"):
            x, w = shapes[node.input[0]], shapes[node.input[1 if node.op_type == "Conv" else 3]]
            if len(w) != 4:
                sys.exit(f"{node.name}: no convolution in two dimensions")
            stride, groups = attributes.get("strides", [1, 1])[0], attributes.get("group", 1)
            pads = padding(node, attributes, x[2:], w[2:], stride)
            lines.append([kind, x[2], x[3], x[1], w[0], w[2], w[3], stride, *pads, groups])
        elif node.op_type in ("Gemm", "MatMul") and len(shapes.get(node.input[1], [])) == 2:
            a, b = shapes[node.input[0]], shapes[node.input[1]]
            rows = int(onnx.numpy_helper.np.prod(a[:-1]))
            lines.append([kind, rows, 1, a[-1], b[0] if attributes.get("transB") else b[1], 1, 1, 1, 0, 0, 0, 0, 1])
    return "".join(" ".join(map(str, line)) + "\n" for line in lines), sum(products(line) for line in lines)


def products(line):
    _, height, width, channels, outputs, rows, columns, stride, top, right, bottom, left, groups = line
    return ((height + top + bottom - rows) // stride + 1) * ((width + left + right - columns) // stride + 1) * outputs * rows * columns * channels // groups


def counted(program, layers, turns, cpu, root, plugin, folder):
    lib = root / "usr" / "lib" / "aarch64-linux-gnu"
    done = subprocess.run(["qemu-aarch64", "-cpu", cpu, "-L", "/usr/aarch64-linux-gnu", "-E", f"LD_LIBRARY_PATH={lib}", "-plugin", plugin, "-d", "plugin",
                           "-D", folder / "counts.txt", program, str(turns)], input=layers, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"it ended with {done.returncode}: {done.stderr[-1000:]}")
    return sum(int(line.split(" ", 1)[0]) for line in (folder / "counts.txt").read_text().splitlines())


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--root", type=pathlib.Path, required=True, help="where the packages for arm64 are unpacked")
    p.add_argument("--models", default=",".join(SMALL), help="names, or .onnx files")
    p.add_argument("--cpu", default="cortex-a72,max", help="as qemu-aarch64 calls it")
    o = p.parse_args()
    print("| model | processor | instructions | products an instruction |\n| --- | --- | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        plugin, program, lib = build_plugin(folder), folder / "xnnpack", o.root / "usr" / "lib" / "aarch64-linux-gnu"
        subprocess.run(["aarch64-linux-gnu-gcc", "-O2", f"-I{o.root}/usr/include", pathlib.Path(__file__).with_name("xnnpack.c"), "-o", program,
                        f"-L{lib}", "-lXNNPACK", f"-Wl,-rpath-link,{lib}", "-Wl,--allow-shlib-undefined"], check=True)
        for name in o.models.split(","):
            layers, total = layers_of(pathlib.Path(name) if name.endswith(".onnx") else MODELS / name / "model.onnx")
            for cpu in o.cpu.split(","):
                one, two = (counted(program, layers, turns, cpu, o.root, plugin, folder) for turns in (1, 2))
                print(f"| {name} | {cpu} | {(two - one) / 1e6:.3f} M | {total / (two - one):.2f} |", flush=True)


if __name__ == "__main__":
    main()
