# SPDX-License-Identifier: MIT
"""That schedules.py measures and reports, that what it compares differs; and what it measured, against what dnncc chooses today."""
import argparse
import math
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import dnncc  # noqa: E402
import schedules  # noqa: E402

MEAN, WORST, UNKNOWN = 1.05, 1.25, 0.05      # chosen to best: geometric mean, any layer; and the share of layers that may have changed


def test_one_layer(tmp_path):
    done = dnncc.run([sys.executable, HERE / "schedules.py", f"--dnncc={dnncc.DNNCC}", "--models=squeezenet", "--target=x86-64",
                      "--sample=1", "--seconds=0.01", "--rounds=1", f"--out={tmp_path}"], timeout=600)
    assert done.returncode == 0, done.stderr
    assert "x86-64: 1 of " in done.stdout and "chain: 1 layers, chosen to best: geometric mean" in done.stdout


@pytest.fixture
def options(tmp_path):
    return argparse.Namespace(dnncc=dnncc.DNNCC, target="x86-64-v4", out=tmp_path, models="squeezenet,mobilenet_v2", sample=0)


def test_no_move_is_idle(options, tmp_path):
    """what --tune would try is another kernel; sizes of tiles aside, of which several may cut a dimension alike"""
    layers = {layer.key.split()[0]: layer for layer in schedules.find_layers(options)[0]}
    assert len(layers) == 4

    def kernel(layer, words):
        schedules.write_dump([(layer, words)], tmp_path / "layer.dnn")
        subprocess.run([dnncc.DNNCC, tmp_path / "layer.dnn", "-o", tmp_path / "layer.c", "--target=x86-64-v4",
                        "--passes=schedule,lower,vectorize,contract,legalize,plan,prune"], check=True)
        return re.sub(r"/\*.*?\*/|_BUILD_\w+", "", (tmp_path / "layer.c").read_text(), flags=re.S)

    for layer in layers.values():
        for words in layer.others:
            changed = {word.split("=")[0] for word in set(words.split()) ^ set(layer.chosen.split())}
            assert changed <= {"rows", "columns", "unroll"} or kernel(layer, words) != kernel(layer, layer.chosen), (layer.key, words)


# ---- today's choices by the times that were measured ----

def complaints(layers, choices):
    """Whatever is worse than it may be. choices: {key: schedule}"""
    known = {layer.key: layer.ratios[choices[layer.key]] for layer in layers if choices[layer.key] in layer.ratios}
    found = [f"{ratio:.2f} of the best time: {key}: {choices[key]}" for key, ratio in known.items() if ratio > WORST]
    mean = math.exp(sum(map(math.log, known.values())) / len(known)) if known else math.inf
    if mean > MEAN:
        found.append(f"the geometric mean of {len(known)} layers is {mean:.3f}")
    if len(known) < (1 - UNKNOWN) * len(layers):
        found.append(f"{len(layers) - len(known)} of {len(layers)} schedules were never measured: schedules.py --record")
    return found


def test_choices_are_as_good_as_measured(options):
    layers = schedules.read_record()
    assert len(layers) > 300
    assert not complaints(layers, schedules.choices(options, layers))


def test_complaints():
    layers = [schedules.Layer(str(k), "", "a=1", [], ratios={"a=1": 1.0, "a=2": 1.1, "a=3": 1.3}) for k in range(100)]
    assert not complaints(layers, {str(k): "a=2" if k < 40 else "a=1" if k < 96 else "b=1" for k in range(100)})
    assert complaints(layers, {str(k): "a=2" if k < 60 else "a=1" for k in range(100)}) == ["the geometric mean of 100 layers is 1.059"]
    assert complaints(layers, {str(k): "a=1" if k else "a=3" for k in range(100)}) == ["1.30 of the best time: 0: a=3"]
    assert "6 of 100 schedules were never measured" in complaints(layers, {str(k): "b=1" if k < 6 else "a=1" for k in range(100)})[0]


def test_what_is_remembered_are_layers_of_today(options):
    """of the smaller models; alone, a layer gets the schedule that it has in them"""
    layers = schedules.find_layers(options)[0]
    known = {(layer.key, layer.apart) for layer in schedules.read_record()}
    assert sum((layer.key, layer.apart) in known for layer in layers) >= (1 - UNKNOWN) * len(layers)
    choices = schedules.choices(options, layers)
    assert all(choices[layer.key] == layer.chosen for layer in layers)


def test_changes_of_words():
    old, new = "rows=2 columns=7 vectors=2 prefetch=2", "columns=15 unroll=8 prefetch=2"
    assert schedules.changes(old, new) == "columns=15 unroll=8 -rows -vectors" and schedules.changed(old, schedules.changes(old, new)) == new
