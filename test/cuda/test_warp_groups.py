# SPDX-License-Identifier: MIT
"""Products of warp groups (engines/grid/contract_warp_groups.c, target cuda-sm_90a): run by the executor, looked at by nvcc."""
import re
import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cuda  # noqa: E402
import dnncc  # noqa: E402
import test_warp_convolutions as convolutions  # noqa: E402
import test_warp_products as products  # noqa: E402

TARGET = "cuda-sm_90a"
ALWAYS = "--limit=warp_group_percent=1000000"          # small ones, too, which are faster otherwise
# rows, channels, outputs; what stands behind the product
SHAPES = [(64, 64, 64, "Relu"), (200, 256, 320, "Relu"), (192, 512, 40, "Relu"), (256, 192, 512, "Sigmoid"), (128, 1024, 1000, "Relu"), (100, 256, 321, "Relu")]
CASES = {
    "plain": ((1, 64, 16, 15), (64, 64, 3, 3), {"pads": [1, 1, 1, 1]}, 1),
    "strides": ((2, 64, 21, 21), (72, 64, 3, 3), {"pads": [1, 0, 1, 2], "strides": [2, 2]}, 1),
    "dilations": ((1, 128, 11, 11), (64, 128, 3, 3), {"pads": [2, 2, 2, 2], "dilations": [2, 2]}, 1),
    "images": ((3, 64, 8, 8), (256, 64, 1, 1), {}, 1),
}


def scheduled(shape, words, folder, name="model", precision="bf16"):
    """as the words say, written into the Tensor IR; None: as dnncc chooses"""
    options = [f"--target={TARGET}", f"--precision={precision}", ALWAYS]
    written = folder / f"{name}.dnn"
    done = dnncc.run([dnncc.DNNCC, products.model(shape, folder / "m.onnx"), *options, "--emit=ir", "-o", written])
    assert done.returncode == dnncc.OK, done.stderr
    text = written.read_text()
    if words:
        written.write_text(re.sub(r'schedule="tile=[^"]*"', f'schedule="{words}"', text))
    path = cuda.compile_model(written, folder, [f"--precision={precision}"], name=name, target=TARGET)
    assert re.search(rf"\n +multiply_{precision}_warp_group_\d+\(", path.read_text()), shape
    return path


def run(paths, shapes, folder, executions):
    given = {p.stem: [products.whole(shape[:2], 3)] for p, shape in zip(paths, shapes)}
    got = cuda.run(cuda.build(paths, folder), given, folder, executions)
    for path, shape in zip(paths, shapes):
        y = got[path.stem]
        assert not isinstance(y, cuda.Found), (shape, y)
        error = np.abs(y[0] - products.want(shape, given[path.stem][0])).max()
        assert error == 0 if shape[3] == "Relu" else error < 1e-6, (shape, error)


@pytest.mark.parametrize("precision", ["f16", pytest.param("bf16", marks=pytest.mark.long)])
def test_shapes(precision, tmp_path):
    run([scheduled(shape, None, tmp_path, f"m{i}", precision) for i, shape in enumerate(SHAPES)], SHAPES, tmp_path, cuda.TWO)


SCHEDULES = ["tile=64 warps=4 stages=3 depth=64 bulk=1", "tile=128 warps=8 stages=4 depth=64 bulk=1", "tile=128 warps=8 stages=4 depth=64",
             "tile=192 warps=12 stages=5 depth=64", "tile=64 warps=4 stages=4 depth=64 parts=4 bulk=1"]


def test_schedules(tmp_path):
    """the machine copies weights where the schedule says so, else lanes do"""
    shapes = [SHAPES[1]] * len(SCHEDULES)
    paths = [scheduled(SHAPES[1], words, tmp_path, f"m{i}") for i, words in enumerate(SCHEDULES)]
    for path, words in zip(paths, SCHEDULES):
        assert bool(re.search(r"copy_async\(ws\b", path.read_text())) != ("bulk=1" in words) == ("bulk_copy(&bulk, ws" in path.read_text())
    run(paths, shapes, tmp_path, cuda.SIX)


@pytest.mark.parametrize("precision", ["f16", "bf16"])
def test_crossed(precision, tmp_path):
    """weights in the order in which lines are read: by the interpreter, what the passes before left"""
    written = tmp_path / "m.dnn"
    model = products.model((64, 128, 72, "Relu"), tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, model, f"--target={TARGET}", f"--precision={precision}", ALWAYS, "--check", "--emit=ir", "-o", written])
    assert done.returncode == dnncc.OK, done.stderr
    assert "check: layout: equal" in done.stderr and written.read_text().count("crossed=1") == 1, done.stderr


