import type { Usage } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { billedTokens } from './billed-tokens.ts';

const CLAUDE = { model: 'claude-sonnet-4-5', provider: 'anthropic', atMs: 0 };
const GEMINI = { model: 'gemini-2.5-pro', provider: 'google', atMs: 0 };
const count = () => fc.nat(1_000_000);

/** What a vendor bills, and how each dialect writes it down. */
const calls = fc.record({ fresh: count(), read: count(), write: count(), answer: count(), thinking: count() });

describe('the tokens that are billed', () => {
  it('are the same for every way to write down one call of Claude', () => {
    fc.assert(
      fc.property(calls, ({ fresh, read, write, answer }) => {
        const cached = { outputTokens: answer, cacheReadTokens: read, cacheWriteTokens: write };
        const anthropic: Usage = { ...cached, inputTokens: fresh };
        const conventions: Usage = { ...cached, inputTokens: fresh + read + write };
        const expected = {
          input_tokens: fresh + read + write,
          output_tokens: answer,
          cache_read_tokens: read,
          cache_write_tokens: write,
        };
        expect(billedTokens({ ...CLAUDE, usage: anthropic })).toEqual(expected);
        expect(billedTokens({ ...CLAUDE, usage: conventions, cachedInside: true })).toEqual(expected);
        const sentTotal = fresh + read + write + answer;
        expect(billedTokens({ ...CLAUDE, usage: conventions, sentTotal })).toEqual(expected);
        expect(billedTokens({ ...CLAUDE, usage: anthropic, sentTotal })).toEqual(expected);
        expect(billedTokens({ ...CLAUDE, provider: 'openrouter', usage: conventions })).toEqual(expected);
      }),
    );
  });

  it('include the thinking of Gemini once, whichever of its counts a client passes on', () => {
    fc.assert(
      fc.property(calls, ({ fresh, answer, thinking }) => {
        const usage = { inputTokens: fresh, outputTokens: answer };
        const sentTotal = fresh + answer + thinking;
        const billed = { input_tokens: fresh, output_tokens: answer + thinking };
        expect(billedTokens({ ...GEMINI, usage, sentTotal })).toMatchObject(billed);
        expect(billedTokens({ ...GEMINI, usage, sentTotal, reasoningTokens: thinking })).toMatchObject(billed);
        const inside = { inputTokens: fresh, outputTokens: answer + thinking };
        expect(billedTokens({ ...GEMINI, usage: inside, sentTotal, cachedInside: true })).toMatchObject(billed);
      }),
    );
  });

  it('leave thinking where OpenAI counts it, inside the output', () => {
    const usage = { inputTokens: 100, outputTokens: 900 };
    const call = { model: 'gpt-5-mini', provider: 'openai', usage, atMs: 0, reasoningTokens: 800 };
    expect(billedTokens(call).output_tokens).toBe(900);
    expect(billedTokens({ ...call, sentTotal: 1000 }).output_tokens).toBe(900);
  });

  it('keep cache writes for an hour apart, and never fewer writes than those', () => {
    const usage = { inputTokens: 3, outputTokens: 0 };
    const expected = { input_tokens: 10, cache_write_tokens: 7, cache_write_1h_tokens: 7 };
    expect(billedTokens({ ...CLAUDE, usage, cacheWrite1hTokens: 7 })).toMatchObject(expected);
  });
});
