import { describe, expect, it } from '@jest/globals';
import { keptArguments } from './decision-publisher.ts';

describe('the arguments stored with a decision', () => {
  it('are redacted, and omitted if the tenant does not store them', () => {
    const args = { to: 'ann@example.com', amount: 5 };
    expect(keptArguments({ args, keepsArguments: true })).toEqual({ arguments: { to: '[email]', amount: 5 } });
    expect(keptArguments({ args, keepsArguments: false })).toEqual({});
    expect(keptArguments({ args })).toEqual({});
    expect(keptArguments({ args: undefined, keepsArguments: true })).toEqual({});
  });

  it('of a large call are truncated, with their length', () => {
    const { argumentsCut, ...rest } = keptArguments({ args: { text: 'ä'.repeat(10_000) }, keepsArguments: true });
    expect(rest).toEqual({});
    expect(argumentsCut).toMatchObject({ bytes: 20_011, start: expect.stringMatching(/^\{"text":"ä+$/) });
  });
});
