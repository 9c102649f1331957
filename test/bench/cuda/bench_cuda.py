# SPDX-License-Identifier: MIT
"""Generated CUDA C on a GPU: first whether it is right, then how fast it is.

    make bench-cuda                             # everything, under 10 minutes; tables
    bench_cuda.py --models=resnet50             # see --help

0. All processors compile: dnncc, nvcc; and compute what is to come out (onnxruntime where it is installed, else dnncc's interpreter).
   What a launch, a barrier of the grid, of a cluster, and copies take (machine.cu): what targets and engines/grid/warp_cost.c say of a GPU.
1. Every leaf (test/cuda/leaves_check.cu) against the executor to the bit; sums of products, and exponentials, within 2^-20 of the sum of their magnitudes. On an
   sm_90 what the instructions of sm_90a mean (groups_leaves.cu).
2. All models against what is to come out; the smallest under compute-sanitizer (memcheck, racecheck, synccheck).
3. Times of graph replays, medians of 200, caches warm and flushed, beside the peers that are installed (torch_peers.py: torch; onnxruntime).
4. Each kernel by itself, in a row of twenty in a graph, and where it stands in the network as CUPTI sees it (trace.cpp), what it is late behind
   the one in front included, beside what dnncc predicted.

Exit: 0; 1 something is wrong; 2 there is no GPU here, or no nvcc."""
import argparse
import concurrent.futures
import dataclasses
import itertools
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "test" / "support"))
sys.path.insert(0, str(ROOT / "test" / "bench"))
import cuda  # noqa: E402
import dnncc  # noqa: E402
import torch_peers  # noqa: E402

FLUSH = 256 << 20               # bytes written between replays: more than any second cache
SMALL = ["mnist_cnn", "micro_kws_fp32", "resnet8_fp32"]
BY_KERNELS = ["resnet50", "resnet50_32", "mobilenet_v2", "bert_base", "bert_base_384", "gpt_step"]
TOLERANCE = {"f32": 1e-4, "tf32": 3e-2, "bf16": 1e-1, "f16": 3e-2}      # of the largest output; ResNet-50 has 0.021 in f16, as eleven bits are
SANITIZERS = ["memcheck", "racecheck", "synccheck"]


def gpu():
    """(name, "sm_90") of the first GPU; None"""
    tool = shutil.which("nvidia-smi")
    if not tool:
        return None
    done = subprocess.run([tool, "--query-gpu=name,compute_cap", "--format=csv,noheader"], capture_output=True, text=True)
    if done.returncode or not done.stdout.strip():
        return None
    name, capability = done.stdout.splitlines()[0].rsplit(",", 1)
    return name.strip(), "sm_" + capability.strip().replace(".", "")


def options():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--models", default=",".join(SMALL + BY_KERNELS + list(CASES)), help="of ../shared/models and the zoo")
    p.add_argument("--target", help="of dnncc, a list; default: the GPU's, or the nearest below it")
    p.add_argument("--precision", default=",f16", help="of dnncc, a list; empty: f32")
    p.add_argument("--replays", type=int, default=200)
    p.add_argument("--compile", action="store_true", help="torch.compile, too: minutes")
    p.add_argument("--alone", action="store_true", help="without peers")
    p.add_argument("--keep", type=pathlib.Path, help="a folder for what is made, to look at with other tools")
    p.add_argument("--write", type=pathlib.Path, help="the tables as Markdown")
    return p.parse_args()


# ---- leaves ----

def lines(text):
    found = {}
    for line in text.splitlines():
        name, _, words = line.partition(": ")
        found.setdefault(name, []).append([int(w, 16) for w in words.split()])
    return {name: np.array(rows, np.uint32) for name, rows in found.items()}


def compare_leaves(ours, theirs):
    """what differs, in words; both: the output of leaves_check"""
    ours, theirs, wrong = lines(ours), lines(theirs), []
    for name in sorted(ours.keys() | theirs.keys()):
        a, b = ours.get(name), theirs.get(name)
        if a is None or b is None or a.shape != b.shape:
            wrong.append(f"{name}: not in both")
        elif name in ("products", "exponentials"):
            a, b = a.view(np.float32).astype(np.float64), b.view(np.float32).astype(np.float64)
            error = np.abs(a[:, :4] - b[:, :4]) / a[:, 4:]
            if not np.all(error <= 2.0 ** -20):
                wrong.append(f"{name}: {error.max():.3g} of the sum of magnitudes")
            print(f"{name}: {np.mean(a[:, :4] == b[:, :4]):.0%} equal to the bit, the others within {error.max():.2g} of the sum of magnitudes")
        elif not np.array_equal(a, b):
            wrong.append(f"{name}: {np.count_nonzero(a != b)} of {a.size} words differ")
    return wrong


