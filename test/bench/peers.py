# SPDX-License-Identifier: MIT
"""The engines dnncc is compared with, and every setting they run with. bench.py starts one process of this file for each.

    peers.py wheels              what `make bench-setup` installs, pinned
    peers.py prepare SPEC        what an engine does ahead of time (conversion, compilation), into a folder
    peers.py serve SPEC          loads, runs once, then answers `run SECONDS CLOCK` on standard input with the seconds of each run
                                 (CLOCK: wall, processor)

SPEC is JSON: peer, precision, model, folder, inputs [[name, type, shape], ..], in, out, threads, cores. Inputs are IN/K.bin, outputs go
to OUT/K.npy.

precision "fp32" (table 1): no reduced precision anywhere. "default" (table 2): as the engine comes out of the box, but for threads.
All of them: batch 1, one inference at a time, inputs bound before the clock starts, outputs left where the engine puts them.
"""
import ctypes
import gc
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

WHEELS = {"onnxruntime": "1.32.0", "openvino": "2026.4.1", "ncnn": "1.0.20261020", "iree-base-compiler": "3.13.0",
          "iree-base-runtime": "3.13.0", "emx-onnx-cgen": "1.4.0", "onnx": "1.22.0", "onnx-ir": "1.1.0",
          "numpy": "2.4.6", "pytest": "9.2.0"}
WHEELS_ALONE = {"pnnx": "20261020"}             # wants torch, which its converter of ONNX does without


class Onnxruntime:
    """All graph optimisations, sequential, N threads that spin, each on a core; inputs and outputs bound."""
    wheels = ("onnxruntime",)
    quantized = True                            # loads models with integer weights
    precisions = ("fp32",)                      # fp32 is what it does by default

    def __init__(self, spec, arrays):
        import onnxruntime as ort
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
        options.intra_op_num_threads = spec["threads"]
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "1")
        if spec["threads"] > 1:                 # of all but the calling thread; it counts from 1
            cores = spec["cores"][1:spec["threads"]]
            options.add_session_config_entry("session.intra_op_thread_affinities", ";".join(str(c + 1) for c in cores))
        self.session = ort.InferenceSession(spec["model"], options, providers=["CPUExecutionProvider"])
        os.sched_setaffinity(0, spec["cores"][:1])
        self.binding = self.session.io_binding()
        for name, array in arrays.items():
            self.binding.bind_cpu_input(name, array)
        for output in self.session.get_outputs():
            self.binding.bind_output(output.name, "cpu")

    def bind(self):
        """after the first run: the outputs it made are the ones it writes from now on"""
        for output, value in zip(self.session.get_outputs(), self.binding.get_outputs()):
            self.binding.bind_ortvalue_output(output.name, value)

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def outputs(self):
        return self.binding.copy_outputs_to_cpu()


class Openvino:
    """Latency hint, one stream, N pinned threads; fp32: inference precision forced to f32 and read back."""
    wheels = ("openvino",)
    quantized = True
    precisions = ("fp32", "default")

    def __init__(self, spec, arrays):
        import openvino as ov
        settings = {"INFERENCE_NUM_THREADS": spec["threads"]}
        if spec["precision"] == "fp32":
            settings |= {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": "1",
                         "ENABLE_CPU_PINNING": True}
        model = ov.Core().compile_model(spec["model"], "CPU", settings)
        precision = str(model.get_property("INFERENCE_PRECISION_HINT"))
        if spec["precision"] == "fp32" and "float32" not in precision:
            raise RuntimeError(f"asked for f32, got {precision}")
        self.settings = {"precision": precision, **{k: str(model.get_property(k)) for k in (
            "PERFORMANCE_HINT", "NUM_STREAMS", "INFERENCE_NUM_THREADS", "ENABLE_CPU_PINNING")}}
        self.request = model.create_infer_request()
        for name, array in arrays.items():
            self.request.set_tensor(name, ov.Tensor(array, shared_memory=True))
        self.results = [self.request.get_tensor(o) for o in model.outputs]

    def run(self):
        self.request.infer()

    def outputs(self):
        return [t.data for t in self.results]


