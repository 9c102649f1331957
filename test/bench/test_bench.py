# SPDX-License-Identifier: MIT
"""The benchmark harness: a whole run on a tiny model, and what the tables make of results."""
import json
import os
import pathlib
import re
import shutil
import sys
import types

import numpy as np
import onnx
import onnxruntime.quantization
import pytest
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import bench as runner  # noqa: E402
import dnncc  # noqa: E402
import extents  # noqa: E402
import layers  # noqa: E402
import processor  # noqa: E402
import sources  # noqa: E402
import subjects  # noqa: E402
import tables  # noqa: E402
from quantized import onnxruntime_saturates  # noqa: E402


real = pytest.mark.skipif(not (subjects.REAL / "mnist_cnn").exists(), reason="no ../shared/models")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """a convolution and an activation"""
    rng = np.random.default_rng(0)
    weights = [numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)
               for name, shape in (("w", (64, 3, 3, 3)), ("b", (64,)))]
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv", pads=[1] * 4), helper.make_node("Relu", ["c"], ["y"], "relu")]
    port = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "tiny", [port("x", TensorProto.FLOAT, [1, 3, 8, 8])], [port("y", TensorProto.FLOAT, [1, 64, 8, 8])],
                              weights)
    path = tmp_path_factory.mktemp("model") / "tiny.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


def bench(out, model, *options):
    command = [sys.executable, HERE / "bench.py", f"--models={model}", f"--out={out}", "--target=generic", "--quick",
               "--peers=onnxruntime", f"--write={out / 'benchmarks.md'}", *options]
    done = dnncc.run(command, timeout=300)
    assert done.returncode == 0, done.stderr
    return done


def test_a_run(tmp_path, model):
    threads = [1, 2][:len(os.sched_getaffinity(0))]
    done = bench(tmp_path, model, f"--threads={','.join(map(str, threads))}", "--seconds=0.02")
    assert "tiny, 1 thread(s), generic: dnncc" in done.stdout
    result = json.loads((tmp_path / "results" / "tiny.times.json").read_text())
    assert result["model"] == "tiny" and [r["threads"] for r in result["runs"]] == threads
    for run in result["runs"]:
        assert run["reference"] == "float64" and list(run["engines"]) == ["dnncc", "dnncc bf16", "onnxruntime"]
        for name, fact in run["engines"].items():
            assert fact["time"] >= fact["min"] > 0 and fact["ratio"] > 0 and len(fact["blocks"]) == run["rounds"] == 2
            assert fact["load"] > 0 and fact["first"] > 0 and 0 <= fact["error"] < (1e-2 if name == "dnncc bf16" else 1e-6)
        assert run["engines"]["dnncc"]["ratio"] == 1 and run["engines"]["dnncc"]["prepared"] > 0
    text = (tmp_path / "benchmarks.md").read_text()
    assert "| tiny | 1 |" in text and "Table 2" in text and f"onnxruntime {onnxruntime.__version__}" in text


def test_a_run_of_a_quantized_model(tmp_path, model):
    """beside the model as it is written; --set renews its part of the file alone"""
    class Samples(onnxruntime.quantization.CalibrationDataReader):
        data = iter([{"x": np.random.default_rng(k).standard_normal((1, 3, 8, 8)).astype(np.float32)} for k in range(2)])

        def get_next(self):
            return next(self.data, None)

    path, report = tmp_path / "tiny8.onnx", tmp_path / "benchmarks.md"
    onnxruntime.quantization.quantize_static(model, path, Samples(), per_channel=True)
    report.write_text("# Measured before\n\n## Quantized models\n\nolder\n")
    bench(tmp_path, path, "--threads=1", "--seconds=0.02", "--set=quantized", "--clock=processor")
    run, = json.loads((tmp_path / "results" / "tiny8.times.json").read_text())["runs"]
    assert run["quantized"] and run["reference"] == "onnxruntime, node by node" and list(run["engines"]) == ["dnncc", "onnxruntime"]
    ours = run["engines"]["dnncc"]
    assert ours["error"] <= 0.01 and (onnxruntime_saturates() or (ours["apart"] <= 0.01 and ours["same"] > 0.99))
    assert ours["file"] == path.stat().st_size and 1728 <= ours["constants"] <= ours["file"]       # 64 x 3 x 3 x 3 bytes
    text = report.read_text()
    assert text.startswith("# Measured before\n\n## Quantized models\n") and "| tiny8 | 1 |" in text and "older" not in text
    assert run["clock"] == "processor" and "- times are the processor's" in text


