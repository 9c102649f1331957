/* SPDX-License-Identifier: MIT */
/* Type rules: what each operation refuses, with the message. */
#include "test/unit/tensor_bench.h"

static const struct { const char *arguments, *op, *message;
} cases[] = {
        /* element-wise */
        { "%x: <4 x bool>", "add(%x, %x) : <4 x bool>",
          "add: operand x is <4 x bool>, want numbers" },
        { "%x: <4 x i32>", "exp(%x) : <4 x i32>", "exp: operand x is <4 x i32>, want floats" },
        { "%x: <4 x f32>", "shl(%x, %x) : <4 x f32>",
          "shl: operand x is <4 x f32>, want integers" },
        { "%x: <4 x f32>", "and(%x, %x) : <4 x f32>",
          "and: operand x is <4 x f32>, want integers or bool" },
        { "%x: <4 x i4>", "neg(%x) : <4 x i4>", "neg: operand x is <4 x i4>, want numbers" },
        { "%x: sequence(<4 x f32>)", "neg(%x) : <4 x f32>",
          "neg: operand x is sequence(<4 x f32>), want a tensor of stored elements" },
        { "%x: <4 x f32>, %y: <1 x f32>", "add(%x, %y) : <4 x f32>",
          "add: operands x and y are <4 x f32> and <1 x f32>, want equal types" },
        { "%x: <N x f32>, %y: <M x f32>", "lt(%x, %y) : <N x bool>",
          "lt: operands x and y are <N x f32> and <M x f32>, want equal types" },
        { "%x: <4 x f32>", "add(%x) : <4 x f32>", "add: has 1 operands, want 2" },
        { "%x: <4 x f32>", "lt(%x, 0) : <4 x f32>", "lt: result is <4 x f32>, want <4 x bool>" },
        { "%c: <4 x i8>, %x: <4 x f32>", "select(%c, %x, %x) : <4 x f32>",
          "select: operand c is <4 x i8>, want <4 x bool>" },
        { "%c: <bool>, %x: <4 x f32>", "select(%c, %x, %x) : <4 x f32>",
          "select: operand c is <bool>, want <4 x bool>" },
        { "%x: <4 x f32>", "bitcast(%x) to=f16 : <4 x f16>",
          "bitcast: f32 and f16 differ in size" },
        /* moving elements */
        { "%x: <2 x 3 x f32>", "reshape(%x) : <7 x f32>",
          "reshape: cannot make <7 x f32> of <2 x 3 x f32>: other number of elements" },
        { "%x: <2 x 3 x f32>", "reshape(%x) : <6 x f64>",
          "reshape: result is <6 x f64>, want a tensor of f32" },
        { "%x: <N x 3 x f32>", "reshape(%x) : <N x 4 x f32>",
          "reshape: cannot make <N x 4 x f32> of <N x 3 x f32>: not certain to have as many "
          "elements" },
        { "%x: <2 x 3 x f32>", "transpose(%x) : <3 x 2 x f32>",
          "transpose: perm names dimension 0 twice" },
        { "%x: <2 x 3 x f32>", "transpose(%x) perm=[1, 1] : <3 x 2 x f32>",
          "transpose: perm names dimension 1 twice" },
        { "%x: <2 x 3 x f32>", "transpose(%x) perm=[1, 2] : <3 x 2 x f32>",
          "transpose: perm is 2, want 0 to 1" },
        { "%x: <2 x 3 x f32>", "transpose(%x) perm=[1] : <3 x 2 x f32>",
          "transpose: perm has 1 values, want 2" },
        { "%x: <2 x f32>", "transpose(%x) perm=[-9223372036854775808] : <2 x f32>",
          "transpose: perm holds -9223372036854775808, want 0 to 16" },
        { "%x: <2 x 3 x f32>", "broadcast(%x) dims=[1, 0] : <3 x 2 x f32>",
          "broadcast: dims do not ascend" },
        { "%x: <2 x f32>", "broadcast(%x) dims=[0] : <3 x 2 x f32>",
          "broadcast: dimension 0 is 2, want 1 or 3" },
        { "%x: <2 x f32>", "broadcast(%x) dims=[2] : <3 x 2 x f32>",
          "broadcast: dims is 2, want 0 to 1" },
        { "%x: <9 x f32>", "slice(%x, <1 x i64> 1, <1 x i64> 2) : <5 x f32>",
          "slice: dimension 0: 5 elements from 1 in steps of 2 leave 0 to 8" },
        { "%x: <9 x f32>",
          "slice(%x, <1 x i64> 9223372036854775807, <1 x i64> 9223372036854775807) : <3 x f32>",
          "slice: dimension 0: 3 elements from 9223372036854775807 in steps of 9223372036854775807 "
          "leave 0 to 8" },
        { "%x: <9 x f32>", "slice(%x, <1 x i64> 8, <1 x i64> -9223372036854775808) : <3 x f32>",
          "slice: dimension 0: 3 elements from 8 in steps of -9223372036854775808 leave 0 to 8" },
        { "%x: <9 x f32>", "slice(%x, <2 x i64> 0, <1 x i64> 1) : <3 x f32>",
          "slice: starts has 2 values, want 1" },
        { "%x: <9 x f32>", "slice(%x, <1 x i32> 0, <1 x i64> 1) : <3 x f32>",
          "slice: operand starts is <1 x i32>, want a list of i64" },
        { "%x: <9 x f32>", "slice(%x, <i64> 0, <1 x i64> 1) : <3 x f32>",
          "slice: operand starts is <i64>, want a list of i64" },
        { "%x: <9 x f32>", "slice(%x, <1 x i64> 0, <1 x i64> 1) : <3 x 1 x f32>",
          "slice: result is <3 x 1 x f32>, want 1 dimensions" },
        { "%x: <2 x f32>", "pad(%x, none, <1 x i64> 0) : <2 x f32>",
          "pad: operand value is missing" },
        { "%x: <2 x f32>", "pad(%x, <1 x f32> 0, <1 x i64> 0) : <2 x f32>",
          "pad: operand value is <1 x f32>, want <f32>" },
        { "%x: <2 x f32>", "pad(%x, <f32> 0, <1 x i64> 9999999999) : <2 x f32>",
          "pad: low holds 9999999999, want -2147483647 to 2147483647" },
        { "%x: <0 x f32>", "pad(%x, none, <1 x i64> 0) mode=edge : <2 x f32>",
          "pad: dimension 0 has no elements to pad with" },
        { "%x: <2 x f32>", "concat(%x, %x) axis=1 : <4 x f32>", "concat: axis is 1, want 0 to 0" },
        { "%x: <f32>", "concat(%x, %x) : <2 x f32>", "concat: axis is 0, want 0 to -1" },
        { "%x: <2 x 3 x f32>, %y: <2 x 3 x f64>", "concat(%x, %y) : <4 x 3 x f32>",
          "concat: operand 1 is <2 x 3 x f64>, does not go with <2 x 3 x f32> along dimension 0" },
        { "%x: <2 x 3 x f32>, %y: <2 x 4 x f32>", "concat(%x, %y) : <4 x 3 x f32>",
          "concat: operand 1 is <2 x 4 x f32>, does not go with <2 x 3 x f32> along dimension 0" },
        { "%x: <2147483647 x f32>", "concat(%x, %x) : <2 x f32>",
          "concat: result is <2 x f32>, want <4294967294 x f32>" },
        { "%x: <5 x f32>", "gather(%x, <2 x i64> [0, 5]) : <2 x f32>",
          "gather: index 5 is not in -5 to 4" },
        { "%x: <5 x f32>", "gather(%x, <2 x i64> -6) : <2 x f32>",
          "gather: index -6 is not in -5 to 4" },
        { "%x: <5 x f32>", "gather(%x, <u64> 18446744073709551615) : <f32>",
          "gather: index 9223372036854775807 is not in -5 to 4" },
        { "%x: <0 x f32>, %i: <2 x f32>", "gather(%x, %i) : <2 x f32>",
          "gather: operand indices is <2 x f32>, want integers" },
        { "%x: <1 x 1 x 1 x 1 x 1 x 1 x 1 x 1 x 1 x f32>, %i: <1 x 1 x 1 x 1 x 1 x 1 x 1 x 1 x 1 x "
          "i8>",
          "gather(%x, %i) : <f32>", "gather: result has 17 dimensions, at most 16 are possible" },
        { "%x: <5 x 3 x f32>, %i: <6 x 3 x i64>", "gather_elements(%x, %i) axis=1 : <6 x 3 x f32>",
          "gather_elements: operand indices is <6 x 3 x i64>, does not fit into <5 x 3 x f32>" },
        { "%x: <5 x 3 x f32>", "gather_nd(%x, <2 x 2 x i64> [4, 2, 2, 4]) : <2 x f32>",
          "gather_nd: index 4 is not in -3 to 2" },
        { "%x: <5 x f32>, %i: <2 x 2 x i64>", "gather_nd(%x, %i) : <2 x f32>",
          "gather_nd: operand indices is <2 x 2 x i64>, want tuples of 1 to 1" },
        { "%x: <5 x f32>, %i: <2 x i64>", "gather_nd(%x, %i) batch_dims=1 : <2 x f32>",
          "gather_nd: batch_dims is 1, want less than both ranks" },
        { "%x: <5 x f32>, %i: <2 x 2 x i64>, %u: <2 x f32>", "scatter(%x, %i, %u) : <5 x f32>",
          "scatter: operand updates is <2 x f32>, does not fit into <5 x f32> at <2 x 2 x i64>" },
        { "%x: <5 x f32>, %i: <2 x 1 x i64>, %u: <2 x f64>", "scatter(%x, %i, %u) : <5 x f32>",
          "scatter: operand updates is <2 x f64>, does not fit into <5 x f32> at <2 x 1 x i64>" },
        { "%x: <5 x 3 x f32>, %i: <2 x 4 x i64>, %u: <2 x 4 x f32>",
          "scatter(%x, %i, %u) axis=0 : <5 x 3 x f32>",
          "scatter: operand updates is <2 x 4 x f32>, does not fit into <5 x 3 x f32> at <2 x 4 x "
          "i64>" },
        { "%x: <5 x bool>, %i: <2 x i64>, %u: <2 x bool>",
          "scatter(%x, %i, %u) kind=sum axis=0 : <5 x bool>",
          "scatter: cannot combine elements of type bool" },
        { "%x: <5 x f32>, %u: <2 x f32>", "scatter(%x, <2 x i64> [0, 5], %u) axis=0 : <5 x f32>",
          "scatter: index 5 is not in -5 to 4" },
        { "%x: <5 x f32>, %u: <2 x f32>", "scatter(%x, <2 x i64> [0, 1], %u) axis=1 : <5 x f32>",
          "scatter: axis is 1, want 0 to 0" },
        { "%x: <5 x f32>", "argsort(%x) : <6 x i64>",
          "argsort: result is <6 x i64>, does not fit into <5 x f32>" },
        { "%x: <5 x 3 x f32>, %t: <0 x f32>", "spectrum(%x, %t) axes=[0] : <5 x 2 x f32>",
          "spectrum: operand x is <5 x 3 x f32>, want real, or real and imaginary, parts of f32 or "
          "f64 in its last dimension" },
        { "%x: <5 x 2 x i32>, %t: <0 x i32>", "spectrum(%x, %t) axes=[0] : <5 x 2 x i32>",
          "spectrum: operand x is <5 x 2 x i32>, want real, or real and imaginary, parts of f32 or "
          "f64 in its last dimension" },
        { "%x: <5 x 2 x f32>, %t: <0 x f32>", "spectrum(%x, %t) : <5 x 2 x f32>",
          "spectrum: axes has 0 values, want 1 or 2" },
        { "%x: <5 x 2 x f32>, %t: <0 x f32>", "spectrum(%x, %t) axes=[1] : <5 x 2 x f32>",
          "spectrum: axes is 1, want 0 to 0" },
        { "%x: <2 x 5 x f32>, %t: <0 x f32>", "spectrum(%x, %t) axes=[0] parts=0 : <2 x 5 x f32>",
          "spectrum: dimension 0 is the parts" },
        { "%x: <5 x 2 x f32>, %t: <0 x f32>", "spectrum(%x, %t) axes=[1] parts=0 : <5 x 2 x f32>",
          "spectrum: operand x is <5 x 2 x f32>, want real, or real and imaginary, parts of f32 or "
          "f64 in that dimension" },
        { "%x: <5 x 2 x f32>, %t: <0 x f32>", "spectrum(%x, %t) axes=[0] parts=2 : <5 x 2 x f32>",
          "spectrum: parts is 2, want 0 to 1" },
        { "%x: <5 x 5 x 2 x f32>, %t: <0 x f32>", "spectrum(%x, %t) axes=[1, 1] : <5 x 5 x 2 x f32>",
          "spectrum: axes names dimension 1 twice" },
        { "%x: <0 x 2 x f32>, %t: <0 x f32>", "spectrum(%x, %t) axes=[0] : <0 x 2 x f32>",
          "spectrum: operand x is <0 x 2 x f32>, want 1 to 1048576 elements along axis 0" },
        { "%x: <2000000 x 2 x f32>, %t: <0 x f32>",
          "spectrum(%x, %t) axes=[0] : <2000000 x 2 x f32>",
          "spectrum: operand x is <2000000 x 2 x f32>, want 1 to 1048576 elements along axis 0" },
        { "%x: <5 x 2 x f32>, %t: <0 x f32>", "spectrum(%x, %t) axes=[0] half=2 : <5 x 2 x f32>",
          "spectrum: half is 2, want 0 or 1" },
        { "%x: <5 x 2 x f32>, %t: <0 x f32>", "spectrum(%x, %t) axes=[0] length=5 : <5 x 2 x f32>",
          "spectrum: length is 5, want none but of an inverse of a half" },
        { "%x: <5 x 2 x f32>, %t: <0 x f32>",
          "spectrum(%x, %t) axes=[0] inverse=1 half=1 length=7 : <7 x 1 x f32>",
          "spectrum: length is 7, want a length whose half is <5 x 2 x f32>" },
        { "%x: <17 x 2 x f32>, %t: <165 x f32>", "spectrum(%x, %t) axes=[0] : <17 x 2 x f32>",
          "spectrum: operand table is <165 x f32>, want 166 elements of type f32" },
        { "%x: <5 x 2 x f32>, %t: <0 x f32>", "spectrum(%x, %t) axes=[0] half=1 : <5 x 2 x f32>",
          "spectrum: result is <5 x 2 x f32>, want <3 x 2 x f32>" },
        { "%x: <5 x i8>", "decode_image(%x) : <1 x 2 x 3 x u8>",
          "decode_image: operand x is <5 x i8>, want bytes" },
        { "%x: <5 x u8>", "decode_image(%x) pixels=gray : <1 x 2 x 3 x u8>",
          "decode_image: the result is <1 x 2 x 3 x u8>" },
        { "%x: <5 x u8>", "decode_image(%x) : <1 x 40000 x 3 x u8>",
          "decode_image: the result is <1 x 40000 x 3 x u8>" },
        { "%x: <5 x u8>", "decode_image(%x) : <0 x 2 x 3 x u8>",
          "decode_image: the result is <0 x 2 x 3 x u8>" },
        { "%x: <5 x f32>", "argsort(%x) descending=2 : <5 x i64>",
          "argsort: descending is 2, want 0 or 1" },
        { "", "iota() axis=2 : <2 x 3 x i64>", "iota: axis is 2, want 0 to 1" },
        { "", "iota() : <2 x bool>", "iota: result is <2 x bool>, want numbers" },
        /* contractions */
        { "%a: <2 x 3 x f32>, %b: <4 x 3 x f32>",
          "dot(%a, %b) contract_a=[0] contract_b=[0] : <3 x 3 x f32>",
          "dot: dimension 0 of a is 2, dimension 0 of b is 4, want equal extents" },
        { "%a: <2 x 3 x f32>, %b: <2 x 3 x f32>", "dot(%a, %b) contract_a=[0] : <3 x f32>",
          "dot: contract_a and contract_b have 1 and 0 values, want equal numbers" },
        { "%a: <2 x 3 x f32>, %b: <2 x 3 x f32>",
          "dot(%a, %b) batch_a=[0] batch_b=[0] contract_a=[0] contract_b=[0] : <3 x f32>",
          "dot: dimension 0 is in both batch_a and contract_a" },
        { "%a: <2 x f32>, %b: <2 x f64>", "dot(%a, %b) : <2 x 2 x f32>",
          "dot: operands are <2 x f32> and <2 x f64>, want equal elements" },
        { "%a: <2 x u8>, %b: <2 x i8>", "dot(%a, %b) : <2 x 2 x i32>",
          "dot: operands are <2 x u8> and <2 x i8>, want equal elements" },
        { "%a: <2 x f32>", "dot(%a, %a) accumulator=i32 : <2 x 2 x i32>",
          "dot: accumulator is i32, want a type that f32 is computed in" },
        { "%a: <2 x f16>", "dot(%a, %a) accumulator=f16 : <2 x 2 x f16>",
          "dot: accumulator is f16, want a type that f16 is computed in" },
        { "%a: <2 x bool>", "dot(%a, %a) : <2 x 2 x bool>",
          "dot: cannot combine elements of type bool" },
        { "%x: <1 x 4 x 9 x f32>, %w: <6 x 4 x 3 x f32>",
          "convolve(%x, %w) strides=[0] : <1 x 6 x 7 x f32>",
          "convolve: strides holds 0, want 1 to 2147483647" },
        { "%x: <1 x 4 x 9 x f32>, %w: <6 x 4 x 3 x f32>",
          "convolve(%x, %w) dilations=[4611686018427387904] : <1 x 6 x 7 x f32>",
          "convolve: dilations holds 4611686018427387904, want 1 to 2147483647" },
        { "%x: <1 x 4 x 9 x f32>, %w: <6 x 4 x 3 x f32>",
          "convolve(%x, %w) pads=[1] : <1 x 6 x 7 x f32>", "convolve: pads has 1 values, want 2" },
        { "%x: <1 x 4 x 9 x f32>, %w: <6 x 3 x 3 x f32>", "convolve(%x, %w) : <1 x 6 x 7 x f32>",
          "convolve: x has 4 channels, want 3 in each of 1 groups" },
        { "%x: <1 x 4 x 9 x f32>, %w: <7 x 2 x 3 x f32>",
          "convolve(%x, %w) groups=2 : <1 x 7 x 7 x f32>",
          "convolve: 7 result channels do not divide into 2 groups" },
        { "%x: <1 x 4 x 9 x f32>, %w: <7 x 2 x 3 x f32>",
          "convolve(%x, %w) groups=-1 : <1 x 7 x 7 x f32>",
          "convolve: groups is -1, want 1 to 2147483647" },
        { "%x: <4 x f32>, %w: <4 x f32>", "convolve(%x, %w) : <1 x f32>",
          "convolve: operands are <4 x f32> and <4 x f32>, want equal ranks of at least 2" },
        { "%x: <1 x 4 x 9 x f32>, %w: <6 x 4 x 3 x f32>",
          "convolve(%x, %w) strides=[2] : <1 x 6 x 5 x f32>",
          "convolve: result is <1 x 6 x 5 x f32>, want <1 x 6 x 4 x f32>" },
        { "%x: <1 x 4 x 2147483647 x f32>, %w: <6 x 4 x 1 x f32>",
          "convolve(%x, %w) input_dilations=[2147483647] : <1 x f32>",
          "convolve: result is <1 x f32>, want <1 x 6 x 4611686011984936963 x f32>" },
        { "%x: <1 x 1 x 6 x 6 x 16 x f32>, %w: <36 x 1 x 16 x 1 x 16 x f32>",
          "convolve_winograd(%x, %w) tile=7 rows=4 columns=4 outputs=16 : <1 x 1 x 4 x 4 x 16 x "
          "f32>",
          "convolve_winograd: a tile of 7 rows has a window of 3, want 1 and 1, or 2 and more that "
          "are 9 at most together" },
        { "%x: <1 x 1 x 6 x 6 x 16 x f32>, %w: <36 x 1 x 16 x 1 x 16 x f32>",
          "convolve_winograd(%x, %w) window=[3, 1] rows=4 columns=4 outputs=16 : <1 x 1 x 4 x 4 x "
          "16 x f32>",
          "convolve_winograd: a tile of 4 columns has a window of 1, want 1 and 1, or 2 and more "
          "that are 9 at most together" },
        { "%x: <1 x 1 x 6 x 6 x 16 x f32>, %w: <36 x 1 x 16 x 1 x 16 x f32>",
          "convolve_winograd(%x, %w) tile=[4, 4, 4] rows=4 columns=4 outputs=16 : <1 x 1 x 4 x 4 x "
          "16 x f32>",
          "convolve_winograd: tile has 3 values, want 2" },
        { "%x: <1 x 1 x 6 x 6 x 6 x 16 x f32>, %w: <36 x 1 x 16 x 1 x 16 x f32>",
          "convolve_winograd(%x, %w) rows=4 columns=4 outputs=16 : <1 x 1 x 4 x 4 x 16 x f32>",
          "convolve_winograd: operands are <1 x 1 x 6 x 6 x 6 x 16 x f32> and <36 x 1 x 16 x 1 x "
          "16 x f32>, want four or five dimensions, and five" },
        { "%x: <1 x 1 x 11 x 12 x 16 x f32>, %w: <36 x 1 x 64 x 1 x 16 x f32>",
          "convolve_winograd(%x, %w) strides=2 rows=4 columns=4 outputs=16 : <1 x 1 x 4 x 4 x 16 x "
          "f32>",
          "convolve_winograd: x is <1 x 1 x 11 x 12 x 16 x f32>, want it to hold the windows of all "
          "rows of the result in tiles of 4" },
        { "%x: <1 x 1 x 12 x 12 x 16 x f32>, %w: <36 x 1 x 62 x 1 x 16 x f32>",
          "convolve_winograd(%x, %w) strides=2 rows=4 columns=4 outputs=16 : <1 x 1 x 4 x 4 x 16 x "
          "f32>",
          "convolve_winograd: w has 62 channels, want 1 to 64 in 4 phases" },
        { "%x: <1 x 1 x 6 x 6 x 16 x f32>, %w: <16 x 1 x 16 x 1 x 16 x f32>",
          "convolve_winograd(%x, %w) rows=4 columns=4 outputs=16 : <1 x 1 x 4 x 4 x 16 x f32>",
          "convolve_winograd: w is <16 x 1 x 16 x 1 x 16 x f32>, want its first dimension 36" },
        { "%x: <1 x 1 x 6 x 6 x 16 x f32>, %w: <36 x 1 x 16 x 1 x 16 x f32>",
          "convolve_winograd(%x, %w) rows=5 columns=4 outputs=16 : <1 x 1 x 5 x 4 x 16 x f32>",
          "convolve_winograd: x is <1 x 1 x 6 x 6 x 16 x f32>, want it to hold the windows of "
          "all rows of the result in tiles of 4" },
        { "%x: <1 x 1 x 6 x 6 x 16 x f32>, %w: <36 x 1 x 17 x 1 x 16 x f32>",
          "convolve_winograd(%x, %w) rows=4 columns=4 outputs=16 : <1 x 1 x 4 x 4 x 16 x f32>",
          "convolve_winograd: w has 17 channels, want 1 to 16 in 1 phases" },
        { "%x: <1 x 1 x 6 x 6 x 16 x f32>, %w: <36 x 1 x 16 x 1 x 16 x f32>",
          "convolve_winograd(%x, %w) rows=4 columns=4 outputs=17 : <1 x 2 x 4 x 4 x 16 x f32>",
          "convolve_winograd: 1 panels of 16, want them to hold 32 outputs" },
        { "%x: <1 x 1 x 6 x 6 x 16 x f32>, %w: <36 x 1 x 16 x 1 x 16 x f32>",
          "convolve_winograd(%x, %w) rows=4 columns=4 outputs=16 block=9223372036854775792 : <1 x "
          "1 x 4 x 4 x 16 x f32>",
          "convolve_winograd: outputs is 16 in blocks of 9223372036854775792, want multiples of 16 "
          "or all" },
        { "%x: <1 x 1 x 6 x 6 x 16 x f16>, %w: <36 x 1 x 16 x 1 x 16 x f16>",
          "convolve_winograd(%x, %w) rows=4 columns=4 outputs=16 : <1 x 1 x 4 x 4 x 16 x f16>",
          "convolve_winograd: operands are f16, want f32 or f64" },
        /* reductions */
        { "%x: <2 x 3 x f32>", "reduce(%x, <1 x i64> 2) : <2 x 3 x f32>",
          "reduce: axes is 2, want 0 to 1" },
        { "%x: <2 x 3 x f32>", "reduce(%x, <2 x i64> 1) : <2 x f32>",
          "reduce: axes names dimension 1 twice" },
        { "%x: <2 x 3 x f32>", "reduce(%x, <1 x i64> -1) : <2 x f32>",
          "reduce: axes is -1, want 0 to 1" },
        { "%x: <2 x 3 x f32>", "reduce(%x, <3 x i64> 0) : <2 x f32>",
          "reduce: axes has 3 values, want at most 2" },
        { "%x: <2 x 3 x f32>", "reduce(%x, <1 x i64> 1) : <3 x f32>",
          "reduce: result is <3 x f32>, want <2 x f32>" },
        { "%x: <2 x 3 x bool>", "reduce(%x, <1 x i64> 1) : <2 x bool>",
          "reduce: cannot combine elements of type bool" },
        { "%x: <2 x f32>, %k: <1 x i64>", "reduce(%x, %k) : <2 x 3 x f32>",
          "reduce: result is <2 x 3 x f32>, want at most 1 dimensions" },
        { "%x: <2 x f32>, %k: <1 x i64>", "reduce(%x, %k) : <f64>",
          "reduce: result is <f64>, want a tensor of f32" },
        { "%x: <2 x 9 x f32>", "reduce_window(%x) window=[1, 3] strides=[1, 2] : <2 x 3 x f32>",
          "reduce_window: result is <2 x 3 x f32>, want <2 x 4 x f32>" },
        { "%x: <2 x 9 x f32>", "reduce_window(%x) window=[1, 3] strides=[1, 2] : <2 x 6 x f32>",
          "reduce_window: result is <2 x 6 x f32>, want <2 x 4 x f32>" },
        { "%x: <2 x 9 x f32>", "reduce_window(%x) window=[0, 3] : <2 x 7 x f32>",
          "reduce_window: window holds 0, want 1 to 2147483647" },
        { "%x: <2 x 9 x f32>", "reduce_window(%x) window=[3] : <2 x 7 x f32>",
          "reduce_window: window has 1 values, want 2" },
};

