# SPDX-License-Identifier: MIT
"""Wire format, rows 1 to 15 of the catalogue."""
import os
import subprocess
import threading
import time

import numpy as np
import pytest
from hostile import (MIB, SANITIZED, SMALL, accepted, answered, clean, constant, field, model, node, number, put, refused, results, run,
                     tag, value, varint, wrap)

GOOD = SMALL.SerializeToString()
TINY = model([node("Add", ["x", "w"], ["y"])], [value("x", (1,))], initializers=[constant("w", [1])], name="").SerializeToString()
GRAPH = SMALL.graph.SerializeToString()


def expect_damaged(folder, content, **keywords):
    return refused(folder, content, codes=(3,), lines=1, **keywords)


@pytest.mark.parametrize("content", [b"", b"\x08", b"\x00", b"\n"])
def test_1_tiny(tmp_path, content):
    expect_damaged(tmp_path, content, names="not an ONNX model")


@pytest.mark.slow
def test_2_prefixes(tmp_path):
    for n in range(0, len(GOOD), 8 if SANITIZED else 1):
        put(tmp_path, GOOD[:n])
        first, second = run(tmp_path), run(tmp_path)
        assert first.code in (3, 4) and (first.code, first.text) == (second.code, second.text), (n, first, second)
        assert os.listdir(tmp_path) == ["model.onnx"]


