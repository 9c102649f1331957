# SPDX-License-Identifier: MIT
"""--report: what came of a model, as JSON and as a page. --emit=dot, json. --profile: the code says when a kernel call ends."""
import html
import json
import re
import shutil
import tempfile

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from test_command_line import DIGITS, call, relu, save, value
import dnncc  # the path is set by test_command_line

HOOK = """
#include <stdio.h>
void dnncc_profile(int kernel);
void dnncc_profile(int kernel) { printf("%d ", kernel); }
"""
MEMBERS = {"dnncc": str, "model": str, "source": str, "options": str, "target": str, "vector_bytes": int, "workspace": int,
           "live_peak": int, "constants": int, "kernels": int, "flops": int, "again": int, "calls": list, "buffers": list, "memory": dict, "passes": list,
           "floats": list, "remarks": list, "language": str, "machine": dict}
CALL = {"kernel": str, "location": str, "summary": str, "schedule": str, "flops": int, "again": int, "read": int, "constants": int, "written": int,
        "cycles": int, "buffers": list, "access": list}
CONTROL_FLOW = """loop 1
program "m" source ""
buffer @x : f32[2] input "x" shape <2>
buffer @y : f32[2] output "y" shape <2>
kernel @k(%a: in f32[2], %b: out f32[2]) flops 2 {
  for %i = 0 to 2 {
    store %b[%i] = %a[%i] * %a[%i]
  }
}
main {
  call @k(@x, @y)
  for %i = 0 to 3 {
    call @k(@x, @y)
    if %i < 1 {
      call @k(@x, @y)
    }
  }
}
"""


def report(model, folder, *options):
    """the report and the text of --stats; the C is folder/model.c"""
    done = dnncc.compile_model(model, folder, ["--stats", f"--report={folder / 'm.json'}", *options])
    return json.loads((folder / "m.json").read_text()), done.stderr


def run_profiled(folder, inputs):
    """what dnncc_profile was called with while test/host.c ran folder/model.c, twice"""
    (folder / "hook.c").write_text(HOOK)
    program = folder / "host"
    done = dnncc.run(["gcc", *dnncc.STRICT, "-c", folder / "model.c", "-o", folder / "model.o"])
    assert done.returncode == 0, done.stderr
    done = dnncc.run(["gcc", dnncc.host_object([], "gcc"), folder / "model.o", folder / "hook.c", "-o", program])
    assert done.returncode == 0, done.stderr
    for name in ("in", "out"):
        (folder / name).mkdir()
    for k, array in enumerate(inputs):
        (folder / "in" / f"{k}.bin").write_bytes(array.tobytes())
    done = dnncc.run([program, folder / "in", folder / "out"])
    assert done.returncode == 0, done.stderr
    return [int(k) for k in done.stdout.split()]


def test_report_members(tmp_path):
    facts, _ = report(DIGITS, tmp_path)
    assert {k: type(v) for k, v in facts.items()} == MEMBERS
    for one in facts["calls"]:
        assert {k: type(v) for k, v in one.items()} == CALL and one["location"] and one["summary"]
    assert facts["language"] == "C" and sorted(facts["machine"]) == ["flops", "l2", "memory"] and min(facts["machine"].values()) > 0
    assert facts["target"] == "generic" and facts["vector_bytes"] == 0 and facts["options"] == "-O2"


