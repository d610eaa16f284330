/** A thread of the CPU engine where no engine worker is there to be its script: in a page. */
import { serveThread } from './threads.ts';

serveThread(globalThis);
