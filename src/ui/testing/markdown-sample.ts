/** A long answer with every kind of block, the same each time. */
export function markdownSample(sections: number): string {
  return Array.from({ length: sections }, (_, index) => section(index)).join('\n');
}

function section(index: number): string {
  return `## Section ${index}: why decode is *memory-bound*

Each token reads **all** the weights once, so a step of ${index} takes at least \`bytes / bandwidth\`. See
[the roofline](https://example.org/roofline) for more, and note 3 < 4 & 5 > 4.

- first point about prefill
- second point with \`code\` and **weight**
  - nested point
  - another one
- third point

1. count the bytes
2. divide by bandwidth
3. compare with ${index} ms

| metric | value | unit |
|--------|------:|------|
| TTFT | ${100 + index} | ms |
| TPOT | 12.5 | ms |
| rate | 80 | tok/s |

\`\`\`ts
const floorMs = (bytes: number, bandwidth: number) => (bytes / bandwidth) * 1000;

console.log(floorMs(4e9, 1e12)); // ${index}
\`\`\`

> A cached prompt needs no prefill.
> It is restored.

---
`;
}
