# SPDX-License-Identifier: MIT
"""C that drives the machine: the bits of the interpreter, and a code for all that a device can do wrong."""
import re

import numpy as np
import pytest

from test_streams_of_models import MODELS, model
from vta_driver import HOST, SANITIZE, compiled, interpreted, outputs, run
from vta_tool import dnncc



def samples(header, count):
    """inputs of a model that has one, of the shape and type that the header says"""
    text = header.read_text()
    shape = [int(n) for n in re.search(r"_SHAPE \{([\d, ]+)\}", text)[1].split(",")]
    floats = re.search(r"_run\([^)]*const (\w+) \*", text)[1] == "float"
    random = np.random.default_rng(7)
    for _ in range(count):
        x = random.integers(-128, 128, shape)
        yield (x / 40).astype(np.float32) if floats else x.astype(np.int8)


def same_bits(name, folder, program, count, *arguments, target="vta"):
    for k, x in enumerate(samples(folder / "model.h", count)):
        want = interpreted(model(name), [x], folder, *MODELS[name], target=target)
        got = outputs(program, [x], len(want), folder, *arguments, SEED=k)
        assert got == [w.tobytes() for w in want], f"sample {k}"


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", MODELS)
def test_bits(name, tmp_path):
    """two samples, stages in two orders, every access looked at"""
    program = compiled(model(name), tmp_path, *MODELS[name], flags=["-O1", *SANITIZE])
    same_bits(name, tmp_path, program, 2)


UNIFIED = [f"-DBYTES={1 << 27}"]


@pytest.mark.parametrize("cc", ["gcc", "clang"])
@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n == "dscnn_kws_int8" else pytest.mark.long) for n in MODELS])
def test_unified_bits(name, cc, tmp_path):
    """the same for a machine with a unified buffer"""
    program = compiled(model(name), tmp_path, *MODELS[name], cc=cc, flags=["-O1", *SANITIZE, *UNIFIED], target="unified")
    same_bits(name, tmp_path, program, 2, target="unified")


@pytest.mark.sample(2)
@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_unified_codes(cc, tmp_path):
    run(compiled(model("dscnn_kws_int8"), tmp_path, cc=cc, flags=["-O1", *SANITIZE, *UNIFIED], one=True, target="unified"), "codes")


@pytest.mark.long
@pytest.mark.parametrize("cc", ["gcc", "clang"])
@pytest.mark.parametrize("name", MODELS)
def test_many_bits(name, cc, tmp_path):
    same_bits(name, tmp_path, compiled(model(name), tmp_path, *MODELS[name], cc=cc, flags=["-O2"]), 50)


@pytest.mark.parametrize("options", [["--weights=file"], ["--weights=incbin", "--unchecked"], ["--no-alias"]], ids=" ".join)
def test_options(options, tmp_path):
    """where constants are, and what run looks at, is as everywhere"""
    program = compiled(model("dscnn_kws_int8"), tmp_path, *options, cc="clang", flags=["-O1", f"-I{tmp_path}"])
    weights = ["--weights", tmp_path / "model.weights"] if "--weights=file" in options else []
    same_bits("dscnn_kws_int8", tmp_path, program, 1, *weights)


@pytest.mark.parametrize("sizes", ["inp=16K,acc=64K,out=16K", pytest.param("block=32,wgt=512K", marks=pytest.mark.long)])
def test_sizes(sizes, tmp_path):
    """the same machine in other sizes: other fields, other places"""
    program = compiled(model("dscnn_kws_int8"), tmp_path, f"--sizes={sizes}", flags=["-O1", *SANITIZE])
    for x in samples(tmp_path / "model.h", 1):
        want = interpreted(model("dscnn_kws_int8"), [x], tmp_path, f"--sizes={sizes}")
        assert outputs(program, [x], 1, tmp_path, SIZES=sizes) == [want[0].tobytes()]


@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_codes(cc, tmp_path):
    """a device that fails, is late, or lies elsewhere: run ends with the code for it, and wants to be prepared again"""
    run(compiled(model("dscnn_kws_int8"), tmp_path, cc=cc, flags=["-O1", *SANITIZE], one=True), "codes")


def test_header(tmp_path):
    """five functions, for C and C++; sizes are constants; the same text each time"""
    for name in "ab":
        dnncc.run([dnncc.DNNCC, model("dscnn_kws_int8"), "-q", "--target=vta", "--name=net", "-o", tmp_path / f"{name}.c"])
    assert (tmp_path / "a.c").read_text().replace("a.h", "b.h") == (tmp_path / "b.c").read_text()
    header = (tmp_path / "a.h").read_text()
    functions = set(re.findall(r"^\w+ (dnncc_vta_\w+)\(", header, re.M))
    assert functions == {f"dnncc_vta_{f}" for f in ("address", "flush", "invalidate", "launch", "wait")}
    page = (dnncc.ROOT / "docs" / "accelerators.md").read_text()
    assert all(f"`{f}(" in page for f in functions)
    (tmp_path / "c.cpp").write_text('#include "a.h"\n#include "b.h"\nNET_PROGRAM_DEFINE(program);\nNET_WORKSPACE_DEFINE(workspace);\n'
                                    "static_assert(sizeof program == NET_PROGRAM_SIZE && sizeof workspace == NET_WORKSPACE_SIZE, \"\");\n")
    done = dnncc.run(["g++", "-std=c++11", "-Wall", "-Wextra", "-Wno-unused-variable", "-Werror", "-fsyntax-only", tmp_path / "c.cpp"])
    assert done.returncode == 0, done.stderr


