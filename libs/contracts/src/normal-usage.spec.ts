import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Usage } from './events.ts';
import { normalUsage } from './normal-usage.ts';

const CLAUDE = { model: 'claude-sonnet-4-5', provider: 'anthropic' };
const GEMINI = { model: 'gemini-2.5-pro', provider: 'google' };
const count = () => fc.nat(1_000_000);

/** What a vendor bills, and how each dialect writes it down. */
const calls = fc.record({ fresh: count(), read: count(), write: count(), answer: count(), thinking: count() });

describe('the normal form of a usage', () => {
  it('is the same for every way to write down one call of Claude', () => {
    fc.assert(
      fc.property(calls, ({ fresh, read, write, answer }) => {
        const cached = { outputTokens: answer, cacheReadTokens: read, cacheWriteTokens: write };
        const anthropic: Usage = { ...cached, inputTokens: fresh };
        const conventions: Usage = { ...cached, inputTokens: fresh + read + write };
        expect(normalUsage({ ...CLAUDE, usage: anthropic })).toMatchObject(conventions);
        expect(normalUsage({ ...CLAUDE, usage: conventions, cachedInside: true })).toEqual(conventions);
        const sentTotal = fresh + read + write + answer;
        expect(normalUsage({ ...CLAUDE, usage: conventions, sentTotal })).toEqual(conventions);
        expect(normalUsage({ ...CLAUDE, usage: anthropic, sentTotal })).toMatchObject(conventions);
        expect(normalUsage({ ...CLAUDE, provider: 'openrouter', usage: conventions })).toEqual(conventions);
      }),
    );
  });

  it('includes the thinking of Gemini once, whichever of its counts a client passes on', () => {
    fc.assert(
      fc.property(calls, ({ fresh, answer, thinking }) => {
        const usage = { inputTokens: fresh, outputTokens: answer };
        const sentTotal = fresh + answer + thinking;
        const normal = { inputTokens: fresh, outputTokens: answer + thinking };
        expect(normalUsage({ ...GEMINI, usage, sentTotal })).toMatchObject(normal);
        const named = { ...usage, reasoningTokens: thinking };
        expect(normalUsage({ ...GEMINI, usage: named, sentTotal })).toMatchObject(normal);
        const inside = { inputTokens: fresh, outputTokens: answer + thinking };
        expect(normalUsage({ ...GEMINI, usage: inside, sentTotal, cachedInside: true })).toMatchObject(normal);
      }),
    );
  });

  it('includes the results of the tools of Gemini, which only the total contains', () => {
    const usage = { inputTokens: 100, outputTokens: 20, reasoningTokens: 10 };
    const normal = { inputTokens: 130, outputTokens: 30 };
    expect(normalUsage({ ...GEMINI, usage, sentTotal: 160 })).toMatchObject(normal);
  });

  it('leaves thinking where OpenAI counts it, inside the output', () => {
    const usage = { inputTokens: 100, outputTokens: 900, reasoningTokens: 800 };
    const call = { model: 'gpt-5-mini', provider: 'openai', usage };
    expect(normalUsage(call).outputTokens).toBe(900);
    expect(normalUsage({ ...call, sentTotal: 1000 }).outputTokens).toBe(900);
  });

  it('counts cache writes for an hour among the cache writes', () => {
    const usage = { inputTokens: 3, outputTokens: 0, cacheWrite1hTokens: 7 };
    const normal = { inputTokens: 10, cacheWriteTokens: 7, cacheWrite1hTokens: 7, totalTokens: 10 };
    expect(normalUsage({ ...CLAUDE, usage })).toMatchObject(normal);
  });

  it('is reached in one step: a normal form stays as it is', () => {
    fc.assert(
      fc.property(calls, fc.constantFrom(CLAUDE, GEMINI), ({ fresh, read, write, answer, thinking }, model) => {
        const usage = { inputTokens: fresh, outputTokens: answer, cacheReadTokens: read, cacheWriteTokens: write };
        const normal = normalUsage({ ...model, usage: { ...usage, reasoningTokens: thinking } });
        expect(normalUsage({ ...model, usage: normal, cachedInside: true })).toEqual(normal);
      }),
    );
  });
});
