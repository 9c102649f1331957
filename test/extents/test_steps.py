# SPDX-License-Identifier: MIT
"""As many iterations as a run gives rows: recurrent networks and Scan, with --dim=N=1..17, give what onnxruntime gives for each length."""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder) for folder in ("support", "models")]
import dnncc  # noqa: E402
import processor  # noqa: E402

F32 = TensorProto.FLOAT
SANITIZED = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def compiled(folder, *options):
    for option in options:
        if option.startswith("--target=") and not processor.has(option.split("=")[1]):
            pytest.skip("this processor cannot run it")
    dnncc.compile_model(folder / "m.onnx", folder, options)
    return dnncc.build_host(folder, SANITIZED)


def same(got, want):
    assert len(got) == len(want)
    for y, right in zip(got, want):
        np.testing.assert_allclose(y.reshape(right.shape), right, 1e-4, 1e-5)


class Steps:
    """one recurrent operator with N steps, a batch of 2"""
    CELLS = {"LSTM": 4, "GRU": 3, "RNN": 1}

    def __init__(self, op, direction="forward", lengths=False, reset=0):
        self.op, self.direction, self.lengths, self.reset, self.both = op, direction, lengths, reset, 1 + (direction == "bidirectional")

    def save(self, path):
        rng, gates, hidden, width = np.random.default_rng(len(self.op)), self.CELLS[self.op], 9, 5

        def weights(*shape):
            return (rng.standard_normal(shape) * 0.4).astype(np.float32)
        constants = {"W": weights(self.both, gates * hidden, width), "R": weights(self.both, gates * hidden, hidden), "B": weights(self.both, 2 * gates * hidden)}
        inputs = [helper.make_tensor_value_info("x", F32, ["N", 2, width]), helper.make_tensor_value_info("h", F32, [self.both, 2, hidden])]
        inputs += [helper.make_tensor_value_info("lengths", TensorProto.INT32, [2])] * self.lengths
        outputs = ["Y", "Y_h"] + ["Y_c"] * (self.op == "LSTM")
        node = helper.make_node(self.op, ["x", "W", "R", "B", "lengths" if self.lengths else "", "h"], outputs, hidden_size=hidden, direction=self.direction,
                                **({"linear_before_reset": 1} if self.reset else {}))
        graph = helper.make_graph([node], "steps", inputs, [helper.make_tensor_value_info(o, F32, None) for o in outputs],
                                  [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)

    def inputs(self, rng, n):
        given = {"x": rng.standard_normal((n, 2, 5)).astype(np.float32), "h": rng.standard_normal((self.both, 2, 9)).astype(np.float32)}
        return given | ({"lengths": np.array([n, n // 2], np.int32)} if self.lengths else {})


FORMS = [("LSTM",), ("LSTM", "reverse"), ("LSTM", "bidirectional", True), ("GRU", "bidirectional"), ("GRU", "forward", True, 1), ("RNN", "reverse", True), ("RNN",)]


@pytest.mark.sample(7)
@pytest.mark.parametrize("options", [(), ("-O0",), ("--target=x86-64-v3",), ("--exact", "--target=x86-64-v4")], ids=lambda o: " ".join(o) or "plain")
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_recurrent(form, options, tmp_path):
    """as many steps as a run gives, of each direction, with sequences that end earlier, as onnxruntime has it"""
    steps = Steps(*form)
    steps.save(tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    program = compiled(tmp_path, "--dim=N=1..17", *options)
    rng = np.random.default_rng(1)
    for n in (1, 2, 7, 16, 17):
        given = steps.inputs(rng, n)
        same(dnncc.run_host(program, list(given.values())), session.run(None, given))
    with pytest.raises(AssertionError, match="returned -4"):
        dnncc.run_host(program, list(steps.inputs(rng, 18).values()))


class Sequences(Steps):
    """one recurrent operator over N sequences, of a number of steps or of T"""
    def __init__(self, steps, *form):
        super().__init__(*form)
        self.steps = steps

    def save(self, path):
        super().save(path)
        model = onnx.load(path)
        for port in model.graph.input:
            for d, extent in enumerate([self.steps, "N"] if port.name == "x" else [self.both, "N"] if port.name == "h" else ["N"]):
                dim = port.type.tensor_type.shape.dim[d]
                dim.Clear()
                setattr(dim, "dim_param" if isinstance(extent, str) else "dim_value", extent)
        onnx.save(model, path)

    def given(self, rng, n, steps):
        given = {"x": rng.standard_normal((steps, n, 5)).astype(np.float32), "h": rng.standard_normal((self.both, n, 9)).astype(np.float32)}
        return given | ({"lengths": rng.integers(1, steps + 1, n).astype(np.int32)} if self.lengths else {})


@pytest.mark.sample(21, each=False)
@pytest.mark.parametrize("options", [("--target=generic",), ("--target=x86-64-v3",), ("--target=x86-64-v4", "--exact")], ids=lambda o: " ".join(o))
@pytest.mark.parametrize("steps", [2, 7, "T"])
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_sequences(form, steps, options, tmp_path):
    """no sequence, one, some, and the bound; on generic the bits of the code for that number"""
    net = Sequences(steps, *form)
    net.save(tmp_path / "m.onnx")
    dims = ["--dim=N=0..6"] + ["--dim=T=1..8"] * (steps == "T")
    program = compiled(tmp_path, *dims, *options)
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    rng, given = np.random.default_rng(4), {}
    for n in 0, 1, 3, 6:
        inputs = net.given(rng, n, 1 + n if steps == "T" else steps)
        given[n] = list(inputs.values()), dnncc.run_host(program, list(inputs.values()))
        if n:
            same(given[n][1], session.run(None, inputs))
    if "--target=generic" in options and steps != "T":
        alone = compiled(tmp_path, "--dim=N=3", *options)
        for got, want in zip(given[3][1], dnncc.run_host(alone, given[3][0])):
            np.testing.assert_array_equal(got, want)



def test_recurrent_of_no_steps(tmp_path):
    """the state is the first one"""
    steps = Steps("GRU", "bidirectional")
    steps.save(tmp_path / "m.onnx")
    given = steps.inputs(np.random.default_rng(2), 0)
    y, state = dnncc.run_host(compiled(tmp_path, "--dim=N=0..5"), list(given.values()))
    assert y.size == 0 and np.array_equal(state, given["h"])


@pytest.mark.parametrize("options", [(), ("--target=x86-64-v3",)], ids=str)
def test_scan(options, tmp_path):
    """two inputs and two outputs, along other axes, forward and backward"""
    ports = {name: helper.make_tensor_value_info(name, F32, [3]) for name in ("s", "a", "b", "s2", "p", "q")}
    body = helper.make_graph([helper.make_node("Add", ["s", "a"], ["t"]), helper.make_node("Mul", ["t", "b"], ["p"]), helper.make_node("Tanh", ["t"], ["s2"]),
                              helper.make_node("Sub", ["p", "a"], ["q"])], "body", [ports[n] for n in "sab"], [ports[n] for n in ("s2", "p", "q")])
    node = helper.make_node("Scan", ["s0", "A", "B"], ["last", "P", "Q"], num_scan_inputs=2, body=body, scan_input_axes=[0, 1], scan_input_directions=[1, 0],
                            scan_output_axes=[1, 0], scan_output_directions=[0, 1])
    graph = helper.make_graph([node], "scan", [helper.make_tensor_value_info(n, F32, s) for n, s in (("s0", [3]), ("A", ["N", 3]), ("B", [3, "N"]))],
                              [helper.make_tensor_value_info(n, F32, None) for n in ("last", "P", "Q")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    program, rng = compiled(tmp_path, "--dim=N=1..9", *options), np.random.default_rng(3)
    for n in (1, 2, 5, 9):
        given = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in (("s0", [3]), ("A", [n, 3]), ("B", [3, n]))}
        same(dnncc.run_host(program, list(given.values())), session.run(None, given))


def test_rows_of_two_lengths(tmp_path):
    """that a run would have to compare are refused"""
    one = helper.make_tensor_value_info("a", F32, [3]), helper.make_tensor_value_info("b", F32, [3])
    body = helper.make_graph([helper.make_node("Add", ["a", "b"], ["y"])], "body", one, [helper.make_tensor_value_info("y", F32, [3])])
    node = helper.make_node("Scan", ["A", "B"], ["Y"], num_scan_inputs=2, body=body)
    graph = helper.make_graph([node], "scan", [helper.make_tensor_value_info(n, F32, s) for n, s in (("A", ["N", 3]), ("B", ["M", 3]))],
                              [helper.make_tensor_value_info("Y", F32, None)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--dim=N=1..9", "--dim=M=1..9", "-o", tmp_path / "x.c"])
    assert done.returncode == dnncc.UNSUPPORTED and "scanned inputs have N and M rows" in done.stderr, done.stderr


def test_check(tmp_path):
    """passes leave the numbers as they are; the text is read back"""
    Steps("LSTM", "bidirectional", True).save(tmp_path / "m.onnx")
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--dim=N=1..9", "--check", "--target=x86-64-v3", "-o", tmp_path / "x.c"])
    assert done.returncode == 0 and "differ" not in done.stderr, done.stderr
    for emit in "ir", "loops":
        for source, to in ("m.onnx", "t"), ("t", "again"):
            options = ["--dim=N=1..9"] * (source == "m.onnx")
            done = dnncc.run([dnncc.DNNCC, tmp_path / source, *options, f"--emit={emit}", "-o", tmp_path / to])
            assert done.returncode == 0, done.stderr
        assert (tmp_path / "t").read_text() == (tmp_path / "again").read_text().replace('"again.bin"', '"t.bin"')
