import { describe, expect, it } from '@jest/globals';
import { childEnvironment, withoutOwnVariables } from './child-environment.ts';

const ENV = {
  ...{ PATH: '/bin', LC_CTYPE: 'C', https_proxy: 'http://proxy', Path: 'C:\\' },
  ...{ AGENTLENS_API_KEY: 'key', GITHUB_TOKEN: 'token', AWS_SECRET_ACCESS_KEY: 'secret', UNSET: undefined },
};

describe('childEnvironment', () => {
  it('passes what a program needs to run, but no credentials', () => {
    expect(childEnvironment(ENV)).toEqual({ PATH: '/bin', LC_CTYPE: 'C', https_proxy: 'http://proxy', Path: 'C:\\' });
  });

  it('passes variables named by the caller', () => {
    expect(childEnvironment(ENV, ['GITHUB_TOKEN', 'MISSING'])).toMatchObject({ PATH: '/bin', GITHUB_TOKEN: 'token' });
  });
});

describe('withoutOwnVariables', () => {
  it("removes only AgentLens's own variables", () => {
    const { AGENTLENS_API_KEY, ...others } = ENV;
    expect(withoutOwnVariables({ ...others, AGENTLENS_API_KEY, agentlens_url: 'http://platform' })).toEqual(others);
  });
});