def leaves_by_executor(folder):
    source = cuda.FOLDER / "leaves_check.cu"
    return dnncc.run([cuda.link([cuda.compile_text(source, folder / "leaves.o"), *cuda.runtime(host=False)], folder / "leaves")]).stdout


def nvcc(architecture, out, *sources, flags=(), cwd=None):
    done = dnncc.run([cuda.nvcc(), "-O2", f"-gencode=arch=compute_{architecture[3:]},code={architecture}", "-diag-suppress", "177", *flags, *sources, "-o", out], timeout=600, cwd=cwd)
    if done.returncode:
        raise SystemExit(done.stderr[:3000])
    return out


def check_leaves(architecture, folder):
    done = dnncc.run([nvcc(architecture, folder / "leaves_gpu", cuda.FOLDER / "leaves_check.cu", flags=[f"-I{cuda.FOLDER}"])])
    if done.returncode:
        raise SystemExit("leaves: " + done.stderr)
    return compare_leaves(leaves_by_executor(folder), done.stdout) + (check_groups(folder) if architecture == "sm_90" else [])


def check_groups(folder):
    """what the instructions of sm_90a mean, whose lines say by themselves whether they are right"""
    done = dnncc.run([nvcc("sm_90a", folder / "groups_leaves", ROOT / "test" / "bench" / "cuda" / "groups_leaves.cu", flags=["-std=c++17"])], timeout=60)
    print(done.stdout)
    return [f"groups_leaves: {line}" for line in done.stdout.splitlines() if "WRONG" in line] or ([f"groups_leaves: {done.stdout} {done.stderr}"] if done.returncode else [])


# ---- models ----

def machine(architecture, folder):
    """what the GPU takes for launches, barriers, copies: text"""
    return dnncc.run([nvcc(architecture, folder / "machine", ROOT / "test" / "bench" / "cuda" / "machine.cu")], timeout=60).stdout


def model_path(name):
    shared = ROOT.parent / "shared" / "models" / name / "model.onnx"
    if shared.exists():
        return shared
    if name in CASES:
        return case(name)
    import zoo
    if name == "resnet50_32":
        return images_32()
    if name == "bert_base_384":
        long_text()
    return zoo.build(name)


def images_32():
    """ResNet-50 for 32 images at a time"""
    import zoo
    path = zoo.FOLDER / "resnet50_32.onnx"
    if not path.exists():
        model = onnx.load(zoo.build("resnet50"))
        for port in [*model.graph.input, *model.graph.output]:
            port.type.tensor_type.shape.dim[0].dim_value = 32
        onnx.save(model, path)
    return path


def long_text():
    import zoo
    model = zoo.MODELS["bert_base"]
    ports = tuple(dataclasses.replace(i, shape=(1, 384), low=3 * i.low if i.name == "attention_mask" else i.low,
                                      high=3 * i.high if i.name == "attention_mask" else i.high) for i in model.inputs)
    zoo.MODELS["bert_base_384"] = dataclasses.replace(model, name="bert_base_384", macs=None, inputs=ports)


# rows, channels, outputs; heads, keys, size; with _f16 inputs and results, too, are of that
CASES = {"product_4096": (4096, 4096, 4096), "product_4096_f16": (4096, 4096, 4096), "attention_4096": (16, 4096, 128), "attention_4096_f16": (16, 4096, 128)}


def case(name):
    """build/zoo/NAME.onnx"""
    path, (a, b, c) = ROOT / "build" / "zoo" / f"{name}.onnx", CASES[name]
    if path.exists():
        return path
    random, half = np.random.default_rng(1), name.endswith("_f16")
    f, real = (onnx.TensorProto.FLOAT16, np.float16) if half else (onnx.TensorProto.FLOAT, np.float32)
    value = onnx.helper.make_tensor_value_info
    if name.startswith("product"):
        nodes, x, y = [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", f, [a, b])], [a, c]
        weights = [onnx.numpy_helper.from_array((random.standard_normal((b, c)) / np.sqrt(b)).astype(real), "w")]
    else:
        nodes = [onnx.helper.make_node("Transpose", ["k"], ["t"], perm=[0, 2, 1]), onnx.helper.make_node("MatMul", ["q", "t"], ["p"]),
                 onnx.helper.make_node("Mul", ["p", "scale"], ["s"]), onnx.helper.make_node("Softmax", ["s"], ["e"], axis=-1),
                 onnx.helper.make_node("MatMul", ["e", "v"], ["y"])]
        x, y = [value(n, f, [a, b, c]) for n in "qkv"], [a, b, c]
        weights = [onnx.numpy_helper.from_array(real(c ** -0.5), "scale")]
    graph = onnx.helper.make_graph(nodes, name, x, [value("y", f, y)], weights)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8), path)
    return path


