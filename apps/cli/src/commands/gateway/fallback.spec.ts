import { describe, expect, it } from '@jest/globals';
import { runCli, type SentRequest } from '../../run-cli.testing.ts';

const CONNECTION = { name: 'openai', dialect: 'openai', baseUrl: 'https://api.openai.com/v1', models: null };

describe('gateway connect', () => {
  it('names the fallback, and how long to wait for the first byte', async () => {
    const words = ['gateway', 'connect', 'openai', '--fallback', 'openai-eu', '--first-byte', '30'];
    const { exitCode, requests } = await runCli(words, { stdin: 'sk-1\n', answer: () => CONNECTION });
    expect(exitCode).toBe(0);
    expect(requests).toMatchObject([{ method: 'PUT', path: '/api/model-connections/openai' }]);
    expect(requests[0]?.body).toEqual({
      ...{ dialect: 'openai', credential: 'sk-1', fallback: 'openai-eu', firstByteSeconds: 30 },
    });
  });

  it('sends neither without the options', async () => {
    const { requests } = await runCli(['gateway', 'connect', 'openai'], { stdin: 'sk-1\n', answer: () => CONNECTION });
    expect(requests[0]?.body).toEqual({ dialect: 'openai', credential: 'sk-1' });
  });
});

describe('gateway doctor', () => {
  /** The platform, where each call over the connection is answered with these headers. */
  const answerWith =
    (headers: Readonly<Record<string, string>>) =>
    ({ path }: SentRequest) => {
      if (path === '/api/model-connections') return { connections: [CONNECTION] };
      if (path.startsWith('/gw/')) return new Response('{}', { headers });
      return { id: 'key-1', key: 'agk_live_short' };
    };

  it('does not take the answer of a fallback for one of the connection', async () => {
    const answer = answerWith({ 'x-agentlens-connection': 'openai-eu' });
    const { exitCode, stdout, requests } = await runCli(['gateway', 'doctor'], { answer });
    expect([exitCode, stdout]).toEqual([
      1,
      expect.stringContaining('openai: gives no answer. Its fallback openai-eu answered'),
    ]);
    expect(requests.at(-1)).toMatchObject({ method: 'DELETE', path: '/api/keys/key-1' });
  });

  it('is content with an answer of the connection', async () => {
    const { exitCode, stdout } = await runCli(['gateway', 'doctor'], { answer: answerWith({}) });
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining('answers')]);
  });
});
