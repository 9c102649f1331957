# SPDX-License-Identifier: MIT
"""--schedule and --tune: schedules from a file, and the file that tuning writes."""
import pathlib
import sys

import numpy as np
import onnx
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

TARGET = "--target=x86-64"                        # runs on any x86


def convolution(folder, weights=np.random.default_rng(1).standard_normal((16, 16, 3, 3)).astype(np.float32), width=11):
    node = onnx.helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1], name="conv")
    port = [onnx.helper.make_tensor_value_info(n, 1, [1, len(weights), width, width]) for n in "xy"]
    graph = onnx.helper.make_graph([node], "g", port[:1], port[1:], [onnx.numpy_helper.from_array(weights, "w")])
    path = folder / "conv.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), path)
    return path


def run(*arguments):
    return dnncc.run([dnncc.DNNCC, *arguments], timeout=120)


def dump(path, *arguments):
    done = run(path, "--emit=ir", "-o", "-", TARGET, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_empty_file_changes_nothing(tmp_path):
    path, book = convolution(tmp_path), tmp_path / "book"
    book.write_text("dnncc-schedule 1\n; nothing\n\n")
    assert 'schedule="' in dump(path) and dump(path, f"--schedule={book}") == dump(path)


@pytest.mark.parametrize("text", ["", "dnncc-schedule 2\n", "dnncc-schedule 1\nconvolve_packed\n",
                                  "dnncc-schedule 1\nkey: columns=1000\n", "dnncc-schedule 1\nkey: colums=2\n",
                                  "dnncc-schedule 1\nkey: columns=\n", "dnncc-schedule 1\n\0: columns=2\n",
                                  "dnncc-schedule 1\nKEY:\n", "dnncc-schedule 1\nKEY:   \n", "dnncc-schedule 1\nKEY: ; why\n"])
def test_broken_files(tmp_path, text):
    path, book = convolution(tmp_path), tmp_path / "book"
    assert run(path, TARGET, "--tune", f"--schedule={book}", "--limit", "tune_seconds=0").returncode == 0
    key = next(line for line in book.read_text().splitlines() if line.startswith("convolve_")).split(": ")[0]
    book.write_bytes(text.replace("KEY", key).encode())
    done = run(path, "-o", tmp_path / "m.c", TARGET, f"--schedule={book}")
    assert done.returncode == dnncc.INVALID and done.stderr.startswith(f"{book}: error: ")
    assert "schedule" in done.stderr and ("\n" not in text[:-1] or "error: line 2: " in done.stderr)
    assert not (tmp_path / "m.c").exists()


@pytest.mark.parametrize("target", [TARGET, "--target=generic"])
def test_schedules_of_a_dump(tmp_path, target):
    """one that says nothing is an error, whether or not the target follows schedules; blanks before the reason are not part of it"""
    text = dump(convolution(tmp_path))
    words = text.split('schedule="')[1].split('"')[0]
    for instead, code in (("", dnncc.INVALID), ("; why", dnncc.INVALID), ("colums=2", dnncc.INVALID), ("columns=65", dnncc.INVALID),
                          ("columns=2 circular", dnncc.INVALID), ("columns=2  ; why", dnncc.OK), ("columns=2", dnncc.OK)):
        (tmp_path / "m.dnn").write_text(text.replace(words, instead))
        done = run(tmp_path / "m.dnn", "-o", tmp_path / "m.c", target)
        assert done.returncode == code, (instead, done.stderr)
        assert code == dnncc.OK or "schedule" in done.stderr and "line" in done.stderr


def test_missing_file_and_usage(tmp_path):
    path = convolution(tmp_path)
    assert run(path, "-o", tmp_path / "m.c", TARGET, "--schedule=/nonexistent").returncode == dnncc.IO
    assert run(path, TARGET, "--tune").returncode == dnncc.USAGE
    assert run(path, "--tune", f"--schedule={tmp_path / 'book'}", "--target=cuda-sm_80").returncode == dnncc.USAGE


@pytest.mark.slow
def test_tuning_writes_a_file_that_is_read(tmp_path):
    path, book = convolution(tmp_path), tmp_path / "book"
    done = run(path, TARGET, "--tune", f"--schedule={book}", "--limit", "tune_seconds=4", "-v")
    assert done.returncode == 0, done.stderr
    lines = book.read_text().splitlines()
    assert lines[0] == "dnncc-schedule 1" and any(line.startswith("convolve_") for line in lines)
    key, words = next(line for line in lines if line.startswith("convolve_")).split(";")[0].split(": ")
    book.write_text(f"dnncc-schedule 1\n{key}: {words.strip()} split=2\n")
    assert "split=2" in dump(path, f"--schedule={book}")
    done = run(path, "-o", tmp_path / "m.c", TARGET, f"--schedule={book}", "-MD")
    assert done.returncode == 0 and str(book) in (tmp_path / "m.d").read_text()


@pytest.mark.long
@pytest.mark.slow
def test_tuning_reads_weights_from_their_file(tmp_path):
    weights = np.random.default_rng(1).standard_normal((64, 64, 3, 3)).astype(np.float32)
    done = run(convolution(tmp_path, weights), TARGET, "--tune", f"--schedule={tmp_path / 'book'}", "--limit", "tune_seconds=8",
               "--cc=cc -O2 -Wall -Wextra -Werror")
    assert done.returncode == 0, done.stderr


def test_dump_says_why_and_is_read_again(tmp_path):
    text = dump(convolution(tmp_path))
    words, why = text.split('schedule="')[1].split('"')[0].split("; ", 1)
    assert "=" in words and "kcycles" in why
    (tmp_path / "again.dnn").write_text(text)
    assert dump(tmp_path / "again.dnn") == text
    code = run(convolution(tmp_path), "-o", tmp_path / "m.c", TARGET)
    assert code.returncode == 0 and "kcycles" not in (tmp_path / "m.c").read_text()


def test_without_time_the_file_lists_neighbours(tmp_path):
    path, book = convolution(tmp_path), tmp_path / "book"
    assert run(path, TARGET, "--tune", f"--schedule={book}", "--limit", "tune_seconds=0").returncode == 0
    lines = book.read_text().splitlines()
    others = [line[len(";   or "):] for line in lines if line.startswith(";   or ")]
    assert others and len(others) == len(set(others)) and "kcycles" in book.read_text()
    key = next(line for line in lines if line.startswith("convolve_")).split(": ")[0]
    book.write_text(f"dnncc-schedule 1\n{key}: {others[0]}\n")
    assert f'schedule="{others[0]}"' in dump(path, f"--schedule={book}")


def test_a_schedule_for_the_convolution_keeps_it_direct(tmp_path):
    """and not tiled by Winograd's algorithm"""
    weights = np.random.default_rng(1).standard_normal((64, 64, 3, 3)).astype(np.float32)
    path, book = convolution(tmp_path, weights, 56), tmp_path / "book"
    tiled = ["--limit", "winograd_percent=400"]
    done = run(path, TARGET, "--tune", f"--schedule={book}", "--limit", "tune_seconds=0", "--limit", "winograd_percent=0")
    assert done.returncode == 0 and "\nconvolve_packed " in book.read_text()
    assert "convolve_winograd" in dump(path, *tiled) and "convolve_winograd" not in dump(path, *tiled, f"--schedule={book}")
