# SPDX-License-Identifier: MIT
"""What is measured: the zoo and the real models of ../shared/models, with fixed shapes and inputs; dnncc's compilation of a model; and
the results in double precision that every engine's error is measured against."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
REAL = pathlib.Path(os.environ.get("DNNCC_MODELS", ROOT.parent / "shared" / "models"))
HERE = pathlib.Path(__file__).resolve().parent
SMALLEST = "one_addition"


@dataclass
class Subject:
    name: str
    path: pathlib.Path          # every shape in it is fixed
    inputs: list                # (name, array)
    stored: list | None = None  # outputs that came with the model
    quantized: bool = False
    of: "Subject | None" = None # the model in f32 that this one was made of; perhaps with inputs of its own

    def spec(self):
        return [[name, array.dtype.name, list(array.shape)] for name, array in self.inputs]

    def write_inputs(self, folder, convert=lambda a: a):
        folder.mkdir(parents=True, exist_ok=True)
        for k, (_, array) in enumerate(self.inputs):
            (folder / f"{k}.bin").write_bytes(np.ascontiguousarray(convert(array)).tobytes())
        return folder


class Failed(Exception):
    pass


# ---- models ----

def smallest_model():
    """one addition: what a call of each engine costs"""
    def make(out):
        port = onnx.helper.make_tensor_value_info
        graph = onnx.helper.make_graph([onnx.helper.make_node("Add", ["x", "x"], ["y"])], SMALLEST, [port("x", TensorProto.FLOAT, [1, 1])],
                                       [port("y", TensorProto.FLOAT, [1, 1])])
        path = out / "models" / f"{SMALLEST}.onnx"
        path.parent.mkdir(parents=True, exist_ok=True)
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8), path)
        return Subject(SMALLEST, path, [("x", np.ones((1, 1), np.float32))])
    return {SMALLEST: make}


def zoo_models():
    try:
        import zoo
    except ImportError:
        return {}
    return {name: lambda out, name=name: Subject(name, zoo.build(name), list(zoo.inputs(name, 1).items())) for name in zoo.MODELS}


def quantized_models():
    """made of the zoo"""
    try:
        from zoo import quantized
    except ImportError:
        return {}

    def make(model):
        original = zoo_models()[model.of](None)
        return Subject(model.name, quantized.build(model.name), original.inputs, quantized=True, of=original)

    return {model.name: lambda out, model=model: make(model) for model in quantized.MODELS.values()}


def real_models():
    return {p.name: lambda out, p=p: real_model(p, out) for p in sorted(REAL.glob("*")) if (p / "shapes.txt").exists()}


def quantized_real_models():
    return {name: make for name, make in real_models().items() if is_quantized(onnx.load(REAL / name / "model.onnx"))}


def float_models():
    real = real_models()
    for name in quantized_real_models():
        del real[name]
    return {**smallest_model(), **zoo_models(), **real}


SETS = {"f32": float_models, "quantized": lambda: {**quantized_models(), **quantized_real_models()}}
ORIGINALS = {"resnet8_int8": "resnet8_fp32", "micro_kws_qdq": "micro_kws_fp32", "micro_kws_qoperator": "micro_kws_fp32"}


def is_quantized(model):
    return any("Quant" in n.op_type or n.op_type.startswith("QLinear") for n in model.graph.node)


def tensors(folder, kind):
    paths = sorted(folder.glob(f"{kind}_*.pb"), key=lambda p: int(p.stem.split("_")[1]))
    return [numpy_helper.to_array(onnx.load_tensor(str(p))) for p in paths]


def real_model(source, out):
    """dimensions bound as shapes.txt says"""
    model = onnx.load(source / "model.onnx")
    shapes = {name: shape for name, _, shape in (line.split("\t") for line in (source / "shapes.txt").read_text().splitlines())}
    initial = {i.name for i in model.graph.initializer}
    ports = [i for i in model.graph.input if i.name not in initial]
    for port in ports:
        bound = [] if shapes[port.name] == "scalar" else [int(d) for d in shapes[port.name].split("x")]
        del port.type.tensor_type.shape.dim[:]
        for extent in bound:
            port.type.tensor_type.shape.dim.add().dim_value = extent
    path = out / "models" / f"{source.name}.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, path)
    arrays = [a.reshape([d.dim_value for d in p.type.tensor_type.shape.dim])
              for a, p in zip(tensors(source / "test_data_set_0", "input"), ports)]
    original = REAL / ORIGINALS.get(source.name, "-")
    return Subject(source.name, path, [(p.name, a) for p, a in zip(ports, arrays)], tensors(source / "test_data_set_0", "output"),
                   is_quantized(model), real_model(original, out) if original.exists() else None)


def file_model(path):
    """any model of fixed float shapes, on noise"""
    model = onnx.load(path, load_external_data=False)
    initial, rng, inputs = {i.name for i in model.graph.initializer}, np.random.default_rng(1), []
    for port in model.graph.input:
        if port.name not in initial:
            shape = [d.dim_value for d in port.type.tensor_type.shape.dim]
            if port.type.tensor_type.elem_type != TensorProto.FLOAT or 0 in shape:
                raise Failed(f"input '{port.name}' is not a float tensor of fixed shape")
            inputs.append((port.name, rng.standard_normal(shape, np.float32)))
    return Subject(pathlib.Path(path).stem, pathlib.Path(path).resolve(), inputs, quantized=is_quantized(model))


# ---- dnncc ----

def digest(*parts):
    """of files (large ones: of size and date) and values"""
    sha = hashlib.sha256()
    for part in parts:
        if isinstance(part, pathlib.Path):
            stat = part.stat()
            part = part.read_bytes() if stat.st_size < 1 << 24 else (part.name, stat.st_size, stat.st_mtime_ns)
        sha.update(repr(part).encode() + b"\0")
    return sha.hexdigest()[:20]


def call(command, what, **keywords):
    """seconds it took"""
    start = time.perf_counter()
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **keywords)
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines() or [f"exit {done.returncode}"]
        raise Failed(f"{what}: {lines[-1][:300]}")
    return time.perf_counter() - start


WEIGHTS = "--weights="


class Compiler:
    """dnncc and a C compiler. What they make stays in OUT/compiled until one of them, the model or the options change. Constants go
    from a file onto huge pages, unless the options say otherwise: what pages a program's own data gets is luck, worth 15 % of the time."""

    def __init__(self, dnncc, cc, out, flags="-O2"):
        self.dnncc, self.cc, self.out, self.flags = pathlib.Path(dnncc).resolve(), cc, out, flags
        self.cc_version = subprocess.run([*cc.split(), "--version"], capture_output=True, text=True).stdout.splitlines()[0]
        self.runner = out / "runner"
        sources = [HERE / "runner.c", HERE / "probe.h", *(ROOT / "runtime" / f for f in ("memory.c", "dnncc_runtime.h")), ROOT / "test" / "descriptor.h"]
        if not self.runner.exists() or self.runner.stat().st_mtime < max(s.stat().st_mtime for s in sources):
            call(["cc", "-std=c11", "-O2", "-rdynamic", f"-I{ROOT}", sources[0], sources[2], "-o", self.runner, "-ldl", "-lpthread"], "runner.c")

    def compile(self, model, target, threads=1, options=()):
        """(folder with model.so and report.json, seconds of dnncc, seconds of cc)"""
        runtime = ROOT / "runtime" / "threads.c"
        weights = [o for o in options if o.startswith(WEIGHTS)] or [f"{WEIGHTS}file"]
        options = [f"--target={target}", *([f"--threads={threads}"] if threads > 1 else []), *weights,
                   *(o for o in options if o not in weights)]
        libraries = [runtime, "-lpthread"] if threads > 1 and runtime.exists() else []
        key = digest(self.dnncc, model, options, *self.by, *libraries[:1])
        folder = self.out / "compiled" / f"{model.stem}-{digest(str(model.parent), options, str(self.dnncc), self.flags)}"
        made = folder / "made.json"
        if not made.exists() or json.loads(made.read_text())[0] != key:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            times = [call([self.dnncc, model, "-o", folder / "model.c", "--name=model", f"--report={folder / 'report.json'}", *options],
                          "dnncc"),
                     self.link([folder / "model.c"], folder / "model.so", f"-I{folder}", *libraries)]
            (folder / "model.c").unlink()
            if weights != [f"{WEIGHTS}file"]:
                (folder / "model.weights").unlink(missing_ok=True)
            made.write_text(json.dumps([key, *times]))
        return folder, *json.loads(made.read_text())[1:]

    @property
    def by(self):
        """what makes a program of C"""
        return self.cc, self.cc_version, self.flags

    def link(self, sources, library, *more):
        """seconds it took"""
        return call([*self.cc.split(), *self.flags.split(), "-fPIC", "-shared", *sources, *more, "-o", library], "cc")

    def command(self, folder, given, results, cores, *more):
        results.mkdir(parents=True, exist_ok=True)
        return [self.runner, folder / "model.so", given, results, ",".join(map(str, cores)), *more]


