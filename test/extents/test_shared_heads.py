# SPDX-License-Identifier: MIT
"""ONNX's Attention of as many queries and keys as a run gives, heads of which share keys: with masks of each kind, as onnxruntime has it."""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "support")]
import dnncc  # noqa: E402
import processor  # noqa: E402

HEADS, GROUPS, SIZE = 4, 2, 16
MASKS = {"none": None, "bool": (TensorProto.BOOL, ["N", "T"]), "float": (TensorProto.FLOAT, ["N", "T"]), "heads": (TensorProto.FLOAT, [1, HEADS, "N", "T"])}


def save(path, mask, causal, batch, rank):
    def port(name, *shape, element=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, element, shape)

    def of(name, heads):
        return port(name, batch, heads, "N", SIZE) if rank == 4 else port(name, batch, "N", heads * SIZE)
    inputs = [of("q", HEADS), of("k", GROUPS), of("v", GROUPS)] + ([port("mask", *mask[1], element=mask[0])] if mask else [])
    inputs += [port(name, batch, GROUPS, "P", SIZE) for name in ("past.k", "past.v")]
    outputs = [of("y", HEADS)] + [port(name, batch, GROUPS, "T", SIZE) for name in ("next.k", "next.v")]
    heads = {"q_num_heads": HEADS, "kv_num_heads": GROUPS} if rank == 3 else {}
    node = helper.make_node("Attention", ["q", "k", "v", "mask" if mask else "", "past.k", "past.v"], ["y", "next.k", "next.v"], is_causal=causal, **heads)
    onnx.save(helper.make_model(helper.make_graph([node], "g", inputs, outputs), opset_imports=[helper.make_opsetid("", 23)], ir_version=10), path)
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("options", [["--dim=N=1..9"], ["--dim=N=1"], ["--dim=N=1..9", "--target=x86-64-v4"], ["--dim=N=1", "--target=x86-64-v3"]], ids=" ".join)
@pytest.mark.parametrize("batch, rank", [(1, 4), (2, 3)])
@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.sample(32, each=False)
def test_heads_that_share_keys(mask, causal, batch, rank, options, tmp_path):
    if not processor.has(next((o.split("=")[1] for o in options if o.startswith("--target=")), "generic")):
        pytest.skip("this processor cannot run it")
    session, rng = save(tmp_path / "m.onnx", MASKS[mask], causal, batch, rank), np.random.default_rng(0)
    dnncc.compile_model(tmp_path / "m.onnx", tmp_path, ["--dim=P=0..50", "--dim=T=P+N", *options])
    program = dnncc.build_host(tmp_path, ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"])
    for before, count in [(0, 1), (7, 1), (0, 5), (13, 9), (50, 4)]:
        if "--dim=N=1" in options and count > 1:
            continue
        extents, given = {"N": count, "P": before, "T": before + count}, {}
        for port in session.get_inputs():
            shape = [extents.get(extent, extent) for extent in port.shape]
            given[port.name] = rng.random(shape) < 0.8 if "bool" in port.type else rng.standard_normal(shape).astype(np.float32)
        if mask == "bool":
            given["mask"][:, 0] = True
        for y, right in zip(dnncc.run_host(program, list(given.values())), session.run(None, given), strict=True):
            np.testing.assert_allclose(y.reshape(right.shape), right, 1e-4, 1e-5)
