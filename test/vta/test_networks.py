# SPDX-License-Identifier: MIT
"""Networks of the zoo as programs of the machine, beside their bars (networks.py prints the table)."""
import pytest

pytest.importorskip("onnxruntime")      # the zoo is made with it

import networks  # noqa: E402


@pytest.mark.long
@pytest.mark.parametrize("name", networks.NETWORKS)
def test_bars(name, tmp_path):
    bar, f = networks.NETWORKS[name], networks.figures(name, tmp_path, run=name == "resnet18")
    cycles, moved, instructions = f.part
    assert f.launches == 1 and f.share >= .99
    assert cycles <= bar.part
    assert f.micro_ops <= 2048
    assert bar.whole is None or f.cycles <= bar.whole
    assert bar.bytes is None or moved - bar.added <= bar.bytes
    assert bar.instructions is None or instructions <= bar.instructions
