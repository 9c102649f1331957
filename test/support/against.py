# SPDX-License-Identifier: MIT
"""What CUDA C is compared with: dnncc's interpreter on the same arrays."""
import numpy as np

import dnncc

BOUND = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 2e-5, np.dtype(np.float16): 2e-3}


def static_ports(model, folder):
    """plain tensors of types that numpy has, and one set of data"""
    data = folder / "test_data_set_0"
    ports = [*model.graph.input, *model.graph.output]
    kinds = {p.type.tensor_type.elem_type for p in ports if p.type.HasField("tensor_type")}
    if not all(p.type.HasField("tensor_type") for p in ports) or not (data / "output_0.pb").exists():
        return False
    names = {i.name for i in model.graph.initializer}
    given = [i for i in model.graph.input if i.name not in names]
    return kinds <= {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13} and len(list(data.glob("input_*.pb"))) == len(given)


def reference(model, arrays, options, folder, timeout=600):
    """outputs of `dnncc --run`"""
    data = folder / "data"
    data.mkdir(exist_ok=True)
    for k, array in enumerate(arrays):
        np.save(data / f"input_{k}.npy", array)
    done = dnncc.run([dnncc.DNNCC, model, f"--run={data}", "-q", *options], timeout=timeout)
    assert done.returncode == 0, done.stderr
    return [np.load(data / f"output_{k}.npy") for k in range(len(list(data.glob("output_*.npy"))))]


def near(got, want, exact=False, bound=None):
    """what differs, in words; None. exact: to the bit (of no number any bits); bound: of floats, instead of BOUND"""
    if len(got) != len(want):
        return f"{len(got)} outputs, not {len(want)}"
    for k, (a, b) in enumerate(zip(got, want)):
        if a.shape != b.shape:
            return f"output {k} is {a.shape}, not {b.shape}"
        if a.dtype.kind != "f" or b.dtype.kind != "f" or exact:
            same = (a == b) | ((a != a) & (b != b))
        else:
            x, y = a.astype(np.float64), b.astype(np.float64)
            finite = np.isfinite(y)
            most = (bound or BOUND[b.dtype]) * (np.abs(y) + np.max(np.abs(y[finite]), initial=0))
            with np.errstate(invalid="ignore"):
                same = np.where(finite, np.abs(x - y) <= most, (x == y) | ((x != x) & (y != y)))
        if not np.all(same):
            at = tuple(np.argwhere(~same)[0])
            return f"output {k}: {np.count_nonzero(~same)} of {same.size} differ, first at {at}: {a[at]}, not {b[at]}"
    return None
