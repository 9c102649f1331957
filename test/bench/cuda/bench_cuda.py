# SPDX-License-Identifier: MIT
"""Generated CUDA C on a GPU: first whether it is right, then how fast it is.

    make bench-cuda                             # everything, under 10 minutes; one table
    bench_cuda.py --models=resnet50             # see --help

1. Every leaf (test/cuda/leaves_check.cu) against the executor to the bit; sums of products within 2^-20 of the sum of their magnitudes.
2. All models against dnncc's interpreter; the smallest under compute-sanitizer (memcheck, racecheck, synccheck).
3. Times of graph replays, medians of 200, caches warm and flushed, beside the peers that are installed: onnxruntime (CUDA, TensorRT), and
   for a product and attention torch and JAX.

Exit: 0; 1 something is wrong; 2 there is no GPU here, or no nvcc."""
import argparse
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "test" / "support"))
sys.path.insert(0, str(ROOT / "test" / "bench"))
import cuda  # noqa: E402
import dnncc  # noqa: E402

FLUSH = 256 << 20               # bytes written between replays: more than any second cache
SMALL = ["mnist_cnn", "micro_kws_fp32", "resnet8_fp32"]
ZOO = ["resnet50", "mobilenet_v2", "bert_base", "gpt_step"]
TOLERANCE = {"": 1e-4, "tf32": 2e-2, "bf16": 1e-1, "f16": 2e-2}
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
    p.add_argument("--models", default=",".join(SMALL + ZOO), help="of ../shared/models and the zoo")
    p.add_argument("--target", help="of dnncc; default: the GPU's, or the nearest below it")
    p.add_argument("--precision", default=",tf32,f16", help="of dnncc, a list; empty: f32")
    p.add_argument("--replays", type=int, default=200)
    p.add_argument("--write", help="the table as Markdown")
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
        elif name == "products":
            a, b = a.view(np.float32).astype(np.float64), b.view(np.float32).astype(np.float64)
            error = np.abs(a[:, :4] - b[:, :4]) / a[:, 4:]
            if not np.all(error <= 2.0 ** -20):
                wrong.append(f"products: {error.max():.3g} of the sum of magnitudes")
            print(f"products: {np.mean(a[:, :4] == b[:, :4]):.0%} equal to the bit, the others within {error.max():.2g} of the sum of magnitudes")
        elif not np.array_equal(a, b):
            wrong.append(f"{name}: {np.count_nonzero(a != b)} of {a.size} words differ")
    return wrong


def leaves_by_executor(folder):
    source = cuda.FOLDER / "leaves_check.cu"
    return dnncc.run([cuda.link([cuda.compile_text(source, folder / "leaves.o"), *cuda.runtime(host=False)], folder / "leaves")]).stdout


def nvcc(architecture, out, *sources, flags=(), cwd=None):
    done = dnncc.run([cuda.nvcc(), "-O2", f"-arch={architecture}", "-diag-suppress", "177", *flags, *sources, "-o", out], timeout=600, cwd=cwd)
    if done.returncode:
        raise SystemExit(done.stderr[:3000])
    return out


def check_leaves(architecture, folder):
    done = dnncc.run([nvcc(architecture, folder / "leaves_gpu", cuda.FOLDER / "leaves_check.cu", flags=[f"-I{cuda.FOLDER}"])])
    if done.returncode:
        raise SystemExit("leaves: " + done.stderr)
    return compare_leaves(leaves_by_executor(folder), done.stdout)


# ---- models ----

def model_path(name):
    shared = ROOT.parent / "shared" / "models" / name / "model.onnx"
    if shared.exists():
        return shared
    import zoo
    return zoo.build(name)


def bindings(path):
    shapes = path.parent / "shapes.txt"
    rows = [line.rsplit(None, 2) for line in shapes.read_text().splitlines()] if shapes.exists() else []
    return [f"--input={name}={shape}" for name, _, shape in rows if shape != "scalar"]


def inputs_of(program_ports, seed=1):
    """floats in [-1, 1), small whole numbers"""
    random = np.random.default_rng(seed)
    arrays = []
    for is_input, kind, shape in program_ports:
        if is_input:
            dtype = np.dtype(dnncc.numpy_type(kind))
            arrays.append((random.random(shape) * 2 - 1).astype(dtype) if dtype.kind == "f" else random.integers(0, 2, shape).astype(dtype))
    return arrays


def interpreted(path, more, arrays, folder):
    given = folder / "given"
    given.mkdir(exist_ok=True)
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


