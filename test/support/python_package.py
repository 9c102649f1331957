# SPDX-License-Identifier: MIT
"""The package of python/, under a name of its own in tests: `dnncc` is what they share (test/support/dnncc.py).

    import python_package
    import dnncc_package"""
import importlib.util
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOME = ROOT / "python" / "dnncc"


def load_package():
    spec = importlib.util.spec_from_file_location("dnncc_package", HOME / "__init__.py", submodule_search_locations=[str(HOME)])
    package = importlib.util.module_from_spec(spec)
    sys.modules["dnncc_package"] = package
    spec.loader.exec_module(package)
    return package


if "dnncc_package" not in sys.modules:
    load_package()
os.environ.setdefault("DNNCC", str(ROOT / "build" / "dnncc"))
