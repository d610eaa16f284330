"""The decoder: RMSNorm, rotary, grouped-query attention, SwiGLU, tied embeddings, as in the llama architecture."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from quant import Quantised


@dataclass(frozen=True)
class Shape:
    """The sizes of the model; every matrix dimension is a multiple of 32."""

    vocab: int = 2048
    dim: int = 256
    layers: int = 6
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 64
    ffn: int = 512
    context: int = 2048
    eps: float = 1e-5
    theta: float = 10000.0


def rotary_tables(shape, length):
    """cos and sin, [length, head_dim / 2] each."""
    inverse = 1.0 / shape.theta ** (torch.arange(0, shape.head_dim, 2).double() / shape.head_dim)
    angles = torch.arange(length).double()[:, None] * inverse[None, :]
    return angles.cos().float(), angles.sin().float()


def rotate(x, cos, sin):
    """Rotates the pairs (i, i + head_dim / 2) of x, [batch, heads, length, head_dim]."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


class RMSNorm(nn.Module):
    """x / rms(x) * weight."""

    def __init__(self, dim, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(dim)), eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Layer(nn.Module):
    """Attention and feed-forward, each on a normed copy that is added back."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        d, q, kv = shape.dim, shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
        self.attn_norm, self.ffn_norm = RMSNorm(d, shape.eps), RMSNorm(d, shape.eps)
        self.q, self.k, self.v, self.o = Quantised(d, q), Quantised(d, kv), Quantised(d, kv), Quantised(q, d)
        self.gate, self.up, self.down = Quantised(d, shape.ffn), Quantised(d, shape.ffn), Quantised(shape.ffn, d)
        for out in (self.o, self.down):
            out.weight.data.mul_((2 * shape.layers) ** -0.5)

    def attention(self, x, cos, sin, mask):
        s, (b, t, _) = self.shape, x.shape
        q = rotate(self.q(x).view(b, t, s.heads, s.head_dim).transpose(1, 2), cos, sin)
        k = rotate(self.k(x).view(b, t, s.kv_heads, s.head_dim).transpose(1, 2), cos, sin)
        v = self.v(x).view(b, t, s.kv_heads, s.head_dim).transpose(1, 2)
        group = s.heads // s.kv_heads
        # Query heads that share a KV head are stacked along the length: [b, kv_heads, group * t, head_dim].
        q = (q * s.head_dim ** -0.5).reshape(b, s.kv_heads, group * t, s.head_dim)
        scores = (q @ k.transpose(2, 3)).view(b, s.kv_heads, group, t, t) + mask
        mixed = scores.softmax(-1).view(b, s.kv_heads, group * t, t) @ v
        return self.o(mixed.view(b, s.heads, t, s.head_dim).transpose(1, 2).reshape(b, t, -1))

    def forward(self, x, cos, sin, mask):
        x = x + self.attention(self.attn_norm(x), cos, sin, mask)
        h = self.ffn_norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Tutor(nn.Module):
    """Token ids [batch, length] to logits [batch, length, vocab]."""

    def __init__(self, shape=Shape()):
        super().__init__()
        self.shape = shape
        self.embed = Quantised(shape.dim, shape.vocab)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = RMSNorm(shape.dim, shape.eps)
        cos, sin = rotary_tables(shape, shape.context)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def quantise(self, on):
        """With `on` every matrix is used as its Q4_0 values; gradients pass straight through."""
        for module in self.modules():
            if isinstance(module, Quantised):
                module.on = on

    def forward(self, ids, places=None):
        """Logits at all places, or only where the boolean mask `places` is set: [n, vocab]."""
        t = ids.shape[1]
        table = self.embed.values()
        x = F.embedding(ids, table)
        mask = torch.full((t, t), float("-inf")).triu(1)
        for layer in self.layers:
            x = layer(x, self.cos[:t], self.sin[:t], mask)
        x = self.norm(x)
        return F.linear(x if places is None else x[places], table)

    @torch.no_grad()
    def greedy(self, prompts, limit, end):
        """Greedy answers (ids without the end) to prompts of any lengths, all in one padded batch."""
        rows = [list(p) for p in prompts]
        done = [False] * len(rows)
        for _ in range(limit):
            live = [i for i, d in enumerate(done) if not d]
            if not live:
                break
            width = max(len(rows[i]) for i in live)
            ids = torch.tensor([rows[i] + [end] * (width - len(rows[i])) for i in live])
            last = torch.zeros(ids.shape, dtype=torch.bool)
            for r, i in enumerate(live):
                last[r, len(rows[i]) - 1] = True
            for i, token in zip(live, self(ids, last).argmax(-1).tolist()):
                if token == end:
                    done[i] = True
                else:
                    rows[i].append(token)
        return [row[len(p):] for row, p in zip(rows, prompts)]
