# SPDX-License-Identifier: MIT
"""The package of python/, under a name of its own here: `dnncc` is what the tests share (test/support/dnncc.py). Its cache is a
folder of the test run."""
import pathlib
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from python_package import HOME, ROOT, load_package  # noqa: E402, F401


@pytest.fixture(autouse=True, scope="session")
def cache():
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", folder)
        yield folder
