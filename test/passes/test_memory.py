# SPDX-License-Identifier: MIT
"""The plan and the order of kernels: numbers that hold on every model, orders against brute force, regions that change no bit."""
import itertools
import random
import re
import sys
import pathlib

import numpy as np
import onnx
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import memory_graphs as graphs  # noqa: E402
import dnncc  # noqa: E402
from test_models import LIGHT, MODELS, bindings  # noqa: E402

SHARED = sorted(MODELS.glob("*/model.onnx"))
CASES = [(p.parent.name, p) for p in SHARED] + [(p.stem, p) for p in LIGHT]


@pytest.mark.parametrize("target", ["generic", "x86-64-v4"])
@pytest.mark.parametrize("path", [p for _, p in CASES], ids=[n for n, _ in CASES])
@pytest.mark.sample(4, each=False)
def test_plan(path, target):
    """PLAN is the bound of its order, or the least there is; and never more than the model's own order takes without aliases"""
    options = [f"--target={target}", *(bindings(path.parent) if path in SHARED else [])]
    try:
        plan = graphs.facts(path, *options)
    except dnncc.CompileError as error:
        assert error.code in (dnncc.UNSUPPORTED, dnncc.INVALID)
        pytest.skip(error.text)
    own = graphs.facts(path, *options, "--no-alias", graphs.OWN_ORDER)
    least = graphs.facts(path, *options, "--goal=memory")
    assert plan["live_peak"] <= plan["plan"] and plan["proved"]
    assert plan["largest_kernel"] <= plan["best"] <= plan["best_found"] <= plan["live_peak"]
    assert plan["plan"] <= own["plan"] and least["plan"] <= plan["plan"]
    assert sum(one["bytes"] for one in plan["peak"]) == plan["live_peak"]


def orders_of(net, most):
    """all topological orders of the nodes, or that many of them by chance"""
    made = {node.output[0]: i for i, node in enumerate(net.nodes)}
    needs = [{made[x] for x in node.input if x in made} for node in net.nodes]

    def extend(order, done):
        if len(order) == len(needs):
            yield list(order)
        for i in range(len(needs)):
            if i not in done and needs[i] <= done:
                yield from extend(order + [i], done | {i})

    found = list(itertools.islice(extend([], frozenset()), most + 1))
    if len(found) <= most:
        return found, True
    draw = random.Random(1)
    found = []
    for _ in range(most):
        order, done = [], set()
        while len(order) < len(needs):
            order.append(draw.choice([i for i in range(len(needs)) if i not in done and needs[i] <= done]))
            done.add(order[-1])
        found.append(order)
    return found, False


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", graphs.FAMILIES)
def test_orders(name):
    """No order of the nodes, handed in as the model's own, needs less than the bound; where all are tried, one reaches it."""
    net, _ = graphs.FAMILIES[name]()
    best = graphs.facts(net.model(), "--goal=memory")
    orders, all_of_them = orders_of(net, 60)
    peaks = [graphs.facts(net.model(order), graphs.OWN_ORDER)["live_peak"] for order in orders]
    assert best["best"] == best["best_found"] <= min(peaks)
    assert not all_of_them or best["best"] == min(peaks)
    assert best["plan"] == best["best"] and best["plan"] <= graphs.facts(net.model(), graphs.OWN_ORDER)["plan"]


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(12))
def test_mixed_orders(seed):
    """the same of random networks of views and of kernels that work in place: the search has the least of all orders"""
    net, _ = graphs.mixed(seed)
    best = graphs.facts(net.model(), "--goal=memory")
    orders, all_of_them = orders_of(net, 40)
    peaks = [graphs.facts(net.model(order), graphs.OWN_ORDER)["live_peak"] for order in orders]
    assert best["best"] == best["best_found"] <= min(peaks)
    assert not all_of_them or best["best"] == min(peaks)
    assert best["plan"] <= 1.03 * best["best"]


