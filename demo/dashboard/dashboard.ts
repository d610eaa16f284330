import { createEngine } from '../../src/index.ts';
import '../../src/ui/index.ts';
import '../../src/ui/dashboard/index.ts';
import { startPage } from '../page.ts';

startPage(createEngine);
