# SPDX-License-Identifier: MIT
"""--weights: large constants inside the C file, beside it for the assembler, or handed to run."""
import ctypes
import hashlib
import os
import pathlib
import platform
import re
import shutil
import struct
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402

BESIDE = ("incbin", "file")
HEAD = struct.Struct("<8s3Q32s")
COMPILERS = [c for c in ("gcc", "clang") if shutil.which(c)]
ERROR_WEIGHTS = -5


@pytest.mark.parametrize("weights", BESIDE)
def test_names_of_the_file_itself(weights, tmp_path):
    """constants that have the names of its head, and of what lies between them"""
    nodes = [helper.make_node("Mul", ["x", "head"], ["t"]), helper.make_node("Add", ["t", "gap"], ["y"])]
    a, b = np.arange(99, dtype=np.float32), np.arange(99, dtype=np.float32)[::-1] * 3
    port = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [port("x", TensorProto.FLOAT, [99])], [port("y", TensorProto.FLOAT, [99])], [numpy_helper.from_array(a, "head"), numpy_helper.from_array(b, "gap")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), str(tmp_path / "net.onnx"))
    dnncc.compile_model(tmp_path / "net.onnx", tmp_path, [f"--weights={weights}"])
    x = np.ones(99, np.float32)
    assert np.array_equal(dnncc.run_host(dnncc.build_host(tmp_path), [x])[0], a + b)


def call(*arguments, **keywords):
    return dnncc.run([dnncc.DNNCC, *arguments], **keywords)


@pytest.fixture(scope="module")
def network():
    """constants of several types and of sizes that are no multiple of 64, one too small to travel, one of equal elements"""
    rng = np.random.default_rng(0)
    table = rng.integers(-9, 9, (40, 37), np.int64)
    kernel = rng.standard_normal((37, 51), np.float32)
    flags = rng.random((40, 125)) < 0.5
    constants = {"table": table, "kernel": kernel, "bias": rng.standard_normal(51, np.float32), "flags": flags,
                 "equal": np.full((40, 51), 0.75, np.float32)}
    nodes = [helper.make_node("Mod", ["x", "table"], ["m"]), helper.make_node("Cast", ["m"], ["f"], to=TensorProto.FLOAT),
             helper.make_node("MatMul", ["f", "kernel"], ["p"]), helper.make_node("Add", ["p", "bias"], ["q"]),
             helper.make_node("Mul", ["q", "equal"], ["y"]), helper.make_node("And", ["b", "flags"], ["z"])]
    port = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [port("x", TensorProto.INT64, [40, 37]), port("b", TensorProto.BOOL, [40, 125])],
                              [port("y", TensorProto.FLOAT, [40, 51]), port("z", TensorProto.BOOL, [40, 125])],
                              [numpy_helper.from_array(a, n) for n, a in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    given = [rng.integers(0, 99, (40, 37), np.int64), rng.random((40, 125)) < 0.5]
    return model.SerializeToString(), constants, given


@pytest.fixture
def model(network, tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(network[0])
    return path


def compiled(model, folder, *options):
    folder.mkdir(exist_ok=True)
    dnncc.compile_model(model, folder, options)
    return folder


def run_code(program, *before):
    """what run returned, and 0 after a run on zeros"""
    done = dnncc.run([program, *before, "--time", "1"])
    return int(done.stderr.split()[-1]) if done.returncode == 3 else done.returncode


# ---- the same results ----

@pytest.mark.parametrize("options", [[], ["-O0"], ["--unchecked"], ["--target=x86-64-v3"]], ids=" ".join)
@pytest.mark.sample(4)
def test_same_bits(network, model, tmp_path, options):
    if "--target=x86-64-v3" in options:
        processor.require("x86-64-v3")
    want = None
    for weights in ("inline", *BESIDE):
        folder = compiled(model, tmp_path / weights, f"--weights={weights}", *options)
        for cc, flags in zip(COMPILERS, (["-O2", "-fPIC"], dnncc.SANITIZE) if options else (dnncc.SANITIZE, ["-O2"])):
            got = dnncc.run_host(dnncc.build_host(folder, flags, cc), network[2])
            want = want or got
            assert all(np.array_equal(g, w) for g, w in zip(got, want, strict=True)), (weights, cc)
    compiled(model, tmp_path / "auto", *options)
    assert (tmp_path / "auto" / "model.c").read_text() == (tmp_path / "inline" / "model.c").read_text()
    assert not (tmp_path / "auto" / "model.weights").exists()


def test_addresses_of_one_section(tmp_path):
    """two constants of one section, read at steps whose ratio is a scale of an address: gcc 12 left the kernel out"""
    processor.require("x86-64-v4")
    rng, rows, inner, outputs = np.random.default_rng(0), 64, 64, 1000
    constants = {"w": rng.integers(0, 256, (outputs, inner // 32, 16), np.uint8), "s": rng.random(outputs * inner // 32, np.float32)}
    node = helper.make_node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=inner, N=outputs, bits=4, block_size=32)
    port = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, extent]) for name, extent in (("x", inner), ("y", outputs))]
    graph = helper.make_graph([node], "g", port[:1], port[1:], [numpy_helper.from_array(a, n) for n, a in constants.items()])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), tmp_path / "m.onnx")
    given = [rng.standard_normal((rows, inner), np.float32)]
    got = [dnncc.run_host(dnncc.build_host(compiled(tmp_path / "m.onnx", tmp_path / weights, f"--weights={weights}", "--target=x86-64-v4"), ["-O2"], "gcc"), given)[0]
           for weights in ("inline", *BESIDE)]
    assert all(np.array_equal(y, got[0]) for y in got) and abs(got[0]).max() > 1


