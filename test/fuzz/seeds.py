# SPDX-License-Identifier: MIT
"""Writes the seeds of the fuzz targets into FOLDER/import, FOLDER/compile, FOLDER/text, FOLDER/gguf, FOLDER/tflite, FOLDER/caffe and FOLDER/tensorflow: small language models, if the
package gguf is there; layers of Caffe with their weights; graphs of TensorFlow; a TFLite file, and one of each operator that the tests have, if the package ai-edge-litert is there; the models of test/fuzz/models as text and as
protobuf, those of onnx's node tests that have at most 2 KB, and what dnncc prints of them as Tensor IR and as Loop IR.

    seeds.py DNNCC FOLDER"""
import importlib.util
import pathlib
import subprocess
import sys

import onnx
import onnx.parser

MODELS = pathlib.Path(__file__).resolve().parent / "models"
NODE_TESTS = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "node"
BYTES_MAX = 2048
TARGETS = 7             # a seed is for a few targets; mutations find the others


def models():
    """name, bytes of protobuf, bytes of text or None"""
    for path in sorted(MODELS.glob("*.txt")):
        text = path.read_text()
        yield path.stem, onnx.parser.parse_model(text).SerializeToString(), text.encode()
    yield "sparse_initializer", sparse_initializer(), None
    for path in sorted(NODE_TESTS.glob("*/model.onnx")):
        if path.stat().st_size <= BYTES_MAX:
            yield path.parent.name, path.read_bytes(), None


def sparse_initializer():
    """which the text form of ONNX has not: numbers of elements, and indices"""
    def tensor(name, places):
        values = onnx.helper.make_tensor(name, onnx.TensorProto.FLOAT, [9], list(range(9)))
        return onnx.helper.make_sparse_tensor(values, onnx.helper.make_tensor("", onnx.TensorProto.INT64, [9, 2] if len(places) == 18 else [9], places), [4, 5])
    row = [5, 6, 7, 9, 11, 12, 14, 16, 19]
    nodes = [onnx.helper.make_node("Add", ["x", "s"], ["y"]), onnx.helper.make_node("Mul", ["y", "t"], ["z"])]
    x, z = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4, 5]) for name in "xz")
    graph = onnx.helper.make_graph(nodes, "g", [x], [z], sparse_initializer=[tensor("s", row), tensor("t", [i for at in range(9) for i in divmod(at, 5)])])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8).SerializeToString()


def printed(dnncc, form, path):
    done = subprocess.run([dnncc, path, f"--emit={form}", "-O1", "-o", "-"], capture_output=True)
    return done.stdout if done.returncode == 0 and len(done.stdout) <= 2 * BYTES_MAX else None


