# SPDX-License-Identifier: MIT
"""Bombs: models of under 10 KB that ask for much. BOMBS: name -> a function that makes one.

    bombs.py DIR             writes them all
    bombs.py --measure [NAME ..] [--target=.. ..]   seconds of processor time and megabytes that dnncc takes for each, and what it says"""
import pathlib
import shlex
import sys
import tempfile

import numpy as np
from onnx import TensorProto, helper

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1] / "support")]
import measured  # noqa: E402
from hostile import B, DNNCC, F, I64, constant, model, node, untyped, value  # noqa: E402

BYTES_MOST = 10_000
BOMBS = {}


def bomb(make):
    BOMBS[make.__name__] = make
    return make


def ints(name, *values):
    return constant(name, values, np.int64)


def scalar(name, number, dtype=np.int64):
    return constant(name, number, dtype)


def body(nodes, inputs, outputs, initializers=()):
    return helper.make_graph(nodes, "body", inputs, outputs, initializers)


def function(name, inputs, outputs, nodes):
    return helper.make_function("f", name, inputs, outputs, nodes, [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)])


def call(name, inputs, outputs):
    return helper.make_node(name, inputs, outputs, domain="f")


def functions(levels, leaf, level, shape=(2, 3)):
    """A model that calls f{levels}; f0's nodes are leaf("x", "y"), f{k}'s are level("f{k-1}")."""
    made = [function("f0", ["x"], ["y"], leaf)]
    for k in range(1, levels + 1):
        made.append(function(f"f{k}", ["x"], ["y"], level(f"f{k - 1}")))
    return model([call(f"f{levels}", ["x"], ["y"])], [value("x", shape)], functions=made, opsets=(("", 17), ("f", 1)))


def twice(name):
    return [call(name, ["x"], ["t"]), call(name, ["t"], ["y"])]


def big(shape, name="big"):
    """nodes and an initializer: a tensor of ones that the file does not hold"""
    return [node("ConstantOfShape", ["shape_" + name], [name], value=helper.make_tensor("", F, [1], [1.0]))], [ints("shape_" + name, *shape)]


# ---- sequences ----


@bomb
def split_into_rows():
    return model([node("Expand", ["x", "s"], ["rows"]), node("SplitToSequence", ["rows"], ["seq"]), node("ConcatFromSequence", ["seq"], ["y"], axis=0)],
                 [value("x", (1, 1))], initializers=[ints("s", 900_000, 1)])


@bomb
def split_into_as_many_rows_as_there_may_be():
    return model([node("Expand", ["x", "s"], ["rows"]), node("SplitToSequence", ["rows"], ["seq"]), node("ConcatFromSequence", ["seq"], ["y"], axis=0)],
                 [value("x", (1, 1))], initializers=[ints("s", 98_000, 1)])


@bomb
def split_into_scalars():
    return model([node("Expand", ["x", "s"], ["rows"]), node("SplitToSequence", ["rows"], ["seq"], keepdims=0), node("SequenceLength", ["seq"], ["y"])],
                 [value("x", (1,))], initializers=[ints("s", 1_900_000)])


@bomb
def map_over_rows():
    each = body([node("Relu", ["i"], ["a"]), node("Exp", ["a"], ["o"])], [value("i", (1, 1))], [value("o", (1, 1))])
    return model([node("Expand", ["x", "s"], ["rows"]), node("SplitToSequence", ["rows"], ["seq"]), node("SequenceMap", ["seq"], ["out"], body=each),
                  node("ConcatFromSequence", ["out"], ["y"], axis=0)], [value("x", (1, 1))], initializers=[ints("s", 4_500, 1)])


@bomb
def insert_in_front():
    loop = body([node("SequenceInsert", ["held", "x", "zero"], ["next"])],
                [value("i", (), I64), value("go", (), B), helper.make_tensor_sequence_value_info("held", F, None)],
                [value("go", (), B), helper.make_tensor_sequence_value_info("next", F, None)])
    return model([node("SequenceEmpty", [], ["none"]), node("Loop", ["n", "", "none"], ["seq"], body=loop), node("ConcatFromSequence", ["seq"], ["y"], axis=0)],
                 initializers=[scalar("n", 1_700), scalar("zero", 0)])


