# SPDX-License-Identifier: MIT
"""The shape of the language model that llama.py and llama_peer.py make: some 0.4 G weights, as of a small Llama or Qwen."""
LAYERS, WIDTH, HEADS, GROUPS, SIZE, HIDDEN, TOKENS, POSITIONS = 24, 896, 14, 2, 64, 4864, 32000, 2048
