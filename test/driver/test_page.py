# SPDX-License-Identifier: MIT
"""The page of --report as a browser shows it.

What it looks like is kept as data: test/driver/page_views has a report, and for each view of it the rectangles, lines of text and shapes
that are seen and where (support/page_layout.js). The same browser paints page and data, so neither its version nor its way with fonts matters,
and pixels are compared. BLESS=1 keeps what is shown now."""
import base64
import html
import json
import os
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from test_command_line import DIGITS, save, value
from test_report import CHROMIUM, browser, common_length
import dnncc  # the path is set by test_command_line

sys.path.append(str(dnncc.ROOT / "test" / "bench"))

KEPT = dnncc.ROOT / "test" / "driver" / "page_views"
SCRIPT = (dnncc.ROOT / "test" / "support" / "page_layout.js").read_text()
BLESS = os.environ.get("BLESS") == "1"
MODELS = pathlib.Path(os.environ.get("DNNCC_MODELS", dnncc.ROOT.parent / "shared" / "models"))
BLOCKS = ("facts", "states", "against")
LEAST_WINDOW = 520
POINTER = []                            # what the browser is told of one


def chromium(page, *options, wide=1280, high=800):
    with tempfile.TemporaryDirectory() as home:
        done = dnncc.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={home}", "--enable-logging=stderr", "--hide-scrollbars",
                          "--force-device-scale-factor=1", f"--window-size={wide},{high}", "--host-resolver-rules=MAP * ~NOTFOUND", *POINTER, *options, page],
                         timeout=300)
    assert done.returncode == 0 and "CONSOLE" not in done.stderr, done.stderr
    return done.stdout


def said(page, code, tab="graph", virtual=True, **window):
    """what `return` gives in a function of the page's that runs after all else; virtual: its clock does not wait. What is narrower than a browser's
    window is a frame in one."""
    text = page.read_text().replace("</body>", f"""<pre id="said" hidden></pre><script>addEventListener("load", () => {{
        const said = (() => {{ {code} }})();
        document.getElementById("said").textContent = JSON.stringify(said);
        parent.postMessage(JSON.stringify(said), "*"); }});</script></body>""")
    asked, around = page.with_name("asked.html"), page.with_name("around.html")
    asked.write_text(text)
    wide, high = window.get("wide", 1280), window.get("high", 800)
    if wide < LEAST_WINDOW:
        around.write_text(f"""<!doctype html><body style="margin:0"><iframe src="asked.html#{tab}" style="border:0;width:{wide}px;height:{high}px"></iframe>
            <pre id="said" hidden></pre><script>onmessage = (event) => (document.getElementById("said").textContent = event.data);</script></body>""")
        asked, window = around, {}
    dom = chromium(f"file://{asked}#{tab}", "--dump-dom", *(["--virtual-time-budget=20000"] if virtual else []), **window)
    return json.loads(html.unescape(re.search(r'<pre id="said"[^>]*>(.*?)</pre>', dom, re.S).group(1)))


# ---- what it looks like ----

VIEWS = {                               # tab, width and height of the window, dark
    "graph": ("graph", 1280, 800, False), "kernel": ("kernels/1", 1280, 800, False), "nodes": ("nodes", 1280, 800, True),
    "roofline": ("roofline", 1280, 800, False), "memory": ("memory", 1280, 800, True), "weights": ("weights", 1280, 800, False),
    "passes": ("passes", 1280, 800, False), "phone": ("graph", 390, 844, False), "phone_kernel": ("kernels/1", 390, 844, True),
    "print": ("kernels/1", 794, 1123, True),            # paper is light whatever the screen is; A4
}


def network(path):
    """convolution, pool, product, softmax"""
    r = np.random.default_rng(3)
    constants = [numpy_helper.from_array(r.standard_normal(shape).astype(np.float32), name)
                 for name, shape in {"w": (4, 1, 3, 3), "b": (4,), "v": (36, 5)}.items()]
    node = helper.make_node
    nodes = [node("Conv", ["x", "w", "b"], ["c"], "conv", pads=[1, 1, 1, 1]), node("Relu", ["c"], ["r"], "relu"),
             node("MaxPool", ["r"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]), node("Flatten", ["p"], ["f"], "flatten"),
             node("MatMul", ["f", "v"], ["m"], "product"), node("Softmax", ["m"], ["y"], "softmax")]
    return save(path, nodes, [value("x", (1, 1, 6, 6))], [value("y", (1, 5))], constants)


