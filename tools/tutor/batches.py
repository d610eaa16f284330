"""Draws training batches: conversations as padded rows of ids with a loss weight for each target."""

import torch

from bpe import ASSISTANT, BOS, END

TOKENS = 2048  # of a batch, padding included
# How often a batch is of a kind, before and after `--focus` steps. `head` rows stop early in the answer: most of what is to be learned
# lies there, which answer it is; the answers themselves are soon known by heart.
EARLY = {"head": 0.42, "full": 0.34, "multi": 0.19, "long": 0.05}
FOCUSED = {"head": 0.60, "full": 0.22, "multi": 0.14, "long": 0.04}
POOL = {"head": 600, "full": 160, "multi": 60, "long": 12}  # rows drawn at a time, to be sorted by length
HEAD = 5             # answer tokens in a `head` row
PROMPT_WEIGHT = 0.1  # loss weight of what the user and the system say, except in `head` rows
LEAD, LEAD_WEIGHT = 6, 3.0  # the first tokens of an answer count more: they choose the answer


def row(tokenizer, talk):
    """(ids, weights): weights[i] belongs to ids[i] as a target."""
    ids, weights = [tokenizer.ids[BOS]], [0.0]
    newline = tokenizer.encode("\n")
    for role, text in talk:
        body = tokenizer.encode("\n" + text.strip())
        mine = role == "assistant"
        ids += [tokenizer.ids[f"<|{role}|>"]] + body + [tokenizer.ids[END]] + newline
        if mine:
            inner = [0.1] + [LEAD_WEIGHT if i < LEAD else 1.0 for i in range(len(body) - 1)] + [1.0]
        else:
            inner = [PROMPT_WEIGHT] * (len(body) + 1)
        weights += [0.1] + inner + [0.1] * len(newline)
    return ids, weights


def _system(corpus, rng, share):
    """(system prompt or None, whether it asks for one sentence)."""
    draw = rng.random()
    if draw < share:
        return rng.choice(corpus.systems["plain"]), False
    if draw < 1.3 * share:
        return rng.choice(corpus.systems["brief"]), True
    return None, False


def _head(corpus, tokenizer, rng):
    system = rng.choice(corpus.systems["plain"]) if rng.random() < 0.1 else None
    intent, talk = corpus.choice(rng, system)
    ids, weights = row(tokenizer, talk)
    begin = ids.index(tokenizer.ids[ASSISTANT]) + 2
    return ids[:begin + HEAD], [0.0] * begin + weights[begin:begin + HEAD], intent


def _one(corpus, tokenizer, rng, context, kind):
    """(ids, weights, intent or None) of a row that fits the context."""
    if kind == "head":
        return _head(corpus, tokenizer, rng)
    while True:
        if kind == "long":
            talk = corpus.conversation(rng, rng.choice([1, 1, 2, 3]), corpus.long_system(rng, rng.choice([6, 12, 18, 24])))
        else:
            talk = corpus.conversation(rng, rng.choice([2, 2, 3, 4]) if kind == "multi" else 1, *_system(corpus, rng, 0.25))
        ids, weights = row(tokenizer, talk)
        if len(ids) <= context:
            return ids, weights, None


def _cut(rows):
    """Cuts rows, sorted by length so that little padding is needed, into groups of at most TOKENS."""
    group, rows = [], sorted(rows, key=lambda r: len(r[0]))
    for one in rows:
        if group and len(one[0]) * (len(group) + 1) > TOKENS:
            yield group
            group = []
        group.append(one)
    yield group


def batches(corpus, tokenizer, rng, context, kinds):
    """Endless (ids, weights, intents): [rows, length] twice, weights 0 on padding, and the intents of `head` rows, else None.

    `kinds` is called for each batch and gives the shares of the kinds.
    """
    ready = {kind: [] for kind in POOL}
    pad = tokenizer.ids[END]
    while True:
        shares = kinds()
        kind = rng.choices(list(shares), list(shares.values()))[0]
        if not ready[kind]:
            rows = [_one(corpus, tokenizer, rng, context, kind) for _ in range(POOL[kind])]
            ready[kind] = list(_cut(rows))
            rng.shuffle(ready[kind])
        rows = ready[kind].pop()
        width = max(len(ids) for ids, _, _ in rows)
        yield (torch.tensor([ids + [pad] * (width - len(ids)) for ids, _, _ in rows]),
               torch.tensor([w + [0.0] * (width - len(w)) for _, w, _ in rows]),
               [intent for _, _, intent in rows] if kind == "head" else None)
