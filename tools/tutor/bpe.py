"""Byte-level BPE: training, encoding, and the files that hold it (tokenizer.json, tokenizer_config.json)."""

import json
from collections import Counter, defaultdict

import regex

# The pre-tokenizer of GPT-2: ByteLevel with use_regex in tokenizer.json, `gpt-2` in GGUF.
SPLIT = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")

BOS, END, SYSTEM, USER, ASSISTANT = "<|bos|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"
SPECIAL = [BOS, END, SYSTEM, USER, ASSISTANT]

CHAT_TEMPLATE = (
    "{{ bos_token }}"
    "{% for message in messages %}"
    "{% if message['role'] == 'user' %}{{ '<|user|>\\n' + message['content'] | trim + '<|end|>\\n' }}"
    "{% elif message['role'] == 'assistant' %}{{ '<|assistant|>\\n' + message['content'] | trim + '<|end|>\\n' }}"
    "{% elif message['role'] in ['system', 'developer'] %}{{ '<|system|>\\n' + message['content'] | trim + '<|end|>\\n' }}"
    "{% else %}{{ raise_exception('This model knows the roles system, developer, user and assistant') }}"
    "{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}"
)


def byte_alphabet():
    """GPT-2's printable stand-in for each of the 256 bytes, indexed by byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters, extra = {b: chr(b) for b in plain}, 0
    for b in range(256):
        if b not in letters:
            letters[b] = chr(256 + extra)
            extra += 1
    return [letters[b] for b in range(256)]


ALPHABET = byte_alphabet()


def _letters(piece):
    return [ALPHABET[b] for b in piece.encode("utf-8")]


def train(texts, vocab_size):
    """Learns merges on `texts`; ids are specials, then the 256 bytes, then one piece a merge."""
    counts = Counter(piece for text in texts for piece in SPLIT.findall(text))
    words = [(_letters(p), c) for p, c in sorted(counts.items())]
    pairs, where = Counter(), defaultdict(set)
    for i, (symbols, count) in enumerate(words):
        for pair in zip(symbols, symbols[1:]):
            pairs[pair] += count
            where[pair].add(i)
    tokens = SPECIAL + sorted(ALPHABET, key=ALPHABET.index)
    merges = []
    while len(tokens) < vocab_size:
        best = max(pairs, key=lambda p: (pairs[p], p))
        if pairs[best] <= 0:
            raise ValueError("the corpus is too small for this vocabulary")
        joined = best[0] + best[1]
        merges.append(best)
        if joined not in tokens:
            tokens.append(joined)
        for i in list(where[best]):
            symbols, count = words[i]
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] -= count
            merged = _merge(symbols, best)
            words[i] = (merged, count)
            for pair in zip(merged, merged[1:]):
                pairs[pair] += count
                where[pair].add(i)
        del pairs[best]
    return Tokenizer(tokens, merges)


def _merge(symbols, pair):
    out, i = [], 0
    while i < len(symbols):
        if i + 1 < len(symbols) and (symbols[i], symbols[i + 1]) == pair:
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out


class Tokenizer:
    """Encodes text and conversations; knows how to write itself down."""

    def __init__(self, tokens, merges):
        self.tokens, self.merges = tokens, [tuple(m) for m in merges]
        self.ids = {t: i for i, t in enumerate(tokens)}
        self.ranks = {m: r for r, m in enumerate(self.merges)}
        self.cache = {}
        self.bytes = {c: b for b, c in enumerate(ALPHABET)}

    def _piece(self, piece):
        if piece not in self.cache:
            symbols = _letters(piece)
            while len(symbols) > 1:
                best = min(zip(symbols, symbols[1:]), key=lambda p: self.ranks.get(p, 1 << 30))
                if best not in self.ranks:
                    break
                symbols = _merge(symbols, best)
            self.cache[piece] = [self.ids[s] for s in symbols]
        return self.cache[piece]

    def encode(self, text):
        """Ids of plain text; a control token typed in it stays plain text."""
        return [i for piece in SPLIT.findall(text) for i in self._piece(piece)]

    def decode(self, ids):
        raw = bytes(self.bytes[c] for i in ids if i >= len(SPECIAL) for c in self.tokens[i])
        return raw.decode("utf-8", "replace")

    def prompt(self, talk):
        """Ids of a conversation, a list of (role, text), that waits for the assistant."""
        ids = [self.ids[BOS]]
        for role, text in talk:
            ids += [self.ids[f"<|{role}|>"], *self.encode("\n" + text.strip()), self.ids[END], *self.encode("\n")]
        return ids + [self.ids[ASSISTANT], *self.encode("\n")]

    def save(self, folder, context):
        """Writes tokenizer.json and tokenizer_config.json as Hugging Face has them."""
        special = [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
                   for i, t in enumerate(SPECIAL)]
        level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
        fast = {
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": special, "normalizer": None,
            "pre_tokenizer": level,
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": BOS, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"SpecialToken": {"id": BOS, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                         {"SpecialToken": {"id": BOS, "type_id": 1}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {BOS: {"id": BOS, "ids": [0], "tokens": [BOS]}},
            },
            "decoder": level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                      "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": self.ids,
                      "merges": [" ".join(m) for m in self.merges]},
        }
        config = {
            "add_bos_token": True, "add_eos_token": False, "add_prefix_space": False, "bos_token": BOS, "eos_token": END, "pad_token": END,
            "unk_token": None, "clean_up_tokenization_spaces": False, "model_max_length": context, "tokenizer_class": "PreTrainedTokenizerFast",
            "added_tokens_decoder": {str(s["id"]): {k: v for k, v in s.items() if k != "id"} for s in special},
            "chat_template": CHAT_TEMPLATE,
        }
        (folder / "tokenizer.json").write_text(json.dumps(fast, ensure_ascii=False, indent=1) + "\n", "utf-8")
        (folder / "tokenizer_config.json").write_text(json.dumps(config, ensure_ascii=False, indent=2) + "\n", "utf-8")


def load(path):
    """The tokenizer in a tokenizer.json."""
    model = json.loads(path.read_text("utf-8"))["model"]
    return Tokenizer(sorted(model["vocab"], key=model["vocab"].get), [m.split(" ") for m in model["merges"]])
