# SPDX-License-Identifier: MIT
"""The backend tests of the onnx wheel through dnncc (dnncc_backend.py)."""
import pathlib
import sys

import onnx.backend.test

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from dnncc_backend import APART, DnnccBackend  # noqa: E402

backend_test = onnx.backend.test.BackendTest(DnnccBackend, __name__)
backend_test.exclude(r"_cuda$")
for pattern in APART:
    backend_test.exclude(pattern)
globals().update(backend_test.test_cases)
