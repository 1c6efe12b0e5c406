import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MENTIONS, RUNS, UNREADABLE } from './cases.testing.ts';
import { readShell } from './reader.ts';

/** Whether the line is known to run something that cannot be read. */
const isUnreadable = (line: string) => {
  const { commands, opaque } = readShell(line);
  return opaque || commands.some(({ argv, script }) => argv[0] === null || script === 'code' || script === 'input');
};
const commandsIn = (line: string) =>
  readShell(line, { folder: '/project', home: '/home/ada' }).commands.filter(({ argv }) => argv.length > 0);
const lineOf = (argv: readonly (string | null)[]) => argv.join(' ');

describe('a shell line', () => {
  it.each(RUNS.map(({ line, runs }) => [line, runs] as const))('%j runs %s', (line, runs) => {
    expect(
      commandsIn(line).map(({ argv }) => lineOf(argv).replace(/^\/bin\/|-C \S+ |-c \S+ |--\S+ (?:x )?/g, '')),
    ).toEqual(expect.arrayContaining([runs]));
  });

  it.each(MENTIONS)('%j runs no command that it mentions', (line) => {
    expect(commandsIn(line).filter(({ argv }) => argv[0] === 'rm' || argv[1] === 'push')).toEqual([]);
    expect(isUnreadable(line)).toBe(false);
  });

  it.each(UNREADABLE)('%j cannot be read', (line) => {
    expect(isUnreadable(line)).toBe(true);
  });

  it.each([
    '[[ -v name ]]',
    'printf -v name %s x',
    'i=1; echo $((i + 1))',
    'echo \u0024{x@Q}',
    'for ((i = 0; i < 3; i++)); do ls; done',
  ])('%j evaluates nothing that it cannot see', (line) => {
    expect(isUnreadable(line)).toBe(false);
  });

  it.each([
    ['ls', '/project'],
    ['cd sub && ls', '/project/sub'],
    ['cd sub; cd ..; ls', '/project'],
    ['cd; ls', '/home/ada'],
    ['cd ~/.x && ls', '/home/ada/.x'],
    ['cd "$PWD/sub" && ls', '/project/sub'],
    ['cd /a; cd -; ls', '/project'],
    ['pushd /a; popd; ls', '/project'],
    ['(cd /a); ls', '/project'],
    ['cd /a | cat; ls', '/project'],
    ['cd /a & ls', '/project'],
    ['cd a || exit; ls', '/project/a'],
    ['true || cd a; ls', null],
    ['if x; then cd a; fi; ls', null],
    ['cd "$X" && ls', null],
    ['f() { cd a; }; f; ls', null],
    ['cd a && command cd b && ls', '/project/a/b'],
    ['eval "cd a"; ls', '/project/a'],
    ['bash -c "cd a"; ls', '/project'],
    ['env -C sub ls', '/project/sub'],
    ['sudo --chdir=/a ls', '/a'],
  ])('%j runs ls in %s', (line, folder) => {
    expect(
      commandsIn(line)
        .filter(({ argv }) => argv[0] === 'ls')
        .at(-1)?.folder,
    ).toBe(folder);
  });

  it('names the files that redirections read and write', () => {
    const all = readShell('{ a <in; b 2>&1 &>>log; } > out').commands;
    expect(all.flatMap(({ reads }) => reads)).toEqual(['in']);
    expect(all.flatMap(({ writes }) => writes)).toEqual(['out', 'log']);
  });

  it('is bounded for any text', () => {
    const piece = fc.constantFrom(
      'xargs ',
      'env ',
      'sh -c ',
      "'",
      '"',
      '$(',
      ')',
      '`',
      '\n',
      '|',
      '<<A\n',
      'A\n',
      'f() {',
      '}',
      '((',
      '))',
      '[[',
      ' ]]',
      'cd a;',
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 60 }),
        fc.constantFrom('named' as const, 'every' as const),
        (pieces, wrapped) => {
          expect(readShell(pieces.join(''), { wrapped }).commands.length).toBeLessThanOrEqual(2_000);
        },
      ),
      { numRuns: 500 },
    );
    expect(readShell('xargs '.repeat(3_000), { wrapped: 'every' }).opaque).toBe(true);
  });
});