@pytest.mark.slow
def test_2_bit_flips(tmp_path):
    codes = set()
    for bit in range(0, 8 * len(TINY), 17 if SANITIZED else 1):
        flipped = bytearray(TINY)
        flipped[bit // 8] ^= 1 << bit % 8
        put(tmp_path, bytes(flipped))
        done = run(tmp_path)
        codes.add(done.code)
        assert done.code in (0, 3, 4), (bit, done)
        if done.code:
            assert os.listdir(tmp_path) == ["model.onnx"], (bit, done)
        else:
            for name in ("out.c", "out.h"):
                os.unlink(tmp_path / name)
    assert codes == {0, 3, 4}


def test_3_long_varint(tmp_path):
    for length in (10, 11, 20):
        expect_damaged(tmp_path, tag(1, 0) + b"\x80" * length + b"\x01" + GOOD)
    expect_damaged(tmp_path, tag(1, 0) + b"\xff" * 9 + b"\x02" + GOOD)


@pytest.mark.parametrize("length", [2 ** 63, 2 ** 64 - 1, 2 ** 32, 2 ** 31, 3])
def test_4_lengths(tmp_path, length):
    expect_damaged(tmp_path, tag(7, 2) + varint(length) + b"ab")
    expect_damaged(tmp_path, wrap(GRAPH + tag(1, 2) + varint(length) + b"ab"), names="past the end")
    expect_damaged(tmp_path, GOOD + tag(99, 2) + varint(length) + b"ab", names="past the end")


@pytest.mark.parametrize("bad", [b"\x00", b"\x02\x00", b"\x0e", b"\x0f", b"\x06", b"\x07", tag(2 ** 29, 0) + b"\x00", tag(2 ** 40, 0) + b"\x00",
                                 b"\x88\x80\x80\x80\x80\x00\x00"])
def test_5_tags(tmp_path, bad):
    expect_damaged(tmp_path, bad + GOOD)
    expect_damaged(tmp_path, wrap(GRAPH + bad))


def test_6_groups(tmp_path):
    for bad in (b"\x9b\x06" * 200_000, tag(99, 4), b"\x9b\x06" * 200_000 + b"\x9c\x06" * 200_000):
        expect_damaged(tmp_path, GOOD + bad)
        expect_damaged(tmp_path, bad + GOOD)


def test_6_nested_messages(tmp_path):
    """3,000 levels overflow the stack of protobuf-c; here they meet a limit"""
    for depth in (34, 300, 3000, 30_000):
        nested = GRAPH
        for _ in range(depth if depth < 30_000 else 3000):
            nested = field(1, field(5, field(6, nested)))
        refused(tmp_path, wrap(nested), codes=(3,), limit="wire_depth")
    refused(tmp_path, None, "--limit", "wire_depth=1000000", codes=(3,))


def test_7_unknown_fields(tmp_path):
    for unknown in (field(99, bytes(16 * MIB)), number(1000, 2 ** 63), tag(77, 5) + b"1234", tag(77, 1) + b"12345678"):
        accepted(tmp_path, GOOD + unknown)
        accepted(tmp_path, wrap(GRAPH + unknown))


def test_7_many_unknown_fields(tmp_path):
    refused(tmp_path, GOOD + b"\x98\x06\x00" * (5 * MIB), codes=(3,), limit="unpack_bytes")


@pytest.mark.parametrize("content", [b"\n\x00" * (4 * MIB), b"\x0a\x02*\x00" * (2 * MIB), b"*\x00" * (4 * MIB), b"z\x00" * (4 * MIB)],
                         ids=["nodes", "nodes-with-attributes", "initializers", "sparse"])
def test_7_tiny_messages(tmp_path, content):
    """Two bytes of file become hundreds in memory"""
    refused(tmp_path, wrap(content), codes=(3,), limit="unpack_bytes")


def test_8_twice(tmp_path):
    expect_damaged(tmp_path, GOOD + field(7, GRAPH), names="graph is given twice")
    expect_damaged(tmp_path, field(7, b"") + GOOD, names="given twice")
    expect_damaged(tmp_path, GOOD + number(1, 8), names="ir_version is given twice")
    dimension = number(1, 2) + field(2, b"N")           # both members of a oneof
    declared = field(1, b"z") + field(2, field(1, number(1, 1) + field(2, field(1, dimension))))
    expect_damaged(tmp_path, wrap(GRAPH + field(13, declared)), names="dim_param is given twice")


def test_9_packed_and_not(tmp_path):
    data = np.array([[1, 2], [3, 4]], np.float32)
    for dims in (number(1, 2) + number(1, 2), field(1, varint(2) + varint(2)), number(1, 2) + field(1, varint(2))):
        for floats in (field(4, data.tobytes()), b"".join(tag(4, 5) + f.tobytes() for f in data.flat)):
            tensor = dims + number(2, 1) + floats + field(8, b"w")
            body = model([node("Add", ["x", "w"], ["y"])], [value("x", (2, 2))]).graph.SerializeToString() + field(5, tensor)
            got = results(tmp_path, wrap(body), [np.ones((2, 2), np.float32)])
            assert (got[0] == data + 1).all()


def test_10_packed_cut_off(tmp_path):
    for tensor in (field(1, b"\x02\x80"), field(4, b"123"), field(10, b"1234567"), field(7, b"\xff" * 9), field(5, b"\x80" * 11 + b"\x00")):
        expect_damaged(tmp_path, wrap(GRAPH + field(5, tensor)))


def test_11_names(tmp_path):
    """Bytes that are no UTF-8 are names; NUL ends no name, it is refused"""
    weird = model([node("Relu", ["x"], ["a~b"], "n"), node("Neg", ["a~c"], ["y"], "m")], [value("x"), value("a~c")], [value("a~b"), value("y")])
    content = weird.SerializeToString()
    content = content.replace(b"a~b", b"a\xffb").replace(b"a~c", b"a\xfeb")
    accepted(tmp_path, content, compilers=("gcc", "clang"))
    header = (tmp_path / "out.h").read_text("ascii")
    assert "OUT_A_B_ELEMS" in header and "OUT_A_B_2_ELEMS" in header
    for name in (b"a\xffb", b"a\xfeb"):
        clean(tmp_path)
        expect_damaged(tmp_path, content.replace(name, b"a\x00b"), names="NUL")
    refused(tmp_path, content.replace(b"Relu", b"Re\x00u"), codes=(4,), names="Re\\x00u")


@pytest.mark.parametrize("content,word", [
    (b"PK\x03\x04" + bytes(100), "zip"), (b"<!DOCTYPE html><html></html>", "HTML"),
    (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", "pickle"), (b"\x1f\x8b\x08\x00" + bytes(50), "gzip"), (b"\x89HDF\r\n\x1a\n", "HDF5"),
    (b"{\"a\": 1}", "JSON"), (b"\x7fELF\x02\x01\x01", "program"), (b"hello, world\n" * 9, ""),
    (bytes(range(256)) * 10, ""), (b"\xff" * 1000, ""), (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "LFS"),
])
def test_12_other_files(tmp_path, content, word):
    expect_damaged(tmp_path, content, names=["not an ONNX model", word])


@pytest.mark.parametrize("content,word", [(b"GGUF\x03\x00\x00\x00", "GGUF"), (b"\x1c\x00\x00\x00TFL3" + bytes(40), "TensorFlow Lite")])
def test_12_files_of_other_formats(tmp_path, content, word):
    """what --format=onnx says that it is not"""
    refused(tmp_path, content, "--format=onnx", codes=(3,), lines=1, names=["not an ONNX model", word])


def test_12_garbage_after_the_model(tmp_path):
    for garbage in (b"\x00" * 10, b"\xff" * 40, b"PK\x03\x04", b"</html>"):
        expect_damaged(tmp_path, GOOD + garbage)


@pytest.mark.parametrize("content", [
    number(7, 3), number(8, 3), field(1, b"\x08"), tag(1, 5) + b"1234",
    wrap(GRAPH + number(1, 0)), wrap(GRAPH + number(2, 0)), wrap(GRAPH + field(1, number(4, 7))), wrap(GRAPH + field(1, tag(1, 5) + b"1234")),
    wrap(GRAPH + field(5, field(2, b"\x01"))), wrap(GRAPH + field(5, tag(9, 0) + b"\x01")), wrap(GRAPH + field(5, tag(4, 1) + bytes(8))),
    wrap(GRAPH + field(1, field(5, field(2, b"1234")))), wrap(GRAPH + field(11, field(2, number(1, 1))))])
def test_13_wrong_wire_type(tmp_path, content):
    expect_damaged(tmp_path, content + GOOD if content[0] != 8 or len(content) < 40 else content)


def test_14_special_files(tmp_path):
    os.mkdir(tmp_path / "folder.onnx")
    os.mkfifo(tmp_path / "fifo.onnx")
    os.symlink("/dev/zero", tmp_path / "zero.onnx")
    for source in ("folder.onnx", "fifo.onnx", "zero.onnx", "missing.onnx", "missing/model.onnx", "/dev/zero"):
        refused(tmp_path, None, source=source, codes=(1, 2, 3))
    with open(tmp_path / "sparse.onnx", "wb") as f:
        f.truncate(8 << 30)
    refused(tmp_path, None, source="sparse.onnx", codes=(2, 3), limit="file_bytes")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser reads everything")
def test_14_unreadable(tmp_path):
    put(tmp_path, GOOD)
    os.chmod(tmp_path / "model.onnx", 0)
    refused(tmp_path, codes=(2,))


def test_14_endless_input(tmp_path):
    """standard input without an end: bounded by the limit, not by memory"""
    with open("/dev/zero", "rb") as zero:
        refused(tmp_path, None, "--limit", f"file_bytes={4 * MIB}", source="-", stdin=zero, codes=(2, 3), limit="file_bytes")


def test_14_growing_file(tmp_path):
    put(tmp_path, GOOD)
    stop = threading.Event()

    def grow():
        with open(tmp_path / "model.onnx", "ab") as f:
            while not stop.is_set() and f.tell() < 20 * MIB:
                f.write(b"\x00" * 65536)
                f.flush()
                time.sleep(0.001)
    thread = threading.Thread(target=grow)
    thread.start()
    try:
        for _ in range(10):
            done = run(tmp_path, slack=8)
            assert done.code in (0, 2, 3), done
    finally:
        stop.set()
        thread.join()


def test_15_enums(tmp_path):
    for n in (-1, 2 ** 31, 2 ** 40, -2 ** 63):
        tensor = field(1, varint(1)) + number(2, n) + field(9, bytes(4)) + field(8, b"v")
        expect_damaged(tmp_path, wrap(GRAPH + field(5, tensor)))
        attribute = field(1, b"axis") + number(20, n) + number(3, 1)
        expect_damaged(tmp_path, wrap(GRAPH + field(1, field(1, b"x") + field(2, b"z") + field(4, b"Softmax") + field(5, attribute))))


def test_ports_of_the_smallest_model(tmp_path):
    got = results(tmp_path, SMALL, [np.array([1, 1], np.float32)])
    assert got[0].tolist() == [2, 0]
    answered(tmp_path, model([node("Identity", ["w"], ["y"])], [], None, [constant("w", [1])]))


def test_standard_input(tmp_path):
    put(tmp_path, GOOD)
    with open(tmp_path / "model.onnx", "rb") as f:
        assert run(tmp_path, source="-", stdin=f).code == 0
    cut = subprocess.run(["head", "-c", "40", tmp_path / "model.onnx"], capture_output=True, check=True).stdout
    (tmp_path / "cut").write_bytes(cut)
    with open(tmp_path / "cut", "rb") as f:
        assert run(tmp_path, source="-", stdin=f).code == 3