@pytest.mark.parametrize("kind", ["f16", "s8", pytest.param("u8", marks=pytest.mark.long)])
def test_convolutions(kind, tmp_path):
    """those of enough channels, borders and all"""
    cases = {k: c for k, c in CASES.items() if kind == "f16" or c[1][1] == 128}
    convolutions.check(cases, tmp_path, kind, TARGET, more=[ALWAYS])
    texts = [p.read_text() for p in sorted(tmp_path.glob("m*.cu"))]
    assert all(f"multiply_{kind}_warp_group_" in text for text in texts), kind


MISTAKES = {
    "a wait one less": (r"copy_wait\(1\);", "copy_wait(2);"),
    "no wait": (r"copy_wait\(\d\);", ""),
    "a settle one less": (r"units_wait\(1\);", "units_wait(2);"),
    "no settle": (r"units_wait\(0\);", ""),
    "a fence dropped": (r"\n +shared_to_units\(\);", ""),
    "a barrier dropped": (r"(shared_to_units\(\);)\n +__syncthreads\(\);", r"\1"),
    "a stage off by one": (r"iteration % 4", "(iteration + 1) % 4"),
    "words in order": (r"\((n\d*) \^\s+\(row\d* % 8\)\)", r"\1"),
    "arrivals not waited for": (r"bulk_wait\(&bulk, 1\);", ""),
    "another group's rows": (r"threadIdx\.y, 0\) / 4 \* 4096", "threadIdx.y, 0) / 8 * 4096"),
    "half of the words": (r"word < 8; word \+= 2", "word < 4; word += 2"),
}


@pytest.mark.parametrize("what", [pytest.param(w, marks=() if i % 3 == 0 else pytest.mark.long) for i, w in enumerate(MISTAKES)])
def test_mistakes(what, tmp_path):
    shape = (128, 512, 128, "Relu")
    path = scheduled(shape, "tile=128 warps=8 stages=4 depth=64 bulk=1", tmp_path)
    cuda.plant(path, MISTAKES[what])
    x = products.whole(shape[:2], 3)
    got = cuda.run(cuda.build([path], tmp_path, flags=["-O1", "-Wno-error"]), {"model": [x]}, tmp_path, cuda.SIX)["model"]
    assert isinstance(got, cuda.Found) or not np.array_equal(got[0], products.want(shape, x)), what


@pytest.mark.long
def test_nvcc(tmp_path):
    """nothing spilled, no more registers than counted, products not serialized (a warning), the instructions that the schedule claims"""
    if not cuda.nvcc() or "sm_90a" not in cuda.known_to(cuda.nvcc()):
        pytest.skip("no nvcc that knows sm_90a: make cuda")
    shape = (4096, 1024, 4096, "Relu")
    path = cuda.compile_model(products.model(shape, tmp_path / "m.onnx"), tmp_path, ["--precision=bf16", ALWAYS], target=TARGET)
    assert "multiply_bf16_warp_group_32" in path.read_text()
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", f"--target={TARGET}", "--precision=bf16", ALWAYS, "--emit=ir", "-o", "-"])
    counted = int(re.search(r"(\d+) registers", done.stdout)[1])
    used = cuda.ptxas(path, "sm_90a", tmp_path / "k.o")
    product, = [of for kernel, of in used.items() if "MatMul" in kernel]
    assert product["spilled"] == 0 and product["stack"] == 0 and product["registers"] <= counted, used
    if products.cuobjdump():
        sass = dnncc.run([products.cuobjdump(), "-sass", tmp_path / "k.o"]).stdout
        for instruction in ("HGMMA.64x256x16.F32.BF16", "LDGSTS.E.BYPASS"):
            assert instruction in sass, instruction
        assert "STG.E.128" in sass and "STG.E desc" not in sass, "results leave in words"
        assert not re.search(r"\b(STL|LDL)\b", sass)


@pytest.mark.parametrize("shape, warp_group", [((2048, 2048, 2048), True), ((64, 1024, 1024), False), ((32, 1024, 1024), False), ((4096, 32, 256), False)])
def test_which_row(shape, warp_group, tmp_path):
    """few positions, few tiles, or few channels, are for each warp alone; and none together where no time is allowed"""
    onnx_file = products.model((*shape, "Relu"), tmp_path / "m.onnx")
    path = cuda.compile_model(onnx_file, tmp_path, ["--precision=f16"], target=TARGET)
    assert ("multiply_f16_warp_group_" in path.read_text()) == warp_group
    path = cuda.compile_model(onnx_file, tmp_path, ["--precision=f16", "--limit=warp_group_percent=0"], target=TARGET)
    assert "multiply_f16_warp_group_" not in path.read_text()


