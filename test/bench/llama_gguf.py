# SPDX-License-Identifier: MIT
"""llama_gguf.py [--layers=N] [--width=N] [--target=NAME] [--rounds=N] [--peer=PYTHON] [TYPE..]: a step of a language model in GGUF (types of tensors: F32, Q4_0, Q4_K, ..) beside
the same network in ONNX by MatMulNBits (llama_model.py), behind 512 tokens, in one process and in turn; beside llama.cpp on the same files, by a Python that has
llama-cpp-python and gguf (llama_peer.py).

A type whose blocks are wider than a row's width has Q5_0 there, as llama.cpp's own conversion has. Prints the medians of the processor's times in milliseconds,
how many times as long each takes as MatMulNBits, and the bytes of constants."""
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

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "test" / "formats")]
import dnncc  # noqa: E402
import gguf  # noqa: E402
import gguf_writer  # noqa: E402

AT = 512


def save(path, kind, options):
    rng, heads = np.random.default_rng(0), options.width // shape.SIZE
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(options.layers)
    writer.add_context_length(shape.POSITIONS)
    writer.add_embedding_length(options.width)
    writer.add_head_count(heads)
    writer.add_head_count_kv(shape.GROUPS)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_dimension_count(shape.SIZE)
    writer.add_rope_freq_base(1e6)
    writer.add_feed_forward_length(shape.HIDDEN)
    writer.add_vocab_size(shape.TOKENS)
    writer.add_tokenizer_model("no_vocab")

    def blocks(name, rows, columns):
        own = gguf.GGMLQuantizationType[kind]
        if kind == "F32":
            writer.add_tensor(name, rng.standard_normal((rows, columns), np.float32) * np.float32(columns ** -0.5))
            return
        own = own if columns % gguf.GGML_QUANT_SIZES[own][0] == 0 else gguf.GGMLQuantizationType.Q5_0
        writer.add_tensor(name, gguf_writer.random_blocks(rng, own, rows, columns), raw_dtype=own)

    def ones(name):
        writer.add_tensor(name, np.ones(options.width, np.float32))
    q, k = heads * shape.SIZE, shape.GROUPS * shape.SIZE
    blocks("token_embd.weight", shape.TOKENS, options.width)
    blocks("output.weight", shape.TOKENS, options.width)
    ones("output_norm.weight")
    for layer in range(options.layers):
        for name, rows, columns in (("attn_q", q, options.width), ("attn_k", k, options.width), ("attn_v", k, options.width), ("attn_output", options.width, q),
                                    ("ffn_gate", shape.HIDDEN, options.width), ("ffn_up", shape.HIDDEN, options.width), ("ffn_down", options.width, shape.HIDDEN)):
            blocks(f"blk.{layer}.{name}.weight", rows, columns)
        ones(f"blk.{layer}.attn_norm.weight")
        ones(f"blk.{layer}.ffn_norm.weight")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class Step:
    """a step behind AT tokens, whose keys and values are zeros"""

    def __init__(self, path, mask, past, dim, options):
        self.model = dnncc.compile(path, dim={"P": f"0..{shape.POSITIONS - 1}", "N": 1, **dim}, state=past, target=options.target, cache=False, weights="file")
        self.constants = pathlib.Path(self.model._files[".weights"]).stat().st_size
        self.sequence = self.model.sequence()
        self.inputs = [np.array([[7]]), *([np.ones((1, AT + 1), np.int64)] if mask else [])]

    def timed(self):
        self.sequence["P"] = AT
        begin = time.process_time()
        self.sequence(*self.inputs)
        return time.process_time() - begin


class Peer:
    """llama.cpp's step on the file, behind AT tokens"""
    constants = 0

    def __init__(self, path, options):
        self.process = subprocess.Popen([options.peer, ROOT / "test" / "bench" / "llama_peer.py", path, "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def timed(self):
        self.process.stdin.write(f"{AT} 1\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline().split()[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("types", nargs="*", default=["Q4_0", "Q4_K"])
    for name, preset in ("layers", shape.LAYERS), ("width", shape.WIDTH), ("rounds", 31):
        parser.add_argument(f"--{name}", type=int, default=preset)
    parser.add_argument("--target", default="native")
    parser.add_argument("--peer")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        onnx = pathlib.Path(folder) / "m.onnx"
        llama_model.Llama(options.layers, options.width, options.width // shape.SIZE).save(onnx)
        steps, sizes = {"MatMulNBits": Step(onnx, True, {"past_key_values.*": "present.*"}, {"T": "P+N"}, options)}, {"MatMulNBits": 0}
        for kind in options.types:
            path = pathlib.Path(folder) / f"{kind}.gguf"
            save(path, kind, options)
            steps[kind], sizes[kind] = Step(path, False, {"past.*": "present.*"}, {}, options), path.stat().st_size
            if options.peer:
                steps[f"llama.cpp, {kind}"], sizes[f"llama.cpp, {kind}"] = Peer(path, options), path.stat().st_size
        times = {name: [] for name in steps}
        for round_ in range(options.rounds + 2):
            for name, step in steps.items():
                took = step.timed()
                times[name] += [took] if round_ > 1 else []
        medians = {name: statistics.median(t) * 1e3 for name, t in times.items()}
        for name, median in medians.items():
            print(f"{name}: {median:.2f} ms ({median / medians['MatMulNBits']:.3f}), least {min(times[name]) * 1e3:.2f}, file {sizes[name] / 1e6:.1f} MB, "
                  f"constants {steps[name].constants / 1e6:.1f} MB", flush=True)


if __name__ == "__main__":
    main()
