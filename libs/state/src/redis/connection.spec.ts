import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MIN_QUANTILE } from '@agentlens/guardrails/ports';
import { describe, expect, it } from '@jest/globals';
import { LIMB } from '../exact-numbers.ts';
import { BUCKETS } from '../lifetimes.ts';
import { readScripts } from './connection.ts';

const folder = join(import.meta.dirname, '../../lua');
const files = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')] as const);
const shared = files.filter(([, text]) => text.startsWith('-- Lua shared '));
const scripts = Object.values(readScripts());

describe('Redis scripts', () => {
  it.each(files)('include %s where needed, and never twice', (_, text) => {
    const own = text.split(/^--- @include .*\n/m).at(-1) ?? '';
    const copies = scripts.map((script) => script.split(own).length - 1);
    expect(Math.max(...copies)).toBe(1);
  });

  it.each(files.filter((file) => !shared.includes(file)))(
    '%s is one command and documents KEYS and ARGV first',
    (_, text) => {
      const [head = ''] = /^(--.*\n)+/.exec(text) ?? [];
      expect(head).toMatch(/\bKEYS: .*\bARGV: /s);
    },
  );

  it('exist for every file that is not shared, with all includes resolved', () => {
    expect(scripts).toHaveLength(files.length - shared.length);
    expect(scripts.filter((script) => script.includes('@include'))).toEqual([]);
  });

  it('are only defined in their files', () => {
    const sources = readdirSync(import.meta.dirname).filter((name) => !name.endsWith('.spec.ts'));
    const texts = sources.map((name) => readFileSync(join(import.meta.dirname, name), 'utf8'));
    expect(texts.filter((text) => text.includes('redis.call('))).toEqual([]);
  });

  it('use the same constants as the TypeScript sources', () => {
    const cells = files.find(([name]) => name === 'cells.lua')?.[1] ?? '';
    const [, ...numbers] = /^local LIMB, BUCKETS, MIN_QUANTILE = (\S+), (\S+), (\S+)$/m.exec(cells) ?? [];
    expect(numbers.map(Number)).toEqual([LIMB, BUCKETS, MIN_QUANTILE]);
  });
});