# ---- the reference ----

def to_double(model):
    """every float of the model in double precision; weights are stored as they are, and converted as the model runs"""
    def graph(g):
        scales = {i for n in g.node if n.op_type in ("Resize", "Upsample") for i in n.input[1:]}     # of type float always
        casts, initial = [], {t.name for t in g.initializer}
        for t in g.initializer:
            if t.data_type == TensorProto.FLOAT and t.name not in scales:
                casts.append(onnx.helper.make_node("Cast", [f"{t.name}/f32"], [t.name], to=TensorProto.DOUBLE))
                t.name += "/f32"
        for port in [p for p in g.input if p.name in initial]:
            g.input.remove(port)
        for value in [*g.input, *g.output, *g.value_info]:
            if value.type.tensor_type.elem_type == TensorProto.FLOAT:
                value.type.tensor_type.elem_type = TensorProto.DOUBLE
        for node in g.node:
            if not set(node.output) & scales:
                for attribute in node.attribute:
                    convert(node, attribute)
        nodes = [*casts, *g.node]
        del g.node[:]
        g.node.extend(nodes)

    def convert(node, a):
        if node.op_type == "Constant" and a.name in ("value_float", "value_floats"):
            values = np.array(a.f if a.name == "value_float" else a.floats, np.float64)
            a.CopyFrom(onnx.helper.make_attribute("value", numpy_helper.from_array(values)))
        elif a.type == onnx.AttributeProto.TENSOR and a.t.data_type == TensorProto.FLOAT:
            a.t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(a.t).astype(np.float64), a.t.name))
        elif a.name in ("to", "dtype") and a.i == TensorProto.FLOAT:
            a.i = TensorProto.DOUBLE
        elif a.type == onnx.AttributeProto.GRAPH:
            graph(a.g)

    graph(model.graph)
    return model