PEER = """\
#include <stdint.h>
static void scale(const float *x, float *y) { for (int i = 0; i < 6; i++) y[i] = %s * x[i]; }
void entry(const float tensor_x[1][2][3], float tensor_y[1][2][3]) { scale(&tensor_x[0][0][0], &tensor_y[0][0][0]); }
"""


def test_peers_that_write_c(tmp_path, monkeypatch):
    """what a program named onnx2c writes for a model that doubles; another one that is wrong; a table for each set of flags"""
    port = helper.make_tensor_value_info
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["y"])], "g", [port("x", TensorProto.FLOAT, [1, 2, 3])],
                              [port("y", TensorProto.FLOAT, [1, 2, 3])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), tmp_path / "twice.onnx")
    program, out = tmp_path / "onnx2c", tmp_path / "out"
    for factor in ("2", "3"):
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{PEER % factor}END\n")
        program.chmod(0o755)
        monkeypatch.setenv("ONNX2C", str(program))
        done = dnncc.run([sys.executable, HERE / "bench.py", "--set=portable", f"--models={tmp_path / 'twice.onnx'}", f"--out={out}", "--quick",
                          "--seconds=0.01", "--peers=onnx2c", f"--before={dnncc.DNNCC}", f"--write={tmp_path / 'b.md'}"], timeout=300)
        assert done.returncode == 0, done.stderr
        runs = json.loads((out / "results" / "twice.portable.json").read_text())["runs"][-2:]
        assert [r["cflags"] for r in runs] == ["-O2", "-O3 -march=native"] and all(r["clock"] == "processor" for r in runs)
        for run in runs:
            assert list(run["engines"]) == ["dnncc", "dnncc before", "onnx2c"] and run["engines"]["dnncc"]["error"] == 0
            assert run["engines"]["onnx2c"]["time"] > 0 and run["engines"]["onnx2c"]["error"] == (0 if factor == "2" else 0.5)
        text = (tmp_path / "b.md").read_text()
        row = next(line for line in text.splitlines() if line.startswith("| twice | -O3 -march=native |"))
        assert len(row.split(" | ")) == 5 and ("[" in row) == (factor == "3"), row
        shutil.rmtree(out / "prepared")
    assert text.startswith(tables.NOTHING) and "\n## Portable C\n" in text and "Slower than a peer with `-O2`: " in text


def test_ports_of_a_peer():
    text = "void entry(const int8_t a[restrict 1][49], const float b[2], int64_t c[1][3][5]) {\n}"
    assert sources.ports(text, "entry") == [(False, "int8_t", [1, 49]), (False, "float", [2]), (True, "int64_t", [1, 3, 5])]
    assert "entry(in[0], in[1], out[0]);" in sources.wrap(text, "entry", "1") and "{ 1, 3, 5 }, 0, 120 }" in sources.wrap(text, "entry", "1")
    for wrong in ("int entry;", "void entry(float x) {", "void entry(struct s x[2]) {"):
        with pytest.raises(subjects.Failed):
            sources.ports(wrong, "entry")