def run_with(model, folder, options):
    folder.mkdir()
    onnx.save(model, folder / "m.onnx")
    dnncc.compile_model(folder / "m.onnx", folder, options)
    dnncc.check_clang(folder)
    program = dnncc.build_host(folder, dnncc.SANITIZE)
    x = np.random.default_rng(3).standard_normal((1, model.graph.input[0].type.tensor_type.shape.dim[1].dim_value, 8, 8), dtype=np.float32)
    return dnncc.run_host(program, [x])


@pytest.mark.parametrize("name", graphs.FAMILIES)
@pytest.mark.sample(8)
def test_same_bits(name, tmp_path):
    """whatever the order, the regions, and what lies on what"""
    model = graphs.FAMILIES[name]()[0].model()
    want = run_with(model, tmp_path / "plain", [])
    for i, options in enumerate([["--goal=memory"], ["--no-alias"], ["--region=fast=1K,16,.fast", "--region=slow=5000"],
                                 ["--region=none=0", "--unchecked", "--goal=memory"]]):
        got = run_with(model, tmp_path / str(i), options)
        assert len(got) == len(want) and all(a.tobytes() == b.tobytes() for a, b in zip(got, want)), options


@pytest.mark.parametrize("goal,seed,count", [("memory", 47, 4), ("memory", 56, 5), ("memory", 40, 5), pytest.param("memory", 17, 29, marks=pytest.mark.long),
                                             ("speed", 27, 7), ("speed", 11, 7), ("speed", 30, 8)])
def test_detach(goal, seed, count, tmp_path):
    """Parts of concats that lie elsewhere and are copied: the plan is smaller for it, and results are the same to the bit."""
    model = graphs.randwire(seed, count)[0].model()
    aliased, plan = (graphs.facts(model, f"--goal={goal}", f"--passes={passes}") for passes in (graphs.PASSES.replace(",detach", ""), graphs.PASSES))
    assert plan["plan"] < aliased["plan"]
    got, want = run_with(model, tmp_path / "detached", [f"--goal={goal}"]), run_with(model, tmp_path / "plain", ["--no-alias"])
    assert "copy of a part" in (tmp_path / "detached" / "model.c").read_text()
    assert len(got) == len(want) and all(a.tobytes() == b.tobytes() for a, b in zip(got, want))


