import { describe, expect, it } from '@jest/globals';
import { runCli } from '../../run-cli.testing.ts';

const CONNECTION = {
  ...{ name: 'openai-eu', dialect: 'openai', baseUrl: 'https://eu.api.openai.com/v1', version: 4, enabled: true },
  ...{ models: ['gpt-4.1*'], forwardHeaders: ['x-team'], pricingProvider: null },
  ...{ fallback: 'openai-us', firstByteSeconds: 30 },
};
const answer = ({ method }: { readonly method: string }) =>
  method === 'GET' ? { connections: [CONNECTION] } : { ...CONNECTION, version: 5 };

describe('gateway enable and disable', () => {
  it.each([
    ['enable', true],
    ['disable', false],
  ])('%s keeps everything else, and the version that was read', async (word, enabled) => {
    const { exitCode, requests } = await runCli(['gateway', word, 'openai-eu'], { answer });
    expect(exitCode).toBe(0);
    const { dialect, baseUrl, models, forwardHeaders, fallback, firstByteSeconds } = CONNECTION;
    expect(requests[1]).toMatchObject({ method: 'PUT', path: '/api/model-connections/openai-eu' });
    expect(requests[1]?.body).toEqual({
      ...{ dialect, baseUrl, models, forwardHeaders, enabled, fallback, firstByteSeconds },
    });
    expect(requests[1]?.headers.get('if-match')).toBe('"4"');
  });

  it('name a connection that is there', async () => {
    const { exitCode, requests, stderr } = await runCli(['gateway', 'disable', 'other'], { answer });
    expect([exitCode, requests.length]).toEqual([1, 1]);
    expect(stderr).toContain('There is no connection other');
  });
});
