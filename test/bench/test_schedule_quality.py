"""schedules.py on one layer: that it runs and reports, not what it finds."""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import dnncc  # noqa: E402


def test_one_layer(tmp_path):
    done = subprocess.run([sys.executable, HERE / "schedules.py", f"--dnncc={dnncc.DNNCC}", "--models=squeezenet", "--target=x86-64",
                           "--sample=1", "--seconds=0.01", "--rounds=1", f"--out={tmp_path}"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "x86-64: 1 of " in done.stdout and "chain: 1 layers, chosen to best: geometric mean" in done.stdout
