"""Reads both exported files back and fails unless every matrix has the same INT4 values and scales in GGUF and in ONNX."""

import struct
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

MODEL = Path(__file__).parents[3] / "models" / "tutor"
ROLES = {"attn_q": "q", "attn_k": "k", "attn_v": "v", "attn_output": "o", "ffn_gate": "gate", "ffn_up": "up", "ffn_down": "down"}
HEADS = {"q": 4, "k": 2}  # rows of these are interleaved in GGUF
SCALARS = {4: "I", 5: "i", 6: "f", 7: "?"}


class Reader:
    """A cursor over a GGUF file."""

    def __init__(self, raw):
        self.raw, self.at = raw, 4

    def number(self, kind):
        value = struct.unpack_from("<" + kind, self.raw, self.at)[0]
        self.at += struct.calcsize("<" + kind)
        return value

    def string(self):
        length = self.number("Q")
        self.at += length
        return self.raw[self.at - length:self.at].decode("utf-8")

    def value(self, kind):
        if kind == 8:
            return self.string()
        if kind == 9:
            element, count = self.number("I"), self.number("Q")
            return [self.value(element) for _ in range(count)]
        return self.number(SCALARS[kind])


def gguf_matrices(raw):
    """Yields (our name, q, scales) of each Q4_0 tensor, rows in the order of ONNX."""
    r = Reader(raw)
    r.number("I")
    tensors, pairs = r.number("Q"), r.number("Q")
    for _ in range(pairs):
        r.string()
        r.value(r.number("I"))
    infos = []
    for _ in range(tensors):
        name, dims = r.string(), [r.number("Q") for _ in range(r.number("I"))]
        infos.append((name, dims, r.number("I"), r.number("Q")))
    base = -(-r.at // 32) * 32
    for name, dims, kind, offset in infos:
        if kind != 2:
            continue
        columns, rows = dims
        blocks = np.frombuffer(raw, np.uint8, rows * columns // 32 * 18, base + offset).reshape(-1, 18)
        scales = blocks[:, :2].copy().view(np.float16).astype(np.float32).reshape(rows, -1)
        q = np.concatenate([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], 1).reshape(rows, columns)
        role = ROLES.get(name.split(".")[2]) if name.startswith("blk.") else None
        if role in HEADS:
            q, scales = (x.reshape(HEADS[role], rows // HEADS[role] // 2, 2, -1).transpose(0, 2, 1, 3).reshape(rows, -1) for x in (q, scales))
        yield f"layers.{name.split('.')[1]}.{role}" if role else "embed", q, scales


def main():
    weights = {w.name: numpy_helper.to_array(w) for w in onnx.load(str(MODEL / "onnx" / "model_q4.onnx")).graph.initializer}
    names = []
    for name, q, scales in gguf_matrices((MODEL / "tutor.q4_0.gguf").read_bytes()):
        packed = weights[f"{name}.weight_q4"].reshape(q.shape[0], -1)
        theirs = np.stack([packed & 15, packed >> 4], -1).reshape(q.shape)
        if not (theirs == q).all() or not (weights[f"{name}.weight_scales"].reshape(scales.shape) == scales).all():
            raise SystemExit(f"{name} differs between the two files")
        names.append(name)
    print(f"ok   {len(names)} matrices: same INT4 values and scales in GGUF and ONNX")


if __name__ == "__main__":
    main()
