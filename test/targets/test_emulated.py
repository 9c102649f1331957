# SPDX-License-Identifier: MIT
"""What the tests of operators, passes and models ask of this machine's code, asked of other machines', too, under qemu: a sample of ONNX's own
tests, random programs, to the bit, and networks of the zoo. By default every target has a few; with all tests it has many."""
import functools
import pathlib
import sys

import numpy as np
import onnx
import pytest
from onnx.backend.test.loader import load_model_tests

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "passes"))
import dnncc  # noqa: E402
import processor  # noqa: E402
from test_random import EXTENTS, Program  # noqa: E402
from zoo import twins  # noqa: E402

ALL_ARM = "aarch64,aarch64-sve128,aarch64-dotprod,aarch64-fp16,aarch64-i8mm,aarch64-sve256,aarch64-sve512"
TARGETS = ["aarch64", "aarch64-i8mm", "aarch64-sve128", "aarch64-sve256", "aarch64-sve512", ALL_ARM, "armv7-neon", "riscv64-v", "riscv64-v256", "riscv64-v,riscv64-v256"]
PASSING = (dnncc.ROOT / "test" / "conformance" / "passing.txt").read_text().split()
FEW, MANY = 18, 300                     # ONNX's tests of all targets together, and of each; the same share of random programs
pytestmark = pytest.mark.slow


def plain(target):
    return target.split(",")[-1]


def built(model, target, folder, *options):
    folder.mkdir(parents=True)
    dnncc.compile_model(model, folder, [f"--target={target}", *options])
    return dnncc.build_host(folder, ["-O1"], emulator=processor.emulator(plain(target)))


def run(program, inputs):
    try:
        return dnncc.run_host(program, inputs)
    except AssertionError as error:
        if "decode_save_opc" in str(error):
            return None                 # QEMU 7.2 gives up where a block that it translates begins with vfcvt.rtz
        raise


def skip_where_none(done, target):
    """done: how many ran, and how many QEMU gave up on"""
    if not done[0]:
        pytest.skip(f"QEMU 7.2 gave up on {done[1]} programs for {target}")


def spread(count, step):
    """the numbers of a target's cases among so many: others than the next target's"""
    return {target: range(k, count, step) for k, target in enumerate(TARGETS)}


def split(few, step):
    return [pytest.param(target, few[target], id=target) for target in TARGETS] + \
           [pytest.param(target, range(MANY), id=f"{target}-many", marks=pytest.mark.long) for target in TARGETS]


def same(got, want, rtol, atol):
    """atol: of the largest number, where that is above 1"""
    for ours, theirs in zip(got, want, strict=True):
        if isinstance(theirs, np.ndarray) and theirs.dtype.kind in "fiub":
            theirs = theirs.reshape(ours.shape).astype(np.float64)
            largest = np.max(np.abs(theirs), initial=1, where=np.isfinite(theirs))
            np.testing.assert_allclose(ours.astype(np.float64), theirs, rtol=rtol, atol=atol * largest)


@functools.cache
def operator_tests():
    """of ONNX's, those that pass, in an order that mixes operators; ImageDecoder calls a library, which is built for this machine alone"""
    found = {f"{t.name}_cpu": t for t in load_model_tests(kind="node") if t.model_dir}
    names = [name for name in PASSING if name in found and not name.startswith("test_image_decoder")]
    return [found[names[k * 613 % len(names)]] for k in range(MANY)]


@pytest.mark.sample(3)
@pytest.mark.parametrize("target, numbers", split(spread(FEW, len(TARGETS)), len(TARGETS)))
def test_operators(target, numbers, tmp_path):
    processor.require(plain(target))
    tests, done = operator_tests(), [0, 0]
    for number in numbers:
        case, folder = tests[number], pathlib.Path(tests[number].model_dir)
        model = onnx.load(folder / "model.onnx")
        given = [i for i in model.graph.input if i.name not in {c.name for c in model.graph.initializer}]
        data = folder / "test_data_set_0"
        try:
            inputs = [dnncc.load_tensor(data / f"input_{k}.pb") for k in range(len(given))]
            want = [dnncc.load_tensor(data / f"output_{k}.pb") for k in range(len(model.graph.output))]
        except Exception:               # sequences and optionals: their files hold no tensor
            continue
        bind = [f"--input={value.name}={'x'.join(map(str, x.shape))}" for value, x in zip(given, inputs)
                if not all(d.HasField("dim_value") for d in value.type.tensor_type.shape.dim)]
        got = run(built(folder / "model.onnx", target, tmp_path / case.name, *bind), inputs)
        done[got is None] += 1
        if got is not None:
            same(got, want, case.rtol, case.atol)
    skip_where_none(done, target)


@pytest.mark.sample(2)
@pytest.mark.parametrize("target, numbers", split(spread(len(TARGETS), len(TARGETS)), len(TARGETS)))
def test_random_programs(target, numbers, tmp_path):
    """with --exact, the bits of generic C on that machine"""
    processor.require(plain(target))
    done = [0, 0]
    for seed in numbers:
        rng, path = np.random.default_rng(seed), tmp_path / f"{seed}.dnn"
        path.write_text(Program(5000 + seed, EXTENTS).text())
        reference = built(path, "generic", tmp_path / f"generic{seed}", "--exact")
        inputs = [(rng.random(s, np.float32) * 4 - 1).astype(dnncc.numpy_type(t)) for is_input, _, t, s in dnncc.describe(reference) if is_input]
        for x in inputs:
            if x.dtype.kind == "f" and x.size > 4:
                x.flat[1:4] = np.inf, -0.0, np.nan
        want = dnncc.run_host(reference, inputs)
        got = run(built(path, target, tmp_path / f"code{seed}", "--exact"), inputs)
        done[got is None] += 1
        for a, b in zip(got or [], want):
            assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f"), (seed, target)
    skip_where_none(done, target)


@pytest.mark.long
@pytest.mark.parametrize("target", ["aarch64", "aarch64-i8mm", "aarch64-sve256", "armv7-neon", "riscv64-v"])
@pytest.mark.parametrize("name", ["mobilenet_v2", "mobilenet_v2_qdq", "resnet50", "resnet50_qdq_s8", "bert_base", "bert_base_qdq", "gpt_step"])
def test_networks(name, target, tmp_path):
    """of the zoo, in small"""
    processor.require(plain(target))
    model, given = twins.build(name), list(twins.inputs(name, seed=1).values())
    want = dnncc.run_host(built(model, "generic", tmp_path / "generic"), given)
    got = run(built(model, target, tmp_path / "code"), given)
    if got is None:
        pytest.skip(f"QEMU 7.2 gave up on {name} for {target}")
    same(got, want, 1e-3, 1e-3)
