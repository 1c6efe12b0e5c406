import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { compilePattern, patternProblem } from './pattern.ts';

describe('compilePattern', () => {
  it('finds a pattern anywhere in a text', () => {
    expect(compilePattern('b+c').found('abbbcd')).toBe(true);
    expect(compilePattern('^b').found('abc')).toBe(false);
    expect(compilePattern('(?i)DROP\\s+TABLE').found('drop  table users')).toBe(true);
  });

  it.each(['(a+)+$', '(a|a)*b', '(x+x+)+y', '(.*)*='])('matches %s against a pathological text', (source) => {
    expect(compilePattern(source).found(`${'a'.repeat(50_000)}!`)).toBe(false);
  });

  it.each(['(', 'a{2,1}', '(?=a)b', '(a)\\1', '(?<!a)b', 'a{1000}{1000}', `${'a'.repeat(257)}`])(
    'rejects %s',
    (source) => {
      expect(patternProblem(source)).toContain('is not a regular expression in RE2 syntax');
    },
  );
});

describe('patterns of users', () => {
  it('never reach the backtracking engine: no source file creates a RegExp from text', () => {
    const root = new URL('..', import.meta.url);
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
      (file) => file.endsWith('.ts') && !file.endsWith('.spec.ts'),
    );
    expect(files.length).toBeGreaterThan(50);
    for (const file of files) {
      const source = readFileSync(new URL(file, root), 'utf8');
      expect({ file, makes: /\bRegExp\s*\(/.test(source) }).toEqual({ file, makes: false });
      expect({ file, makes: /\.(?:match|matchAll|search)\(/.test(source) }).toEqual({ file, makes: false });
    }
  });
});
