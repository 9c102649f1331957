# SPDX-License-Identifier: MIT
"""ImageDecoder: libdnncc_image reads files of each format that are made here or come with ONNX's tests; damaged files and other extents are errors; generated code calls it, or another
function of that name."""
import ctypes
import pathlib
import random
import struct
import subprocess
import sys
import zlib

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

NEEDED = pytest.mark.skipif(not dnncc.IMAGE.exists(), reason="libdnncc_image is not built (packages.sh image)")
GRAY, RGB, BGR = range(3)
CHANNELS = {GRAY: 1, RGB: 3, BGR: 3}


def decode(data, pixels, rows, columns):
    """the pixels, or None; what lies behind them is not written to"""
    room = np.full(rows * columns * CHANNELS[pixels] + 16, 77, np.uint8)
    data = np.frombuffer(data, np.uint8)
    status = ctypes.CDLL(str(dnncc.IMAGE)).dnncc_image_decode(ctypes.c_void_p(data.ctypes.data), ctypes.c_size_t(len(data)), pixels, ctypes.c_void_p(room.ctypes.data), rows, columns)
    assert status in (0, -1) and (room[-16:] == 77).all()
    return room[:-16].reshape(rows, columns, CHANNELS[pixels]) if status == 0 else None


# ---- files ----

