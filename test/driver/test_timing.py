# SPDX-License-Identifier: MIT
"""--bench, and --runner for machines that this one is not."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
import onnx.reference
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import dnncc  # noqa: E402

DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"
UNITS = {"us": 1e-6, "ms": 1e-3}


def bench(*arguments, model=DIGITS, **keywords):
    return dnncc.run([dnncc.DNNCC, model, "--target=native", *arguments], **keywords)


def number(text, pattern):
    found = re.search(pattern, text)
    assert found, text
    return float(found[1]) * UNITS.get(found[2] if len(found.groups()) > 1 else "", 1)


def test_whole(tmp_path):
    done = bench("--bench=1", cwd=tmp_path)
    assert done.returncode == 0 and not done.stderr, done.stderr
    median, p5, p95 = (number(done.stdout, rf"{word} +([\d.]+) (us|ms)") for word in ("median", "p5", "p95"))
    assert 0 < p5 <= median <= p95
    gflop = number(done.stdout, r"GFLOP/s, ([\d.e-]+) GFLOP a run")
    assert number(done.stdout, r"rate +([\d.]+) GFLOP/s") == pytest.approx(gflop / median, rel=0.02)
    dnncc.run([dnncc.DNNCC, DIGITS, "--target=native", "-o", tmp_path / "m.c"])
    size = number((tmp_path / "m.h").read_text(), r"M_WORKSPACE_SIZE +(\d+)u")
    assert number(done.stdout, r"workspace +(\d+) bytes") == size


def runner(folder, model=DIGITS, clock="wall"):
    """times of test/bench/runner.c, another harness, on the same code"""
    (folder / "in").mkdir()
    (folder / "out").mkdir()
    done = dnncc.run([dnncc.DNNCC, model, "--target=native", "--name=model", "-o", folder / "model.c"])
    assert done.returncode == 0, done.stderr
    root = dnncc.ROOT
    for command in (["cc", "-O2", "-shared", "-fPIC", "-o", folder / "model.so", folder / "model.c"],
                    ["cc", "-O2", f"-I{root}", "-o", folder / "runner", root / "test/bench/runner.c", root / "runtime/memory.c",
                     root / "runtime/threads.c", "-lpthread", "-ldl"]):
        built = dnncc.run(command)
        assert built.returncode == 0, built.stderr
    shape = [d.dim_value for d in onnx.load(model).graph.input[0].type.tensor_type.shape.dim]
    np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32).tofile(folder / "in" / "0.bin")

    def measure():
        done = subprocess.run([folder / "runner", folder / "model.so", folder / "in", folder / "out", "0"], input=f"run 1 {clock}\n", text=True,
                              capture_output=True)
        return np.array(json.loads(done.stdout.splitlines()[1]))
    return measure


@pytest.mark.slow
def test_another_harness_agrees(tmp_path):
    """within 3 % on a quiet machine (below); here others run as well"""
    ours = number(bench("--bench=1").stdout, r"median +([\d.]+) (us|ms)")
    assert 0.7 < ours / np.median(runner(tmp_path)()) < 1.43


def agree(turn, names, least=4, most=40, within=0.03):
    """Two clocks agree when what each showed least does: turns alternate, and go on while others on the machine are in the way of one.
    turn() gives {name: (one, the other)}."""
    found = {name: [] for name in names}
    for count in range(1, most + 1):
        for name, pair in turn().items():
            found[name].append(pair)
        best = {name: np.min(pairs, axis=0) for name, pairs in found.items()}
        ratios = {name: one / other for name, (one, other) in best.items()}
        if count >= least and all(abs(ratio - 1) <= within for ratio in ratios.values()):
            return ratios
    raise AssertionError(ratios)


def convolutions(folder):
    """three of them, some hundred microseconds each"""
    r = np.random.default_rng(1)
    nodes, constants = [], []
    for k, (before, after) in enumerate(((16, 64), (64, 96), (96, 32))):
        constants.append(onnx.numpy_helper.from_array((r.standard_normal((after, before, 3, 3)) / 30).astype(np.float32), f"w{k}"))
        nodes.append(onnx.helper.make_node("Conv", [f"v{k}", f"w{k}"], [f"v{k + 1}"], f"conv{k}", pads=[1, 1, 1, 1]))
    port = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "g", [port("v0", 1, [1, 16, 28, 28])], [port("v3", 1, [1, 32, 28, 28])], constants)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), folder / "convolutions.onnx")
    return folder / "convolutions.onnx"


# what --bench compiles, with processor time for the clock: others on the machine do not change what is compared
PROCESSOR = """sed -i 's/^#define TIME .*/#define TIME CLOCK_PROCESS_CPUTIME_ID/' timed_main.c
exec cc -O2 "$@"
"""


@pytest.mark.long
@pytest.mark.slow
def test_threads_need_no_library(tmp_path):
    """dnncc brings the runtime's threads; a dnncc_parallel of --cc's is taken instead"""
    env = {k: v for k, v in os.environ.items() if k not in ("LIBRARY_PATH", "C_INCLUDE_PATH", "CPATH")}
    (tmp_path / "own.c").write_text("#include <stdio.h>\nvoid dnncc_parallel(void (*task)(void *, int, int), void *arg, int count)\n"
                                    "{ static int n; if (!n++) fclose(fopen(\"/%s/ran\", \"w\")); for (int i = 0; i < count; i++) task(arg, i, count); }\n" % tmp_path)
    for cc in "cc -O1", f"cc -O1 {tmp_path}/own.c":
        done = dnncc.run([dnncc.DNNCC, DIGITS, "--target=x86-64", "--threads=2", "--bench=1", f"--cc={cc}"], cwd=tmp_path, env=env)
        assert done.returncode == 0 and "2 threads" in done.stdout, done.stderr
        assert (tmp_path / "ran").exists() == ("own" in cc)
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--target=x86-64", "--threads=2", "--tune", "--schedule=book", "--cc=cc -O1", "--limit", "tune_seconds=1"], cwd=tmp_path, env=env)
    assert done.returncode == 0 and (tmp_path / "book").exists(), done.stderr


@pytest.mark.long
def test_the_benchs_runner_agrees(tmp_path):
    model = convolutions(tmp_path)
    (tmp_path / "cc.sh").write_text(PROCESSOR)
    measure = runner(tmp_path, model, "processor")

    def ours():                         # means: where the clock is coarse, single runs take nothing or a tick
        return 1 / number(bench("--bench=1", f"--cc=sh {tmp_path}/cc.sh", model=model).stdout, r"(\d+) runs in 1 s")
    found = agree(lambda: {"mean": (ours(), np.mean(measure()))}, ["mean"], most=80)
    print(f"\n--bench to the bench's runner, processor time: {found['mean']:.3f}")


TIMER = r"""#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "model.h"
enum { CALLS_MAX = 64, RUNS = 400 };
static double times[CALLS_MAX][RUNS], last;
static int run;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec; }
void dnncc_profile(int kernel);
void dnncc_profile(int kernel) { double t = now(); if (kernel >= 0) times[kernel][run] = t - last; last = now(); }
static int compare(const void *a, const void *b) { double x = *(const double *)a, y = *(const double *)b; return (x > y) - (x < y); }
MODEL_WORKSPACE_DEFINE(workspace);
int main(void)
{
        static float x[MODEL_V0_ELEMS], y[MODEL_V3_ELEMS];
        for (int k = 0; k < MODEL_V0_ELEMS; k++)
                x[k] = (float)(k * 7919 % 1000) / 1000;
        for (run = 0; run < RUNS; run++)
                if (model_run(workspace, x, y))
                        return 1;
        for (int k = 0; k < CALLS_MAX; k++) {
                qsort(times[k], RUNS, sizeof(double), compare);
                printf("%.9f\n", times[k][RUNS / 2]);
        }
        return 0;
}
"""


@pytest.mark.long
def test_times_of_the_page(tmp_path):
    """those of kernels that take a tenth or more, beside a timer of the test's own"""
    model = convolutions(tmp_path)
    (tmp_path / "timer.c").write_text(TIMER)
    dnncc.compile_model(model, tmp_path, ["--target=native", "--profile"])
    done = dnncc.run(["cc", "-O2", "-o", tmp_path / "timer", tmp_path / "timer.c", tmp_path / "model.c"])
    assert done.returncode == 0, done.stderr

    def turn():
        page = tmp_path / "m.html"
        assert bench("--bench=1", f"--report={page}", model=model).returncode == 0
        calls = json.loads(re.search(r'id="facts">\n(.*?)</script>', page.read_text(), re.S).group(1))["calls"]
        own = [float(line) for line in dnncc.run([tmp_path / "timer"]).stdout.split()]
        whole = sum(call["seconds"] for call in calls)
        return {k: (call["seconds"], own[k]) for k, call in enumerate(calls) if call["flops"] > 1e6 and whole > 0}
    agree(turn, list(turn()))


