# SPDX-License-Identifier: MIT
"""Attention by warp groups (engines/grid/attention_warp_groups.c): run by the executor, looked at by nvcc."""
import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cuda  # noqa: E402
import dnncc  # noqa: E402
from test_warp_attention import SHARED, TOLERANCE, compile_schedule, inputs, model, want  # noqa: E402
from test_warp_products import cuobjdump  # noqa: E402

TARGET = "cuda-sm_90a"
# Whole iterations, and less than one behind them; one line of channels and several; rows of two fours of warps, and rows that are none; masks that hide iterations
CASES = [((2, 64, 256, 128, 128, None), "keys=128 tile=64 warps=4 warp_group=1"), ((2, 130, 300, 64, 64, None), "keys=64 tile=128 warps=8 warp_group=1"),
         ((2, 130, 130, 128, 64, "causal"), "keys=32 tile=64 warps=4 warp_group=1"), ((2, 150, 150, 64, 192, "window"), "keys=48 tile=64 warps=4 warp_group=1"),
         ((2, 96, 300, 128, 64, "padding"), "keys=64 tile=64 warps=4 warp_group=1"), ((2, 200, 200, 64, 256, "causal"), "keys=16 tile=192 warps=12 warp_group=1")]


def compile_case(i, folder, precision="f16"):
    case, words = CASES[i]
    path = compile_schedule(model(case, folder / f"g{i}.onnx"), folder, f"g{i}", "keys=", words, TARGET, [f"--precision={precision}"])
    assert "_warp_group_of_sums_" in path.read_text(), words
    return path


def check(got, i, given, precision="f16"):
    assert not isinstance(got, cuda.Found), (CASES[i], got)
    error = np.abs(got[0] - want(CASES[i][0], *given)).max()
    assert error < TOLERANCE[precision], (CASES[i], error)


@pytest.mark.parametrize("precision", ["f16", pytest.param("bf16", marks=pytest.mark.long)])
def test_cases(precision, tmp_path):
    paths = [compile_case(i, tmp_path, precision) for i in range(len(CASES))]
    given = {f"g{i}": inputs(case) for i, (case, _) in enumerate(CASES)}
    got = cuda.run(cuda.build(paths, tmp_path), given, tmp_path, cuda.SIX)
    for i in range(len(CASES)):
        check(got[f"g{i}"], i, given[f"g{i}"], precision)
        assert cuda.counts[f"g{i}"]["mma"] and cuda.counts[f"g{i}"]["conflicts"] == 0, (CASES[i], cuda.counts[f"g{i}"])


def test_races(tmp_path):
    some = (1, 2)
    paths = [compile_case(i, tmp_path) for i in some]
    given = {f"g{i}": inputs(CASES[i][0]) for i in some}
    got = cuda.run(cuda.build(paths, tmp_path, flags=cuda.CHECKED), given, tmp_path)
    for i in some:
        check(got[f"g{i}"], i, given[f"g{i}"])


def test_one_barrier_an_iteration(tmp_path):
    """rows are the warp's own: warps wait for each other where copies have come, and nowhere else"""
    kernel = re.search(r"(?s)static __global__[^\n]*MatMul_blocks\(.*", compile_case(1, tmp_path).read_text())[0]
    iterations = kernel[kernel.index("for (int iteration"):kernel.rindex("multiply_f16_warp_group_of_sums")]
    assert iterations.count("__syncthreads();") == 1 and iterations.count("units_wait(1);") == iterations.count("units_wait(0);") == 1


def test_what_is_no_number(tmp_path):
    """NaN stays in its row; scores of -inf are nothing, rows that have nothing else are NaN"""
    i = 4
    program = cuda.build([compile_case(i, tmp_path)], tmp_path)
    q, k, v, m = inputs(CASES[i][0])
    q[0, 0, 3, 5], hidden_keys = np.nan, np.where(np.arange(CASES[i][0][2]) % 3, m, -np.inf).astype(np.float32)
    for mask in hidden_keys, np.full_like(m, -np.inf):
        with np.errstate(invalid="ignore"):
            wanted = want(CASES[i][0], q, k, v, mask)
        assert np.isnan(wanted[0, 0, 3]).all() and np.isnan(wanted).all() == (mask is not hidden_keys)
        got = cuda.run(program, {f"g{i}": [q, k, v, mask]}, tmp_path)[f"g{i}"]
        assert not isinstance(got, cuda.Found), got
        np.testing.assert_allclose(got[0], wanted, atol=TOLERANCE["f16"], rtol=0)


