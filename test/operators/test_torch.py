# SPDX-License-Identifier: MIT
"""PyTorch as a third witness beside the standard's text and onnxruntime: of each operator with an exporter fifty sets of attributes, drawn at random, in one module
that torch exports, against what torch itself computes. Where PyTorch is installed (make torch)."""
import pathlib
import random
import sys

import numpy as np
import onnx
import pytest

torch = pytest.importorskip("torch", reason="no PyTorch: make torch")
pytest.importorskip("onnxscript", reason="no exporter of PyTorch: make torch")
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import dnncc  # noqa: E402

pytestmark = pytest.mark.long
DRAWS = 50


class Many(nn.Module):
    """functions of tensors, each of its own inputs"""

    def __init__(self, parts):
        super().__init__()
        self.functions = [f for f, _ in parts]
        self.modules_of = nn.ModuleList(f for f, _ in parts if isinstance(f, nn.Module))
        self.counts = [len(x) for _, x in parts]

    def forward(self, *inputs):
        results, at = [], 0
        for f, count in zip(self.functions, self.counts):
            y = f(*inputs[at:at + count])
            results += y if isinstance(y, (tuple, list)) else [y]
            at += count
        return tuple(results)


def tensor(r, *shape):
    return torch.from_numpy(np.random.default_rng(r.randrange(1 << 30)).standard_normal(shape).astype(np.float32))


def shape(r, dims, least=3, most=11):
    return [r.randint(1, 2), r.choice([1, 2, 4])] + [r.randint(least, most) for _ in range(dims)]


# ---- a draw of each operator: a function, or a module, and its inputs ----


def interpolate(r):
    dims = r.choice([1, 2, 2, 3])
    mode = r.choice({1: ["nearest", "linear"], 2: ["nearest", "bilinear", "bicubic"], 3: ["nearest", "trilinear"]}[dims])
    x = tensor(r, *shape(r, dims))
    how = dict(mode=mode)
    if mode != "nearest":
        how["align_corners"] = r.random() < 0.5
    if r.random() < 0.5:
        how["size"] = [r.randint(1, 15) for _ in range(dims)]
    else:
        how["scale_factor"] = [r.choice([0.5, 2.0, 1.5, 0.75, 0.6, 1.3, 3.0]) for _ in range(dims)]
        how["recompute_scale_factor"] = r.random() < 0.3
    return lambda x: F.interpolate(x, **how), [x]


def grid_sample(r):
    x = tensor(r, *shape(r, 2))
    grid = tensor(r, x.shape[0], r.randint(1, 7), r.randint(1, 7), 2) * r.choice([0.5, 1.0, 1.5])
    how = dict(mode=r.choice(["nearest", "bilinear", "bicubic"]), padding_mode=r.choice(["zeros", "border", "reflection"]), align_corners=r.random() < 0.5)
    return lambda x, g: F.grid_sample(x, g, **how), [x, grid]


def max_pool(r):
    dims = r.choice([1, 2, 3])
    kernel = [r.randint(1, 3) for _ in range(dims)]
    how = dict(kernel_size=kernel, stride=[r.randint(1, 3) for _ in kernel], padding=[r.randint(0, k // 2) for k in kernel], dilation=[r.randint(1, 2) for _ in kernel],
               ceil_mode=r.random() < 0.5)
    f = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}[dims]
    return lambda x: f(x, **how), [tensor(r, *shape(r, dims, 6))]


def average_pool(r):
    dims = r.choice([1, 2, 3])
    kernel = [r.randint(1, 3) for _ in range(dims)]
    how = dict(kernel_size=kernel, stride=[r.randint(1, 3) for _ in kernel], padding=[r.randint(0, k // 2) for k in kernel], ceil_mode=r.random() < 0.5,
               count_include_pad=r.random() < 0.5)
    f = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}[dims]
    return lambda x: f(x, **how), [tensor(r, *shape(r, dims, 6))]


def norm(r):
    x = tensor(r, *shape(r, r.choice([1, 2])))
    channels = x.shape[1]
    kind = r.choice(["layer", "group", "instance", "batch", "rms"])
    if kind == "layer":
        return nn.LayerNorm(list(x.shape[r.randint(2, x.dim() - 1):]), eps=r.choice([1e-5, 1e-3])), [x]
    if kind == "group":
        return nn.GroupNorm(r.choice([g for g in (1, 2, 4) if channels % g == 0]), channels), [x]
    if kind == "instance":
        return (nn.InstanceNorm1d if x.dim() == 3 else nn.InstanceNorm2d)(channels, affine=r.random() < 0.5), [x]
    if kind == "rms":
        return nn.RMSNorm(x.shape[-1], eps=1e-5), [x]
    return (nn.BatchNorm1d if x.dim() == 3 else nn.BatchNorm2d)(channels), [x]


def recurrent(r):
    hidden, width = r.randint(1, 6), r.randint(1, 5)
    cell = r.choice([nn.LSTM, nn.GRU, nn.RNN])
    how = dict(num_layers=r.randint(1, 2), bidirectional=r.random() < 0.5, batch_first=r.random() < 0.5, bias=r.random() < 0.7)
    if cell is nn.RNN:
        how["nonlinearity"] = r.choice(["tanh", "relu"])
    module = cell(width, hidden, **how)

    class First(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = module

        def forward(self, x):
            return self.cell(x)[0]
    return First(), [tensor(r, r.randint(2, 6), r.randint(2, 4), width)]


def attention(r):
    batch, heads, rows, keys, size = r.randint(1, 2), r.choice([1, 2, 4]), r.randint(1, 9), r.randint(1, 9), r.choice([4, 8])
    q, k, v = tensor(r, batch, heads, rows, size), tensor(r, batch, heads, keys, size), tensor(r, batch, heads, keys, size)
    kind = r.choice(["", "causal", "bool", "float"])
    if kind == "causal":
        return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), [q, k, v]
    if kind == "bool":
        mask = tensor(r, rows, keys) > 0
        mask[:, 0] = True
        return lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m), [q, k, v, mask]
    if kind == "float":
        return lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m), [q, k, v, tensor(r, rows, keys)]
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.3), [q, k, v]