def test_no_globals(tmp_path):
    """nothing is kept but what the caller owns, and nothing is called but the five, memcpy and memset"""
    dnncc.run([dnncc.DNNCC, model("dscnn_kws_int8"), "-q", "--target=vta", "-o", tmp_path / "m.c"])
    done = dnncc.run(["gcc", "-std=c99", "-Os", "-c", tmp_path / "m.c", "-o", tmp_path / "m.o"])
    assert done.returncode == 0, done.stderr
    symbols = re.findall(r"(\w) (\w+)$", dnncc.run(["nm", tmp_path / "m.o"]).stdout, re.M)
    assert not [name for kind, name in symbols if kind in "dDbBC" and name != "described_model" and "described" not in name]
    assert {name for kind, name in symbols if kind == "U"} <= {f"dnncc_vta_{f}" for f in ("address", "flush", "invalidate", "launch", "wait")} | {
        "memcpy", "memset", "_GLOBAL_OFFSET_TABLE_"}


# a stream that main calls in a loop, on inputs and results themselves, and on a part of a value that the machine cannot address
LOOP = """loop 4
program "loop" source "" command "" passes ""
buffer @x : i8[96] input "x" shape <6 x 16>
buffer @y : i8[96] output "y" shape <6 x 16>
buffer @w : i8[256] constant shape <16 x 16> = [{weights}]
buffer @t : i8[40] workspace
kernel @shift(%x: in i8[96], %y: out i8[40]) {{
  for %i = 0 to 40 {{
    store %y[%i] = %x[%i]
  }}
}}
stream @one(%x: in i8[16], %w: in i8[256], %y: out i8[16]) on vta {{
  alloc %a : i8[16] in inp
  alloc %k : i8[256] in wgt
  alloc %s : i32[16] in acc
  reset %s[0]
  transfer %a[0] = %x[0] rows 1 by 1 step 16
  transfer %k[0] = %w[0] rows 1 by 1 step 256
  product %s[0] += %a[0] * %k[0]
  apply %s[0] shr 6
  apply %s[0] min 127
  apply %s[0] max -128
  transfer %y[0] = %s[0] rows 1 by 1 step 16
}}
main {{
  for %i = 0 to 5 {{
    call @one(@x + %i * 16, @w, @y + %i * 16)
  }}
  call @shift(@x, @t)
  call @one(@t + 8, @w, @y + 80)
}}
"""


def test_places(tmp_path):
    """What is no place that the machine can address is copied: inputs, results, what a loop chooses, a part of a value."""
    random = np.random.default_rng(3)
    w, x = random.integers(-128, 128, (16, 16)), random.integers(-128, 128, (6, 16)).astype(np.int8)
    path = tmp_path / "loop.loops"
    path.write_text(LOOP.format(weights=", ".join(map(str, w.flatten()))))
    program = compiled(path, tmp_path, "--passes=plan,overlap,flatten,select_instructions,tokens", flags=["-O1", *SANITIZE], name="loop", one=True)
    rows = np.vstack([x[:5], x.flatten()[8:24]]).astype(np.int64)
    want = np.clip((rows @ w.T) >> 6, -128, 127).astype(np.int8)
    assert outputs(program, [x], 1, tmp_path) == [want.tobytes()]
    run(program, "codes")


def test_not_alone(tmp_path):
    """what C for a machine does not have"""
    for options, words in ((["--target=vta,generic"], "list"), (["--target=vta", "--region=fast=64K"], "--region")):
        done = dnncc.run([dnncc.DNNCC, model("dscnn_kws_int8"), "-q", "-o", tmp_path / "m.c", *options])
        assert done.returncode == dnncc.USAGE and words in done.stderr, done.stderr
    data = tmp_path / "data"
    data.mkdir()
    np.save(data / "input_0.npy", np.zeros((1, 49, 10, 1), np.int8))
    for options in ["--bench=1"], [f"--run={data}", "--cc=cc"]:           # which compile C, and have no device
        done = dnncc.run([dnncc.DNNCC, model("dscnn_kws_int8"), "-q", "--target=vta", *options])
        assert done.returncode == dnncc.USAGE and "is for a device" in done.stderr, (options, done.stderr)
    assert HOST.is_file()
