# SPDX-License-Identifier: MIT
"""The benchmark zoo: models of fixed names, shapes and parameter counts, written by these scripts into build/zoo.

    from zoo import MODELS, build, inputs       # with test/bench in sys.path
    build("resnet50")                           # the path of build/zoo/resnet50.onnx, written if absent or out of date
    inputs("resnet50", seed=1)                  # {name: array}
    MODELS["resnet50"].parameters               # and .macs, .inputs, .about

Batch 1, float32; batch norms unfolded and calibrated on inputs(name, seed=0); no intermediate value is NaN, infinite or denormal.
"""
import functools
import hashlib
import inspect
import pathlib
import zlib
from dataclasses import dataclass, replace

import numpy as np

from . import classifiers, graph, layers, pixels, sequences, tiny

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "build" / "zoo"


@dataclass(frozen=True)
class Input:
    name: str
    shape: tuple
    kind: str = "normal"        # normal, image; integers: from low to below high; prefix: ones, then zeros
    low: int = 0
    high: int | tuple = 0       # of all, or one for each column

    def sample(self, rng):
        if self.kind == "normal":
            return rng.standard_normal(self.shape, np.float32)
        if self.kind == "image":
            return image(rng, self.shape)
        if self.kind == "integers":
            return rng.integers(self.low, self.high, self.shape, np.int64)
        return (np.arange(self.shape[-1]) < rng.integers(self.low, self.high)).astype(np.int64).reshape(self.shape)


def image(rng, shape):
    """noise of three grains, mean 0 and variance 1, as a normalised photograph has it"""
    total = np.zeros(shape, np.float32)
    for grain in (1, 4, 16):
        coarse = rng.standard_normal((*shape[:2], -(-shape[2] // grain), -(-shape[3] // grain)), np.float32)
        total += coarse.repeat(grain, 2).repeat(grain, 3)[:, :, :shape[2], :shape[3]]
    return total / np.float32(np.sqrt(3))


@dataclass(frozen=True)
class Model:
    name: str
    builder: object
    about: str
    parameters: int | None      # trained ones, as published where it is somebody's model; None: not known
    macs: int | None            # multiply-adds of contractions; FLOPs are twice that; None: not known
    inputs: tuple
    opset: int = 13
    weights: str | None = None  # the file of parameters shared with other models

    @property
    def flops(self):
        return 2 * self.macs


def picture(size):
    return (Input("image", (1, 3, size, size), "image"),)


def tokens(name, length, high, low=0):
    return Input(name, (1, length), "integers", low, high)


GPT_CACHE = tuple(Input(sequences.gpt_cache(layer, part), (1, 12, 128, 64)) for layer in range(sequences.GPT_LAYERS)
                  for part in ("key", "value"))

MODELS = {m.name: m for m in (
    Model("resnet50", classifiers.resnet50, "ResNet-50 v1.5, 224x224", 25557032, 4089184256, picture(224)),
    Model("resnet18", classifiers.resnet18, "ResNet-18, 224x224", 11689512, 1814073344, picture(224)),
    Model("mobilenet_v2", classifiers.mobilenet_v2, "MobileNetV2, 224x224", 3504872, 300774272, picture(224)),
    Model("squeezenet", classifiers.squeezenet, "SqueezeNet 1.1, 224x224", 1235496, 349151936, picture(224)),
    Model("vgg16", classifiers.vgg16, "VGG-16, 224x224", 138357544, 15470264320, picture(224)),
    Model("densenet121", classifiers.densenet121, "DenseNet-121, 224x224", 7978856, 2834161664, picture(224)),
    Model("efficientnet_b0", classifiers.efficientnet_b0, "EfficientNet-B0, 224x224", 5288548, 385814752, picture(224)),
    Model("inception_v3", classifiers.inception_v3, "Inception-v3, 299x299", 23834568, 5713216096, picture(299)),
    Model("unet", pixels.unet, "U-Net, 32 wide, 256x256", 7763041, 12071206912, picture(256)),
    Model("yolo", pixels.yolo, "YOLOv8n, 640x640", 3157200, 4371993600, picture(640)),
    Model("bert_base", sequences.bert_base, "BERT-base, 128 tokens", 109482240, 11174215680,
          (tokens("input_ids", 128, 30522), Input("attention_mask", (1, 128), "prefix", 96, 129), tokens("token_type_ids", 128, 2))),
    Model("vit", sequences.vit, "ViT-S/16, 224x224", 22050664, 4598882304, picture(224), opset=17),
    Model("gpt_prefill", sequences.gpt, "GPT-2 small, a prompt of 128 tokens", 124439808, 16114089984,
          (tokens("input_ids", 128, 50257), tokens("position_ids", 128, tuple(range(1, 129)), tuple(range(128)))), weights="gpt.weights"),
    Model("gpt_step", sequences.gpt, "GPT-2 small, one token after 128", 124439808, 125909760,
          (tokens("input_ids", 1, 50257), tokens("position_ids", 1, 129, 128), *GPT_CACHE), weights="gpt.weights"),
    Model("lstm", sequences.lstm, "2 LSTM layers of 512, 32 steps", 4202496, 134217728, (Input("frames", (32, 1, 512)),)),
    Model("recommender", sequences.recommender, "DLRM by concatenation, 26 tables", 13957953, 507648,
          (Input("dense", (1, 13)), Input("sparse", (1, 26), "integers", 0, sequences.TABLES))),
    Model("mobilenet_v1_quarter", tiny.mobilenet_v1_quarter, "MobileNetV1, a quarter of its channels, 96x96", 213586, 7489664, picture(96)),
    Model("autoencoder", tiny.autoencoder, "autoencoder of sounds, ten dense layers", 265864, 264192, (Input("frames", (1, tiny.FRAMES)),)),
)}


def inputs(name, seed):
    return {i.name: i.sample(np.random.default_rng([seed, zlib.crc32(i.name.encode())])) for i in MODELS[name].inputs}


def stamp(model):
    """a hash of everything the file depends on"""
    builder = model.builder.func if isinstance(model.builder, functools.partial) else model.builder
    sources = [pathlib.Path(m.__file__).read_bytes() for m in (graph, layers, inspect.getmodule(builder))]
    row = [repr(replace(model, builder=None)), inspect.getsource(image), inspect.getsource(Input)]
    return hashlib.sha256(b"\0".join([*sources, *(text.encode() for text in row)])).hexdigest()


def build(name):
    """the path of the model, written if it is absent or out of date"""
    model, path = MODELS[name], FOLDER / f"{name}.onnx"
    mark, wanted = path.with_suffix(".stamp"), stamp(model)
    files = [path, mark] + ([FOLDER / model.weights] if model.weights else [])
    if all(f.exists() for f in files) and mark.read_text() == wanted:
        return path
    FOLDER.mkdir(parents=True, exist_ok=True)
    g = graph.Graph(name, inputs(name, 0), model.opset)
    model.builder(g)
    for what, got, want in (("parameters", g.parameter_count(), model.parameters), ("multiply-adds", g.macs, model.macs)):
        if want not in (None, got):
            raise ValueError(f"{name}: {got} {what}, want {want}")
    g.save(path, model.weights)
    graph.write(mark, [wanted.encode()])
    return path