def block(text, name):
    return re.search(rf'(id="{name}">\n)(.*?)(</script>)', text, re.S)


def on_paper(text):
    """as the page is printed"""
    assert "@media print" in text
    return text.replace("@media print", "@media all")


def page_of(facts, folder, high, dark, paper=False):
    """the page of this build around facts that are kept; heights do not follow the window, of which browsers take a part for themselves, long texts end without dots, and
    summaries have no marks"""
    model = network(folder / "m.onnx")
    dnncc.compile_model(model, folder, [f"--report={folder / 'm.html'}"])
    text = (folder / "m.html").read_text()
    for name in BLOCKS:
        found = block(text, name)
        text = text[:found.start(2)] + facts[name] + text[found.end(2):]
    text = re.sub(r"(\d+)vh\b", lambda n: f"{int(n[1]) * high / 100}px", text)
    text = text.replace("-webkit-line-clamp: 2", "max-height: 2.9em").replace("display: -webkit-box", "display: block").replace("ellipsis", "clip").replace("</style>", "summary { list-style: none; }</style>")
    if dark:
        text = text.replace("@media (prefers-color-scheme: dark)", "@media all").replace("color-scheme: light dark", "color-scheme: dark")
    (folder / "m.html").write_text(on_paper(text) if paper else text)
    return folder / "m.html"


def painted(items, dark):
    """a page of what layout data say, each where it is"""
    parts = []
    at = "position:absolute;left:{}px;top:{}px;width:{}px;height:{}px;".format
    for kind, *item in items:
        if kind == "box":
            parts.append(f'<div style="{at(*item[:4])}background:{item[4]}"></div>')
        elif kind == "text":
            x, y, wide, high, color, font, line, clip = item
            style = html.escape(f"color:{color};{font};line-height:{high}px;white-space:pre;left:{x - clip[0]}px;top:{y - clip[1]}px")
            parts.append(f'<div style="{at(*clip)}overflow:hidden"><span style="position:absolute;{style}">{html.escape(line)}</span></div>')
        elif kind == "control":
            x, y, wide, high, font, padding, markup = item
            style = html.escape(f"{at(x, y, wide, high)}box-sizing:border-box;margin:0;{font};padding:{padding}")
            parts.append(re.sub(r"^<(\w+)", rf'<\1 style="{style}"', markup))
        else:
            markup, (x, y, wide, high) = item
            parts.append(f'<svg style="{at(x, y, wide, high)}" viewBox="{x} {y} {wide} {high}">{markup}</svg>')
    scheme, paper = ("dark", "#171b21") if dark else ("light", "#fff")
    return f'<!doctype html><meta charset="utf-8"><style>:root{{color-scheme:{scheme}}}body{{margin:0;background:{paper};overflow:hidden}}</style><body>' + "\n".join(parts)


COMPARE = """const [a, b] = [...document.images].map((picture) => {
  const canvas = new OffscreenCanvas(picture.width, picture.height).getContext("2d");
  canvas.drawImage(picture, 0, 0);
  return canvas.getImageData(0, 0, picture.width, picture.height);
});
const last = a.data.length - 4, where = [1e9, 1e9, -1, -1];
const far = (x, i, y, j) => [0, 1, 2].some((k) => Math.abs(x.data[i + k] - y.data[j + k]) > 48);
let differ = 0, shown = 0;
for (let i = 0; i <= last; i += 4) {
  shown += far(a, i, a, last) || far(b, i, a, last);
  if (!far(a, i, b, i)) continue;
  const [x, y] = [(i / 4) % a.width, Math.floor(i / 4 / a.width)];
  [where[0], where[1], where[2], where[3]] = [Math.min(where[0], x), Math.min(where[1], y), Math.max(where[2], x), Math.max(where[3], y)];
  differ++;
}
return [a.width, a.height, b.width, b.height, differ, shown, ...where];"""


def shot(page, name, wide, high, tab=""):
    """an image of its PNG"""
    chromium(f"file://{page}{tab}", f"--screenshot={page.with_name(name)}", "--virtual-time-budget=5000", wide=wide, high=high)
    return f'<img src="data:image/png;base64,{base64.b64encode(page.with_name(name).read_bytes()).decode()}">'


