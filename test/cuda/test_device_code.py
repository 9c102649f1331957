# SPDX-License-Identifier: MIT
"""What generated kernels say in a device's words: subscripts of 32 bits, instructions for functions of the library."""
import pathlib
import re
import sys

import onnx
import pytest
from onnx import TensorProto as T, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cuda  # noqa: E402
import dnncc  # noqa: E402


def compiled(folder, nodes, inputs, output, options=(), target="cuda-sm_90"):
    values = [helper.make_tensor_value_info(*v) for v in inputs]
    graph = helper.make_graph(nodes, "g", values, [helper.make_tensor_value_info(*output)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), folder / "m.onnx")
    return cuda.compile_model(folder / "m.onnx", folder, options, target=target)


def kernel(text):
    name, = cuda.kernels(text)
    return re.search(rf"\b{name}\([^{{]*\)\n\{{\n(.*?)^\}}$", text, re.MULTILINE | re.DOTALL)[1]


@pytest.mark.parametrize("rows, narrow", [(16, True), (32768, True), (32769, False), (65535, False)])
def test_subscripts(rows, narrow, tmp_path):
    """of 32 bits where all of a kernel's fit"""
    path = compiled(tmp_path, [helper.make_node("Not", ["x"], ["y"])], [("x", T.BOOL, [rows, 65536])], ("y", T.BOOL, [rows, 65536]))
    body = kernel(path.read_text())
    assert ("const int block = blockIdx.x" in body) == narrow and ("ptrdiff_t" in body) == (not narrow), body


def test_subscripts_from_data(tmp_path):
    """a row that an input chooses: nothing is known of the number before it is checked"""
    path = compiled(tmp_path, [helper.make_node("Gather", ["x", "i"], ["y"])], [("x", T.FLOAT, [8, 64]), ("i", T.INT64, [5])], ("y", T.FLOAT, [5, 64]))
    assert "int64_t" in kernel(path.read_text()) or "ptrdiff_t" in kernel(path.read_text())


MAIN = r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
static uint32_t __float_as_uint(float x) { uint32_t bits; memcpy(&bits, &x, 4); return bits; }
static float __uint_as_float(uint32_t bits) { float x; memcpy(&x, &bits, 4); return x; }
#define bits_u32 __float_as_uint
#define bits_f32 __uint_as_float
#define __fmul_rn(a, b) ((a) * (b))
#define __fadd_rn(a, b) ((a) + (b))
static uint16_t to_half(float x) { _Float16 h = (_Float16)x; uint16_t bits; memcpy(&bits, &h, 2); return x != x ? 0x7fff : bits; }
static float from_half(uint16_t bits) { _Float16 h; memcpy(&h, &bits, 2); float x = (float)h; return x != x ? __uint_as_float(0x7fffffff) : x; }
FUNCTIONS
int main(void)
{
        for (uint32_t i = 0; i < 65536; i++)
                if (__float_as_uint(device_f16_to_f32(i)) != __float_as_uint(f16_to_f32(i)))
                        return printf("f16 %x\n", (unsigned)i), 1;
        for (uint64_t i = 0; i < (uint64_t)1 << 32; i += 509) {
                float x = __uint_as_float((uint32_t)i);
                if (device_f32_to_f16(x) != f32_to_f16(x))
                        return printf("f32 %x\n", (unsigned)i), 1;
        }
        return 0;
}
"""


def test_halves(tmp_path):
    """The instructions with a compiler's conversions in their place, that know no NaN but one, as a GPU's: the formulas' bits."""
    path = compiled(tmp_path, [helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Exp", ["a"], ["y"])], [("x", T.FLOAT16, [64])], ("y", T.FLOAT16, [64]))
    functions = ""
    for name, instruction, c in (("f16_to_f32", r"cvt\.f32\.f16", "x = from_half((uint16_t)bits);"), ("f32_to_f16", r"cvt\.rn\.f16x2\.f32", "half = to_half(x);")):
        text = re.sub(r"#if __CUDA_ARCH__ < 800\n.*?#else[^\n]*\n(.*?)#endif\n", r"\1", path.read_text(), flags=re.DOTALL)
        device, formula = re.search(rf"#ifndef CUDA_CPU\n(static __device__ inline \w+ {name}\(.*?)#else\n(.*?)#endif\n", text, re.DOTALL).groups()
        device, count = re.subn(rf'asm\("{instruction} %0, %1[^;]*;"[^;]*;', c, device)
        assert count == 1
        functions += device.replace(name, f"device_{name}") + formula
    (tmp_path / "main.c").write_text(MAIN.replace("FUNCTIONS", functions.replace("__device__ ", "")))
    built = dnncc.run(["gcc", "-O2", "-o", tmp_path / "main", tmp_path / "main.c"])
    if built.returncode and "_Float16" in built.stderr:
        pytest.skip("no _Float16 here")
    assert built.returncode == 0, built.stderr
    done = dnncc.run([tmp_path / "main"])
    assert done.returncode == 0, done.stdout


def test_nvcc(tmp_path):
    if not cuda.nvcc():
        pytest.skip("no nvcc: make cuda")
    path = compiled(tmp_path, [helper.make_node("Exp", ["x"], ["y"])], [("x", T.FLOAT16, [64])], ("y", T.FLOAT16, [64]), target="cuda-sm_80")
    (of,) = cuda.ptxas(path, "sm_80", tmp_path / "k.o").values()
    assert of["spilled"] == 0 and of["stack"] == 0
