import { describe, expect, it } from '@jest/globals';
import { Conformance } from './conformance.ts';
import type { DocumentedOperation } from './document.ts';
import { Judgement } from './judgement.ts';

const json = { 'content-type': 'application/json' };
const content = { 'application/json': { schema: { type: 'object', properties: { id: {} }, required: ['id'] } } };
const reads: DocumentedOperation = { method: 'get', path: '/a', operation: { responses: { 200: { content } } } };
const makes: DocumentedOperation = { ...reads, method: 'post' };

describe('a judgement', () => {
  it('counts responses, and reports a defect once with the first request that showed it', () => {
    const judgement = new Judgement(new Conformance({ components: { schemas: {} } }));
    expect(judgement.judge(reads, 'get /a?n=1', { status: 200, headers: json, text: '{"id":1}' }).ok).toBe(true);
    for (const n of [2, 3]) {
      expect(judgement.judge(reads, `get /a?n=${n}`, { status: 200, headers: json, text: '{}' }).ok).toBe(false);
    }
    judgement.judge(makes, 'post /a', { status: 500, headers: json, text: '{}' });
    expect(judgement.statuses).toEqual({ 200: 3, 500: 1 });
    expect(judgement.nonconforming).toBe(3);
    expect(judgement.serverErrors).toBe(1);
    expect(judgement.defects()).toEqual([
      expect.stringMatching(/^2 x get \/a 200: body must have required property 'id' .* \| get \/a\?n=2 -> \{\}$/),
      expect.stringMatching(/^1 x post \/a 500: status 500 is not declared/),
    ]);
  });

  it('lists operations that never succeeded', () => {
    const judgement = new Judgement(new Conformance({ components: { schemas: {} } }));
    judgement.judge(reads, 'get /a', { status: 200, headers: json, text: '{"id":1}' });
    expect(judgement.succeededOf([reads, makes])).toEqual({ count: 1, never: ['post /a'] });
  });
});
