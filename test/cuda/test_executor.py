# SPDX-License-Identifier: MIT
"""The executor itself: what it runs is right in every execution, and what is wrong is found and said."""
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cuda  # noqa: E402
import dnncc  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
KERNELS = HERE / "kernels"
FOUND = 9


@pytest.fixture(scope="module", params=["g++", pytest.param("clang++", marks=pytest.mark.long)])
def program(request, tmp_path_factory):
    if not shutil.which(request.param):
        pytest.skip(f"no {request.param}")
    folder = tmp_path_factory.mktemp("self_test")
    made = cuda.compile_text(HERE / "self_test.cu", folder / "self_test.o", request.param)
    return cuda.link([made, *cuda.runtime(request.param, host=False)], folder / "self_test", request.param)


@pytest.mark.parametrize("name", ["turn_around", "sum_of_lanes", "elementwise", "atomics", "streams", "graphs", "failures", "copies"])
def test_runs(program, name):
    done = dnncc.run([program, name])
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["no_barrier", "no_warp_barrier"])
def test_races_give_other_bits(program, name):
    done = dnncc.run([program, name])
    assert done.returncode == 1 and "other bits" in done.stdout


SAID = {
    "half_waits": r"64 threads wait for ever\n    block \(0, 0, 0\), threads 0 to 63: at __syncthreads in line \d+\n"
                  r"    block \(0, 0, 0\), threads 64 to 127: at the end",
    "different_instructions": r"thread \d+: line \d+: __shfl_xor_sync .* while other lanes of the warp wait in __syncwarp",
    "not_in_mask": r"line \d+: __shfl_xor_sync by lane 16, which is not in its mask 0000ffff",
    "lane_outside_mask": r"lane 0 asks for the value of lane 16, which is not in the mask 0000ffff",
    "too_far": r"too_far, block \(0, 0, 0\), thread 127: access to y \+512, which has 512 bytes",
    "too_low": r"too_low, block \(0, 0, 0\), thread 0: access to y -4, which has 512 bytes",
    "far_away": r"far_away, block \(0, 0, 0\), thread 0: access to 0x[0-9a-f]+, which is no memory of the device",
    "too_much_shared": r"wrote byte 512 of shared memory, which has 512",
}


@pytest.mark.parametrize("name", SAID)
def test_found(program, name):
    done = dnncc.run([program, name])
    assert done.returncode == FOUND and re.search(SAID[name], done.stderr), done.stderr


def test_guard_behind_a_block_that_does_not_end_with_its_page(tmp_path):
    """what is written between a block and its page's end is found after the kernel"""
    (tmp_path / "t.cu").write_text('static __global__ void k(char *y) { y[10] = 1; }\n'
                                   'int main() { char *y = (char *)executor_memory("y", 10, 16, true); void *a[] = { &y };\n'
                                   '        return cudaLaunchKernel(k, 1, 1, a, 0, NULL) || cudaDeviceSynchronize(); }\n')
    made = cuda.link([cuda.compile_text(tmp_path / "t.cu", tmp_path / "t.o"), *cuda.runtime(host=False)], tmp_path / "t")
    done = dnncc.run([made])
    assert done.returncode == FOUND and "byte 10 of y was written, which has 10" in done.stderr


# ---- products: kernels written by hand, and the same with a mistake each ----

def product(folder, name, flags=()):
    program = cuda.link([cuda.compile_text(folder / f"run_{name}.cpp", folder / f"{name}.o", flags=["-O2", *flags]), *cuda.runtime(host=False)],
                        folder / name)
    return dnncc.run([program])


@pytest.mark.sample(3)
@pytest.mark.slow
@pytest.mark.parametrize("name, flags", [("gemm", ()), ("gemm", ("-DHOPPER",)), ("conv", ())])
def test_products(name, flags, tmp_path):
    shutil.copytree(KERNELS, tmp_path / "k")
    done = product(tmp_path / "k", name, flags)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "conflicts 0" in done.stdout


MISTAKES = {
    "waits for one stage too few": ("gemm.cu", "gemm", "", "s/copy_wait(STAGES - 2)/copy_wait(STAGES - 1)/"),
    "no barrier in the loop": ("gemm.cu", "gemm", "", "/__syncthreads();/d"),
    "fetches into the stage in use": ("gemm.cu", "gemm", "", r"s/(t + STAGES - 1) % STAGES \* STAGE_BYTES/(t + STAGES) % STAGES * STAGE_BYTES/"),
    "lane reads another row": ("gemm.cu", "gemm", "", "s/lane % 16, k/(lane ^ 1) % 16, k/"),
    "no barrier between tiles": ("conv.cu", "conv", "", "/a next tile may be fetched/d"),
    "no barrier of the grid": ("conv.cu", "conv", "", "s/grid_barrier(a.barrier);/{ }/"),
    "border not zero": ("conv.cu", "conv", "", r"s/(unsigned)(r->left\[i\] + dx) < (unsigned)c->width/1/"),
    "products not waited for": ("hopper.cu", "gemm", "-DHOPPER", "/for who reads the stage/d"),
    "no fence before products": ("hopper.cu", "gemm", "-DHOPPER", "/for who reads the stage/{n;d}"),
    "wrong parity": ("hopper.cu", "gemm", "-DHOPPER", r"s/(t \/ STAGES % 2)/((t \/ STAGES + 1) % 2)/"),
    "expects half of the bytes": ("hopper.cu", "gemm", "-DHOPPER", r"s/barrier_expect(full, HALF_STAGE)/barrier_expect(full, HALF_STAGE \/ 2)/"),
}


@pytest.mark.long
@pytest.mark.parametrize("what", MISTAKES)
def test_mistakes(what, tmp_path):
    file, name, flag, script = MISTAKES[what]
    shutil.copytree(KERNELS, tmp_path / "k")
    text = (KERNELS / file).read_text()
    changed = subprocess.run(["sed", script], input=text, capture_output=True, text=True, check=True).stdout
    assert changed != text
    (tmp_path / "k" / file).write_text(changed)
    done = product(tmp_path / "k", name, [flag] if flag else [])
    assert done.returncode != 0 and (done.returncode == FOUND or "bad" in done.stdout.lower()), done.stdout
