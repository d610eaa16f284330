"""Writes the model as an ONNX graph in the layout of onnx-community repositories (Debian: python3-onnx)."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

from model import rotary_tables

MS = "com.microsoft"


class Graph:
    """Collects nodes and initializers; each method returns the name of its output."""

    def __init__(self, shape):
        self.shape, self.nodes, self.weights = shape, [], []

    def constant(self, name, array):
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, kind, inputs, name, outputs=None, domain=None, **attributes):
        outputs = outputs or [f"{name}/out"]
        self.nodes.append(helper.make_node(kind, inputs, outputs, name=name, domain=domain, **attributes))
        return outputs[0]

    def matmul(self, x, name, matrix, output=None):
        """MatMulNBits: two neighbouring elements a byte, the first one low; without zero points w = scale * (q - 8)."""
        q, scale = matrix
        rows, columns = q.shape
        b = self.constant(f"{name}.weight_q4", pack(q).reshape(rows, columns // 32, 16))
        s = self.constant(f"{name}.weight_scales", scale.float().numpy().reshape(-1))
        return self.node("MatMulNBits", [x, b, s], f"/{name}/MatMulNBits", [output] if output else None, MS,
                         K=columns, N=rows, bits=4, block_size=32)

    def embedding(self, ids, matrix):
        """GatherBlockQuantized over the bytes that the head uses too; for packed uint8 its zero point is 8 by default."""
        q, scale = matrix
        data = self.constant("embed.weight_q4", pack(q))
        s = self.constant("embed.weight_scales", scale.float().numpy())
        return self.node("GatherBlockQuantized", [data, ids, s], "/embed/Gather", None, MS, bits=4, block_size=32, gather_axis=0, quantize_axis=1)

    def skip_norm(self, x, residual, weight, name, last=False):
        """(normed sum, sum) of x and the residual."""
        gamma = self.constant(f"{name}.weight", weight.numpy())
        outputs = [f"/{name}/normed"] + ([] if last else ["", "", f"/{name}/sum"])
        self.node("SkipSimplifiedLayerNormalization", [x, residual, gamma], f"/{name}/SkipNorm", outputs, MS, epsilon=self.shape.eps)
        return outputs[0], outputs[-1]

    def lengths(self):
        """seqlens_k [batch] (tokens before the last one) and total_sequence_length, both i32, from attention_mask."""
        one = self.constant("one", np.array([1], np.int64))
        total = self.node("ReduceSum", ["attention_mask", one], "/mask/ReduceSum", keepdims=0)
        before = self.node("Sub", [total, one], "/mask/Sub")
        seqlens = self.node("Cast", [before], "/mask/CastSeqlens", to=TensorProto.INT32)
        dims = self.node("Shape", ["attention_mask"], "/mask/Shape")
        at = self.constant("axis_length", np.array(1, np.int64))
        width = self.node("Gather", [dims, at], "/mask/Gather", axis=0)
        return seqlens, self.node("Cast", [width], "/mask/CastTotal", to=TensorProto.INT32)


def pack(q):
    """[rows, columns] of 0..15 to [rows, columns / 2] bytes."""
    values = q.numpy().astype(np.uint8)
    return values[:, 0::2] | (values[:, 1::2] << 4)


def build(shape, matrices, norms):
    """The ModelProto. `matrices` maps a name to (q, scale), `norms` a name to an f32 vector."""
    g = Graph(shape)
    cos, sin = (g.constant(n, t.numpy()) for n, t in zip(("cos_cache", "sin_cache"), rotary_tables(shape, shape.context)))
    seqlens, total = g.lengths()
    residual = g.embedding("input_ids", matrices["embed"])
    gamma = g.constant("layers.0.attn_norm.weight", norms["layers.0.attn_norm"].numpy())
    x = g.node("SimplifiedLayerNormalization", [residual, gamma], "/layers.0.attn_norm/Norm", axis=-1, epsilon=shape.eps, stash_type=1)
    for i in range(shape.layers):
        at = f"layers.{i}"
        q, k, v = (g.matmul(x, f"{at}.{n}", matrices[f"{at}.{n}"]) for n in "qkv")
        past, present = ([f"{side}.{i}.{n}" for n in ("key", "value")] for side in ("past_key_values", "present"))
        mixed = g.node("GroupQueryAttention", [q, k, v, *past, seqlens, total, cos, sin], f"/{at}/GroupQueryAttention", [f"/{at}/mixed", *present], MS,
                       num_heads=shape.heads, kv_num_heads=shape.kv_heads, do_rotary=1, rotary_interleaved=0, scale=shape.head_dim ** -0.5)
        attended = g.matmul(mixed, f"{at}.o", matrices[f"{at}.o"])
        x, residual = g.skip_norm(attended, residual, norms[f"{at}.ffn_norm"], f"{at}.ffn_norm")
        gate = g.matmul(x, f"{at}.gate", matrices[f"{at}.gate"])
        opened = g.node("Mul", [gate, g.node("Sigmoid", [gate], f"/{at}/Sigmoid")], f"/{at}/Silu")
        inner = g.node("Mul", [opened, g.matmul(x, f"{at}.up", matrices[f"{at}.up"])], f"/{at}/Gated")
        fed = g.matmul(inner, f"{at}.down", matrices[f"{at}.down"])
        last = i == shape.layers - 1
        following = "norm" if last else f"layers.{i + 1}.attn_norm"
        x, residual = g.skip_norm(fed, residual, norms[following], following, last)
    g.matmul(x, "lm_head", matrices["embed"], "logits")
    return helper.make_model(_graph(g), producer_name="tokenglass", ir_version=8,
                             opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)])


def _graph(g):
    def value(name, kind, *dims):
        return helper.make_tensor_value_info(name, kind, list(dims))

    def cache(side, length):
        return [value(f"{side}.{i}.{n}", TensorProto.FLOAT, "batch_size", g.shape.kv_heads, length, g.shape.head_dim)
                for i in range(g.shape.layers) for n in ("key", "value")]

    inputs = [value("input_ids", TensorProto.INT64, "batch_size", "sequence_length"),
              value("attention_mask", TensorProto.INT64, "batch_size", "total_sequence_length"), *cache("past_key_values", "past_sequence_length")]
    outputs = [value("logits", TensorProto.FLOAT, "batch_size", "sequence_length", g.shape.vocab), *cache("present", "total_sequence_length")]
    return helper.make_graph(g.nodes, "tutor", inputs, outputs, g.weights)


def write(path, shape, matrices, norms):
    """Writes `path`."""
    save(build(shape, matrices, norms), str(path))