def test_test_option(network, model, tmp_path):
    """--test --cc with each form"""
    program = dnncc.build_host(compiled(model, tmp_path / "plain"))
    data = tmp_path / "set"
    data.mkdir()
    for kind, arrays in (("input", network[2]), ("output", dnncc.run_host(program, network[2]))):
        for k, array in enumerate(arrays):
            (data / f"{kind}_{k}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    for weights in BESIDE:
        done = call(model, f"--weights={weights}", "--test", data, "--cc=cc", cwd=tmp_path)
        assert done.returncode == 0 and done.stdout.count("equal") == 2, done.stderr
    assert not list(tmp_path.glob("*.weights"))


# ---- the file ----

@pytest.mark.parametrize("weights", BESIDE)
def test_bytes(network, model, tmp_path, weights):
    """the head, then constants at multiples of 64, zeros between them; in the C only small ones"""
    folder = compiled(model, tmp_path / "out", f"--weights={weights}", "-O0")
    data = (folder / "model.weights").read_bytes()
    magic, version, size, reserved, sha = HEAD.unpack_from(data)
    assert (magic, version, size, reserved) == (b"dnnccwts", 1, len(data), 0) and sha != bytes(32) and len(data) % 64 == 0
    covered = np.zeros(len(data), bool)
    covered[:64] = True
    for name in ("table", "kernel", "flags"):
        bytes_ = network[1][name].tobytes()
        at = data.find(bytes_)
        assert at >= 64 and at % 64 == 0, name
        covered[at:at + len(bytes_)] = True
    rest = np.frombuffer(data, np.uint8)[~covered]
    equal = network[1]["equal"].tobytes()
    assert rest.tobytes().replace(equal, b"").strip(b"\0") == b""
    text = (folder / "model.c").read_text()
    assert "uint64_t head[8];" in text and re.search(r"static const (MODEL_CONST )?float bias", text) and len(text) < 20000


def test_big_endian(network, model, tmp_path):
    folder = compiled(model, tmp_path / "big", "--weights=file", "--target=generic-be", "-O0")
    data = (folder / "model.weights").read_bytes()
    assert data[:8] == b"stwccnnd" and struct.unpack_from(">2Q", data, 8) == (1, len(data))
    for name in ("table", "kernel", "flags"):
        assert network[1][name].byteswap().tobytes() in data
    done = dnncc.run(["gcc", "-fsyntax-only", folder / "model.c"])
    assert done.returncode != 0 and "the weights are big-endian" in done.stderr


@pytest.mark.parametrize("weights", BESIDE)
def test_deterministic(network, tmp_path, weights):
    """the bytes depend on input and options alone; no path is in them"""
    found = set()
    for k in range(2):
        folder = tmp_path / f"folder{k}"
        (folder / "sub").mkdir(parents=True)
        (folder / "net.onnx").write_bytes(network[0])
        for output in ("out.c", "sub/out.c"):
            assert call("net.onnx", "-o", output, f"--weights={weights}", cwd=folder).returncode == 0
            found.add(b"".join((folder / output).with_suffix(s).read_bytes() for s in (".c", ".h", ".weights")))
    assert len(found) == 1 and str(tmp_path).encode() not in found.pop()


def test_nothing_large(tmp_path):
    """a build does not depend on what is in the model: there is a file, with nothing but its head"""
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])])
    path = tmp_path / "small.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    x = np.array([-1, 0, 1, 2], np.float32)
    for weights in BESIDE:
        for options in ([], ["--unchecked"]):
            folder = compiled(path, tmp_path / weights, f"--weights={weights}", *options)
            dnncc.check_clang(folder)
            assert np.array_equal(dnncc.run_host(dnncc.build_host(folder), [x])[0], np.maximum(x, 0))
            assert (folder / "model.weights").stat().st_size == 64


