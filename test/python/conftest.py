# SPDX-License-Identifier: MIT
"""The package of python/, under a name of its own here: `dnncc` is what the tests share (test/support/dnncc.py). Its cache is a
folder of the test run."""
import importlib.util
import os
import pathlib
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOME = ROOT / "python" / "dnncc"


def load_package():
    spec = importlib.util.spec_from_file_location("dnncc_package", HOME / "__init__.py", submodule_search_locations=[str(HOME)])
    package = importlib.util.module_from_spec(spec)
    sys.modules["dnncc_package"] = package
    spec.loader.exec_module(package)
    return package


load_package()
os.environ.setdefault("DNNCC", str(ROOT / "build" / "dnncc"))


@pytest.fixture(autouse=True, scope="session")
def cache():
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", folder)
        yield folder
