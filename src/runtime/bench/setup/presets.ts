import type { Setup } from './setup.ts';

/** Workloads by name: what people do with a model in a page. Any flag beside the name changes that part of it. */
export const WORKLOADS = {
  fixed: { about: '128 tokens in, 64 out, every time: for comparing engines', flags: {} },
  chat: {
    about: 'questions and answers of very different lengths',
    flags: { 'prompt-tokens': 'lognormal:128,512', 'output-tokens': 'lognormal:64,256' },
  },
  conversation: {
    about: 'four turns, each with everything that was said before',
    flags: {
      'prompt-tokens': 'lognormal:48,160',
      'output-tokens': 'lognormal:64,200',
      turns: '4',
      'think-time': '2000',
    },
  },
  summarize: {
    about: 'long text in, short text out: prefill decides',
    flags: { 'prompt-tokens': 'uniform:512-1024', 'output-tokens': 'fixed:96' },
  },
  assistant: {
    about: 'a long system prompt that all requests share: what a prefix cache is for',
    flags: { 'prompt-tokens': 'fixed:512', 'output-tokens': 'lognormal:48,160', 'shared-prefix': '80' },
  },
} as const satisfies Record<string, { about: string; flags: Setup }>;

export type WorkloadName = keyof typeof WORKLOADS;
