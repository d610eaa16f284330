import { StrictMode, useState } from 'react';
import { hydrateRoot } from 'react-dom/client';
import { ScriptedEngine } from '../../src/ui/testing/scripted-engine.ts';
import { Chat, Overlay, useAnswer, useEngine } from '../../src/ui/react/index.ts';

/** What happened to engines, in order. */
export const log: string[] = [];

const createEngine = async ({ model }: { model: unknown }) => {
  const name = String(model);
  log.push(`create ${name}`);
  const engine = new ScriptedEngine(() => ({ tokens: ['Time ', 'to ', 'first ', 'token'] }));
  const dispose = engine.dispose.bind(engine);
  engine.dispose = () => {
    log.push(`dispose ${name}`);
    return dispose();
  };
  return Promise.resolve(engine);
};

export function Page() {
  const [model, setModel] = useState('tutor');
  const { engine, error } = useEngine({ model, createEngine });
  const { text, state, ask } = useAnswer(engine);
  return (
    <main>
      <Overlay engine={engine} />
      <Chat engine={engine} systemPrompt="Be brief." onRequestEnd={(event) => log.push(`answer ${event.text}`)} />
      <tg-overlay></tg-overlay>
      <output>{error ? error.message : `${state}: ${text}`}</output>
      <button id="ask" disabled={!engine} onClick={() => void ask('What is TTFT?')} />
      <button id="other" onClick={() => setModel('another')} />
    </main>
  );
}

export function start(container: Element): () => void {
  const root = hydrateRoot(
    container,
    <StrictMode>
      <Page />
    </StrictMode>,
  );
  return () => root.unmount();
}
