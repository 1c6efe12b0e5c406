import { describe, expect, it } from '@jest/globals';
import { countedOnce, type Look } from './process-family.ts';

/** Returns the given readings in turn, the last one repeatedly. */
function seen(...looks: readonly Record<number, number>[]): () => Look {
  const ahead = looks.map((look) => new Map(Object.entries(look).map(([pid, spent]) => [Number(pid), spent])));
  return () => (ahead.length > 1 ? ahead.shift() : ahead[0]) ?? new Map();
}

describe('the CPU of a process and its descendants', () => {
  it('is the sum of all of them', () => {
    expect(countedOnce(seen({ 1: 5, 2: 100, 3: 20 }))).toBe(125);
  });

  it('keeps the usage of a child that has exited', () => {
    expect(countedOnce(seen({ 1: 5, 2: 100, 3: 20 }, { 1: 105, 3: 20 }))).toBe(125);
  });

  it('keeps it if the child exits between reading its parent and reading the child', () => {
    expect(countedOnce(seen({ 1: 5, 2: 100, 3: 20 }, { 1: 5, 3: 20 }, { 1: 105, 3: 21 }))).toBe(126);
  });

  it('keeps the usage of a child that the list omits while another one exits', () => {
    expect(countedOnce(seen({ 1: 5, 2: 100, 3: 20 }, { 1: 25 }, { 1: 25, 2: 100 }))).toBe(125);
  });

  it('includes a child that started in the meantime', () => {
    expect(countedOnce(seen({ 1: 5 }, { 1: 5, 2: 1 }))).toBe(6);
  });

  it('is zero if the family is gone', () => {
    expect(countedOnce(seen({ 1: 5, 2: 100 }, {}))).toBe(0);
  });

  it('throws if a process exits at every reading', () => {
    let pid = 1;
    expect(() => countedOnce(() => new Map([[pid++, 1]]))).toThrow('one exited at every reading');
  });
});
