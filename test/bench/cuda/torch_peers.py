# SPDX-License-Identifier: MIT
"""What torch takes for the same on this GPU, in microseconds: eager in a graph (cuDNN, cuBLAS), and compiled where asked for."""


def torch_times(replays, compiled=False):
    """{what: microseconds}; empty without torch or a GPU"""
    try:
        import torch
    except ImportError:
        return {}
    if not torch.cuda.is_available():
        return {}
    torch.backends.cudnn.benchmark = True
    found = {}
    for what, function in cases(torch).items():
        try:
            with torch.inference_mode():
                found[what] = in_graph(torch, function, replays)
                if compiled and not what.startswith("product"):
                    found[what + ", compiled"] = in_graph(torch, torch.compile(function, mode="max-autotune-no-cudagraphs"), replays)
        except Exception as error:      # a peer that cannot is left out, and named
            print(f"torch, {what}: {str(error)[:200]}")
    return found


def in_graph(torch, function, replays):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            function()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function()
    times = []
    for _ in range(replays + 20):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return sorted(times[20:])[replays // 2]


def cases(torch):
    """{what: a function that computes it once}"""
    functional, half = torch.nn.functional, torch.float16
    found = {}
    for dtype in torch.bfloat16, half:
        a, b = (torch.randn(4096, 4096, device="cuda", dtype=dtype) for _ in range(2))
        q, k, v = (torch.randn(1, 16, 4096, 128, device="cuda", dtype=dtype) for _ in range(3))
        found[f"product 4096, {str(dtype)[6:]}"] = lambda a=a, b=b: a @ b
        found[f"attention, 16 heads of 128, 4096 keys, {str(dtype)[6:]}"] = lambda q=q, k=k, v=v: functional.scaled_dot_product_attention(q, k, v)
    for name, images in ("resnet50", 1), ("resnet50", 32), ("mobilenet_v2", 1):
        for dtype in half, torch.float32:
            if dtype == half or images == 1:
                found[f"{name}, batch {images}, {str(dtype)[6:]}"] = network(torch, name, images, dtype)
    for dtype in half, torch.float32:
        for tokens in 128, 384:
            found[f"bert_base, {tokens} tokens, {str(dtype)[6:]}"] = bert(torch, dtype, tokens)
        found[f"gpt_step, {str(dtype)[6:]}"] = gpt_step(torch, dtype)
    return {what: f for what, f in found.items() if f}


def network(torch, name, images, dtype):
    try:
        import torchvision
    except ImportError:
        return None
    model = getattr(torchvision.models, name)().eval().cuda().to(dtype).to(memory_format=torch.channels_last)
    x = torch.randn(images, 3, 224, 224, device="cuda", dtype=dtype).to(memory_format=torch.channels_last)
    return lambda: model(x)


def bert(torch, dtype, tokens):
    try:
        from transformers import BertConfig, BertModel
    except ImportError:
        return None
    model = BertModel(BertConfig()).eval().cuda().to(dtype)
    words, there = torch.randint(0, 30000, (1, tokens), device="cuda"), torch.ones(1, tokens, device="cuda", dtype=torch.long)
    return lambda: model(input_ids=words, attention_mask=there)


def gpt_step(torch, dtype):
    """GPT-2 small by hand: one token, 128 before it in the cache"""
    functional, layers, heads, width = torch.nn.functional, 12, 12, 768
    def parameters(*shape):
        return torch.randn(shape, device="cuda", dtype=dtype) * 0.02
    blocks = [{"qkv": (parameters(3 * width, width), parameters(3 * width)), "out": (parameters(width, width), parameters(width)),
               "up": (parameters(4 * width, width), parameters(4 * width)), "down": (parameters(width, 4 * width), parameters(width)),
               "norms": [(parameters(width), parameters(width)) for _ in range(2)], "cache": parameters(2, 1, heads, 128, width // heads)} for _ in range(layers)]
    words, places, last = parameters(50257, width), parameters(1024, width), (parameters(width), parameters(width))
    word, place = torch.zeros(1, 1, device="cuda", dtype=torch.long), torch.full((1, 1), 128, device="cuda", dtype=torch.long)

    def step():
        x = functional.embedding(word, words) + functional.embedding(place, places)
        kept = []
        for block in blocks:
            q, k, v = functional.linear(functional.layer_norm(x, (width,), *block["norms"][0]), *block["qkv"]).view(1, 1, 3, heads, -1).permute(2, 0, 3, 1, 4)
            keys, values = torch.cat([block["cache"][0], k], 2), torch.cat([block["cache"][1], v], 2)
            kept += [keys, values]
            y = functional.scaled_dot_product_attention(q, keys, values)
            x = x + functional.linear(y.transpose(1, 2).reshape(1, 1, width), *block["out"])
            y = functional.gelu(functional.linear(functional.layer_norm(x, (width,), *block["norms"][1]), *block["up"]), approximate="tanh")
            x = x + functional.linear(y, *block["down"])
        return functional.linear(functional.layer_norm(x, (width,), *last), words), kept
    return step