def test_kernels(tmp_path):
    """each call once, the longest first; what all take is what a run takes"""
    done = bench("--bench=kernels,1")
    rows = re.findall(r"^ *([\d.]+)% +([\d.]+) +([\d.]+) +([\d.]+) +(\d+) +(\d+)%  (\S+)", done.stdout, re.MULTILINE)
    assert dnncc.run([dnncc.DNNCC, DIGITS, "--target=native", f"--report={tmp_path}/r.json", "-o", tmp_path / "m.c"]).returncode == 0
    calls = {call["kernel"]: call for call in json.loads((tmp_path / "r.json").read_text())["calls"]}
    assert {row[6] for row in rows} == set(calls)
    times = [float(row[1]) for row in rows]
    assert times == sorted(times, reverse=True) and abs(sum(float(row[0]) for row in rows) - 100) < 0.5
    assert sum(float(row[2]) for row in rows) == pytest.approx(sum(times), rel=0.02), "predictions are of the same sum"
    for row in rows:
        assert int(row[4]) == calls[row[6]]["read"] + calls[row[6]]["written"]
    whole = number(done.stdout, r"all of them timed took ([\d.]+) us")
    assert 0.7 * whole < sum(times) <= 1.05 * whole       # of so small a model asking the clock is a tenth


def test_loops(tmp_path):
    """a call within a loop of main counts, in bytes, in operations and in what is predicted, as often as it runs"""
    steps, width, random = 9, 96, np.random.default_rng(0)
    weights = [onnx.numpy_helper.from_array(random.standard_normal(s, np.float32) / 8, n)
               for n, s in (("w", (1, 4 * width, width)), ("r", (1, 4 * width, width)), ("b", (1, 8 * width)))]
    node = onnx.helper.make_node("LSTM", ["x", "w", "r", "b"], ["y"], hidden_size=width)
    ports = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, s) for n, s in (("x", [steps, 1, width]), ("y", [steps, 1, 1, width]))]
    model = tmp_path / "m.onnx"
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([node], "m", ports[:1], ports[1:], weights), opset_imports=[onnx.helper.make_opsetid("", 14)],
                                     ir_version=8), model)
    done = bench("--bench=kernels,1", model=model)
    assert done.returncode == 0, done.stderr
    found = [int(row) for row in re.findall(r"^ *[\d.]+% +[\d.]+ +[\d.]+ +[\d.]+ +(\d+) ", done.stdout, re.MULTILINE)]
    recurrent = 4 * width * width * 4
    assert [b for b in found if b >= (steps - 1) * recurrent], done.stdout
    assert number(done.stdout, r"([\d.]+) GFLOP a run") >= 2e-9 * (2 * steps - 1) * 4 * width * width * 0.99


