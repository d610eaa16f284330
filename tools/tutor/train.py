"""Trains the built-in model. `python3 train.py` writes build/tokenizer.json, build/checkpoint.pt and build/train.log."""

import argparse
import json
import os
import random
import time
from pathlib import Path

import torch
from torch.nn import functional as F

import bpe
from batches import EARLY, FOCUSED, batches
from corpus import Corpus, check
from model import Shape, Tutor

BUILD = Path(__file__).parent / "build"
SEED = 20260101
WARM_UP = 100


def learning_rate(step, stable, decay, peak):
    """Linear warm-up, then constant, then linearly down to 2 % of the peak in the last `decay` steps."""
    if step < WARM_UP:
        return peak * (step + 1) / WARM_UP
    return peak * max(0.02, 1 - 0.98 * max(0, step - stable) / decay)


def loss_of(model, ids, weights, intents):
    """Weighted mean cross-entropy; logits are computed only where they count. Notes how each intent fares."""
    places = weights[:, 1:] > 0
    logits = model(ids[:, :-1], places)
    each = F.cross_entropy(logits, ids[:, 1:][places], reduction="none")
    wanted = weights[:, 1:][places]
    if intents:
        for intent, loss in zip(intents, each.detach().view(len(intents), -1).sum(-1).clamp(max=8).tolist()):
            intent.need = 0.95 * intent.need + 0.05 * (loss + 0.05)
    return (each * wanted).sum() / wanted.sum()


def optimiser(model, peak):
    """AdamW; no decay on norms."""
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.05}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=peak, betas=(0.9, 0.98), eps=1e-9)


def save(model, optimiser_, step, seconds, target):
    """Writes a checkpoint; the rename makes it whole or absent."""
    part = target.with_suffix(".part")
    torch.save({"weights": model.state_dict(), "optimiser": optimiser_.state_dict(), "step": step, "seconds": seconds}, part)
    os.replace(part, target)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stable", type=int, default=1900, help="steps before the learning rate falls; a file build/finish ends them early")
    parser.add_argument("--decay", type=int, default=700, help="steps of falling learning rate, in which weights are used as Q4_0")
    parser.add_argument("--rate", type=float, default=2e-3, help="peak learning rate")
    parser.add_argument("--resume", action="store_true", help="go on from build/checkpoint.pt")
    parser.add_argument("--focus", type=int, default=900, help="steps after which most rows stop early in the answer")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--build", type=Path, default=BUILD)
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(SEED)
    rng = random.Random(SEED)
    args.build.mkdir(exist_ok=True)
    corpus = Corpus()
    faults = check(corpus)
    if faults:
        raise SystemExit("\n".join(faults))
    shape = Shape()
    if args.resume:
        tokenizer = bpe.load(args.build / "tokenizer.json")
    else:
        tokenizer = bpe.train(corpus.texts(rng), shape.vocab)
        tokenizer.save(args.build, shape.context)
    model = Tutor(shape)
    steps_of = optimiser(model, args.rate)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters, {len(corpus.intents)} intents", flush=True)

    first, before = 0, 0.0
    if args.resume:
        saved = torch.load(args.build / "checkpoint.pt")
        model.load_state_dict(saved["weights"])
        steps_of.load_state_dict(saved["optimiser"])
        first, before = saved["step"], saved["seconds"]
        rng = random.Random(SEED + first)
    source = batches(corpus, tokenizer, rng, shape.context, lambda: EARLY if step < args.focus else FOCUSED)
    begin, seen, mean, stable, step = time.time() - before, 0, None, args.stable, first
    while step < stable + args.decay:
        if step < stable and (args.build / "finish").exists():
            stable = step
        if step >= stable and not model.embed.on:
            save(model, steps_of, step, time.time() - begin, args.build / "before-quantisation.pt")
            model.quantise(True)
        for group in steps_of.param_groups:
            group["lr"] = learning_rate(step, stable, args.decay, args.rate)
        ids, weights, intents = next(source)
        loss = loss_of(model, ids, weights, intents)
        steps_of.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        steps_of.step()
        step += 1
        seen += ids.numel()
        mean = loss.item() if mean is None else 0.98 * mean + 0.02 * loss.item()
        if step % 20 == 0:
            print(json.dumps({"step": step, "stable": stable, "loss": round(mean, 4), "rate": steps_of.param_groups[0]["lr"],
                              "tokens": seen, "seconds": round(time.time() - begin), "q4": model.embed.on, "need": round(sum(i.need for i in corpus.intents) / len(corpus.intents), 3)}), flush=True)
        if step % 100 == 0 or step == stable + args.decay:
            save(model, steps_of, step, time.time() - begin, args.build / "checkpoint.pt")


if __name__ == "__main__":
    main()
