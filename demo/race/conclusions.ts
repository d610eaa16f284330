import { comparability, type ComparedName } from '../../src/runtime/bench/comparable.ts';
import { compareRuns, type ComparedFigure } from '../../src/runtime/bench/compare.ts';
import type { Report, Run } from '../../src/runtime/bench/report.ts';
import { compareWords } from '../../src/ui/lane/compare-words.ts';

/** Figures that sentences speak of, by their names there and in a comparison of runs. */
const SPOKEN: readonly (readonly [name: ComparedName, compared: ComparedFigure['name'], words: string])[] = [
  ['TTFT', 'TTFT', 'the first word'],
  ['ms/token', 'TPOT', 'the time per token'],
];

/** What is said of a contender against the first one. */
export interface Conclusion {
  /** `onnx-wasm against webgpu` */
  about: string;
  sentences: readonly string[];
}

/** What the race says, each contender against the first one: what is beyond noise and can be compared, and else why not. */
export function conclusions({ runs, ...report }: Report): Conclusion[] {
  const [first, ...others] = runs;
  return others.map((run) => ({
    about: `${run.conditions.engine.name} against ${first!.conditions.engine.name}`,
    sentences: conclusion(report, first!, run),
  }));
}

function conclusion(report: Omit<Report, 'runs'>, a: Run, b: Run): string[] {
  const judged = comparability(a, b);
  if (!judged) return [];
  const { figures } = compareRuns({ report, run: a }, { report, run: b });
  const found = SPOKEN.flatMap(([name, compared, words]) => {
    const figure = figures.find((one) => one.name === compared);
    return figure && judged.verdicts[name] !== 'no' ? [{ name, words, figure }] : [];
  });
  if (found.length === 0)
    return [`${judged.b} and ${judged.a} cannot be held against each other. ${judged.caveats[0]?.reason ?? ''}`];
  const clear = (name: ComparedName, side: 'a' | 'b'): number | undefined => {
    const one = found.find((candidate) => candidate.name === name)?.figure;
    return one?.isBeyondNoise ? one[side].value : undefined;
  };
  const side = (which: 'a' | 'b') => ({ ttftMs: clear('TTFT', which), tpotMs: clear('ms/token', which), text: '' });
  const unclear = found.filter(({ figure }) => !figure.isBeyondNoise).map(({ words }) => words);
  return [
    ...compareWords(side('a'), side('b'), judged.a, judged.b),
    ...(unclear.length ? [`${judged.a} and ${judged.b}: no difference beyond noise in ${unclear.join(' and ')}.`] : []),
  ];
}
