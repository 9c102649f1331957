# SPDX-License-Identifier: MIT
"""Graphs of many nodes, as text: a chain, values that a thousand others read, a thousand branches side by side."""
WIDTH = 1000
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


def joined(g, parts):
    whole = g.add(f"concat({', '.join(parts)})", f"<{8 * len(parts)} x f32>")
    return g.add(f"reduce({g.add(f'reshape({whole})', f'<{len(parts)} x 8 x f32>')}, <1 x i64> 0) kind=max")


def chain(nodes, width=WIDTH):
    g, v = Graph(), "%x"
    for i in range(nodes):
        v = g.add(STEPS[i % 5].format(v))
    return g.text(v)


def fan(nodes, width=WIDTH):
    g, v = Graph(), "%x"
    while len(g.lines) < nodes:
        v = joined(g, [g.add(f"tanh({g.add(f'mul({v}, {k}.5)')})") for k in range(width)])
    return g.text(v)


def branches(nodes, width=WIDTH):
    g, ends = Graph(), []
    for k in range(width):
        v = g.add(f"add(%x, {k}.25)")
        for i in range(nodes // width - 2):
            v = g.add(STEPS[i % 5].format(v))
        ends.append(v)
    return g.text(joined(g, ends))


ALL = chain, fan, branches
