import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { readProse } from './read-prose.ts';

const root = join(import.meta.dirname, '..');

/**
 * Words that mark prose as a translation, each with what to write instead. The list is a tripwire, not the goal: a
 * sentence that passes and still has to be read twice is a defect.
 */
const WORDS: readonly (readonly [RegExp, string])[] = [
  // In quotes it is the Unix user of that name.
  [/(?<!["`])\bnobody\b/i, 'name the actor: "no agent", "no key", or say what is missing'],
  [/\bsomebody('s)?\b/i, 'name the actor: "a person", "another client"'],
  [/\bwhoever\b/i, 'name the actor: "the caller", "the operator"'],
  [/\bwhatever\b/i, '"any", "regardless of", or name the thing'],
  [/\b(is|are|was|were|be|been|being|gets?) (not |never |also |only )?told\b/i, '"receives", "is notified", "learns"'],
  [/\b(told|tell|tells) of\b/i, '"notified about", "reports"'],
  [/\bhear(s|d)? of\b/i, '"learns about", "receives", "last seen"'],
  [/\b(came|comes|become|became|becomes) of\b/i, '"the result", "the outcome"'],
  [/\b(come|comes|came|coming) again\b/i, '"retry", "is redelivered", "is repeated"'],
  [/\bonce more\b/i, '"again", "retry"'],
  [/\bjust now\b/i, '"currently", "at the moment", or leave it out'],
  [/\b(time|turn|wait) (is|was) over\b/i, '"timed out", "the deadline has passed"'],
  [/\b(grow|grows|grown|grew) old\b/i, '"stale", "expired"'],
  [/\b(mend|mends|mended|mending)\b/i, '"fix"'],
  [/(?<!there )\b(is|are) none\b/i, '"does not exist", "is missing", "is invalid"'],
  [/\buntold\b/i, '"unknown"'],
  [/\banew\b/i, '"again", "new"'],
];

/** Constants carry `MAX_` or `MIN_`, and a unit. */
const CONSTANT = /\b(MOST|LEAST)_[A-Z]/;

/** Files about these words, or whose text is a fixture that others wrote. */
const EXEMPT = [/^test\/prose\.spec\.ts$/, /\/generated\//, /\/recordings\//, /\/built\//, /\/migrations\//];

/** Parts of the tree that still have to be rewritten. This list only gets shorter. */
const PENDING: readonly string[] = [];

const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((path) => /\.(ts|tsx|mjs|py|lua|css|md)$/.test(path) && existsSync(join(root, path)))
  .filter((path) => !EXEMPT.some((exempt) => exempt.test(path)))
  .filter((path) => !PENDING.some((folder) => path.startsWith(folder)));

describe('prose', () => {
  it('uses the words of the field', () => {
    const found = files.flatMap((path) =>
      readProse(path, readFileSync(join(root, path), 'utf8')).flatMap(({ line, text }) =>
        WORDS.filter(([word]) => word.test(text)).map(
          ([word, better]) => `${path}:${line}: ${word.exec(text)?.[0]} → ${better}\n    ${text.trim()}`,
        ),
      ),
    );
    expect(found).toEqual([]);
  });

  it('names limits MAX_ and MIN_', () => {
    const found = files
      .filter((path) => !path.endsWith('.md'))
      .flatMap((path) =>
        readFileSync(join(root, path), 'utf8')
          .split('\n')
          .flatMap((text, index) => (CONSTANT.test(text) ? [`${path}:${index + 1}: ${text.trim()}`] : [])),
      );
    expect(found).toEqual([]);
  });

  it('has parts left to rewrite only where files exist', () => {
    expect(PENDING.filter((folder) => !existsSync(join(root, folder)))).toEqual([]);
  });
});

describe('reading prose', () => {
  it.each([
    ['a.ts', "const a = 1; // nobody\nlog('nobody is here');", ['// nobody', "'nobody is here'"]],
    ['a.tsx', '<p>Nobody is here</p>', ['Nobody is here']],
    ['a.py', 'x = 1  # nobody\n"""Told of it."""', ['# nobody', '"""Told of it."""']],
    ['a.md', 'Text `nobody` [nobody](nobody.md)\n```\nnobody\n```', ['Text  [nobody]']],
  ])('finds comments, sentences and text in %s', (path, text, expected) => {
    expect(readProse(path, text).map((prose) => prose.text)).toEqual(expected);
  });

  it('leaves identifiers and short strings out', () => {
    expect(readProse('a.ts', "export const nobody = 'nobody';")).toEqual([]);
  });
});
