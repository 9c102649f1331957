# SPDX-License-Identifier: MIT
"""What onnxruntime and the reference evaluator of the onnx package make of a model, in a process of its own, which may end by a signal.

Run as a program, it reads models with arrays from standard input and writes results, both as pickles."""
import pickle
import resource
import select
import subprocess
import sys

REFUSED = "refused"     # it has a kernel, and finds fault with the model or the numbers
ABSENT = "absent"       # it has no kernel, or ended
PATIENCE = 20           # seconds for an answer: some strides of 0 never end


class Oracles:
    """a process that answers, started again where it ended"""

    def __init__(self):
        self.process = None

    def request(self, what, *given):
        """what it answers; ABSENT where it ends"""
        if self.process is None:
            self.process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            pickle.dump((what, *given), self.process.stdin)
            self.process.stdin.flush()
            if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
                raise EOFError
            return pickle.load(self.process.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            self.close()
            return ABSENT

    def model(self, base):
        """the base's model in bytes; None where onnx finds fault with it, or ends"""
        answer = self.request("model", base)
        return answer if isinstance(answer, bytes) else None

    def ask(self, model, given):
        """(of onnxruntime, of the reference): lists of arrays, or REFUSED or ABSENT"""
        return self.request("onnxruntime", model, given), self.request("reference", model, given)

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


def model_answer(base):
    import variants
    try:
        return variants.model_of(base).SerializeToString()
    except Exception:                   # noqa: BLE001, whatever onnx throws
        return REFUSED


def onnxruntime_answer(model, given):
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as state
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, given)
    except state.NotImplemented:
        return ABSENT
    except Exception as error:          # noqa: BLE001, whatever it throws
        text = str(error)
        return ABSENT if "under development" in text or "is not supported" in text or "Unsupported model IR" in text else REFUSED


def reference_answer(model, given):
    import numpy as np
    import onnx
    from onnx.reference import ReferenceEvaluator
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(r) for r in ReferenceEvaluator(onnx.load_model_from_string(model)).run(None, given)]
    except Exception:                   # noqa: BLE001
        return REFUSED


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = {"model": model_answer, "onnxruntime": onnxruntime_answer, "reference": reference_answer}
    while True:
        try:
            what, *given = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            data = pickle.dumps(answers[what](*given))
        except Exception:               # noqa: BLE001, a result that is no array
            data = pickle.dumps(ABSENT)
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
