# SPDX-License-Identifier: MIT
"""Writes the seeds of the fuzz targets into FOLDER/import, FOLDER/compile and FOLDER/text: the models of test/fuzz/models as text and as
protobuf, those of onnx's node tests that have at most 2 KB, and what dnncc prints of them as Tensor IR and as Loop IR.

    seeds.py DNNCC FOLDER"""
import pathlib
import subprocess
import sys

import onnx
import onnx.parser

MODELS = pathlib.Path(__file__).resolve().parent / "models"
NODE_TESTS = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "node"
BYTES_MAX = 2048
TARGETS = 7             # a seed is for a few targets; mutations find the others


def models():
    """name, bytes of protobuf, bytes of text or None"""
    for path in sorted(MODELS.glob("*.txt")):
        text = path.read_text()
        yield path.stem, onnx.parser.parse_model(text).SerializeToString(), text.encode()
    for path in sorted(NODE_TESTS.glob("*/model.onnx")):
        if path.stat().st_size <= BYTES_MAX:
            yield path.parent.name, path.read_bytes(), None


def printed(dnncc, form, path):
    done = subprocess.run([dnncc, path, f"--emit={form}", "-O1", "-o", "-"], capture_output=True)
    return done.stdout if done.returncode == 0 and len(done.stdout) <= 2 * BYTES_MAX else None


def main(dnncc, folder):
    folder = pathlib.Path(folder)
    for name in ("import", "compile", "text"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for number, (name, model, text) in enumerate(models()):
        path = folder / "import" / name
        path.write_bytes(model)
        (folder / "compile" / name).write_bytes(bytes([number * TARGETS % 256]) + model)
        if text is None and number % TARGETS:
            continue
        if text:
            (folder / "import" / f"{name}.txt").write_bytes(text)
        for form in ("ir", "loops"):
            made = printed(dnncc, form, path)
            if made:
                (folder / "text" / f"{name}.{form}").write_bytes(made)


if __name__ == "__main__":
    main(*sys.argv[1:])