def test_calls_of_a_shared_kernel(tmp_path):
    """each goes by the nodes that it computes; so does a program that was written and read again"""
    names = [f"part.{k}" for k in range(3)]
    nodes = [helper.make_node("Sigmoid", [a], [b], name) for a, b, name in zip(["x", "a", "b"], ["a", "b", "y"], names)]
    model = save(tmp_path / "m.onnx", nodes, [value("x", (3, 4))], [value("y", (3, 4))])
    facts, _ = report(model, tmp_path, "-O0")
    assert [c["location"] for c in facts["calls"]] == names and {c["kernel"] for c in facts["calls"]} == {"part_0"}
    assert call(model, "-O0", "--emit=loops", "-o", tmp_path / "m.loops").returncode == 0
    assert report(tmp_path / "m.loops", tmp_path, "--passes=")[0]["calls"] == facts["calls"]
    text = (tmp_path / "m.loops").read_text()
    for bad in ("part/*1", 'part"', ""):
        (tmp_path / "bad.loops").write_text(text.replace('node "part.1"', f'node "{bad}"' if bad else "node"))
        assert call(tmp_path / "bad.loops", "-o", tmp_path / "bad.c").returncode == dnncc.INVALID


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_report_says_what_stats_says(tmp_path, level):
    facts, stats = report(DIGITS, tmp_path, level)
    said = {k: int(re.search(pattern, stats).group(1)) for k, pattern in {
        "workspace": r"workspace +(\d+) bytes", "live_peak": r"live peak (\d+)", "constants": r"constants +(\d+) bytes",
        "kernels": r"kernels +(\d+) for"}.items()}
    assert said == {k: facts[k] for k in said}
    assert f'for {len(facts["calls"])} calls, {facts["flops"] * 1e-6:.1f} MFLOP' in stats
    assert facts["flops"] == sum(c["flops"] for c in facts["calls"])
    assert facts["constants"] == sum(c["constants"] for c in facts["calls"]), "every constant is read by one call here"


def test_report_of_one_kernel(tmp_path):
    facts, _ = report(relu(tmp_path / "m.onnx", (2, 3)), tmp_path)
    assert facts["calls"] == [{"kernel": "r", "location": "r", "summary": "max -> <2 x 3 x f32>", "schedule": "",
                               "flops": 6, "again": 0, "read": 24, "constants": 0, "written": 24, "cycles": facts["calls"][0]["cycles"],
                               "buffers": ["x", "y"], "access": ["in", "out"]}]
    assert facts["calls"][0]["cycles"] >= 6
    assert [(b["name"], b["space"], b["port"], b["bytes"]) for b in facts["buffers"]] == [("x", "input", "x", 24), ("y", "output", "y", 24)]
    assert facts["memory"] == {"largest_kernel": 0, "live_peak": 0, "best": 0, "best_found": 0, "plan": 0, "proved": True, "peak": [],
                               "regions": [], "statements": 1, "in_use": []}


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_report_of_memory_and_passes(tmp_path, level):
    """what is in use at a time lies apart, and reaches as high as the workspace, as it was planned; passes are those that ran"""
    facts, stats = report(DIGITS, tmp_path, level)
    blocks, statements = facts["memory"]["in_use"], facts["memory"]["statements"]
    assert max(b["offset"] + b["bytes"] for b in blocks) == facts["workspace"]
    for time in range(statements):
        now = sorted((b["offset"], b["bytes"]) for b in blocks if b["from"] <= time <= b["to"])
        assert all(a + size <= b for (a, size), (b, _) in zip(now, now[1:])), now
    assert max(sum(b["bytes"] for b in blocks if b["from"] <= t <= b["to"]) for t in range(statements)) == facts["live_peak"]
    passes = [(p["pass"], p["rewrites"]) for p in facts["passes"]]
    assert passes[0] == ("", 0)
    assert passes[1:] == [(name, int(n)) for name, n in re.findall(r"^stats: (\w+) +(\d+) rewrites", stats, re.M)]


def quantized_product(path, scales, inner=16):
    """x, 8 bits, by weights with these scales (of each input, where they are several)"""
    r = np.random.default_rng(0)
    constants = [numpy_helper.from_array(a, n) for n, a in {
        "w": r.integers(-127, 127, (inner, 4)).astype(np.int8), "sw": np.asarray(scales, np.float32), "s": np.float32(0.1),
        "z": np.uint8(100)}.items()]
    axis = {"axis": 0} if np.ndim(scales) else {}
    nodes = [helper.make_node("DequantizeLinear", ["x", "s", "z"], ["xf"]),
             helper.make_node("DequantizeLinear", ["w", "sw"], ["wf"], **axis),
             helper.make_node("MatMul", ["xf", "wf"], ["y"], name="product")]
    return save(path, nodes, [value("x", (2, inner), TensorProto.UINT8)], [value("y", (2, 4))], constants)


@pytest.mark.parametrize("name, options, why", [
    ("whole", ["--target=x86-64-v4-vnni"], None), ("whole", [], None), ("whole", ["--exact"], "--exact keeps the model's sums of floats"),
    ("along", [], "a scale differs along what is added up"), ("long", ["--target=x86-64-v4"], "a sum of so many products may not fit into i32")])
