# SPDX-License-Identifier: MIT
"""libdnncc_jit, as a program uses it (library.c), and its examples."""
import ctypes
import os
import pathlib
import re
import shutil
import sys

import numpy as np
import onnx
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
BUILD = dnncc.ROOT / "build"
DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"
MODELS = dnncc.ROOT.parent / "shared" / "models"
LINKED = [BUILD / "libdnncc_jit.a", BUILD / "libdnncc_runtime.a", "-lprotobuf-c", "-lz", "-lm", "-ldl", "-lpthread"]
missing = not (BUILD / "libdnncc_jit.a").exists() or dnncc.run([dnncc.DNNCC, DIGITS, "--run=zeros", "--jit"]).returncode == dnncc.UNSUPPORTED
pytestmark = [pytest.mark.slow, pytest.mark.skipif(missing, reason="LLVM, or its headers, are missing")]
SANITIZED = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
STATE = ["--state=past=present"]
GROWTH = 2048           # KB: caches that fill themselves, and what is left of free lists


@pytest.fixture(scope="module", params=[[], SANITIZED], ids=["plain", "sanitized"])
def program(request, tmp_path_factory):
    """the library itself is built as it is installed"""
    path = tmp_path_factory.mktemp("library") / "library"
    done = dnncc.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-g", "-O1", *request.param, "-I", dnncc.ROOT / "runtime", HERE / "library.c", *LINKED, "-o", path])
    assert done.returncode == 0, done.stderr
    return path, bool(request.param)


def check(command, env=os.environ, **keywords):
    """without the sanitizer's guess at where glibc's memory of a library's thread-local variables begins, which at some addresses ends in a fault"""
    done = dnncc.run(command, env={**env, "ASAN_OPTIONS": "intercept_tls_get_addr=0"}, **keywords)
    assert done.returncode == 0 and not done.stderr, (done.returncode, done.stdout, done.stderr[-3000:])
    return done.stdout


def test_models_in_threads(program):
    """five models, loaded by as many threads, run beside one that all of them run; bits are those of one thread"""
    models = [MODELS / name / "model.onnx" for name in ("mnist_cnn", "resnet8_fp32", "resnet8_int8", "dscnn_kws_int8")]
    check([program[0], "threads", DIGITS, *(path for path in models if path.exists())], timeout=300)


def test_errors_end_nothing(program):
    check([program[0], "errors", DIGITS])


def test_a_dimension_that_runs_give(program, tmp_path):
    value = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N", 4]) for name in "xy"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Add", ["x", "x"], ["y"])], "g", value[:1], value[1:])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)]), tmp_path / "twice.onnx")
    check([program[0], "extents", tmp_path / "twice.onnx"])


def save(path, nodes, inputs, outputs, weights=()):
    port = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "net", [port(*i) for i in inputs], [port(*o) for o in outputs],
                                   [onnx.numpy_helper.from_array(array, name) for name, array in dict(weights).items()])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def running_sum(path):
    f32, add = onnx.TensorProto.FLOAT, onnx.helper.make_node("Add", ["x", "past"], ["present"])
    return save(path, [add, onnx.helper.make_node("Identity", ["present"], ["y"])], [("x", f32, [1, 8]), ("past", f32, [1, 8])],
                [("y", f32, [1, 8]), ("present", f32, [1, 8])])


def growing(path):
    """what came so far, a row more each time, and its sum"""
    f32 = onnx.TensorProto.FLOAT
    nodes = [onnx.helper.make_node("Concat", ["past", "x"], ["present"], axis=1), onnx.helper.make_node("ReduceSum", ["present", "axes"], ["y"])]
    return save(path, nodes, [("x", f32, [1, 1, 8]), ("past", f32, [1, "P", 8])], [("y", f32, [1, 1, 8]), ("present", f32, [1, "Q", 8])],
                {"axes": np.array([1])})


