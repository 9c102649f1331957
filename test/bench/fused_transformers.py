# SPDX-License-Identifier: MIT
"""fused_transformers.py NAME [LAYERS [ROUNDS]]: a network in plain ONNX and as onnxruntime's transformers optimizer has it, both by dnncc, and the
second one by onnxruntime, in turn on one thread, by processor time.

NAME is bert, gpt_prefill or gpt_step, of the zoo with LAYERS layers (4) and what the optimizer saves of it; or decoder, state.py's step behind
1,023 positions with state, plain, and with the operator Attention in place of its products, as the optimizer writes it for exports of
GPT-2; or llama, a step of llama_model.py's behind 1,023 positions, of which the plain form has attention, rotary embeddings and normalizations in
standard operators, by the same products of weights in 4 bits. Prints medians in milliseconds, and medians of each round's ratios."""
import functools
import pathlib
import statistics
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "python"), str(HERE)]
import dnncc  # noqa: E402
import llama_model  # noqa: E402
import llama_shape  # noqa: E402
import state  # noqa: E402
import zoo  # noqa: E402
from zoo import graph, sequences  # noqa: E402


# ---- networks of the zoo, and what the optimizer makes of them ----

def of_zoo(name, layers, folder):
    """paths of both, and the inputs"""
    from onnxruntime.transformers import optimizer
    sequences.GPT_LAYERS = layers
    model = zoo.MODELS["bert_base" if name == "bert" else name]
    builder = functools.partial(sequences.bert_base, layers=layers) if name == "bert" else model.builder
    unused = [sequences.gpt_cache(layer, part) for layer in range(layers, 99) for part in ("key", "value")]
    given = {i.name: i.sample(np.random.default_rng(1)) for i in model.inputs if i.name not in unused}
    network = graph.Graph(name, given, 13)
    builder(network)
    network.save(folder / "plain.onnx", None)
    fused = optimizer.optimize_model(str(folder / "plain.onnx"), "bert" if name == "bert" else "gpt2", num_heads=12, hidden_size=768, opt_level=0)
    fused.save_model_to_file(str(folder / "fused.onnx"))
    return folder / "plain.onnx", folder / "fused.onnx", given


def peer(path, given):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, array in given.items():
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
    for output in session.get_outputs():
        binding.bind_output(output.name)

    def call():
        session.run_with_iobinding(binding)
        return binding.get_outputs()[0].numpy()
    return call


def zoo_calls(name, layers, folder):
    *paths, given = of_zoo(name, layers, folder)
    models = [dnncc.compile(path, target="native") for path in paths]
    return [lambda m=m: first(m(*given.values())) for m in models] + [peer(paths[1], given)]


def first(results):
    return np.asarray(results[0] if isinstance(results, (tuple, list)) else results)


# ---- a decoder's step over state ----

class Fused(state.Decoder):
    """with Attention, whose keys and values are one past; the optimizer does not take the mask over"""

    def attention(self, x, layer, mask):
        present = f"present.{layer}.all"
        y = f"attended{layer}"
        w, b = (self.constant(self.weights(*shape)) for shape in ((state.WIDTH, 3 * state.WIDTH), (3 * state.WIDTH,)))
        self.nodes.append(helper.make_node("Attention", [x, w, b, "", f"past.{layer}.all"], [y, present], domain="com.microsoft", num_heads=state.HEADS,
                                           unidirectional=1))
        return self.dense(y, state.WIDTH)

    def save(self, path):
        super().save(path)
        model = onnx.load(path)
        for ports, which, rows in ((model.graph.input, "past", "P"), (model.graph.output, "present", "P + N")):
            del ports[1:]
            ports.extend(helper.make_tensor_value_info(f"{which}.{layer}.all", TensorProto.FLOAT, [2, 1, state.HEADS, rows, state.SIZE])
                         for layer in range(self.layers))
        for node in model.graph.node:           # of the mask, for which plain attention asks the first layer's keys
            for k, name in enumerate(node.input):
                node.input[k] = "past.0.all" if name == "past.0.key" else name
            if node.op_type == "Gather" and node.input[0] in {n.output[0] for n in model.graph.node if n.op_type == "Shape" and n.input[0] == "past.0.all"}:
                node.input[1] = "third"
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(3), "third"))
        model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
        onnx.save(model, path)


def step(sequence, ids, caches):
    sequence["P"] = state.POSITIONS - 1
    for name, array in caches.items():
        sequence[f"past.{name}"][...] = array

    def call():
        sequence["P"] = state.POSITIONS - 1
        return first(sequence(ids))
    return call


def decoder_calls(layers, folder):
    plain, fused, ids, rng = folder / "plain.onnx", folder / "fused.onnx", np.array([[7]]), np.random.default_rng(1)
    names = state.Decoder(layers).save(plain)
    Fused(layers).save(fused)
    caches = {name: rng.standard_normal((1, state.HEADS, state.POSITIONS - 1, state.SIZE), np.float32) for name in names}
    joined = {f"{layer}.all": np.stack([caches[f"{layer}.{part}"] for part in ("key", "value")]) for layer in range(layers)}
    calls = []
    for path, held in ((plain, caches), (fused, joined)):
        model = dnncc.compile(path, dim={"N": 1, "P": f"0..{state.POSITIONS - 1}"}, state={"past.*": "present.*"}, target="native")
        calls.append(step(model.sequence(), ids, held))
    return [*calls, peer(fused, {"ids": ids, **{f"past.{name}": array for name, array in joined.items()}})]


