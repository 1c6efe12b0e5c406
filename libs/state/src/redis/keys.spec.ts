import { describe, expect, it } from '@jest/globals';
import { AgentKeys, contentKey, idempotencyKey, quotaKey } from './keys.ts';

/** What Redis Cluster hashes: the text between the first `{` and the next `}`. */
function hashTag(key: string): string {
  const open = key.indexOf('{');
  return key.slice(open + 1, key.indexOf('}', open));
}

describe('redis keys', () => {
  it('carry one hash tag per tenant and agent, whatever characters the ids have', () => {
    const keys = new AgentKeys('acme', 'we{ird}:%agent');
    const all = [keys.window('cost_usd:1m:sum'), keys.inbox('m}1'), keys.seen(3), keys.cooldown('r{1}', true)];
    expect(new Set(all.map(hashTag))).toEqual(new Set(['acme:we%7bird%7d%3a%25agent']));
  });

  it('never meet for two different agents', () => {
    expect(new AgentKeys('acme', 'a}:b').seen(1)).not.toBe(new AgentKeys('acme', 'a').seen(1));
    expect(new AgentKeys('acme', 'a%7d').seen(1)).not.toBe(new AgentKeys('acme', 'a}').seen(1));
  });

  it('keep a dry run apart from a rule that is named like one', () => {
    const keys = new AgentKeys('acme', 'a');
    expect(keys.cooldown('r', true)).not.toBe(keys.cooldown('r:dry', false));
  });

  it('are short for long client text', () => {
    expect(idempotencyKey('acme', 'x'.repeat(10_000)).length).toBeLessThan(80);
    expect(quotaKey('k1')).toBe('quota:{k1}');
    expect(contentKey('acme', 'abc')).toBe('content:{acme}:abc');
  });
});
