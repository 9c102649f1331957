# SPDX-License-Identifier: MIT
"""Models for a GPU, called from Python: by the executor of test/cuda, which a command in nvcc's place compiles them with; and that nvcc takes them."""
import gc
import pathlib
import pickle
import shutil
import sys

import dnncc_package
import models
import numpy as np
import pytest
from onnx import TensorProto

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits" / "digits.onnx"
IMAGE = np.random.default_rng(1).random((1, 1, 8, 8), np.float32)
NVCC = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
COMPILER = f"""#!{sys.executable}
import pathlib, sys
sys.path.insert(0, {str(ROOT / 'test' / 'support')!r})
import cuda, dnncc
words = sys.argv[1:]
if words == ["--version"]:
    sys.exit(print("the executor"))
assert {{"-arch=sm_90", "-shared", "-cudart"}} <= set(words), words
out, source = words[words.index("-o") + 1], words[-1]
flags = [*cuda.CXX.split(), *cuda.CXXFLAGS, "-O3", "-march=native", "-fPIC"]
runtime = [cuda.built(name, [cuda.FOLDER / f"{{name}}.cpp"], [*flags, "-c", cuda.FOLDER / f"{{name}}.cpp"]) for name in cuda.RUNTIME]
cuda.link([cuda.model_object(source, flags=["-O1", "-fPIC"]), *runtime], out, cuda.CXX + " -shared")
"""
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not shutil.which("g++"), reason="no g++")]


@pytest.fixture(scope="module")
def nvcc(tmp_path_factory):
    path = tmp_path_factory.mktemp("nvcc") / "nvcc"
    path.write_text(COMPILER)
    path.chmod(0o755)
    return str(path)


@pytest.fixture(scope="module")
def digits(nvcc):
    return dnncc_package.compile(DIGITS, target="cuda-sm_90", cc=nvcc)


@pytest.fixture(scope="module")
def pair(nvcc):
    return dnncc_package.compile(models.two_of_each(), target="cuda-sm_90", cc=nvcc)


def put(port, x):
    """an array of the device's"""
    y = port.new()
    y._memory.runtime.copy(y.address, np.ascontiguousarray(x).ctypes.data, x.nbytes, 1)
    return y


def test_arrays_of_numpy_are_copied_there_and_back(digits):
    y = digits(IMAGE)
    assert type(y) is np.ndarray and y.shape == (1, 10) and digits(IMAGE).tobytes() == y.tobytes()
    np.testing.assert_allclose(y, dnncc_package.compile(DIGITS)(IMAGE), 1e-4, 1e-5)
    assert digits.run({"image": IMAGE})["probabilities"].tobytes() == y.tobytes()
    assert [r["name"] for r in digits.info["memory"]] == ["workspace"] and digits.info["device"] == "sm_90"


def test_arrays_of_the_device_stay_there(digits):
    x = put(digits.inputs[0], IMAGE)
    y = digits(x)
    assert repr(y) == "DeviceArray(float32[1, 10], device 0)" and y.__dlpack_device__() == (2, 0)
    assert y.numpy().tobytes() == digits(IMAGE).tobytes() == np.asarray(y).tobytes()
    held = y.__cuda_array_interface__
    assert held["shape"] == (1, 10) and held["typestr"] == "<f4" and held["data"] == (y.address, False)


def test_dlpack_lets_go_of_what_was_given(pair):
    """taken or not: of a capsule that nobody took, its end says so"""
    from dnncc_package import _device
    a, b = (np.arange(n, dtype=np.float32).reshape(s) for n, s in ((6, (2, 3)), (3, (3,))))
    x = put(pair.inputs[0], a)
    capsule = x.__dlpack__(stream=1)
    assert len(_device.exported) == 1
    del capsule
    gc.collect()
    assert not _device.exported
    total, product = pair(x, b)
    assert (total.numpy() == a + b).all() and (product.numpy() == a * b).all()
    gc.collect()
    assert not _device.exported


def test_arrays_outlive_their_model(nvcc):
    """and the library with them"""
    m = dnncc_package.compile(models.one("Neg", TensorProto.FLOAT), target="cuda-sm_90", cc=nvcc, cache=False)
    y = m(put(m.inputs[0], np.arange(4, dtype=np.float32)))
    del m
    gc.collect()
    assert y.numpy().tolist() == [0, -1, -2, -3]
    del y
    gc.collect()


