"""Grades a checkpoint on held-out wordings and measures perplexity, with f32 and with Q4_0 weights.

A wording is right when the greedy answer is the intent's answer word for word to its end. That is so exactly if, with the answer
given to the model, its top choice is the answer's token at every place; so one forward pass grades a wording.
"""

import argparse
import json
import math
from pathlib import Path

import torch
from torch.nn import functional as F

import bpe
from corpus import Corpus
from model import Tutor

BUILD = Path(__file__).parent / "build"
BATCH = 16


def cases(corpus):
    """Name of a set to a list of (label, conversation); the last turn is the answer to be graded."""
    sets = {"test": [], "development": [], "trained": [], "follow-up": []}
    for intent in corpus.intents:
        for name, wordings in (("test", intent.test), ("development", intent.development)):
            sets[name] += [(intent.name, [("user", w), ("assistant", intent.answer)]) for w in wordings]
        plain = [q for q in intent.questions + intent.templated if "{" not in q]
        sets["trained"] += [(intent.name, [("user", q), ("assistant", intent.answer)]) for q in plain[:1]]
        question = corpus.first_questions[intent.name]
        if "{" in question:
            continue
        for kind in ("short", "more", "example"):
            ask = corpus.followups[f"h-{kind}"][len(intent.name) % 2]
            talk = [("user", question), ("assistant", intent.answer), ("user", ask), ("assistant", corpus.followup_answer(intent, kind))]
            sets["follow-up"].append((f"{intent.name}/{kind}", talk))
    return sets


@torch.no_grad()
def grade(model, tokenizer, talks):
    """(list of right or wrong, summed loss, answer tokens) over conversations."""
    right, loss, count = [None] * len(talks), 0.0, 0
    end = tokenizer.ids[bpe.END]
    rows = []
    for talk in talks:
        prompt = tokenizer.prompt(talk[:-1])
        # prompt ends with the newline after the marker; the piece that begins the answer never joins it
        answer = tokenizer.encode("\n" + talk[-1][1])[1:] + [end]
        rows.append((prompt, answer))
    order = sorted(range(len(rows)), key=lambda i: sum(map(len, rows[i])))
    for start in range(0, len(order), BATCH):
        chosen = order[start:start + BATCH]
        width = max(sum(map(len, rows[i])) for i in chosen)
        ids = torch.full((len(chosen), width), end)
        places = torch.zeros(len(chosen), width, dtype=torch.bool)
        for r, i in enumerate(chosen):
            prompt, answer = rows[i]
            ids[r, :len(prompt) + len(answer)] = torch.tensor(prompt + answer)
            places[r, len(prompt) - 1:len(prompt) + len(answer) - 1] = True
        logits = model(ids, places)
        at = 0
        for i in chosen:
            answer = torch.tensor(rows[i][1])
            part = logits[at:at + len(answer)]
            right[i] = bool((part.argmax(-1) == answer).all())
            loss += F.cross_entropy(part, answer, reduction="sum").item()
            count += len(answer)
            at += len(answer)
    return right, loss, count


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, default=BUILD / "checkpoint.pt")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sets", nargs="*", help="only these sets")
    parser.add_argument("--misses", action="store_true", help="list wrong wordings with the start of what was answered")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    model = Tutor()
    model.load_state_dict(torch.load(args.checkpoint)["weights"])
    tokenizer = bpe.load(args.checkpoint.parent / "tokenizer.json")
    corpus, result = Corpus(), {}
    for name, entries in cases(corpus).items():
        if args.sets and name not in args.sets:
            continue
        for kind, on in (("f32", False), ("q4_0", True)):
            model.quantise(on)
            right, loss, count = grade(model, tokenizer, [talk for _, talk in entries])
            figures = {"n": len(right), "right": sum(right), "share": round(sum(right) / len(right), 4), "perplexity": round(math.exp(loss / count), 4)}
            result.setdefault(name, {})[kind] = figures
            print(name, kind, figures, flush=True)
        if args.misses:
            wrong = [entry for entry, ok in zip(entries, right) if not ok]
            starts = model.greedy([tokenizer.prompt(talk[:-1]) for _, talk in wrong], 14, tokenizer.ids[bpe.END])
            for (label, talk), start in zip(wrong, starts):
                print(f"  {label}: {talk[-2][1]!r} -> {tokenizer.decode(start)!r}")
    if args.json:
        args.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
