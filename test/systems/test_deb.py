# SPDX-License-Identifier: MIT
"""The Debian package: lintian has nothing to say, it holds what `make install` installs, and its program compiles a model."""
import os
import re
import shutil
import subprocess
import sys
import pathlib

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

pytestmark = pytest.mark.long


def test_package(tmp_path):
    for tool in ("lintian", "dpkg-shlibdeps"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool}: make systems-packages")
    sums = []
    for _ in range(2):
        made = subprocess.run(["make", "deb"], cwd=dnncc.ROOT, env={**os.environ, "DEBEMAIL": "dnncc@example.org"}, capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
        package, = (dnncc.ROOT / "build").glob("dnncc_*.deb")
        sums.append(package.read_bytes())
    assert sums[0] == sums[1], "the same bytes every time"
    said = dnncc.run(["lintian", "--fail-on", "warning", package])
    assert said.returncode == 0, said.stdout
    assert dnncc.run(["dpkg-deb", "-x", package, tmp_path]).returncode == 0
    version = re.search(rb"libLLVM-(\d+)\.so", pathlib.Path(dnncc.DNNCC).read_bytes())              # loaded when it is wanted
    suggested = dnncc.run(["dpkg-deb", "-f", package, "Suggests"]).stdout
    assert re.findall(r"libllvm(\d+)", suggested) == ([version[1].decode()] if version else [])
    program, model = tmp_path / "usr" / "bin" / "dnncc", dnncc.ROOT / "examples" / "digits" / "digits.onnx"
    assert dnncc.run([program, model, "-o", tmp_path / "m.c"]).returncode == 0 and (tmp_path / "m.c").exists()
    for path in ("share/man/man1/dnncc.1.gz", "share/doc/dnncc/copyright", "include/dnncc_runtime.h", "lib/libdnncc_runtime.a", "share/dnncc/examples/firmware/main.c"):
        assert (tmp_path / "usr" / path).exists(), path
