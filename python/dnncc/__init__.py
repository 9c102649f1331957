# SPDX-License-Identifier: MIT
"""dnncc: neural networks compiled to C, called from Python.

    import dnncc
    m = dnncc.compile("model.onnx", target="native")
    y = m(x)

compile() runs the compiler and the machine's C compiler, keeps what came of it in a cache, and loads it. Its keywords
are the options of the command line. docs/user-guide.md has a chapter on it.
"""
from __future__ import annotations

from typing import Any

from ._error import ArgumentError, Error, MissingFileError
from ._model import Bound, Model, Outputs, Port, Sequence, load
from ._train import Training

__all__ = ["ArgumentError", "Bound", "Error", "MissingFileError", "Model", "Outputs", "Port", "Sequence", "Training", "cache_folder", "compile", "info", "load",
           "tool", "train"]

__version__: str


def compile(model: Any, example: Any = None, *, cache: bool = True, **options: Any) -> Model:
    """A Model of `model`: a path (str, os.PathLike), the bytes of an ONNX file, an onnx.ModelProto, a torch.nn.Module with a
    tuple of example inputs, or an estimator of scikit-learn with example rows.

    options: those of the command line, - written as _: threads=4, precision="bf16", dim={"N": 1}, input={"x": (1, 3, 8)},
    target=["x86-64-v3", "x86-64-v4"] or "cuda-sm_90" (by nvcc), max_ram="64K", level=3 (-O3), cc="clang -O2" (str: what compiles the C).
    cache (bool): False: nothing is looked up or kept.

    Raises Error, of which ArgumentError is a ValueError and MissingFileError a FileNotFoundError."""
    from . import _build
    return _build.compile(model, example, cache, options)


def train(model: Any, example: Any = None, *, loss: str, optimizer: str = "adam", cache: bool = True, **options: Any) -> Training:
    """A Training of `model`, which is what compile() takes.

    loss: an output of one number, or "cross_entropy:OUTPUT", "mse:OUTPUT" and so on (--loss); optimizer: "adam,lr=0.001" (--train);
    without lr= each step takes the rate. options: those of compile(), update= or freeze=["w1", "b*"], grad_clip="norm:1", accumulate=4,
    ema="0.999" and training_mode="all" (BatchNormalization by the moments of its samples, and Dropout) among them."""
    from . import _train
    return _train.train(model, example, cache, {**options, "train": optimizer, "loss": loss})


def info(model: Any, example: Any = None, **options: Any) -> dict[str, Any]:
    """What is in an ONNX model, as `dnncc --info=json` says it; for models that cannot be compiled, too. Arguments are those of
    compile()."""
    from . import _build
    return _build.info(model, example, options)


def tool() -> str:
    """The path of the compiler that compile() runs."""
    from . import _tool
    return _tool.path()


def cache_folder() -> str:
    """The folder in which compiled models are kept; it may be removed at any time."""
    from . import _cache
    return _cache.folder()


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from . import _tool
        return _tool.table()["version"]
    raise AttributeError(f"module 'dnncc' has no attribute '{name}'")
