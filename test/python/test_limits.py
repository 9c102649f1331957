# SPDX-License-Identifier: MIT
"""What a call costs over C, what a process that loads ten thousand times keeps, how soon a cached model answers. Time is of the
processor; the least of several turns."""
import ctypes
import gc
import os
import pathlib
import subprocess
import sys
import threading
import time

import dnncc_package
import models
import numpy as np
import pytest
from onnx import TensorProto

ROOT = pathlib.Path(__file__).resolve().parents[2]
MICROSECONDS = 1e6


def least(call, runs=20000, turns=7):
    """microseconds of a call"""
    times = []
    for _ in range(turns):
        begun = time.process_time()
        for _ in range(runs):
            call()
        times.append((time.process_time() - begun) / runs * MICROSECONDS)
    return min(times)


def in_c(m, x, runs=100000):
    """microseconds of a run, in a loop in C"""
    lane = m._program.new_lane()
    y = np.empty(4, np.float32)
    lane[0][0], lane[1][0] = x.ctypes.data, y.ctypes.data
    loop = ctypes.CDLL(str(build_loop())).loop
    run = ctypes.cast(m._program.function, ctypes.c_void_p)
    return least(lambda: loop(run, *(ctypes.c_void_p(a) for a in lane[2:5]), runs), 1) / runs


def build_loop():
    path = ROOT / "build" / "run_loop.so"
    source = """void loop(int (*run)(void *, void *, void *, void *), void *r, void *i, void *o, int n) { while (n--) run(r, i, o, 0); }"""
    scratch = path.with_suffix(f".{os.getpid()}")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-xc", "-", "-o", scratch], input=source, text=True, check=True)
    scratch.rename(path)
    return path


def test_a_call_costs_at_most_10_microseconds_over_c_and_3_bound():
    m = dnncc_package.compile(models.one("Relu", TensorProto.FLOAT))
    x = np.array([1, -2, 0, 3], np.float32)
    c, call, bound = in_c(m, x), least(lambda: m(x)), least(m.bind(x))
    print(f"\nC {c:.3f} us, call {call:.2f} us, bound {bound:.2f} us")
    assert call - c <= 10 and bound - c <= 3


def resident():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"threads": 2, "target": "native"}], ids=str)
@pytest.mark.sample(2)
def test_ten_thousand_loads_and_calls_keep_nothing(options, tmp_path):
    dnncc_package.compile(models.matmul(), **options).save(tmp_path / "m.so")
    x = np.ones((64, 64), np.float32)

    def work(count):
        for k in range(count):
            m = dnncc_package.load(tmp_path / "m.so")
            m(x)
            m.bind(x)()
        gc.collect()
    work(500)
    grown = []
    for _ in range(2):                  # the allocator may take some once, whatever keeps something takes it again
        before = resident()
        work(10000)
        grown.append(resident() - before)
    assert min(grown) < 1 << 20, grown
    assert sum(str(tmp_path / "m.so") in line for line in pathlib.Path("/proc/self/maps").read_text().splitlines()) <= 5


def test_a_library_is_gone_when_its_model_is(tmp_path):
    dnncc_package.compile(models.matmul()).save(tmp_path / "gone.so")
    m = dnncc_package.load(tmp_path / "gone.so")
    bound = m.bind(np.ones((64, 64), np.float32))
    del m
    gc.collect()
    assert bound().shape == (64, 64)    # which holds it
    assert "gone.so" in pathlib.Path("/proc/self/maps").read_text()
    del bound
    gc.collect()
    assert "gone.so" not in pathlib.Path("/proc/self/maps").read_text()


def test_failed_calls_keep_nothing():
    m = dnncc_package.compile(models.table())
    bad = np.array([9, 9])

    def work(count):
        for _ in range(count):
            with pytest.raises(dnncc_package.Error):
                m(bad)
    work(1000)
    before = resident()
    work(10000)
    assert resident() - before < 1 << 20 and len(m._program.lanes) == 1


@pytest.fixture
def child(tmp_path):
    """Runs code in a Python of its own as users have it: modules are compiled once. numpy's threads, which spin while they have
    nothing to do, are not there."""
    begin = f"import sys; sys.path.insert(0, {str(ROOT / 'python')!r}); sys.path.insert(0, {str(ROOT / 'test' / 'python')!r})\n"
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    env |= {"PYTHONPYCACHEPREFIX": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"}

    def run(code):
        done = subprocess.run([sys.executable, "-c", begin + code], capture_output=True, text=True, cwd=ROOT, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()
    return run


def test_import_takes_at_most_30_ms_beside_numpy(child):
    code = "import numpy, time; t = time.process_time(); import dnncc; print(time.process_time() - t, *sys.modules)"
    seconds, *modules = min((child(code) for _ in range(5)), key=lambda words: float(words[0]))
    assert float(seconds) <= 0.030
    assert not {"subprocess", "shutil", "tempfile", "onnx", "torch", "ml_dtypes", "dnncc._build"} & set(modules)   # nor on the way


@pytest.mark.slow
def test_four_threads_scale():
    """Runs of one model, without the lock of Python: threads are as fast as processes, which share nothing but the machine. (Its two
    processors may be one core's: then neither is twice as fast as one.) Turns go on while others on the machine are in the way."""
    m = dnncc_package.compile(models.matmul(128, 128, 128))
    x = np.ones((128, 128), np.float32)
    bounds = [m.bind(x.copy()) for _ in range(4)]

    def work(k):
        for _ in range(200):
            bounds[k]()

    def by_threads():
        all_ = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        begin = time.monotonic()
        for t in all_:
            t.start()
        for t in all_:
            t.join()
        return time.monotonic() - begin

    def by_processes():
        """from the moment that all four exist"""
        wait, go = os.pipe()
        children = []
        for k in range(4):
            children.append(os.fork())
            if not children[-1]:
                os.close(go)
                os.read(wait, 1)
                work(k)
                os._exit(0)
        begin = time.monotonic()
        os.close(wait)
        os.close(go)
        for c in children:
            assert os.waitpid(c, 0)[1] == 0
        return time.monotonic() - begin
    threads = processes = one = float("inf")
    for turn in range(40):
        begin = time.monotonic()
        for k in range(4):
            work(k)
        one = min(one, time.monotonic() - begin)
        threads, processes = min(threads, by_threads()), min(processes, by_processes())
        if turn >= 4 and threads * 0.9 <= processes:
            break
    print(f"\n4 threads on {len(os.sched_getaffinity(0))} processors: {one / threads:.2f} times as fast as one, processes {one / processes:.2f}")
    assert threads * 0.9 <= processes


MOBILENET = ROOT / "build" / "zoo" / "mobilenet_v2.onnx"


@pytest.mark.slow
@pytest.mark.skipif(not MOBILENET.exists(), reason="build/zoo has no mobilenet_v2.onnx: make bench builds it")
def test_a_cached_model_answers_within_50_ms(child):
    """MobileNetV2: reading and hashing 14 MB, the keys, loading, the first run; processes that are waited for count"""
    code = f"""if 1:
        import numpy as np, os, dnncc
        x = np.zeros((1, 3, 224, 224), np.float32)
        def spent():
            t = os.times()
            return t.user + t.system + t.children_user + t.children_system
        t = spent()
        dnncc.compile({str(MOBILENET)!r}, target="native")(x)
        print(spent() - t)"""
    child(code)
    assert min(float(child(code)[0]) for _ in range(5)) <= 0.050
