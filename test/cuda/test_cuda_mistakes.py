# SPDX-License-Identifier: MIT
"""Mistakes that a script plants into generated CUDA C, one at a time: each must be noticed by the executor, or by results."""
import pathlib
import random
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import cuda  # noqa: E402
import dnncc  # noqa: E402
import test_cuda_models  # noqa: E402
import test_models  # noqa: E402
from against import near, reference  # noqa: E402

MODELS = ["mnist_cnn", "micro_kws_fp32", "cct2_vit"]
EACH = 4                                # of a kind in a model, at random; a few of all run in `make check`

# kind: what is looked for, and what it becomes
KINDS = {
    "mask inverted": (r"if \(at < (\d+)\)", r"if (at >= \1)"),
    "lanes left out": (r"if \(at < (\d+)\)", r"if (at < \1 && at % 5 != 3)"),          # the last one alone may be in a border that nobody reads
    "another block's work": (r"block = blockIdx\.x;", "block = blockIdx.x / 2;"),
    "stride off by one": (r"(\[(?!image|0|at\d* \* 4 )\w+ \* )(\d+)( \+ )", r"\1(\2 + 1)\3"),           # of more than one; a softmax may subtract any row's maximum
    "half of the iterations": (r"(for \((?:ptrdiff_t|int) (\w+) = 0; \2 < \d+)(; \2\+\+\) \{\n +sum )", r"\1 / 2\3"),        # of a maximum a half may do
    "half of the blocks": (r"(launch\(\(const void \*\)\w+,\s+)((?!1,)\d+),", r"\1\2 / 2,"),
    "a warp less": (r"(launch\(\(const void \*\)\w+,\s+\d+,\s+)((?!1,)\d+),", r"\1\2 - 1,"),
    "a launch left out": (r"status = \w+\([^;]*, stream(?:, failed, calls\+\+)?\);", "status = 0;"),
    "operands of one kind exchanged": (r"\{ &(a), &(b),", r"{ &\2, &\1,"),
    "barrier dropped": (r"(?<!copy_wait\(0\);)\n *__syncthreads\(\);", ""),             # behind the last iteration nothing is copied any more
    "warp's barrier dropped": (r"(parts\w*\[lane\w*\] = \w+;)\n *__syncwarp\(\);", r"\1"),      # where lanes add up a row
    "waits for a copy less": (r"copy_wait\(([1-9])\)", r"copy_wait(\1 + 1)"),
    "lane exchanged": (r"(load_matrices\w*\([^;]*)\blane\b", r"\1(lane ^ 1)"),
    "shuffle of another lane": (r"(__shfl_xor_sync\([^;]*, )(\d+)\)", r"\1(\2 ^ 1))"),
    "shared memory too small": (r"(launch\(\(const void \*\)\w+,\s+\d+,\s+\d+,\s+\d+,\s+)((?!0,)\d+),", r"\1\2 / 2,"),
}


def generated(name, folder):
    """the model's CUDA C, its inputs, and what the interpreter gives"""
    model = test_cuda_models.model(name)
    data = sorted(model.glob("test_data_set_*"))[0]
    arrays = [dnncc.load_tensor(data / f"input_{k}.pb") for k in range(len(list(data.glob("input_*.pb"))))]
    options = test_models.bindings(model)
    path = cuda.compile_model(model / "model.onnx", folder, options)
    return path, arrays, reference(model / "model.onnx", arrays, options, folder)


def plant(text, kind, chance):
    """texts with a mistake of this kind, each at another place"""
    pattern, becomes = KINDS[kind]
    places = [m for m in re.finditer(pattern, text) if m.expand(becomes) != m[0]]
    return [text[:m.start()] + m.expand(becomes) + text[m.end():] for m in chance.sample(places, min(EACH, len(places)))]


def check(name, kinds, tmp_path, most=None):
    """how many mistakes of each kind were planted; all must be noticed"""
    path, arrays, want = generated(name, tmp_path)
    text, chance, planted = path.read_text(), random.Random(1), {}
    assert near(cuda.run(cuda.build([path], tmp_path), {"model": arrays}, tmp_path)["model"], want) is None
    for kind in kinds:
        for k, changed in enumerate(plant(text, kind, chance)[:most]):
            work = tmp_path / f"{kind} {k}".replace(" ", "-").replace("'", "")
            work.mkdir()
            for beside in tmp_path.glob("model.*"):
                if beside.suffix in (".h", ".weights"):
                    (work / beside.name).write_bytes(beside.read_bytes())
            (work / "model.cu").write_text(changed)
            got = cuda.run(cuda.build([work / "model.cu"], work, flags=["-O1", "-Wno-error"]), {"model": arrays}, work)["model"]
            noticed = str(got) if isinstance(got, cuda.Found) else near(got, want)
            if noticed is None:             # right by luck: then every access is looked at, where copies arrive at once and where late
                got = cuda.run(cuda.build([work / "model.cu"], work, flags=cuda.CHECKED), {"model": arrays}, work)["model"]
                noticed = isinstance(got, cuda.Found)
            assert noticed, f"{kind}, {work / 'model.cu'}"
            planted[kind] = planted.get(kind, 0) + 1
    return planted


def test_some(tmp_path):
    planted = check("mnist_cnn", ["mask inverted", "another block's work", "a launch left out"], tmp_path, most=1)
    assert sum(planted.values()) >= 2, planted


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_all(name, tmp_path):
    planted = check(name, KINDS, tmp_path)
    assert sum(planted.values()) >= 15, planted
