import { describe, expect, it } from '@jest/globals';
import { answerTo } from '../../decisions/call.testing.ts';

const given = {
  metrics: { risk: 0.8 },
  tags: { tier: 'gold', level: '3', risk: 'shadowed' },
  actor: { externalId: 'u', metadata: { region: 'eu' } },
};

describe('signal', () => {
  it.each([
    [{ key: 'risk', operator: 'gte', value: 0.8 }, true],
    [{ key: 'risk', operator: 'lt', value: 0.8 }, false],
    [{ key: 'tier', value: 'gold' }, true],
    [{ key: 'tier', operator: 'neq', value: 'gold' }, false],
    [{ key: 'tier', operator: 'gt', value: 1 }, false],
    [{ key: 'level', operator: 'gt', value: 2 }, true],
    [{ key: 'region', operator: 'in', value: ['us', 'eu'] }, true],
    [{ key: 'region', operator: 'nin', value: ['us', 'eu'] }, false],
    [{ key: 'toString', value: 'x' }, 'missing'],
    [{ key: 'nothing', value: 'x', onMissing: 'block' }, true],
    [{ key: 'nothing', value: 'x', onMissing: 'allow' }, false],
  ])('%j is %s', (config, answer) => expect(answerTo('signal', config, given)).toBe(answer));

  it.each([
    [{ key: 'a', operator: 'in', value: 'x' }, 'must be a list'],
    [{ key: 'a', operator: 'gt', value: 'x' }, 'must be a number'],
    [{ key: 'a', value: ['x'] }, 'must be one value'],
  ])('rejects %j: %s', (config, message) => expect(() => answerTo('signal', config, {})).toThrow(message));
});