def png(x, color, bits=8, palette=None, columns=None):
    """x: rows of bytes as they are stored"""
    def part(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    rows, columns = x.shape[0], columns or x.shape[1]
    head = struct.pack(">IIBBBBB", columns, rows, bits, color, 0, 0, 0)
    stored = zlib.compress(b"".join(b"\0" + x[i].tobytes() for i in range(rows)))
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + (part(b"PLTE", palette) if palette else b"") + part(b"IDAT", stored) + part(b"IEND", b"")


def bmp(x, bits, palette=b"", upward=True):
    """x: rows of bytes as they are stored, without what fills them up to 4"""
    rows, stored = len(x), b"".join(row + bytes(-len(row) % 4) for row in (x[::-1] if upward else x))
    columns = len(x[0]) * 8 // bits
    begin = 54 + len(palette)
    return b"BM" + struct.pack("<IHHI", begin + len(stored), 0, 0, begin) + struct.pack("<IiiHHIIiiII", 40, columns, rows if upward else -rows, 1, bits, 0, len(stored), 0, 0,
                                                                                        len(palette) // 4, 0) + palette + stored


def tiff(x, order="<"):
    """x: rows x columns x 3 bytes, not compressed"""
    rows, columns, channels = x.shape
    entries = [(256, 4, 1, columns), (257, 4, 1, rows), (258, 3, channels, 8 + 2 + 10 * 12 + 4), (259, 3, 1, 1), (262, 3, 1, 2), (273, 4, 1, 8 + 2 + 10 * 12 + 4 + 2 * channels),
               (277, 3, 1, channels), (278, 4, 1, rows), (279, 4, 1, x.size), (284, 3, 1, 1)]
    data = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "IH", 8, len(entries))
    for tag, kind, count, value in entries:
        data += struct.pack(order + "HHI", tag, kind, count) + (struct.pack(order + "HH", value, 0) if kind == 3 and count == 1 else struct.pack(order + "I", value))
    return data + struct.pack(order + "I", 0) + struct.pack(order + "H", 8) * channels + x.tobytes()


def cases():
    """(title, the file, what is shown as RGB)"""
    r = np.random.default_rng(1)
    x = r.integers(0, 256, (5, 7, 3), np.uint8)
    gray, alpha = np.repeat(x[..., :1], 3, 2), r.integers(0, 256, (5, 7, 1), np.uint8)
    wide = r.integers(0, 256, (5, 7, 3, 2), np.uint8)
    palette = r.integers(0, 256, (16, 3), np.uint8)
    index = r.integers(0, 16, (5, 8), np.uint8)
    packed = index[:, ::2] << 4 | index[:, 1::2]
    blue_first = np.concatenate([palette[:, ::-1], np.zeros((16, 1), np.uint8)], 1).tobytes()
    yield "png rgb", png(x, 2), x
    yield "png gray", png(x[..., 0], 0), gray
    yield "png rgba", png(np.concatenate([x, alpha], 2), 6), x
    yield "png gray and alpha", png(np.concatenate([x[..., :1], alpha], 2), 4), gray
    yield "png of 16 bits", png(wide, 2, 16), wide[..., 0]
    yield "png of a palette", png(packed, 3, 4, palette.tobytes(), 8), palette[index]
    yield "bmp of 24 bits", bmp([row[:, ::-1].tobytes() for row in x], 24), x
    yield "bmp downward", bmp([row[:, ::-1].tobytes() for row in x], 24, upward=False), x
    yield "bmp of 32 bits", bmp([np.concatenate([row[:, ::-1], a], 1).tobytes() for row, a in zip(x, alpha)], 32), x
    yield "bmp of 4 bits", bmp([row.tobytes() for row in packed], 4, blue_first), palette[index]
    yield "ppm", b"P6 # words\n7 5\n255\n" + x.tobytes(), x
    yield "pgm", b"P5\n7\t5 255\n" + x[..., 0].tobytes(), gray
    yield "ppm in digits", b"P3 7 5 255\n" + b" ".join(b"%d" % k for k in x.ravel()), x
    yield "ppm of 16 bits", b"P6\n7 5 65535\n" + (x.astype(">u2") * 257).tobytes(), x
    yield "pbm", b"P4\n8 5\n" + np.packbits(index & 1, axis=1).tobytes(), np.repeat(255 * (1 - (index & 1))[..., None], 3, 2)
    yield "tiff", tiff(x), x
    yield "tiff, big end first", tiff(x, ">"), x


CASES = {title: (data, shown) for title, data, shown in cases()}


def suite():
    """the files of ONNX's tests"""
    folder = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "node"
    for path in sorted(folder.glob("test_image_decoder_decode_*_rgb")):
        yield path.name.split("_")[-2], numpy_helper.to_array(onnx.load_tensor(path / "test_data_set_0" / "input_0.pb")).tobytes()


SUITE = dict(suite())


@NEEDED
@pytest.mark.parametrize("title", CASES)
def test_formats(title):
    data, shown = CASES[title]
    rows, columns, _ = shown.shape
    assert np.array_equal(decode(data, RGB, rows, columns), shown)
    assert np.array_equal(decode(data, BGR, rows, columns), shown[..., ::-1])
    bright = (shown.astype(np.int64) @ [19595, 38470, 7471] + 0x8000) >> 16
    assert np.array_equal(decode(data, GRAY, rows, columns)[..., 0], bright)
    for other in ((rows + 1, columns), (rows, columns - 1), (columns, rows), (1, 1)):
        assert decode(data, RGB, *other) is None
    for wrong in ((0, columns), (rows, -1), (rows, 1 << 16)):
        assert ctypes.CDLL(str(dnncc.IMAGE)).dnncc_image_decode(data, ctypes.c_size_t(len(data)), RGB, None, *wrong) == -1


@NEEDED
@pytest.mark.parametrize("title", [*CASES, *SUITE])
@pytest.mark.slow
@pytest.mark.sample(18)
def test_damaged(title):
    """files that end early, or whose bytes are others, are an error or an image: nothing is written behind it, and nothing crashes"""
    r = random.Random(title)
    data, (rows, columns) = (CASES[title][0], CASES[title][1].shape[:2]) if title in CASES else (SUITE[title], (32, 32))
    if title in SUITE:
        assert decode(data, RGB, rows, columns) is not None
    for n in [0, 1, 2, 3, len(data) // 2]:
        assert decode(data[:n], RGB, rows, columns) is None
    code = (f"import sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r}); import random, test_image as t; r = random.Random({r.random()}); data = {data!r}\n"
            f"for k in range(400):\n"
            f"    b = bytearray(data)\n"
            f"    for _ in range(r.choice([1, 1, 2, 8])): b[r.randrange(len(b)) if r.random() < 0.5 else r.randrange(min(len(b), 80))] = r.choice([0, 1, 127, 255, r.randrange(256)])\n"
            f"    t.decode(bytes(b[:r.randrange(len(b))]) if r.random() < 0.3 else bytes(b), r.randrange(3), {rows}, {columns})\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]


# ---- models ----

def model(length, shape=(5, 7, 3), pixel_format="RGB", more=()):
    nodes = [helper.make_node("ImageDecoder", ["file"], ["image"], "decoder", pixel_format=pixel_format), *more]
    out = helper.make_tensor_value_info("image", TensorProto.UINT8, shape)
    g = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("file", TensorProto.UINT8, [length])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, [*shape[:2][::-1], shape[2]]) if more else out], value_info=[out] if more else [])
    return helper.make_model(g, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@NEEDED
@pytest.mark.parametrize("target", ["generic", "x86-64-v3"])
def test_fused(target, tmp_path):
    """the pixels are cast, scaled and turned behind it; the file is a part of a longer one, and a run says how long"""
    data, shown = CASES["png rgb"]
    more = [helper.make_node("Cast", ["image"], ["x"], to=TensorProto.FLOAT), helper.make_node("Constant", [], ["k"], value_float=1 / 255), helper.make_node("Mul", ["x", "k"], ["z"]),
            helper.make_node("Transpose", ["z"], ["y"], perm=[1, 0, 2])]
    onnx.save(model("N", more=more), str(tmp_path / "m.onnx"))
    dnncc.compile_model(tmp_path / "m.onnx", tmp_path, [f"--target={target}", "--dim=N=1..5000"])
    program = dnncc.build_host(tmp_path, dnncc.SANITIZE)
    y, = dnncc.run_host(program, [np.frombuffer(data, np.uint8)])
    assert np.allclose(y, shown.transpose(1, 0, 2) / 255)


@NEEDED
def test_other_image(tmp_path):
    """another image than the model declares: run returns an error"""
    data, _ = CASES["ppm"]
    onnx.save(model(len(data), (7, 5, 3)), str(tmp_path / "m.onnx"))
    dnncc.compile_model(tmp_path / "m.onnx", tmp_path)
    assert "MODEL_ERROR_IMAGE" in (tmp_path / "model.h").read_text()
    program = dnncc.build_host(tmp_path, dnncc.SANITIZE)
    with pytest.raises(AssertionError, match="-20"):
        dnncc.run_host(program, [np.frombuffer(data, np.uint8)])


def test_own_decoder(tmp_path):
    """a program may have the function itself: here one that counts the pixels"""
    onnx.save(model(9, (2, 3, 1), "Grayscale"), str(tmp_path / "m.onnx"))
    dnncc.compile_model(tmp_path / "m.onnx", tmp_path)
    (tmp_path / "main.c").write_text('#include "model.h"\n#include <stdio.h>\n'
                                     "int dnncc_image_decode(const unsigned char *b, size_t n, int pixels, unsigned char *image, int rows, int columns)\n"
                                     "{\n        for (int i = 0; i < rows * columns; i++)\n                image[i] = (unsigned char)(b[n - 1] + i + pixels);\n        return 0;\n}\n"
                                     "int main(void)\n{\n        static uint8_t file[9], image[6];\n        int status;\n        file[8] = 40;\n        status = model_run(NULL, file, image);\n"
                                     '        printf("%d %d %d\\n", status, image[0], image[5]);\n        return 0;\n}\n')
    done = dnncc.run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{tmp_path}", tmp_path / "main.c", tmp_path / "model.c", "-o", tmp_path / "main"])
    assert done.returncode == 0, done.stderr
    assert dnncc.run([tmp_path / "main"]).stdout == "0 40 45\n"


@pytest.mark.parametrize("shape, pixel_format, options, code, text", [
    ((5, 7, 1), "RGB", [], 3, "the result is"), ((5, 7, 3), "CMYK", [], 3, "pixel_format"), ((5, 7), "RGB", [], 3, "rank 3"), ((1, 40000, 3), "RGB", [], 3, "the result is"),
    (("h", "w", 3), "RGB", [], 4, "declare it in the model"),
])
def test_refused(shape, pixel_format, options, code, text, tmp_path):
    onnx.save(model(100, shape, pixel_format), str(tmp_path / "m.onnx"))
    with pytest.raises(dnncc.CompileError) as error:
        dnncc.compile_model(tmp_path / "m.onnx", tmp_path, options)
    assert error.value.code == code and text in str(error.value), error.value


def test_device(tmp_path):
    onnx.save(model(100), str(tmp_path / "m.onnx"))
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", "--target=cuda-sm_80", "-o", tmp_path / "m.cu"])
    assert done.returncode == 4 and "a device decodes no images" in done.stderr


def test_interpreter(tmp_path):
    """the interpreter says that it decodes none"""
    data, _ = CASES["ppm"]
    onnx.save(model(len(data)), str(tmp_path / "m.onnx"))
    np.save(tmp_path / "input_0.npy", np.frombuffer(data, np.uint8))
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", f"--run={tmp_path}"])
    assert done.returncode == 4 and "decodes no images" in done.stderr


def test_constant(tmp_path):
    """a file that is a constant of the model stays one: nothing is decoded while compiling"""
    data, _ = CASES["ppm"]
    m = model(len(data))
    m.graph.initializer.append(numpy_helper.from_array(np.frombuffer(data, np.uint8), "file"))
    del m.graph.input[:]
    onnx.save(m, str(tmp_path / "m.onnx"))
    dnncc.compile_model(tmp_path / "m.onnx", tmp_path)
    assert "dnncc_image_decode(&" in (tmp_path / "model.c").read_text()