def bindings(path):
    shapes = path.parent / "shapes.txt"
    rows = [line.rsplit(None, 2) for line in shapes.read_text().splitlines()] if shapes.exists() else []
    return [f"--input={name}={shape}" for name, _, shape in rows if shape != "scalar"]


def inputs_of(name, path, more):
    """the zoo's own; of other models floats in [-1, 1) and small whole numbers"""
    import zoo
    if name == "resnet50_32":
        return [np.concatenate([zoo.inputs("resnet50", seed)["image"] for seed in range(1, 33)])]
    if name in zoo.MODELS:
        return list(zoo.inputs(name, seed=1).values())
    known = dnncc.run([dnncc.DNNCC, path, "--info=json", "-q", *more])
    random, arrays = np.random.default_rng(1), []
    for port in json.loads(known.stdout)["inputs"]:
        kind, _, dims = port["type"].partition(" <")
        shape, dtype = [int(d) for d in dims.rstrip(">").split(" x ")] if dims else [], np.dtype(TYPES[kind])
        arrays.append((random.random(shape) * 2 - 1).astype(dtype) if dtype.kind == "f" else random.integers(0, 2, shape).astype(dtype))
    return arrays


TYPES = {"f32": "f4", "f16": "f2", "f64": "f8", "i64": "i8", "i32": "i4", "i8": "i1", "u8": "u1", "bool": "?"}


def wanted(name, folder):
    """what the model computes in f32 on a processor"""
    path = model_path(name)
    more = bindings(path)
    arrays = inputs_of(name, path, more)
    try:
        import onnxruntime
    except ImportError:
        return interpreted(path, more, arrays, folder)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip([p.name for p in session.get_inputs()], arrays)))


def interpreted(path, more, arrays, folder):
    given = folder / "given"
    given.mkdir(parents=True, exist_ok=True)
    for k, a in enumerate(arrays):
        np.save(given / f"input_{k}.npy", a)
    done = dnncc.run([dnncc.DNNCC, path, f"--run={given}", "-q", *more], timeout=3600)
    if done.returncode:
        raise SystemExit(done.stderr)
    return [np.load(given / f"output_{k}.npy") for k in range(len(list(given.glob("output_*.npy"))))]


def gpu_program(path, architecture, folder):
    (folder / "table.cu").write_text(cuda.table([path]))
    return nvcc(architecture, folder / "gpu_host", path, folder / "table.cu", cuda.FOLDER / "gpu_host.cpp",
                flags=["-x", "cu", f"-I{cuda.FOLDER}", f"-I{folder}"], cwd=folder)      # where .incbin looks for weights


def prepare(name, precision, architecture, target, folder):
    """all that needs no GPU"""
    folder.mkdir()
    path = model_path(name)
    more = [*bindings(path), *([f"--precision={precision}"] if precision else [])]
    source = cuda.compile_model(path, folder, [*more, "--weights=incbin", f"--report={folder / 'report.json'}"], target=target)
    arrays = inputs_of(name, path, bindings(path))
    for k, a in enumerate(arrays):
        (folder / f"{k}.bin").write_bytes(np.ascontiguousarray(a).tobytes())
    (folder / "out").mkdir()
    return {"model": name, "target": target, "precision": precision or "f32", "folder": folder, "path": path, "arrays": arrays, "source": source,
            "program": gpu_program(source, architecture + ("a" if target.endswith("a") else ""), folder), "predicted": predictions(folder)}


def measure(row, want, replays):
    """adds microseconds warm and flushed, graph nodes, error, and says what is wrong"""
    name, folder = row["model"], row["folder"]
    done = dnncc.run([row["program"], "model", folder, folder / "out", str(replays), str(FLUSH)], timeout=600)
    if done.returncode:
        return [f"{name}, {row['precision']}: {done.stderr}"]
    warm, flushed, nodes = done.stdout.split()
    error = 0.0
    for k, w in enumerate(want):
        got = np.frombuffer((folder / "out" / f"{k}.bin").read_bytes(), w.dtype).reshape(w.shape).astype(np.float64)
        error = max(error, float(np.max(np.abs(got - w), initial=0) / max(np.max(np.abs(w), initial=0), 1e-30)))
    row.update(warm=float(warm), flushed=float(flushed), nodes=int(nodes), error=error)
    return [] if error <= TOLERANCE[row["precision"]] else [f"{name}, {row['precision']}: {error:.3g} of the largest output"]


