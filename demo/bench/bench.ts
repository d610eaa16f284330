import { offerHeadless } from './headless.ts';

offerHeadless(() => Promise.resolve(''));
