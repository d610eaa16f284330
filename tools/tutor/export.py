"""Exports a checkpoint as GGUF and ONNX with the very same INT4 values, and the tokenizer and configuration beside them."""

import argparse
import json
import shutil
from pathlib import Path

import torch

import bpe
import gguf
import onnx_graph
from model import Shape, Tutor
from quant import Quantised, quantise

HERE = Path(__file__).parent


def parts(model):
    """(matrices, norms): name to (q, scale), and name to f32 vector."""
    matrices = {n: quantise(m.weight) for n, m in model.named_modules() if isinstance(m, Quantised)}
    norms = {n.removesuffix(".weight"): p.detach() for n, p in model.named_parameters() if p.dim() == 1}
    return matrices, norms


def configuration(shape, tokenizer):
    """config.json and generation_config.json, as transformers names the fields."""
    bos, end = tokenizer.ids[bpe.BOS], tokenizer.ids[bpe.END]
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": shape.vocab, "hidden_size": shape.dim,
        "intermediate_size": shape.ffn, "num_hidden_layers": shape.layers, "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads, "head_dim": shape.head_dim, "hidden_act": "silu", "rms_norm_eps": shape.eps,
        "rope_theta": shape.theta, "max_position_embeddings": shape.context, "tie_word_embeddings": True, "attention_bias": False,
        "mlp_bias": False, "bos_token_id": bos, "eos_token_id": end, "pad_token_id": end, "torch_dtype": "float32", "use_cache": True,
    }
    generation = {"bos_token_id": bos, "eos_token_id": end, "pad_token_id": end, "do_sample": False, "max_length": shape.context}
    return config, generation


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, default=HERE / "build" / "checkpoint.pt")
    parser.add_argument("--out", type=Path, default=HERE.parent.parent / "models" / "tutor")
    args = parser.parse_args()
    shape = Shape()
    model = Tutor(shape)
    model.load_state_dict(torch.load(args.checkpoint)["weights"])
    tokenizer = bpe.load(args.checkpoint.parent / "tokenizer.json")
    matrices, norms = parts(model)
    (args.out / "onnx").mkdir(parents=True, exist_ok=True)
    gguf.write(args.out / "tutor.q4_0.gguf", shape, tokenizer, matrices, norms, sum(p.numel() for p in model.parameters()))
    onnx_graph.write(args.out / "onnx" / "model_q4.onnx", shape, matrices, norms)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(args.checkpoint.parent / name, args.out / name)
    for name, content in zip(("config.json", "generation_config.json"), configuration(shape, tokenizer)):
        (args.out / name).write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    for path in sorted(p for p in args.out.rglob("*") if p.is_file()):
        print(f"{path.stat().st_size:>9,} {path.relative_to(args.out)}")


if __name__ == "__main__":
    main()