@browser
@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n == "graph" else [pytest.mark.long]) for n in VIEWS])
def test_view(name, tmp_path):
    """one pixel of a hundred differs at most, of those that either shows something on"""
    tab, wide, high, dark = VIEWS[name]
    if BLESS and not (KEPT / "report.json").exists():
        model = network(tmp_path / "m.onnx")
        dnncc.compile_model(model, tmp_path, [f"--report={tmp_path / 'm.html'}"])
        (KEPT / "report.json").write_text(json.dumps({b: block((tmp_path / "m.html").read_text(), b).group(2) for b in BLOCKS}, indent=0) + "\n")
    page = page_of(json.loads((KEPT / "report.json").read_text()), tmp_path, high, dark, paper=name == "print")
    kept = KEPT / f"{name}.json"
    if BLESS:
        items = said(page, SCRIPT + f"return pageLayout({high});", tab, wide=wide, high=high)
        kept.write_text("[" + ",\n".join(json.dumps(item, ensure_ascii=False) for item in items) + "]\n")
    (tmp_path / "kept.html").write_text(painted(json.loads(kept.read_text()), dark and name != "print"))
    for _ in range(2):                  # a browser on a busy machine may take its picture too early
        now, then = shot(page, "now.png", wide, high, f"#{tab}"), shot(tmp_path / "kept.html", "then.png", wide, high)
        (tmp_path / "pair.html").write_text(f"<!doctype html><body>{now}{then}</body>")
        *sizes, differ, shown, left, top, right, bottom = said(tmp_path / "pair.html", COMPARE)
        assert sizes == [wide, high] * 2
        if differ <= 0.01 * shown:
            break
    assert differ <= 0.01 * shown, f"{differ} of {shown} pixels, within {left}, {top} and {right}, {bottom}: {tmp_path}/now.png, then.png"


CUT = """const found = [];
for (const tab of Object.keys(draw)) {
  if (tab === "compare") continue;
  show(tab);
  if (tab === "kernels") showKernel(0);
  for (const e of document.body.querySelectorAll("*")) {
    const r = e.getBoundingClientRect();
    if (!r.width || e.closest("svg")) continue;
    const style = getComputedStyle(e), clips = style.overflowX !== "visible" || style.overflowY !== "visible";
    if (r.right > innerWidth + 1 || (clips && (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1)))
      found.push(`${tab}: ${e.tagName} ${e.className}`);
    if (/^(BUTTON|INPUT|SELECT)$/.test(e.tagName) && !e.closest("th")) found.push(`${tab}: ${e.tagName} is on paper`);
  }
}
return [getComputedStyle(document.body).backgroundColor, ...found];"""


@browser
@pytest.mark.slow
def test_paper_has_all_of_a_tab(tmp_path):
    """nothing is cut off, nothing is there to be pressed but heads of columns; of a graph that is zoomed all is printed, and the screen stays what it was"""
    model = network(tmp_path / "m.onnx")
    dnncc.compile_model(model, tmp_path, [f"--report={tmp_path / 'm.html'}"])
    page = tmp_path / "m.html"
    zoomed = said(page, """const svg = document.querySelector("#graph-tab svg"), box = () => svg.getAttribute("viewBox"), fit = document.querySelector("#fit");
        fit.click();
        const all = box();
        svg.onkeydown(new KeyboardEvent("keydown", { key: "+" }));
        const near = box();
        dispatchEvent(new Event("beforeprint"));
        const printed = box();
        dispatchEvent(new Event("afterprint"));
        return [all === printed, near !== all, near === box()];""")
    assert zoomed == [True, True, True]
    chromium(f"file://{page}#kernels/1", f"--print-to-pdf={tmp_path}/m.pdf", "--virtual-time-budget=5000")
    assert re.search(rb"^%PDF.*/Type ?/Page\b", (tmp_path / "m.pdf").read_bytes(), re.S)
    page.write_text(on_paper(page.read_text()))
    assert said(page, CUT, wide=794, high=1123) == ["rgb(255, 255, 255)"]


# ---- what each tab shows without being asked ----

SIZES = {"screen": (1280, 800), "phone": (390, 844)}
DARK = (("@media (prefers-color-scheme: dark)", "@media all"), ("color-scheme: light dark", "color-scheme: dark"))