class Ncnn:
    """N threads of OpenMP, converted by pnnx; fp32: 16-bit storage, packing and arithmetic off, weights of 32 bits."""
    wheels = ("ncnn",)
    quantized = False
    precisions = ("fp32", "default")

    @staticmethod
    def prepare(spec, folder):
        import ncnn  # noqa: F401  (not there: no use converting)
        short = {"float32": "f32", "int64": "i64", "int32": "i32", "uint8": "u8", "int8": "i8"}
        shapes = ",".join(f"[{','.join(map(str, shape))}]{short[kind]}" for _, kind, shape in spec["inputs"])
        os.symlink(spec["model"], folder / "model.onnx")            # pnnx writes beside its input
        program = pathlib.Path(importlib.util.find_spec("pnnx").origin).parent / "pnnx"
        fp16 = "1" if spec["precision"] == "default" else "0"
        subprocess.run([program, "model.onnx", f"inputshape={shapes}", f"fp16={fp16}"], cwd=folder, check=True, stdout=sys.stderr)

    def __init__(self, spec, arrays):
        import ncnn
        import numpy
        self.numpy, self.net = numpy, ncnn.Net()
        self.net.opt.num_threads = spec["threads"]
        if spec["precision"] == "fp32":
            for option in ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_packed", "bf16_storage"):
                setattr(self.net.opt, f"use_{option}", False)
        folder = pathlib.Path(spec["folder"])
        if self.net.load_param(str(folder / "model.ncnn.param")) or self.net.load_model(str(folder / "model.ncnn.bin")):
            raise RuntimeError("ncnn cannot load what pnnx wrote")
        self.mats = [ncnn.Mat(a[0] if a.ndim > 1 and len(a) == 1 else a) for a in arrays.values()]   # ncnn has no batch
        self.names = [f"out{k}" for k in range(len(self.net.output_names()))]                        # as pnnx calls them

    def run(self):
        extractor = self.net.create_extractor()
        for k, mat in enumerate(self.mats):
            extractor.input(f"in{k}", mat)
        self.results = [extractor.extract(name) for name in self.names]

    def outputs(self):
        if any(code for code, _ in self.results):
            raise RuntimeError("ncnn cannot compute an output")
        return [self.numpy.array(mat) for _, mat in self.results]


class Iree:
    """Compiled ahead of time by LLVM for this CPU at -O3 with data tiling; one thread: local-sync, N: local-task."""
    wheels = ("iree-base-compiler", "iree-base-runtime")
    quantized = False
    precisions = ("fp32",)

    @staticmethod
    def prepare(spec, folder):
        flags = pathlib.Path("/proc/cpuinfo").read_text()
        cpu = "sapphirerapids" if "amx_tile" in flags and "avx512_fp16" in flags else "host"
        tools = pathlib.Path(sys.executable).parent
        subprocess.run([tools / "iree-import-onnx", spec["model"], "--opset-version", "17", "-o", folder / "model.mlir"], check=True)
        subprocess.run([tools / "iree-compile", folder / "model.mlir", "--iree-hal-target-backends=llvm-cpu", "--iree-opt-level=O3",
                        "--iree-opt-data-tiling", f"--iree-llvmcpu-target-cpu={cpu}", "-o", folder / "model.vmfb"], check=True)
        (folder / "model.mlir").unlink()

    def __init__(self, spec, arrays):
        import iree.runtime as rt
        if spec["threads"] > 1:
            rt.flags.parse_flags("--task_topology_cpu_ids=" + ",".join(map(str, spec["cores"][:spec["threads"]])))
        device = rt.get_device("local-task" if spec["threads"] > 1 else "local-sync")
        context = rt.SystemContext(config=rt.Config(device=device))
        module = rt.VmModule.mmap(context.instance, str(pathlib.Path(spec["folder"]) / "model.vmfb"))
        context.add_vm_module(module)
        entry = next(n for n in module.function_names if not n.startswith("__") and not n.endswith("$async"))
        self.entry = context.modules[module.name][entry]
        self.arrays = [rt.asdevicearray(device, a) for a in arrays.values()]

    def run(self):
        self.results = self.entry(*self.arrays)

    def outputs(self):
        results = self.results if isinstance(self.results, (list, tuple)) else [self.results]
        return [r.to_host() for r in results]


CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
PEERS = {"onnxruntime": Onnxruntime, "openvino": Openvino, "ncnn": Ncnn, "iree": Iree}


HUGE = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")


def huge_pages():
    """whether this system gives a process huge pages for what malloc has, where it asks for them: glibc 2.35 and later do by GLIBC_TUNABLES"""
    release = os.confstr("CS_GNU_LIBC_VERSION") if hasattr(os, "confstr") and "CS_GNU_LIBC_VERSION" in os.confstr_names else None
    return HUGE.exists() and "[never]" not in HUGE.read_text() and bool(release) and tuple(map(int, release.split()[1].split(".")[:2])) >= (2, 35)


def environment(threads):
    """of an engine's process, set before anything is loaded; its memory is on huge pages, as dnncc's is (4 KB pages make onnxruntime 1.2 to 1.6 times slower)"""
    return {**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_PROC_BIND": "true", "OMP_PLACES": "cores", "PYTHONDONTWRITEBYTECODE": "1",
            "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def serve(spec, reply):
    import numpy as np
    os.sched_setaffinity(0, spec["cores"][:spec["threads"]])
    arrays = {name: np.fromfile(f"{spec['in']}/{k}.bin", kind).reshape(shape) for k, (name, kind, shape) in enumerate(spec["inputs"])}
    cls = PEERS[spec["peer"]]
    for wheel in cls.wheels:
        if importlib.metadata.version(wheel) != WHEELS[wheel]:
            raise RuntimeError(f"{wheel} {importlib.metadata.version(wheel)} is installed, want {WHEELS[wheel]}: make bench-setup")
    __import__({"iree": "iree.runtime"}.get(spec["peer"], spec["peer"]))        # the library's own loading does not count
    start = time.perf_counter()
    peer = cls(spec, arrays)
    loaded = time.perf_counter()
    peer.run()
    first = time.perf_counter()
    if hasattr(peer, "bind"):
        peer.bind()
    for k, array in enumerate(peer.outputs()):
        np.save(f"{spec['out']}/{k}.npy", array)
    reply({"load": loaded - start, "first": first - loaded, "settings": getattr(peer, "settings", {})})
    gc.disable()
    for line in sys.stdin:
        _, seconds, name = line.split()
        times, run, clock = [], peer.run, CLOCKS[name]
        run()
        end = clock() + float(seconds)
        while not times or clock() < end:
            start = clock()
            run()
            times.append(clock() - start)
        reply(times)


def main():
    if sys.argv[1] == "wheels":
        alone = sys.argv[2:] == ["--alone"]
        print(*(f"{name}=={version}" for name, version in (WHEELS_ALONE if alone else WHEELS).items()))
        return
    spec = json.loads(sys.argv[2])
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: who is stopped would never see that bench.py is gone
    if sys.argv[1] == "prepare":
        try:
            PEERS[spec["peer"]].prepare(spec, pathlib.Path(spec["folder"]))
        except subprocess.CalledProcessError as error:
            sys.exit(f"{pathlib.Path(error.cmd[0]).name} exited with {error.returncode}")
        return
    answers = os.fdopen(os.dup(1), "w")         # libraries print to standard output
    os.dup2(2, 1)

    def reply(value):
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    serve(spec, reply)


if __name__ == "__main__":
    main()
