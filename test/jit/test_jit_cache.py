# SPDX-License-Identifier: MIT
"""--jit --cache=DIR: a second start has what the first one compiled, gives its bits, and takes nothing that is not exactly that.
--perf-map, and what GDB sees."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

DIGITS = dnncc.ROOT / "examples" / "digits" / "digits.onnx"
MODELS = dnncc.ROOT.parent / "shared" / "models"
missing = dnncc.run([dnncc.DNNCC, DIGITS, "--run=zeros", "--jit"]).returncode == dnncc.UNSUPPORTED
pytestmark = pytest.mark.skipif(missing, reason="LLVM is missing")
IO, USAGE = 2, 1


def run(model, cache, *options, code=0):
    done = dnncc.run([dnncc.DNNCC, model, "--jit=fast", "--run=random", f"--cache={cache}", *options])
    assert done.returncode == code, done.stderr
    return done if code else "".join(line for line in done.stdout.splitlines(True) if line.startswith("output"))


def entries(cache):
    """the files with what tells whether they were written since: each is written anew and renamed"""
    return {path.name: path.stat().st_ino for path in sorted(cache.iterdir())}


def kinds(cache):
    return sorted(path.suffix for path in cache.iterdir())


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """one with constants in a file beside it"""
    weights = np.random.default_rng(1).standard_normal((40, 30)).astype(np.float32)
    values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in (("x", [3, 40]), ("y", [3, 30]))]
    graph = onnx.helper.make_graph([onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "g", values[:1], values[1:], [onnx.numpy_helper.from_array(weights, "w")])
    path = tmp_path_factory.mktemp("model") / "product.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)]), path, save_as_external_data=True, location="product.bin",
              size_threshold=0)
    return path


def test_a_second_start_has_what_the_first_compiled(tmp_path, model):
    for number, path in enumerate([DIGITS, model, *(p for p in (MODELS / "resnet8_fp32" / "model.onnx",) if p.exists())]):
        cache = tmp_path / str(number)
        first = run(path, cache)
        made = entries(cache)
        assert kinds(cache) == [".code", ".program"] and cache.stat().st_mode & 0o077 == 0
        assert run(path, cache) == first == run(path, tmp_path / f"{number} again") and entries(cache) == made
        assert run(path, cache, "--jit=best") and len(entries(cache)) == 3         # of the same program
        assert made.items() <= entries(cache).items()


def test_what_shapes_a_program_is_in_its_key(tmp_path, model):
    """each of these is another entry; where it was before it is found again"""
    cache, other = tmp_path / "cache", tmp_path / "other"
    other.mkdir()
    for name in ("product.onnx", "product.bin"):
        shutil.copy(model.parent / name, other)
    changed = onnx.load(model)
    changed.graph.node[0].name = "another"
    onnx.save(changed, model.parent / "named.onnx", save_as_external_data=True, location="named.bin", size_threshold=0)
    ways = [(model,), (model, "--exact"), (model, "--threads=2"), (model, "-O1"), (other / "product.onnx",), (model.parent / "named.onnx",),
            (model, "--limit", "unrolled_steps=1"), (model, "--output=y"), (model, "--format=onnx")]
    seen = {}
    for way in ways:
        run(way[0], cache, *way[1:])
        assert len(entries(cache)) == len(seen) + 2, way
        seen = entries(cache)
    for way in ways:
        run(way[0], cache, *way[1:])
    assert entries(cache) == seen


def test_files_beside_the_model_are_compared(tmp_path, model):
    cache, folder = tmp_path / "cache", tmp_path / "model"
    shutil.copytree(model.parent, folder)
    first = run(folder / "product.onnx", cache)
    made = entries(cache)
    weights = np.fromfile(folder / "product.bin", np.float32)
    (weights + 1).tofile(folder / "product.bin")
    second = run(folder / "product.onnx", cache)
    assert second != first and second == run(folder / "product.onnx", tmp_path / "fresh")
    assert all(entries(cache)[name] != made[name] for name in made if name.endswith(".program"))
    (folder / "product.bin").unlink()
    assert "product.bin" in run(folder / "product.onnx", cache, code=IO).stderr


def test_broken_entries_are_compiled_anew(tmp_path, model):
    """a byte changed anywhere, the end cut off, more behind it, another entry's bytes, nothing, a folder, a link"""
    cache = tmp_path / "cache"
    want = run(model, cache)
    other = tmp_path / "other"
    run(DIGITS, other)
    for path in sorted(cache.iterdir()):
        whole = path.read_bytes()
        used = [k for k in range(len(whole)) if whole[k]]       # the rest is between parts
        places = used[::max(1, len(used) // 60)] + [used[-1]]
        foreign = next(p for p in other.iterdir() if p.suffix == path.suffix).read_bytes()
        for broken in [*(whole[:k] + bytes([whole[k] ^ 1]) + whole[k + 1:] for k in places), whole[:-1], whole[:4096], whole[:100], foreign, b""]:
            path.write_bytes(broken)
            before = path.stat().st_ino
            assert run(model, cache) == want
            assert path.stat().st_ino != before and path.read_bytes() == whole
    program = next(p for p in cache.iterdir() if p.suffix == ".program")
    aside = tmp_path / "aside"
    program.rename(aside)
    program.symlink_to(aside)
    assert run(model, cache) == want
    program.unlink()
    aside.rename(program)
    program.chmod(0o666)                # somebody else may have written it
    assert run(model, cache) == want and program.stat().st_mode & 0o022 == 0


def test_folders_that_are_not_the_users_alone(tmp_path):
    for mode in (0o777, 0o770, 0o702):
        folder = tmp_path / f"{mode:o}"
        folder.mkdir()
        folder.chmod(mode)
        assert re.search(r"--cache=\S+: others may write there", run(DIGITS, folder, code=IO).stderr) and not any(folder.iterdir())
    if os.geteuid() == 0:
        folder = tmp_path / "owned"
        folder.mkdir()
        os.chown(folder, 12345, 12345)
        assert "another user's" in run(DIGITS, folder, code=IO).stderr
    (tmp_path / "file").write_text("")
    assert "no folder" in run(DIGITS, tmp_path / "file", code=IO).stderr
    assert "No such file" in run(DIGITS, tmp_path / "none" / "deeper", code=IO).stderr


def test_a_folder_that_cannot_be_written(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root writes everywhere")
    cache = tmp_path / "cache"
    cache.mkdir(0o500)
    done = dnncc.run([dnncc.DNNCC, DIGITS, "--jit=fast", "--run=zeros", f"--cache={cache}"])
    assert done.returncode == 0 and "nothing is kept" in done.stderr and not any(cache.iterdir())


def test_options(tmp_path):
    for wrong in (["--run=zeros"], ["--jit", "--check"], ["--jit", "--run=zeros", "--stats"], ["--jit", "--run=zeros", "--dump-dir", tmp_path / "dumps"]):
        done = dnncc.run([dnncc.DNNCC, DIGITS, f"--cache={tmp_path / 'cache'}", *wrong])
        assert done.returncode == USAGE and "--cache" in done.stderr, done.stderr
    assert not (tmp_path / "cache").exists()


def test_what_is_not_kept_runs_all_the_same(tmp_path, model):
    """lists of targets"""
    cache = tmp_path / "cache"
    assert run(model, cache, "--target=generic,x86-64") == run(model, cache, "--target=x86-64")
    assert kinds(cache) == [".code", ".program"]


def test_starts_at_the_same_time(tmp_path, model):
    cache = tmp_path / "cache"
    command = [dnncc.DNNCC, model, "--jit=fast", "--run=random", f"--cache={cache}"]
    started = [subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(8)]
    said = [child.communicate() for child in started]
    assert all(child.returncode == 0 for child in started), said
    assert len({re.sub("compiled.*", "", out) for out, _ in said}) == 1 and kinds(cache) == [".code", ".program"]


def test_other_ways_to_run(tmp_path):
    """--test and --bench begin with what --run kept"""
    mnist = MODELS / "mnist_cnn"
    if not mnist.exists():
        pytest.skip("no shared models")
    cache = tmp_path / "cache"
    run(mnist / "model.onnx", cache)
    made = entries(cache)
    for how in (f"--test={mnist / 'test_data_set_0'}", "--bench=1"):
        done = dnncc.run([dnncc.DNNCC, mnist / "model.onnx", "--jit=fast", how, f"--cache={cache}"])
        assert done.returncode == 0, done.stderr
    assert entries(cache) == made


def test_perf_map():
    """each kernel has a line, of another place"""
    child = subprocess.Popen([dnncc.DNNCC, DIGITS, "--jit", "--run=zeros", "--perf-map"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    child.communicate()
    path = pathlib.Path(f"/tmp/perf-{child.pid}.map")
    try:
        assert child.returncode == 0
        lines = [re.fullmatch(r"([0-9a-f]+) ([0-9a-f]+) (\S+)", line).groups() for line in path.read_text().splitlines()]
    finally:
        path.unlink(missing_ok=True)
    names = [name for *_, name in lines]
    places = sorted((int(at, 16), int(size, 16)) for at, size, _ in lines)
    assert "dnncc_main" in names and len(names) == len(set(names)) > 2
    assert all(at + size <= after for (at, size), (after, _) in zip(places, places[1:]))


@pytest.mark.slow
def test_gdb_sees_kernels():
    """GDB's interface for code made in memory: a breakpoint by a function's name is one"""
    if not shutil.which("gdb"):
        pytest.skip("no gdb here")
    done = dnncc.run(["gdb", "-batch", "-nx", "-ex", "set breakpoint pending on", "-ex", "set confirm off", "-ex", "break dnncc_main", "-ex", "run", "-ex", "backtrace 1",
                      "-ex", "kill", "--args", dnncc.DNNCC, DIGITS, "--jit", "--run=zeros"], timeout=120)
    if "ptrace" in done.stderr:
        pytest.skip("no process may be traced here")
    assert re.search(r"#0\s+0x[0-9a-f]+ in dnncc_main", done.stdout), done.stdout + done.stderr
