import { describe, expect, it } from '@jest/globals';
import { loadConfig } from './config/config.ts';
import { explain } from './run-service.ts';

describe('the explanation of a failed start', () => {
  it.each(['localhost:5432', 'mysql://u:hidden@h/d', 'postgres//x', 'postgres://u:hidden@h:port/d'])(
    'names the variable in one line without a stack for DATABASE_URL=%s',
    (value) => {
      let thrown: unknown;
      try {
        loadConfig('standalone', { DATABASE_URL: value });
      } catch (error) {
        thrown = error;
      }
      const text = explain('agentlens', thrown);
      expect(text).toMatch(
        /^The environment of .+ cannot be used:\n {2}DATABASE_URL: must be an address such as postgres:.+$/,
      );
      expect(text).not.toContain('hidden');
    },
  );

  it.each(['28P01', '28000', '3D000'])('is one line if the database answers %s', (code) => {
    const error = Object.assign(new Error('database "agentlens" does not exist'), { code });
    expect(explain('agentlens', error)).toMatch(/^agentlens could not start: the database of DATABASE_URL .+$/);
  });

  it('has a stack for a fault of the program', () => {
    expect(explain('agentlens', new Error('boom'))).toMatch(/could not start: Error: boom\n +at /);
  });
});
