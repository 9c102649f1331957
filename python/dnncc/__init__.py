# SPDX-License-Identifier: MIT
"""dnncc: neural networks compiled to C, called from Python.

    import dnncc
    m = dnncc.compile("model.onnx", target="native")
    y = m(x)

compile() runs the compiler and the machine's C compiler, keeps what came of it in a cache, and loads it. Its keywords
are the options of the command line. docs/user-guide.md has a chapter on it.
"""
from ._error import ArgumentError, Error
from ._model import Bound, Model, Outputs, Port, load

__all__ = ["ArgumentError", "Bound", "Error", "Model", "Outputs", "Port", "cache_folder", "compile", "info", "load", "tool"]


def compile(model, example=None, *, cache=True, **options):
    """A Model of `model`: a path, the bytes of an ONNX file, an onnx.ModelProto, or a torch.nn.Module with a tuple of
    example inputs.

    Keywords are options of the command line, - written as _: threads=4, precision="bf16", dim={"N": 1},
    target=["x86-64-v3", "x86-64-v4"], max_ram="64K", level=3 (-O3), cc="clang -O2" (what compiles the C).
    cache=False: nothing is looked up or kept."""
    from . import _build
    return _build.compile(model, example, cache, options)


def info(model, example=None, **options):
    """What is in an ONNX model, as `dnncc --info=json` says it; for models that cannot be compiled, too."""
    from . import _build
    return _build.info(model, example, options)


def tool():
    """the path of the compiler that compile() runs"""
    from . import _tool
    return _tool.path()


def cache_folder():
    """where compiled models are kept; it may be removed at any time"""
    from . import _cache
    return _cache.folder()


def __getattr__(name):
    if name == "__version__":
        from . import _tool
        return _tool.table()["version"]
    raise AttributeError(f"module 'dnncc' has no attribute '{name}'")
