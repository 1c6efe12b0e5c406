import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { settingsOf } from './options.ts';

const OPTIONS = { apiKey: 'agk_live_x', baseUrl: 'http://127.0.0.1:3400', agent: { slug: 'support' } };

describe('settings', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('warn on the console if no logger is given, once per cause', () => {
    const warn = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
    const { logger } = settingsOf(OPTIONS, true);
    for (const count of [1, 2]) logger.warn(`a batch of ${count} events was dropped: key_refused`);
    logger.warn('a batch of 2 events was dropped: deadline');
    expect(warn.mock.calls).toEqual([
      ['a batch of 1 events was dropped: key_refused'],
      ['a batch of 2 events was dropped: deadline'],
    ]);
  });

  it('pass every warning to a given logger', () => {
    const warn = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
    const own = { warn: jest.fn<(message: string) => void>() };
    const { logger } = settingsOf({ ...OPTIONS, logger: own }, true);
    logger.warn('same');
    logger.warn('same');
    expect([own.warn.mock.calls.length, warn.mock.calls.length]).toEqual([2, 0]);
  });
});
