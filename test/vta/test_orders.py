# SPDX-License-Identifier: MIT
"""Whole models on the simulator, by the C that drives it: the bits of generic C of the graph as --requantize=shift leaves it, on many inputs,
each with the stages in three orders and two garbages in the machine's memories."""
import pathlib
import re

import numpy as np
import pytest

from test_streams_of_models import MODELS, model
from vta_driver import compiled, run

INPUTS = 50
NETWORKS = ("resnet18", "resnet50", "mobilenet_v1", "mobilenet_v2")


def port(header):
    """shape and type of the input"""
    text = header.read_text()
    kind = re.search(r"_run\([^)]*const (\w+) \*", text)[1]
    return [int(n) for n in re.search(r"_SHAPE \{([\d, ]+)\}", text)[1].split(",")], {"float": np.float32, "int8_t": np.int8}[kind]


def compare(path, options, count, folder):
    flags = ["-O2", f"-DBYTES={1 << 27}", "-I", folder]
    got, want = [], []
    for target, results in (("vta", got), ("generic", want)):
        own = folder / target
        own.mkdir()
        program = compiled(path, own, *options, "--requantize=shift", flags=flags if target == "vta" else [*flags, "-O3", "-march=native"], target=target)
        shape, element = port(own / "model.h")
        size = 2 ** (np.arange(count) % 7).reshape(-1, *[1] * len(shape))        # soft, loud
        x = np.random.default_rng(11).integers(-128, 128, (count, *shape)) // size
        (folder / "in").write_bytes((((x + 64) * size * size / 40).astype(element) if element == np.float32 else x.astype(element)).tobytes())
        run(program, "orders", count, folder / "in", own / "out")
        results.append((own / "out").read_bytes())
    assert got == want
    assert len({part.tobytes() for part in np.frombuffer(got[0], np.uint8).reshape(count, -1)}) > 1       # results that follow the inputs


@pytest.mark.parametrize("name, count", [("dscnn_kws_int8", 2)] + [pytest.param(n, INPUTS, marks=pytest.mark.long) for n in MODELS])
def test_models(name, count, tmp_path):
    compare(model(name), MODELS[name], count, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name, tmp_path):
    networks = pytest.importorskip("networks", reason="the zoo is made with onnxruntime", exc_type=ImportError)
    path, *options = networks.quantized(name, tmp_path)
    compare(pathlib.Path(path), [o for o in options if o not in ("--target=vta", "-q")], INPUTS, tmp_path)