@pytest.fixture(scope="module")
def timed_page(tmp_path_factory):
    """{light or dark: the page of a small network, with measured times}"""
    folder = tmp_path_factory.mktemp("timed")
    done = dnncc.run([dnncc.DNNCC, network(folder / "m.onnx"), "--target=x86-64", "--bench=1", f"--report={folder / 'light.html'}"])
    assert done.returncode == 0, done.stderr
    text = (folder / "light.html").read_text()
    for before, now in DARK:
        text = text.replace(before, now)
    (folder / "dark.html").write_text(text)
    return {shade: folder / f"{shade}.html" for shade in ("light", "dark")}


# one start of a browser asks all: (name, what is returned)
SHOWN = r"""
const rect = (e) => e.getBoundingClientRect(), inside = (e) => rect(e).left >= 0 && rect(e).right <= innerWidth && rect(e).width > 0;
const found = { head: rect($("header")).height, target: $("#subtitle").textContent.split("x86-64").length - 1, wide: document.documentElement.scrollWidth <= innerWidth };
show("kernels");
const heads = [...document.querySelectorAll("#kernels-tab th")].filter(inside).map((th) => th.textContent);
found.columns = ["share", "measured µs", "predicted cycles", "of all"].filter((name) => heads.includes(name));
const bars = [...document.querySelectorAll("#kernels-tab .bar")];
found.bars = [bars.length === calls.length, bars.every(inside), Math.max(...bars.map((b) => parseFloat(b.style.backgroundSize)))];
show("roofline");
const texts = [...document.querySelectorAll("#roofline-tab text")], written = texts.map((t) => t.textContent);
found.circles = [document.querySelectorAll("#roofline-tab circle").length, written.filter((t) => calls.some((c) => c.kernel === t)).length];
found.roofs = ["multiply-adds: ", "second cache: ", "memory: "].filter((name) => written.some((t) => t.startsWith(name) && t.endsWith("/s"))).length;
found.axes = ["FLOP per byte", "FLOP/s"].every((name) => written.includes(name));
const boxes = texts.filter((t) => /name|roof/.test(t.getAttribute("class"))).map(rect), svg = rect($("#roofline-tab svg"));
const over = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
found.covered = boxes.filter((a, i) => boxes.some((b, j) => i < j && over(a, b))).length + boxes.filter((a) => a.left < svg.left || a.right > svg.right).length;
show("memory");
found.blocks = [...document.querySelectorAll("#memory-tab text.block")].map((t) => t.textContent);
found.abouts = [...document.querySelectorAll("#memory-tab rect")].map((r) => r.getAttribute("aria-label"));
show("passes");
const on = $("#passes-tab tr.on");
found.pass = [Number(on.dataset.row), facts.passes.findIndex((p) => p.rewrites > 0), rect(on).top >= 0 && rect(on).bottom <= innerHeight];
found.differ = document.querySelectorAll(".diff tr.gone, .diff tr.new, .diff tr.both").length;
showKernel(1);
found.panel = [rect($("#kernel")).top >= -1, rect($("#kernel h2")).bottom <= innerHeight, inside($("#kernel h2"))];
show("graph");
found.hints = [...document.querySelectorAll(".tools .mouse, .tools .touch")].filter((e) => getComputedStyle(e).display !== "none").map((e) => e.className);
return found;
"""