@bomb
def insert_behind():
    loop = body([node("Relu", ["x"], ["r"]), node("SequenceInsert", ["held", "r"], ["next"])],
                [value("i", (), I64), value("go", (), B), helper.make_tensor_sequence_value_info("held", F, None)],
                [value("go", (), B), helper.make_tensor_sequence_value_info("next", F, None)])
    return model([node("SequenceEmpty", [], ["none"]), node("Loop", ["n", "", "none"], ["seq"], body=loop), node("ConcatFromSequence", ["seq"], ["y"], axis=0)],
                 initializers=[scalar("n", 16_000)])


@bomb
def loops_of_sequences():
    def looped(inner, inputs, outputs):
        return body(inner, inputs, outputs)

    sequence = helper.make_tensor_sequence_value_info
    innermost = looped([node("SequenceInsert", ["b", "x"], ["b2"])], [value("i", (), I64), value("g", (), B), sequence("b", F, None)], [value("g", (), B), sequence("b2", F, None)])
    outer = looped([node("Loop", ["n", "", "a"], ["a2"], body=innermost)], [value("j", (), I64), value("h", (), B), sequence("a", F, None)], [value("h", (), B), sequence("a2", F, None)])
    return model([node("SequenceEmpty", [], ["none"]), node("Loop", ["n", "", "none"], ["seq"], body=outer), node("SequenceLength", ["seq"], ["y"])],
                 initializers=[scalar("n", 70)])


@bomb
def split_in_listed_parts():
    leaf = [node("Constant", [], ["s"], value_ints=[1] * 800), node("SplitToSequence", ["x", "s"], ["q"], axis=0), node("ConcatFromSequence", ["q"], ["y"], axis=0)]
    return functions(9, leaf, twice, (800, 1))


@bomb
def take_each_row():
    """SequenceAt of a position that a run knows: a row of all"""
    return model([node("Expand", ["x", "s"], ["rows"]), node("SplitToSequence", ["rows"], ["seq"]), node("SequenceAt", ["seq", "k"], ["y"])],
                 [value("x", (1, 1)), value("k", (), I64)], initializers=[ints("s", 49_000, 1)])


# ---- functions ----


@bomb
def doubled_function():
    return functions(14, [node("Relu", ["x"], ["y"])], twice)


@bomb
def doubled_function_of_distinct_nodes():
    return functions(13, [node("Mul", ["x", "x"], ["a"]), node("Tanh", ["a"], ["b"]), node("ReduceSum", ["b"], ["c"]), node("Add", ["c", "x"], ["y"])], twice)


@bomb
def tenfold_functions():
    def tenfold(name):
        return [call(name, [f"t{k}" if k else "x"], [f"t{k + 1}" if k < 9 else "y"]) for k in range(10)]
    return functions(4, [node("Softmax", ["x"], ["y"])], tenfold)


@bomb
def doubled_branches():
    """a tree of Ifs whose conditions only a run knows"""
    def branch(name):
        def one(side):
            return body([call(name, ["x"], [side])], [], [untyped(side)])
        return [node("ReduceMax", ["x"], ["m"], keepdims=0), node("Cast", ["m"], ["c"], to=B), node("If", ["c"], ["y"], then_branch=one("a"), else_branch=one("b"))]
    return functions(14, [node("Exp", ["x"], ["y"])], branch)


@bomb
def doubled_constants():
    """folding of shapes, over and over"""
    return functions(14, [node("Constant", [], ["k"], value_ints=[0, 1]), node("Shape", ["x"], ["s"]), node("Gather", ["s", "k"], ["g"]), node("Reshape", ["x", "g"], ["y"])], twice)


@bomb
def doubled_products():
    leaf = [node("Constant", [], ["w"], value_float=1.0), node("Constant", [], ["s"], value_ints=[64, 64]), node("Expand", ["w", "s"], ["m"]), node("MatMul", ["x", "m"], ["y"])]
    return functions(14, leaf, twice, (64, 64))


@bomb
def doubled_recurrence():
    leaf = [node("Constant", [], ["one"], value_ints=[1]), node("Constant", [], ["w"], value_float=1.0), node("Constant", [], ["s"], value_ints=[1, 16, 4]),
            node("Expand", ["w", "s"], ["W"]), node("LSTM", ["x", "W", "W"], ["q"], hidden_size=4), node("Squeeze", ["q", "one"], ["y"])]
    return functions(10, leaf, twice, (4, 1, 4))


@bomb
def doubled_sorts():
    return functions(14, [node("Constant", [], ["k"], value_ints=[3]), node("TopK", ["x", "k"], ["y", "i"])], twice)


