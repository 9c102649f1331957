# SPDX-License-Identifier: MIT
"""llama_peer.py LAYERS|FILE THREADS: llama.cpp on a model of llama.py's shape, or on one in a file, for llama.py and llama_gguf.py, which start it by a Python that
has llama-cpp-python and gguf.

Weights of llama.py's are random, in Q4_0. Each line `POSITION TOKENS` of standard input is answered by the processor's and the wall's seconds for so many tokens from
that position on. Weights are not moved into forms of AMX, which crash in some virtual machines."""
import pathlib
import sys
import tempfile
import time

import gguf
import llama_cpp
import llama_shape as shape
import numpy as np


def save(path, layers):
    rng, writer = np.random.default_rng(0), gguf.GGUFWriter(path, "llama")
    writer.add_block_count(layers)
    writer.add_context_length(shape.POSITIONS)
    writer.add_embedding_length(shape.WIDTH)
    writer.add_feed_forward_length(shape.HIDDEN)
    writer.add_head_count(shape.HEADS)
    writer.add_head_count_kv(shape.GROUPS)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_dimension_count(shape.SIZE)
    writer.add_rope_freq_base(1e6)
    writer.add_vocab_size(shape.TOKENS)
    writer.add_file_type(2)
    writer.add_tokenizer_model("no_vocab")

    def blocks(name, rows, columns):
        data = rng.integers(0, 256, (rows, columns // 32, 18), np.uint8)
        scales = (rng.random((rows, columns // 32, 1)) + 0.5) * 0.2 / columns ** 0.5
        data[:, :, :2] = scales.astype(np.float16).view(np.uint8)
        writer.add_tensor(name, data.reshape(rows, -1), raw_dtype=gguf.GGMLQuantizationType.Q4_0)

    def ones(name):
        writer.add_tensor(name, np.ones(shape.WIDTH, np.float32))
    q, k = shape.HEADS * shape.SIZE, shape.GROUPS * shape.SIZE
    blocks("token_embd.weight", shape.TOKENS, shape.WIDTH)
    blocks("output.weight", shape.TOKENS, shape.WIDTH)
    ones("output_norm.weight")
    for layer in range(layers):
        for name, rows, columns in (("attn_q", q, shape.WIDTH), ("attn_k", k, shape.WIDTH), ("attn_v", k, shape.WIDTH), ("attn_output", shape.WIDTH, q),
                                    ("ffn_gate", shape.HIDDEN, shape.WIDTH), ("ffn_up", shape.HIDDEN, shape.WIDTH), ("ffn_down", shape.WIDTH, shape.HIDDEN)):
            blocks(f"blk.{layer}.{name}.weight", rows, columns)
        ones(f"blk.{layer}.attn_norm.weight")
        ones(f"blk.{layer}.ffn_norm.weight")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class Model:
    def __init__(self, path, threads):
        llama_cpp.llama_backend_init()
        options = llama_cpp.llama_model_default_params()
        options.n_gpu_layers, options.use_extra_bufts = 0, False
        self.model = llama_cpp.llama_model_load_from_file(str(path).encode(), options)
        options = llama_cpp.llama_context_default_params()
        options.n_ctx = options.n_batch = options.n_ubatch = shape.POSITIONS
        options.n_threads = options.n_threads_batch = threads
        self.context = llama_cpp.llama_init_from_model(self.model, options)
        self.filled = 0

    def decode(self, position, count):
        batch = llama_cpp.llama_batch_init(count, 0, 1)
        batch.n_tokens = count
        for i in range(count):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.seq_id[i][0], batch.logits[i] = i, position + i, 1, 0, i == count - 1
        clocks = time.process_time(), time.perf_counter()
        code = llama_cpp.llama_decode(self.context, batch)
        times = time.process_time() - clocks[0], time.perf_counter() - clocks[1]
        llama_cpp.llama_batch_free(batch)
        assert code == 0, code
        self.filled = position + count
        return times

    def run(self, position, count):
        memory = llama_cpp.llama_get_memory(self.context)
        if position > self.filled:
            self.decode(self.filled, position - self.filled)
        elif position < self.filled:
            llama_cpp.llama_memory_seq_rm(memory, 0, position, -1)
        return self.decode(position, count)


def main(model, threads):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.gguf" if model.isdigit() else model
        if model.isdigit():
            save(path, int(model))
        model = Model(path, threads)
        print("ready", flush=True)
        for line in sys.stdin:
            print(*model.run(*map(int, line.split())), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
