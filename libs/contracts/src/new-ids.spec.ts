import { describe, expect, it } from '@jest/globals';
import { timeOfId } from './dialects/stable-ids.ts';
import { derivedId, idSeries, inPosition, timeOrderedId } from './new-ids.ts';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const AT = Date.parse('2026-03-01T12:00:00.123Z');

describe('a time-ordered id', () => {
  it('is a UUIDv7 of its time', () => {
    expect(timeOrderedId(AT)).toMatch(UUID_V7);
    expect(timeOfId(timeOrderedId(AT))).toBe(AT);
  });

  it('sorts by time', () => {
    expect(timeOrderedId(AT) < timeOrderedId(AT + 1)).toBe(true);
  });

  it('is unique', () => {
    expect(new Set(Array.from({ length: 10_000 }, () => timeOrderedId(AT))).size).toBe(10_000);
  });
});

describe('a derived id', () => {
  it('is the same UUIDv7 for the same parts', () => {
    expect(derivedId(AT, 'rule', 3)).toMatch(UUID_V7);
    expect(derivedId(AT, 'rule', 3)).toBe(derivedId(AT, 'rule', 3));
  });

  it('distinguishes parts and their types', () => {
    expect(derivedId(AT, 'a', 'b')).not.toBe(derivedId(AT, 'ab'));
    expect(derivedId(AT, '3')).not.toBe(derivedId(AT, 3));
  });
});

describe('ids in position', () => {
  it('sort by position within one instant and remain UUIDv7 of it', () => {
    const ids = Array.from({ length: 1000 }, (_, position) => inPosition(timeOrderedId(AT), position));
    expect([...ids].sort()).toEqual(ids);
    for (const id of ids) expect(id).toMatch(UUID_V7);
    expect(timeOfId(ids[999] ?? '')).toBe(AT);
  });
});

describe('ids of a series', () => {
  const ids = Array.from({ length: 10_000 }, (_, position) => position).map(idSeries(AT));

  it('differ and are UUIDv7 of their instant', () => {
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(UUID_V7);
    expect(timeOfId(ids[9_999] ?? '')).toBe(AT);
  });

  it('sort by position as far as positions fit into an id', () => {
    const fitting = ids.slice(0, 4_096);
    expect([...fitting].sort()).toEqual(fitting);
  });

  it('differ from those of another series of the same instant', () => {
    expect(idSeries(AT)(7)).not.toBe(ids[7]);
  });
});