def write_language_models(folder):
    sys.path.insert(0, str(MODELS.parents[1] / "formats"))
    try:
        import gguf_pairs
        import gguf_writer
    except ImportError:
        return
    for architecture in ("llama", "qwen2", "qwen3", "gemma", "gemma2", "gemma3"):
        for kind, width in (("F32", 8), ("Q4_0,Q8_0", 32), ("BF16", 8), ("Q4_1,Q5_0", 32)):
            model = gguf_writer.Model(architecture, kind, layers=1, width=width, heads=2, groups=1, size=width // 2, hidden=width, tokens=8, context=16, window=4, tied=True)
            model.save(folder / f"{architecture}.{kind}")
    model = gguf_writer.Model(layers=1, width=8, heads=2, groups=1, size=4, hidden=8, tokens=8, context=16, tied=True)
    model.save(folder / "pairs", vocabulary=gguf_pairs.byte_pairs)
    model.save(folder / "pieces", vocabulary=gguf_pairs.pieces)


def write_networks(folder):
    sys.path.insert(0, str(MODELS.parents[1] / "formats"))
    import numpy as np
    import tflite_bare
    (folder / "dense").write_bytes(tflite_bare.finish(tflite_bare.dense(np.ones((3, 4), np.float32), np.ones(3, np.float32))))
    if not importlib.util.find_spec("ai_edge_litert"):
        return
    import test_tflite
    import test_tflite_operators
    import test_tflite_control_state
    import test_tflite_lstm
    import test_tflite_signature
    import test_tflite_state
    import test_tflite_weights
    for name, (make, kinds) in (test_tflite.CASES | test_tflite_operators.CASES).items():
        for kind in kinds:
            case = test_tflite.Case(kind, np.random.default_rng(1))
            outputs = make(case)
            (folder / f"{name}.{np.dtype(kind).name}").write_bytes(case.w.bytes(case.inputs, outputs))
    for name, content in test_tflite_state.CASES.items():
        (folder / f"state.{name}").write_bytes(content)
    for name, (make, _) in test_tflite_control_state.CASES.items():
        for by_operand in (False, True):
            (folder / f"control.{name}.{by_operand}").write_bytes(make(by_operand))
    for number, parts in enumerate(test_tflite_lstm.KINDS):
        (folder / f"lstm.{number}").write_bytes(test_tflite_lstm.lstm(1, parts))
    for shape, blocks in test_tflite_weights.SHAPES:
        rank = len(shape)
        dense = test_tflite_weights.sparse_matrix(np.random.default_rng(1), shape, np.float32, blocks)
        sparse = dense, list(range(rank + len(blocks))), [rank - 1], blocks
        (folder / f"sparse.{rank}.{len(blocks)}").write_bytes(test_tflite_weights.densified(np.float32, *sparse))
    for make in test_tflite_signature.coder, test_tflite_signature.counter:
        (folder / f"signatures.{make.__name__}").write_bytes(make())


def write_layers(folder):
    """as text; a network of one of them as bytes"""
    import numpy as np
    import test_caffe
    cases = test_caffe.CASES | {name: make for name, (make, _) in test_caffe.REFERENCES.items()} | {"network": None, "old": None}
    for name, make in cases.items():
        case = test_caffe.Case(np.random.default_rng(1)) if make else test_caffe.network(old=name == "old")
        if make:
            make(case)
        (folder / name).write_text(case.text(weights=True))
    case = test_caffe.Case(np.random.default_rng(1))
    test_caffe.detector(case)
    (folder / "detector").write_text(case.text())
    (folder / "bytes").write_bytes(test_caffe.bytes_of_network(np.ones((2, 3), np.float32)))


def write_graphs(folder):
    """of one node, of functions, and a SavedModel"""
    import numpy as np
    import test_tensorflow
    import tensorflow_writer
    for name, make in test_tensorflow.CASES.items():
        graph = tensorflow_writer.Graph()
        make(graph, np.random.default_rng(1))
        (folder / name).write_bytes(graph.bytes())
    for make in test_tensorflow.calling, test_tensorflow.branching, test_tensorflow.looping:
        (folder / make.__name__).write_bytes(make().bytes())
    ports = {"serve": ({"x": "x:0"}, {"y": "y:0"})}
    (folder / "saved").write_bytes(tensorflow_writer.saved_model(test_tensorflow.calling(), ports))


def main(dnncc, folder):
    folder = pathlib.Path(folder)
    for name in ("import", "compile", "text", "gguf", "tflite", "caffe", "tensorflow"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    write_language_models(folder / "gguf")
    write_networks(folder / "tflite")
    write_layers(folder / "caffe")
    write_graphs(folder / "tensorflow")
    for number, (name, model, text) in enumerate(models()):
        path = folder / "import" / name
        path.write_bytes(model)
        (folder / "compile" / name).write_bytes(bytes([number * TARGETS % 256]) + model)
        if text is None and number % TARGETS and name != "sparse_initializer":
            continue
        if text:
            (folder / "import" / f"{name}.txt").write_bytes(text)
        for form in ("ir", "loops"):
            made = printed(dnncc, form, path)
            if made:
                (folder / "text" / f"{name}.{form}").write_bytes(made)


if __name__ == "__main__":
    main(*sys.argv[1:])
