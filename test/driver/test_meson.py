# SPDX-License-Identifier: MIT
"""The lines for Meson in docs/user-guide.md, with what `make install` puts in place."""
import os
import shutil
import subprocess
import sys

import dnncc
import numpy as np
import onnx
import pytest

sys.path.insert(0, str(dnncc.ROOT / "test" / "python"))
import models  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not all(map(shutil.which, ("meson", "ninja", "pkg-config"))), reason="no meson, ninja or pkg-config")]
MAIN = """#include <stdio.h>
#include "digits.h"
DIGITS_WORKSPACE_DEFINE(workspace);
static float x[DIGITS_X_ELEMS], y[DIGITS_Y_ELEMS];
int main(void)
{
    for (int i = 0; i < (int)DIGITS_X_ELEMS; i++) x[i] = (float)(i % 7) - 3;
    int error = digits_run(workspace, x, y);
    for (int i = 0; i < (int)DIGITS_Y_ELEMS; i++) printf("%.9g ", (double)y[i]);
    return error;
}
"""


def recipe():
    text = (dnncc.ROOT / "docs" / "user-guide.md").read_text()
    lines = text[text.index("With Meson, "):].partition("\n\n")[2].partition("\n\n")[0].splitlines()
    assert lines[0].startswith("    project(") and all(line.startswith("    ") for line in lines)
    return "".join(line[4:] + "\n" for line in lines)


def save(folder, seed):
    onnx.save(models.matmul(8, 8, 8, seed), folder / "digits.onnx", save_as_external_data=True, location="digits.data", size_threshold=0)


def test_recipe(tmp_path):
    """it builds; again only when the model, or the data beside it, has changed; a model that is wrong ends the build"""
    prefix, build = tmp_path / "prefix", tmp_path / "build"
    environment = {**os.environ, "PATH": f"{prefix / 'bin'}:{os.environ['PATH']}", "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}

    def run(*command, fails=False):
        done = subprocess.run(list(map(str, command)), cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout

    def result(seed):
        x = (np.arange(64) % 7 - 3).astype(np.float32).reshape(8, 8)
        want = x @ onnx.numpy_helper.to_array(models.matmul(8, 8, 8, seed).graph.initializer[0])
        np.testing.assert_allclose(np.array(run(build / "example").split(), np.float32).reshape(8, 8), want, 1e-4, 1e-5)

    run("make", "-C", dnncc.ROOT, "install", f"PREFIX={prefix}")
    (tmp_path / "meson.build").write_text(recipe())
    (tmp_path / "main.c").write_text(MAIN)
    save(tmp_path, 0)
    run("meson", "setup", build)
    run("ninja", "-C", build)
    result(0)
    assert "no work to do" in run("ninja", "-C", build)
    save(tmp_path, 1)
    os.utime(tmp_path / "digits.onnx", (0, 0))                   # of another time alone is the data
    run("ninja", "-C", build)
    result(1)
    (tmp_path / "digits.data").write_bytes(b"")
    assert "digits.onnx: error: " in run("ninja", "-C", build, fails=True)
