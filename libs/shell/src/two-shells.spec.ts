import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readShell } from './reader.ts';

/* Two shells, one answer: the reader's commands equal those that a real bash runs. The lines only call `note`. */

const hasBash = spawnSync('bash', ['-c', 'exit 0']).status === 0;

/** Writes its folder and its words to the file that LOG names. */
const NOTE = '#!/bin/sh\n{ printf "%s\\0" "$(pwd -P)" "$#" "$@"; } >> "$LOG"\n';
const LINES = 200;

const word = fc.oneof(
  fc.constantFrom(
    'a',
    'b-c',
    'x=1',
    '"two words"',
    "'single $(note no)'",
    'q"u"o\'t\'e',
    '\\;',
    '"#no"',
    "$'t\\tb'",
    '""',
    '-n',
  ),
  fc.stringMatching(/^[a-z]{1,5}$/),
);
const note = fc.array(word, { maxLength: 3 }).map((words) => ['note', ...words].join(' '));
const { line } = fc.letrec<{ line: string }>((tie) => ({
  line: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    note,
    fc.tuple(tie('line'), fc.constantFrom(' && ', '; ', '\n', ' | '), tie('line')).map((parts) => parts.join('')),
    fc
      .tuple(
        tie('line'),
        fc.constantFrom<(inner: string) => string>(
          (inner) => `( ${inner})`,
          (inner) => `{ ${inner}\n}`,
          (inner) => `if true; then ${inner}\nfi`,
          (inner) => `false || { ${inner}\n}`,
          (inner) => `for i in one; do ${inner}\ndone`,
          (inner) => `case a in a) ${inner};; esac`,
          (inner) => `echo "$( ${inner})" > /dev/null`,
          (inner) => `bash -c ${quoted(inner)}`,
          (inner) => `bash <<'EOT_${inner.length}'\n${inner}\nEOT_${inner.length}\n`,
          (inner) => `cat > /dev/null <<'OUT_${inner.length}'\n${inner}\nOUT_${inner.length}\n`,
          (inner) => `{ cd ~/project/sub && { ${inner}\n}; cd -; }`,
          (inner) => `(cd ~/project/sub/deep; ${inner})`,
          (inner) => `eval ${quoted(inner)}`,
          (inner) => `# ${inner.split('\n')[0]}\n${inner}`,
          (inner) => `{ ${inner}\n} 2>/dev/null`,
        ),
      )
      .map(([inner, wrap]) => wrap(inner)),
    fc
      .tuple(
        note,
        fc.constantFrom('env A=1', 'env -C /tmp', 'timeout 60', 'nice -n 1', 'nohup', 'command', 'exec -a x env'),
      )
      .map(([inner, wrapper]) => (wrapper.startsWith('exec') ? `(${wrapper} ${inner})` : `${wrapper} ${inner}`)),
  ),
}));

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

(hasBash ? describe : describe.skip)('the reader beside a real bash', () => {
  let folder = '';
  let project = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'two-shells-'));
    project = join(folder, 'project');
    mkdirSync(join(project, 'sub/deep'), { recursive: true });
    mkdirSync(join(folder, 'bin'));
    writeFileSync(join(folder, 'bin/note'), NOTE, { mode: 0o755 });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** The folder and the words of each call, in any order: pipelines run at the same time. */
  function traced(text: string): string[] {
    const log = join(folder, 'log');
    writeFileSync(log, '');
    const env = { PATH: `${folder}/bin:/usr/bin:/bin`, HOME: folder, LOG: log };
    const { error } = spawnSync('bash', ['-c', text], { cwd: project, env, stdio: 'ignore' });
    if (error !== undefined) throw error;
    const fields = readFileSync(log, 'utf8').split('\0');
    const calls: string[] = [];
    for (let at = 0; at + 1 < fields.length; ) {
      const count = Number(fields[at + 1]);
      calls.push(JSON.stringify([fields[at], ...fields.slice(at + 2, at + 2 + count)]));
      at += 2 + count;
    }
    return calls.sort();
  }

  function read(text: string): string[] {
    const { commands } = readShell(text, { folder: project, home: folder });
    return commands
      .filter(({ argv }) => argv[0] === 'note')
      .map(({ folder: at, argv }) => JSON.stringify([at, ...argv.slice(1)]))
      .sort();
  }

  it('finds the commands that it runs, with their words and their folder', () => {
    fc.assert(
      fc.property(line, (text) => {
        fc.pre(text.length < 2_000 && !readShell(text, { folder: project }).opaque);
        expect(read(text)).toEqual(traced(text));
      }),
      { numRuns: LINES },
    );
  });
});
