# SPDX-License-Identifier: MIT
"""What is compiled once is not compiled again, by no process; and what went into it counts, all of it."""
import gc
import os
import pathlib
import signal as signals
import subprocess
import sys
import tempfile
import time

import dnncc_package
import models
import numpy as np
import onnx
import pytest
from dnncc_package import _files
from onnx import TensorProto

ROOT = pathlib.Path(__file__).resolve().parents[2]
X = np.ones((64, 64), np.float32)


@pytest.fixture
def compilers(tmp_path, monkeypatch):
    """a cache of the test's own; and a C compiler that counts: call it for (its command, how often it compiled)"""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    log = tmp_path / "log"

    def count(name="counting-cc", version="1"):
        script = tmp_path / name
        script.write_text(f'#!/bin/sh\ncase "$*" in --version) echo {version}; exit 0 ;; *-E*) exec cc "$@" ;; esac\necho >>{log}\nexec cc "$@"\n')
        script.chmod(0o755)
        return str(script)
    count.runs = lambda: len(log.read_text().splitlines()) if log.exists() else 0
    return count


def test_what_counts(compilers, monkeypatch):
    cc = compilers()
    for more, runs in (({}, 1), ({}, 1), ({"exact": True}, 2), ({"exact": True}, 2), ({"exact": False}, 2), ({"cc": cc + " -O1"}, 3), ({}, 3),
                       ({"cache": False}, 4), ({"stats": True}, 5)):
        assert dnncc_package.compile(models.matmul(), **{"cc": cc, **more})(X).shape == (64, 64)
        assert compilers.runs() == runs, more
    dnncc_package.compile(models.matmul(seed=1), cc=cc)
    assert compilers.runs() == 6
    dnncc_package.compile(models.matmul(), cc=compilers(version="2"))
    assert compilers.runs() == 7
    monkeypatch.setattr(dnncc_package._tool, "digest", lambda: "another compiler")
    dnncc_package.compile(models.matmul(), cc=cc)
    assert compilers.runs() == 8


def test_a_path_is_as_good_as_bytes(compilers, tmp_path):
    for name in ("a.onnx", "b.onnx"):
        onnx.save(models.matmul(), tmp_path / name)
        dnncc_package.compile(tmp_path / name, cc=compilers())
    dnncc_package.compile((tmp_path / "a.onnx").read_bytes(), cc=compilers())
    assert compilers.runs() == 1


def test_data_beside_the_model_counts(compilers, tmp_path):
    """of two models with the same bytes each has its own"""
    ys = []
    for k in range(2):
        (tmp_path / str(k)).mkdir()
        onnx.save(models.matmul(seed=k), tmp_path / str(k) / "m.onnx", save_as_external_data=True, location="m $# data", size_threshold=0)
    assert (tmp_path / "0" / "m.onnx").read_bytes() == (tmp_path / "1" / "m.onnx").read_bytes()
    for turn in range(2):
        for k in range(2):
            y = dnncc_package.compile(tmp_path / str(k) / "m.onnx", cc=compilers())(X)
            ys.append(y)
            np.testing.assert_allclose(y[0], models.onnx.numpy_helper.to_array(models.matmul(seed=k).graph.initializer[0]).sum(0), rtol=1e-3, atol=1e-3)
        assert compilers.runs() == 2
    os.replace(tmp_path / "1" / "m $# data", tmp_path / "0" / "m $# data")
    assert (dnncc_package.compile(tmp_path / "0" / "m.onnx", cc=compilers())(X) == ys[1]).all() and compilers.runs() == 2
    (tmp_path / "0" / "m $# data").unlink()
    with pytest.raises(dnncc_package.Error, match="data"):
        dnncc_package.compile(tmp_path / "0" / "m.onnx", cc=compilers())


def test_a_schedule_counts(compilers, tmp_path, monkeypatch):
    """what is in it"""
    for k in range(2):
        (tmp_path / str(k)).mkdir()
        (tmp_path / str(k) / "s.schedule").write_text("dnncc-schedule 1\n" + "\n" * k)
        monkeypatch.chdir(tmp_path / str(k))
        for _ in range(2):
            dnncc_package.compile(models.matmul(), schedule="s.schedule", target="x86-64", cc=compilers())
        assert compilers.runs() == k + 1


def test_two_processes_at_once(compilers, tmp_path, cache):
    code = f"""if 1:
        import sys; sys.path.insert(0, {str(ROOT / 'python')!r}); sys.path.insert(0, {str(ROOT / 'test' / 'python')!r})
        import dnncc, models, numpy as np
        sys.stdin.read(1)
        print(dnncc.compile(models.matmul(), cc={compilers()!r})(np.ones((64, 64), np.float32)).tobytes().hex())"""
    all = [subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for p in all:
        p.stdin.write("x")
        p.stdin.flush()
    said = {p.communicate()[0] for p in all}
    assert len(said) == 1 and len(said.pop()) > 1000
    left = [p.name for p in (tmp_path / "cache" / "dnncc").rglob("*") if p.is_file()]
    assert sorted(left) == ["model.json", "model.so"]


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["model.so", "model.json"])
def test_what_is_damaged_is_made_again(compilers, tmp_path, name):
    code = f"""if 1:
        import sys; sys.path.insert(0, {str(ROOT / 'python')!r}); sys.path.insert(0, {str(ROOT / 'test' / 'python')!r})
        import dnncc, models, numpy as np
        print(dnncc.compile(models.matmul(), cc={compilers()!r})(np.ones((64, 64), np.float32)).sum())"""

    def run():
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    first = run()
    found, = (tmp_path / "cache").rglob(name)
    found.write_bytes(found.read_bytes()[:20])
    assert run() == first and compilers.runs() == 2 and run() == first and compilers.runs() == 2
    found.unlink()
    assert run() == first and run() == first and compilers.runs() == 3