def sanitized(row):
    tool = shutil.which("compute-sanitizer")
    if not tool:
        print("compute-sanitizer is not installed: left out")
        return []

    def one(kind):
        out = row["folder"] / kind
        out.mkdir()
        done = dnncc.run([tool, f"--tool={kind}", "--error-exitcode=9", row["program"], "model", row["folder"], out], timeout=600)
        return [f"{row['model']}, {kind}: {(done.stdout + done.stderr)[-1500:]}"] if done.returncode else []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return sum(pool.map(one, SANITIZERS), [])


# ---- kernels ----

def predictions(folder):
    """microseconds of the launches in order"""
    return [launch["microseconds"] for call in json.loads((folder / "report.json").read_text())["calls"] for launch in call["launches"]]


def kernel_times(row, replays=20):
    """[(kernel, blocks, threads, bytes shared, microseconds, predicted or None)] in order"""
    done = dnncc.run([row["program"], "--kernels", str(replays)], timeout=600)
    if done.returncode:
        return []
    names, times = cuda.kernels(row["source"].read_text()), []
    for line, predicted in itertools.zip_longest(done.stdout.splitlines(), row["predicted"]):
        if not line:
            continue
        _, mangled, blocks, threads, shared, us = line.split()
        kernel = max((n for n in names if f"{len(n)}{n}" in mangled), key=len)
        times.append((kernel, int(blocks), int(threads), int(shared), float(us), predicted))
    return times


def tracer(folder):
    """the library that CUPTI comes to a program by; None"""
    root = pathlib.Path(shutil.which(cuda.nvcc()) or cuda.nvcc()).resolve().parents[1]
    for include in root / "include", root / "extras" / "CUPTI" / "include":
        if (include / "cupti.h").exists():
            done = dnncc.run(["g++", "-O1", "-shared", "-fPIC", f"-I{include}", ROOT / "test" / "bench" / "cuda" / "trace.cpp", "-o", folder / "trace.so",
                              f"-L{root / 'lib64'}", f"-L{include.parent / 'lib64'}", *map("-L{}".format, os.environ.get("LD_LIBRARY_PATH", "").split(":")), "-l:libcupti.so.13"])
            return folder / "trace.so" if done.returncode == 0 else print("no CUPTI:", done.stderr[-300:])
    return print("no CUPTI: cupti.h is not beside nvcc")


def traced(row, library, replays=40):
    """[(late, took)] of the launches in order, microseconds: medians of replays; late: from the end of the one in front, below 0 where it began before"""
    seen = row["folder"] / "trace.txt"
    done = dnncc.run([row["program"], "model", row["folder"], row["folder"] / "out", str(replays), str(1 << 20)], timeout=600,
                     env={**os.environ, "CUDA_INJECTION64_PATH": str(library), "TRACE": str(seen)})
    if done.returncode or not seen.exists():
        return print("no trace:", done.stderr[-300:]) or []
    every = sorted(tuple(int(w) for w in line.split()[:2]) for line in seen.read_text().splitlines())
    nodes = len(row["predicted"])           # kernels: the graph may set a word to 0 before them
    runs = [every[k:k + nodes] for k in range(nodes * 10, nodes * replays, nodes)]     # the first are cold
    runs = [r for r in runs if len(r) == nodes]
    return [(statistics.median((r[k][0] - r[k - 1][1]) / 1e3 if k else 0 for r in runs), statistics.median((r[k][1] - r[k][0]) / 1e3 for r in runs)) for k in range(nodes)] if runs else []


