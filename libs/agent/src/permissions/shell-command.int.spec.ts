import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { PermissionManager } from './permission-manager.ts';
import { PermissionRule } from './rule.ts';

const run = promisify(execFile);

/** Programs that report that they ran; nothing else is on the path. */
let folder: string;
let ran: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agent-shell-'));
  ran = join(folder, 'ran');
  await mkdir(join(folder, 'bin'));
  const stub = join(folder, 'bin', 'good');
  await writeFile(stub, `#!/bin/bash\n: > "${ran}/\${0##*/}"\n`);
  await chmod(stub, 0o755);
  for (const name of ['fine', 'bad', 'rm', 'evil']) await symlink(stub, join(folder, 'bin', name));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

describe('allowed commands in a real bash', () => {
  it('run only allowed programs', async () => {
    const permissions = new PermissionManager({ rules: [PermissionRule.allowBashPrefix(['good', 'fine x'])] });
    const piece = fc.constantFrom(
      ...[
        'good',
        'fine',
        'fine x',
        'bad',
        'evil',
        ' ',
        '  ',
        '\n',
        '\t',
        ';',
        '&&',
        '||',
        '|',
        '&',
        '(',
        ')',
        '$(',
        '`',
        '"',
        "'",
      ],
      ...[
        '\\',
        '$',
        '{',
        '}',
        '<',
        '>',
        '>&',
        '2>&1',
        '/dev/null',
        '#',
        '!',
        '=',
        'A=',
        '-x',
        '\r',
        '<<E',
        'E',
        '*',
        '~',
        'bin/bad',
        './bin/evil',
      ],
    );
    const safe = fc.constantFrom(
      'good ',
      'fine x ',
      '; ',
      '&& ',
      '| ',
      '|| ',
      '\n',
      "'a b' ",
      '-x ',
      '2>&1 ',
      '>/dev/null ',
    );
    const command = fc
      .array(fc.oneof({ weight: 5, arbitrary: safe }, { weight: 1, arbitrary: piece }), { minLength: 1, maxLength: 9 })
      .map((pieces) => pieces.join(''));
    const allowed = fc
      .sample(command, { numRuns: 20_000, seed: 11 })
      .filter(
        (text) => permissions.check('bash', { command: text }, { sessionId: 's', agentType: 'a' }).decision === 'allow',
      );
    const distinct = [...new Set(allowed)].slice(0, 250);
    expect(distinct.length).toBeGreaterThan(100);
    for (const text of distinct) {
      await rm(ran, { recursive: true, force: true });
      await mkdir(ran);
      // The output does not matter, only what ran.
      await run('/bin/bash', ['--norc', '--noprofile', '-c', text], {
        cwd: folder,
        env: { PATH: join(folder, 'bin') },
      }).catch(() => undefined);
      const programs = await readdir(ran);
      expect({ text, programs: programs.filter((name) => name !== 'good' && name !== 'fine') }).toEqual({
        text,
        programs: [],
      });
    }
  });
});
