# SPDX-License-Identifier: MIT
"""llama.py [--layers=N] [--threads=N] [--target=NAME] [--rounds=N] [--peer=PYTHON]: prompt and step of a language model with weights in 4 bits, dnncc's beside
onnxruntime's and llama.cpp's, the latter by a Python that has llama-cpp-python and gguf (llama_peer.py).

The model is that of llama_model.py, of the shape of llama_shape.py. Programs run in turn; times are those of the
processor with one thread, and of the wall with several. Prints medians in milliseconds, and how many times as long the others take."""
import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import llama_model
import llama_shape as shape
import numpy as np
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import dnncc  # noqa: E402

PROMPT = 512


class Ours:
    def __init__(self, path, names, options):
        dim = {"P": f"0..{shape.POSITIONS - 1}", "T": "P+N"}
        self.model = dnncc.compile(path, dim=dim, entry=[f"prompt:N=1..{PROMPT}", "step:N=1"], state={"past_key_values.*": "present.*"},
                                   target=options.target, **({"threads": options.threads} if options.threads > 1 else {}))
        self.sequence = self.model.sequence()
        self.entries = {name: self.sequence.entry(name) for name in ("prompt", "step")}
        for name in names:
            self.sequence[f"past_key_values.{name}"][...] = np.random.default_rng(1).standard_normal((1, shape.GROUPS, 1, shape.SIZE), np.float32)

    def prepare(self, position, count):
        self.sequence["P"] = position
        ids, mask = np.arange(count)[None], np.ones((1, position + count), np.int64)
        return lambda: self.entries["step" if count == 1 else "prompt"](ids, mask)


class Onnxruntime:
    def __init__(self, path, names, options):
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = options.threads
        self.session, self.names = onnxruntime.InferenceSession(path, settings, providers=["CPUExecutionProvider"]), names

    def prepare(self, position, count):
        binding = self.session.io_binding()
        binding.bind_cpu_input("input_ids", np.arange(count)[None])
        binding.bind_cpu_input("attention_mask", np.ones((1, position + count), np.int64))
        for name in self.names:
            array = np.tile(np.random.default_rng(1).standard_normal((1, shape.GROUPS, 1, shape.SIZE), np.float32), (1, 1, position, 1))
            binding.bind_ortvalue_input(f"past_key_values.{name}", onnxruntime.OrtValue.ortvalue_from_numpy(array))
        for output in self.session.get_outputs():
            binding.bind_output(output.name)
        return lambda: self.session.run_with_iobinding(binding)


class Peer:
    def __init__(self, path, names, options):
        script = pathlib.Path(__file__).with_name("llama_peer.py")
        self.process = subprocess.Popen([options.peer, script, str(options.layers), str(options.threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def timed(self, position, count):
        self.process.stdin.write(f"{position} {count}\n")
        self.process.stdin.flush()
        return tuple(map(float, self.process.stdout.readline().split()))


def timed(program, position, count):
    """the processor's seconds and the wall's"""
    if isinstance(program, Peer):
        return program.timed(position, count)
    run = program.prepare(position, count)
    clocks = time.process_time(), time.perf_counter()
    run()
    return time.process_time() - clocks[0], time.perf_counter() - clocks[1]


def main():
    parser = argparse.ArgumentParser()
    for name, preset in ("layers", shape.LAYERS), ("threads", 1), ("rounds", 9):
        parser.add_argument(f"--{name}", type=int, default=preset)
    parser.add_argument("--target", default="native")
    parser.add_argument("--peer")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "llama.onnx"
        names = llama_model.Llama(options.layers).save(path)
        programs = {kind.__name__: kind(path, names, options) for kind in (Ours, Onnxruntime, *([Peer] if options.peer else []))}
        for position, count, rounds in (0, PROMPT, 3), (PROMPT, 1, options.rounds), (shape.POSITIONS - 1, 1, options.rounds):
            times = {name: [] for name in programs}
            for warm in range(rounds + 1):
                for name, program in programs.items():
                    took = timed(program, position, count)[options.threads > 1]
                    times[name] += [took] if warm else []
            median = {name: statistics.median(t) * 1e3 for name, t in times.items()}
            print(f"{count} tokens at {position}: " + ", ".join(f"{name} {t:.1f} ms" + (f" ({t / median['Ours']:.2f})" if name != "Ours" else "")
                                                                for name, t in median.items()), flush=True)


if __name__ == "__main__":
    main()
