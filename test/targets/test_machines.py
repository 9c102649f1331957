# SPDX-License-Identifier: MIT
"""How a machine is made is data: machines that nobody has built, of few and many registers and of vectors from short to very long, get
kernels for the whole zoo, and these are right: the interpreter runs them on small twins of it (test/targets/machines.c, zoo/twins.py)."""
import itertools
import pathlib
import sys

import onnx
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import dnncc  # noqa: E402
import zoo  # noqa: E402
from zoo import quantized, twins  # noqa: E402

MACHINES = pathlib.Path(dnncc.DNNCC).parent / "machines"

# some of which divide no cache line
LANES, REGISTERS, FEATURES = (3, 4, 5, 6, 7, 8, 12, 16, 32, 64), (8, 10, 12, 32), ("", "-fma", "-masks", "-fma-masks", "-narrow", "-narrow-masks")
PRODUCTS = ("", "-bytes", "-signed")    # of whole numbers: none, u8 by i8, i8 by i8
MODELS = [*twins.MODELS, *twins.QUANTIZED]
# one of each kind, and none that takes a second
QUICK = ("squeezenet", "mobilenet_v2", "resnet18", "efficientnet_b0", "unet", "yolo", "bert_base", "gpt_step", "lstm", "mobilenet_v2_qdq",
         "bert_base_qdq", "bert_base_dynamic")


def pairs(row):
    return set(itertools.combinations(enumerate(row), 2))


def pairwise(*factors):
    """rows of one value of each factor, so that every two values of two factors meet in one"""
    rows = list(itertools.product(*factors))
    missing, chosen = set().union(*map(pairs, rows)), []
    while missing:
        chosen.append(max(rows, key=lambda row: len(pairs(row) & missing)))
        missing -= pairs(chosen[-1])
    return chosen


def machine(lanes, registers, features, products):
    return f"lanes{lanes}-registers{registers}{features}{products}"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """the folder of --test for a model: what its nodes make of an input, one after the other"""
    folders = {}

    def write(name):
        if name not in folders:
            folder, given = tmp_path_factory.mktemp(name), twins.inputs(name, seed=1)
            path = twins.build(name)
            if "nbits" in name:         # activations may be rounded to 8 bits, and are
                wanted = quantized.run(str(path), given, "ORT_DISABLE_ALL")
            else:
                wanted = quantized.as_written(path, given)
            for kind, arrays in ("input", given.values()), ("output", wanted):
                for k, array in enumerate(arrays):
                    (folder / f"{kind}_{k}.pb").write_bytes(onnx.numpy_helper.from_array(array).SerializeToString())
            folders[name] = folder
        return folders[name]
    return write


def complaint(name, target, folder):
    """what is wrong, or None"""
    done = dnncc.run([MACHINES, twins.build(name), f"--target={target}", "--test", folder])
    return f"{target}: {done.returncode} {done.stderr}" if done.returncode else None


@pytest.mark.sample(12)
@pytest.mark.parametrize("name", QUICK)
def test_sample(name, data, some):
    rows = [row for row in pairwise(QUICK, LANES, REGISTERS, FEATURES, PRODUCTS) if row[0] == name]
    found = [complaint(name, machine(*row[1:]), data(name)) for row in some(rows, 2)]
    assert found and not list(filter(None, found))


@pytest.mark.long
@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("name", MODELS)
def test_every(name, lanes, data):
    if "nbits" in name:
        pytest.importorskip("onnx_ir", reason="onnxruntime's MatMulNBitsQuantizer wants it: make systems-packages")
    products = PRODUCTS if name in twins.QUANTIZED else PRODUCTS[:1]
    found = [complaint(name, machine(lanes, *rest), data(name)) for rest in itertools.product(REGISTERS, FEATURES, products)]
    assert not list(filter(None, found))


@pytest.mark.long
@pytest.mark.parametrize("name", zoo.MODELS)
def test_the_zoo_compiles(name):
    """as it is: nothing but time is different from its twin"""
    with dnncc.Workspace(f"machines-{name}") as work:
        for lanes, registers in pairwise(LANES, REGISTERS):
            target = machine(lanes, registers, "-fma", "")
            done = dnncc.run([MACHINES, zoo.build(name), f"--target={target}", "--weights=file", "-o", work / "model.c"], timeout=600)
            assert done.returncode == 0, (target, done.stderr)


def test_pairs_meet():
    rows = pairwise("abc", "de", "fghi")
    assert len(rows) < 3 * 2 * 4
    for first, second in itertools.combinations(range(3), 2):
        assert {(row[first], row[second]) for row in rows} == set(itertools.product(("abc", "de", "fghi")[first], ("abc", "de", "fghi")[second]))