static char *text_of(struct arena *arena, const char *arguments, const char *op)
{
        return arena_printf(arena, HEAD "symbol N <= 9\nsymbol M <= 9\nfunc @main(%s) -> (\"out\") {\n  %%0 = %s\n"
                            "  yield(%%0)\n}\n", arguments, op);
}

static void test_refused(void **state)
{
        (void)state;
        struct arena *arena = arena_new();
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                check_refused(text_of(arena, cases[i].arguments, cases[i].op),
                              arena_printf(arena, "line 6: %s", cases[i].message));
        arena_free(arena);
}

/* symbols: terms are brought to one form, sizes follow the same formulas as numbers */
static const char *const symbolic[][2] = {
        { "%x \"x\": <N x 3 x f32>", "reshape(%x) : <3 x N x f32>" },
        { "%x \"x\": <N x 6 x f32>", "reshape(%x) : <N * 2 x 3 x f32>" },
        { "%x \"x\": <N x 3 x f32>", "concat(%x, %x, <1 x 3 x f32> 0.0) : <(N + N) + 1 x 3 x f32>" },
        { "%x \"x\": <1 x 4 x N x f32>, %w \"w\": <6 x 4 x 3 x f32>", "convolve(%x, %w) : <1 x 6 x N - 2 x f32>" },
        { "%x \"x\": <1 x 4 x N x f32>, %w \"w\": <6 x 4 x 3 x f32>",
          "convolve(%x, %w) strides=[2] pads=[1, 1] : <1 x 6 x (N + 1) / 2 x f32>" },
        { "%x \"x\": <1 x 4 x N x f32>, %w \"w\": <6 x 4 x 3 x f32>",
          "convolve(%x, %w) input_dilations=[2] pads=[1, 1] : <1 x 6 x (N * 2) - 1 x f32>" },
        { "%x \"x\": <M x N x f32>", "reduce_window(%x) window=[1, 5] strides=[1, 3] : <M x (N - 2) / 3 x f32>" },
        { "%a \"a\": <N x M x f32>, %b \"b\": <M x N x f32>",
          "dot(%a, %b) batch_a=[0] batch_b=[1] contract_a=[1] contract_b=[0] : <N x f32>" },
        { "%x \"x\": <M x N x f32>, %i \"i\": <M x i64>", "gather(%x, %i) axis=1 : <M x M x f32>" },
};

