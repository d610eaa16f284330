// Writes docs/report.schema.json from the schema that the product checks reports against.
//   node --import tsx tools/report-schema.ts
import { writeFileSync } from 'node:fs';
import { REPORT_SCHEMA } from '../src/runtime/bench/report-schema.ts';

writeFileSync('docs/report.schema.json', `${JSON.stringify(REPORT_SCHEMA, null, 2)}\n`);