def test_parts_of_the_file(tmp_path):
    """a part that was not measured stays as it was, wherever it stands"""
    path = tmp_path / "b.md"
    path.write_text("# Measured before\n\n## Quantized models\n\nolder\n\n## Portable C\n\nthe same\n")
    (tmp_path / "results").mkdir()
    for name in ("m", "n"):
        document = quantized_document(name, dnncc={"time": 1.0, "ratio": 1.0, "error": 0.0})
        (tmp_path / "results" / f"{name}.times.json").write_text(json.dumps(document))
        tables.write(path, tmp_path / "results", "quantized")
        text = path.read_text()
        assert text.startswith("# Measured before\n\n## Quantized models\n") and text.endswith("\n## Portable C\n\nthe same\n")
        assert f"| {name} | 1 |" in text and "older" not in text


@pytest.mark.parametrize("kind, heading", [("bf16", "bf16 in vectors"), ("pairs", "Bytes in pairs of 16 bits"), ("tiles", "Bytes in tiles")])
def test_small_part(kind, heading, tmp_path):
    """it has results of its own, and stands behind the others"""
    path = tmp_path / "b.md"
    path.write_text("# Measured before\n\n## Portable C\n\nthe same\n")
    (tmp_path / "results").mkdir()
    facts = {"dnncc": {"time": 2.0, "ratio": 1.0, "error": 0.0}, "dnncc bf16": {"time": 1.0, "ratio": 0.5, "error": 0.0}}
    (tmp_path / "results" / f"m.{kind}.json").write_text(json.dumps(quantized_document("m", **facts)))
    tables.write(path, tmp_path / "results")
    text = path.read_text()
    assert text.startswith(f"# Measured before\n\n## Portable C\n\nthe same\n\n## {heading}\n") and "| m | 1 |" in text


def test_processor_time_of_threads_that_wait():
    done = dnncc.run([sys.executable, HERE / "bench.py", "--clock=processor", "--threads=1,2"])
    assert done.returncode == 2 and "--clock=processor wants --threads=1" in done.stderr


