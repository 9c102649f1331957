# SPDX-License-Identifier: MIT
"""Small files that ask for much: none takes more than 10 seconds or 1 GB, whether it is compiled or refused (bombs.py makes them)."""
import pathlib
import sys

import pytest
from onnx import helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import bombs  # noqa: E402
import hostile  # noqa: E402
from hostile import F, clean, node, put, refused, value  # noqa: E402

SECONDS, MEGABYTES = 10, 1000


@pytest.mark.sample(24)
@pytest.mark.parametrize("name", bombs.BOMBS)
def test_bomb(tmp_path, name):
    done = bombs.compile_bomb(name, tmp_path, seconds=60 if hostile.SANITIZED else SECONDS)
    assert done.size < bombs.BYTES_MOST
    assert done.code in (0, 3, 4), done
    assert hostile.SANITIZED or (done.seconds < SECONDS and done.megabytes < MEGABYTES), done


def test_expansion_grows_with_the_file(tmp_path):
    """50 operations for each node of the file, and what --limit expansion allows"""
    row = [node("Expand", ["x", "s"], ["rows"]), node("SplitToSequence", ["rows"], ["seq"]), node("ConcatFromSequence", ["seq"], ["y"], axis=0)]

    def rows(count, more=0):
        chain = [node("Relu", [f"r{k}" if k else "y"], [f"r{k + 1}"]) for k in range(more)]
        return hostile.model(row + chain, [value("x", (1, 1))], initializers=[bombs.ints("s", count, 1)])
    refused(tmp_path, rows(500), "--limit", "expansion=300", limit="expansion", codes=(3,), lines=1)
    for content, limit in (rows(500), 400), (rows(500, 7), 300):
        put(tmp_path, content)
        assert hostile.run(tmp_path, "--limit", f"expansion={limit}").code == 0
        clean(tmp_path)


def test_only_what_is_taken_counts(tmp_path):
    """20 results of 1 GB, of which two are in use at once; and five that are"""
    gigabyte = [value("x", (1 << 18, 1 << 10))]
    chain = [node("Softmax", [f"t{k}" if k else "x"], [f"t{k + 1}" if k < 19 else "y"]) for k in range(20)]
    put(tmp_path, hostile.model(chain, gigabyte, [value("y", (1 << 18, 1 << 10))]))
    assert hostile.run(tmp_path).code == 0
    clean(tmp_path)
    fan = [node("Softmax", [f"t{k}" if k else "x"], [f"t{k + 1}"]) for k in range(5)] + [node("Softmax", ["t5"], ["u"])]
    sums = [node("MatMul", [f"t{k + 1}", "w"], [f"s{k}"]) for k in range(5)] + [node("Sum", ["s0", "s1", "s2", "s3", "s4", "v"], ["y"]), node("MatMul", ["u", "w"], ["v"])]
    content = hostile.model(fan + sums[:-2] + [sums[-1], sums[-2]], [*gigabyte, value("w", (1 << 10, 1))], [helper.make_tensor_value_info("y", F, (1 << 18, 1))])
    refused(tmp_path, content, "--limit", "total_bytes=2G", "-O1", limit="total_bytes", codes=(3,), lines=1)