def kernel_table(row):
    text = [f"{row['model']}, {row['precision']}, {row['target']}: kernels, microseconds; in a row: launch included; there: in the network, behind how late it began", "",
            "| kernel | blocks | threads | shared | times | in a row | late | there | predicted |", "|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    alike = {}
    for (kernel, blocks, threads, shared, us, predicted), (late, there) in itertools.zip_longest(row["kernels"], row["trace"][:len(row["kernels"])], fillvalue=(None, None)):
        alike.setdefault((kernel, blocks, threads, shared), []).append((us, late, there, predicted))
    for key, times in sorted(alike.items(), key=lambda k: -sum(t[0] for t in k[1])):
        means = [statistics.mean(t[k] for t in times) if times[0][k] is not None else None for k in range(4)]
        text.append(f"| {' | '.join(map(str, key))} | {len(times)} | " + " | ".join("" if m is None else f"{m:.2f}" for m in means) + " |")
    return "\n".join(text) + f"\n\nsums: {sum(k[4] for k in row['kernels']):.1f} in a row, {sum(a + b for a, b in row['trace']):.1f} there, {sum(k[5] or 0 for k in row['kernels']):.1f} predicted\n"


# ---- peers ----

def peer_times(row, replays):
    """{peer: microseconds} of onnxruntime's providers that are installed"""
    try:
        import onnxruntime
    except ImportError:
        return {}
    found = {}
    for name in ("CUDAExecutionProvider", "TensorrtExecutionProvider"):
        if name not in onnxruntime.get_available_providers():
            continue
        session = onnxruntime.InferenceSession(str(row["path"]), providers=[name])
        binding = session.io_binding()
        for port, array in zip(session.get_inputs(), row["arrays"]):
            binding.bind_ortvalue_input(port.name, onnxruntime.OrtValue.ortvalue_from_numpy(array, "cuda", 0))
        for port in session.get_outputs():
            binding.bind_output(port.name, "cuda")
        times = []
        for _ in range(replays + 20):
            before = time.perf_counter()
            session.run_with_iobinding(binding)
            binding.synchronize_outputs()
            times.append((time.perf_counter() - before) * 1e6)
        found[name.removesuffix("ExecutionProvider")] = statistics.median(times[20:])
    return found


def table(rows, peers, machine):
    names = sorted({p for r in rows for p in r["peers"]})
    text = [f"{machine}; microseconds, medians of graph replays", "",
            "| model | target | precision | warm | flushed | nodes | error |" + "".join(f" {n} |" for n in names), "|---" * (7 + len(names)) + "|"]
    for r in rows:
        text.append(f"| {r['model']} | {r['target']} | {r['precision']} | {r['warm']:.1f} | {r['flushed']:.1f} | {r['nodes']} | {r['error']:.2g} |" +
                    "".join(f" {r['peers'][n]:.1f} |" if n in r["peers"] else " - |" for n in names))
    text += [f"\ntorch, {what}: {value:.1f}" for what, value in peers.items()]
    return "\n".join(text) + "\n"


def main():
    o, found = options(), gpu()
    if not found:
        print("there is no GPU here: nvidia-smi is not found, or names none")
        return 2
    if not cuda.nvcc():
        print("there is no nvcc here: make cuda")
        return 2
    name_of, architecture = found
    listed = re.findall(r"cuda-(sm_\d+)", dnncc.run([dnncc.DNNCC, "--target=help"]).stdout)
    targets = o.target.split(",") if o.target else ["cuda-" + max((a for a in listed if int(a[3:]) <= int(architecture[3:])), key=lambda a: int(a[3:]))]
    rows, wrong = [], []
    with tempfile.TemporaryDirectory() as top, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        top = o.keep or pathlib.Path(top)
        top.mkdir(parents=True, exist_ok=True)
        print(machine(architecture, top), flush=True)
        leaves = pool.submit(check_leaves, architecture, top)
        models = o.models.split(",")
        list(pool.map(model_path, sorted(set(models) - {"resnet50_32"})))       # written before two ask for one
        library = tracer(top)
        made = [pool.submit(prepare, m, p, architecture, t, top / f"{m}-{p}-{t}") for m in models for p in o.precision.split(",") for t in targets
                if ("a" not in t[5:] or p) and (p == "f16" or not m.endswith("_f16"))]      # the rows of one GPU alone multiply no f32
        wants = {m: pool.submit(wanted, m, top / f"{m}-wanted") for m in models}
        wrong += leaves.result()
        concurrent.futures.wait([*made, *wants.values()])       # what is timed has the machine to itself
        for future in made:
            row = future.result()
            name = row["model"]
            wrong += measure(row, wants[name].result(), o.replays)
            if "warm" not in row:
                continue
            if name in SMALL and row["precision"] == "f32":
                wrong += sanitized(row)
            row["peers"] = peer_times(row, o.replays) if row["precision"] == "f32" and not o.alone else {}
            row["kernels"] = kernel_times(row) if name in BY_KERNELS or name in CASES else []
            row["trace"] = traced(row, library) if library and name in BY_KERNELS else []
            rows.append(row)
            print(f"{name} {row['precision']}: {row['warm']:.1f} us, {row['nodes']} nodes, error {row['error']:.2g}", flush=True)
            if row["kernels"]:
                print(kernel_table(row), flush=True)
        text = table(rows, {} if o.alone else torch_peers.torch_times(o.replays, o.compile), name_of)
    print(text)
    if o.write:
        o.write.parent.mkdir(parents=True, exist_ok=True)
        o.write.write_text("\n".join([text, *(kernel_table(r) for r in rows if r["kernels"])]))
    for what in wrong:
        print("wrong:", what)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
