"""Q4_0: blocks of 32 weights share one f16 scale, w = scale * (q - 8), q in 0..15."""

import torch
from torch import nn
from torch.nn import functional as F

BLOCK = 32


def quantise(weight):
    """(q, scale) of a [rows, columns] matrix: integers 0..15 [rows, columns], f16 scales [rows, columns / 32].

    As in llama.cpp the value of largest magnitude becomes -8, so the scale carries its sign. Unlike there, the
    rounding uses the scale after its own rounding to f16: training sees the very values that are stored.
    """
    blocks = weight.detach().reshape(weight.shape[0], -1, BLOCK)
    peak = blocks.gather(-1, blocks.abs().argmax(-1, keepdim=True))
    scale = (peak / -8).half()
    wide = scale.float()
    inverse = torch.where(wide == 0, torch.zeros_like(wide), 1 / wide)
    q = torch.clamp(torch.floor(blocks * inverse + 8.5), 0, 15)
    return q.reshape(weight.shape), scale.squeeze(-1)


def dequantise(q, scale):
    """The f32 matrix that (q, scale) stands for."""
    rows, columns = q.shape
    return ((q.reshape(rows, -1, BLOCK) - 8) * scale.float()[..., None]).reshape(rows, columns)


class Quantised(nn.Module):
    """A matrix [out, in] without bias; used as its Q4_0 values while `on`."""

    def __init__(self, columns, rows):
        super().__init__()
        self.weight, self.on = nn.Parameter(torch.randn(rows, columns) * 0.02), False

    def values(self):
        if not self.on:
            return self.weight
        return self.weight + (dequantise(*quantise(self.weight)) - self.weight).detach()

    def forward(self, x):
        return F.linear(x, self.values())