static void test_symbolic(void **state)
{
        (void)state;
        struct arena *arena = arena_new();
        for (size_t i = 0; i < sizeof symbolic / sizeof *symbolic; i++) {
                struct bench b;
                bench_open(&b);
                struct module *m = parse_well(&b, text_of(arena, symbolic[i][0], symbolic[i][1]));
                assert_string_equal(print(&b, m), text_of(arena, symbolic[i][0], symbolic[i][1]));
                module_free(m);
                bench_close(&b);
        }
        arena_free(arena);
}

/* convolution and window extents against counting positions one by one */
static void test_window_extents(void **state)
{
        (void)state;
        struct module *m = module_new("m");
        struct function *f = function_new(m, "main");
        struct diag diag = { .stream = fopen("/dev/null", "w") };
        struct builder b = { .m = m, .region = &f->body, .diag = &diag };
        for (int trial = 0; trial < 3000; trial++) {
                int64_t x = trial % 7, window = 1 + trial / 7 % 4, stride = 1 + trial / 28 % 3, d = 1 + trial / 84 % 2;
                int64_t gaps = 1 + trial / 168 % 3, pads[] = { trial / 504 % 4 - 1, trial / 5 % 5 - 2 };
                int64_t extent = x ? (x - 1) * gaps + 1 : 0, reach = (window - 1) * d + 1, count = 0;
                while (count * stride + reach <= extent + pads[0] + pads[1])
                        count++;
                struct value *input = constant_number(m, type_tensor(m, E_F32, 3, (dim_t[]){ 1, 1, x }), 0);
                struct value *weights = constant_number(m, type_tensor(m, E_F32, 3, (dim_t[]){ 1, 1, window }), 0);
                struct attr *attrs = attrs_new(m, OP_convolve);
                attr_set_ints(m, attrs, OP_convolve, "strides", &stride, 1);
                attr_set_ints(m, attrs, OP_convolve, "dilations", &d, 1);
                attr_set_ints(m, attrs, OP_convolve, "input_dilations", &gaps, 1);
                attr_set_ints(m, attrs, OP_convolve, "pads", pads, 2);
                struct value *y = value_build(&b, OP_convolve, (struct value *[]){ input, weights }, 2, attrs, NULL);
                assert_non_null(y);
                assert_int_equal(type_extent(y->type, 2), count);
        }
        fclose(diag.stream);
        module_free(m);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_refused), cmocka_unit_test(test_symbolic), cmocka_unit_test(test_window_extents),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