def test_report_of_floats(tmp_path, name, options, why):
    """quantized layers that are not multiplied as integers, one line each"""
    model = quantized_product(tmp_path / "m.onnx", np.linspace(0.1, 1, 16) if name == "along" else 0.2, 120000 if name == "long" else 16)
    facts, _ = report(model, tmp_path, *options)
    assert facts["floats"] == ([{"location": "product", "operation": "dot", "why": why}] if why else [])


def test_report_of_a_schedule(tmp_path):
    facts, _ = report(DIGITS, tmp_path, "--target=x86-64-v3")
    schedules = [c["schedule"] for c in facts["calls"] if c["summary"].startswith("convolve_packed")]
    assert schedules and all(re.fullmatch(r"(\w+=\d+ ?)+", s) for s in schedules)


def test_control_flow(tmp_path):
    """calls under loops and conditions are listed, in the order of the text, and numbered so by --profile"""
    (tmp_path / "m.loops").write_text(CONTROL_FLOW)
    facts, stats = report(tmp_path / "m.loops", tmp_path, "--passes=plan", "--profile")
    assert len(facts["calls"]) == 3 and facts["flops"] == 14 and "1 for 3 calls" in stats
    assert run_profiled(tmp_path, [np.ones(2, np.float32)]) == 2 * [-1, 0, 1, 2, 1, 1]


def test_profile(tmp_path):
    facts, _ = report(DIGITS, tmp_path, "--profile")
    assert facts["options"] == "-O2 --profile"
    dnncc.check_clang(tmp_path)
    assert run_profiled(tmp_path, [np.ones(64, np.float32)]) == 2 * [-1, *range(len(facts["calls"]))]


def test_profile_is_off_by_default(tmp_path):
    report(DIGITS, tmp_path)
    assert "dnncc_profile" not in (tmp_path / "model.c").read_text()


def test_report_errors(tmp_path):
    model = relu(tmp_path / "m.onnx")
    done = call(model, "--emit=ir", f"--report={tmp_path / 'm.json'}", "-o", tmp_path / "m.dnn")
    assert done.returncode == dnncc.USAGE and "--report" in done.stderr and not (tmp_path / "m.json").exists()
    done = call(model, f"--report={model}", "-o", tmp_path / "m.c")
    assert done.returncode == dnncc.IO and not (tmp_path / "m.c").exists(), "an input is never overwritten"


# ---- the page ----

CHROMIUM = shutil.which("chromium")
browser = pytest.mark.skipif(not CHROMIUM, reason="no chromium")


def look(page, tab):
    """(the page's elements after its script ran, what it said on the console)"""
    with tempfile.TemporaryDirectory() as home:
        done = dnncc.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={home}", "--enable-logging=stderr",
                          "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=10000", "--dump-dom", f"file://{page}#{tab}"],
                         timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def rows(dom, section):
    """the texts of a section's table"""
    body = re.search(rf'<section id="{section}-tab".*?<tbody>(.*?)</tbody>', dom, re.S).group(1)
    return [[html.unescape(re.sub("<[^>]*>", "", cell)) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.S)]
            for row in re.findall(r"<tr.*?</tr>", body, re.S)]


def number(text):
    return int(text.replace("\u202f", "").replace("\u2009", "").replace(" ", ""))


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """(path of a page, the same facts as JSON)"""
    folder = tmp_path_factory.mktemp("page")
    facts, _ = report(DIGITS, folder)
    dnncc.compile_model(DIGITS, folder, [f"--report={folder / 'm.html'}"])
    return folder / "m.html", facts


@browser
def test_page_of_kernels(page):
    dom, console = look(page[0], "kernels")
    assert not console
    head = [html.unescape(name) for name in re.findall(r"<button>(.*?)</button>", re.search(r'<section id="kernels-tab".*?</thead>', dom, re.S)[0])]
    found = [dict(zip(head, row)) for row in rows(dom, "kernels")]
    assert [(int(r["#"]), r["kernel"], r["nodes of the model"], r["operation and shapes"], *(number(r[name]) for name in ("FLOP", "read", "of it constant", "written")))
            for r in found] == [(k, c["kernel"], c["location"], c["summary"], c["flops"], c["read"], c["constants"], c["written"]) for k, c in enumerate(page[1]["calls"])]