def reference(subject, compiler):
    """(outputs, where they are from): dnncc's C for the model in double, nothing rewritten but exactly; else what came with it"""
    path = compiler.out / "double" / f"{subject.name}.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    if subject.quantized:
        return (subject.stored, "stored outputs") if subject.stored else (as_written(subject), "onnxruntime, node by node")
    try:
        if not path.exists() or path.stat().st_mtime < subject.path.stat().st_mtime:
            onnx.save(to_double(onnx.load(subject.path)), path)
        results, done = path.with_suffix(".results"), path.with_suffix(".done")     # kept for every dnncc: what is exact stays so
        if not done.exists() or done.stat().st_mtime < path.stat().st_mtime:
            folder = compiler.compile(path, "generic", options=["--exact", "-O2"])[0]
            given = subject.write_inputs(folder / "in", lambda a: a.astype(np.float64) if a.dtype == np.float32 else a)
            run = subprocess.run([str(c) for c in compiler.command(folder, given, results, [0])], input="", capture_output=True, text=True)
            if run.returncode:
                raise Failed(run.stderr.strip())
            done.write_text(run.stdout)
        return read_outputs(results, json.loads(done.read_text())["outputs"]), "float64"
    except Failed as reason:
        print(f"{subject.name}: no reference in double ({reason})", file=sys.stderr)
        return (subject.stored, "stored outputs") if subject.stored else (None, str(reason))


def as_written(subject):
    """quantized models have no more exact form: what they round is what they are"""
    from zoo import quantized
    return quantized.as_written(subject.path, dict(subject.inputs))


def read_outputs(folder, ports):
    return [np.fromfile(folder / f"{k}.bin", onnx.helper.tensor_dtype_to_np_dtype(p["type"])).reshape(p["shape"])
            for k, p in enumerate(ports)]


def agreement(results, others):
    """the share of elements that are the same"""
    pairs = [(np.asarray(a).ravel(), np.asarray(b).ravel()) for a, b in zip(results, others)]
    return sum(int((a == b).sum()) for a, b in pairs if a.size == b.size) / max(1, sum(a.size for a, _ in pairs))


def error(results, wanted):
    """the largest difference in any output, relative to the largest value wanted in any"""
    if len(results) != len(wanted):
        return float("inf")
    difference, largest = 0.0, 1e-30
    for got, want in zip(results, wanted):
        got, want = np.asarray(got, np.float64).ravel(), np.asarray(want, np.float64).ravel()
        if got.size != want.size or not np.isfinite(got).all():
            return float("inf")
        if want.size:
            difference, largest = max(difference, float(np.max(np.abs(got - want)))), max(largest, float(np.max(np.abs(want))))
    return difference / largest
