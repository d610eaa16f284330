"""PyTorch in f32 over the dequantised weights: greedy answers, log-probabilities and token ids for the other runtimes to meet."""

import argparse
import json
import sys
from pathlib import Path

import torch

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import bpe  # noqa: E402
from model import Tutor  # noqa: E402

LIMIT = 48


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=HERE.parent / "build")
    args = parser.parse_args()
    model = Tutor()
    model.load_state_dict(torch.load(args.build / "checkpoint.pt")["weights"])
    model.quantise(True)
    tokenizer = bpe.load(args.build / "tokenizer.json")
    end = tokenizer.ids[bpe.END]
    prompts = json.loads((HERE / "prompts.json").read_text("utf-8"))
    ids = [tokenizer.prompt([("user", p)]) for p in prompts]
    answers = model.greedy(ids, LIMIT, end)
    rows, logits = [], []
    for text, prompt, answer in zip(prompts, ids, answers):
        answer = answer + [end] if len(answer) < LIMIT else answer
        with torch.no_grad():
            out = model(torch.tensor([prompt + answer[:-1]]))[0, len(prompt) - 1:]
        rows.append({"prompt": text, "ids": prompt, "greedy": answer, "text": tokenizer.decode(answer)})
        logits.append(out)
    texts = json.loads((HERE / "texts.json").read_text("utf-8"))
    (args.build / "reference.json").write_text(json.dumps({"prompts": rows, "texts": [{"text": t, "ids": tokenizer.encode(t)} for t in texts]}), "utf-8")
    (args.build / "reference-logits.f32").write_bytes(torch.cat(logits).contiguous().numpy().astype("<f4").tobytes())


if __name__ == "__main__":
    main()
