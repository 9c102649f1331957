# SPDX-License-Identifier: MIT
"""docs/adding-a-target.md is true: its file and its line, in a copy of the tree, are a new target; so are the least table of vectors, the
target with a printer of its own, and the one for another processor, whose code runs here under qemu."""
import os
import pathlib
import re
import shutil
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor as support  # noqa: E402
import quantized  # noqa: E402

ROOMS = ["base", "ir", "cost", "schedule", "kernels", "passes", "engines", "codegen", "front", "compiler", "runtime"]
PAGE = (dnncc.ROOT / "docs" / "adding-a-target.md").read_text()
DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"


def blocks():
    """the indented texts of the page, as they are"""
    for block in re.findall(r"(?:^    .*\n|^\n)+", PAGE, re.M):
        if block.strip():
            yield re.sub(r"^    ", "", block, flags=re.M).strip() + "\n"


NAME = re.search(r"codegen/targets/(\w+)\.c", PAGE)[1]
CODE, LINE = list(blocks())[:2]
PRINTER = next(block for block in blocks() if "struct printer" in block)
CORE = next(block for block in blocks() if "target_cortex_a78 = {" in block)
GPU = next(block for block in blocks() if "struct gpu" in block)
ARM, ARM_LINE = next(pair for pair in zip(blocks(), list(blocks())[1:]) if "<arm_neon.h>" in pair[0])
ARM_NAME, ARM_FLAGS = re.search(r"codegen/targets/(arm\w+)\.c", PAGE)[1], ["-O2", *re.findall(r"`(-march=\S+)`", PAGE)]

# what the page asks of a table at least, in GNU C of any machine: no attribute, no header, no row that may be missing
VECTORS = """#include "codegen/c_spelling.h"

extern const struct target target_generic, target_vectors;

#define ROW(operation, e, ...) { .op = operation, .element = E_##e, .text = __VA_ARGS__ }
#define LEAST(e, suffix, c) \\
        ROW(CAN_TYPE, e, "v4" suffix), \\
        ROW(LOOP_SPLAT, e, "splat_" suffix "($0)", \\
            "v4" suffix " splat_" suffix "(" c " a)\\n{\\n        return (v4" suffix "){ a, a, a, a };\\n}"), \\
        ROW(LOOP_RAMP, e, "(v4" suffix "){ $0 }"), \\
        ROW(LOOP_LOAD, e, "load_" suffix "($0)", \\
            "v4" suffix " load_" suffix "(const void *p)\\n{\\n        v4" suffix " a;\\n        __builtin_memcpy(&a, p, 16);\\n" \\
            "        return a;\\n}"), \\
        ROW(CAN_STORE, e, "store_" suffix "($0, $1)", \\
            "void store_" suffix "(void *p, v4" suffix " a)\\n{\\n        __builtin_memcpy(p, &a, 16);\\n}")

static const struct c_spelling spellings[] = { LEAST(F32, "f32", "float"), LEAST(I32, "i32", "int"), { .op = CAN_END } };

const struct target target_vectors = {
        .name = "vectors",
        .doc = "vectors of GNU C",
        .base = &target_generic,
        .engine = &engine_vector,
        .machine = "defined(__GNUC__)",
        .vector_bytes = 16,
        .vector_registers = 16,
        C_SPELLINGS(spellings),
};
"""
TYPES = "".join(f"typedef {c} v4{e} __attribute__((vector_size(16)));\n" for e, c in (("f32", "float"), ("i32", "int")))


EMULATOR = support.emulator("aarch64")


def processor():
    """vendor, family, model of this processor, as the page writes them; None where there is no such thing"""
    cpu = pathlib.Path("/proc/cpuinfo")
    facts = dict(re.findall(r"^(vendor_id|cpu family|model)\s*: (.*)$", cpu.read_text(), re.M)) if cpu.exists() else {}
    return '"{vendor_id}", {cpu family}, {model}, {model}'.format(**facts) if len(facts) == 3 else None


def make(folder):
    done = dnncc.run(["make", "-C", folder, "B=build", "CFLAGS=-O0", "all"], timeout=1200)
    assert done.returncode == 0 and "warning" not in done.stderr, done.stderr[-3000:]


def native(program):
    return re.search(r"^ *native .*: (\S+)$", dnncc.run([program, "--target=help"]).stdout, re.M)[1]


IMAGE = np.random.default_rng(1).random((1, 1, 8, 8)).astype(np.float32)