# ---- a step of a model with weights in 4 bits ----

class Plain(llama_model.Llama):
    """attention and normalizations in standard operators"""

    def standard(self, op, *inputs, outputs=1, **attributes):
        self.made = getattr(self, "made", 0) + 1
        names = [f"plain{self.made}.{k}" for k in range(outputs)]
        self.node(op, list(inputs), names, "", **attributes)
        return names[0] if outputs == 1 else names

    def prepare(self):
        total = self.standard("Squeeze", "extent")
        rows = self.standard("Squeeze", self.standard("Gather", self.standard("Shape", "input_ids"), np.array([1])))
        first = self.standard("Sub", total, rows)
        queries, keys = self.standard("Range", first, total, np.array(1)), self.standard("Range", np.array(0), total, np.array(1))
        seen = self.standard("LessOrEqual", keys, self.standard("Unsqueeze", queries, np.array([1])))
        self.mask = self.standard("Where", seen, np.float32(0), np.float32(-np.inf))
        self.turns = [self.standard("Gather", table, queries) for table in ("cosine", "sine")]

    def turned(self, x):
        low, high = self.standard("Split", x, outputs=2, axis=-1, num_outputs=2)
        cosine, sine = self.turns
        return self.standard("Concat", self.standard("Sub", self.standard("Mul", low, cosine), self.standard("Mul", high, sine)),
                             self.standard("Add", self.standard("Mul", high, cosine), self.standard("Mul", low, sine)), axis=-1)

    def attention(self, both, past, present, i):
        q, k, v = self.standard("Split", both, np.array([self.heads * self.size, self.groups * self.size, self.groups * self.size]), outputs=3, axis=-1)
        q, k, v = (self.standard("Transpose", self.standard("Reshape", x, np.array([1, -1, heads, self.size])), perm=[0, 2, 1, 3])
                   for x, heads in ((q, self.heads), (k, self.groups), (v, self.groups)))
        q, k = self.turned(q), self.turned(k)
        k, v = (self.node("Concat", [old, x], [new], "", axis=2) for old, x, new in zip(past, (k, v), present))
        q = self.standard("Reshape", q, np.array([1, self.groups, self.heads // self.groups, -1, self.size]))
        k, v = (self.standard("Unsqueeze", x, np.array([2])) for x in (k, v))
        scores = self.standard("Mul", self.standard("MatMul", q, self.standard("Transpose", k, perm=[0, 1, 2, 4, 3])), np.float32(self.size ** -.5))
        y = self.standard("MatMul", self.standard("Softmax", self.standard("Add", scores, self.mask), axis=-1), v)
        y = self.standard("Transpose", self.standard("Reshape", y, np.array([1, self.heads, -1, self.size])), perm=[0, 2, 1, 3])
        return self.standard("Reshape", y, np.array([1, -1, self.heads * self.size]))

    def norm(self, kept, y, name):
        kept = self.standard("Add", kept, y)
        square = self.standard("ReduceMean", self.standard("Mul", kept, kept), np.array([-1]))
        return self.standard("Mul", self.standard("Div", kept, self.standard("Sqrt", self.standard("Add", square, np.float32(1e-6)))), np.ones(self.width, np.float32)), kept


def llama_calls(layers, folder):
    plain, fused, last = folder / "plain.onnx", folder / "fused.onnx", state.POSITIONS - 1
    names = Plain(layers, tokens=2048).save(plain)
    llama_model.Llama(layers, tokens=2048).save(fused)
    rng, calls = np.random.default_rng(1), []
    caches = {name: rng.standard_normal((1, llama_shape.GROUPS, last, llama_shape.SIZE), np.float32) for name in names}
    ids, mask = np.array([[7]]), np.ones((1, last + 1), np.int64)
    for path in (plain, fused):
        sequence = dnncc.compile(path, dim={"N": 1, "P": f"0..{last}", "T": "P+N"}, state={"past_key_values.*": "present.*"}, target="native").sequence()
        sequence["P"] = last
        for name, array in caches.items():
            sequence[f"past_key_values.{name}"][...] = array

        def call(sequence=sequence):
            sequence["P"] = last
            return first(sequence(ids, mask))
        calls.append(call)
    return [*calls, peer(fused, {"input_ids": ids, "attention_mask": mask, **{f"past_key_values.{name}": array for name, array in caches.items()}})]


def main(name, layers=4, rounds=15):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        calls = {"decoder": decoder_calls, "llama": llama_calls}[name](int(layers), folder) if name in ("decoder", "llama") else zoo_calls(name, int(layers), folder)
        results = [call() for call in calls]
        times = [[] for _ in calls]
        for _ in range(int(rounds)):
            for call, spent in zip(calls, times):
                start = time.process_time()
                call()
                spent.append(time.process_time() - start)
    far = [float(np.abs(r - results[2]).max()) for r in results[:2]]
    plain, fused, other = (statistics.median(t) * 1e3 for t in times)
    print(f"{name}: plain {plain:.2f} ms, fused {fused:.2f} ms, onnxruntime {other:.2f} ms; fused / plain "
          f"{statistics.median(b / a for a, b in zip(*times[:2])):.3f}, onnxruntime / fused {statistics.median(c / b for b, c in zip(*times[1:])):.2f}; "
          f"largest differences {far[0]:.1e}, {far[1]:.1e}")


if __name__ == "__main__":
    main(*sys.argv[1:])
