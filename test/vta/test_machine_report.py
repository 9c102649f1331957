# SPDX-License-Identifier: MIT
"""What --report and --stats say of a machine: cycles that dnncc-vta counts, too, what bounds them, and why kernels stay in C."""
import json
import re
import sys

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from test_streams_of_models import MODELS, model
from vta_tool import dnncc, vta

sys.path.insert(0, str(dnncc.ROOT / "test" / "driver"))
MEMORIES = {"uop": 32 << 10, "wgt": 256 << 10, "inp": 32 << 10, "acc": 128 << 10, "out": 32 << 10}


def report(path, folder, *options, code=0):
    out = folder / "report.json"
    done = dnncc.run([dnncc.DNNCC, path, "--target=vta", "-q", "-o", folder / "m.c", f"--report={out}", *options])
    assert done.returncode == code, done.stderr
    return json.loads(out.read_text()) if not code else done.stderr


@pytest.mark.parametrize("name", MODELS)
def test_sums(name, tmp_path):
    """layers add up to launches, launches to the network, all of it is within the machine, and cycles are those of dnncc-vta"""
    facts = report(model(name), tmp_path, *MODELS[name])["accelerator"]
    network, launches = facts["network"], facts["launches"]
    assert facts["memories"] == MEMORIES and len(launches) == facts["launch_count"]
    assert facts["flops_share"] >= .95
    for launch in launches:
        for key in ("cycles", "products", "serial", "instructions", "micro_ops"):
            assert launch[key] == sum(layer[key] for layer in launch["layers"]), key
        for memory in MEMORIES:
            assert launch["bytes"][memory] == sum(layer["bytes"][memory] for layer in launch["layers"])
        for layer in launch["layers"]:
            assert layer["location"] and 0 < layer["products"] <= layer["cycles"] <= layer["serial"]
            assert layer["bound"] in ("array", "operations", "loads of compute", "read bus", "stores", "waiting")
            assert all(0 < layer["used"][m] <= MEMORIES[m] for m in MEMORIES)
            assert all(layer["least"][m] <= layer["bytes"][m] for m in MEMORIES)
    for key in ("cycles", "products", "serial", "instructions", "micro_ops"):
        assert network[key] == sum(launch[key] for launch in launches)
    programs = tmp_path / "p.vta"
    dnncc.run([dnncc.DNNCC, model(name), "--target=vta", "-q", "--emit=program", "-o", programs, *MODELS[name]])
    said = [vta("cycles", programs if k == 1 else tmp_path / f"p_{k}.vta") for k in range(1, len(launches) + 1)]
    counted = [{word: int(re.search(rf"^{word} +(\d+)", text, re.M)[1]) for word in ("cycles", "instructions")} for text in said]
    assert [c["instructions"] for c in counted] == [launch["instructions"] for launch in launches]
    assert sum(c["cycles"] for c in counted) == pytest.approx(network["cycles"], rel=1e-3)         # bursts end elsewhere at other addresses


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n == "dscnn_kws_int8" else pytest.mark.long) for n in MODELS])
def test_sums_unified(name, tmp_path):
    """the same of a machine with a unified buffer: a layer for each contraction, what stays on the chip is not moved"""
    out, programs = tmp_path / "report.json", tmp_path / "p.vta"
    options = [model(name), "--target=unified", "-q", *MODELS[name]]
    dnncc.run([dnncc.DNNCC, *options, "-o", tmp_path / "m.c", f"--report={out}"])
    dnncc.run([dnncc.DNNCC, *options, "--emit=program", "-o", programs])
    facts = json.loads(out.read_text())["accelerator"]
    assert list(facts["memories"]) == ["ub", "fifo", "acc", "par"] and facts["launches"]
    for number, launch in enumerate(facts["launches"], 1):
        layers, said = launch["layers"], vta("cycles", programs if number == 1 else tmp_path / f"p_{number}.vta")
        count = {word: int(re.search(rf"^{word} +(\d+)", said, re.M)[1])
                 for word in ("cycles", "rows", "instructions", "bytes read", "bytes weights", "bytes written")}
        for key in ("cycles", "products", "serial", "instructions"):
            assert launch[key] == sum(layer[key] for layer in layers), key
        assert [launch[key] for key in ("cycles", "products", "instructions")] == [count[word] for word in ("cycles", "rows", "instructions")]
        bytes_of = {m: sum(layer["bytes"][m] for layer in layers) for m in facts["memories"]}
        assert bytes_of["fifo"] == count["bytes weights"] and bytes_of["ub"] + bytes_of["par"] == count["bytes read"] + count["bytes written"]
        assert all(0 < layer["used"][m] <= facts["memories"][m] for layer in layers for m in ("ub", "fifo", "acc"))
        assert all(0 < layer["products"] <= layer["cycles"] <= layer["serial"] for layer in layers)
        assert launch["bound"] in ("array", "weights", "host link", "activation", "waiting")
    if name == "dscnn_kws_int8":
        assert len(facts["launches"][0]["layers"]) == 10