def test_report(tmp_path):
    """a member of the report, also in the page; the code is not written"""
    for name in ("r.json", "r.html"):
        assert bench("--bench=1", f"--report={tmp_path}/{name}", cwd=tmp_path).returncode == 0
    report = json.loads((tmp_path / "r.json").read_text())
    b = report["bench"]
    assert b["seconds"] == 1 and b["runs"] >= 5 and 0 < b["p5"] <= b["median"] <= b["p95"] and b["peak"] > 1e8
    assert sum(call["seconds"] for call in report["calls"]) == pytest.approx(b["with_kernels"], rel=0.3)
    assert {path.name for path in tmp_path.iterdir()} == {"r.json", "r.html"}
    assert '"bench": {"seconds": 1' in (tmp_path / "r.html").read_text()


def test_inputs(tmp_path):
    """those of --test; a shape that is none is an error, and so is a run that ends with a code"""
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "input_0.pb").write_bytes(onnx.numpy_helper.from_array(np.zeros((1, 1, 8, 8), np.float32)).SerializeToString())
    assert bench("--bench=1", "--test", tmp_path / "set").returncode == 0
    (tmp_path / "set" / "input_0.pb").write_bytes(onnx.numpy_helper.from_array(np.zeros((1, 63), np.float32)).SerializeToString())
    done = bench("--bench=1", "--test", tmp_path / "set")
    assert done.returncode == dnncc.INVALID and "input_0.pb holds" in done.stderr
    port, node = onnx.helper.make_tensor_value_info, onnx.helper.make_node
    chosen = onnx.helper.make_graph([node("Add", ["which", "five"], ["row"]), node("Gather", ["table", "row"], ["y"])], "g", [port("which", 7, [64])],
                                    [port("y", 1, [64])], [onnx.numpy_helper.from_array(np.zeros(2, np.float32), "table"),
                                                           onnx.numpy_helper.from_array(np.int64(5), "five")])
    onnx.save(onnx.helper.make_model(chosen, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), tmp_path / "gather.onnx")
    done = bench("--bench=1", model=tmp_path / "gather.onnx")
    assert done.returncode == dnncc.INTERNAL and "code -3: a run-time index is out of range" in done.stderr, done.stderr


