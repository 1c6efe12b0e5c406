import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { rulesSchema } from './rules-schema.ts';

describe('the schema for editors', () => {
  it('is the one that follows from the catalogs (npm run schema -w @agentlens/replay)', () => {
    const file = join(import.meta.dirname, '../schemas/rules.v1.json');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(rulesSchema());
  });

  it('knows for each condition and action what its config holds', () => {
    const text = JSON.stringify(rulesSchema());
    expect(text).toContain('"const":"tool_argument"');
    expect(text).toContain('"const":"notify_webhook"');
  });
});
