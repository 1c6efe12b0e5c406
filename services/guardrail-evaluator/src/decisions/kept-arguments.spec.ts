import { describe, expect, it } from '@jest/globals';
import { keptArguments } from './kept-arguments.ts';

describe('the arguments a decision keeps', () => {
  it('are redacted, and none where the tenant wants none', () => {
    const args = { to: 'ann@example.com', amount: 5 };
    expect(keptArguments({ args, keepsArguments: true })).toEqual({ arguments: { to: '[email]', amount: 5 } });
    expect(keptArguments({ args, keepsArguments: false })).toEqual({});
    expect(keptArguments({ args })).toEqual({});
    expect(keptArguments({ args: undefined, keepsArguments: true })).toEqual({});
  });

  it('of a large call are their beginning and their length', () => {
    const { argumentsCut, ...rest } = keptArguments({ args: { text: 'ä'.repeat(10_000) }, keepsArguments: true });
    expect(rest).toEqual({});
    expect(argumentsCut).toMatchObject({ bytes: 20_011, start: expect.stringMatching(/^\{"text":"ä+$/) });
  });
});