def transposed(r):
    dims, groups = r.choice([1, 2, 3]), r.choice([1, 1, 2])
    kernel, stride = [r.randint(1, 4) for _ in range(dims)], [r.randint(1, 3) for _ in range(dims)]
    dilation = [r.randint(1, 2) for _ in range(dims)]
    more = [r.randint(0, max(s, d) - 1) for s, d in zip(stride, dilation)]
    cell = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}[dims]
    x = tensor(r, r.randint(1, 2), 2 * groups, *[r.randint(3, 6) for _ in range(dims)])
    return cell(2 * groups, 3 * groups, kernel, stride, [r.randint(0, k // 2) for k in kernel], more, groups, r.random() < 0.5, dilation), [x]


def convolution(r):
    dims, groups = r.choice([1, 2, 3]), r.choice([1, 1, 2])
    kernel = [r.randint(1, 3) for _ in range(dims)]
    cell = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}[dims]
    x = tensor(r, r.randint(1, 2), 2 * groups, *[r.randint(5, 9) for _ in range(dims)])
    padding = r.choice(["same", "valid", [r.randint(0, 2) for _ in kernel]])
    stride = 1 if padding == "same" else [r.randint(1, 3) for _ in kernel]
    # always with a bias: the exporter of 2.15 gives a convolution without one a bias of two dimensions, which is none
    return cell(2 * groups, 3 * groups, kernel, stride, padding, [r.randint(1, 2) for _ in kernel], groups, True,
                r.choice(["zeros", "reflect", "replicate", "circular"]) if padding not in ("same", "valid") else "zeros"), [x]


def unfold(r):
    x = tensor(r, r.randint(1, 2), r.randint(1, 3), r.randint(5, 9), r.randint(5, 9))
    how = dict(kernel_size=[r.randint(1, 3), r.randint(1, 3)], dilation=r.randint(1, 2), padding=r.randint(0, 1), stride=r.randint(1, 2))
    if r.random() < 0.5:
        return lambda x: F.unfold(x, **how), [x]
    y = F.unfold(x, **how)
    size = x.shape[2:]
    return lambda y: F.fold(y, size, **how), [y]


def pad(r):
    dims = r.choice([1, 2])
    x = tensor(r, *shape(r, dims, 4))
    mode = r.choice(["constant", "reflect", "replicate", "circular"])
    sizes = [r.randint(0, 3) for _ in range(2 * dims)]
    if mode == "constant" and r.random() < 0.5:
        sizes[0] = -1
    return lambda x: F.pad(x, sizes, mode, *([1.5] if mode == "constant" else [])), [x]


def along(r):
    x = tensor(r, *shape(r, 2))
    dim = r.randint(-4, 3)
    keep = r.random() < 0.5
    return r.choice([lambda x: torch.cumsum(x, dim), lambda x: torch.softmax(x, dim), lambda x: torch.log_softmax(x, dim), lambda x: torch.amax(x, dim, keep),
                     lambda x: torch.logsumexp(x, dim, keep), lambda x: torch.norm(x, dim=dim, keepdim=keep), lambda x: torch.mean(x, dim, keep),
                     lambda x: torch.var(x, dim, correction=1, keepdim=keep) if x.shape[dim] > 1 else x, lambda x: torch.argmax(x, dim, keep).float(),
                     lambda x: F.normalize(x, dim=dim), lambda x: torch.flip(x, [dim]), lambda x: torch.roll(x, 2, dim), lambda x: torch.prod(x, dim, keep)]), [x]


def activation(r):
    slope = r.choice([0.1, 1.0, 2.0])
    f = r.choice([F.gelu, lambda x: F.gelu(x, approximate="tanh"), lambda x: F.elu(x, slope), F.selu, lambda x: F.celu(x, slope), F.silu, F.mish, F.hardswish, F.hardsigmoid,
                  lambda x: F.softplus(x, beta=slope), F.softsign, lambda x: F.leaky_relu(x, slope), F.relu6, lambda x: F.hardtanh(x, -slope, slope), F.logsigmoid,
                  lambda x: F.threshold(x, slope, 0.0), lambda x: F.glu(torch.cat([x, x * 2], 1), 1), lambda x: F.hardshrink(x, slope), lambda x: F.softshrink(x, slope)])
    return f, [tensor(r, *shape(r, 1)) * r.choice([1, 10])]


def indexing(r):
    x = tensor(r, r.randint(2, 5), r.randint(2, 5), r.randint(2, 5))
    dim = r.randint(0, 2)
    index = torch.from_numpy(np.random.default_rng(r.randrange(99)).integers(0, x.shape[dim], x.shape))
    row = index.reshape(-1)[:3].contiguous()
    return r.choice([(lambda x, i: torch.gather(x, dim, i), [x, index]), (lambda x, i: torch.index_select(x, dim, i), [x, row]),
                     (lambda x, i: torch.scatter_add(x, dim, i, x * 2), [x, index]), (lambda x: torch.topk(x, 2, dim)[0], [x]), (lambda x: torch.sort(x, dim)[0], [x]),
                     (lambda x: torch.diagonal(x, 0, 1, 2), [x]), (lambda x: torch.tril(x, 1), [x]), (lambda x: x.unfold(dim, 2, 1), [x]),
                     (lambda x: F.one_hot((x > 0).long(), 3).float(), [x]), (lambda x: torch.where(x > 0, x, -x), [x])])


def loss(r):
    rows, classes = r.randint(2, 6), r.randint(2, 6)
    x = tensor(r, rows, classes)
    target = torch.from_numpy(np.random.default_rng(r.randrange(99)).integers(0, classes, rows))
    reduction = r.choice(["mean", "sum", "none"])
    return r.choice([(lambda x, t: F.cross_entropy(x, t, reduction=reduction), [x, target]), (lambda x, t: F.nll_loss(x, t, reduction=reduction), [x, target]),
                     (lambda x: F.smooth_l1_loss(x, x * 0.5, reduction=reduction, beta=0.7), [x]), (lambda x: F.mse_loss(x, x * 0.5, reduction=reduction), [x]),
                     (lambda x: F.huber_loss(x, x * 0.5, reduction=reduction), [x]), (lambda x: F.binary_cross_entropy_with_logits(x, torch.sigmoid(x), reduction=reduction), [x])])


FAMILIES = [interpolate, grid_sample, max_pool, average_pool, norm, recurrent, attention, transposed, convolution, unfold, pad, along, activation, indexing, loss]


def usable(part):
    """torch itself takes these arguments"""
    f, x = part
    if isinstance(f, nn.Module):
        f.eval()
        for p in (*f.parameters(), *f.buffers()):
            if p.dtype == torch.float32:
                p.data = p.data + 0.1 * torch.rand_like(p.data) if p.dim() else p.data
    try:
        y = f(*x)
    except (RuntimeError, ValueError):
        return False
    return all(t.numel() for t in (y if isinstance(y, (tuple, list)) else [y]))


def draws(family):
    r = random.Random(family.__name__)
    torch.manual_seed(r.randrange(1 << 30))
    parts = []
    while len(parts) < DRAWS:
        part = family(r)
        if usable(part):
            parts.append(part)
    return parts


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_as_torch(family, tmp_path):
    parts = draws(family)
    module, inputs = Many(parts).eval(), [x for _, part in parts for x in part]
    with torch.no_grad():
        want = module(*inputs)
        torch.onnx.export(module, tuple(inputs), str(tmp_path / "m.onnx"), dynamo=True, optimize=False, verbose=False, external_data=False)
    for k, x in enumerate(inputs):
        np.save(tmp_path / f"input_{k}.npy", np.asarray(x.numpy(), order="C"))
    assert len(onnx.load(tmp_path / "m.onnx").graph.input) == len(inputs)
    done = dnncc.run([dnncc.DNNCC, tmp_path / "m.onnx", f"--run={tmp_path}", "-q"], timeout=600)
    assert done.returncode == 0, done.stderr
    wrong = []
    for k, y in enumerate(want):
        got = np.load(tmp_path / f"output_{k}.npy")
        if got.shape != tuple(y.shape) or not np.allclose(got, y.numpy(), rtol=1e-4, atol=1e-4, equal_nan=True):
            wrong.append(f"output {k}: {got.shape} {got.ravel()[:4]}, want {tuple(y.shape)} {y.numpy().ravel()[:4]}")
    assert not wrong, f"{len(wrong)} of {len(want)}\n" + "\n".join(wrong[:8])
