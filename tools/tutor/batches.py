"""Draws training batches: conversations as padded rows of ids with a loss weight for each target."""

import torch

from bpe import ASSISTANT, BOS, END

TOKENS = 2560  # of a batch, padding included
# How often a batch is of a kind. `head` rows stop early in the answer: most of what is to be learned, which answer it is, lies there.
KINDS = {"head": 0.42, "full": 0.34, "multi": 0.19, "long": 0.05}
POOL = {"head": 400, "full": 160, "multi": 60, "long": 12}  # rows drawn at a time, to be sorted by length
HEAD = 12          # answer tokens in a `head` row
PROMPT_WEIGHT = 0.1  # loss weight of what the user and the system say
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


def _talk(corpus, kind, rng):
    if kind == "long":
        return corpus.conversation(rng, rng.choice([1, 1, 2, 3]), corpus.long_system(rng, rng.choice([6, 12, 18, 24])))
    draw, system, brief = rng.random(), None, False
    if draw < 0.25:
        system = rng.choice(corpus.systems["plain"])
    elif draw < 0.32:
        system, brief = rng.choice(corpus.systems["brief"]), True
    turns = rng.choice([2, 2, 3, 4]) if kind == "multi" else 1
    return corpus.conversation(rng, turns, system, brief)


def _one(corpus, tokenizer, rng, context, kind):
    """One row of a kind that fits the context."""
    while True:
        ids, weights = row(tokenizer, _talk(corpus, kind, rng))
        if kind == "head":
            stop = ids.index(tokenizer.ids[ASSISTANT]) + 2 + HEAD
            ids, weights = ids[:stop], weights[:stop]
        if len(ids) <= context:
            return ids, weights


def _cut(rows):
    """Cuts rows, sorted by length so that little padding is needed, into groups of at most TOKENS."""
    group, rows = [], sorted(rows, key=lambda r: len(r[0]))
    for one in rows:
        if group and len(one[0]) * (len(group) + 1) > TOKENS:
            yield group
            group = []
        group.append(one)
    yield group


def batches(corpus, tokenizer, rng, context):
    """Endless (ids, weights), each [rows, length]; weights are 0 on padding."""
    ready = {kind: [] for kind in KINDS}
    pad = tokenizer.ids[END]
    while True:
        kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
        if not ready[kind]:
            rows = [_one(corpus, tokenizer, rng, context, kind) for _ in range(POOL[kind])]
            ready[kind] = list(_cut(rows))
            rng.shuffle(ready[kind])
        rows = ready[kind].pop()
        width = max(len(ids) for ids, _ in rows)
        yield (torch.tensor([ids + [pad] * (width - len(ids)) for ids, _ in rows]),
               torch.tensor([w + [0.0] * (width - len(w)) for _, w in rows]))
