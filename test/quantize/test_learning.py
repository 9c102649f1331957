"""--quantize with the samples of --calibrate in the same run: one command for two, and the steps that learn from samples."""
import pathlib
import re
import sys

import numpy as np
import pytest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder) for folder in ("support", "bench", "passes")]
import dnncc  # noqa: E402
from test_quantize import chain  # noqa: E402


def compiled(model, folder, *options, code=dnncc.OK):
    """the C of a model, without what its head says"""
    folder.mkdir()
    done = dnncc.run([dnncc.DNNCC, model, "-MD", "-o", folder / "m.c", *options])
    assert done.returncode == code, done.stderr
    return re.sub("BUILD_[0-9A-F]+", "", (folder / "m.c").read_text().split("*/", 1)[1]) if code == dnncc.OK else done.stderr


# ---- one command ----

def test_one_command_is_two(tmp_path):
    """ranges in a file, or in the same run; what was read is what the output depends on"""
    m, *_ = chain(tmp_path)
    samples = tmp_path / "samples.npz"
    for more in [], ["--observer=mse"], ["--activations=s8", "--keep-float=first", "--target=x86-64-v3"], ["--max-ram=1M"]:
        two = compiled(m.path, tmp_path / f"two{len(more)}{more[:1]}", f"--quantize={m.file}", *more)
        folder = tmp_path / f"one{len(more)}{more[:1]}"
        assert compiled(m.path, folder, "--quantize", f"--calibrate={samples}", *more) == two
        assert str(samples) in (folder / "m.d").read_text() and str(m.path) in (folder / "m.d").read_text()
    first = compiled(m.path, tmp_path / "few", "--quantize", f"--calibrate={samples}", "--samples=2")
    assert first != compiled(m.path, tmp_path / "all", "--quantize", f"--calibrate={samples}")
    both = [f"--quantize={m.file}", f"--calibrate={samples}", "--samples=2"]
    assert compiled(m.path, tmp_path / "both", *both) == compiled(m.path, tmp_path / "file", f"--quantize={m.file}")
    text = (tmp_path / "both" / "m.c").read_text()
    assert "--quantize=FILE --calibrate=PATH --samples=2" in text and "samples.npz" not in text


def test_one_command_writes_models(tmp_path):
    m, *_ = chain(tmp_path)
    for more, path in ([f"--quantize={m.file}"], tmp_path / "two.onnx"), (["--quantize", f"--calibrate={tmp_path / 'samples.npz'}"], tmp_path / "one.onnx"):
        done = dnncc.run([dnncc.DNNCC, m.path, "--emit=onnx", "-o", path, *more])
        assert done.returncode == dnncc.OK, done.stderr
    assert (tmp_path / "one.onnx").read_bytes() == (tmp_path / "two.onnx").read_bytes()


@pytest.mark.parametrize("options, code, text", [
    (["--quantize"], dnncc.USAGE, "--quantize wants ranges: --quantize=FILE"),
    (["--quantize", "--calibrate=none"], dnncc.IO, "none"),
    (["--quantize", "--samples=2"], dnncc.USAGE, "--samples wants --calibrate"),
    (["--quantize", "--calibrate=samples.npz", "--exact"], dnncc.USAGE, "not with --exact"),
    (["--quantize", "--calibrate=nan.npz"], dnncc.INVALID, "NaN"),
])
def test_errors(options, code, text, tmp_path):
    m, *_ = chain(tmp_path)
    np.savez(tmp_path / "nan.npz", x=np.full((2, 1, 3, 8, 8), np.nan, np.float32))
    options = [o.replace("=", f"={tmp_path}/") if o.startswith("--cal") else o for o in options]
    error = compiled(m.path, tmp_path / "e", *options, code=code)
    assert text in error and error.count(": error: ") == 1
    assert not list((tmp_path / "e").iterdir())
