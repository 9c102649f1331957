"""Graphs of 100,000 nodes: a chain, values that a thousand others read, a thousand branches side by side. All of a compilation stays
within seconds of processor time, because no pass is quadratic in nodes, uses, or what is alive at once."""
import pathlib
import resource
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

NODES, WIDTH = 100_000, 1000
SECONDS = 10        # of processor time; 1 to 4 on an idle machine
STEPS = ["tanh({})", "sigmoid({})", "add({}, 1.0)", "mul({}, 0.5)", "erf({})"]


class Graph:
    def __init__(self):
        self.lines = []

    def add(self, text, type="<8 x f32>"):
        name = f"%{len(self.lines)}"
        self.lines.append(f"  {name} = {text} : {type}")
        return name

    def text(self, result):
        return ('dnn 1\nmodule "large"\nfunc @main(%x "x": <8 x f32>) -> ("y") {\n' + "\n".join(self.lines) + f"\n  yield({result})\n}}\n")


def chain():
    g, v = Graph(), "%x"
    for i in range(NODES):
        v = g.add(STEPS[i % 5].format(v))
    return g.text(v)


def joined(g, parts):
    whole = g.add(f"concat({', '.join(parts)})", f"<{8 * WIDTH} x f32>")
    return g.add(f"reduce({g.add(f'reshape({whole})', f'<{WIDTH} x 8 x f32>')}, <1 x i64> 0) kind=max")


def fan():
    g, v = Graph(), "%x"
    while len(g.lines) < NODES:
        v = joined(g, [g.add(f"tanh({g.add(f'mul({v}, {k}.5)')})") for k in range(WIDTH)])
    return g.text(v)


def branches():
    g, ends = Graph(), []
    for k in range(WIDTH):
        v = g.add(f"add(%x, {k}.25)")
        for i in range(NODES // WIDTH - 2):
            v = g.add(STEPS[i % 5].format(v))
        ends.append(v)
    return g.text(joined(g, ends))


@pytest.mark.parametrize("options", [["-O2"], ["-O0"], ["-O2", "--target=x86-64-v4"]], ids=" ".join)
@pytest.mark.parametrize("graph", [chain, fan, branches], ids=lambda f: f.__name__)
def test_seconds(tmp_path, graph, options):
    path = tmp_path / "large.dnn"
    path.write_text(graph())
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = dnncc.run([dnncc.DNNCC, path, "-o", tmp_path / "large.c", *options], timeout=300)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < SECONDS
