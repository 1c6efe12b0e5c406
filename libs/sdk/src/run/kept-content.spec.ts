import { describe, expect, it } from '@jest/globals';
import { TestPlatform } from '../testing/index.ts';
import { keptContent } from './tool-calls.ts';

describe('call content kept in events', () => {
  it('is complete, without secrets and personal data', () => {
    const args = {
      to: 'ann@example.com',
      body: 'hello',
      apiKey: 'x',
      nested: [{ note: 'sk-abcdefghijklmnopqrstuvwx' }],
    };
    expect(keptContent('arguments', args)).toEqual({
      arguments: { to: '[email]', body: 'hello', apiKey: '[secret]', nested: [{ note: '[api_key]' }] },
    });
    expect(keptContent('result', undefined)).toEqual({});
  });

  it('of a large value is its beginning, its length and a digest', () => {
    const { resultCut } = keptContent('result', { text: 'x'.repeat(20_000) });
    expect(resultCut).toEqual({
      ...{
        chars: 20_011,
        start: expect.stringMatching(/^\{"text":"x+$/),
        sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    });
    expect(keptContent('result', 'x'.repeat(300_000))).toEqual({ resultCut: { chars: 300_002 } });
  });

  it('exists for any value that an agent may hold', () => {
    const cycle: Record<string, unknown> = { n: 1n };
    cycle.self = cycle;
    expect(keptContent('result', cycle)).toHaveProperty('result');
  });
});

describe('a guarded call', () => {
  async function recordedData(recordContent: boolean) {
    const server = new TestPlatform();
    const client = await server.client({ recordContent });
    const run = await client.startRun();
    await run.beforeTool('send_mail', { to: 'ann@example.com', subject: 'hi' });
    await run.afterTool('send_mail', { to: 'ann@example.com', subject: 'hi' }, { sent: true });
    await run.end();
    return server.eventsOf('tool.result')[0]?.data;
  }

  it('records redacted arguments and results', async () => {
    expect(await recordedData(true)).toMatchObject({
      arguments: { to: '[email]', subject: 'hi' },
      result: { sent: true },
    });
  });

  it('records neither if contents are not recorded', async () => {
    const data = await recordedData(false);
    expect(data).toMatchObject({ tool: { name: 'send_mail' }, outcome: 'success' });
    expect(data).not.toHaveProperty('arguments');
    expect(data).not.toHaveProperty('result');
  });
});
