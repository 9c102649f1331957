# SPDX-License-Identifier: MIT
"""Small models for BeamSearch and WhisperBeamSearch of com.microsoft: an encoder, and a decoder with caches of itself and of the encoder."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

HEADS, SIZE = 2, 4
WIDTH = HEADS * SIZE
I32, F32 = TensorProto.INT32, TensorProto.FLOAT


class Body:
    """the nodes and weights of one graph; weights of one name are the same in each graph of a seed"""
    def __init__(self, seed):
        self.seed, self.nodes, self.constants, self.count = seed, [], {}, 0

    def add(self, op, *inputs, to=None, **attributes):
        self.count += 1
        to = to or f"v{self.count}"
        self.nodes.append(helper.make_node(op, list(inputs), [to], **attributes))
        return to

    def constant(self, name, array):
        self.constants[name] = numpy_helper.from_array(array, name)
        return name

    def weight(self, name, *shape):
        r = np.random.default_rng([self.seed, sum(name.encode()), len(name)])
        return self.constant(name, ((0.5 if name == "head" else 1.2) * r.uniform(-1, 1, shape)).astype(np.float32))

    def heads(self, x, weight, to=None):
        y = self.add("MatMul", x, self.weight(weight, WIDTH, WIDTH))
        y = self.add("Reshape", y, self.constant("split", np.array([0, 0, HEADS, SIZE])))
        return self.add("Transpose", y, to=to, perm=[0, 2, 1, 3])

    def attend(self, x, weight, keys, values, bias=None):
        query = self.heads(x, weight)
        scores = self.add("MatMul", query, self.add("Transpose", keys, perm=[0, 1, 3, 2]))
        scores = self.add("Add", scores, bias) if bias else scores
        y = self.add("MatMul", self.add("Softmax", scores, axis=-1), values)
        y = self.add("Reshape", self.add("Transpose", y, perm=[0, 2, 1, 3]), self.constant("join", np.array([0, 0, WIDTH])))
        return self.add("Add", x, y)

    def hidden_keys(self, mask):
        """what is added to scores of keys of the encoder where the mask is 0"""
        away = self.add("Sub", self.constant("one", np.float32(1)), self.add("Cast", mask, to=f"m{self.count}"))
        self.nodes[-2].attribute.append(helper.make_attribute("to", F32))
        return self.add("Unsqueeze", self.add("Mul", away, self.constant("far", np.float32(-1e4))), self.constant("middle", np.array([1, 2])))


def decode(b, words, ids, layers, bias, past, cross):
    """the words' logits; caches present_key_self_0 and so on are made of past ones (None: there are none)"""
    x = b.add("Gather", b.weight("words", words, WIDTH), ids)
    for k in range(layers):
        kept = []
        for which in ("key", "value"):
            made = f"present_{which}_self_{k}"
            new = b.heads(x, f"{which}s{k}", None if past else made)
            kept.append(b.add("Concat", past[2 * k + len(kept)], new, to=made, axis=2) if past else new)
        x = b.attend(x, f"query{k}", *kept)
        x = b.attend(x, f"asked{k}", *cross[2 * k:2 * k + 2], bias)
    b.add("MatMul", x, b.weight("head", WIDTH, words), to="logits")


def cache(name, length):
    return helper.make_tensor_value_info(name, F32, ["batch", HEADS, length, SIZE])


def pair(seed, words, layers, whisper=False, features=6, hidden=True, whole=False, separate=False):
    """an encoder that decodes the first words, and the decoder of the next ones. hidden: the decoder has the encoder's states as input; whole: all words are its input; separate: the encoder decodes no words."""
    named = [f"{which}_{{}}_{k}" for k in range(layers) for which in ("key", "value")]
    b = Body(seed)
    if whisper:
        x = b.add("MatMul", b.add("Transpose", "encoder_input_ids", perm=[0, 2, 1]), b.weight("frames", features, WIDTH))
        ports = [helper.make_tensor_value_info("encoder_input_ids", F32, ["batch", features, "frames"]), helper.make_tensor_value_info("decoder_input_ids", I32, ["batch", "first"])]
        bias = None
    else:
        x = b.add("Gather", b.weight("asked_words", words, WIDTH), "encoder_input_ids")
        ports = [helper.make_tensor_value_info(n, I32, ["batch", k]) for n, k in (("encoder_input_ids", "frames"), ("encoder_attention_mask", "frames"), ("decoder_input_ids", 1))]
        bias = b.hidden_keys("encoder_attention_mask")
    states = b.add("Tanh", x, to="encoder_hidden_states")
    cross = [b.heads(states, f"{which}c{k}", f"present_{which}_cross_{k}") for k in range(layers) for which in ("key", "value")]
    if not separate:
        decode(b, words, "decoder_input_ids", layers, bias, None, cross)
    results = [helper.make_tensor_value_info("logits", F32, ["batch", "first" if whisper else 1, words]), helper.make_tensor_value_info("encoder_hidden_states", F32, ["batch", "frames", WIDTH])]
    results += [cache("present_" + n.format("self"), "first" if whisper else 1) for n in named] + [cache("present_" + n.format("cross"), "frames") for n in named]
    if separate:
        ports, results = ports[:2], results[2 + len(named):]
    encoder = helper.make_graph(b.nodes, "encoder", ports, results, list(b.constants.values()))

    b = Body(seed)
    ports = [helper.make_tensor_value_info("input_ids", I32, ["batch", "steps" if whole else 1])]
    ports += [] if whisper else [helper.make_tensor_value_info("encoder_attention_mask", I32, ["batch", "frames"])]
    ports += [helper.make_tensor_value_info("encoder_hidden_states", F32, ["batch", "frames", WIDTH])] if hidden else []
    past, cross = ["past_" + n.format("self") for n in named], ["past_" + n.format("cross") for n in named]
    ports += [cache(n, "past") for n in past] + [cache(n, "frames") for n in cross]
    ids = b.add("Gather", "input_ids", b.constant("last", np.array([-1])), axis=1) if whole else "input_ids"
    decode(b, words, ids, layers, None if whisper else b.hidden_keys("encoder_attention_mask"), past, cross)
    results = [helper.make_tensor_value_info("logits", F32, ["batch", 1, words])] + [cache("present_" + n.format("self"), "present") for n in named]
    return {"encoder": encoder, "decoder": helper.make_graph(b.nodes, "decoder", ports, results, list(b.constants.values()))}