def results(program, target, folder, types=""):
    folder.mkdir()
    done = dnncc.run([program, DIGITS, f"--target={target}", "--name=model", "-o", folder / "model.c"])
    assert done.returncode == 0, done.stderr
    (folder / "model.c").write_text(types + (folder / "model.c").read_text())
    return dnncc.run_host(dnncc.build_host(folder), [IMAGE])[0]


def build_with(tree, *targets):
    """a copy of the tree with (name, code, line of the table above) more; its dnncc"""
    for room in ROOMS:
        shutil.copytree(dnncc.ROOT / room, tree / room)
    shutil.copy(dnncc.ROOT / "Makefile", tree)
    built = pathlib.Path(dnncc.DNNCC).parent      # what is compiled already need not be again
    if (built / "obj").is_dir():
        shutil.copytree(built / "obj", tree / "build" / "obj")
        for made in (*built.glob("*.pb-c.*"), *built.glob("*.inc")):       # an object is older than none of them
            shutil.copy2(made, tree / "build")
    table = tree / "codegen" / "targets.def"
    for name, code, above in targets:
        (tree / "codegen" / "targets" / f"{name}.c").write_text(code)
        table.write_text(table.read_text().replace(f"TARGET({above})\n", f"TARGET({above})\nTARGET({name})\n"))
    os.utime(tree / "codegen" / "targets.c")
    make(tree)
    return tree / "build" / "dnncc"


@pytest.mark.skipif(not shutil.which("make"), reason="no make")
@pytest.mark.slow
def test_a_file_and_a_line(tmp_path):
    assert f"target_{NAME} = {{" in CODE and LINE == f"TARGET({NAME})\n"
    program = build_with(tmp_path, (NAME, CODE, "x86_64_v4"), ("calls", PRINTER, "sapphirerapids"), ("vectors", VECTORS, "sapphirerapids"),
                         ("l4", GPU, "cuda_sm_80"), ("cortex_a78", CORE, "cortex_a76"))
    source = tmp_path / "codegen" / "targets" / f"{NAME}.c"
    assert NAME in dnncc.run([program, "--target=help"]).stdout
    for target in (NAME, f"x86-64,{NAME}"):
        done = dnncc.run([program, DIGITS, f"--target={target}", "-o", tmp_path / "digits.c"])
        assert done.returncode == 0, done.stderr
        done = dnncc.run(["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-c", tmp_path / "digits.c", "-o", tmp_path / "digits.o"])
        assert done.returncode == 0, done.stderr

    # a core: a file of rates
    assert len(CORE.splitlines()) <= 20 and "`TARGET(cortex_a78)` behind `TARGET(cortex_a76)`" in PAGE
    assert "cortex-a78" in dnncc.run([program, "--target=help"]).stdout
    if support.has("aarch64"):
        for target in ("cortex-a78", "aarch64,cortex-a78"):
            (tmp_path / target).mkdir()
            done = dnncc.run([program, DIGITS, f"--target={target}", "--name=model", "-o", tmp_path / target / "model.c"])
            assert done.returncode == 0, done.stderr
            got = dnncc.run_host(dnncc.build_host(tmp_path / target, ["-O1"], emulator=EMULATOR), [IMAGE])[0]
            np.testing.assert_allclose(got, results(program, "generic", tmp_path / f"generic-{target}"), rtol=1e-5, atol=1e-6)

    # another language
    def compiled(target, name, *options):
        return dnncc.run([program, DIGITS, f"--target={target}", "-o", tmp_path / name, *options])
    assert compiled("generic", "digits.loops", "--emit=loops").returncode == 0
    assert compiled("calls", "digits.calls").returncode == 0
    assert (tmp_path / "digits.calls").read_text().split() == re.findall(r"^ *call @(\w+)", (tmp_path / "digits.loops").read_text(), re.M)
    for target, name, why in (("calls", "digits.c", "the output is a listing: its name must end in .calls"),
                              ("generic,calls", "digits.c", "different languages")):
        done = compiled(target, name)
        assert done.returncode == 1 and why in done.stderr, done.stderr

    # a GPU
    assert compiled("l4", "digits.cu").returncode == 0
    assert "major * 10 + minor < 89" in (tmp_path / "digits.cu").read_text()

    # a table without attribute, header and ZERO; neither it nor another's processor is native
    want = results(program, "generic", tmp_path / "generic")
    for target in ("vectors", "generic,vectors"):
        got = results(program, target, tmp_path / target, TYPES)
        text = (tmp_path / target / "model.c").read_text()
        assert "load_f32" in text and "(null)" not in text and "__attribute__((target" not in text
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    ours = processor()
    if native(dnncc.DNNCC) == "x86-64-v4":
        assert native(program) == (NAME if f"{{ {ours} }}" in CODE else "x86-64-v4")
        source.write_text(re.sub(r'\{ "GenuineIntel", 6, 106, 106 \}', f"{{ {ours} }}", CODE))
        make(tmp_path)
        assert native(program) == NAME
    else:
        assert native(program) == native(dnncc.DNNCC)


