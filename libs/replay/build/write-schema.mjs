import { mkdirSync, writeFileSync } from 'node:fs';
import { rulesSchema } from '@agentlens/replay';

/** Writes `schemas/rules.v1.json` from the catalogs: `npm run schema -w @agentlens/replay`. A spec compares the two. */
const folder = new URL('../schemas/', import.meta.url);
mkdirSync(folder, { recursive: true });
writeFileSync(new URL('rules.v1.json', folder), `${JSON.stringify(rulesSchema(), null, 2)}\n`);
