# SPDX-License-Identifier: MIT
"""External tensor data, rows 47 to 52 of the catalogue."""
import os
import threading

import numpy as np
import pytest
from hostile import (B, F, MIB, SANITIZED, accepted, clean, constant, graph, model, node, put, refused, results, run, untyped, value)
from onnx import TensorProto, helper

DATA = np.array([1, 2, 3, 4], np.float32)
X = np.zeros(4, np.float32)


def external(entries, dims=(4,), kind=F, name="w"):
    t = TensorProto(name=name, data_type=kind, dims=dims, data_location=TensorProto.EXTERNAL)
    for key, text in entries:
        t.external_data.add(key=key, value=text)
    return t


def with_data(entries, **keywords):
    return model([node("Add", ["x", "w"], ["y"], "n")], [value("x", (4,))], initializers=[external(entries, **keywords)])


def at(location, **more):
    return with_data([("location", location), *more.items()])


def write(path, data=DATA, before=b"", after=b""):
    path.write_bytes(before + data.tobytes() + after)


def test_external_data(tmp_path):
    write(tmp_path / "w.bin")
    assert (results(tmp_path, at("w.bin"), [X])[0] == DATA).all()
    assert (results(tmp_path, at("w.bin", offset="0", length="16"), [X])[0] == DATA).all()
    os.makedirs(tmp_path / "a" / "b")
    write(tmp_path / "a" / "b" / "w.bin", before=b"123", after=b"4")
    assert (results(tmp_path, at("a/b/w.bin", offset="3", length="16", checksum="ab"), [X])[0] == DATA).all()
    assert (results(tmp_path, at("./a/./b/w.bin", offset="3"), [X])[0] == DATA).all()


def test_dependencies_and_digest(tmp_path):
    write(tmp_path / "w.bin")
    put(tmp_path, at("w.bin"))
    assert run(tmp_path, "-MD").code == 0
    depfile = next(p for p in tmp_path.iterdir() if p.suffix == ".d").read_text()
    assert "model.onnx" in depfile and "w.bin" in depfile
    first = (tmp_path / "out.c").read_bytes()
    write(tmp_path / "w.bin", DATA + 1)
    assert run(tmp_path).code == 0
    digests = [[line for line in text.splitlines() if b"SHA-256" in line or b"sha256" in line] for text in (first, (tmp_path / "out.c").read_bytes())]
    assert digests[0] and digests[0] != digests[1]


@pytest.mark.parametrize("location", ["..", "../w.bin", "a/../../w.bin", "a/..", "/etc/passwd", "/dev/zero", "//w.bin", "\\\\host\\share\\w.bin",
                                      "a\\..\\w.bin", "w.bin\0.txt", "\0", "", "a//w.bin", "w.bin/", "/", ".", "a", "a/.", "#../w.bin", "C:\\w.bin",
                                      "w.bin/x", "missing.bin", "~/w.bin", "$HOME/w.bin", "x" * 5000, "a/" * 3000 + "w.bin", "%2e%2e/w.bin"])
def test_47_locations(tmp_path, location):
    inside = tmp_path / "inside"
    os.makedirs(inside / "a")
    write(inside / "w.bin")
    write(tmp_path / "w.bin")
    refused(inside, at(location), names="'w'", lines=1, codes=(2, 3))