MISTAKES = {
    "copies are not waited for": (r"copy_wait\(0\);\n +shared_to_units\(\);\n +__syncthreads\(\);", ""),
    "no fence": (r"shared_to_units\(\);\n(?= +__syncthreads)", "\n"),
    "scores are not waited for": (r"units_wait\(1\);", "units_wait(3);"),
    "sums are not waited for": (r"units_wait\(0\);\n( +sums_settled\(acc)", r"\n\1"),
    "the stage of values off by one": (r"(warp_group_of_sums_\w+\(acc\[0\], shares,\s+vs \+ \(\(iteration) - 1\)", r"\1)"),
    "the stage of keys off by one": (r"(multiply_f16_warp_group_8\(scores2\[0\], qs \+ [^;]*?iteration) % 2", r"\1 % 2 * 0"),
    "sums are not brought to the largest score": (r"\n +scale_f32_\d+\([^;]*;", ""),
    "lanes do not wait": (r"__syncwarp\(\);", ""),
    "words of keys lie straight": (r"(copy_async\(ks \+[^;]*?)\((own\d*) \^\s+\([^;]*? % 8\)\)", r"\1\2"),
    "words of values lie straight": (r"(copy_async\(vs \+[^;]*?)\((own\d*) \^\s+\([^;]*? % 8\)\)", r"\1\2"),
    "shares of other rows": (r"(pair_f16\(own\[j \* 2)\], own\[j \* 2 \+ 1\]", r"\1 + 1], own[j * 2]"),
    "columns less": (r"(key\d*) < 300", r"\1 < 250"),
}


@pytest.mark.parametrize("what", [pytest.param(w, marks=() if i % 4 == 0 else pytest.mark.long) for i, w in enumerate(MISTAKES)])
def test_mistakes(what, tmp_path):
    path = compile_case(1, tmp_path)
    cuda.plant(path, MISTAKES[what])
    given = inputs(CASES[1][0])
    got = cuda.run(cuda.build([path], tmp_path, flags=["-O1", "-Wno-error"]), {"g1": given}, tmp_path, cuda.SIX)["g1"]
    assert isinstance(got, cuda.Found) or not np.abs(got[0] - want(CASES[1][0], *given)).max() < TOLERANCE["f16"], what


def chosen(case, folder, target=TARGET, options=("--precision=f16",)):
    done = dnncc.run([dnncc.DNNCC, model(case, folder / "m.onnx"), f"--target={target}", *options, "--emit=ir", "-o", "-"])
    assert done.returncode == dnncc.OK, done.stderr
    return re.findall(r'schedule="(keys=[^";]*)', done.stdout)


def test_choice(tmp_path):
    """where rows and keys are many, and of halves"""
    many, few = (16, 4096, 4096, 128, 128, None), (12, 128, 128, 64, 64, "padding")
    assert "warp_group" in chosen(many, tmp_path)[0]
    for case, target, options in (few, TARGET, ["--precision=f16"]), (many, "cuda-sm_90", ["--precision=f16"]), (many, TARGET, []), (SHARED[6][0], TARGET, ["--precision=f16"]):
        assert not any("warp_group" in words for words in chosen(case, tmp_path, target, options)), (case, target, options)


def test_schedules_that_cannot_be(tmp_path):
    """the canonical nest, or an error that says so, never a wrong kernel: rows that see no key, one iteration, lines that channels do not fill"""
    for case, words in ((2, 64, 128, 64, 64, None), "keys=128 tile=64 warps=4 warp_group=1"), ((2, 130, 300, 96, 64, None), "keys=64 tile=64 warps=4 warp_group=1"), \
                       ((2, 130, 300, 64, 64, None), "keys=64 tile=64 warps=8 warp_group=1"), ((2, 130, 300, 64, 64, None), "keys=40 tile=64 warps=4 warp_group=1"):
        path = compile_schedule(model(case, tmp_path / "m.onnx"), tmp_path, "m", "keys=", words, TARGET, ["--precision=f16"])
        assert "_warp_group_of_sums_" not in path.read_text(), words


