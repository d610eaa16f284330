// The documentation as a site: the guides of docs/, and the API reference made of the docstrings. A warning fails.
//   npm run docs     writes dist-docs/
import { runCommand, nodeProgram } from './run-command.mjs';

const { ok } = await runCommand(nodeProgram('typedoc/bin/typedoc'));
console.log(
  ok ? 'The documentation is in dist-docs/: open dist-docs/index.html' : 'The documentation has faults, see above',
);
process.exit(ok ? 0 : 1);
