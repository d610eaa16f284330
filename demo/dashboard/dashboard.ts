import { createEngine } from '../../src/index.ts';
import '../../src/ui/index.ts';
import { startPage } from '../page.ts';

startPage(createEngine);
