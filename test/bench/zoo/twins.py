# SPDX-License-Identifier: MIT
"""Small twins of the zoo: the same graphs on smaller images and shorter texts, for what takes too long on the zoo itself.

    from zoo import twins
    twins.build("resnet50")         # the path of build/zoo/twins/resnet50.onnx, written if absent or out of date
    twins.inputs("resnet50", 1)     # {name: array}

Channels are what they were, so that every width that the zoo has is met; where parameters alone would be hundreds of megabytes (BERT,
GPT-2), rows of channels are narrower and layers fewer. Quantized models are quantized anew.
"""
import contextlib
import functools
from dataclasses import replace
from unittest import mock

import zoo

from . import quantized, sequences

SIDES = {"densenet121": 64, "inception_v3": 75, "unet": 32, "yolo": 64} # of images; 32 where nothing else is said
TOKENS, PAST, STEPS = 40, 24, 3
WIDTH, HEADS, LAYERS = 192, 3, 2        # of transformers
GPT = {"GPT_WIDTH": WIDTH, "GPT_HEADS": HEADS, "GPT_LAYERS": LAYERS}


def picture(model):
    return zoo.picture(SIDES.get(model.name, 32))


def gpt_inputs(past, length):
    places = (tuple(range(past + 1, past + length + 1)), tuple(range(past, past + length)))
    caches = [zoo.Input(sequences.gpt_cache(layer, part), (1, HEADS, past, WIDTH // HEADS)) for layer in range(LAYERS) if past
              for part in ("key", "value")]
    return (zoo.tokens("input_ids", length, 50257), zoo.tokens("position_ids", length, *places), *caches)


def gpt(g):
    with mock.patch.multiple(sequences, **GPT):
        sequences.gpt(g)


def twin(model):
    """the row of the smaller model; what its parameters and multiply-adds come to is not of interest"""
    small = {
        "bert_base": {"builder": functools.partial(sequences.bert_base, width=WIDTH, heads=HEADS, layers=LAYERS),
                      "inputs": (zoo.tokens("input_ids", TOKENS, 30522), zoo.Input("attention_mask", (1, TOKENS), "prefix", TOKENS // 2, TOKENS),
                                 zoo.tokens("token_type_ids", TOKENS, 2))},
        "gpt_prefill": {"builder": gpt, "inputs": gpt_inputs(0, TOKENS), "weights": None},
        "gpt_step": {"builder": gpt, "inputs": gpt_inputs(PAST, 1), "weights": None},
        "lstm": {"inputs": (zoo.Input("frames", (STEPS, 1, 512)),)},
        "recommender": {},
        "autoencoder": {},
    }
    return replace(model, parameters=None, macs=None, **small.get(model.name, {"inputs": picture(model)}))


MODELS = {name: twin(model) for name, model in zoo.MODELS.items()}
QUANTIZED = quantized.MODELS


@contextlib.contextmanager
def zoo_of_twins():
    with mock.patch.multiple(zoo, MODELS=MODELS, FOLDER=zoo.FOLDER / "twins"):
        yield


def source(name):
    """the model of the zoo whose inputs it has"""
    return QUANTIZED[name].of if name in QUANTIZED else name


def build(name):
    with zoo_of_twins():
        return quantized.build(name) if name in QUANTIZED else zoo.build(name)


def inputs(name, seed):
    with zoo_of_twins():
        return zoo.inputs(source(name), seed)