def test_inputs_that_choose(tmp_path):
    """whole numbers that choose rows of a table are drawn from all of its rows, whatever moves them on their way; one of each kind"""
    port, node, i64 = onnx.helper.make_tensor_value_info, onnx.helper.make_node, onnx.TensorProto.INT64
    constants = {"two": np.ones((2, 3), np.float32), "three": np.ones((3, 3), np.float32), "zero": np.int64(0), "rows": np.int64(2), "shape": np.int64([8, 4])}
    nodes = [node("Cast", ["plain"], ["cast"], to=i64), node("Reshape", ["cast", "shape"], ["shaped"]), node("Gather", ["two", "shaped"], ["y0"]),
             node("GatherElements", ["two", "elements"], ["y1"], axis=0), node("GatherND", ["three", "tuples"], ["y2"]),
             node("ScatterElements", ["two", "scattered", "three_rows"], ["y3"], axis=0),
             node("Less", ["wrapped", "zero"], ["below"]), node("Add", ["wrapped", "rows"], ["above"]), node("Where", ["below", "above", "wrapped"], ["inside"]),
             node("Gather", ["two", "inside"], ["y4"]),
             node("If", ["go"], ["y5"], then_branch=onnx.helper.make_graph([node("Gather", ["two", "branch"], ["t"])], "t", [], [port("t", 1, [16, 3])]),
                  else_branch=onnx.helper.make_graph([node("Gather", ["three", "branch"], ["e"])], "e", [], [port("e", 1, [16, 3])])),
             node("Scan", ["steps"], ["y6"], num_scan_inputs=1,
                  body=onnx.helper.make_graph([node("Gather", ["two", "step"], ["row"])], "b", [port("step", i64, [])], [port("row", 1, [3])]))]
    inputs = {"plain": [32], "elements": [9, 3], "tuples": [9, 2], "scattered": [2, 3], "wrapped": [16], "branch": [16], "steps": [40]}
    graph = onnx.helper.make_graph(nodes, "g", [port("go", 9, []), port("three_rows", 1, [2, 3]),
                                                *(port(name, onnx.TensorProto.INT32 if name == "plain" else i64, shape) for name, shape in inputs.items())],
                                   [port(f"y{k}", 1, None) for k in range(7)], [onnx.numpy_helper.from_array(a, n) for n, a in constants.items()])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), tmp_path / "chosen.onnx")
    for target in ("generic", "x86-64-v3"):
        done = bench("--bench=1", f"--target={target}", model=tmp_path / "chosen.onnx")
        assert done.returncode == 0, done.stderr


