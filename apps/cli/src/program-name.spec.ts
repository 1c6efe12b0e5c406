import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { findProgramName } from './program-name.ts';

const SPEC = 'http://127.0.0.1:3400/packages/cli-0.2.0.tgz';

/** The folder in which npx runs a program, with the record that it keeps there. */
function npxFolder(record: string): string {
  const folder = join(mkdtempSync(join(tmpdir(), 'agentlens-npx-')), '_npx', 'a1b2');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), record);
  return join(folder, 'node_modules', '.bin', 'agentlens');
}

describe('the name of the program in hints', () => {
  it.each([
    ['/usr/local/bin/agentlens', 'agentlens'],
    ['/home/me/agentlens/scripts/agentlens.mjs', 'npm run agentlens --'],
    ['', 'agentlens'],
  ])('of %j is %j', (script, name) => expect(findProgramName(script)).toBe(name));

  it('is what npx was given', () => {
    const record = JSON.stringify({ dependencies: { '@agentlens/cli': SPEC }, _npx: { packages: [SPEC] } });
    expect(findProgramName(npxFolder(record))).toBe(`npx ${SPEC}`);
  });

  it.each(['{}', '{"_npx":{"packages":[]}}', '{"_npx":{"packages":"x"}}', 'no JSON'])(
    'is that of the installed command if npm recorded %j',
    (record) => expect(findProgramName(npxFolder(record))).toBe('agentlens'),
  );
});