@browser
def test_page_of_the_graph(page):
    dom, console = look(page[0], "graph")
    assert not console
    ports = [b["space"] for b in page[1]["buffers"]]
    kinds = re.findall(r'<g class="node"[^>]* data-kind="(\w+)"', dom)
    assert kinds.count("call") == len(page[1]["calls"]) and kinds.count("input") == ports.count("input") == 1
    assert kinds.count("output") == ports.count("output") == 1
    assert len(re.findall(r'<path d="M', dom)) >= len(page[1]["calls"]), "all are connected"


@browser
def test_page_of_memory_weights_and_passes(page):
    dom, console = look(page[0], "memory")
    assert not console
    said = re.search(r'id="memory-facts">workspace ([\d ]+) bytes; at the peak \(statement \d+ of \d+\) ([\d ]+) are', dom)
    assert [number(n) for n in said.groups()] == [page[1]["workspace"], page[1]["live_peak"]]
    section = re.search(r'<section id="memory-tab".*?</section>', dom, re.S).group(0)
    assert len(re.findall("<rect", section)) == len(page[1]["memory"]["in_use"]) and 'id="peak"' in section
    dom, console = look(page[0], "weights")
    assert not console
    weights = sorted((b["bytes"] for b in page[1]["buffers"] if b["space"] == "constant"), reverse=True)
    assert [number(r[3]) for r in rows(dom, "weights")] == weights and sum(weights) == page[1]["constants"]
    dom, console = look(page[0], "passes")
    assert not console
    assert [(r[1], int(r[2])) for r in rows(dom, "passes")] == [(p["pass"] or "(start)", p["rewrites"]) for p in page[1]["passes"]]
    assert 'class="both"' in dom or 'class="new"' in dom or 'class="gone"' in dom, "simplify changes this model"


def asked(folder, page, expression):
    """what a JavaScript expression is worth in the page"""
    text = page.read_text().replace("</body>", f"""<pre id="said"></pre>
        <script>document.getElementById("said").textContent = JSON.stringify({expression})</script></body>""")
    (folder / "asked.html").write_text(text)
    dom, console = look(folder / "asked.html", "graph")
    assert not console, console
    return json.loads(html.unescape(re.search(r'<pre id="said">(.*?)</pre>', dom, re.S).group(1)))


@browser
def test_page_finds_every_node(page, tmp_path):
    """each is found by its name, and is in the kernels that name it, or gone by a pass"""
    names = {n.name for n in onnx.load(DIGITS).graph.node}
    texts = [c["kernel"] for c in page[1]["calls"]] + [b["name"] for b in page[1]["buffers"] if b["space"] == "constant"] + ["no such thing"]
    found, counts = asked(tmp_path, page[0], f"""[nodesOfModel().map((n) => [n.name, n.calls.map((c) => c.index), fate(n), search(n.name).some((h) => h[0] === n.name)]),
        {json.dumps(texts)}.map((n) => search(n).length)]""")
    assert {n for n, *_ in found} == names and all(hit for *_, hit in found)
    passes = {p["pass"] for p in page[1]["passes"]}
    for name, calls, fate, _ in found:
        assert calls == [k for k, c in enumerate(page[1]["calls"]) if name in c["location"].split(", ")]
        assert fate == "" if calls else fate.split(":")[0] in passes
    assert counts[:-1].count(0) == 0 and counts[-1] == 0


@browser
def test_page_of_one_kernel(page, tmp_path):
    """its code is that of the C file, its Loop IR the last state's"""
    code = (page[0].parent / "model.c").read_text()
    shown = asked(tmp_path, page[0], "calls.map((_, k) => (showKernel(k), [...document.querySelectorAll('#kernel pre')].map((e) => e.textContent)))")
    assert len(shown) == len(page[1]["calls"])
    for said, c in zip(shown, page[1]["calls"]):
        assert len(said) == 2 and said[0].startswith(f'kernel @{c["kernel"]}(') and said[0].endswith("}")
        assert said[1] in code and f'{c["kernel"]}(' in said[1].splitlines()[0]