def measure(name, architecture, target, precision, replays, folder):
    """a row: name, precision, microseconds warm and flushed, graph nodes, error; raises SystemExit where something is wrong"""
    path = model_path(name)
    more = [*bindings(path), *([f"--precision={precision}"] if precision else [])]
    source = cuda.compile_model(path, folder, more, target=target)
    program = gpu_program(source, architecture, folder)
    described = cuda.build([source], folder)
    arrays = inputs_of(cuda.ports(described, "model"))
    for k, a in enumerate(arrays):
        (folder / f"{k}.bin").write_bytes(np.ascontiguousarray(a).tobytes())
    out = folder / "out"
    out.mkdir(exist_ok=True)
    done = dnncc.run([program, "model", folder, out, str(replays), str(FLUSH)], timeout=600)
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr}")
    warm, flushed, nodes = done.stdout.split()
    error = 0.0
    for k, want in enumerate(interpreted(path, bindings(path), arrays, folder)):
        got = np.frombuffer((out / f"{k}.bin").read_bytes(), want.dtype).reshape(want.shape).astype(np.float64)
        error = max(error, float(np.max(np.abs(got - want), initial=0) / max(np.max(np.abs(want), initial=0), 1e-30)))
    if error > TOLERANCE[precision]:
        raise SystemExit(f"{name}, {precision or 'f32'}: {error:.3g} of the largest output")
    return {"model": name, "precision": precision or "f32", "warm": float(warm), "flushed": float(flushed), "nodes": int(nodes), "error": error,
            "program": program, "path": path, "arrays": arrays}


def sanitized(row, folder):
    tool = shutil.which("compute-sanitizer")
    if not tool:
        print("compute-sanitizer is not installed: left out")
        return []
    wrong = []
    for kind in SANITIZERS:
        done = dnncc.run([tool, f"--tool={kind}", "--error-exitcode=9", row["program"], "model", folder, folder / "out"], timeout=600)
        if done.returncode:
            wrong.append(f"{row['model']}, {kind}: {done.stdout[-1500:]}")
    return wrong


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


def torch_times(replays):
    """{what: microseconds} of a product and of attention, in graphs; empty without torch"""
    try:
        import torch
    except ImportError:
        return {}
    if not torch.cuda.is_available():
        return {}
    a, b = (torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    q, k, v = (torch.randn(1, 16, 4096, 128, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    found = {}
    for what, function in {"product 4096, bf16": lambda: a @ b,
                           "attention, 16 heads of 128, 4096 keys": lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v)}.items():
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            function()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            function()
        times = []
        for _ in range(replays):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) * 1e3)
        found[what] = statistics.median(times)
    return found


def table(rows, peers, machine):
    names = sorted({p for r in rows for p in r["peers"]})
    text = [f"{machine}; microseconds, medians of graph replays", "",
            "| model | precision | warm | flushed | nodes | error |" + "".join(f" {n} |" for n in names), "|---" * (6 + len(names)) + "|"]
    for r in rows:
        text.append(f"| {r['model']} | {r['precision']} | {r['warm']:.1f} | {r['flushed']:.1f} | {r['nodes']} | {r['error']:.2g} |" +
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
    name, architecture = found
    listed = re.findall(r"cuda-(sm_\d+)", dnncc.run([dnncc.DNNCC, "--target=help"]).stdout)
    target = o.target or "cuda-" + max((a for a in listed if int(a[3:]) <= int(architecture[3:])), key=lambda a: int(a[3:]))
    rows, wrong = [], []
    with tempfile.TemporaryDirectory() as top:
        top = pathlib.Path(top)
        wrong += check_leaves(architecture, top)
        for model in o.models.split(","):
            for precision in o.precision.split(","):
                folder = top / f"{model}-{precision}"
                folder.mkdir()
                row = measure(model, architecture, target, precision, o.replays, folder)
                if model in SMALL and not precision:
                    wrong += sanitized(row, folder)
                row["peers"] = {} if precision else peer_times(row, o.replays)
                rows.append(row)
                print(f"{model} {row['precision']}: {row['warm']:.1f} us, {row['nodes']} nodes, error {row['error']:.2g}", flush=True)
        text = table(rows, torch_times(o.replays), f"{name}, {target}")
    print(text)
    if o.write:
        pathlib.Path(o.write).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(o.write).write_text(text)
    for what in wrong:
        print("wrong:", what)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
