# SPDX-License-Identifier: MIT
"""The version of a .dnn text rises when a word of the format is gone, and an older or later text says so where it is not read.

dnn_words.txt: the version, then each word that a text may have: operations and their attributes, and fields of schedules. `BLESS=1`
writes it anew, which takes a version that has risen where words are gone."""
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import dnncc  # noqa: E402

WORDS = HERE / "dnn_words.txt"
TEXT = """dnn {version}
module "m"
func @main(%x "x": <4 x f32>) -> ("y") {{
  %0 = {operation}(%x) : <4 x f32>
  yield(%0)
}}
"""


def words():
    """what the tables have"""
    table = re.sub(r"/\*.*?\*/", "", (dnncc.ROOT / "ir" / "tensor" / "ops.def").read_text(), flags=re.S)
    operation, found = None, set()
    for m in re.finditer(r"^\s*(?:OP|EW|CMP)\((\w+)|\b(?:INT|INTS|ENUM|TYPE|TEXT)\((\w+)[,)]", table, re.M):
        operation = m[1] or operation
        found.add(m[1] or f"{operation} {m[2]}")
    fields = re.findall(r"^(?:REGISTERS|CIRCULAR|GRID|STREAM|SCALAR)\((\w+),", (dnncc.ROOT / "ir" / "target" / "schedule.def").read_text(), re.M)
    return found | {f"schedule {name}" for name in fields}


def compile_text(tmp_path, version, operation="abs"):
    path = tmp_path / "m.dnn"
    path.write_text(TEXT.format(version=version, operation=operation))
    return dnncc.run([dnncc.DNNCC, path, "--emit=ir", "--passes=", "-o", "-"])


def current(tmp_path):
    return int(re.match(r"dnn (\d+)\n", compile_text(tmp_path, 1).stdout)[1])


def test_the_version_follows_the_words(tmp_path):
    version, there = current(tmp_path), words()
    assert len(there) > 150
    first, *listed = WORDS.read_text().splitlines()
    gone = sorted(set(listed) - there)
    assert not gone or version > int(first), f"words of version {first} are gone, so TENSOR_VERSION (ir/tensor/tensor.h) rises: {gone}"
    if os.environ.get("BLESS"):
        WORDS.write_text("".join(f"{line}\n" for line in (version, *sorted(there))))
        first, *listed = WORDS.read_text().splitlines()
    assert (int(first), set(listed)) == (version, there), f"BLESS=1 writes {WORDS.name} anew: {sorted(there ^ set(listed))}"


def test_other_versions(tmp_path):
    version = current(tmp_path)
    assert compile_text(tmp_path, version).stdout == compile_text(tmp_path, 1).stdout, "what there still is, is read"
    done = compile_text(tmp_path, 1, "no_such")
    assert done.returncode == 3 and f"line 4, in a text of version 1 (dnncc now writes version {version}): " in done.stderr
    assert "error: line 4: there" in compile_text(tmp_path, version, "no_such").stderr
    done = compile_text(tmp_path, version + 1)
    assert done.returncode == 3 and f"this is version {version + 1} of the format, 1 to {version} are known" in done.stderr