def test_bind(pair):
    a, b = np.ones((2, 3), np.float32), np.arange(3, dtype=np.float32)
    x, z, y = put(pair.inputs[0], a), put(pair.inputs[1], b), pair.outputs[0].new()
    run = pair.bind(x, z, y)
    assert run() is run.outputs and run.outputs[0] is y and run.inputs[0] is x and (y.numpy() == a + b).all()
    assert (run.outputs.product.numpy() == a * b).all()
    for arrays, words in (((a, z), "device's memory"), ((x, z, x), "overlaps"), ((x, z, y, y), "overlaps")):
        with pytest.raises(dnncc_package.ArgumentError, match=words):
            pair.bind(*arrays)


class Strided:
    """an array whose DLPack says that it is of another type, or not dense"""
    def __init__(self, array, **fields):
        self.array, self.fields = array, fields

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **keywords):
        from dnncc_package import _device
        capsule = self.array.__dlpack__(**keywords)
        tensor = next(iter(_device.exported.values()))[1].tensor
        for name, value in self.fields.items():
            setattr(tensor, name, value)
        return capsule


def test_what_does_not_fit_is_refused(pair):
    import ctypes
    b = np.zeros(3, np.float32)
    for fields, words in (({"bits": 16}, "float32"), ({"code": 0}, "float32"), ({"ndim": 1}, r"shape \(2, 3\), not \(2,\)"), ({"device": 1}, "device 1"),
                          ({"strides": (ctypes.c_int64 * 2)(1, 2)}, "dense")):
        with pytest.raises(dnncc_package.ArgumentError, match=words):
            pair(Strided(put(pair.inputs[0], np.zeros((2, 3), np.float32)), **fields), b)
    same = Strided(put(pair.inputs[0], np.ones((2, 3), np.float32)), strides=(ctypes.c_int64 * 2)(3, 1))
    assert (pair(same, b)[0].numpy() == 1).all()


def test_a_failed_run_says_why(nvcc):
    m = dnncc_package.compile(models.table(), target="cuda-sm_90", cc=nvcc)
    assert (m(np.array([4, 0]))[0] == [12, 13, 14]).all()
    with pytest.raises(dnncc_package.Error, match="index is out of range"):
        m(np.array([5, 0]))
    assert (m(np.array([4, 0]))[0] == [12, 13, 14]).all()


@pytest.mark.parametrize("type", [TensorProto.BFLOAT16, *(pytest.param(t, marks=pytest.mark.long) for t in (TensorProto.FLOAT16, TensorProto.BOOL, TensorProto.UINT8))])
def test_types(type, nvcc):
    m = dnncc_package.compile(models.one("Identity", type), target="cuda-sm_90", cc=nvcc)
    x = np.array([1, 0, 1, 1]).astype(m.inputs[0].dtype)
    assert m(x).tobytes() == m(put(m.inputs[0], x)).numpy().tobytes() == x.tobytes()


def test_files(digits, tmp_path, nvcc):
    digits.save(tmp_path / "digits.cu")
    assert "__global__" in (tmp_path / "digits.cu").read_text() and (tmp_path / "digits.h").exists()
    digits.save(tmp_path / "net.so")
    for m in (dnncc_package.load(tmp_path / "net.so"), pickle.loads(pickle.dumps(digits))):
        assert m(IMAGE).tobytes() == digits(IMAGE).tobytes()
    assert "conv1" in digits.report().html
    of_file = dnncc_package.compile(DIGITS, target="cuda-sm_90", cc=nvcc, weights="file")
    assert of_file(IMAGE).tobytes() == digits(IMAGE).tobytes()


def test_other_names_of_targets():
    """which --target=help lists"""
    from dnncc_package import _tool
    assert _tool.target("h100") == "cuda-sm_90" == _tool.target("cuda-sm_90") and _tool.target("none") == "none"


def test_without_nvcc():
    with pytest.raises(dnncc_package.Error, match="wants nvcc.*'no-nvcc' is not there"):
        dnncc_package.compile(DIGITS, target="cuda-sm_90", cc="no-nvcc")


@pytest.mark.skipif(not NVCC, reason="no nvcc")
def test_nvcc_takes_it():
    """where there is no device, the first call that needs one says so"""
    try:
        assert dnncc_package.compile(DIGITS, target="cuda-sm_90", cc=NVCC)(IMAGE).shape == (1, 10)
    except dnncc_package.Error as error:
        assert error.code == -8 and "there is no device, or no driver" in error.text