# ---- weights of another build ----

def others(network, tmp_path, weights):
    """files that are not the weights: other options, other data, cut short, longer, another format, another file"""
    right = compiled(tmp_path / "net.onnx", tmp_path / "right", f"--weights={weights}")
    data = (right / "model.weights").read_bytes()
    yield (compiled(tmp_path / "net.onnx", tmp_path / "other", f"--weights={weights}", "-O0") / "model.weights").read_bytes()
    changed = onnx.ModelProto.FromString(network[0])
    kernel = network[1]["kernel"].copy()
    kernel[0, 0] += 1
    changed.graph.initializer[1].CopyFrom(numpy_helper.from_array(kernel, "kernel"))
    (tmp_path / "changed.onnx").write_bytes(changed.SerializeToString())
    yield (compiled(tmp_path / "changed.onnx", tmp_path / "other", f"--weights={weights}") / "model.weights").read_bytes()
    for at in (0, 8, 16, 24, 32, 63):
        yield data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]
    if weights == "incbin":             # the size of a file that run is handed is the caller's to check
        yield data[:-64]
        yield data + bytes(64)
        yield data[:64]
        yield b""


@pytest.mark.sample(2)
@pytest.mark.parametrize("cc", COMPILERS)
def test_incbin_of_another_build(network, model, tmp_path, cc):
    for data in others(network, tmp_path, "incbin"):
        (tmp_path / "right" / "model.weights").write_bytes(data)
        assert run_code(dnncc.build_host(tmp_path / "right", ["-O2"], cc)) == ERROR_WEIGHTS
    (tmp_path / "right" / "model.weights").unlink()
    done = dnncc.run([cc, "-c", tmp_path / "right" / "model.c", "-o", tmp_path / "x.o"])
    assert done.returncode != 0 and "model.weights" in done.stderr


def test_file_of_another_build(network, model, tmp_path):
    folder = tmp_path / "right"
    for data in others(network, tmp_path, "file"):
        program, size = dnncc.build_host(folder), (folder / "model.weights").stat().st_size
        (tmp_path / "other.weights").write_bytes(data[:size].ljust(size, b"\0"))
        assert run_code(program, "--weights", tmp_path / "other.weights") == ERROR_WEIGHTS
    assert run_code(program, "--weights", folder / "model.weights") == 0