# y = x w: iterations of 64 channels through 4 stages; w comes as runs of what a stage holds, in the order of ir/loop/loop_tiles.h
RUNS = """loop 4
program "runs" source ""
buffer @x : f16[32768] input "x" shape <64 x 512>
buffer @w : f16[32768] input "w" shape <64 x 512>
buffer @y : f32[4096] output "y" shape <64 x 64>
kernel @k(%x: in f16[32768], %w: in f16[32768], %y: out f32[4096]) {
  for %b = 0 to 1 gpu_block {
    var %acc : f32x8tile[16][8] warps 4
    alloc %xs : f16[16384] shared
    alloc %ws : f16[16384] shared
    for %t = 0 to 10 {
      wait 1
      if %t > 1 {
        multiply %acc += %xs[(%t - 2) % 4 * 4096] * %ws[(%t - 2) % 4 * 4096] by add_product rows 16 depth 8 group 8 step 64 jump 1024 swizzle 8 warp_group
        settle 1
      }
      if %t < 8 {
        for %v = 0 to 4 gpu_warp {
          for %lane = 0 to 32 gpu_lane {
            for %i = 0 to 4 {
              let %word : index = %i * 128 + %v * 32 + %lane
              let %row : index = %word / 8
              copy %xs[%t % 4 * 4096 + %row * 64 + (%word % 8 ^ %row % 8) * 8] = %x[%row * 512 + %t * 64 + %word % 8 * 8] of 8
            }
          }
        }
        copy %ws[%t % 4 * 4096] = %w[%t * 4096] of 4096
      }
      commit
    }
    settle 0
    wait 0
    for %u = 0 to 4 gpu_warp {
      unload %y[%u * 1024] = %acc rows 16
    }
  }
}
main {
  call @k(@x, @w, @y)
}
"""


def runs_model(folder):
    (folder / "runs.loops").write_text(RUNS)
    return cuda.compile_model(folder / "runs.loops", folder, name="model", target=TARGET)


def in_lines(w):
    """rows of 512 channels as iterations of lines of 64: word n of line l at n ^ l % 8"""
    words = w.reshape(64, 8, 8, 8).transpose(1, 0, 2, 3)
    return np.stack([words[:, row, [n ^ row % 8 for n in range(8)]] for row in range(64)], axis=1).reshape(64, 512)


RUN_MISTAKES = {
    None: (r"^", ""),
    "a parity turned": (r"r->arrived / BULK_GROUPS % 2", "(r->arrived / BULK_GROUPS + 1) % 2"),
    "half of the bytes expected": (r"r->bytes \+= bytes", "r->bytes += bytes / 2"),
    "arrivals not waited for": (r"\n +bulk_wait\(&bulk, 1\);", ""),
}


@pytest.mark.parametrize("what", RUN_MISTAKES)
@pytest.mark.sample(3)
def test_runs(what, tmp_path):
    """bulk copies, that arrive at barriers in shared memory; and mistakes, which are noticed"""
    path = runs_model(tmp_path)
    changed = re.sub(*RUN_MISTAKES[what], path.read_text(), count=1)
    path.write_text(changed)
    x, w = (products.whole((64, 512), seed).astype(np.float16) for seed in (3, 4))
    got = cuda.run(cuda.build([path], tmp_path), {"model": [x, in_lines(w)]}, tmp_path, cuda.SIX)["model"]
    right = not isinstance(got, cuda.Found) and np.array_equal(got[0], x.astype(np.float32) @ w.astype(np.float32).T)
    assert right == (what is None), got


def test_runs_by_nvcc(tmp_path):
    if not products.cuobjdump() or not cuda.nvcc() or "sm_90a" not in cuda.known_to(cuda.nvcc()):
        pytest.skip("no nvcc that knows sm_90a, or no cuobjdump: make cuda")
    used = cuda.ptxas(runs_model(tmp_path), "sm_90a", tmp_path / "k.o")
    assert all(of["spilled"] == 0 and of["stack"] == 0 for of in used.values()), used
    sass = dnncc.run([products.cuobjdump(), "-sass", tmp_path / "k.o"]).stdout
    assert "UBLKCP" in sass and "HGMMA.64x64x16.F32" in sass