@pytest.mark.long
def test_nvcc(tmp_path):
    """no warning (of units that wait for each other, too), nothing spilled, registers for a block of 8 warps; the instructions, one barrier an iteration"""
    if not cuda.nvcc() or "sm_90a" not in cuda.known_to(cuda.nvcc()):
        pytest.skip("no nvcc that knows it: make cuda")
    case, words = (16, 4096, 4096, 128, 128, None), "keys=128 tile=128 warps=8 warp_group=1"
    for name, (c, w) in {"large": (case, words), **{f"g{i}": CASES[i] for i in (0, 3)}}.items():
        path = compile_schedule(model(c, tmp_path / f"{name}.onnx"), tmp_path, name, "keys=", w, TARGET, ["--precision=f16"])
        for kernel, of in cuda.ptxas(path, "sm_90a", tmp_path / f"{name}.o").items():
            assert of["spilled"] == 0 and of["stack"] == 0 and of["registers"] <= 255, (w, kernel, of)
    if not cuobjdump():
        return
    done = dnncc.run([cuobjdump(), "-sass", tmp_path / "large.o"])
    assert done.returncode == 0, done.stderr
    kernel, = (f for f in done.stdout.split("Function : ") if "MatMul_blocks" in f[:f.index("\n")])
    iteration = kernel[[m.start() for m in re.finditer(r"BAR\.SYNC", kernel)][-2]:]
    iteration = iteration[:iteration.index("BAR.SYNC", 10)]
    assert len(re.findall(r"HGMMA\.64x128x16\.F32 R\d+, gdesc", iteration)) == 8 and len(re.findall(r"HGMMA\.64x128x16\.F32 R\d+, R\d+, gdesc\S*tnspB", iteration)) == 8
    assert iteration.count("MUFU.EX2") >= 64 and iteration.count("LDGSTS") == 16
    assert len(re.findall(r"^\s+/\*[0-9a-f]{4}\*/", iteration, re.M)) <= 800


def test_what_units_read_is_given_alone(tmp_path):
    """a text in which shares are scaled as well: no code for that, one error"""
    case, words = CASES[1]
    written = compile_schedule(model(case, tmp_path / "m.onnx"), tmp_path, "m", "keys=", words, TARGET, ["--precision=f16"]).with_suffix(".dnn")
    loops = tmp_path / "m.loops"
    done = dnncc.run([dnncc.DNNCC, written, f"--target={TARGET}", "--emit=loops", "-o", loops])
    assert done.returncode == dnncc.OK, done.stderr
    loops.write_text(loops.read_text().replace("scale %acc by", "scale %shares by"))
    done = dnncc.run([dnncc.DNNCC, loops, f"--target={TARGET}", "-o", tmp_path / "out.cu"])
    assert done.returncode == dnncc.UNSUPPORTED and done.stderr.count("error: ") == 1 and "lanes give all" in done.stderr, done.stderr
    assert not (tmp_path / "out.cu").exists()


def test_places_by_way_of_many_lets(tmp_path):
    """a text whose places name the warp 2^59 times: no longer than another, and warps wait where nothing is known of them"""
    case, words = CASES[1]
    written = compile_schedule(model(case, tmp_path / "m.onnx"), tmp_path, "m", "keys=", words, TARGET, ["--precision=f16"]).with_suffix(".dnn")
    done = dnncc.run([dnncc.DNNCC, written, f"--target={TARGET}", "--emit=loops", "-o", "-"])
    assert done.returncode == dnncc.OK, done.stderr
    lets = "".join(f"let %z{i} : index = %z{i - 1} + %z{i - 1}\n" for i in range(1, 60))
    text = re.sub(r" (syncwarp|nowait)|,barriers[^\"]*(?=\")", "", done.stdout)        # as it was before that pass
    text = re.sub(r"(for %(\w+) = 0 to 8 gpu_warp \{\n)", rf"\1let %z0 : index = %\2\n{lets}", text, count=1)
    (tmp_path / "m.loops").write_text(text.replace("store %bests[%at] =", "store %bests[%at + (%z59 - %z59)] =", 1))
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.loops", f"--target={TARGET}", "-o", tmp_path / "out.cu"], timeout=20)
    assert done.returncode == dnncc.OK, done.stderr
    assert (tmp_path / "out.cu").read_text().count("__syncthreads();") == written.with_suffix(".cu").read_text().count("__syncthreads();") + 2