def summed_rows(path):
    """of any number of rows, onto a sum that is state"""
    f32 = onnx.TensorProto.FLOAT
    nodes = [onnx.helper.make_node("ReduceSum", ["x", "axes"], ["rows"]), onnx.helper.make_node("Add", ["rows", "past"], ["present"]),
             onnx.helper.make_node("Add", ["zeros", "present"], ["y"]), onnx.helper.make_node("Mul", ["x", "nothing"], ["zeros"])]
    nodes[2], nodes[3] = nodes[3], nodes[2]
    return save(path, nodes, [("x", f32, ["N", 4]), ("past", f32, [1, 4])], [("y", f32, ["N", 4]), ("present", f32, [1, 4])],
                {"axes": np.array([0]), "nothing": np.zeros(1, np.float32)})


def test_state_is_kept(program, tmp_path):
    check([program[0], "state", running_sum(tmp_path / "sum.onnx"), growing(tmp_path / "cache.onnx")])


def test_entries_share_state(program, tmp_path):
    check([program[0], "entries", summed_rows(tmp_path / "rows.onnx")])


def test_texts(program, tmp_path):
    text = onnx.TensorProto.STRING
    check([program[0], "texts", save(tmp_path / "texts.onnx", [onnx.helper.make_node("Identity", ["x"], ["y"])], [("x", text, [3])], [("y", text, [3])])])


def test_loads_leave_nothing_behind(program):
    """a sanitizer keeps freed memory for a while: what leaks is found by it at the end, and here growth"""
    path, sanitized = program
    grown = int(check([path, "loads", DIGITS, "50" if sanitized else "1000"], timeout=300))
    assert sanitized or grown <= GROWTH, grown


@pytest.mark.sample(4)
@pytest.mark.skipif(not shutil.which("valgrind"), reason="no valgrind")
@pytest.mark.parametrize("what", [["errors", DIGITS], ["loads", DIGITS, "3"]], ids=lambda what: what[0])
def test_under_valgrind(what, program):
    path, sanitized = program
    if sanitized:
        pytest.skip("one or the other")
    check(["valgrind", "-q", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=definite", "--errors-for-leak-kinds=definite",
           f"--suppressions={HERE / 'loader.supp'}", path, *what], timeout=300)


def test_names_are_the_headers():
    """a program's own names do not meet the compiler's"""
    names = re.findall(r" [A-TV-Z] (\w+)$", check(["nm", "-g", BUILD / "libdnncc_jit.a"]), re.M)
    said = re.findall(r"^\S.*?\b(dnncc_\w+)\(", (dnncc.ROOT / "runtime" / "dnncc_jit.h").read_text(), re.M)
    assert sorted(names) == sorted(said) and len(said) == 7


def test_descriptor_is_that_of_generated_code(tmp_path):
    done = dnncc.run([dnncc.DNNCC, DIGITS, "-q", "-o", tmp_path / "digits.c"])
    assert done.returncode == 0, done.stderr
    done = dnncc.run([dnncc.DNNCC, running_sum(tmp_path / "sum.onnx"), *STATE, "-q", "-o", tmp_path / "sum.c"])
    assert done.returncode == 0, done.stderr
    for number, header in (1, "digits.h"), (2, "sum.h"):
        block = re.compile(rf"^#ifndef DNNCC_ABI_{number}\n.*?^#endif\n", re.M | re.S)
        assert block.search((tmp_path / header).read_text())[0] == block.search((dnncc.ROOT / "runtime" / "dnncc_jit.h").read_text())[0]


class Region(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("size", ctypes.c_uint64), ("align", ctypes.c_uint64), ("kind", ctypes.c_int32)]


class Described(ctypes.Structure):
    """as far as a region"""
    _fields_ = [("head", ctypes.c_uint32 * 2), ("name", ctypes.c_char_p), ("counts", ctypes.c_uint32 * 4), ("regions", ctypes.POINTER(Region))]


