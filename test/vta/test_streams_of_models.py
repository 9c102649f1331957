# SPDX-License-Identifier: MIT
"""Quantized models whose convolutions are streams of a machine: the same bits after every pass, nearly all products on the machine."""
import re

import pytest

from vta_tool import dnncc, vta

MODELS = {"resnet8_int8": [], "dscnn_kws_int8": [], "micro_kws_qdq": ["--dim", "unk__68=1"]}
SHARED = dnncc.ROOT.parent / "shared" / "models"


def model(name):
    path = SHARED / name / "model.onnx"
    if not path.is_file():
        pytest.skip(f"no {name} in ../shared/models")
    return path


def compiled(name, path, *options):
    out = path / "model.loops"
    done = dnncc.run([dnncc.DNNCC, model(name), *MODELS[name], "--target=vta", "--emit=loops", "-o", out,
                      *options])
    return out.read_text(), done.stderr


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n == "dscnn_kws_int8" else pytest.mark.long) for n in MODELS])
def test_bits(name, tmp_path):
    """every pass is compared with the one before, the streams being interpreted statement by statement"""
    text, said = compiled(name, tmp_path, "--check")
    assert "check: lower: equal" in said and "DIFFERENT" not in said.upper()
    assert "stream @" in text


@pytest.mark.parametrize("name", MODELS)
def test_share(name, tmp_path):
    text, said = compiled(name, tmp_path)
    assert "shift_scales" in said               # it is the default here, and says what it costs
    flops = {kind: sum(float(f) for f in re.findall(rf"^{kind} @.*? flops (\d+)", text, re.M)) for kind in ("stream", "kernel")}
    assert flops["stream"] >= .99 * (flops["stream"] + flops["kernel"])


def test_exact(tmp_path):
    """with --exact weights stay as they are, and all is plain code"""
    text, _ = compiled("dscnn_kws_int8", tmp_path, "--exact")
    assert "stream @" not in text and "kernel @" in text


def test_tiles(tmp_path):
    """each layer, the average among them, has its tile in the words of schedules, and all are one launch; the classifier is faster in C"""
    text, _ = compiled("dscnn_kws_int8", tmp_path)
    assert len(re.findall(r"^stream ", text, re.M)) == 1
    ir = tmp_path / "model.ir"
    dnncc.run([dnncc.DNNCC, model("dscnn_kws_int8"), "--target=vta", "--emit=ir", "-o", ir])
    words = re.findall(r'schedule="(tile_rows=[^;"]*)', ir.read_text())
    assert len(words) == 10 and all("tile_outputs" in w for w in words)


@pytest.mark.parametrize("name, most", [("dscnn_kws_int8", 70000), ("resnet8_int8", 107000), ("micro_kws_qdq", 58000)])
def test_programs(name, most, tmp_path):
    """The streams as instructions: portable, without races, and the bits that the interpreter gives, for two orders of the stages."""
    out = tmp_path / "model.vta"
    done = dnncc.run([dnncc.DNNCC, model(name), *MODELS[name], "--target=vta", "--emit=program", "-o", out])
    assert done.returncode == 0, done.stderr
    assert [f.name for f in tmp_path.glob("*.vta")] == ["model.vta"]    # no other launch
    assert re.search("^expect ", vta("dump", out), re.M)
    vta("check", out)
    for seed, poison in ((1, 0), (7, 170)):
        vta("run", out, f"--seed={seed}", f"--poison={poison}")
    assert int(re.search(r"^cycles +(\d+)", vta("cycles", out), re.M)[1]) <= most