@bomb
def doubled_attention_like():
    leaf = [node("Transpose", ["x"], ["t"], perm=[1, 0]), node("MatMul", ["x", "t"], ["s"]), node("Softmax", ["s"], ["p"]), node("MatMul", ["p", "x"], ["y"])]
    return functions(13, leaf, twice, (16, 16))


# ---- chains and graphs of one file ----


@bomb
def sums_of_itself():
    """x = x + x, 250 times: a tree of 2^250 sums if nothing is shared"""
    return model([node("Add", [f"t{k}" if k else "x"] * 2, [f"t{k + 1}" if k < 249 else "y"]) for k in range(250)])


@bomb
def indices_of_indices():
    """x = x[x]: index expressions that double"""
    chain = [node("Gather", [f"t{k}" if k else "x"] * 2, [f"t{k + 1}" if k < 99 else "y"]) for k in range(100)]
    return model(chain, [value("x", (8,), I64)])


@bomb
def chosen_from_itself():
    chain = []
    for k in range(80):
        x, y = f"t{k}" if k else "x", f"t{k + 1}" if k < 79 else "y"
        chain += [node("Greater", [x, "z"], [f"c{k}"]), node("Where", [f"c{k}", x, x], [y])]
    return model(chain, initializers=[scalar("z", 0, np.float32)])


@bomb
def concats_of_itself():
    chain = [node("Concat", [f"t{k}" if k else "x"] * 2, [f"t{k + 1}" if k < 27 else "y"], axis=0) for k in range(28)]
    return model(chain)


@bomb
def concats_of_many():
    return functions(8, [node("Constant", [], ["a"], value_ints=[1]), node("Concat", ["x"] * 900, ["t"], axis=1), node("ReduceSum", ["t", "a"], ["y"])], twice)


@bomb
def sums_of_many():
    return functions(5, [node("Sum", ["x"] * 900, ["y"])], twice)


@bomb
def maxima_of_many():
    return model([node("Max", ["x"] * 900, ["a"]), node("Max", ["a"] * 900, ["b"]), node("Min", ["b"] * 900, ["y"])])


@bomb
def transposed_again_and_again():
    return functions(14, [node("Constant", [], ["s"], value_ints=[2, 3]), node("Transpose", ["x"], ["t"], perm=[1, 0]), node("Reshape", ["t", "s"], ["y"])], twice)


@bomb
def slices_of_slices():
    leaf = [node("Constant", [], ["a"], value_ints=[1]), node("Constant", [], ["b"], value_ints=[-1]), node("Slice", ["x", "a", "b"], ["t"]), node("Concat", ["t", "x"], ["u"], axis=0),
            node("Constant", [], ["c"], value_ints=[0]), node("Constant", [], ["d"], value_ints=[8]), node("Slice", ["u", "c", "d"], ["y"])]
    return functions(14, leaf, twice, (8, 8))


# ---- large constants that the file does not hold ----


@bomb
def range_of_a_billion():
    return model([node("Range", ["a", "b", "c"], ["r"]), node("ReduceSum", ["r"], ["s"]), node("Add", ["s", "x"], ["y"])], [value("x", (1,), I64)],
                 initializers=[scalar("a", 0), scalar("b", 400_000_000), scalar("c", 1)])


@bomb
def ones_multiplied():
    nodes, tensors = big((8192, 8192))
    chain = [node("MatMul", ["big", "big"], ["t0"])] + [node("MatMul", [f"t{k}", "big"], [f"t{k + 1}" if k < 19 else "last"]) for k in range(20)]
    return model(nodes + chain + [node("MatMul", ["x", "last"], ["y"])], [value("x", (1, 8192))], initializers=tensors)


@bomb
def ones_convolved():
    nodes, tensors = big((64, 64, 101, 101))
    return model(nodes + [node("Conv", ["x", "big"], ["y"], pads=[50] * 4)], [value("x", (1, 64, 128, 128))], initializers=tensors)


@bomb
def ones_of_winograd():
    nodes, tensors = big((2048, 2048, 3, 3))
    return model(nodes + [node("Conv", ["x", "big"], ["y"], pads=[1] * 4)], [value("x", (1, 2048, 16, 16))], initializers=tensors)


@bomb
def ones_added():
    """results of 4 KB each, folded"""
    leaf = [node("Constant", [], ["s"], value_ints=[63, 63]), node("ConstantOfShape", ["s"], ["c"]), node("Constant", [], ["n"], value_ints=[0, 1]),
            node("CumSum", ["c", "zero"], ["d"]), node("Constant", [], ["zero"], value_int=0), node("Add", ["x", "d"], ["y"])]
    return functions(13, [leaf[0], leaf[1], leaf[4], leaf[3], leaf[5]], twice, (63, 63))


