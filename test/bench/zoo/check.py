# SPDX-License-Identifier: MIT
"""Looks at every value that a model of the zoo computes."""
import os

import numpy as np
import onnx
import onnxruntime

from . import FOLDER, build, inputs
from .graph import WEIGHTED, unhealthy


def worst(name, seed):
    """'healthy ...' with the smallest and largest root mean square of a layer, or what is wrong and where"""
    model = onnx.load(build(name), load_external_data=False)
    known = {o.name for o in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=o) for n in model.graph.node for o in n.output if o not in known)
    path = FOLDER / f"{name}.check{os.getpid()}"
    path.write_bytes(model.SerializeToString())
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
        values = dict(zip((o.name for o in session.get_outputs()), session.run(None, inputs(name, seed))))
    finally:
        path.unlink()
    for where, value in values.items():
        if wrong := unhealthy(value):
            return f"{where} is {wrong}"
    layers = [n.output[0] for n in model.graph.node if n.op_type in WEIGHTED]
    sizes = sorted((float(np.sqrt(np.mean(np.square(values[k], dtype=np.float64)))), k) for k in layers)
    return f"healthy; rms from {sizes[0][0]:.2g} ({sizes[0][1]}) to {sizes[-1][0]:.2g} ({sizes[-1][1]})"