@browser
def test_page_against_another(tmp_path):
    before, _ = report(DIGITS, tmp_path, "-O0")
    old = tmp_path / "m.json"
    dnncc.compile_model(DIGITS, tmp_path, [f"--report={tmp_path / 'm.html'}", f"--report-against={old}", "-MD", "-MF", tmp_path / "m.d"])
    assert str(old) in (tmp_path / "m.d").read_text()
    now = json.loads(re.search(r'id="facts">\n(.*?)</script>', (tmp_path / "m.html").read_text(), re.S).group(1))
    dom, console = look(tmp_path / "m.html", "compare")
    assert not console
    sizes = [[html.unescape(re.sub("<[^>]*>", "", cell)) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.S)]
             for row in re.findall(r"<tr.*?</tr>", re.search(r'id="compare-sizes".*?<tbody>(.*?)</tbody>', dom, re.S).group(1), re.S)]
    assert [number(n) for n in sizes[0][1:3]] == [before["workspace"], now["workspace"]]
    assert [number(n) for n in sizes[5][1:3]] == [len(before["calls"]), len(now["calls"])]
    calls = re.search(r'id="compare-calls".*?<tbody>(.*?)</tbody>', dom, re.S).group(1)
    shared = len([c for c in now["calls"] if c["location"] in [b["location"] for b in before["calls"]]])
    assert calls.count("<tr") == len(now["calls"]) + len(before["calls"]) - shared and calls.count(">gone<") == len(before["calls"]) - shared


@pytest.mark.parametrize("text, code", [(None, dnncc.IO), ("", dnncc.INVALID), ("{}", dnncc.INVALID), ('{\n  "dnncc": "1\0"\n}\n', dnncc.INVALID)])
def test_report_against_errors(tmp_path, text, code):
    if text is not None:
        (tmp_path / "old.json").write_text(text)
    done = call(DIGITS, f"--report={tmp_path / 'm.html'}", f"--report-against={tmp_path / 'old.json'}", "-o", tmp_path / "m.c")
    assert done.returncode == code and "old.json" in done.stderr and not (tmp_path / "m.c").exists()
    done = call(DIGITS, f"--report={tmp_path / 'm.json'}", f"--report-against={tmp_path / 'old.json'}", "-o", tmp_path / "m.c")
    assert done.returncode == dnncc.USAGE and "--report=FILE.html" in done.stderr


def points(way):
    """of a path of M, C, V and H, close to each other"""
    x = y = 0.0
    for letter, numbers in re.findall(r"([MCVH])([^MCVH]*)", way):
        n = [float(v) for v in re.findall(r"-?[\d.]+", numbers)]
        if letter == "M":
            x, y = n
        ends = {"M": [x, y, x, y, x, y], "C": n, "V": [x, y, x, *n, x, *n], "H": [*n, y, *n, y, *n, y]}[letter]
        for t in np.linspace(0, 1, 60):
            a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t ** 3
            if letter in "VH":
                yield x + t * (ends[4] - x), y + t * (ends[5] - y)
            else:
                yield a * x + b * ends[0] + c * ends[2] + d * ends[4], a * y + b * ends[1] + c * ends[3] + d * ends[5]
        x, y = ends[4:]


@pytest.mark.sample(2)
@browser
@pytest.mark.parametrize("levels", [4, 24])
def test_edges_pass_beside_boxes(tmp_path, levels):
    """sums of what was there some rows before: edges go down through the gaps between boxes, and around columns of them"""
    nodes, last = [], "x"
    for k in range(levels):
        for i in range(3):
            nodes.append(helper.make_node("Softmax", [last if i == 0 else f"v{k}.{i - 1}"], [f"v{k}.{i}"], f"s{k}.{i}", axis=i % 2))
        nodes.append(helper.make_node("Add", [last, f"v{k}.2"], [f"sum{k}"], f"a{k}"))
        last = f"sum{k}"
    nodes.append(helper.make_node("Add", [last, "x"], ["y"], "last"))
    model = save(tmp_path / "m.onnx", nodes, [value("x", (5, 7))], [value("y", (5, 7))])
    dnncc.compile_model(model, tmp_path, [f"--report={tmp_path / 'm.html'}", "-O1"])
    dom, console = look(tmp_path / "m.html", "graph")
    boxes = np.array([tuple(map(float, xy)) for xy in re.findall(r'translate\((-?[\d.]+),(-?[\d.]+)\)', dom)])
    wide, high = map(float, re.search(r'<rect width="([\d.]+)" height="([\d.]+)"', dom).groups())
    paths = re.findall(r'<path d="(M[^"]+)"', dom)
    assert not console and len(boxes) > len(nodes) and (len(set(boxes[:, 0])) > 1 or levels < 10), "long ones have columns"
    for way in paths:
        x, y = (np.array(places)[:, None] for places in zip(*points(way)))
        assert not np.any((boxes[:, 0] + 1 < x) & (x < boxes[:, 0] + wide - 1) & (boxes[:, 1] + 1 < y) & (y < boxes[:, 1] + high - 1)), way
    assert len(paths) >= len(nodes) and all(ends in way for way in paths for ends in "M")