@bomb
def cumulative_sums():
    nodes, tensors = big((1 << 26,))
    return model(nodes + [node("CumSum", ["big", "axis"], ["t"]), node("Mul", ["t", "x"], ["y"])], [value("x", (1,))], initializers=[*tensors, scalar("axis", 0)])


@bomb
def tiled_without_end():
    chain = [node("Tile", [f"t{k}" if k else "x", "r"], [f"t{k + 1}" if k < 5 else "y"]) for k in range(6)]
    return model(chain, [value("x", (1, 1))], initializers=[ints("r", 30, 30)])


@bomb
def one_hot_of_millions():
    return model([node("Expand", ["one", "s"], ["w"]), node("OneHot", ["i", "depth", "v"], ["t"]), node("MatMul", ["t", "w"], ["y"])], [value("i", (1,), I64)],
                 initializers=[scalar("depth", 100_000_000), constant("v", [0, 1]), constant("one", [1.0]), ints("s", 100_000_000, 1)])


@bomb
def one_hot_of_constants():
    return model([node("Range", ["a", "b", "c"], ["r"]), node("OneHot", ["r", "depth", "v"], ["t"]), node("MatMul", ["x", "t"], ["y"])], [value("x", (1, 30_000))],
                 initializers=[scalar("a", 0), scalar("b", 30_000), scalar("c", 1), scalar("depth", 30_000), constant("v", [0, 1])])


@bomb
def eye_of_twenty_thousand():
    nodes, tensors = big((20_000, 20_000))
    return model(nodes + [node("EyeLike", ["big"], ["e"]), node("Trilu", ["e"], ["u"], upper=0), node("MatMul", ["x", "u"], ["y"])], [value("x", (1, 20_000))], initializers=tensors)


@bomb
def sorted_range():
    return model([node("Range", ["a", "b", "c"], ["r"]), node("TopK", ["r", "k"], ["t", "i"], largest=1), node("Add", ["t", "x"], ["y"])], [value("x", (1,), I64)],
                 initializers=[scalar("a", 0), scalar("b", 60_000_000), scalar("c", 1), ints("k", 60_000_000)])


@bomb
def found_in_a_range():
    return model([node("Range", ["a", "b", "c"], ["r"]), node("NonZero", ["r"], ["t"]), node("Add", ["t", "x"], ["y"])], [value("x", (1,), I64)],
                 initializers=[scalar("a", 0), scalar("b", 100_000_000), scalar("c", 1)])


@bomb
def scattered_range():
    nodes, tensors = big((1 << 24,))
    return model(nodes + [node("Range", ["a", "b", "c"], ["r"]), node("ScatterElements", ["big", "r", "big"], ["t"]), node("Mul", ["t", "x"], ["y"])], [value("x", (1,))],
                 initializers=[*tensors, scalar("a", 0), scalar("b", 1 << 24), scalar("c", 1)])


@bomb
def gathered_range():
    nodes, tensors = big((1 << 26,))
    return model(nodes + [node("Range", ["a", "b", "c"], ["r"]), node("Gather", ["big", "r"], ["t"]), node("Mul", ["t", "x"], ["y"])], [value("x", (1,))],
                 initializers=[*tensors, scalar("a", 0), scalar("b", 1 << 26), scalar("c", 1)])


