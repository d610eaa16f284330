"""Writes the model as a GGUF file of llama.cpp's llama architecture, all matrices Q4_0."""

import struct

import numpy as np

from bpe import ASSISTANT, BOS, CHAT_TEMPLATE, END, SPECIAL

ALIGNMENT = 32
F32, Q4_0 = 0, 2
MOSTLY_Q4_0 = 2  # general.file_type
NORMAL, CONTROL = 1, 3  # token types


def _string(text):
    raw = text.encode("utf-8")
    return struct.pack("<Q", len(raw)) + raw


def _value(value):
    """(type code, bytes) of a metadata value; ints are u32, lists are of strings or of i32."""
    if isinstance(value, bool):
        return 7, struct.pack("<?", value)
    if isinstance(value, int):
        return 4, struct.pack("<I", value)
    if isinstance(value, float):
        return 6, struct.pack("<f", value)
    if isinstance(value, str):
        return 8, _string(value)
    if isinstance(value[0], str):
        return 9, struct.pack("<IQ", 8, len(value)) + b"".join(_string(v) for v in value)
    return 9, struct.pack("<IQ", 5, len(value)) + struct.pack(f"<{len(value)}i", *value)


def q4_0_bytes(q, scale):
    """Blocks of 18 bytes: f16 scale, then 16 bytes with element j low and element j + 16 high."""
    blocks = q.numpy().astype(np.uint8).reshape(-1, 32)
    packed = blocks[:, :16] | (blocks[:, 16:] << 4)
    scales = scale.numpy().reshape(-1, 1).view(np.uint8).reshape(-1, 2)
    return np.concatenate([scales, packed], axis=1).tobytes()


def interleaved(matrix, heads):
    """Reorders the rows of q or k from rotary halves (i, i + d / 2) to the pairs (2i, 2i + 1) that llama.cpp rotates."""
    rows, columns = matrix.shape
    return matrix.reshape(heads, 2, rows // heads // 2, columns).transpose(1, 2).reshape(rows, columns).contiguous()


def metadata(shape, tokenizer, parameters):
    """The key-value part, in order."""
    return {
        "general.architecture": "llama", "general.type": "model", "general.name": "Tokenglass Tutor", "general.basename": "tutor",
        "general.description": "Built-in model of Tokenglass: answers questions about the latency of language models",
        "general.license": "apache-2.0", "general.size_label": f"{parameters / 1e6:.0f}M", "general.languages": ["en"],
        "general.quantization_version": 2, "general.file_type": MOSTLY_Q4_0, "general.alignment": ALIGNMENT,
        "llama.vocab_size": shape.vocab, "llama.context_length": shape.context, "llama.embedding_length": shape.dim,
        "llama.block_count": shape.layers, "llama.feed_forward_length": shape.ffn, "llama.attention.head_count": shape.heads,
        "llama.attention.head_count_kv": shape.kv_heads, "llama.attention.key_length": shape.head_dim,
        "llama.attention.value_length": shape.head_dim, "llama.attention.layer_norm_rms_epsilon": shape.eps,
        "llama.rope.dimension_count": shape.head_dim, "llama.rope.freq_base": shape.theta,
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2", "tokenizer.ggml.tokens": tokenizer.tokens,
        "tokenizer.ggml.token_type": [CONTROL if t in SPECIAL else NORMAL for t in tokenizer.tokens],
        "tokenizer.ggml.merges": [" ".join(m) for m in tokenizer.merges],
        "tokenizer.ggml.bos_token_id": tokenizer.ids[BOS], "tokenizer.ggml.eos_token_id": tokenizer.ids[END],
        "tokenizer.ggml.eot_token_id": tokenizer.ids[END], "tokenizer.ggml.padding_token_id": tokenizer.ids[END],
        "tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.add_eos_token": False, "tokenizer.ggml.add_space_prefix": False,
        "tokenizer.chat_template": CHAT_TEMPLATE,
    }


def tensors(shape, matrices, norms):
    """(name, dims, type, bytes) in file order; dims have the row length first, as GGUF wants."""
    def matrix(name, source, heads=None):
        q, scale = matrices[source]
        if heads:
            q, scale = interleaved(q, heads), interleaved(scale, heads)
        return name, (q.shape[1], q.shape[0]), Q4_0, q4_0_bytes(q, scale)

    def norm(name, source):
        return name, (shape.dim,), F32, norms[source].numpy().astype("<f4").tobytes()

    yield matrix("token_embd.weight", "embed")
    for i in range(shape.layers):
        ours, theirs = f"layers.{i}", f"blk.{i}"
        yield norm(f"{theirs}.attn_norm.weight", f"{ours}.attn_norm")
        yield matrix(f"{theirs}.attn_q.weight", f"{ours}.q", shape.heads)
        yield matrix(f"{theirs}.attn_k.weight", f"{ours}.k", shape.kv_heads)
        yield matrix(f"{theirs}.attn_v.weight", f"{ours}.v")
        yield matrix(f"{theirs}.attn_output.weight", f"{ours}.o")
        yield norm(f"{theirs}.ffn_norm.weight", f"{ours}.ffn_norm")
        yield matrix(f"{theirs}.ffn_gate.weight", f"{ours}.gate")
        yield matrix(f"{theirs}.ffn_up.weight", f"{ours}.up")
        yield matrix(f"{theirs}.ffn_down.weight", f"{ours}.down")
    yield norm("output_norm.weight", "norm")


def _padded(data):
    return data + b"\0" * (-len(data) % ALIGNMENT)


def write(path, shape, tokenizer, matrices, norms, parameters):
    """Writes `path`. `matrices` maps a name to (q, scale), `norms` a name to an f32 vector."""
    assert tokenizer.ids[ASSISTANT] < len(SPECIAL)
    pairs = metadata(shape, tokenizer, parameters)
    head, info, data = b"", b"", b""
    for key, value in pairs.items():
        kind, raw = _value(value)
        head += _string(key) + struct.pack("<I", kind) + raw
    count = 0
    for name, dims, kind, raw in tensors(shape, matrices, norms):
        info += _string(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, len(data))
        data += _padded(raw)
        count += 1
    path.write_bytes(_padded(struct.pack("<4sIQQ", b"GGUF", 3, count, len(pairs)) + head + info) + data)
