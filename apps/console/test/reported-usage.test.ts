import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readLimit, readUsage } from '../src/run/reported-usage.ts';

const NOTHING = { costUsd: 0, llmCalls: 0, toolCalls: 0, totalTokens: 0, unpricedCalls: 0 };

describe('the usage of a run', () => {
  it('is zero before anything happened', () => {
    assert.deepEqual(readUsage(NOTHING), { cost: 0, tokens: 0, modelCalls: 0 });
  });

  it('is not reported if tools were called without a model', () => {
    const silent = readUsage({ ...NOTHING, toolCalls: 3 });
    assert.deepEqual(silent, { cost: 'not reported', tokens: 'not reported', modelCalls: 'not reported' });
    assert.equal(readLimit(silent.tokens, 200_000), undefined);
  });

  it('is known as far as the host tells: tokens without calls', () => {
    const told = readUsage({ ...NOTHING, toolCalls: 3, totalTokens: 594_000, costUsd: 5.4 });
    assert.deepEqual(told, { cost: 5.4, tokens: 594_000, modelCalls: 'not reported' });
  });

  it('has no cost if no model has a price', () => {
    assert.equal(readUsage({ ...NOTHING, llmCalls: 2, totalTokens: 90, unpricedCalls: 2 }).cost, 'no price');
  });

  it('is compared only with a limit that a run can reach', () => {
    assert.equal(readLimit(5, 1_000_000_000), undefined);
    assert.equal(readLimit(5, 200_000), 200_000);
    assert.equal(readLimit(5, undefined), undefined);
  });
});