@bomb
def quantized_ones():
    nodes, tensors = big((20_000, 20_000))
    return model(nodes + [node("QuantizeLinear", ["big", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["w"]), node("MatMul", ["x", "w"], ["y"])],
                 [value("x", (1, 20_000))], initializers=[*tensors, scalar("s", 0.5, np.float32), scalar("z", 3, np.uint8)])


@bomb
def padded_constant():
    return model([node("Pad", ["c", "p"], ["t"]), node("Mul", ["t", "x"], ["y"])], [value("x", (1,))], initializers=[constant("c", [1, 2, 3]), ints("p", 500_000_000, 400_000_000)])


@bomb
def transposed_constant():
    nodes, tensors = big((16_000, 16_000))
    return model(nodes + [node("CumSum", ["big", "axis"], ["c"]), node("Transpose", ["c"], ["w"]), node("MatMul", ["x", "w"], ["y"])], [value("x", (1, 16_000))],
                 initializers=[*tensors, scalar("axis", 0)])


# ---- operators with large attributes ----


@bomb
def einsum_of_everything():
    terms = [chr(ord("a") + k) + chr(ord("a") + k + 1) for k in range(25)]
    return model([node("Einsum", ["x"] * 25, ["y"], equation=",".join(terms) + "->az")], [value("x", (40, 40))])


@bomb
def einsum_of_a_thousand():
    return model([node("Einsum", ["x"] * 1200, ["y"], equation=",".join(["ij"] * 1200) + "->ij")], [value("x", (4, 4))])


@bomb
def einsums():
    return functions(13, [node("Einsum", ["x", "x", "x"], ["y"], equation="ab,bc,cd->ad")], twice, (4, 4))


@bomb
def wide_pool():
    return model([node("MaxPool", ["x"], ["y"], kernel_shape=[20_000, 20_000], pads=[19_999] * 4)], [value("x", (1, 1, 64, 64))])


@bomb
def average_of_everything():
    return model([node("AveragePool", ["x"], ["y"], kernel_shape=[4001, 4001], pads=[2000] * 4, count_include_pad=0)], [value("x", (1, 1, 4096, 4096))])


@bomb
def antialiased_resize():
    return model([node("Resize", ["x", "", "", "s"], ["y"], mode="cubic", antialias=1)], [value("x", (1, 1, 2, 400_000_000))], initializers=[ints("s", 1, 1, 2, 20_000)], opsets=(("", 18),))


@bomb
def enlarged():
    return model([node("Resize", ["x", "", "s"], ["y"], mode="cubic")], [value("x", (1, 1, 2, 2))], initializers=[constant("s", [1, 1, 9000, 9000])])


@bomb
def fourier_of_a_million():
    return model([node("DFT", ["x", "n"], ["y"])], [value("x", (1, 10, 2))], initializers=[scalar("n", 3_000_017)])


@bomb
def fourier_of_a_window():
    return model([node("HannWindow", ["n"], ["w"]), node("STFT", ["x", "step", "w"], ["y"])], [value("x", (1, 40_000, 1))], initializers=[scalar("n", 30_000), scalar("step", 7)])


@bomb
def window_of_a_billion():
    return model([node("BlackmanWindow", ["n"], ["w"]), node("Mul", ["w", "x"], ["y"])], [value("x", (1,))], initializers=[scalar("n", 900_000_000)])


@bomb
def mel_weights():
    return model([node("MelWeightMatrix", ["bins", "n", "rate", "low", "high"], ["w"]), node("MatMul", ["x", "w"], ["y"])], [value("x", (1, 32_769))],
                 initializers=[scalar("bins", 20_000), scalar("n", 65_536), scalar("rate", 44_100), scalar("low", 0, np.float32), scalar("high", 22_000, np.float32)])


@bomb
def long_recurrence():
    nodes, tensors = big((1, 1024, 256), "w")
    return model(nodes + [node("LSTM", ["x", "w", "w"], ["y"], hidden_size=256, direction="forward")], [value("x", (1_000_000, 1, 256))], initializers=tensors)


@bomb
def scan_of_a_billion():
    step = body([node("Add", ["s", "r"], ["t"]), node("Relu", ["t"], ["o"])], [value("s", (1,)), value("r", (1,))], [value("t", (1,)), value("o", (1,))])
    return model([node("Scan", ["z", "x"], ["last", "y"], num_scan_inputs=1, body=step)], [value("x", (500_000_000, 1))], initializers=[constant("z", [0.0])])


@bomb
def loop_of_a_trillion():
    step = body([node("Add", ["s", "x"], ["t"])], [value("i", (), I64), value("g", (), B), value("s")], [value("g", (), B), value("t")])
    return model([node("Loop", ["n", "", "x"], ["y"], body=step)], initializers=[scalar("n", 10 ** 12)])


@bomb
def loop_of_constants():
    """a loop that folding could run"""
    step = body([node("MatMul", ["s", "s"], ["t"])], [value("i", (), I64), value("g", (), B), value("s", (64, 64))], [value("g", (), B), value("t", (64, 64))])
    nodes, tensors = big((64, 64))
    return model(nodes + [node("Loop", ["n", "", "big"], ["l"], body=step), node("Add", ["l", "x"], ["y"])], [value("x", (64, 64))], initializers=[*tensors, scalar("n", 10 ** 9)])


@bomb
def loops_in_loops():
    def nest(depth):
        inputs = [value(f"i{depth}", (), I64), value(f"g{depth}", (), B), value(f"s{depth}")]
        inner = [node("Relu", [f"s{depth}"], [f"t{depth}"])] if not depth else \
            [node("Loop", ["n", "", f"s{depth}"], [f"t{depth}"], body=nest(depth - 1))]
        return body(inner, inputs, [value(f"g{depth}", (), B), value(f"t{depth}")])
    return model([node("Loop", ["n", "", "x"], ["y"], body=nest(20))], initializers=[scalar("n", 1000)])


@bomb
def nested_branches():
    def nest(depth):
        name = f"b{depth}"
        if not depth:
            return body([node("Relu", ["x"], [name])], [], [untyped(name)])
        return body([node("If", ["c"], [name], then_branch=nest(depth - 1), else_branch=body([node("Exp", ["x"], [name + "e"])], [], [untyped(name + "e")]))], [], [untyped(name)])
    return model([node("If", ["c"], ["y"], then_branch=nest(28), else_branch=nest(0))], [value("x"), value("c", (), B)])


@bomb
def split_and_joined():
    names = [f"p{k}" for k in range(800)]
    return model([node("Split", ["x"], names, axis=0), node("Concat", names[::-1], ["y"], axis=0)], [value("x", (800, 1))], opsets=(("", 11),))


@bomb
def split_again_and_again():
    names = [f"p{k}" for k in range(400)]
    leaf = [node("Split", ["x"], names, axis=0), node("Concat", names[::-1], ["y"], axis=0)]
    made = [helper.make_function("f", "f0", ["x"], ["y"], leaf, [helper.make_opsetid("", 11)])] + [function(f"f{k}", ["x"], ["y"], twice(f"f{k - 1}")) for k in range(1, 8)]
    return model([call("f7", ["x"], ["y"])], [value("x", (400, 1))], functions=made, opsets=(("", 11), ("f", 1)))


@bomb
def grams_of_everything():
    return model([node("TfIdfVectorizer", ["x"], ["y"], mode="TF", min_gram_length=60, max_gram_length=60, max_skip_count=1600, ngram_counts=[0] * 60, ngram_indexes=list(range(30)),
                       pool_int64s=list(range(1800)))], [value("x", (1, 100_000), I64)])


@bomb
def boxes_of_a_million():
    return model([node("NonMaxSuppression", ["b", "s", "k"], ["y"])], [value("b", (1, 1_000_000, 4)), value("s", (1, 80, 1_000_000))], [value("y", (10, 3), I64)],
                 initializers=[scalar("k", 1_000_000)])


@bomb
def regions_sampled_without_end():
    return model([node("RoiAlign", ["x", "r", "b"], ["y"], output_height=7, output_width=7, sampling_ratio=2000)], [value("x", (1, 1, 16, 16)), value("r", (1, 4)), value("b", (1,), I64)])


@bomb
def deformed():
    return model([node("DeformConv", ["x", "w", "o"], ["y"], kernel_shape=[31, 31], pads=[15] * 4), ], [value("x", (1, 64, 64, 64)), value("w", (64, 64, 31, 31)), value("o", (1, 1922, 64, 64))],
                 opsets=(("", 19),))


@bomb
def power_of_two_billion():
    return model([node("Pow", ["x", "n"], ["y"])], [value("x", (2, 3), TensorProto.INT32)], initializers=[scalar("n", 2 ** 31 - 1, np.int32)])


@bomb
def blocks_of_depth():
    return model([node("Expand", ["x", "s"], ["t"]), node("DepthToSpace", ["t"], ["y"], blocksize=16_384)], [value("x", (1, 1, 1, 1))], initializers=[ints("s", 1, 1 << 28, 1, 1)])


@bomb
def determinants():
    return model([node("Det", ["x"], ["y"])], [value("x", (4, 2000, 2000))])


@bomb
def weights_of_four_bits():
    """constants of a product in blocks, made by ConstantOfShape"""
    zero = helper.make_tensor("", TensorProto.UINT8, [1], [7])
    return model([node("ConstantOfShape", ["s"], ["b"], value=zero), node("ConstantOfShape", ["t"], ["scales"], value=helper.make_tensor("", F, [1], [1.0])),
                  helper.make_node("MatMulNBits", ["x", "b", "scales"], ["y"], domain="com.microsoft", K=16_384, N=16_384, bits=4, block_size=32)],
                 [value("x", (1, 16_384))], initializers=[ints("s", 16_384, 512, 16), ints("t", 16_384 * 512)], opsets=(("", 17), ("com.microsoft", 1)))


@bomb
def constant_of_few_bytes():
    """sparse: one number of a billion"""
    values = helper.make_tensor("c", F, [1], [1.0])
    sparse = helper.make_sparse_tensor(values, helper.make_tensor("i", I64, [1], [5]), [900_000_000])
    return model([node("Constant", [], ["c"], sparse_value=sparse), node("Mul", ["c", "x"], ["y"])], [value("x", (1,))])


@bomb
def expanded_along_sixteen():
    return model([node("Expand", ["x", "s"], ["t"]), node("Exp", ["t"], ["u"]), node("ReduceSum", ["u"], ["y"])], [value("x", (1,))], initializers=[ints("s", *[3] * 16)])


@bomb
def random_numbers():
    return model([node("RandomNormal", [], ["r"], shape=[30_000, 30_000]), node("ReduceMean", ["r"], ["m"]), node("Add", ["m", "x"], ["y"])], [value("x", (1,))])


@bomb
def normalized_again_and_again():
    leaf = [node("Constant", [], ["s"], value_floats=[1.0] * 8), node("LayerNormalization", ["x", "s"], ["y"])]
    return functions(13, leaf, twice, (8, 8))


@bomb
def chains_of_decisions():
    """a decision tree that is a chain, called 256 times"""
    count = 120
    leaf = [helper.make_node("TreeEnsembleRegressor", ["x"], ["t"], domain="ai.onnx.ml", n_targets=3, nodes_treeids=[0] * (2 * count + 1), nodes_nodeids=list(range(2 * count + 1)),
                             nodes_featureids=[0] * (2 * count + 1), nodes_modes=["BRANCH_LEQ"] * count + ["LEAF"] * (count + 1), nodes_values=[1.0] * (2 * count + 1),
                             nodes_truenodeids=[k + 1 if k + 1 < count else 2 * count for k in range(count)] + [0] * (count + 1),
                             nodes_falsenodeids=[count + k for k in range(count)] + [0] * (count + 1),
                             target_treeids=[0], target_nodeids=[count], target_ids=[0], target_weights=[1.0]), node("Add", ["t", "x"], ["y"])]
    made = [helper.make_function("f", "f0", ["x"], ["y"], leaf, [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)])]
    for k in range(1, 9):
        made.append(function(f"f{k}", ["x"], ["y"], twice(f"f{k - 1}")))
    return model([call("f8", ["x"], ["y"])], [value("x", (2, 3))], functions=made, opsets=(("", 17), ("f", 1), ("ai.onnx.ml", 3)))


