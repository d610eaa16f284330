"""Trains the built-in model. `python3 train.py --steps N` writes build/tokenizer.json, build/checkpoint.pt and build/train.log."""

import argparse
import json
import math
import os
import random
import time
from pathlib import Path

import torch
from torch.nn import functional as F

import bpe
from batches import batches
from corpus import Corpus, check
from model import Shape, Tutor

BUILD = Path(__file__).parent / "build"
SEED = 20260101


def learning_rate(step, steps, peak):
    """Linear warm-up, then a cosine down to 2 % of the peak."""
    warm = min(150, steps // 10)
    if step < warm:
        return peak * (step + 1) / warm
    return peak * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm))))


def loss_of(model, ids, weights):
    """Weighted mean cross-entropy; logits are computed only where they count."""
    places = weights[:, 1:] > 0
    logits = model(ids[:, :-1], places)
    each = F.cross_entropy(logits, ids[:, 1:][places], reduction="none")
    wanted = weights[:, 1:][places]
    return (each * wanted).sum() / wanted.sum()


def optimiser(model, peak):
    """AdamW; no decay on norms."""
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.05}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=peak, betas=(0.9, 0.98), eps=1e-9)


def save(model, step, steps, seconds, target):
    """Writes a checkpoint; the rename makes it whole or absent."""
    part = target.with_suffix(".part")
    torch.save({"weights": model.state_dict(), "step": step, "steps": steps, "seconds": seconds}, part)
    os.replace(part, target)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2600)
    parser.add_argument("--rate", type=float, default=2e-3, help="peak learning rate")
    parser.add_argument("--quantised-from", type=float, default=0.6, help="share of the steps after which weights are used as Q4_0")
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
    tokenizer = bpe.train(corpus.texts(rng), shape.vocab)
    tokenizer.save(args.build, shape.context)
    model = Tutor(shape)
    steps_of = optimiser(model, args.rate)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters, {len(corpus.intents)} intents", flush=True)

    source = batches(corpus, tokenizer, rng, shape.context)
    begin, seen, useful, mean, quantised = time.time(), 0, 0, None, False
    for step in range(args.steps):
        if not quantised and step >= args.quantised_from * args.steps:
            quantised = True
            save(model, step, args.steps, time.time() - begin, args.build / "before-quantisation.pt")
            model.quantise(True)
        rate = learning_rate(step, args.steps, args.rate)
        for group in steps_of.param_groups:
            group["lr"] = rate
        ids, weights = next(source)
        loss = loss_of(model, ids, weights)
        steps_of.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        steps_of.step()
        seen += ids.numel()
        useful += int((weights > 0).sum())
        mean = loss.item() if mean is None else 0.98 * mean + 0.02 * loss.item()
        if step % 20 == 0 or step == args.steps - 1:
            seconds = time.time() - begin
            print(json.dumps({"step": step, "loss": round(mean, 4), "rate": round(rate, 6), "tokens": seen, "useful": useful, "seconds": round(seconds),
                              "tokens_per_s": round(seen / seconds), "q4": quantised}), flush=True)
        if step % 100 == 99 or step == args.steps - 1:
            save(model, step + 1, args.steps, time.time() - begin, args.build / "checkpoint.pt")


if __name__ == "__main__":
    main()
