import { writeFileSync } from 'node:fs';
import { OPERATIONS } from '@agentlens/operations';

/**
 * Writes `src/routes.ts` from the declared operations: `npm run routes -w @agentlens/client`. The compiler and a spec
 * compare the file with the declarations.
 */
const lines = [...OPERATIONS]
  .sort((a, b) => (a.id < b.id ? -1 : 1))
  .map(
    ({ id, method, path, frames }) => `  ${id}: '${frames === undefined ? method.toUpperCase() : 'STREAM'} ${path}',`,
  );
const text = `import type { Routes } from './types.ts';

/** Written by \`npm run routes -w @agentlens/client\`; not edited by hand. */
export const ROUTES: Routes = {
${lines.join('\n')}
};
`;
writeFileSync(new URL('../src/routes.ts', import.meta.url), text);