@pytest.mark.sample(2)
@pytest.mark.parametrize("options, columns", [([], 8), (["--cc"], 8)], ids=["dnncc", "cc"])
def test_compile_time(tmp_path, model, options, columns):
    command = [sys.executable, HERE / "compile_bench.py", model, "--target=generic", "--runs=1", f"--write={tmp_path / 'c.md'}", *options]
    done = dnncc.run(command, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = [line.split("|")[1:-1] for line in (tmp_path / "c.md").read_text().splitlines() if line.startswith("| tiny |")]
    assert len(rows) == (6 if options else 1) and all(len(row) == columns for row in rows)
    assert float(rows[0][4]) >= 0, rows


@pytest.mark.sample(2)
@pytest.mark.parametrize("weights", ["incbin", "file"])
def test_layers(tmp_path, model, weights):
    done = bench(tmp_path, model, "--layers", "--threads=1", f"--options=--weights={weights}")
    run, = json.loads((tmp_path / "results" / "tiny.layers.json").read_text())["runs"]
    call, = run["calls"]
    assert call["kind"] == "3x3 s1" and call["flops"] == 8 * 8 * 64 * (2 * 27 + 2) and run["peak"] > 0 and run["amid"] > 0 and run["read"] > 0
    assert 0 < call["time"] <= run["total"] and "conv" in done.stdout and "by kind:" in done.stdout


@pytest.mark.parametrize("summary, kind", [
    ("convolve <1 x 64 x 56 x 56 x f32> by <64 x 64 x 3 x 3 x f32>, add, max -> <1 x 64 x 56 x 56 x f32>", "3x3 s1"),
    ("convolve <1 x 64 x 56 x 56 x f32> by <64 x 64 x 1 x 1 x f32> -> <1 x 64 x 56 x 56 x f32>", "1x1 s1"),
    ("convolve <1 x 3 x 224 x 224 x f32> by <64 x 3 x 7 x 7 x f32> -> <1 x 64 x 112 x 112 x f32>", "strided"),
    ("convolve <1 x 32 x 56 x 56 x f32> by <32 x 1 x 3 x 3 x f32> -> <1 x 32 x 56 x 56 x f32>", "depthwise"),
    ("convolve_packed <1 x 4 x 58 x 58 x 16 x f32> by <2 x 4 x 3 x 3 x 16 x 2 x 16 x f32>, max -> <1 x 4 x 56 x 56 x 16 x f32>", "3x3 s1"),
    ("convolve_packed <1 x 1 x 768 x f32> by <24 x 1 x 768 x 2 x 16 x f32>, add -> <1 x 1 x 768 x f32>", "gemm"),
    ("dot <1 x 64 x f32> by <10 x 64 x f32>, add -> <1 x 10 x f32>", "gemm"),
    ("reduce <1 x 10 x f32> -> <1 x f32>", "other"), ("copy -> <4 x f32>", "other"), ("", "other")])
def test_kinds(summary, kind):
    assert layers.kind(summary) == kind


@pytest.mark.parametrize("summary, name", [
    ("convolve_packed <1 x 4 x 58 x 58 x 16 x f32> by <2 x 4 x 3 x 3 x 16 x 2 x 16 x f32>, max -> <1 x 4 x 56 x 56 x 16 x f32>", "3x3 s1"),
    ("convolve_packed <1 x 32 x 9 x 9 x 16 x f32> by <16 x 32 x 3 x 3 x 16 x 2 x 16 x f32>, max -> <1 x 32 x 7 x 7 x 16 x f32>", "7-wide"),
    ("convolve <1 x 512 x 7 x 7 x f32> by <64 x 512 x 1 x 1 x f32> -> <1 x 64 x 7 x 7 x f32>", "7-wide"),
    ("convolve_packed <1 x 16 x 14 x 14 x 16 x f32> by <64 x 16 x 1 x 1 x 16 x 2 x 16 x f32> -> <1 x 64 x 7 x 7 x 16 x f32>", "strided"),
    ("convolve_packed <1 x 4 x 56 x 56 x 16 x f32> by <2 x 4 x 1 x 1 x 16 x 2 x 16 x f32>, mul, convolve_lanes -> <1 x 4 x 56 x 56 x 16 x f32>",
     "layer chains"),
    ("convolve_winograd <1 x 4 x 58 x 58 x 16 x f32> by <36 x 2 x 64 x 2 x 16 x f32> -> <1 x 4 x 56 x 56 x 16 x f32>", "winograd"),
    ("convolve <1 x 8 x 17 x 17 x f32> by <8 x 8 x 1 x 7 x f32> -> <1 x 8 x 17 x 17 x f32>", "other"),
    ("dot <1 x 64 x f32> by <10 x 64 x f32>, add -> <1 x 10 x f32>", "products"),
    ("convolve_lanes <1 x 4 x 58 x 58 x 16 x f32> by <4 x 3 x 3 x 16 x f32> -> <1 x 4 x 56 x 56 x 16 x f32>", None), ("copy -> <4 x f32>", None)])
def test_classes(summary, name):
    assert layers.layer_class(summary) == name


def test_shares():
    """a row for each class, by default and without Winograd's algorithm, each against the peak of its own process"""
    direct = "convolve_packed <1 x 4 x 58 x 58 x 16 x f32> by <2 x 4 x 3 x 3 x 16 x 2 x 16 x f32> -> <1 x 4 x 56 x 56 x 16 x f32>"
    fast = "convolve_winograd <1 x 4 x 58 x 58 x 16 x f32> by <36 x 2 x 64 x 2 x 16 x f32> -> <1 x 4 x 56 x 56 x 16 x f32>"

    def run(options, peak, *calls):
        calls = [{"summary": s, "kind": layers.kind(s), "time": t, "flops": f, "location": ""} for s, t, f in calls]
        return {"threads": 1, "options": options, "peak": peak, "total": 1.0, "calls": calls}

    document = {"model": "m", "runs": [
        run("", 100.0, ("old", 1.0, 1)),
        run("", 100.0, (fast, 0.001, 5e7), (direct, 0.001, 4e7), (direct, 0.001, 8e7), ("softmax <1 x 9 x f32> -> <1 x 9 x f32>", 0.1, 9)),
        run(layers.DIRECT, 200.0, (direct, 0.004, 6.4e8))]}
    rows = [line for line in tables.in_situ([document]).splitlines() if line.startswith("| m | 1 |")]
    assert rows[:2] == ["| m | 1 | 3x3 s1 | 2 | 2.000 | 60.0 | 60 % | 1 | 4.000 | 160.0 | 80 % | 80 % |",
                        "| m | 1 | winograd | 1 | 1.000 | 50.0 | 50 % |  |  |  |  |  |"]
    assert rows[2] == "| m | 1 | other | 1 | 100.000 | 10.0% | 0.0 | 0 % |" and len(rows) == 5
    document["runs"][2]["amid"] = 180.0
    assert "| m |  |  | 200 | 180 |" in tables.in_situ([document])


def test_error():
    want = [np.array([1.0, -4.0]), np.array([3], np.int64)]
    assert subjects.error(want, want) == 0
    assert subjects.error([np.array([1.5, -4.0], np.float32), want[1]], want) == 0.125
    for wrong in ([want[0]], [np.array([np.nan, 0]), want[1]], [np.array([1.0]), want[1]]):
        assert subjects.error(wrong, want) == np.inf


def test_double_model(model):
    """weights stay as they are; everything is computed in double"""
    double = subjects.to_double(onnx.load(model))
    onnx.checker.check_model(onnx.shape_inference.infer_shapes(double, check_type=True, strict_mode=True), full_check=True)
    assert {i.data_type for i in double.graph.initializer} == {TensorProto.FLOAT}
    assert double.graph.output[0].type.tensor_type.elem_type == TensorProto.DOUBLE


def test_what_does_not_count():
    """a peer that is not fp32, or failed, is in brackets or absent, and in no mean; runs of several hours give their median"""
    def run(peer_ratio, error):
        return {"threads": 1, "target": "native", "options": "", "engines": {
            "dnncc": {"time": 1.0, "ratio": 1.0, "error": 1e-7}, "good": {"time": peer_ratio, "ratio": peer_ratio, "error": 1e-6},
            "bad": {"time": 0.5, "ratio": 0.5, "error": error}, "broken": {"failed": "no such operator"}}}

    document = {"model": "m", "runs": [run(1.5, 1e-3), run(2.0, 1e-3), run(4.0, 1e-3)]}
    rows = tables.times([document], ["good", "bad", "broken"], 1e-4, False).splitlines()
    assert rows[2:] == ["| m | 1 | **1000** | 2000 (2.00) | [500 (0.50)] | - | 2.00 |", "| geometric mean (native) | 1 |  | 2.00 | - | - | 2.00 |"]
    rows = tables.times([{"model": "m", "runs": [run(2.0, 1e-5)]}], ["good", "bad"], 1e-4, False).splitlines()
    assert rows[2] == "| m | 1 | 1000 | 2000 (2.00) | **500 (0.50)** | 0.50 |"
    runs = [run(2.0, 1e-3), {**run(4.0, 1e-3), "clock": "processor"}]           # two clocks are not put together
    rows = tables.times([{"model": "m", "runs": runs}], ["good"], 1e-4, False).splitlines()
    assert [row.split(" | ")[3] for row in rows[2:4]] == ["2000 (2.00)", "4000 (4.00)"]


def quantized_document(model, **engines):
    machine = {"cpu": "cpu", "cores": 1, "extensions": [], "system": "6", "commit": "c", "dnncc": "d", "flags": "", "cc": "cc", "wheels": {}}
    run = {"threads": 1, "target": "native", "options": "", "quantized": True, "engines": engines, "turns": 1, "disturbed": 0, "gate_gave_up": 0}
    return {"model": model, "machine": machine, "runs": [run]}


def test_quantized_table(tmp_path):
    """an error counts up to what quantization costs; f32 is not a peer; what is refused is listed"""
    def engine(ratio, error, **more):
        return {"time": ratio, "ratio": ratio, "error": error, **more}

    ours = engine(1.0, 0.15, same=0.875, apart=0.125, constants=300, file=200)
    documents = [quantized_document("deep", dnncc=ours, **{tables.F32: engine(0.5, 0.2)}, near=engine(2.0, 0.2), far=engine(0.25, 0.31)),
                 quantized_document("odd", dnncc={"failed": "dnncc: no such operator"}, near={"time": 3.0, "error": 0.0})]
    (tmp_path / "results").mkdir()
    for document in documents:
        (tmp_path / "results" / f"{document['model']}.times.json").write_text(json.dumps(document))
    tables.write(tmp_path / "b.md", tmp_path / "results")
    text = (tmp_path / "b.md").read_text()
    assert text.startswith(tables.NOTHING) and "| model | threads | dnncc | dnncc f32 | near | far | ratio to the best | equal | constants |" in text
    assert "| deep | 1 | **1000 1e-01** | 500 (0.50) 2e-01 | 2000 (2.00) 2e-01 | [250 (0.25) 3e-01] | 2.00 | 87.5% 1e-01 | 1.50 |" in text
    assert "| odd | 1 | refused | - | **3000 0e+00** | - | - | - | - |" in text and "- odd: no such operator" in text
    assert "| geometric mean (native) | 1 |  | 0.50 | 2.00 | - | 2.00 |  |  |" in text


@real
def test_sets():
    """each model is in one set"""
    sets = {name: set(models()) for name, models in subjects.SETS.items()}
    assert not sets["f32"] & sets["quantized"] and subjects.SMALLEST in sets["f32"] and "resnet50" in sets["f32"]
    assert set(subjects.real_models()) <= sets["f32"] | sets["quantized"]
    assert {"resnet50_qdq_u8", "gpt_step_nbits4", "resnet8_int8", "micro_kws_qoperator"} <= sets["quantized"]


@real
def test_hours(tmp_path):
    """what another build measured leaves its ratios; a peer that is wrong leaves none"""
    def run(when, ratio):
        engines = {"dnncc": {"time": 1, "ratio": 1.0, "error": 0}, "onnxruntime": {"time": ratio, "ratio": ratio, "error": 0},
                   "openvino default": {"time": 0.1, "ratio": 0.1, "error": 0}, "ncnn": {"time": 0.2, "ratio": 0.2, "error": 1}}
        return {"threads": 1, "target": "native", "options": "", "when": when, "engines": engines}

    o = types.SimpleNamespace(out=tmp_path)
    for build, when, ratio in (("a", "2026-01-01 10:05", 1.5), ("a", "2026-01-01 11:05", 1.3), ("b", "2026-01-02 09:00", 1.2)):
        runner.keep(o, "net", "times", {"dnncc": build}, run(when, ratio))
    document = json.loads((tmp_path / "results" / "net.times.json").read_text())
    assert [r["when"] for r in document["runs"]] == ["2026-01-02 09:00"]
    text = tables.hours([document])
    assert "| net | 1 | 3 | 1.20 | 1.30 | 1.50 | 1.20 | 1.30 | 1.50 |" in text
    assert "2026-01-01 10h a; 2026-01-01 11h a; 2026-01-02 09h b" in text
    runner.keep(o, "net", "times", {"dnncc": "b"}, {**run("2026-01-02 10:00", 1.1), "model": "another of that name"})
    document = json.loads((tmp_path / "results" / "net.times.json").read_text())
    assert [r["when"] for r in document["runs"]] == ["2026-01-02 10:00"]


REAL_TRAFFIC = "mnist_cnn,super_resolution,resnet8_fp32,resnet8_int8,dscnn_kws_int8,micro_kws_fp32,micro_kws_qdq,micro_kws_qoperator,cct2_vit"
MADE_TRAFFIC = "squeezenet,recommender"


@pytest.mark.sample(2)
@pytest.mark.parametrize("models, row", [pytest.param(REAL_TRAFFIC, r"generic +0.09 MB \(1.00\), 1.6 MFLOP \(1.00\), 5 kernels", marks=real),
                                         (MADE_TRAFFIC, r"generic +24.69 MB \(0.68\), 698.3 MFLOP \(1.00\), \d+ kernels")], ids=["real", "made"])
def test_traffic(tmp_path, models, row):
    """never more FLOPs than onnxruntime's graph, nor more bytes, but for the borders that small images of bytes are stored with, and the 16
    bits of those that are multiplied in pairs (x86-64-v4); where nothing is left to fuse but bias and activation, as many"""
    done = dnncc.run([sys.executable, subjects.HERE / "traffic.py", f"--models={models}", f"--out={tmp_path}"], timeout=600)
    assert done.returncode == 0, done.stderr
    blocks = re.findall(r"^(\w+): onnxruntime .*\n  generic .*\((\S+)\), .*\((\S+)\).*\n  x86-64-v4 .*\((\S+)\), .*\((\S+)\)", done.stdout, re.M)
    assert [name for name, *_ in blocks] == models.split(",")
    for name, *ratios in blocks:
        most = (1.2, 2) if re.search("int8|_q", name) else (1, 1)
        assert all(float(r) <= m for r, m in zip(ratios[::2], most)) and all(float(flops) <= 1 for flops in ratios[1::2]), done.stdout
    assert re.search(row, done.stdout), done.stdout


def test_traffic_table():
    """what docs/measurements/memory.md says of all models: never more than onnxruntime"""
    text = (subjects.ROOT / "docs" / "measurements" / "memory.md").read_text()
    table = text[text.index("<!-- traffic -->"):text.index("<!-- end of traffic -->")]
    rows = {line.split(" | ")[0][2:]: [float(r) for r in re.findall(r"\(([0-9.]+)\)", line)] for line in table.splitlines()[3:]}
    assert len(rows) > 25 and all(r <= 1 for ratios in rows.values() for r in ratios), table


def test_instructions():
    """exact, and the same again; a kernel's count is a part of the model's"""
    if not processor.has("aarch64"):
        pytest.skip("no emulator of aarch64")
    command = [sys.executable, HERE / "instructions.py", f"--models={dnncc.ROOT / 'examples' / 'digits' / 'digits.onnx'}", "--target=aarch64", "--kernels",
               f"--dnncc={dnncc.DNNCC}"]
    first, again = dnncc.run(command, timeout=300), dnncc.run(command, timeout=300)
    assert first.returncode == 0 and first.stdout == again.stdout, first.stderr
    total = float(re.search(r"\| aarch64 \| ([0-9.]+) M \|", first.stdout)[1]) * 1e6
    kernels = [int(line.split()[0]) for line in first.stdout.splitlines() if line.startswith("    ")]
    assert len(kernels) > 1 and abs(sum(kernels) - total) < 1000 and min(kernels) > 0


@pytest.mark.long
@pytest.mark.slow
def test_state():
    """a step on state beside onnxruntime's: times, and results that are alike"""
    done = dnncc.run([sys.executable, HERE / "state.py", "1", "2"], env={**os.environ, "DNNCC": str(dnncc.DNNCC)}, timeout=300)
    found = re.match(r"dnncc [\d.]+ ms, onnxruntime [\d.]+ ms: [\d.]+ times; largest difference ([\d.e-]+)$", done.stdout)
    assert found and float(found[1]) < 1e-4, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("model", ["batch", "lstm"])
def test_extents(model, capsys, monkeypatch):
    """code for every length beside code for one: a line for each length, and what they come to"""
    monkeypatch.setattr(extents, "ROUND_MICROSECONDS", 10)
    extents.main([model, "N", "4", "1,3", "--target=generic"])
    lines = capsys.readouterr().out.splitlines()
    assert [re.match(r"N = +(\d+)  1\.\.4 +[\d.]+  alone +[\d.]+  [\d.]+$", line)[1] for line in lines[:2]] == ["1", "3"]
    assert re.match(r"geometric mean [\d.]+, most [\d.]+; gcc -O2: [\d.]+ s for [\d.]+ s$", lines[2])
