# SPDX-License-Identifier: MIT
"""com.microsoft operators whose weights are kept in few bits, and steps of decoders, by random attributes and shapes, against onnxruntime: thirty draws of each
in one model, whose C for generic runs under sanitizers."""
import pathlib
import random
import sys

import numpy as np
import onnx
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cases import FIRST, Case, collection, group_test, model_of, node_of, onnxruntime_of  # noqa: E402
from test_opsets import F16, F32, I16, I32, I64, I8, U8, x  # noqa: E402

DRAWS = 30
GROUPS, case = collection()


def small(r, *shape, dtype=F32):
    return x(*shape, dtype=dtype, low=-1, high=1, key=r.randrange(1 << 30))


def whole(r, *shape, dtype=U8, low=0, high=255):
    return x(*shape, dtype=dtype, low=low, high=high, key=r.randrange(1 << 30))


def put(op, *operands, constants=(), outputs=1, expect=None, **attributes):
    case((op, "com.microsoft", 1), op, list(operands), constants=constants, outputs=outputs, expect=expect, **attributes)


def windowed(op, operands, window, steps, **more):
    """What onnxruntime, whose CPU provider has no windows, makes of an operator that has the states of its last steps as a result: of each prefix. steps: the axis
    of each operand that has some. None without a window."""
    def expect(*_):
        operands_3 = [v[-1] if k == 3 and v is not None else v for k, v in enumerate(operands)]
        length, states = operands[0].shape[steps[0]], []
        for count in range(length - window + 1, length + 1):
            part = [v.take(range(max(count, 1)), steps[k]) if k in steps and v is not None else v for k, v in enumerate(operands_3)]
            y, state = onnxruntime_of((op, "com.microsoft", 1), op, part, 2, **more)
            states.append(state if count > 0 else 0 * state)
        return y, np.stack(states)
    return expect if window else None


FP4 = [0, 0.0052083333, 0.66666667, 1, 0.33333333, 0.5, 0.16666667, 0.25]
NF4 = [-1, -0.6961928, -0.52507305, -0.3949175, -0.28444138, -0.18477343, -0.09105004, 0, 0.0795803, 0.1609302, 0.2461123, 0.33791524, 0.44070983, 0.562617, 0.72295684, 1]


