import { StrictMode } from 'react';
import { renderToString } from 'react-dom/server';
import { Page } from './page.tsx';

/** The page as a server renders it. */
export const html = renderToString(
  <StrictMode>
    <Page />
  </StrictMode>,
);