@pytest.mark.sample(3)
@pytest.mark.skipif(not shutil.which("qemu-aarch64") or not shutil.which("aarch64-linux-gnu-gcc"), reason="no emulator of aarch64")
@pytest.mark.parametrize("option", ["bench", "test", "tune", "calibrate"])
def test_another_machine(option, tmp_path):
    array = np.random.default_rng(1).uniform(0, 1, (1, 1, 8, 8)).astype(np.float32)
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "input_0.pb").write_bytes(onnx.numpy_helper.from_array(array).SerializeToString())
    want = onnx.reference.ReferenceEvaluator(str(DIGITS)).run(None, {onnx.load(DIGITS).graph.input[0].name: array})[0]
    (tmp_path / "set" / "output_0.pb").write_bytes(onnx.numpy_helper.from_array(want).SerializeToString())
    options = {"bench": ["--bench=1"], "test": ["--test", "set"], "calibrate": ["--calibrate=set", "-o", "m.ranges"],
               "tune": ["--tune", "--schedule=book", "--limit", "tune_seconds=5"]}[option]
    target = "aarch64-dotprod" if option == "bench" else "aarch64"      # gcc and clang have other words for what it needs
    done = dnncc.run([dnncc.DNNCC, DIGITS, f"--target={target}", *options, "--cc=aarch64-linux-gnu-gcc -O2 -static", "--runner=qemu-aarch64"],
                     cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    if option in ("bench", "tune"):
        done = dnncc.run([dnncc.DNNCC, DIGITS, "--target=aarch64", *options], cwd=tmp_path)
        assert done.returncode == dnncc.USAGE and f"--{option} runs the code, and this processor has no aarch64" in done.stderr


@pytest.mark.parametrize("option", [["--bench=1"], ["--tune", "--schedule=book", "--target=x86-64"], ["--test", "set", "--cc=cc"]],
                         ids=["bench", "tune", "test"])
@pytest.mark.parametrize("command, said", [
    ("false", "'false' (--runner) failed, exit code 1"), ("nosuchcommand", "'nosuchcommand' (--runner) failed, exit code 127"),
    ("sleep 9;", "'sleep 9;' (--runner) took more than 1 s and was ended; --limit run_seconds=N allows more"),
    ("true", "--runner")], ids=["fails", "is none", "hangs", "is silent"])
@pytest.mark.sample(4)
def test_command_that_fails(option, command, said, tmp_path):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "input_0.pb").write_bytes(onnx.numpy_helper.from_array(np.zeros((1, 1, 8, 8), np.float32)).SerializeToString())
    done = dnncc.run([dnncc.DNNCC, DIGITS, *option, f"--runner={command}", "--limit", "run_seconds=1"], cwd=tmp_path)
    error = done.stderr.splitlines()[-1]
    assert done.returncode == dnncc.INTERNAL and said in error and "error: " in error, done.stderr
    assert not (tmp_path / "book").exists()
