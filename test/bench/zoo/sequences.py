# SPDX-License-Identifier: MIT
"""Transformers, a recurrent network and a recommender."""
import math

import numpy as np

from .layers import (add, concat, convolve, dense, gelu, gelu_tanh, layer_norm, layer_norm_17, linear, merge_heads, relu, reshape,
                     split_heads, transpose)


def embedding(g, indices, name, rows, width, std=0.02):
    return g.op("Gather", g.normal(f"{name}.weight", (rows, width), std), indices, name=name, axis=0)


# ---- BERT-base (Devlin et al. 2019), uncased, as exported with opset 13 ----

def bert_attention(g, x, mask, heads):
    """mask: what is added to the scores"""
    q, k, v = (split_heads(g, linear(g, x, n, x.shape[2]), heads) for n in ("query", "key", "value"))
    scores = g.op("MatMul", transpose(g, q, 0, 2, 1, 3), transpose(g, k, 0, 2, 3, 1))
    scores = g.op("Add", g.op("Div", scores, g.scalar(math.sqrt(x.shape[2] // heads))), mask)
    return merge_heads(g, g.op("MatMul", g.op("Softmax", scores, axis=-1), transpose(g, v, 0, 2, 1, 3)))


def bert_mask(g):
    mask = g.op("Unsqueeze", g.op("Unsqueeze", g.inputs["attention_mask"], g.ints(1)), g.ints(2))
    return g.op("Mul", g.op("Sub", g.scalar(1), g.op("Cast", mask, to=1)), g.scalar(-10000))


def bert_base(g, width=768, heads=12, layers=12, epsilon=1e-12):
    with g.scope("embeddings"):
        words = embedding(g, g.inputs["input_ids"], "word", 30522, width)
        types = embedding(g, g.inputs["token_type_ids"], "token_type", 2, width)
        positions = g.constant(np.arange(words.shape[1])[None], "position_ids")
        x = add(g, add(g, words, types), embedding(g, positions, "position", 512, width))
        x = layer_norm(g, x, "norm", epsilon)
    mask = bert_mask(g)
    for layer in range(layers):
        with g.scope(f"layer{layer}"):
            x = layer_norm(g, add(g, linear(g, bert_attention(g, x, mask, heads), "attention", width), x), "norm1", epsilon)
            y = linear(g, gelu(g, linear(g, x, "intermediate", 4 * width)), "output", width)
            x = layer_norm(g, add(g, y, x), "norm2", epsilon)
    first = g.op("Gather", x, g.constant(np.array(0, np.int64), "first"), axis=1)
    g.output(x, "last_hidden_state")
    g.output(g.op("Tanh", dense(g, first, "pooler", width, 0.02)), "pooler_output")


# ---- ViT-S/16 (Dosovitskiy et al. 2021; the small one of timm), as exported with opset 17 ----

def vit_attention(g, x, heads):
    length, width = x.shape[1:]
    qkv = reshape(g, linear(g, x, "qkv", 3 * width), 1, length, 3, heads, width // heads)
    qkv = transpose(g, qkv, 2, 0, 3, 1, 4)
    q, k, v = (g.op("Gather", qkv, g.constant(np.array(i, np.int64), "part"), axis=0) for i in range(3))
    q = g.op("Mul", q, g.scalar((width // heads) ** -0.5))
    scores = g.op("Softmax", g.op("MatMul", q, transpose(g, k, 0, 1, 3, 2)), axis=-1)
    return linear(g, merge_heads(g, g.op("MatMul", scores, v)), "proj", width)


def vit(g, width=384, heads=6, layers=12, patch=16, epsilon=1e-6):
    x = convolve(g, g.inputs["image"], "patch", width, patch, patch, pad=0, bias=True)
    x = transpose(g, reshape(g, x, 1, width, -1), 0, 2, 1)
    x = concat(g, g.normal("cls_token", (1, 1, width), 0.02), x)
    x = add(g, x, g.normal("pos_embed", (1, x.shape[1], width), 0.02))
    for layer in range(layers):
        with g.scope(f"block{layer}"):
            x = add(g, x, vit_attention(g, layer_norm_17(g, x, "norm1", epsilon), heads))
            y = gelu(g, linear(g, layer_norm_17(g, x, "norm2", epsilon), "fc1", 4 * width))
            x = add(g, x, linear(g, y, "fc2", width))
    x = layer_norm_17(g, x, "norm", epsilon)
    x = g.op("Gather", x, g.constant(np.array(0, np.int64), "first"), axis=1)
    g.output(dense(g, x, "head", 1000, 0.05), "logits")


# ---- GPT-2 small (Radford et al. 2019): a prompt, and one token after keys and values kept from before ----

GPT_WIDTH, GPT_HEADS, GPT_LAYERS, GPT_PLACES = 768, 12, 12, 1024


def gpt_linear(g, x, name, out):
    """HuggingFace's Conv1D: rank 2 inside"""
    w, b = g.normal(f"{name}.weight", (x.shape[-1], out), 0.02), g.normal(f"{name}.bias", out, 0.02)
    y = g.op("Gemm", reshape(g, x, -1, x.shape[-1]), w, b, name=name)
    return reshape(g, y, *x.shape[:-1], out)


def causal_mask(g, scores, past):
    """true where a query may look: query i at place past + i"""
    queries, keys = scores.shape[2:]
    mask = np.tril(np.ones((GPT_PLACES, GPT_PLACES), bool))[None, None, past:past + queries, :keys]
    return g.op("Where", g.constant(mask, "causal"), scores, g.scalar(np.finfo(np.float32).min))


def gpt_attention(g, x, cache):
    """cache: keys and values of the places before, or None; returns the result, and the keys and values to keep"""
    parts = g.op("Split", gpt_linear(g, x, "c_attn", 3 * GPT_WIDTH), g.ints(*[GPT_WIDTH] * 3), outputs=3, axis=2)
    q, k, v = (transpose(g, split_heads(g, part, GPT_HEADS), 0, 2, 1, 3) for part in parts)
    if cache:
        k, v = concat(g, cache[0], k, axis=2), concat(g, cache[1], v, axis=2)
    scores = g.op("MatMul", q, transpose(g, k, 0, 1, 3, 2))
    scores = g.op("Div", scores, g.scalar(math.sqrt(GPT_WIDTH // GPT_HEADS)))
    scores = causal_mask(g, scores, k.shape[2] - q.shape[2])
    y = merge_heads(g, g.op("MatMul", g.op("Softmax", scores, axis=-1), v))
    return gpt_linear(g, y, "c_proj", GPT_WIDTH), k, v


def gpt_cache(layer, part):
    return f"past_key_values.{layer}.{part}"


def gpt(g):
    words = g.normal("wte.weight", (50257, GPT_WIDTH), 0.02)
    x = add(g, g.op("Gather", words, g.inputs["input_ids"], name="wte"),
            embedding(g, g.inputs["position_ids"], "wpe", GPT_PLACES, GPT_WIDTH))
    kept = []
    for layer in range(GPT_LAYERS):
        names = [gpt_cache(layer, part) for part in ("key", "value")]
        cache = [g.inputs[n] for n in names] if names[0] in g.inputs else None
        with g.scope(f"h{layer}"):
            y, *kept_here = gpt_attention(g, layer_norm(g, x, "ln_1", 1e-5), cache)
            kept += kept_here
            x = add(g, y, x)
            y = gelu_tanh(g, gpt_linear(g, layer_norm(g, x, "ln_2", 1e-5), "c_fc", 4 * GPT_WIDTH))
            x = add(g, x, gpt_linear(g, y, "mlp", GPT_WIDTH))
    g.output(g.op("MatMul", layer_norm(g, x, "ln_f", 1e-5), transpose(g, words, 1, 0), name="lm_head"), "logits")
    for k, tensor in enumerate(kept):
        g.output(tensor, gpt_cache(k // 2, ("key", "value")[k % 2]).replace("past_key_values", "present"))


# ---- two LSTM layers (Hochreiter, Schmidhuber 1997), as torch.nn.LSTM exports them ----

def lstm(g):
    x, width, states = g.inputs["frames"], 512, []
    for layer in range(2):
        with g.scope(f"layer{layer}"):
            std = 1 / math.sqrt(width)
            w, r = g.normal("W", (1, 4 * width, x.shape[2]), std), g.normal("R", (1, 4 * width, width), std)
            start = g.constant(np.zeros((1, x.shape[1], width), np.float32), "state")
            y, h, c = g.op("LSTM", x, w, r, g.normal("B", (1, 8 * width), 0.05), None, start, start, name="lstm", outputs=3, hidden_size=width)
            x = g.op("Squeeze", y, g.ints(1))
            states.append((h, c))
    g.output(x, "output")
    g.output(concat(g, *(h for h, _ in states), axis=0), "hidden")
    g.output(concat(g, *(c for _, c in states), axis=0), "cell")


# ---- an MLP recommender: DLRM (Naumov et al. 2019) with concatenation, tables hashed to at most 100000 rows ----

TABLES = (1460, 583, 100000, 100000, 305, 24, 12517, 633, 3, 93145, 5683, 100000, 3194, 27, 14992, 100000, 10, 5652, 2173, 4, 100000,
          18, 15, 100000, 105, 100000)      # of the Criteo data set


def mlp(g, x, name, *widths):
    for layer, width in enumerate(widths):
        x = relu(g, dense(g, x, f"{name}{layer}", width))
    return x


def recommender(g):
    parts = [mlp(g, g.inputs["dense"], "bottom", 512, 256, 64, 16)]
    for k, rows in enumerate(TABLES):
        column = g.op("Gather", g.inputs["sparse"], g.constant(np.array(k, np.int64), "column"), axis=1)
        parts.append(embedding(g, column, f"table{k}", rows, 16, 0.5))
    x = mlp(g, concat(g, *parts), "top", 512, 256)
    g.output(g.op("Sigmoid", dense(g, x, "last", 1)), "probability")
