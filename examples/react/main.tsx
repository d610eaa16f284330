import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Chat, Overlay, useEngine } from 'tokenglass/react';

function Page() {
  const { engine, progress, error, retry } = useEngine({ model: 'tutor' });
  return (
    <main>
      <Chat engine={engine} suggestions={['What is TTFT?']} />
      <Overlay engine={engine} />
      {error ? <button onClick={retry}>{error.message}</button> : <p>{progress?.label}</p>}
    </main>
  );
}

createRoot(document.querySelector('#root')!).render(
  <StrictMode>
    <Page />
  </StrictMode>,
);