# ---- what a function's body holds, for each of its calls ----


@bomb
def calls_with_long_lists():
    return functions(14, [node("Constant", [], ["c"], value_ints=list(range(3000))), node("Cast", ["c"], ["f"], to=F), node("Add", ["x", "f"], ["y"])], twice, (3000,))


@bomb
def calls_with_tensors():
    return functions(14, [node("Constant", [], ["c"], value=constant("", np.arange(2000))), node("Add", ["x", "c"], ["y"])], twice, (2000,))


@bomb
def calls_with_many_operands():
    return functions(14, [node("Constant", [], ["a"], value_ints=[0, 0]), node("Constant", [], ["b"], value_ints=[2, 3]), node("Concat", ["x"] * 2500, ["t"], axis=1),
                          node("Slice", ["t", "a", "b"], ["y"])], twice)


@bomb
def calls_with_folded_ranges():
    """f(x, a, b): results of 16 KB that are constants"""
    made = [function("f0", ["x", "a", "b", "o"], ["y"], [node("Range", ["a", "b", "o"], ["r"]), node("Add", ["x", "r"], ["y"])])]
    for k in range(1, 15):
        made.append(function(f"f{k}", ["x", "a", "b", "o"], ["y"], [call(f"f{k - 1}", ["x", "a", "b", "o"], ["t"]), call(f"f{k - 1}", ["t", "a", "b", "o"], ["y"])]))
    return model([call("f14", ["x", "a", "b", "o"], ["y"])], [value("x", (2048,), I64)], functions=made, opsets=(("", 17), ("f", 1)),
                 initializers=[scalar("a", 0), scalar("b", 2048), scalar("o", 1)])


