import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sha256Hex } from '#sha256';
import { canonicalForm, canonicalJson, type HashedFields } from './canonical-form.ts';

const event: HashedFields = {
  id: '01987d3e-0000-7000-8000-000000000001',
  occurredAt: '2026-03-01T12:00:00.000Z',
  runId: 'session-1',
  agentId: 'agent-1',
  dialect: 'agentlens',
  sourceType: 'custom',
  severity: 'info',
  payload: { type: 'deploy', data: { b: 1, a: [true, null, 1.5] } },
  metadata: { ü: '€' },
};

describe('the canonical form', () => {
  it('is the documented text', () => {
    expect(canonicalForm(event)).toBe(
      '{"agentId":"agent-1","dialect":"agentlens","eventType":"custom","id":"01987d3e-0000-7000-8000-000000000001",' +
        '"metadata":{"ü":"€"},"payload":{"data":{"a":[true,null,1.5],"b":1},"type":"deploy"},"sessionId":"session-1",' +
        '"severity":"info","timestamp":"2026-03-01T12:00:00.000Z","v":1}',
    );
  });

  it('includes tags only if there are any', () => {
    expect(canonicalForm({ ...event, tags: ['b', 'a'] })).toContain('"severity":"info","tags":["b","a"],"timestamp"');
  });

  it('is the canonical JSON of its members for any contents', () => {
    const text = fc.string({ unit: 'binary' }).map((value) => value.toWellFormed());
    const members = fc.record({
      id: text,
      runId: text,
      agentId: text,
      payload: fc.dictionary(text, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 4 }),
      metadata: fc.dictionary(text, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 4 }),
      tags: fc.option(fc.array(text), { nil: undefined }),
    });
    fc.assert(
      fc.property(members, (some) => {
        const { id, occurredAt, runId, agentId, dialect, sourceType, severity, payload, metadata, tags } = {
          ...event,
          ...some,
        };
        const named = { dialect, id, timestamp: occurredAt, sessionId: runId, agentId, eventType: sourceType };
        const whole = canonicalJson({ v: 1, ...named, severity, payload, metadata, tags });
        expect(canonicalForm({ ...event, ...some })).toBe(whole);
      }),
    );
  });

  it('is hashed as UTF-8', () => {
    const form = canonicalForm(event);
    expect(sha256Hex(form)).toBe(createHash('sha256').update(Buffer.from(form, 'utf8')).digest('hex'));
  });
});

describe('canonical JSON', () => {
  it('follows the example of RFC 8785', () => {
    const value = {
      numbers: [333333333.3333333, 1e30, 4.5, 0.002, 1e-27],
      string: '€$\u000f\nA\'B"\\\\"/',
      literals: [null, true, false],
    };
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  it('sorts keys by UTF-16 code units', () => {
    expect(canonicalJson({ '\u20ac': 1, '\r': 2, '1': 3, '\u{1f600}': 4, '\u0080': 5, '\ufb33': 6 })).toBe(
      '{"\\r":2,"1":3,"\u0080":5,"\u20ac":1,"\u{1f600}":4,"\ufb33":6}',
    );
  });

  it('sorts many similar keys', () => {
    const keys = fc.uniqueArray(
      fc.string({ unit: 'binary' }).map((key) => key.toWellFormed()),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(keys, (names) => {
        const text = canonicalJson(Object.fromEntries(names.map((name) => [`k${name}`, 1])));
        expect(Object.keys(JSON.parse(text))).toEqual(names.map((name) => `k${name}`).sort());
      }),
    );
  });

  it('leaves out undefined members, including the first', () => {
    expect(canonicalJson({ b: 1, a: undefined, c: { d: undefined } })).toBe('{"b":1,"c":{}}');
  });

  it('is the same regardless of how many object shapes came before', () => {
    const kinds = Array.from({ length: 6_000 }, (_, n) => ({ [`z${n}`]: n, [`a${n % 7}`]: { [`k${n}`]: [n] } }));
    for (const kind of [...kinds, ...kinds]) {
      const [last, first] = Object.entries(kind);
      expect(canonicalJson(kind)).toBe(JSON.stringify(Object.fromEntries([first ?? [], last ?? []])));
    }
  });

  it('is the same for any key order and parses back to the value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const text = canonicalJson(value);
        expect(canonicalJson(reversed(value))).toBe(text);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reversed(member)]),
  );
}