def test_state_is_that_of_generated_code(tmp_path):
    """what made it, in front, has the same mark, and it has the same size: each goes on from the other's"""
    path = os.fsencode(growing(tmp_path / "cache.onnx"))
    options = ["--dim=P=0..3", *STATE]
    done = dnncc.run([dnncc.DNNCC, os.fsdecode(path), *options, "-q", "-o", tmp_path / "cache.c"])
    assert done.returncode == 0, done.stderr
    mark = re.search(r"state->build = UINT64_C\((0x\w+)\);", (tmp_path / "cache.c").read_text())[1]
    size = re.search(r"#define \w+_STATE_SIZE (\d+)u", (tmp_path / "cache.h").read_text())[1]
    ctypes.CDLL(BUILD / "libdnncc_runtime.so", ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(BUILD / "libdnncc_jit.so")
    library.dnncc_load.restype = library.dnncc_state.restype = ctypes.c_void_p
    library.dnncc_describe.restype = ctypes.POINTER(Described)
    model = ctypes.c_void_p(library.dnncc_load(path, (ctypes.c_char_p * 3)(*map(str.encode, options)), None))
    assert model and library.dnncc_describe(model)[0].regions[0].size == int(size)
    words = ctypes.cast(library.dnncc_state(model), ctypes.POINTER(ctypes.c_uint64))
    assert words[0] == words[1] == 0
    x = (ctypes.c_float * 8)()
    assert library.dnncc_run(model, (ctypes.c_void_p * 1)(ctypes.addressof(x)), (ctypes.c_void_p * 1)(ctypes.addressof(x)), None) == 0
    assert words[0] == int(mark, 16) and words[1] == 1
    library.dnncc_free(model)


@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_examples(cc, tmp_path):
    """what they print is what their page says; C++ reads the header"""
    folder = dnncc.ROOT / "examples" / "jit"
    done = dnncc.run(["make", "-C", folder, f"OUT={tmp_path}", f"CC={cc}", "CFLAGS=-O1 -Werror"])
    assert done.returncode == 0, done.stdout + done.stderr
    page = (folder / "README.md").read_text()
    for said in (check([tmp_path / "axpy"]), check([tmp_path / "jit", DIGITS])):
        assert all(f"    {line}\n" in page for line in said.splitlines()) and said
    done = dnncc.run([tmp_path / "jit", tmp_path / "nothing.onnx"])
    assert done.returncode == dnncc.IO and done.stderr.count("\n") == 1
    (tmp_path / "image").write_bytes(bytes(255))
    done = dnncc.run([tmp_path / "jit", DIGITS], env={**os.environ, "INPUT_0": str(tmp_path / "image")})
    assert done.returncode == 1 and "256 bytes of 'image'" in done.stderr
    assert len((folder / "axpy.c").read_text().splitlines()) <= 42
    (tmp_path / "header.cpp").write_text('#include "dnncc_jit.h"\nint main() { dnncc_free(nullptr); }\n')
    check([{"gcc": "g++", "clang": "clang++"}[cc], "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", dnncc.ROOT / "runtime", tmp_path / "header.cpp"])


def test_installed(tmp_path):
    """pkg-config and CMake find it"""
    done = dnncc.run(["make", "-C", dnncc.ROOT, "install", f"PREFIX={tmp_path / 'usr'}"], timeout=600)
    assert done.returncode == 0, done.stderr
    source = dnncc.ROOT / "examples" / "jit" / "axpy.c"
    if shutil.which("pkg-config"):
        flags = check(["pkg-config", "--cflags", "--libs", "dnncc-jit"], env={**os.environ, "PKG_CONFIG_PATH": str(tmp_path / "usr/lib/pkgconfig")}).split()
        check(["gcc", source, *flags, "-o", tmp_path / "one"])
        assert check([tmp_path / "one"])
    if shutil.which("cmake"):
        (tmp_path / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.20)\nproject(one C)\nfind_package(dnncc REQUIRED)\nadd_executable(two {source})\n"
                                                 "target_link_libraries(two PRIVATE dnncc::jit)\n")
        for command in (["cmake", "-S", tmp_path, "-B", tmp_path / "made", f"-DCMAKE_PREFIX_PATH={tmp_path / 'usr'}"], ["cmake", "--build", tmp_path / "made"]):
            done = dnncc.run(command)
            assert done.returncode == 0, done.stdout + done.stderr
        assert check([tmp_path / "made" / "two"])
