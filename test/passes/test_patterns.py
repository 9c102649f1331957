# SPDX-License-Identifier: MIT
"""A composite operator and the ONNX function it stands for end in the same kernels: the backend tests of the onnx wheel come in both forms,
test_X and test_X_expanded. Pairs whose shapes only a run could tell are compared with their axes, shapes and the like as constants.
patterns.txt lists those that end the same; none may stop, and BLESS=1 adds new ones.

The same: outputs are the same expressions (whatever the order of operations, and of operands where that does not matter; numbers to five
digits), in as many kernels."""
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import sys

import onnx
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

TESTS = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "node"
SCORE = pathlib.Path(__file__).with_name("patterns.txt")
COMMUTATIVE = {"add", "mul", "max", "min", "and", "or", "xor", "eq", "ne"}


def literal(text):
    try:
        return f"{float(text):.5g}"
    except ValueError:
        return text                     # true


def expressions(graph):
    """what the outputs are, each by a digest of its expression, and how many kernels compute them"""
    body, kernels = graph["functions"][0]["body"], 0
    constants = {c["name"]: f'constant {c["type"]}' for c in graph["constants"]}

    def digest(*parts):
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

    def operand(o, values):
        if isinstance(o, dict):         # spread over whatever shape it meets, or a list
            elements = [literal(e) for e in o["elements"].split(", ")]
            return f"{elements} {o['type']['shape'] if len(elements) > 1 else ''}"
        return values.get(o) or constants.get(o)

    def region(r, values):
        nonlocal kernels
        for op in r["operations"]:
            kernels += r is body and op["op"] not in ("reshape", "yield")
            if op["op"] == "fusion":
                values.update(zip((x["name"] for x in op["results"]), region(op["regions"][0], values)))
                continue
            operands = [operand(o, values) for o in op["operands"]]
            if op["op"] == "yield":
                return operands
            if op["op"] in COMMUTATIVE:
                operands.sort()
            inner = [region(i, {**values, **{a["name"]: f"argument {k}" for k, a in enumerate(i["arguments"])}}) for i in op.get("regions", [])]
            values.update((x["name"], digest(op["op"], operands, op["attributes"], x["type"], k, inner)) for k, x in enumerate(op["results"]))

    return region(body, {a["name"]: f"input {k}" for k, a in enumerate(body["arguments"])}), kernels


def described(model):
    """None: not supported"""
    done = dnncc.run([dnncc.DNNCC, model, "--emit=json", "-o", "-"])
    assert done.returncode in (0, dnncc.UNSUPPORTED), done.stderr
    return expressions(json.loads(done.stdout)) if done.returncode == 0 else None


def stated(folder, to):
    """the model with its axes, shapes and other short inputs as constants, as exporters have them"""
    model = onnx.load(folder / "model.onnx")
    for k, port in reversed(list(enumerate(model.graph.input))):
        if len(port.type.tensor_type.shape.dim) <= 1 and port.type.HasField("tensor_type"):
            value = onnx.load_tensor(folder / "test_data_set_0" / f"input_{k}.pb")
            value.name = port.name
            model.graph.initializer.append(value)
            del model.graph.input[k]
    onnx.save(model, to)
    return to


def pairs():
    for expanded in sorted(TESTS.glob("test_*_expanded*")):
        composite = TESTS / re.sub("_expanded.*", "", expanded.name)
        if composite.exists():
            yield composite, expanded


def compare(pair):
    """what becomes of the models as they are; and, where that is not the same, "stated " and what becomes of them as exporters have them: with axes
    and sizes that only a run knows, a function may need other checks than its body"""
    def result(composite, expanded):
        return "unsupported" if composite is None or expanded is None else "same" if composite == expanded else "different"
    found = result(*(described(folder / "model.onnx") for folder in pair))
    if found != "same":
        with dnncc.Workspace("patterns") as work:
            found = "stated " + result(*(described(stated(folder, work / f"{folder.name}.onnx")) for folder in pair))
    return pair[1].name, found


@pytest.mark.skipif(not TESTS.exists(), reason="the onnx wheel brings no backend tests")
@pytest.mark.slow
def test_functions_end_in_the_same_kernels():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = dict(pool.map(compare, pairs()))
    same, known = {f"{name} {result}" for name, result in results.items() if result.endswith("same")}, set(SCORE.read_text().splitlines())
    print(collections.Counter(results.values()))
    if os.environ.get("BLESS"):
        SCORE.write_text("\n".join(sorted(same | known)) + "\n")
    assert len(same) > 300 and same >= known, f"no longer the same: {sorted(known - same)}"
