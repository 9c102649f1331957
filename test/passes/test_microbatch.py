# SPDX-License-Identifier: MIT
"""microbatch: layers of a batch run over a few images at a time. Random networks of a batch give the bits that they give without the pass, under
--check, in C and for each group size; sums over the batch, positions of one extent with the batch, and constants of all images stay right."""
import json
import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402
import processor  # noqa: E402


def shown(shape, element="f32"):
    return "<" + "".join(f"{d} x " for d in shape) + element + ">"


class Network:
    """A random network over a batch: convolutions, dense layers, pools, moves, and now and then what mixes the images."""

    def __init__(self, seed, images):
        self.r = np.random.default_rng(seed)
        self.images, self.lines, self.constants = images, [], []
        self.values = [("%x", (images, 4, 6, 6))]
        for _ in range(int(self.r.integers(4, 12))):
            getattr(self, str(self.r.choice(["convolve", "convolve", "dense", "pool", "move", "bias", "join", "mask", "mix", "few"])))()

    def emit(self, text, shape):
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {text} : {shown(shape)}")
        self.values.append((name, tuple(shape)))
        return name

    def constant(self, shape, same=1):
        """of numbers that are the same `same` times over"""
        name = f"@c{len(self.constants)}"
        numbers = np.tile(self.r.integers(-8, 9, int(np.prod(shape)) // same), same) / 8
        self.constants.append(f'const {name} : {shown(shape)} = hex "{numbers.astype("<f4").tobytes().hex()}"')
        return name

    def pick(self, rank=None):
        fits = [v for v in self.values if rank is None or len(v[1]) == rank]
        return fits[int(self.r.integers(max(0, len(fits) - 3), len(fits)))]

    def convolve(self):
        x, (n, c, h, w) = self.pick(4)
        m = int(self.r.choice([4, 8, self.images]))
        k = 3 if min(h, w) > 2 else 1
        weights = self.constant((m, c, k, k))
        y = self.emit(f"convolve({x}, {weights}) pads=[{', '.join([str(k // 2)] * 4)}]", (n, m, h, w))
        self.emit(f"max({y}, 0.0)", (n, m, h, w))

    def dense(self):
        x, shape = self.pick()
        rows = self.emit(f"reshape({x})", (shape[0], int(np.prod(shape[1:])))) if len(shape) != 2 else x
        k = int(np.prod(shape[1:]))
        self.emit(f"dot({rows}, {self.constant((k, 5))}) contract_a=[1] contract_b=[0]", (shape[0], 5))

    def pool(self):
        x, (n, c, h, w) = self.pick(4)
        if min(h, w) > 1:
            self.emit(f"reduce_window({x}) window=[1, 1, 2, 2] strides=[1, 1, 2, 2]", (n, c, h // 2, w // 2))

    def move(self):
        x, (n, c, h, w) = self.pick(4)
        self.emit(f"transpose({x}) perm=[0, 2, 3, 1]", (n, h, w, c))

    def bias(self):
        x, shape = self.pick()
        spread = self.emit(f"broadcast({self.constant(shape[-1:])}) dims=[{len(shape) - 1}]", shape)
        self.values.pop()
        self.emit(f"add({x}, {spread})", shape)

    def mask(self):
        """a constant for each image, or the same one for all"""
        x, shape = self.pick()
        self.emit(f"mul({x}, {self.constant(shape, shape[0] if self.r.random() < .5 else 1)})", shape)

    def join(self):
        x, shape = self.pick()
        others = [v for v in self.values if v[1] == shape]
        self.emit(f"concat({x}, {others[int(self.r.integers(len(others)))][0]}) axis=1", (shape[0], 2 * shape[1], *shape[2:]))

    def mix(self):
        """less the mean over all images, or images in another order"""
        x, shape = self.pick()
        if self.r.random() < .5:
            total = self.emit(f"reduce({x}, <1 x i64> [0])", shape[1:])
            self.values.pop()
            spread = self.emit(f"broadcast({total}) dims=[{', '.join(str(d) for d in range(1, len(shape)))}]", shape)
            self.values.pop()
            self.emit(f"sub({x}, {spread})", shape)
        else:
            order = ", ".join(str(i) for i in self.r.permutation(shape[0]))
            self.emit(f"gather({x}, <{shape[0]} x i64> [{order}]) axis=0", shape)

    def few(self):
        """a sum over what is no batch"""
        x, shape = self.pick()
        if len(shape) > 2:
            self.emit(f"reduce({x}, <1 x i64> [{len(shape) - 1}])", shape[:-1])

    def text(self):
        outputs = [self.values[-1][0], self.values[int(self.r.integers(1, len(self.values)))][0]] if len(self.values) > 1 else ["%x"]
        ports = ", ".join(f'"y{i}"' for i in range(len(outputs)))
        body = "\n".join(self.lines)
        return "\n".join(["dnn 3", 'module "batch"', *self.constants, f'func @main(%x "x": {shown((self.images, 4, 6, 6))}) -> ({ports}) {{', body,
                          f"  yield({', '.join(outputs)})", "}"]) + "\n"


def write(path, seed, images):
    network = Network(seed, images)
    path.write_text(network.text())
    return path


def loops(model, *options):
    text = dnncc.run([dnncc.DNNCC, model, "--passes=simplify,fold,cse,dce,microbatch", "--emit=ir", "-o", "-", *options]).stdout
    return [int(n) for n in re.findall(r"= loop\(.*steps=(\d+)", text)]


def workspace(model, tmp_path, *options):
    dnncc.run([dnncc.DNNCC, model, "-o", tmp_path / "m.c", *options])
    return int(re.search(r"WORKSPACE_SIZE (\d+)u", (tmp_path / "m.h").read_text())[1])


def outputs(model, folder, x, *options):
    folder.mkdir()
    dnncc.compile_model(model, folder, ["--exact", *options])
    return [y.tobytes() for y in dnncc.run_host(dnncc.build_host(folder, ["-O1"]), [x])]


@pytest.mark.parametrize("images", [2, 3, 6, 8])
@pytest.mark.parametrize("seed", range(6))
def test_passes(seed, images, tmp_path):
    """each pass keeps the bits; loops are there unless images mix everywhere"""
    model = write(tmp_path / "m.dnn", 100 * images + seed, images)
    for group in (1, 2):
        done = dnncc.run([dnncc.DNNCC, model, "--check", f"--limit=microbatch_images={group}"])
        assert done.returncode == 0, done.stderr
        assert all("equal" in line for line in dnncc.checks(done) if "exact" in line or "microbatch" in line), done.stderr


@pytest.mark.parametrize("seed", range(4))
def test_bits(seed, tmp_path):
    """of the C, for all images at a time, one and two"""
    images = 6
    model = write(tmp_path / "m.dnn", 1000 + seed, images)
    x = np.random.default_rng(seed).integers(-8, 9, (images, 4, 6, 6)).astype(np.float32) / 8
    whole, *others = [outputs(model, tmp_path / str(group), x, f"--limit=microbatch_images={group}") for group in (images, 1, 2)]
    assert others == [whole, whole]


def layers(path, images, sides=(64, 32), constants="", between=""):
    """two convolutions, the first of which makes much, and a dense layer of many weights; lines between"""
    h, w = sides
    mean = h * w // 4
    path.write_text(f"""dnn 3
module "layers"
const @a : <16 x 3 x 3 x 3 x f32> = hex "{np.full(432, .5, '<f4').tobytes().hex()[:-8]}0000803f"
const @b : <8 x 16 x 3 x 3 x f32> = hex "{np.full(1152, .25, '<f4').tobytes().hex()[:-8]}0000803f"
const @c : <{8 * mean} x 4 x f32> = hex "{np.full(32 * mean, .5, '<f4').tobytes().hex()[:-8]}0000803f"
{constants}
func @main(%x "x": <{images} x 3 x {h} x {w} x f32>) -> ("y") {{
  %1 = convolve(%x, @a) pads=[1, 1, 1, 1] : <{images} x 16 x {h} x {w} x f32>
  %2 = max(%1, 0.0) : <{images} x 16 x {h} x {w} x f32>
  %3 = reduce_window(%2) window=[1, 1, 2, 2] strides=[1, 1, 2, 2] : <{images} x 16 x {h // 2} x {w // 2} x f32>
  %4 = convolve(%3, @b) pads=[1, 1, 1, 1] : <{images} x 8 x {h // 2} x {w // 2} x f32>
{between or f"  %5 = max(%4, 0.0) : <{images} x 8 x {h // 2} x {w // 2} x f32>"}
  %6 = reshape(%5) : <{images} x {8 * mean} x f32>
  %7 = dot(%6, @c) contract_a=[1] contract_b=[0] : <{images} x 4 x f32>
  yield(%7)
}}
""")
    return path


def loops(model, *options):
    """the iterations of each loop that the pass makes"""
    text = dnncc.run([dnncc.DNNCC, model, "--passes=simplify,fold,cse,dce,microbatch", "--emit=ir", "-o", "-", *options]).stdout
    assert "func @main" in text
    return [int(n) for n in re.findall(r"= loop\(.*steps=(\d+)", text)]


def workspace(model, tmp_path, *options):
    dnncc.compile_model(model, tmp_path, options)
    return int(re.search(r"WORKSPACE_SIZE (\d+)u", (tmp_path / "model.h").read_text())[1])


def test_where(tmp_path):
    """where values would leave the cache; not for one image, for what is in the cache anyway, or on a GPU"""
    large = layers(tmp_path / "m.dnn", 16, (128, 96))
    assert loops(large) and loops(large, "--target=x86-64-v3")
    assert not loops(large, "--target=cuda-sm_80")
    assert not loops(layers(tmp_path / "one.dnn", 1, (128, 96)))
    assert not loops(layers(tmp_path / "small.dnn", 2, (8, 4)), "--target=x86-64-v4")
    assert loops(large, "--limit=microbatch_images=16") == []
    assert loops(large, "--limit=microbatch_images=5") == [4]


def test_memory(tmp_path):
    """the workspace is that of few images; --max-ram passes rows on inside of the loop, too"""
    batch, one = layers(tmp_path / "m.dnn", 16, (128, 96)), layers(tmp_path / "one.dnn", 1, (128, 96))
    whole, alone = workspace(batch, tmp_path, "--limit=microbatch_images=16"), workspace(one, tmp_path)
    assert whole > 15 * alone
    kept = 16 * 8 * 64 * 48 * 4         # what the dense layer reads, of which all images are there
    assert workspace(batch, tmp_path) <= 2 * alone + kept
    assert workspace(batch, tmp_path, "--goal=memory") <= alone + kept
    assert workspace(batch, tmp_path, f"--max-ram={alone // 4}") <= alone // 4


def test_mixed(tmp_path):
    """a sum over the batch stays between two loops, and a constant of another number for each image is read image by image"""
    images, rest = 8, "8 x 64 x 48 x f32"
    numbers = np.arange(images * 8 * 64 * 48, dtype="<f4") % 97
    between = f"""  %s = reduce(%4, <1 x i64> [0]) : <{rest}>
  %t = broadcast(%s) dims=[1, 2, 3] : <{images} x {rest}>
  %u = sub(%4, %t) : <{images} x {rest}>
  %5 = mul(%u, @m) : <{images} x {rest}>"""
    model = layers(tmp_path / "m.dnn", images, (128, 96), f'const @m : <{images} x {rest}> = hex "{numbers.tobytes().hex()}"', between)
    assert loops(model, "--limit=microbatch_images=2") == [4, 4]
    x = np.random.default_rng(0).standard_normal((images, 3, 128, 96), np.float32)
    assert outputs(model, tmp_path / "a", x, "--limit=microbatch_images=2") == outputs(model, tmp_path / "b", x, "--limit=microbatch_images=8")


def test_constants_of_all_images(tmp_path):
    """one for all images that repeats the same numbers: each microbatch reads its part, which outlives the whole"""
    images, rest = 8, "8 x 12 x 16 x f32"
    numbers = np.tile(np.arange(8 * 12 * 16, dtype="<f4") % 89, images)
    assert numbers.nbytes > 16384 > numbers.nbytes // images            # large constants have memory of their own, small ones have not
    lines = f"  %n = sqrt(@m) : <{images} x {rest}>\n  %5 = mul(%4, %n) : <{images} x {rest}>"          # folded: dnncc has made these numbers
    model = layers(tmp_path / "m.dnn", images, (24, 32), f'const @m : <{images} x {rest}> = hex "{numbers.tobytes().hex()}"', lines)
    done = dnncc.run([dnncc.DNNCC, model, "--limit=microbatch_images=1", "--check"])
    assert done.returncode == 0 and loops(model, "--limit=microbatch_images=1") == [images], done.stderr
    x = np.random.default_rng(0).standard_normal((images, 3, 24, 32), np.float32)
    assert outputs(model, tmp_path / "a", x, "--limit=microbatch_images=1") == outputs(model, tmp_path / "b", x, "--limit=microbatch_images=8")


@pytest.mark.parametrize("options", ["--step=100000", "--target=x86-64-v3"])
def test_with(options, tmp_path):
    """other options: what they make of one image they make of each"""
    images = 4
    batch, one = layers(tmp_path / "m.dnn", images, (64, 48)), layers(tmp_path / "one.dnn", 1, (64, 48))
    if "x86" in options and not processor.has("x86-64-v3"):
        pytest.skip("this processor cannot run it")
    x = np.random.default_rng(0).standard_normal((images, 3, 64, 48), np.float32)
    got = outputs(batch, tmp_path / "batch", x, "--limit=microbatch_images=1", *options.split())[0]
    alone = [outputs(one, tmp_path / f"one{i}", x[i:i + 1], *options.split())[0] for i in range(2)]
    assert got[:len(alone[0]) * 2] == b"".join(alone)


def test_reports(tmp_path):
    """floating-point operations of a run count each iteration"""
    batch, one = layers(tmp_path / "m.dnn", 16, (128, 96)), layers(tmp_path / "one.dnn", 1, (128, 96))
    flops = []
    for model in (batch, one):
        dnncc.run([dnncc.DNNCC, model, f"--report={tmp_path / 'r.json'}", "-o", tmp_path / "m.c", "--limit=microbatch_images=1"])
        flops.append(json.loads((tmp_path / "r.json").read_text())["flops"])
    assert flops[0] == 16 * flops[1]