# ---- another processor ----

def save(path, nodes, inputs, outputs, constants):
    def ports(of):
        return [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(t)), shape) for name, t, shape in of]
    graph = helper.make_graph(nodes, "g", ports(inputs), ports(outputs), [numpy_helper.from_array(np.asarray(c), n) for n, c in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


def quantized_model(path, r):
    """u8 -> 3 x 3 -> u8 -> a dense layer -> i8, with zero points and tails everywhere; what it computes"""
    w, v = (r.integers(-127, 128, shape).astype(np.int8) for shape in ((22, 13, 3, 3), (22, 10)))
    bias, scales = r.integers(-4000, 4000, 22).astype(np.int32), r.uniform(0.001, 0.004, 22).astype(np.float32)
    sx, sy, sv, sz = (np.float32(s) for s in (0.02, 0.35, 0.003, 0.15))
    zx, zy, zz = np.uint8(131), np.uint8(7), np.int8(-5)
    constants = {"w": w, "v": v, "bias": bias, "sx": sx, "sw": scales, "sb": sx * scales, "sy": sy, "sv": sv, "sz": sz, "zx": zx, "zy": zy,
                 "zz": zz, "zw": np.zeros(22, np.int8), "zb": np.zeros(22, np.int32), "zv": np.int8(0), "axes": np.array([2, 3])}
    node = helper.make_node
    save(path, [node("DequantizeLinear", ["x", "sx", "zx"], ["fx"]), node("DequantizeLinear", ["w", "sw", "zw"], ["fw"], axis=0),
                node("DequantizeLinear", ["bias", "sb", "zb"], ["fb"], axis=0), node("Conv", ["fx", "fw", "fb"], ["c"], pads=[1, 1, 1, 1]),
                node("Relu", ["c"], ["a"]), node("QuantizeLinear", ["a", "sy", "zy"], ["q"]),
                node("DequantizeLinear", ["q", "sy", "zy"], ["q32"]), node("GlobalMaxPool", ["q32"], ["most"]),
                node("Squeeze", ["most", "axes"], ["row"]),
                node("QuantizeLinear", ["row", "sy", "zy"], ["row8"]), node("DequantizeLinear", ["row8", "sy", "zy"], ["row32"]),
                node("DequantizeLinear", ["v", "sv", "zv"], ["fv"]), node("MatMul", ["row32", "fv"], ["d"]),
                node("QuantizeLinear", ["d", "sz", "zz"], ["z"]), node("ConvInteger", ["x", "w", "zx"], ["sums"])],
         [("x", np.uint8, (1, 13, 9, 7))], [("q", np.uint8, (1, 22, 9, 7)), ("z", np.int8, (1, 10)), ("sums", np.int32, (1, 22, 7, 5))], constants)

    def compute(x):
        exact = quantized.wide(x, zx)
        sums = quantized.convolve(exact, quantized.wide(w, None), (1, 1), (1, 1), (1, 1, 1, 1), 1) + bias.reshape(22, 1, 1)
        q = quantized.requantize(sums, (sx * scales / sy).reshape(22, 1, 1), zy, np.uint8, low=0)
        z = quantized.requantize(quantized.wide(q.max((2, 3)), zy) @ quantized.wide(v, None), sy * sv / sz, zz, np.int8)
        return q, z, quantized.convolve(exact, quantized.wide(w, None), (1, 1), (1, 1), (0, 0, 0, 0), 1)
    return compute


@support.needs("aarch64")
@pytest.mark.slow
def test_another_processor(tmp_path):
    assert ARM_LINE == f"TARGET({ARM_NAME})\n"
    program, r = build_with(tmp_path / "tree", (ARM_NAME, ARM, "generic")), np.random.default_rng(12)
    target = re.search(r'\.name = "(arm[^"]+)",', ARM)[1]

    def run(model, *inputs):
        folder = tmp_path / model.stem
        folder.mkdir()
        done = dnncc.run([program, model, f"--target={target}", "--name=model", "-o", folder / "model.c"])
        assert done.returncode == 0, done.stderr
        return dnncc.run_host(dnncc.build_host(folder, ARM_FLAGS, emulator=EMULATOR), inputs), (folder / "model.c").read_text()

    got, code = run(DIGITS, IMAGE)
    np.testing.assert_allclose(got[0], results(program, "generic", tmp_path / "generic"), rtol=1e-5, atol=1e-6)
    assert "vfmaq_f32(" in code

    compute = quantized_model(tmp_path / "bytes.onnx", r)
    x = quantized.numbers(r, (1, 13, 9, 7), np.uint8)
    got, code = run(tmp_path / "bytes.onnx", x)
    for ours, exact in zip(got, compute(x), strict=True):
        np.testing.assert_array_equal(ours, exact)
    assert "vdotq_s32(" in code


# ---- lanes by element: 16 of bytes, 8 of halves, 4 of words ----

HERE = pathlib.Path(__file__).resolve().parent
INTEGERS = [np.int8, np.uint8, np.int16, np.uint16]


def random_program(path, r, shape, steps):
    """operations on integers of one and two bytes, and what they compute, as {name: (elements, function)}"""
    values = [(f"x{i}", t, None) for i, t in enumerate(INTEGERS * 2)]
    nodes, constants, results, inputs = [], {}, {}, {name: (t, shape) for name, t, _ in values}

    def constant(value):
        constants[f"c{len(constants)}"] = value
        return f"c{len(constants) - 1}"

    def add(kind, names, t, compute, **attributes):
        name = f"v{len(results)}"
        nodes.append(helper.make_node(kind, names, [name], **attributes))
        results[name] = (t, compute)
        values.append((name, t, compute))

    def pick(t):
        return r.choice([name for name, of, _ in values if of == t])

    for _ in range(steps):
        t = INTEGERS[r.integers(len(INTEGERS))]
        a, b, kind = pick(t), pick(t), r.integers(10)
        if kind < 3:
            op, f = [("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply)][kind]
            add(op, [a, b], t, lambda v, a=a, b=b, f=f: f(v[a], v[b]))
        elif kind == 3:
            f, op = [(np.maximum, "Max"), (np.minimum, "Min")][r.integers(2)]
            add(op, [a, b], t, lambda v, a=a, b=b, f=f: f(v[a], v[b]))
        elif kind == 4:
            low, high = np.sort(r.integers(np.iinfo(t).min, np.iinfo(t).max + 1, 2)).astype(t)
            add("Clip", [a, constant(low), constant(high)], t, lambda v, a=a, low=low, high=high: np.clip(v[a], low, high))
        elif kind == 5:
            op, f = [("BitwiseAnd", np.bitwise_and), ("BitwiseOr", np.bitwise_or), ("BitwiseXor", np.bitwise_xor)][r.integers(3)]
            add(op, [a, b], t, lambda v, a=a, b=b, f=f: f(v[a], v[b]))
        elif kind == 6:
            add("BitwiseNot", [a], t, lambda v, a=a: ~v[a])
        elif kind < 9:                        # a choice by a comparison of another type
            u, op, f = INTEGERS[r.integers(len(INTEGERS))], *[("Less", np.less), ("GreaterOrEqual", np.greater_equal), ("Equal", np.equal)][r.integers(3)]
            p, q = pick(u), pick(u)
            add(op, [p, q], bool, lambda v, p=p, q=q, f=f: f(v[p], v[q]))
            c = values[-1][0]
            add("Where", [c, a, b], t, lambda v, c=c, a=a, b=b: np.where(v[c], v[a], v[b]))
        else:
            u = INTEGERS[r.integers(len(INTEGERS))]
            p = pick(u)
            add("Cast", [p], t, lambda v, p=p, t=t: v[p].astype(t), to=helper.np_dtype_to_tensor_dtype(np.dtype(t)))
    last = list(results)[-12:]
    graph = helper.make_graph(nodes, "g", *([helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.dtype(t)), shape) for n, t in of]
                                            for of in ([(n, t) for n, (t, _) in inputs.items()], [(n, results[n][0]) for n in last])),
                              [numpy_helper.from_array(np.asarray(c), n) for n, c in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), str(path))

    def compute(arrays):
        v = dict(zip(inputs, arrays, strict=True))
        for name, (_, f) in results.items():
            v[name] = f(v)
        return [v[name] for name in last]
    return [(shape, t) for t, shape in inputs.values()], compute


def moves_model(path):
    """bytes that are moved and pooled, halves"""
    node = helper.make_node
    save(path, [node("Transpose", ["x"], ["t"], perm=[0, 2, 3, 1]), node("MaxPool", ["x"], ["p"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
                node("Pad", ["x", "around"], ["b"]), node("Concat", ["x", "z"], ["c"], axis=1),
                node("Mul", ["h", "k"], ["hk"]), node("Add", ["hk", "h"], ["s"]), node("Relu", ["s"], ["a"]), node("Div", ["a", "k"], ["d"])],
         [("x", np.int8, (1, 16, 33, 35)), ("z", np.int8, (1, 16, 33, 35)), ("h", np.float16, (3, 97)), ("k", np.float16, (3, 97))],
         [("t", np.int8, (1, 33, 35, 16)), ("p", np.int8, (1, 16, 33, 35)), ("b", np.int8, (1, 16, 35, 37)), ("c", np.int8, (1, 32, 33, 35)),
          ("d", np.float16, (3, 97))], {"around": np.array([0, 0, 1, 1, 0, 0, 1, 1])})


@pytest.mark.long
@pytest.mark.slow
def test_lanes_of_bytes(tmp_path):
    """a core of 16 lanes of bytes is the file bytes16.c; its code is GNU C, so it runs here"""
    core, r = (HERE / "bytes16.c").read_text(), np.random.default_rng(36)
    slow = core.replace('e, "(" type ")((" wraps ")($0) + (" wraps ")($1))")', 'e, "(" type ")((" wraps ")($0) + (" wraps ")($1))", .cycles = 90)')
    assert slow != core
    program = build_with(tmp_path / "tree", ("bytes16", core, "generic"), ("slow16", slow.replace("bytes16", "slow16").replace("slow16.h", "bytes16.h"), "generic"))

    def run(model, target, *inputs):
        folder = tmp_path / f"{model.parent.name}-{model.stem}-{target}"
        folder.mkdir()
        done = dnncc.run([program, model, f"--target={target}", "--name=model", "-o", folder / "model.c"])
        assert done.returncode == 0, done.stderr
        shutil.copy(HERE / "bytes16.h", folder)
        return dnncc.run_host(dnncc.build_host(folder, ["-O1"]), inputs), (folder / "model.c").read_text()

    for number, (shape, steps) in enumerate([((1000,), 12), ((3, 45), 40), ((7, 16), 40), ((5,), 20)]):
        model = tmp_path / f"random{number}.onnx"
        ports, compute = random_program(model, r, shape, steps)
        inputs = [quantized.numbers(r, of, t) for of, t in ports]
        got, code = run(model, "bytes16", *inputs)
        for ours, exact in zip(got, compute(inputs), strict=True):
            np.testing.assert_array_equal(ours, exact)
        assert steps < 40 or re.search(r"\bi8x16 \w+ =|\bu8x16 \w+ =|i16x8 \w+ =", code)

    moves_model(tmp_path / "moves.onnx")
    inputs = [*(quantized.numbers(r, (1, 16, 33, 35), np.int8) for _ in range(2)), *(r.normal(0, 3, (3, 97)).astype(np.float16) for _ in range(2))]
    got, code = run(tmp_path / "moves.onnx", "bytes16", *inputs)
    for ours, exact in zip(got, run(tmp_path / "moves.onnx", "generic", *inputs)[0], strict=True):
        np.testing.assert_array_equal(ours, exact)
    assert all(name in code for name in ("max_i8x16(", "__builtin_shuffle(", "(h16x8)"))

    compute = quantized_model(tmp_path / "bytes.onnx", r)
    x = quantized.numbers(r, (1, 13, 9, 7), np.uint8)
    got, code = run(tmp_path / "bytes.onnx", "bytes16", x)
    for ours, exact in zip(got, compute(x), strict=True):
        np.testing.assert_array_equal(ours, exact)
    assert "dot_i8x16(" in code

    # what its rows say of cost is what it is chosen by
    save(tmp_path / "sum.onnx", [helper.make_node("Add", ["x", "y"], ["z"])], [("x", np.int8, (64,)), ("y", np.int8, (64,))], [("z", np.int8, (64,))], {})
    inputs = [quantized.numbers(r, (64,), np.int8) for _ in range(2)]
    for target, fast in (("bytes16", True), ("slow16", False)):
        got, code = run(tmp_path / "sum.onnx", target, *inputs)
        np.testing.assert_array_equal(got[0], inputs[0] + inputs[1])
        assert ("i8x16" in code.split("KERNEL")[-1]) == fast

    for name in ("resnet8_int8", "dscnn_kws_int8"):
        model = pathlib.Path(os.environ.get("DNNCC_MODELS", dnncc.ROOT.parent / "shared" / "models")) / name / "model.onnx"
        if model.exists():
            port = onnx.load(model).graph.input[0]
            x = quantized.numbers(r, [d.dim_value for d in port.type.tensor_type.shape.dim], np.int8)
            got, want = (run(model, target, x)[0] for target in ("bytes16", "generic"))
            np.testing.assert_array_equal(got[0], want[0])