def test_detach_ends_soon(tmp_path):
    """Few kernels in many possible orders: trying parts may search no longer in all than a few times as long as arrange does once.
    (It took 20 times as long.)"""
    sizes = onnx.numpy_helper.from_array(np.array([1, 1, 8, 8], np.int64), "s")
    node = onnx.helper.make_node("Resize", ["x", "", "", "s"], ["y"], mode="cubic")
    port = [onnx.helper.make_tensor_value_info(name, 1, [1, 1, size, size]) for name, size in (("x", 4), ("y", 8))]
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([node], "g", port[:1], port[1:], [sizes]), ir_version=8,
                                     opset_imports=[onnx.helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--goal=memory", "--time-passes", "-o", tmp_path / "m.c"])
    assert done.returncode == 0, done.stderr
    times = {n: float(ms) for n, ms in re.findall(r"time: (\w+) +([0-9.]+) ms", done.stderr)}
    assert times["detach"] < 5 * times["arrange"] + 200, times


def test_regions(tmp_path):
    """They are parameters in order, macros, entries of the descriptor; none takes more than it has, and a dump goes on from there."""
    onnx.save(graphs.inception()[0].model(), tmp_path / "m.onnx")
    done = dnncc.compile_model(tmp_path / "m.onnx", tmp_path, ["--region=fast=2K,16,.fast", "--region=x=8K", "--weights=file", "--stats",
                                                               f"--dump-dir={tmp_path / 'd'}"])
    header, text = (tmp_path / "model.h").read_text(), (tmp_path / "model.c").read_text()
    assert "void *workspace, void *fast, void *x, const void *weights, const float *x_2" in re.sub(r"\s+", " ", header)
    sizes = {n: int(re.search(rf"#define MODEL_{n}_SIZE (\d+)u", header).group(1)) for n in ("WORKSPACE", "FAST", "X")}
    assert 0 < sizes["FAST"] <= 2048 and 0 < sizes["X"] <= 8192 and 'section(".fast")' in header
    assert f"region     fast: {sizes['FAST']} of 2048 bytes" in done.stderr
    last = sorted((tmp_path / "d").glob("*-plan.loops"))[0]
    (tmp_path / "again").mkdir()
    dnncc.compile_model(last, tmp_path / "again", ["--weights=file"])
    again = (tmp_path / "again" / "model.c").read_text()
    assert re.sub(r"(?m)^.*(BUILD|compiled by|source:).*$", "", again).count("fast") == re.sub(r"(?m)^.*(BUILD|compiled by|source:).*$", "", text).count("fast")


@pytest.mark.parametrize("bad", ["x", "=1K", "a=", "a=1Q", "a=-1", "a=1K,7", "a=1K,3", "a=1K,8192", "a=1K,8,a b", 'a=1K,8,"', "workspace=1K", "weights=1K",
                                 "int=1K", "1a=1K", "a=99999999999999999999", "a=18446744073709551615", "a=1K,8," + 100 * "s", "a=1K,99999999999999999999"])
def test_silly_regions(bad, tmp_path):
    onnx.save(graphs.inception()[0].model(), tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "-o", tmp_path / "m.c", f"--region={bad}"])
    assert done.returncode == dnncc.USAGE and "--region wants" in done.stderr and not (tmp_path / "m.c").exists()


def test_too_many_regions(tmp_path):
    onnx.save(graphs.inception()[0].model(), tmp_path / "m.onnx")
    for names in ["a", "a"], ["a", "A"], [f"r{i}" for i in range(17)]:
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "-o", tmp_path / "m.c", *[f"--region={n}=1K" for n in names]])
        assert done.returncode == dnncc.USAGE, names


def chain(kind, count):
    """text of that many operations, as a chain, as a fan-out of 1000 each, or as 1000 branches that a concat ends"""
    lines, last = [], "%x"
    t = "<1 x 8 x f32>"
    for i in range(count):
        source = {"chain": last, "fan": f"%{i - i % 1000 - 1}" if i >= 1000 else "%x", "branches": f"%{i - 1000}" if i >= 1000 else "%x"}[kind]
        lines.append(f"  %{i} = {'exp' if i % 2 else 'abs'}({source}) : {t}")
        last = f"%{i}"
    ends = [f"%{i}" for i in range(count - 1000, count)] if kind != "chain" else [last, last]
    lines.append(f"  %y = concat({', '.join(ends)}) axis=0 : <{len(ends)} x 8 x f32>")
    body = "\n".join(lines)
    return f'dnn 1\nmodule "m"\nfunc @main(%x "x": {t}) -> ("y") {{\n{body}\n  yield(%y)\n}}\n'


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", ["chain", "fan", "branches"])
def test_large(kind, tmp_path):
    """100,000 nodes: arrange, detach and plan take no more than a few seconds, for either goal"""
    (tmp_path / "m.dnn").write_text(chain(kind, 100_000))
    for goal in "speed", "memory":
        done = dnncc.run([dnncc.DNNCC, tmp_path / "m.dnn", "--passes=lower,arrange,detach,plan", "--emit=loops", "-o", tmp_path / "m.loops", "--no-verify",
                          "--time-passes", f"--goal={goal}"], timeout=600)
        assert done.returncode == 0, done.stderr
        times = {n: float(ms) for n, ms in re.findall(r"time: (\w+) +([0-9.]+) ms", done.stderr)}
        assert times["arrange"] + times["detach"] + times["plan"] < 20_000, (times, "5 s on a quiet machine")
