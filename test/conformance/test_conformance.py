# SPDX-License-Identifier: MIT
"""The backend tests of the onnx wheel through dnncc (dnncc_backend.py)."""
import pathlib
import sys

import numpy as np
import onnx.backend.test

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from dnncc_backend import APART, DnnccBackend  # noqa: E402


class BackendTest(onnx.backend.test.BackendTest):
    @classmethod
    def assert_similar_outputs(cls, ref_outputs, outputs, rtol, atol, model_dir=None):
        """The runner compares a sequence's items row by row, and an item without rows, a scalar, not at all: here it is one of one row."""
        if isinstance(ref_outputs, np.ndarray) and isinstance(outputs, np.ndarray) and ref_outputs.ndim == outputs.ndim == 0:
            ref_outputs, outputs = ref_outputs.reshape(1), outputs.reshape(1)
        super().assert_similar_outputs(ref_outputs, outputs, rtol, atol, model_dir)


backend_test = BackendTest(DnnccBackend, __name__)
backend_test.exclude(r"_cuda$")
for pattern in APART:
    backend_test.exclude(pattern)
globals().update(backend_test.test_cases)