def common_length(a, b):
    """of the longest common subsequence, by its definition"""
    row = [0] * (len(b) + 1)
    for x in a:
        before = row[:]
        for j, y in enumerate(b):
            row[j + 1] = before[j] + 1 if x == y else max(row[j], before[j + 1])
    return row[-1]


SCRIPTS = dnncc.ROOT / "compiler" / "page"


@browser
def test_difference_of_states(tmp_path):
    """the page's lines that stay are a longest common subsequence"""
    r = np.random.default_rng(5)
    pairs = [([7, 3, 4, 5], [3, 4, 5, 6]), ([], [1]), ([1], []), ([1, 2], [1, 2]), ([1, 2], [3, 4]), ([1, 2, 1, 2], [2, 1, 2, 1])]
    pairs += [(r.integers(0, k, r.integers(0, 40)).tolist(), r.integers(0, k, r.integers(0, 40)).tolist()) for k in (2, 3, 5, 9, 30) for _ in range(20)]
    (tmp_path / "p.html").write_text(f"""<pre id="found"></pre><script>{(SCRIPTS / "difference.js").read_text()}
        document.getElementById("found").textContent = JSON.stringify({json.dumps(pairs)}.map(([a, b]) => [common(a, b), difference(a, b)]))</script>""")
    dom, console = look(tmp_path / "p.html", "")
    found = json.loads(re.search(r'id="found">(.*?)</pre>', dom, re.S).group(1))
    assert not console and len(found) == len(pairs)
    for (a, b), ways in zip(pairs, found):
        for way in ways:
            assert all(a[i] == b[j] for i, j in way) and len(way) == common_length(a, b), (a, b, way)
            assert all(i < k and j < m for (i, j), (k, m) in zip(way, way[1:]))


BEFORE = """func @main(%x: <4 x f32>) -> ("y") {
  %0 = neg(%x) : <4 x f32>
  %1 = exp(%x) : <4 x f32>
  %2 = add(%1, %x) : <4 x f32>
  %3 = mul(%2, %1) : <4 x f32>
  return(%3)
}
"""


@pytest.mark.sample(2)
@browser
@pytest.mark.parametrize("after, gone, new", [
    (BEFORE, [], []),
    # a value that goes changes the others' numbers alone
    ("""func @main(%x: <4 x f32>) -> ("y") {
  %0 = exp(%x) : <4 x f32>
  %1 = add(%0, %x) : <4 x f32>
  %2 = mul(%1, %0) : <4 x f32>
  return(%2)
}
""", [1], []),
    # what is fused stays; who reads a fusion reads what it yields
    ("""func @main(%x: <4 x f32>) -> ("y") {
  %0 = neg(%x) : <4 x f32>
  %1 = exp(%x) : <4 x f32>
  %2 = fusion(%1, %x) : <4 x f32> {
    %3 = add(%1, %x) : <4 x f32>
    yield(%3)
  }
  %4 = mul(%2, %1) : <4 x f32>
  return(%4)
}
""", [], [3, 5, 6]),
    # the same words on other values are another line
    ("""func @main(%x: <4 x f32>) -> ("y") {
  %0 = neg(%x) : <4 x f32>
  %1 = exp(%x) : <4 x f32>
  %2 = add(%0, %x) : <4 x f32>
  %3 = mul(%1, %2) : <4 x f32>
  return(%3)
}
""", [3, 4], [3, 4])])
def test_difference_by_names(tmp_path, after, gone, new):
    a, b = BEFORE.splitlines(), after.splitlines()
    (tmp_path / "p.html").write_text(f"""<pre id="found"></pre><script>{(SCRIPTS / "difference.js").read_text()}
        document.getElementById("found").textContent = JSON.stringify(sameLines({json.dumps(a)}, {json.dumps(b)}))</script>""")
    dom, console = look(tmp_path / "p.html", "")
    found = json.loads(re.search(r'id="found">(.*?)</pre>', dom, re.S).group(1))
    assert not console
    assert [k for k in range(len(a)) if k not in [i for i, _ in found]] == gone
    assert [k for k in range(len(b)) if k not in [j for _, j in found]] == new