@pytest.mark.sample(3)
@browser
@pytest.mark.slow
@pytest.mark.parametrize("shade", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_what_each_tab_shows(timed_page, size, shade):
    wide, high = SIZES[size]
    found = said(timed_page[shade], SHOWN, wide=wide, high=high)
    assert found["head"] <= (180 if size == "screen" else 150) and found["wide"] and found["target"] == 1
    assert found["columns"] == (["share", "measured µs", "predicted cycles", "of all"] if size == "screen" else ["share", "measured µs"])
    assert found["bars"] == [True, True, 100]
    circles, named = found["circles"]
    assert circles > 0 and named >= (circles if size == "screen" else 1) and found["roofs"] >= 2 and found["axes"] and not found["covered"]
    assert found["abouts"] and not [t for t in [*found["blocks"], *found["abouts"]] if re.match(r"(t|v|m)(_\d+)?\b", t)], "blocks are called by nodes"
    shown, first, seen = found["pass"]
    assert shown == first > 0 and seen and found["differ"] > 0
    assert found["panel"] == [True, True, True] and set(found["hints"]) == {"mouse"}


@browser
@pytest.mark.slow
def test_a_link_to_a_kernel_shows_its_panel_on_a_phone(timed_page):
    asked = "const r = $('#kernel h2').getBoundingClientRect(); return [$('#kernel h2').textContent === calls[2].kernel, r.top >= 0 && r.bottom <= innerHeight];"
    assert said(timed_page["light"], asked, "kernels/2", wide=390, high=844) == [True, True]


@browser
@pytest.mark.slow
def test_fingers(timed_page, monkeypatch):
    """hints are about them, and two of them zoom"""
    monkeypatch.setattr(sys.modules[__name__], "POINTER", ["--blink-settings=availablePointerTypes=2,primaryPointerType=2"])
    code = """const svg = $("#graph-tab svg"), box = () => svg.getAttribute("viewBox").split(" ").map(Number), r = svg.getBoundingClientRect();
        const finger = (kind, id, x) => svg[`onpointer${kind}`](new PointerEvent(`pointer${kind}`, { pointerId: id, buttons: 1, clientX: r.left + x, clientY: r.top + 100 }));
        const hints = [...document.querySelectorAll(".tools .mouse, .tools .touch")].filter((e) => getComputedStyle(e).display !== "none").map((e) => e.className);
        const before = box();
        finger("down", 1, 100); finger("down", 2, 150); finger("move", 2, 200);
        const near = box();
        finger("up", 1, 100); finger("move", 2, 230); finger("up", 2, 230);
        return [[...new Set(hints)], near[2] / before[2], box()[2] === near[2]];"""
    hints, factor, same = said(timed_page["light"], code, wide=390, high=844)
    assert hints == ["touch"] and factor == pytest.approx(0.5) and same


# ---- how it behaves, on real models ----

def zoo_model(name):
    import zoo                          # which builds it once
    return zoo.build(name)


def shared(name):
    path = MODELS / name / "model.onnx"
    if not path.exists():
        pytest.skip(f"the model {name} is not in the models folder")
    return path


NETWORKS = {"digits": (lambda: DIGITS, []), "mobilenet_v2": (lambda: zoo_model("mobilenet_v2"), ["--target=x86-64-v3"]),
            "squeezenet": (lambda: zoo_model("squeezenet"), []), "stories260k": (lambda: shared("stories260k_prefill"), ["--dim=seq=16"]),
            "nanodet": (lambda: shared("nanodet_m_320"), []), "resnet8_int8": (lambda: shared("resnet8_int8"), ["--target=x86-64-v4-vnni"]),
            "densenet121": (lambda: zoo_model("densenet121"), ["--target=x86-64-v3"])}     # of the zoo the one of most kernels
TABS = ("graph", "kernels", "nodes", "roofline", "memory", "weights", "passes")

# what is wrong with what is shown now, by rules of WCAG 2 (contrast of AA; all that a mouse does, keys do)
RULES = r"""
const parse = (color) => (/rgba?\(([^)]*)\)/.exec(color) || ["", "0, 0, 0, 0"])[1].split(", ").map(Number);
const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((s, v, k) => s + v * [0.2126, 0.7152, 0.0722][k], 0);
const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
// of what lies behind an element: the last box of its own group or drawing that covers it, else its parents' backgrounds
function behind(element) {
  const r = element.getBoundingClientRect(), x = (r.left + r.right) / 2, y = (r.top + r.bottom) / 2;
  for (let before = element.previousElementSibling; before && element.namespaceURI.endsWith("svg"); before = before.previousElementSibling) {
    const b = before.getBoundingClientRect(), fill = parse(getComputedStyle(before).fill);
    if (before.tagName === "rect" && b.left <= x && x <= b.right && b.top <= y && y <= b.bottom && (fill[3] ?? 1) === 1) return fill;
  }
  for (let at = element; at; at = at.parentElement) {
    const color = parse(getComputedStyle(at).backgroundColor);
    if ((color[3] ?? 1) === 1) return color;
  }
  return [255, 255, 255];
}
function wrong() {
  const found = new Set(), shown = (e) => e.checkVisibility({ visibilityProperty: true }) && e.getBoundingClientRect().width > 0;
  for (const e of document.body.querySelectorAll("*")) {
    if (!shown(e)) continue;
    const style = getComputedStyle(e), svg = e.namespaceURI.endsWith("svg");
    if ([...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) {
      const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      const ratio = contrast(parse(svg ? style.fill : style.color), behind(e));
      if (ratio < (large ? 3 : 4.5)) found.add(`contrast ${ratio.toFixed(2)}: ${e.tagName} ${e.getAttribute("class") || ""} "${e.textContent.slice(0, 30)}"`);
    }
    const roving = e.getAttribute("role") === "tab";
    if ((e.onclick || e.onmouseenter) && e.tabIndex < 0 && !roving) found.add(`no key reaches ${e.tagName} ${e.getAttribute("class") || e.id}`);
    if (e.onmouseenter && !e.onfocus) found.add(`only a mouse asks ${e.tagName} ${e.getAttribute("class") || e.id}`);
    if (e.onclick && !/^(BUTTON|A|INPUT)$/.test(e.tagName) && !e.onkeydown) found.add(`no key presses ${e.tagName}`);
  }
  return [...found].slice(0, 20);
}
"""

# boxes, labels and edges of the graph, in pixels of the screen; what lies on what
GRAPH = r"""
const rect = (e) => e.getBoundingClientRect(), over = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
const groups = [...document.querySelectorAll("#graph-tab g.node")], boxes = groups.map((g) => rect(g.querySelector("rect")));
const labels = groups.map((g) => g.querySelector("text.edge")).filter((t) => t).map(rect);
let covered = 0, hidden = 0;
for (const label of labels) covered += boxes.some((box) => over(box, label));
for (const path of document.querySelectorAll("#graph-tab path")) {
  const m = path.getScreenCTM(), length = path.getTotalLength();
  let lies = false;
  for (let at = 0; at <= length && !lies; at += 9) {
    const p = path.getPointAtLength(at).matrixTransform(m), slack = 1.5 * m.a;
    lies = boxes.some((b) => b.left + slack < p.x && p.x < b.right - slack && b.top + slack < p.y && p.y < b.bottom - slack);
  }
  hidden += lies;
}
return [boxes.length, labels.length, covered, hidden];
"""


@pytest.fixture(scope="module", params=[pytest.param(n, marks=[] if n == "digits" else [pytest.mark.long]) for n in NETWORKS])
def report_of(request, tmp_path_factory):
    """(page, JSON, model, options)"""
    find, options = NETWORKS[request.param]
    model, folder = find(), tmp_path_factory.mktemp(request.param)
    for end in ("html", "json"):
        dnncc.compile_model(model, folder, [f"--report={folder}/m.{end}", *options])
    return folder / "m.html", json.loads((folder / "m.json").read_text()), model, options


@browser
@pytest.mark.slow
def test_opens_at_its_top(report_of):
    """and the first tab is drawn half a second after the page has come, any other in a second, of a processor that a browser has to itself:
    a machine that does more at once than it has cores takes as much longer"""
    first, others = [], []
    for tab in TABS:
        code = """const times = [];
            for (const tab of Object.keys(draw)) {
              if (drawn.has(tab) || tab === "compare") continue;
              const begin = performance.now();
              show(tab);
              document.body.getBoundingClientRect();
              times.push(performance.now() - begin);
            }
            return times;"""
        place = """const [come] = performance.getEntriesByType("navigation"), title = document.querySelector("#title").getBoundingClientRect();
            const top = [scrollY, title.top >= 0 && title.bottom > title.top, document.querySelector("main > section.on").id];
            return [...top, come.domComplete ? come.domComplete - come.responseEnd : performance.now(), ...(() => {""" + code + "})()];"
        scroll, seen, shown, took, *times = said(report_of[0], place, tab, virtual=False)
        assert scroll == 0 and seen and shown == f"{tab}-tab"
        first.append(took)
        others.append(max(times))
    shared = max(1, os.getloadavg()[0] / os.cpu_count())
    assert min(first) <= 500 * shared and min(others) <= 1000 * shared, (first, others, shared)


@browser
@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_contrast_and_keys(report_of, dark, tmp_path):
    text = report_of[0].read_text()
    if dark:
        text = text.replace("@media (prefers-color-scheme: dark)", "@media all").replace("color-scheme: light dark", "color-scheme: dark")
    page = tmp_path / "m.html"
    page.write_text(text)
    code = RULES + """const all = {};
        for (const tab of Object.keys(draw)) if (tab !== "compare") { show(tab); all[tab] = wrong(); }
        showKernel(0);
        all.kernel = wrong();
        return all;"""
    assert {tab: list(found) for tab, found in said(page, code).items() if found} == {}


@browser
@pytest.mark.slow
def test_graph_hides_nothing(report_of):
    boxes, labels, covered, hidden = said(report_of[0], GRAPH)
    assert boxes > len(report_of[1]["calls"]) and labels and not covered and not hidden


@browser
@pytest.mark.slow
def test_every_node_is_found(report_of):
    """those of the model that the importer does not fold on the way"""
    names = {n.name for n in onnx.load(report_of[2], load_external_data=False).graph.node if n.name}
    found = said(report_of[0], "return nodesOfModel().map((n) => [n.name, search(n.name).some((h) => h[0] === n.name), n.calls.length > 0, fate(n)]);")
    assert found and all(hit and (placed or fate) for _, hit, placed, fate in found)
    imported = dnncc.run([dnncc.DNNCC, report_of[2], "--emit=ir", "--passes=", "-o", "-", *report_of[3]]).stdout
    named = set(re.findall(r'; "((?:[^"\\]|\\.)*)"$', imported, re.M))
    assert {n for n, *_ in found} == named and (not names or named & names)


# ---- differences between states ----

CHANGED = """return facts.passes.map((pass, k) => (k ? [pass.pass, pass.rewrites,
    sideBySide(stateLines(k - 1), stateLines(k)).filter((row) => !row[2]).length] : ["", 0, 0]));"""


@browser
@pytest.mark.long
@pytest.mark.parametrize("name, options, most", [
    ("dscnn_kws_int8", ["--target=x86-64-v4-vnni"], {"dce": (2, 0)}), ("dscnn_kws_int8", [], {"dce": (2, 0)}),
    ("mobilenet_v2", ["--target=x86-64-v3"], {"dce": (2, 0), "strips": (5, 0), "fuse": (0, 159)})])
def test_few_lines_change(name, options, most, tmp_path):
    """an operation that goes changes its own line alone, and that of its constant; two kernels that become one what stood between them; {pass: (for a rewrite, and beside that)}"""
    model = zoo_model(name) if name == "mobilenet_v2" else shared(name)
    dnncc.compile_model(model, tmp_path, [f"--report={tmp_path}/m.html", *options])
    changed = said(tmp_path / "m.html", CHANGED)
    for one, (each, more) in most.items():
        assert [(rewrites, lines) for name, rewrites, lines in changed if name == one and lines > each * rewrites + more] == [], one


def functions(lines):
    """{head: its lines}; what stands in front has none"""
    found, here = {"": []}, ""
    for line in lines:
        if re.match(r"\S.*{", line):
            here = re.split(r"[({]", line)[0]
            found[here] = []
        found[here].append(re.sub(r'^((module|program) .*) passes ".*"$', r"\1", re.sub(r"%\w+", "%", line.strip())))
    return found


@browser
@pytest.mark.slow
def test_difference_of_all_states(tmp_path):
    """lines are paired that are alike but for names, as many as there can be, function by function; those that stay the same are among them"""
    dnncc.compile_model(network(tmp_path / "m.onnx"), tmp_path, [f"--report={tmp_path}/m.html", "--target=x86-64"])
    texts = said(tmp_path / "m.html", "return facts.passes.map((pass, k) => stateLines(k));")
    found = said(tmp_path / "m.html", """const all = facts.passes.map((pass, k) => stateLines(k));
        return all.flatMap((a, i) => all.slice(i + 1).map((b, j) => [i, i + 1 + j, pairedLines(a, b).length, sameLines(a, b)]));""")
    assert len(found) == len(texts) * (len(texts) - 1) // 2 > 100
    compared = 0
    for i, j, paired, same in found:
        a, b = functions(texts[i]), functions(texts[j])
        if set(a) != set(b):
            continue                    # other kernels
        assert paired == sum(common_length(a[name], b[name]) for name in a), (i, j)
        compared += 1
        for p, q in same:
            assert functions([texts[i][p]]) == functions([texts[j][q]])
    assert compared > 100
