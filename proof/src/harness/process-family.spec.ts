import { describe, expect, it } from '@jest/globals';
import { countedOnce, type Look } from './process-family.ts';

/** Looks as they come, the last one over and over. */
function seen(...looks: readonly Record<number, number>[]): () => Look {
  const ahead = looks.map((look) => new Map(Object.entries(look).map(([pid, spent]) => [Number(pid), spent])));
  return () => (ahead.length > 1 ? ahead.shift() : ahead[0]) ?? new Map();
}

describe('the CPU of a process and all it started', () => {
  it('is that of all of them together', () => {
    expect(countedOnce(seen({ 1: 5, 2: 100, 3: 20 }))).toBe(125);
  });

  it('keeps what a child had used that has ended', () => {
    expect(countedOnce(seen({ 1: 5, 2: 100, 3: 20 }, { 1: 105, 3: 20 }))).toBe(125);
  });

  it('keeps it where the child ended between the looks at its parent and at itself', () => {
    expect(countedOnce(seen({ 1: 5, 2: 100, 3: 20 }, { 1: 5, 3: 20 }, { 1: 105, 3: 21 }))).toBe(126);
  });

  it('keeps that of a child which the list leaves off while another one ends', () => {
    expect(countedOnce(seen({ 1: 5, 2: 100, 3: 20 }, { 1: 25 }, { 1: 25, 2: 100 }))).toBe(125);
  });

  it('has that of a child that was started meanwhile', () => {
    expect(countedOnce(seen({ 1: 5 }, { 1: 5, 2: 1 }))).toBe(6);
  });

  it('is nothing where the family is gone', () => {
    expect(countedOnce(seen({ 1: 5, 2: 100 }, {}))).toBe(0);
  });

  it('is not told where somebody ended at every look', () => {
    let pid = 1;
    expect(() => countedOnce(() => new Map([[pid++, 1]]))).toThrow('one ended at every look');
  });
});
