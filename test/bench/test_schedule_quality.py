"""schedules.py on one layer: that it runs and reports, not what it finds. And that what it compares differs."""
import argparse
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import dnncc  # noqa: E402
import schedules  # noqa: E402


def test_one_layer(tmp_path):
    done = subprocess.run([sys.executable, HERE / "schedules.py", f"--dnncc={dnncc.DNNCC}", "--models=squeezenet", "--target=x86-64",
                           "--sample=1", "--seconds=0.01", "--rounds=1", f"--out={tmp_path}"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "x86-64: 1 of " in done.stdout and "chain: 1 layers, chosen to best: geometric mean" in done.stdout


def test_no_move_is_idle(tmp_path):
    """what --tune would try is another kernel; sizes of tiles aside, of which several may cut a dimension alike"""
    options = argparse.Namespace(dnncc=dnncc.DNNCC, target="x86-64-v4", out=tmp_path)
    layers = {layer.key.split()[0]: layer for name in ("squeezenet", "mobilenet_v2") for layer in schedules.read_book(options, schedules.zoo.build(name))}
    assert len(layers) == 4

    def kernel(layer, words):
        schedules.write_dump(layer, [words], tmp_path / "layer.dnn")
        subprocess.run([dnncc.DNNCC, tmp_path / "layer.dnn", "-o", tmp_path / "layer.c", "--target=x86-64-v4",
                        "--passes=schedule,lower,vectorize,contract,legalize,plan"], check=True)
        return re.sub(r"/\*.*?\*/|_BUILD_\w+", "", (tmp_path / "layer.c").read_text(), flags=re.S)

    for layer in layers.values():
        for words in layer.others:
            changed = {word.split("=")[0] for word in set(words.split()) ^ set(layer.chosen.split())}
            assert changed <= {"rows", "columns", "unroll"} or kernel(layer, words) != kernel(layer, layer.chosen), (layer.key, words)