@bomb
def calls_with_folded_chains():
    made = [function("f0", ["r", "o"], ["y"], [node("Add", ["r", "o"], ["y"])])]
    for k in range(1, 15):
        made.append(function(f"f{k}", ["r", "o"], ["y"], [call(f"f{k - 1}", ["r", "o"], ["t"]), call(f"f{k - 1}", ["t", "o"], ["y"])]))
    return model([node("Range", ["a", "b", "o"], ["r"]), call("f14", ["r", "o"], ["s"]), node("Add", ["x", "s"], ["y"])], [value("x", (2048,), I64)], functions=made,
                 opsets=(("", 17), ("f", 1)), initializers=[scalar("a", 0), scalar("b", 2048), scalar("o", 1)])


@bomb
def calls_with_long_names():
    return functions(14, [node("Relu", ["x"], ["z" * 3000], name="n" * 2000), node("Exp", ["z" * 3000], ["y"])], twice)


@bomb
def calls_of_loops():
    loop = body([node("Add", ["s", "s"], ["t"])], [value("i", (), I64), value("g", (), B), value("s")], [value("g", (), B), value("t")])
    return functions(14, [node("Constant", [], ["n"], value_int=1000), node("Loop", ["n", "", "x"], ["y"], body=loop)], twice)


@bomb
def calls_of_convolutions():
    leaf = [node("Constant", [], ["w"], value=constant("", np.ones((4, 4, 3, 3)))), node("Conv", ["x", "w"], ["y"], pads=[1] * 4)]
    return functions(14, leaf, twice, (1, 4, 8, 8))