def bnb4(r):
    k, n, block, transposed, kind = r.choice([3, 16, 17, 40]), r.choice([1, 4, 7]), r.choice([16, 32, 64]), r.random() < 0.7, r.randint(0, 1)
    lead = r.choice([(), (3,), (2, 1)])

    def plain(a, b, scales):
        levels = np.array([FP4 + [-v for v in FP4], NF4][kind], F32)
        weights = levels[np.stack([b >> 4, b & 15], 1).ravel()[:n * k]] * np.repeat(scales, block)[:n * k]
        return a @ weights.reshape(n, k)
    # of weights that are not transposed onnxruntime 1.31 computes N columns, of the K that the text of the operator says
    put("MatMulBnb4", small(r, *lead, k if transposed else n), whole(r, (n * k + 1) // 2), small(r, -(-n * k // block)), constants=[1, 2] if r.random() < 0.7 else [],
        expect=None if transposed else plain, K=k, N=n, block_size=block, quant_type=kind, transB=int(transposed))


def integer16(r):
    m, k, n = r.choice([1, 3]), r.choice([1, 5, 9]), r.choice([1, 4])
    lead = r.choice([(), (2,)])
    put("MatMulInteger16", whole(r, *lead, m, k, dtype=I16, low=-3000, high=3000), whole(r, *lead, k, n, dtype=I16, low=-3000, high=3000))


def causal(r):
    batch, steps, kernel, dilation = r.choice([1, 2]), r.choice([1, 3, 7]), r.choice([1, 2, 4]), r.choice([1, 1, 2, 3])
    window, last = r.choice([0, 0, 1, 3, 8]), r.randint(0, 1)
    channels = r.choice([(1,), (3,), (2, 3)] if last else [(1,), (5,)])
    count, held = int(np.prod(channels)), (kernel - 1) * dilation
    lead = (window,) if window else ()
    state = (*lead, batch, held, *channels) if last else (*lead, batch, count, held)
    shape = (batch, steps, *channels) if last else (batch, count, steps)
    operands = [small(r, *shape), small(r, count, 1, kernel), small(r, count) if r.random() < 0.6 else None, small(r, *state) if r.random() < 0.6 and held else None]
    more = dict(activation=r.choice(["none", "silu", "swish"]), dilation=dilation, channels_last=last)
    put("CausalConvWithState", *operands, outputs=2, expect=windowed("CausalConvWithState", operands, window, {0: 1 if last else 2}, **more), **more,
        **({"state_window": window} if window else {}))


def rotary(r):
    batch, steps, heads, half, most = r.choice([1, 2]), r.choice([1, 3, 6]), r.choice([1, 2, 3]), r.choice([3, 4, 8, 12]), 12
    t = r.choice([F32, F32, F16])
    part = r.random() < 0.3
    size, layout = 2 * half + (4 if part else 0), r.randint(0, 1)
    high = r.randint(0, half // 3 if layout else half)
    wide = r.randint(0, half // 3 if layout else half - high)
    more = dict(interleaved=r.randint(0, 1), num_heads=heads, mrope_layout=layout, mrope_section=[half - high - wide, high, wide])
    if part:
        more["rotary_embedding_dim"] = 2 * half
    shape = (batch, heads, steps, size) if not part and r.random() < 0.4 else (batch, steps, heads * size)
    put("MRotaryEmbedding", small(r, *shape, dtype=t), whole(r, 3, batch, steps, dtype=I64, low=0, high=most - 1), small(r, most, half, dtype=t), small(r, most, half, dtype=t),
        constants=r.choice([[], [2, 3]]), **more)


def embedding(r):
    batch, steps, width, kinds = r.choice([1, 2, 3]), r.choice([1, 4, 7]), r.choice([4, 8, 12]), r.random() < 0.6
    t = r.choice([U8, I8])
    low, high = (0, 255) if t == U8 else (-128, 127)

    def table(*shape):
        return whole(r, *shape, dtype=t, low=low, high=high)
    mask = (np.arange(steps) < np.array([[r.randint(0, steps)] for _ in range(batch)])).astype(I32) if r.random() < 0.5 else None
    scales = [np.array(r.uniform(0.01, 0.1), F32) for _ in range(5)]
    zeros = [table() for _ in range(5)]
    tables = [table(10, width), table(8, width), table(2, width), table(width), table(width)]
    if not kinds:
        tables[2] = scales[2] = zeros[2] = None
    ids = [whole(r, batch, steps, dtype=I32, low=0, high=9), whole(r, batch, steps, dtype=I32, low=0, high=1) if kinds else None]
    put("QEmbedLayerNormalization", *ids, *tables, mask, *scales, *zeros, constants=[k for k in range(2, 18) if k != 7], outputs=2, epsilon=r.choice([1e-12, 1e-3]))


def experts_by_text(layers, operands, k, normalize, alpha, beta, limit):
    """what the text of MoE says of gates that onnxruntime's CPU provider has not. layers: weights and bias of each"""
    first, second, third = layers

    def expect(*_):
        tokens = operands[0].reshape(-1, operands[0].shape[-1]).astype(np.float64)
        shares = np.exp(operands[1].astype(np.float64))
        shares /= shares.sum(1, keepdims=True)
        y = np.zeros_like(tokens)
        for t, token in enumerate(tokens):
            chosen = np.argsort(-shares[t])[:k]
            for e in chosen:
                g = first[0][e] @ token + first[1][e]
                if third is None:
                    half = len(g) // 2
                    g, linear = g[:half], g[half:]
                else:
                    linear = third[0][e] @ token + third[1][e]
                g, linear = np.minimum(g, limit), np.clip(linear, -limit, limit)
                hidden = g / (1 + np.exp(-alpha * g)) * (linear + beta)
                y[t] += (second[0][e] @ hidden + second[1][e]) * shares[t, e] / (shares[t, chosen].sum() if normalize else 1)
        return y.reshape(operands[0].shape).astype(F32)
    return expect


def mixture(r):
    experts, inputs, inner = r.choice([1, 4, 6]), r.choice([4, 7]), r.choice([3, 8])
    tokens = r.choice([(1, 1), (1, 2), (2, 5), (6,), (1,)])
    kind = r.choice(["relu", "gelu", "silu", "identity", "swiglu", "swiglu", "swiglu"])
    fusion = r.choice([0, 1, 2]) if kind == "swiglu" else 0
    k, normalize, outputs = r.randint(1, min(experts, 3)), r.randint(0, 1), inner * (2 if fusion else 1)
    more = dict(activation_alpha=1.5, activation_beta=1.0, swiglu_fusion=fusion, swiglu_limit=r.choice([0.3, 7.0])) if kind == "swiglu" else {}
    own = kind == "swiglu" and fusion != 1
    layers = [[small(r, experts, outputs, inputs), small(r, experts, outputs)], [small(r, experts, inputs, inner), small(r, experts, inputs)],
              [small(r, experts, inner, inputs), small(r, experts, inner)] if kind == "swiglu" and not fusion else None]
    operands = [small(r, *tokens, inputs), small(r, int(np.prod(tokens)), experts), *layers[0], *layers[1], *(layers[2] or [])]
    if not own and r.random() < 0.4:
        operands[3] = operands[5] = None
    expect = experts_by_text(layers, operands, k, normalize, 1.5, 1.0, more["swiglu_limit"]) if own else None
    put("MoE", *operands, constants=r.choice([[], range(2, 8)]), expect=expect, k=k, normalize_routing_weights=normalize, activation_type=kind, **more)


def quantized_mixture(r):
    experts, inputs, inner, t = r.choice([2, 4, 6]), r.choice([32, 64]), r.choice([32, 64]), r.choice([F32, F32, F16])
    tokens = r.choice([(1, 1), (1, 2), (2, 5), (6,), (1,)])
    kind, block = r.choice(["relu", "gelu", "silu", "identity", "swiglu", "swiglu"]), r.choice([0, 16, 32])
    bits = r.choice([4, 4, 2] if block else [4, 8])       # of 8 bits in blocks onnxruntime rounds what the layers read, too
    k, normalize, outputs = r.randint(1, 2), r.randint(0, 1), inner * (2 if kind == "swiglu" else 1)
    more = dict(activation_alpha=1.5, activation_beta=1.0, swiglu_fusion=1, swiglu_limit=7.0) if kind == "swiglu" else {}
    if block:
        more["block_size"] = block
    zeros = r.random() < 0.5

    def layer(rows, columns):
        scales = (experts, rows, columns // block) if block else (experts, rows)
        packed = (experts, rows, -(-(columns // block) * bits // 8)) if block else (experts, -(-rows * bits // 8))
        return [whole(r, experts, rows, columns * bits // 8), (small(r, *scales) * 0.01).astype(t), small(r, experts, rows, dtype=t) if r.random() < 0.6 else None], \
            whole(r, *packed) if zeros else None
    mix = small(r, int(np.prod(tokens)), experts, dtype=t) + t(1.5) if r.random() < 0.4 else None
    first, zeros_1 = layer(outputs, inputs)
    second, zeros_2 = layer(inputs, inner)
    put("QMoE", small(r, *tokens, inputs, dtype=t), small(r, int(np.prod(tokens)), experts, dtype=t), *first, *second, None, None, None, zeros_1, zeros_2, None, mix, k=k,
        constants=r.choice([[], range(2, 13)]), expert_weight_bits=bits, normalize_routing_weights=normalize, activation_type=kind, **more)


def linear(r):
    batch, steps, groups, depth, width = r.choice([1, 2]), r.choice([1, 2, 5]), r.choice([1, 2]), r.choice([2, 4]), r.choice([2, 3])
    heads, groups = r.choice([(groups, groups), (2 * groups, groups), (groups, 2 * groups)])
    window, rule = r.choice([0, 1, 3, 8]), r.choice(["linear", "gated", "delta", "gated_delta"])
    lead = (window,) if window else ()
    operands = [small(r, batch, steps, heads * depth), small(r, batch, steps, groups * depth), small(r, batch, steps, groups * width),
                small(r, *lead, batch, groups, depth, width) if r.random() < 0.5 else None,
                small(r, batch, steps, groups * r.choice([1, depth])) if "gated" in rule else None, small(r, batch, steps, groups) if "delta" in rule else None]
    more = dict(q_num_heads=heads, kv_num_heads=groups, update_rule=rule)
    put("LinearAttention", *operands, outputs=2, expect=windowed("LinearAttention", operands, window, dict.fromkeys((0, 1, 2, 4, 5), 1), **more), **more,
        **({"state_window": window} if window else {}))


def decoder_step(r):
    """over a cache as large as its sequences become, a cache that grows (which onnxruntime's MultiHeadAttention has), other keys"""
    batch, heads, size, room = r.choice([1, 2, 3]), r.choice([1, 2, 3]), r.choice([1, 4, 8]), r.choice([4, 7])
    op, kind, width = "DecoderMaskedMultiHeadAttention", r.choice(["shared", "shared", "packed", "grows", "others"]), heads * size
    more = {"num_heads": heads, **({"scale": 0.3} if r.random() < 0.3 else {})}
    q, bias = small(r, batch, 1, width), small(r, 3 * width) if kind in ("shared", "grows") and r.random() < 0.5 else None
    k, v = (small(r, batch, heads, room, size), small(r, batch, heads, room, size)) if kind == "others" else (small(r, batch, 1, width), small(r, batch, 1, width))
    past = r.randint(0, room - 1)
    keys = room + 1 if kind == "grows" else room if kind == "others" else past + 1
    mask = scores = None
    if r.random() < 0.4:
        mask = whole(r, batch, keys, dtype=I32, low=0, high=1)
        mask[:, 0] = 1
    if kind != "others" and r.random() < 0.4:
        scores = small(r, r.choice([1, batch]), r.choice([1, heads]), 1, keys)
    caches = [None, None] if kind == "others" else [small(r, batch, heads, room, size), small(r, batch, heads, room, size)]
    if kind == "others":
        put(op, q, k, v, mask, **more)
    elif kind == "grows":
        put(op, q, k, v, mask, scores, *caches, None, None, None, bias, outputs=3,
            expect=lambda *_: tuple(onnxruntime_of((op, "com.microsoft", 1), "MultiHeadAttention", [q, k, v, bias, mask, scores, *caches], 3, **more)), **more)
    else:
        rest = [mask, scores, *caches, np.array([past], I32), None, None, bias]
        more["past_present_share_buffer"] = 1
        # queries, keys and values in one operand are in the operator's text; onnxruntime 1.31 fails on them
        put(op, *([np.concatenate([q, k, v], 2), None, None] if kind == "packed" else [q, k, v]), *rest, outputs=3,
            expect=(lambda *_: tuple(onnxruntime_of((op, "com.microsoft", 1), op, [q, k, v, *rest], 3, **more))) if kind == "packed" else None, **more)


def shared_buffers(op, operands, **more):
    """what onnxruntime makes where results 1 and 2 lie where operands 3 and 4 do"""
    node, given, constants = node_of(Case(op, operands, set(), 3, more, None, ""), "com.microsoft", "n")
    model = model_of([node], given, constants, [onnx.helper.make_empty_tensor_value_info(o) for o in node.output], "com.microsoft", 1)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    binding, values = session.io_binding(), {name: onnxruntime.OrtValue.ortvalue_from_numpy(v.copy()) for name, v in given.items()}
    for name, v in values.items():
        binding.bind_ortvalue_input(name, v)
    binding.bind_output(node.output[0])
    for result, operand in zip(node.output[1:], node.input[3:5]):
        binding.bind_ortvalue_output(result, values[operand])
    session.run_with_iobinding(binding)
    return tuple(np.array(v.numpy()) for v in (binding.get_outputs()[0], values[node.input[3]], values[node.input[4]]))


def sparse(r):
    """a first call, or one that goes on"""
    groups, size, blocks, layouts = r.choice([1, 2]), r.choice([8, 16]), r.choice([2, 3]), r.choice([1, 2])
    heads, t, room = groups * r.choice([2, 4]), r.choice([F32, F32, F16]), 16 * blocks
    first = r.random() < 0.5
    total = r.randint(1, room) if first else r.randint(2, room)
    steps, batch = total if first else 1, r.choice([1, 2])
    seen = [[[c for c in range(row + 1) if c == row or r.random() < 0.6] for row in range(blocks)] for _ in range(layouts)]
    columns = [sum(rows, []) for rows in seen]
    starts = np.array([np.cumsum([0] + [len(row) for row in rows]) for rows in seen], I32)
    most = max(map(len, columns))
    packed, more = r.random() < 0.3, dict(num_heads=heads, kv_num_heads=groups, sparse_block_size=16)
    q = small(r, batch, steps, (heads + (2 * groups if packed else 0)) * size, dtype=t)
    k, v = (None, None) if packed else (small(r, batch, steps, groups * size, dtype=t), small(r, batch, steps, groups * size, dtype=t))
    caches = [None, None]
    if size == 16 and r.random() < 0.6:
        more.update(do_rotary=1, rotary_interleaved=r.randint(0, 1))
        caches = [small(r, room, size // 2, dtype=t), small(r, room, size // 2, dtype=t)]
    if r.random() < 0.3:
        more["scale"] = 0.4
    operands = [q, k, v, small(r, batch, groups, room, size, dtype=t), small(r, batch, groups, room, size, dtype=t), starts,
                np.array([c + [-1] * (most - len(c)) for c in columns], I32), np.array([total], I32), np.full(batch, total, I32), *caches]
    put("SparseAttention", *operands, constants=[5, 6, 7] + [8] * (batch > 1), outputs=3, expect=lambda *_: shared_buffers("SparseAttention", operands, **more), **more)


for number, draw in enumerate((bnb4, integer16, causal, rotary, embedding, mixture, quantized_mixture, linear, decoder_step, sparse)):
    generator = random.Random(number)
    for _ in range(DRAWS):
        draw(generator)


test_group = group_test(GROUPS, 1, FIRST)