def test_changed_constants_of_a_text(model, tmp_path):
    """the digest of the source stays what it was: that of the data does not"""
    assert call(model, "--emit=ir", "-o", tmp_path / "net.dnn").returncode == 0
    compiled(tmp_path / "net.dnn", tmp_path / "first", "--weights=file")
    text, blob = (tmp_path / "net.dnn").read_text(), (tmp_path / "net.dnn.bin").read_bytes()
    changed = bytearray(blob)
    changed[len(blob) // 2] ^= 1
    (tmp_path / "net.dnn.bin").write_bytes(changed)
    (tmp_path / "net.dnn").write_text(text.replace(*(hashlib.sha256(b).hexdigest() for b in (blob, changed))))
    compiled(tmp_path / "net.dnn", tmp_path / "second", "--weights=file")
    program = dnncc.build_host(tmp_path / "first")
    assert run_code(program, "--weights", tmp_path / "first" / "model.weights") == 0
    assert run_code(program, "--weights", tmp_path / "second" / "model.weights") == ERROR_WEIGHTS


CALLER = '''#include <stdio.h>
#include "model.h"
#include "dnncc_runtime.h"
MODEL_WORKSPACE_DEFINE(workspace);
static int64_t x[MODEL_X_ELEMS];
static uint8_t b[MODEL_B_ELEMS], z[MODEL_Z_ELEMS];
static float y[MODEL_Y_ELEMS];
int main(int argc, char **argv)
{
        size_t bytes;
        const void *(*get[2])(const char *, size_t *) = { dnncc_weights_map, dnncc_weights_load };
        for (int k = 0; k < 2 && argc == 2; k++) {
                const unsigned char *weights = get[k](argv[1], &bytes);
                if (!weights || bytes != MODEL_WEIGHTS_SIZE)
                        return 1;
                printf("%d", model_run(workspace, weights, x, b, y, z));
                printf(" %d", model_run(workspace, NULL, x, b, y, z) != MODEL_ERROR_NULL);
                printf(" %d ", model_run(workspace, weights + 8, x, b, y, z) != MODEL_ERROR_ALIGNMENT);
                dnncc_weights_unmap(weights, bytes);
        }
        printf("%.9g", (double)y[1]);
        return 0;
}
'''


def test_runtime(network, model, tmp_path):
    """a program of the user's, with the runtime's loaders"""
    folder = compiled(model, tmp_path / "out", "--weights=file")
    (folder / "main.c").write_text(CALLER)
    done = dnncc.run(["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{dnncc.ROOT / 'runtime'}", folder / "main.c", folder / "model.c",
                      dnncc.ROOT / "runtime" / "memory.c", "-o", folder / "main"])
    assert done.returncode == 0, done.stderr
    done = dnncc.run([folder / "main", folder / "model.weights"])
    want = dnncc.run_host(dnncc.build_host(folder), [np.zeros_like(a) for a in network[2]])[0].ravel()[1]
    assert done.stdout == f"0 0 0 0 0 0 {want:.9g}"


# ---- objects ----

@pytest.mark.sample(2)
@pytest.mark.parametrize("weights", ["inline", "incbin"])
@pytest.mark.skipif(platform.machine() != "x86_64", reason="needs a target with vectors")
def test_alignment(model, tmp_path, weights):
    """vectors of large constants do not cross cache lines"""
    folder = compiled(model, tmp_path / "out", f"--weights={weights}", "--target=x86-64-v3")
    for cc in COMPILERS:
        assert dnncc.run([cc, "-O2", f"-I{folder}", "-c", folder / "model.c", "-o", folder / "model.o"]).returncode == 0
        symbols = [line.split() for line in dnncc.run(["nm", "-S", folder / "model.o"]).stdout.splitlines()]
        large = [int(s[0], 16) for s in symbols if len(s) == 4 and s[2] in "rR" and int(s[1], 16) > 4096]
        assert large and all(address % 64 == 0 for address in large)



def test_two_models(network, model, tmp_path):
    """the same constants under two names in one program, one of them twice as large an object; nothing new is visible"""
    main = '#include "first.h"\n#include "second.h"\n#include <stdio.h>\nFIRST_WORKSPACE_DEFINE(w1);\nSECOND_WORKSPACE_DEFINE(w2);\n' \
           'static int64_t x[FIRST_X_ELEMS];\nstatic uint8_t b[FIRST_B_ELEMS], z[FIRST_Z_ELEMS];\nstatic float y[2][FIRST_Y_ELEMS];\n' \
           'int main(void)\n{\n        printf("%d %d ", first_run(w1, x, b, y[0], z), second_run(w2, x, b, y[1], z));\n' \
           '        printf("%d", y[0][7] == y[1][7] && y[0][7] != 0);\n        return 0;\n}\n'
    (tmp_path / "main.c").write_text(main)
    for name, options in (("first", []), ("second", ["-O0"])):
        assert call(model, "-o", tmp_path / f"{name}.c", "--weights=incbin", *options).returncode == 0
    sources = [tmp_path / f"{n}.c" for n in ("main", "first", "second")]
    for cc in COMPILERS:
        for flags in (["-O2"], ["-O2", "-flto", f"-Wa,-I{tmp_path}"], ["-O1", "-fPIE", "-pie", "-Wl,--gc-sections"]):
            program = tmp_path / "main"
            done = dnncc.run([cc, "-std=gnu11", *flags, f"-I{tmp_path}", *sources, "-o", program], cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            assert dnncc.run([program]).stdout == "0 0 1", (cc, flags)
        library = tmp_path / "first.so"
        assert dnncc.run([cc, "-O2", "-fPIC", "-shared", f"-I{tmp_path}", sources[1], "-o", library]).returncode == 0
        names = {line.split()[-1] for line in dnncc.run(["nm", "-D", "--defined-only", library]).stdout.splitlines()}
        assert names == {"first_run", "first_describe"}
        assert ctypes.CDLL(str(library)).first_describe


@pytest.mark.skipif("clang" not in COMPILERS, reason="needs clang")
@pytest.mark.parametrize("machine", ["x86_64-linux-gnu", "aarch64-linux-gnu", "armv7m-none-eabi", "riscv32-unknown-elf"])
def test_machines(model, tmp_path, machine):
    """the assembler's part is the same text everywhere"""
    folder = compiled(model, tmp_path / "out", "--weights=incbin", "-O0")
    done = dnncc.run(["clang", f"--target={machine}", "-ffreestanding", "-Werror", f"-I{folder}", "-c", folder / "model.c", "-o",
                      folder / "model.o"])
    assert done.returncode == 0, done.stderr
    assert (folder / "model.weights").read_bytes() in (folder / "model.o").read_bytes()


def test_names(tmp_path):
    """ports and constants may be called as the file's own things are"""
    port = helper.make_tensor_value_info
    names = ["weights", "constants", "weights_head", "head", "WEIGHTS_SYMBOL", "workspace"]
    table = np.random.default_rng(0).standard_normal((1, 1300), np.float32)
    nodes = [helper.make_node("Add", [n, f"{n}.w" if k % 2 else "gap"], [f"{n}_y"]) for k, n in enumerate(names)]
    initial = [numpy_helper.from_array(table, "gap"), *(numpy_helper.from_array(table + k, f"{n}.w") for k, n in enumerate(names) if k % 2)]
    graph = helper.make_graph(nodes, "g", [port(n, TensorProto.FLOAT, [1, 1300]) for n in names],
                              [port(f"{n}_y", TensorProto.FLOAT, [1, 1300]) for n in names], initial)
    path = tmp_path / "names.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    given = [np.full((1, 1300), k, np.float32) for k in range(len(names))]
    for weights in BESIDE:
        folder = compiled(path, tmp_path / weights, f"--weights={weights}")
        dnncc.check_clang(folder)
        for k, got in enumerate(dnncc.run_host(dnncc.build_host(folder), given)):
            assert np.array_equal(got, given[k] + table + (k if k % 2 else 0))


# ---- the command line ----

def test_usage(model, tmp_path):
    for weights in BESIDE:
        done = call(model, "-o", "-", f"--weights={weights}", cwd=tmp_path)
        assert done.returncode == dnncc.USAGE and "--weights" in done.stderr and done.stdout == ""
    assert call(model, "-o", "-", "--weights=inline").returncode == 0
    assert call(model, "-o", "-", "--emit=ir", "--weights=file").returncode == 0
    assert call(model, "--weights=elsewhere").returncode == dnncc.USAGE
    assert call(model, "-o", tmp_path / 'a"b.c', "--weights=file").returncode == dnncc.USAGE
    assert sorted(os.listdir(tmp_path)) == ["net.onnx"]


def test_outputs(model, tmp_path):
    """all files appear or none; make is told of each"""
    out = tmp_path / "m.c"
    assert call(model, "-o", out, "--weights=file", "-MD").returncode == 0
    assert (tmp_path / "m.d").read_text() == f"{out} {tmp_path}/m.h {tmp_path}/m.weights: {model}\n"
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    assert call(model, "-o", out, "--weights=file", "--max-ram=1").returncode == dnncc.BUDGET
    (tmp_path / "bad.onnx").write_bytes(model.read_bytes()[:-9])
    assert call(tmp_path / "bad.onnx", "-o", out, "--weights=file").returncode == dnncc.INVALID
    (tmp_path / "bad.onnx").unlink()
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before
    (tmp_path / "n.weights").write_bytes(model.read_bytes())
    done = call(tmp_path / "n.weights", "-o", tmp_path / "n.c", "--weights=file")
    assert done.returncode == dnncc.IO and "input of this run" in done.stderr
    assert not (tmp_path / "n.c").exists() and not (tmp_path / "n.h").exists()