def test_47_device_and_folder(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    os.mkdir(tmp_path / "folder")
    for name in ("fifo", "folder"):
        refused(tmp_path, at(name), names="'w'", lines=1, codes=(2, 3))


def test_47_entries(tmp_path):
    write(tmp_path / "w.bin")
    for entries in ([], [("location", "w.bin"), ("location", "w.bin")], [("offset", "0")], [("location", "w.bin"), ("offset", "0"), ("offset", "0")],
                    [("Location", "w.bin")]):
        refused(tmp_path, with_data(entries), names="'w'", lines=1, codes=(3,))
    both = external([("location", "w.bin")])
    both.raw_data = DATA.tobytes()
    refused(tmp_path, model([node("Add", ["x", "w"], ["y"], "n")], [value("x", (4,))], initializers=[both]), names="'w'", lines=1, codes=(3,))
    refused(tmp_path, with_data([("location", "w.bin")], dims=(2 ** 40, 2 ** 40)), names="'w'", lines=1, codes=(3,))
    refused(tmp_path, with_data([("location", "w.bin")], dims=(2 ** 30, 128)), names="'w'", limit="tensor_bytes", lines=1, codes=(3,))
    refused(tmp_path, with_data([("location", "w.bin")], dims=(2 ** 20, 2 ** 8)), names="'w'", lines=1, codes=(3,))


@pytest.mark.parametrize("key", ["offset", "length"])
@pytest.mark.parametrize("text", ["9223372036854775807", "9223372036854775800", "18446744073709551615", "18446744073709551616", "-1", "-9223372036854775808",
                                  "0x10", "1e3", "", " 16", "16 ", "+16", "16\0", "1" * 4000, "99999999999999999999999999", "17", "１６"])
def test_48_numbers(tmp_path, key, text):
    write(tmp_path / "w.bin")
    refused(tmp_path, at("w.bin", **{key: text}), names="'w'", lines=1, codes=(3,))


def test_49_links(tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    os.makedirs(inside / "real")
    os.mkdir(outside)
    write(outside / "w.bin")
    write(inside / "real" / "w.bin")
    os.symlink(outside / "w.bin", inside / "out.bin")
    os.symlink("real/w.bin", inside / "in.bin")
    os.symlink(outside, inside / "folder")
    os.symlink("real", inside / "folder2")
    os.symlink("loop", inside / "loop")
    os.link(outside / "w.bin", inside / "hard.bin")
    for name in ("out.bin", "in.bin", "folder/w.bin", "folder2/w.bin", "loop", "hard.bin"):
        refused(inside, at(name), names="'w'", lines=1, codes=(2, 3))
    accepted(inside, at("real/w.bin"))
    os.symlink(inside, tmp_path / "way")        # how the user reaches the model is the user's matter
    accepted(tmp_path, None, source="way/model.onnx")


def test_49_swapped(tmp_path):
    """The file changes between a regular one and a link to a secret: the secret never comes out"""
    inside = tmp_path / "inside"
    os.mkdir(inside)
    secret = np.array([11.5, 12.5, 13.5, 14.5], np.float32)
    write(tmp_path / "secret.bin", secret)
    put(inside, at("w.bin"))
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            write(inside / "next", DATA)
            os.rename(inside / "next", inside / "w.bin")
            os.symlink("../secret.bin", inside / "next")
            os.rename(inside / "next", inside / "w.bin")
    write(inside / "w.bin")
    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(5 if SANITIZED else 40):
            done = run(inside)
            assert done.code in (0, 2, 3), done
            if done.code == 0:
                text = (inside / "out.c").read_text()
                assert "11.5" not in text and "0x1.7" not in text
    finally:
        stop.set()
        thread.join()


def constant_of(t, output, name="c"):
    return node("Constant", [], [output], name, value=t)


def placed(t):
    """The tensor in an attribute, in a subgraph (attribute and initializer), in a function."""
    yes = graph([node("Neg", ["x"], ["t"])], [], [untyped("t")])
    branch = graph([constant_of(t, "k"), node("Add", ["x", "k"], ["e"])], [], [untyped("e")])
    initialized = graph([node("Add", ["x", "w"], ["e"])], [], [untyped("e")], [t])
    inputs = [value("x", (4,)), value("c", (), B)]
    f = helper.make_function("d", "F", ["a"], ["o"], [constant_of(t, "k"), node("Add", ["a", "k"], ["o"])], [helper.make_opsetid("", 17)])
    yield model([constant_of(t, "k"), node("Add", ["x", "k"], ["y"])], inputs)
    yield model([node("If", ["c"], ["y"], "if", then_branch=yes, else_branch=branch)], inputs)
    yield model([node("If", ["c"], ["y"], "if", then_branch=yes, else_branch=initialized)], inputs)
    yield model([node("F", ["x"], ["y"], "call", domain="d")], inputs, opsets=[("", 17), ("d", 1)], functions=[f])


@pytest.mark.parametrize("place", range(4), ids=["attribute", "subgraph", "subgraph-initializer", "function"])
def test_50_everywhere(tmp_path, place):
    inside = tmp_path / "inside"
    os.mkdir(inside)
    write(tmp_path / "w.bin")
    write(inside / "w.bin")
    os.symlink("../w.bin", inside / "link.bin")
    for location in ("../w.bin", str(tmp_path / "w.bin"), "link.bin", "", "missing"):
        refused(inside, list(placed(external([("location", location)])))[place], lines=1, codes=(2, 3))
    good = list(placed(external([("location", "w.bin")])))[place]
    assert (results(inside, good, [X, np.array(False)])[0] == DATA).all()


def test_51_standard_input_and_other_folders(tmp_path):
    write(tmp_path / "w.bin")
    put(tmp_path, at("w.bin"))

    def from_stdin(*options):
        with open(tmp_path / "model.onnx", "rb") as f:
            return run(tmp_path, *options, source="-", stdin=f)
    done = from_stdin()
    assert done.code == 3 and "--allow-external" in done.text and "'w'" in done.text, done
    assert from_stdin("--allow-external=.").code == 0
    os.unlink(tmp_path / "out.c")
    os.unlink(tmp_path / "out.h")
    os.mkdir(tmp_path / "data")
    os.rename(tmp_path / "w.bin", tmp_path / "data" / "w.bin")
    refused(tmp_path, names="'w'", lines=1, codes=(2,))
    accepted(tmp_path, None, "--allow-external=data")
    clean(tmp_path)
    os.makedirs(tmp_path / "other")             # the current folder is not the model's
    write(tmp_path / "w.bin")
    put(tmp_path / "other", at("w.bin"))
    refused(tmp_path, None, source="other/model.onnx", names="'w'", lines=1, codes=(2,))
    refused(tmp_path, None, "--allow-external=missing", source="other/model.onnx", names="'w'", lines=1, codes=(2,))


def test_52_sizes(tmp_path):
    (tmp_path / "w.bin").write_bytes(DATA.tobytes()[:-1])
    refused(tmp_path, at("w.bin"), names="'w'", lines=1, codes=(3,))
    (tmp_path / "w.bin").write_bytes(b"")
    refused(tmp_path, at("w.bin"), names="'w'", lines=1, codes=(3,))
    with open(tmp_path / "big.bin", "wb") as f:
        f.truncate(6 << 30)
    refused(tmp_path, at("big.bin"), names="'w'", limit="file_bytes", lines=1, codes=(3,))
    with open(tmp_path / "half.bin", "wb") as f:
        f.truncate(3 << 30)
    accepted(tmp_path, at("half.bin", offset=str(2 << 30)))


def test_52_overlapping_ranges(tmp_path):
    """One MiB of file cannot become 100 MiB of constants; equal ranges are read once"""
    (tmp_path / "w.bin").write_bytes(np.random.default_rng(1).bytes(MIB))
    same = [external([("location", "w.bin"), ("offset", "0")], dims=(MIB // 4,), name=f"w{i}") for i in range(100)]
    shifted = [external([("location", "w.bin"), ("offset", str(i))], dims=(MIB // 4 - 25,), name=f"w{i}") for i in range(100)]
    for tensors, check in ((same, accepted), (shifted, refused)):
        check(tmp_path, model([node("Relu", ["x"], ["y"])], initializers=tensors))
        clean(tmp_path)
        (tmp_path / "w.bin").write_bytes(np.random.default_rng(1).bytes(MIB))


def test_external_of_no_elements(tmp_path):
    write(tmp_path / "w.bin")
    accepted(tmp_path, model([node("Relu", ["x"], ["y"])], initializers=[external([("location", "w.bin")], dims=(0, 4))]))
    refused(tmp_path, model([node("Relu", ["x"], ["y"])], initializers=[external([("location", "../w.bin")], dims=(0, 4))]), names="'w'", lines=1)
    refused(tmp_path, model([node("Relu", ["x"], ["y"])], initializers=[constant("v", [1]), external([], dims=())]), names="'w'", lines=1)