def without_overlap(path, folder, *options):
    """the report of the same passes but for that"""
    loops = folder / "m.loops"
    dnncc.run([dnncc.DNNCC, path, "--target=vta", "-q", "--emit=loops", "-o", loops, *options])
    passes = re.search(r'passes "([^"]*)"', loops.read_text())[1].split(",")
    assert "overlap" in passes
    return report(path, folder, "--passes=" + ",".join(p for p in passes if p != "overlap"), *options)


def convolution(path, size, inputs, outputs, kernel):
    """one of ResNet-18, of bytes"""
    random = np.random.default_rng(1)
    constants = [numpy_helper.from_array(np.asarray(a), name) for name, a in {
        "sx": np.float32(.02), "zx": np.int8(0), "w": random.integers(-127, 128, (outputs, inputs, kernel, kernel)).astype(np.int8), "sw": np.float32(.01),
        "zw": np.int8(0), "sy": np.float32(.25), "zy": np.int8(0), "b": random.integers(-5000, 5000, outputs).astype(np.int32)}.items()]
    node = helper.make_node("QLinearConv", ["x", "sx", "zx", "w", "sw", "zw", "sy", "zy", "b"], ["y"], "conv", pads=[kernel // 2] * 4)
    ports = [helper.make_tensor_value_info(name, onnx.TensorProto.INT8, [1, channels, size, size]) for name, channels in (("x", inputs), ("y", outputs))]
    onnx.save(helper.make_model(helper.make_graph([node], "one", ports[:1], ports[1:], constants), opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


@pytest.mark.parametrize("layer", [(14, 256, 256, 3)] + [pytest.param(layer, marks=pytest.mark.long) for layer in (
    (56, 64, 64, 3), (28, 128, 128, 3), (7, 512, 512, 3))], ids=["C8", "C2", "C5", "C11"])
def test_overlap(layer, tmp_path):
    """A layer of ResNet-18 takes a fifth longer without, and the report shows it; but where all its instructions one by one take less than
    that, nearly all of what they take."""
    path = convolution(tmp_path / "conv.onnx", *layer)
    with_, without = (facts["accelerator"]["network"] for facts in (report(path, tmp_path), without_overlap(path, tmp_path)))
    assert with_["products"] == without["products"]
    hidden = with_["serial"] - with_["cycles"]
    assert without["cycles"] >= min(1.2 * with_["cycles"], with_["cycles"] + .85 * hidden)
    assert hidden >= .15 * with_["cycles"]


def test_overlap_of_networks(tmp_path):
    """all layers of one: half as much again one by one, of which stages that run beside each other anyway hide a part"""
    with_, without = (facts["accelerator"]["network"] for facts in (report(model("resnet8_int8"), tmp_path), without_overlap(model("resnet8_int8"), tmp_path)))
    hidden = with_["serial"] - with_["cycles"]
    assert hidden >= .4 * with_["cycles"] and without["cycles"] >= with_["cycles"] + .4 * hidden


def test_processor(tmp_path):
    """every kernel is on the machine or has a reason, and all calls are there"""
    whole = report(model("dscnn_kws_int8"), tmp_path)
    facts = whole["accelerator"]
    calls = {launch["call"] for launch in facts["launches"]} | {k["call"] for k in facts["processor"]}
    assert calls == set(range(len(whole["calls"])))
    assert len(facts["processor"]) == facts["kernels_on_processor"] and all(k["why"] for k in facts["processor"])
    assert whole["calls"][facts["launches"][0]["call"]]["cycles"] == facts["launches"][0]["cycles"]


def test_exact(tmp_path):
    facts = report(model("dscnn_kws_int8"), tmp_path, "--exact")["accelerator"]
    assert facts["network"] is None and not facts["launches"] and facts["flops_share"] == 0
    assert {k["why"] for k in facts["processor"]} == {"--exact"}


def test_stats(tmp_path):
    done = dnncc.run([dnncc.DNNCC, model("dscnn_kws_int8"), "--target=vta", "-q", "--stats", "-o", tmp_path / "m.c"])
    assert re.search(r"^stats: machine    vta: 1 launches, (99|100)\.\d+ % of the products; \d+ kernels stay", done.stderr, re.M)
    assert len(re.findall(r"^stats: layer \d+ +\d+ cycles, +[\d.]+ % products, bound by ", done.stderr, re.M)) == 10       # the classifier is the processor's
    assert re.search(r"^stats: in C .*: \w", done.stderr, re.M)
    other = dnncc.run([dnncc.DNNCC, model("dscnn_kws_int8"), "-q", "--stats", "-o", tmp_path / "m.c"])
    assert "machine" not in other.stderr and "in C" not in other.stderr


def test_page(tmp_path):
    """the tab is there for a machine, with its tables filled, and not for others"""
    from test_page import CHROMIUM, said
    if not CHROMIUM:
        pytest.skip("no browser")
    page = tmp_path / "page.html"
    code = 'return [[...document.querySelectorAll("nav button")].map((b) => b.dataset.tab), ' \
           '["#machine-layers", "#machine-processor"].map((t) => document.querySelectorAll(t + " tbody tr").length), $("#machine-facts").textContent]'
    for options, rows in (["--target=vta"], 10), ([], 0):
        done = dnncc.run([dnncc.DNNCC, model("dscnn_kws_int8"), "-q", *options, "-o", tmp_path / "m.c", f"--report={page}"])
        assert done.returncode == 0, done.stderr
        tabs, counts, facts = said(page, code, tab="machine" if rows else "graph")
        assert ("machine" in tabs) == bool(rows) and counts[0] >= rows and bool(counts[1]) == bool(rows)
        assert not rows or "cycles" in facts


def test_comparison(tmp_path):
    """two reports beside each other: cycles with and without overlap"""
    from test_page import CHROMIUM, said
    if not CHROMIUM:
        pytest.skip("no browser")
    before = without_overlap(model("dscnn_kws_int8"), tmp_path)
    (tmp_path / "report.json").rename(tmp_path / "before.json")
    page = tmp_path / "page.html"
    done = dnncc.run([dnncc.DNNCC, model("dscnn_kws_int8"), "--target=vta", "-q", "-o", tmp_path / "m.c", f"--report={page}", f"--report-against={tmp_path / 'before.json'}"])
    assert done.returncode == 0, done.stderr
    rows = said(page, 'return [...document.querySelectorAll("#compare-sizes tbody tr")].map((r) => [...r.children].map((c) => c.textContent))', tab="compare")
    row = next(r for r in rows if r[0] == "cycles of the machine")
    then, now = (int(re.sub(r"\D", "", text)) for text in row[1:3])
    assert then == before["accelerator"]["network"]["cycles"] and then > 1.1 * now


POOL = ('dnn 1\nmodule "m"\nfunc @main(%x "x": <1 x 4 x 8 x 8 x f32>) -> ("y") {\n'
        "  %p = reduce_window(%x) kind=sum window=[1, 1, 2, 2] strides=[1, 1, 2, 2] : <1 x 4 x 4 x 4 x f32>\n"
        "  %y = mul(%p, 0.25) : <1 x 4 x 4 x 4 x f32>\n  yield(%y)\n}\n")


def test_nothing_for_the_machine(tmp_path):
    """a model of floats: what is missing, and what to do; nothing is written"""
    path = tmp_path / "pool.dnn"
    path.write_text(POOL)
    for emit in ("c", "program"):
        done = dnncc.run([dnncc.DNNCC, path, "--target=vta", f"--emit={emit}", "-o", tmp_path / ("pool.c" if emit == "c" else "pool.vta")])
        assert done.returncode == 4 and not (tmp_path / "pool.c").exists()
        assert "no convolution or product of bytes" in done.stderr and "--quantize" in done.stderr
    assert dnncc.run([dnncc.DNNCC, path, "--target=vta", "--exact", "-o", tmp_path / "pool.c"]).returncode == 0
