// What the tabs of share.node.test.mjs run: a shared engine, driven from outside.
import { createEngine, type CreateEngineOptions, type OpenAiEngine } from '../../src/worker/create-engine.ts';

let engine: OpenAiEngine | undefined;

const PROMPT = 'What is TTFT?';

const share = {
  /** Tokens of the answer that is running, or of the last one. */
  received: 0,
  /** Attaches to the engine, or makes it. */
  async open(options: Omit<CreateEngineOptions, 'model'>) {
    engine = await createEngine({ model: 'tutor', ...options });
    return engine.info;
  },
  /** The text of an answer, or the code of the error that ended it. */
  async ask(maxTokens: number): Promise<{ text: string; code?: string; info?: object }> {
    let text = '';
    share.received = 0;
    try {
      const messages = [{ role: 'user', content: PROMPT }] as const;
      for await (const event of engine!.generate({ messages, maxTokens, ignoreEos: true }))
        if (event.type === 'delta') {
          text += event.text;
          share.received += event.tokens.length;
        }
      return { text, info: engine!.info };
    } catch (error) {
      return { text, code: (error as { code?: string }).code ?? String(error) };
    }
  },
  /** The first answer that was cut short, gone on with; undefined if there is none. */
  async resume(): Promise<string | undefined> {
    const [cut] = await engine!.resumable!();
    if (!cut) return undefined;
    let text = '';
    for await (const event of engine!.resume!(cut.id)) if (event.type === 'delta') text += event.text;
    return text;
  },
  dispose: () => engine![Symbol.asyncDispose](),
};

declare global {
  interface Window {
    share: typeof share;
  }
}

window.share = share;
