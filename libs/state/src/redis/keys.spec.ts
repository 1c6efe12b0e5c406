import { describe, expect, it } from '@jest/globals';
import { cooldownName } from '../windows/question.ts';
import { BreakerKeys, callOrderKey, callsKey, contentKey, idempotencyKey, quotaKey, WindowKeys } from './keys.ts';

/** The part that Redis Cluster hashes: the text between the first `{` and the next `}`. */
function hashTag(key: string): string {
  const open = key.indexOf('{');
  return key.slice(open + 1, key.indexOf('}', open));
}

describe('redis keys', () => {
  it('have one hash tag per tenant and agent, with any characters in the ids', () => {
    const keys = new BreakerKeys('acme', 'we{ird}:%agent', []);
    const all = [
      keys.breaker({ scope: 'run', scopeId: 'r}1' }),
      keys.breaker({ scope: 'agent', scopeId: 'x' }),
      keys.counted(3),
    ];
    expect(new Set(all.map(hashTag))).toEqual(new Set(['acme:we%7bird%7d%3a%25agent']));
  });

  it('have one hash tag for the calls of a run', () => {
    const all = [callsKey('acme', 'r}:1'), callOrderKey('acme', 'r}:1')];
    expect(new Set(all.map(hashTag))).toEqual(new Set(['acme:r%7d%3a1']));
    expect(callsKey('acme', 'r:order')).not.toBe(callOrderKey('acme', 'r'));
  });

  it('have one hash tag for the windows of all agents of a tenant', () => {
    const keys = new WindowKeys('acme');
    const all = ['a', 'we{ird}:%agent'].flatMap((agentId) => [
      keys.rings(agentId),
      keys.total(agentId, 'cost_usd:day:2026-03-01:sum'),
      keys.inbox(agentId, 'm}1'),
      keys.seen(agentId, 3),
      keys.cooldowns(agentId),
    ]);
    expect(new Set(all.map(hashTag))).toEqual(new Set(['acme']));
    expect(new Set(all).size).toBe(all.length);
  });

  it('never collide for different agents', () => {
    const keys = new WindowKeys('acme');
    expect(keys.seen('a}:b', 1)).not.toBe(keys.seen('a', 1));
    expect(keys.seen('a%7d', 1)).not.toBe(keys.seen('a}', 1));
    expect(keys.rings('a:x')).not.toBe(`${keys.rings('a')}:x`);
  });

  it('separate a dry run from a rule with a similar name', () => {
    expect(cooldownName({ ruleId: 'r', dryRun: true })).not.toBe(cooldownName({ ruleId: 'r:dry', dryRun: false }));
  });

  it('are short for long client text', () => {
    expect(idempotencyKey('acme', 'x'.repeat(10_000)).length).toBeLessThan(80);
    expect(quotaKey('k1')).toBe('quota:{k1}');
    expect(contentKey('acme', 'abc')).toBe('content:{acme}:abc');
  });
});
