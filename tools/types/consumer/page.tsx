import { Chat, Overlay, useAnswer, useEngine } from 'tokenglass/react';
import { StrictMode, type ReactElement } from 'react';
import type { TgReadyEvent } from 'tokenglass/ui';
function Page(): ReactElement {
  const { engine, error, progress, retry } = useEngine({ model: 'tutor' });
  const { text, ask } = useAnswer(engine);
  return (
    <StrictMode>
      <Chat engine={engine} systemPrompt="Brief." onRequestEnd={(event) => console.log(event.text)} className="chat" />
      <Overlay engine={engine} placement="inline" />
      <tg-chat engine={engine} max-tokens={20} ontg-error={(event) => console.log(event.error.code)} />
      <tg-assistant model="tutor" overlay="inline" ontg-ready={(event: TgReadyEvent) => console.log(event.type)} />
      {/* @ts-expect-error no such model */}
      <tg-assistant model={5} />
      <button onClick={() => void ask('What is TTFT?')}>{text || progress?.label || error?.message}</button>
      <button onClick={retry} />
    </StrictMode>
  );
}
export { Page };