def states(page):
    """the IR after each pass, as the page holds it"""
    held = json.loads(re.search(r'id="states">\n(.*?)</script>', page.read_text(), re.S).group(1))
    for runs in held["states"]:
        yield "".join(held["lines"][k] + "\n" for first, count in zip(runs[::2], runs[1::2]) for k in range(first, first + count))


def test_page_holds_the_dumps(tmp_path):
    """each state is that of --print-ir-after"""
    done = dnncc.compile_model(DIGITS, tmp_path, [f"--report={tmp_path / 'm.html'}", "--print-ir-after=all"])
    printed = re.split(r"^; after \w+\n", done.stderr, flags=re.M)[1:]
    held = list(states(tmp_path / "m.html"))[1:]
    assert len(held) == len(printed) and all(a.strip() == b.strip() for a, b in zip(held, printed))


def test_page_is_one_file_and_deterministic(tmp_path):
    texts = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        dnncc.compile_model(DIGITS, tmp_path / name, [f"--report={tmp_path / name / 'm.html'}"])
        texts.append((tmp_path / name / "m.html").read_text())
    assert texts[0] == texts[1] and not re.search(r"""(src|href)=|url\(|https?://(?!www\.w3\.org/2000/svg)""", texts[0])


def test_names_do_not_become_markup(tmp_path):
    evil = "</script><script>alert(1)//"
    model = save(tmp_path / "m.onnx", [helper.make_node("Relu", [evil], ["y" + evil], evil)], [value(evil, [4])], [value("y" + evil, [4])])
    dnncc.compile_model(model, tmp_path, [f"--report={tmp_path / 'm.html'}"])
    text = (tmp_path / "m.html").read_text()
    assert text.count("<script") == text.count("</script>") == 4 and "alert" in text


# ---- the graph for other tools ----

def test_emit_json(tmp_path):
    assert call(DIGITS, "--emit=json", "-o", tmp_path / "d.json").returncode == 0
    assert call(DIGITS, "--emit=ir", "-o", tmp_path / "d.dnn").returncode == 0
    graph, text = json.loads((tmp_path / "d.json").read_text()), (tmp_path / "d.dnn").read_text()

    def operations(region):
        for op in region["operations"]:
            yield op
            for inner in op.get("regions", []):
                yield from operations(inner)

    found = list(operations(graph["functions"][0]["body"]))
    lines = [line.strip() for line in text.splitlines() if re.match(r" +(%\w+ = |yield)", line)]
    assert [op["op"] for op in found] == [re.match(r"(?:%\w+ = )?(\w+)\(", line).group(1) for line in lines]
    for op, line in zip(found, lines):
        for result in op["results"]:
            shape = " x ".join(map(str, [*result["type"]["shape"], result["type"]["element"]]))
            assert line.startswith(result["name"] + " = ") and f": <{shape}>" in line
    assert {c["name"][1:] for c in graph["constants"]} == set(re.findall(r"^const @(\w+)", text, re.M))
    assert graph["functions"][0]["outputs"] == ["probabilities"]


def test_emit_dot(tmp_path):
    """every operation is a node, every value used an edge between two of them"""
    for options in ([], ["--passes="]):
        done = call(DIGITS, "--emit=dot", "-o", "-", *options)
        assert done.returncode == 0 and done.stdout.startswith("digraph") and done.stdout.count("{") == done.stdout.count("}")
        nodes = set(re.findall(r'^  "([^"]+)" \[', done.stdout, re.M))
        edges = re.findall(r'^  "([^"]+)" -> "([^"]+)" \[label="<', done.stdout, re.M)
        assert {"%image", "op0"} <= nodes and edges and {end for edge in edges for end in edge} == nodes
