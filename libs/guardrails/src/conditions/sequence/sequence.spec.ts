import { describe, expect, it } from '@jest/globals';
import { answerTo, aPastCall } from '../../decisions/call.testing.ts';

const after = (config: object, ...history: ReturnType<typeof aPastCall>[]) =>
  answerTo('sequence', config, {}, { history });

describe('sequence', () => {
  const verified = { mustHaveCalled: [{ tools: ['verify_*'] }] };

  it('matches while a required call is missing', () => {
    expect(after(verified)).toBe(true);
    expect(after(verified, aPastCall({ toolName: 'Verify_identity', status: 'allowed' }))).toBe(false);
  });

  it('does not count a call that is still being decided', () => {
    expect(after(verified, aPastCall({ toolName: 'verify_identity', status: 'asked' }))).toBe(true);
  });

  it('matches after a forbidden call', () => {
    const config = { mustNotHaveCalled: [{ toolTagsAny: ['external'] }] };
    expect(after(config, aPastCall({ toolTags: ['internal'] }))).toBe(false);
    expect(after(config, aPastCall({ toolTags: ['External'] }))).toBe(true);
  });

  it('is unavailable without the history', () => {
    expect(answerTo('sequence', verified, {}, { history: 'unavailable' })).toBe('unavailable');
  });

  it('rejects an empty config', () => {
    expect(() => after({})).toThrow('is required');
    expect(() => after({ mustNotHaveCalled: [] })).toThrow('must not be empty');
    expect(() => after({ mustHaveCalled: [{}] })).toThrow('must name tools or tags');
  });
});