def test_without_a_cache(compilers, tmp_path, monkeypatch):
    """one that cannot be written; paths that are not absolute do not count"""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    m = dnncc_package.compile(models.matmul(), cc=compilers())
    assert m(X).shape == (64, 64)
    m.save(tmp_path / "m.c")
    m.save(tmp_path / "m.so")
    assert (dnncc_package.load(tmp_path / "m.so")(X) == m(X)).all()
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert dnncc_package.cache_folder() == str(tmp_path / ".cache" / "dnncc")


def test_folders_go_with_their_models(compilers, tmp_path, monkeypatch):
    """those of models beside the cache, and what a process that was killed left in it"""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(_files, "roots", {})
    (tmp_path / "tmp").mkdir()
    m = dnncc_package.compile(models.matmul(), cc=compilers(), cache=False)
    root, = (tmp_path / "tmp").iterdir()
    assert len(list(root.iterdir())) == 1
    del m
    gc.collect()
    assert list(root.iterdir()) == []
    _files.remove_root(os.getpid())
    assert list((tmp_path / "tmp").iterdir()) == []
    for name, age in (("new-old", 90000), ("new-young", 3600)):
        (tmp_path / "cache" / "dnncc" / name).mkdir(parents=True)
        os.utime(tmp_path / "cache" / "dnncc" / name, (time.time() - age,) * 2)
    dnncc_package.compile(models.matmul(), cc=compilers())
    assert [p.name for p in (tmp_path / "cache" / "dnncc").glob("new-*")] == ["new-young"]


@pytest.mark.sample(2)
@pytest.mark.parametrize("signal", ["SIGTERM", "SIGKILL"])
@pytest.mark.parametrize("when", ["compiling", "compiled"])
def test_a_signal_leaves_nothing_in_the_temporary_folder(tmp_path, signal, when):
    """neither while the C compiler runs nor later, when the model holds a folder"""
    (tmp_path / "cc").write_text(f'#!/bin/sh\ncase "$*" in *-shared*) echo >{tmp_path}/begun; [ {when} = compiled ] || exec sleep 3 ;; esac\nexec cc "$@"\n')
    (tmp_path / "cc").chmod(0o755)
    (tmp_path / "tmp").mkdir()
    code = f"""if 1:
        import sys, time; sys.path.insert(0, {str(ROOT / 'python')!r}); sys.path.insert(0, {str(ROOT / 'test' / 'python')!r})
        import dnncc, models
        m = dnncc.compile(models.matmul(), cc={str(tmp_path / 'cc')!r}, cache=False)
        open({str(tmp_path / 'compiled')!r}, "w").close()
        time.sleep(60)"""
    child = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path / "tmp")})
    wait_for((tmp_path / ("begun" if when == "compiling" else "compiled")).exists)
    assert len(list((tmp_path / "tmp").iterdir())) == 1
    child.send_signal(getattr(signals, signal))
    assert child.wait() == -getattr(signals, signal)
    wait_for(lambda: not list((tmp_path / "tmp").iterdir()))


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_nothing_is_kept_of_what_failed(compilers, tmp_path):
    with pytest.raises(dnncc_package.Error):
        dnncc_package.compile(models.matmul(), cc=compilers() + " -no-such-flag")
    with pytest.raises(dnncc_package.Error):
        dnncc_package.compile(models.matmul(), cc=compilers(), max_ram=1, max_consts=1)
    assert list((tmp_path / "cache" / "dnncc").iterdir()) == []


def test_the_interface_of_another_version_is_refused(tmp_path):
    dnncc_package.compile(models.one("Relu", TensorProto.FLOAT)).save(tmp_path / "m.c")
    text = (tmp_path / "m.c").read_text()
    assert "\n        1, sizeof(struct dnncc_model_1)" in text
    (tmp_path / "m.c").write_text(text.replace("\n        1, sizeof", "\n        2, sizeof"))
    subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "m.c", "-o", tmp_path / "m.so"], check=True)
    with pytest.raises(dnncc_package.Error, match="another version"):
        dnncc_package.load(tmp_path / "m.so")
    (tmp_path / "e.c").write_text("int x;\n")
    subprocess.run(["cc", "-shared", "-fPIC", tmp_path / "e.c", "-o", tmp_path / "e.so"], check=True)
    with pytest.raises(dnncc_package.Error, match="e_describe"):
        dnncc_package.load(tmp_path / "e.so")


def test_models_of_functions_keep_apart(compilers):
    """two libraries with the same symbols in one process"""
    relu, neg = (dnncc_package.compile(models.one(op, TensorProto.FLOAT)) for op in ("Relu", "Neg"))
    x = np.array([1, -2, 0, 3], np.float32)
    assert (relu(x) == [1, 0, 0, 3]).all() and (neg(x) == [-1, 2, 0, -3]).all()
