# SPDX-License-Identifier: MIT
"""Two small vocabularies: of byte pairs, learned from a text, and how a text is written in it; of SentencePiece."""
import re

TEXT = "the cat sat on the mat, and the cats that sat there ate; a hat, then 12 hats and 120 cats: the naïve cat's café …"


def letters():
    """the character that byte pairs write for each byte: itself where it is printed in Latin-1, else one from U+0100 on"""
    plain = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174]
    others = [b for b in range(256) if b not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + i) for i, b in enumerate(others)}}


def joined(word, ranks):
    """a word, a list of byte strings, by its merges: the pair that was learned first is joined first"""
    while pairs := [(ranks[pair], i) for i, pair in enumerate(zip(word, word[1:])) if pair in ranks]:
        i = min(pairs)[1]
        word = word[:i] + [word[i] + word[i + 1]] + word[i + 2:]
    return word


def words(text):
    return [[bytes([b]) for b in word.encode()] for word in re.findall(" ?[^ ]+", text)]


def learned(text, count):
    """merges, each the most frequent pair of a text's words, which begin with their blank"""
    merges = {}
    for rank in range(count):
        pairs = [pair for word in (joined(word, merges) for word in words(text)) for pair in zip(word, word[1:])]
        merges[max(sorted(set(pairs)), key=pairs.count)] = rank
    return merges


MERGES = learned(TEXT, 40)
PAIRS = [bytes([b]) for b in range(256)] + [a + b for a, b in MERGES]


def byte_pairs(writer):
    signs = letters()

    def written(text):
        return "".join(signs[b] for b in text)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([written(t) for t in PAIRS] + ["<|end|>", "<é >"])
    writer.add_token_types([1] * len(PAIRS) + [3, 4])
    writer.add_token_merges([f"{written(a)} {written(b)}" for a, b in MERGES])
    writer.add_eos_token_id(len(PAIRS))


def encoded(text):
    """the numbers of a text's tokens; a word is joined by itself"""
    return [PAIRS.index(part) for word in words(text) for part in joined(word, MERGES)]


PIECES = ["<unk>", "<s>", "</s>", "<0x0A>", "<0xZZ>", "▁a", "b▁▁", "▁", "\\", "▁user", "gone", ""]


def pieces(writer):
    writer.add_tokenizer_model("llama")
    writer.add_token_list(PIECES)
    writer.add_token_scores([i / 8 for i in range(len(PIECES))])
    writer.add_token_types([2, 3, 3, 6, 6, 1, 1, 1, 1, 4, 5, 1])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
