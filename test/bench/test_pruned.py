# SPDX-License-Identifier: MIT
"""Networks with pruned filters become those that were written without them (pruned.py)."""
import json
import pathlib
import re
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import dnncc  # noqa: E402
import pruned  # noqa: E402
import zoo  # noqa: E402


def left(path, folder, *options):
    """its convolutions, operations, and bytes of constants"""
    done = dnncc.run([dnncc.DNNCC, path, "--emit=ir", "--passes=simplify,fold,cse,dce", "-o", folder / "m.dnn", *options])
    assert done.returncode == 0, done.stderr
    dnncc.compile_model(path, folder, ["--target=generic", f"--report={folder / 'm.json'}", *options])
    report = json.loads((folder / "m.json").read_text())
    return sorted(re.findall(r"= convolve\(.*: (<[^>]*>)", (folder / "m.dnn").read_text())), report["flops"], report["constants"]


@pytest.mark.sample(3)
@pytest.mark.parametrize("sums", [False, True], ids=["within blocks", "residual sums, too"])
@pytest.mark.parametrize("name", ["mobilenet_v2", "resnet18"])
def test_pruned(name, sums, tmp_path, monkeypatch):
    monkeypatch.setattr(pruned, "OUT", tmp_path)
    zeros, written = pruned.pruned(zoo.build(name), sums)
    whole = left(zeros, tmp_path)
    taken_out = left(zeros, tmp_path, "--assume-finite")
    assert taken_out == left(written, tmp_path, "--assume-finite")
    assert taken_out[1] < 0.6 * whole[1] and taken_out[2] < 0.7 * whole[2]


@pytest.mark.long
def test_pruned_outputs(tmp_path, monkeypatch):
    monkeypatch.setattr(pruned, "OUT", tmp_path)
    path, image = pruned.pruned(zoo.build("mobilenet_v2"), True)[0], list(zoo.inputs("mobilenet_v2", 1).values())
    outputs = []
    for options in [], ["--assume-finite"]:
        dnncc.compile_model(path, tmp_path, ["--target=generic", *options])
        outputs += dnncc.run_host(dnncc.build_host(tmp_path, ["-O2"]), image)
    np.testing.assert_allclose(outputs[1], outputs[0], atol=1e-5 * np.abs(outputs[0]).max())