@bomb
def calls_of_pools():
    return functions(14, [node("MaxPool", ["x"], ["y"], kernel_shape=[3, 3], pads=[1] * 4)], twice, (1, 4, 8, 8))


@bomb
def calls_of_concats():
    """parts of memory: what detach looks at"""
    leaf = [node("Relu", ["x"], ["a"]), node("Exp", ["x"], ["b"]), node("Concat", ["a", "b"], ["c"], axis=1), node("MaxPool", ["c"], ["d"], kernel_shape=[3, 3], pads=[1] * 4),
            node("Split", ["d"], ["e", "g"], axis=1), node("Add", ["e", "g"], ["y"])]
    made = [helper.make_function("f", "f0", ["x"], ["y"], leaf, [helper.make_opsetid("", 11)])]
    for k in range(1, 13):
        made.append(function(f"f{k}", ["x"], ["y"], twice(f"f{k - 1}")))
    return model([call("f12", ["x"], ["y"])], [value("x", (1, 4, 8, 8))], functions=made, opsets=(("", 11), ("f", 1)))


@bomb
def wide_tree():
    """all results are wanted at the end: nothing can be freed"""
    made = [function("f0", ["x"], ["y"], [node("Sin", ["x"], ["y"])])]
    for k in range(1, 15):
        made.append(function(f"f{k}", ["x"], ["y"], [node("Exp", ["x"], ["u"]), node("MaxPool", ["x"], ["v"], kernel_shape=[3, 3], pads=[1] * 4), call(f"f{k - 1}", ["u"], ["a"]), call(f"f{k - 1}", ["v"], ["b"]), node("Add", ["a", "b"], ["y"])]))
    return model([call("f14", ["x"], ["y"])], [value("x", (1, 1, 8, 8))], functions=made, opsets=(("", 17), ("f", 1)))


# ---- what they take ----


def measure(names, flags, seconds=60):
    for name in names or BOMBS:
        with tempfile.TemporaryDirectory() as folder:
            done = compile_bomb(name, pathlib.Path(folder), flags, seconds)
        print(f"{name:42} {done.size:6} B {done.seconds:7.2f} s {done.megabytes:6.0f} MB, exit {done.code} {done.text.strip().splitlines()[-1][:150] if done.text else ''}", flush=True)


class Done:
    """seconds: of processor time"""

    def __init__(self, code, text, seconds, megabytes, size):
        self.code, self.text, self.seconds, self.megabytes, self.size = code, text, seconds, megabytes, size

    def __repr__(self):
        return f"exit {self.code}, {self.seconds:.2f} s, {self.megabytes:.0f} MB: {self.text[:2000]}"


def compile_bomb(name, folder, flags=(), seconds=60):
    """by a small process in between: what a child has before it becomes another program would count as that one's"""
    data = BOMBS[name]().SerializeToString()
    (folder / "model.onnx").write_bytes(data)
    command = shlex.join([DNNCC, "model.onnx", "-o", "model.c", *flags])
    return Done(*measured.run(["sh", "-c", f"cd {shlex.quote(str(folder))} && ulimit -t {seconds} && {command}"]), len(data))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure([word for word in sys.argv[2:] if not word.startswith("-")], [word for word in sys.argv[2:] if word.startswith("-")])
    else:
        for name, make in BOMBS.items():
            (pathlib.Path(sys.argv[1]) / (name + ".onnx")).write_bytes(make().SerializeToString())
