import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { rulesSchema } from './rules-schema.ts';

describe('schema for editors', () => {
  it('matches the catalogs (update with: npm run schema -w @agentlens/replay)', () => {
    const file = join(import.meta.dirname, '../schemas/rules.v1.json');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(rulesSchema());
  });

  it('describes the config of each condition and action', () => {
    const text = JSON.stringify(rulesSchema());
    expect(text).toContain('"const":"tool_argument"');
    expect(text).toContain('"const":"notify_webhook"');
  });
});
