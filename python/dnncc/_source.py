# SPDX-License-Identifier: MIT
"""What is compiled: a file, or bytes."""
import hashlib
import os
import sys

from ._error import ArgumentError, Error
from ._files import folder_for


def digest_file(path):
    found, block = hashlib.sha256(), memoryview(bytearray(1 << 18))
    try:
        with open(path, "rb", buffering=0) as file:
            while size := file.readinto(block):
                found.update(block[:size])
    except OSError as error:
        raise Error(2, f"{path}: error: cannot read {path}: {error.strerror}") from None
    return found.hexdigest()


def export(module, example, folder):
    """a torch.nn.Module as a file of ONNX, perhaps with its data beside it"""
    import torch
    if example is None:
        raise ArgumentError("a torch module wants example inputs: dnncc.compile(module, (x,))")
    path = os.path.join(folder, "model.onnx")
    was_training = module.training
    try:
        torch.onnx.export(module.eval(), example if isinstance(example, tuple) else (example,), path)
    finally:
        module.train(was_training)
    return path


class Source:
    """path, or data; digest: of the model's own bytes"""

    def __init__(self, model, example=None):
        torch = sys.modules.get("torch")
        self.path = self.data = None
        if isinstance(model, (str, os.PathLike)):
            self.path = os.fspath(model)
        elif isinstance(model, (bytes, bytearray, memoryview)):
            self.data = bytes(model)
        elif hasattr(model, "SerializeToString"):
            self.data = model.SerializeToString()
        elif torch and isinstance(model, torch.nn.Module):
            self.path = export(model, example, folder_for(self))
        else:
            raise ArgumentError("a model is a path, the bytes of an ONNX file, an onnx.ModelProto or a torch module, not "
                                f"{type(model).__name__}")
        self.digest = digest_file(self.path) if self.data is None else hashlib.sha256(self.data).hexdigest()

    @property
    def argument(self):
        """what the command line is given"""
        return "-" if self.data is not None else "./" + self.path if self.path.startswith("-") else self.path

    def check(self):
        """the file is still what it was"""
        if self.path is not None and digest_file(self.path) != self.digest:
            raise Error(2, f"{self.path}: error: the file has changed since it was compiled")
