import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LEAST_QUANTILE } from '@agentlens/guardrails/ports';
import { describe, expect, it } from '@jest/globals';
import { LIMB } from '../exact-numbers.ts';
import { BUCKETS } from '../lifetimes.ts';
import { readScripts } from './connection.ts';

const folder = join(import.meta.dirname, '../../lua');
const files = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')] as const);
const shared = files.filter(([, text]) => text.startsWith('-- Lua shared '));
const scripts = Object.values(readScripts());

describe('the scripts of Redis', () => {
  it.each(files)('use %s, and no script has it twice', (_, text) => {
    const own = text.split(/^--- @include .*\n/m).at(-1) ?? '';
    const copies = scripts.map((script) => script.split(own).length - 1);
    expect(Math.max(...copies)).toBe(1);
  });

  it.each(files.filter((file) => !shared.includes(file)))(
    '%s is one command, and says first what KEYS and ARGV are',
    (_, text) => {
      const [head = ''] = /^(--.*\n)+/.exec(text) ?? [];
      expect(head).toMatch(/\bKEYS: .*\bARGV: /s);
    },
  );

  it('are one for each file that is not shared, with nothing left to include', () => {
    expect(scripts).toHaveLength(files.length - shared.length);
    expect(scripts.filter((script) => script.includes('@include'))).toEqual([]);
  });

  it('are written in their files alone', () => {
    const sources = readdirSync(import.meta.dirname).filter((name) => !name.endsWith('.spec.ts'));
    const texts = sources.map((name) => readFileSync(join(import.meta.dirname, name), 'utf8'));
    expect(texts.filter((text) => text.includes('redis.call('))).toEqual([]);
  });

  it('count with the numbers of the sources', () => {
    const cells = files.find(([name]) => name === 'cells.lua')?.[1] ?? '';
    const [, ...numbers] = /^local LIMB, BUCKETS, LEAST_QUANTILE = (\S+), (\S+), (\S+)$/m.exec(cells) ?? [];
    expect(numbers.map(Number)).toEqual([LIMB, BUCKETS, LEAST_QUANTILE]);
  });
});
