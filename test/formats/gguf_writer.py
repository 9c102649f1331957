# SPDX-License-Identifier: MIT
"""Small language models in GGUF, written by the `gguf` package with random weights, and what they compute, by numpy.

    Model("llama", types="Q4_0").save(path).logits([1, 2, 3])       # one row for each token"""
import gguf
import numpy as np
from gguf.quants import dequantize, quantize

PAIRS = {"llama"}
GEMMAS = {"gemma", "gemma2", "gemma3"}
Type = gguf.GGMLQuantizationType


def random_blocks(rng, kind, rows, columns):
    """blocks of any bits, whose scales keep weights small"""
    numbers, size = gguf.GGML_QUANT_SIZES[kind]
    data = rng.integers(0, 256, (rows, columns // numbers, size), np.uint8)
    fields = {Type.Q4_0: [0], Type.Q5_0: [0], Type.Q8_0: [0], Type.Q4_1: [0, 2], Type.Q5_1: [0, 2], Type.Q4_K: [0, 2], Type.Q5_K: [0, 2], Type.Q6_K: [208]}[kind]
    largest = {Type.Q4_0: 8, Type.Q5_0: 16, Type.Q8_0: 128, Type.Q4_1: 15, Type.Q5_1: 31, Type.Q4_K: 15 * 63, Type.Q5_K: 31 * 63, Type.Q6_K: 32 * 128}[kind]
    for at in fields:
        share = (1 if at in (0, 208) else -0.5 if kind in (Type.Q4_1, Type.Q5_1) else 0.5) * (largest if at in (2,) and kind in (Type.Q4_1, Type.Q5_1) else 1)
        share *= (15 if kind == Type.Q4_K else 31) if at == 2 and kind in (Type.Q4_K, Type.Q5_K) else 1
        scale = (rng.random((rows, columns // numbers, 1)) + 0.5) * share / largest / columns ** 0.5
        data[:, :, at:at + 2] = scale.astype(np.float16).view(np.uint8)
    return data.reshape(rows, -1)


class Model:
    def __init__(self, architecture="llama", types="F32", layers=2, width=256, heads=4, groups=2, size=64, hidden=512, tokens=64, context=256, seed=0,
                 tied=False, table=None, base=10000.0, window=16, freqs=False, biases=None, **more):
        self.architecture, self.layers, self.width, self.heads, self.groups, self.size = architecture, layers, width, heads, groups, size
        self.hidden, self.tokens, self.context, self.base, self.window, self.more = hidden, tokens, context, base, window, more
        self.rng, self.tensors, self.values = np.random.default_rng(seed), {}, {}
        kinds = [Type[name] for name in types.split(",")]
        table = Type[table] if table else kinds[0]
        self.add("token_embd.weight", table, tokens, width)
        if not tied:
            self.add("output.weight", kinds[-1], tokens, width)
        self.norm("output_norm.weight", width)
        if freqs:
            self.vector("rope_freqs.weight", (1 + self.rng.random(size // 2)).astype(np.float32))
        q, k = heads * size, groups * size
        if biases is None:
            biases = architecture == "qwen2"
        for layer in range(layers):
            rows = {"attn_q": (q, width), "attn_k": (k, width), "attn_v": (k, width), "attn_output": (width, q), "ffn_gate": (hidden, width),
                    "ffn_up": (hidden, width), "ffn_down": (width, hidden)}
            for number, (name, (outputs, inner)) in enumerate(rows.items()):
                self.add(f"blk.{layer}.{name}.weight", kinds[(number + layer) % len(kinds)], outputs, inner)
                if biases and name in ("attn_q", "attn_k", "attn_v"):
                    self.vector(f"blk.{layer}.{name}.bias", self.rng.standard_normal(outputs, np.float32) * np.float32(.1))
            names = ["attn_norm", "ffn_norm"] + (["post_attention_norm", "post_ffw_norm"] if architecture in ("gemma2", "gemma3") else [])
            for name in names:
                self.norm(f"blk.{layer}.{name}.weight", width)
            if architecture in ("qwen3", "gemma3"):
                self.norm(f"blk.{layer}.attn_q_norm.weight", size)
                self.norm(f"blk.{layer}.attn_k_norm.weight", size)

    def vector(self, name, array):
        self.tensors[name] = array, None
        self.values[name] = array.astype(np.float64)

    def norm(self, name, extent):
        self.vector(name, (1 + 0.2 * self.rng.standard_normal(extent)).astype(np.float32))

    def add(self, name, kind, rows, columns):
        weights = self.rng.standard_normal((rows, columns), np.float32) * np.float32(columns ** -.5)
        if kind in (Type.F32, Type.F16):
            array = weights.astype(np.float32 if kind == Type.F32 else np.float16)
            self.tensors[name], self.values[name] = (array, None), array.astype(np.float64)
            return
        data = quantize(weights, kind) if kind == Type.BF16 else random_blocks(self.rng, kind, rows, columns)
        self.tensors[name], self.values[name] = (data, kind), dequantize(data, kind).astype(np.float64)

    def save(self, path, vocabulary=None, alignment=None):
        writer = gguf.GGUFWriter(path, self.architecture)
        if alignment:
            writer.add_custom_alignment(alignment)
        writer.add_block_count(self.layers)
        writer.add_context_length(self.context)
        writer.add_embedding_length(self.width)
        writer.add_feed_forward_length(self.hidden)
        writer.add_head_count(self.heads)
        writer.add_head_count_kv(self.groups)
        writer.add_key_length(self.size)
        writer.add_value_length(self.size)
        writer.add_layer_norm_rms_eps(1e-5)
        writer.add_rope_dimension_count(self.size)
        writer.add_rope_freq_base(self.base)
        writer.add_vocab_size(self.tokens)
        if self.architecture in ("gemma2", "gemma3"):
            writer.add_sliding_window(self.window)
        if self.architecture == "gemma2":
            writer.add_attn_logit_softcapping(50.0)
            writer.add_final_logit_softcapping(30.0)
        if "factor" in self.more:
            writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
            writer.add_rope_scaling_factor(self.more["factor"])
        if vocabulary:
            vocabulary(writer)
        else:
            writer.add_tokenizer_model("no_vocab")
        for name, (array, kind) in self.tensors.items():
            writer.add_tensor(name, array, raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return self

    # ---- by numpy, in f64 ----

    def rms(self, x, name):
        w = self.values.get(name)
        return x if w is None else x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w

    def turned(self, x, local):
        """x [heads, positions, size]"""
        half = self.size // 2
        base = 10000.0 if local else self.base
        each = base ** (-2.0 * np.arange(half) / self.size) / (1 if local else self.more.get("factor", 1))
        if "rope_freqs.weight" in self.values and not local:
            each = each / self.values["rope_freqs.weight"]
        angles = np.arange(x.shape[1])[:, None] * each
        c, s = np.cos(angles), np.sin(angles)
        y = np.empty_like(x)
        a, b = (x[..., 0::2], x[..., 1::2]) if self.architecture in PAIRS else (x[..., :half], x[..., half:])
        first, second = a * c - b * s, b * c + a * s
        if self.architecture in PAIRS:
            y[..., 0::2], y[..., 1::2] = first, second
        else:
            y[..., :half], y[..., half:] = first, second
        return y

    def product(self, x, name):
        return x @ self.values[name + ".weight"].T + self.values.get(name + ".bias", 0)

    def attention(self, x, layer):
        n, at = len(x), f"blk.{layer}."
        local = {"gemma2": layer % 2 < 1, "gemma3": layer % 6 < 5}.get(self.architecture, False)

        def heads(name, count):
            return self.product(x, at + name).reshape(n, count, self.size).transpose(1, 0, 2)
        q = self.turned(self.rms(heads("attn_q", self.heads), at + "attn_q_norm.weight"), local)
        k = self.turned(self.rms(heads("attn_k", self.groups), at + "attn_k_norm.weight"), local)
        k, v = (np.repeat(y, self.heads // self.groups, 0) for y in (k, heads("attn_v", self.groups)))
        scores = q @ k.transpose(0, 2, 1) / self.size ** .5
        if self.architecture == "gemma2":
            scores = 50 * np.tanh(scores / 50)
        row, column = np.ogrid[:n, :n]
        hidden = (column > row) | (local & (column <= row - self.window))
        scores = np.where(hidden, -np.inf, scores)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        y = scores / scores.sum(-1, keepdims=True) @ v
        return self.product(y.transpose(1, 0, 2).reshape(n, -1), at + "attn_output")

    def gate(self, x):
        if self.architecture in GEMMAS:
            return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3)))
        return x / (1 + np.exp(-x))

    def logits(self, ids):
        x = self.values["token_embd.weight"][np.asarray(ids)]
        if self.architecture in GEMMAS:
            x = x * float(np.float32(self.width ** .5))
        for layer in range(self.layers):
            at = f"blk.{layer}."
            x = x + self.rms(self.attention(self.rms(x, at + "attn_norm.weight"), layer), at + "post_attention_norm.weight")
            y = self.rms(x, at + "ffn_norm.weight")
            y = self.gate(self.product(y, at + "ffn_gate")) * self.product(y, at + "ffn_up")
            x = x + self.rms(self.product(y, at + "ffn_down"), at + "post_ffw_norm.weight")
        y = self.rms(x, "output_norm.weight") @ self.values["output.weight" if "output.weight" in self.values else "token_embd.weight"].T
        return 30 * np.tanh(y / 30) if self.architecture == "gemma2" else y
