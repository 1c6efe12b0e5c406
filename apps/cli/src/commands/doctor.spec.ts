import { describe, expect, it } from '@jest/globals';
import { refusal, runCli, type SentRequest } from '../run-cli.testing.ts';
import { checkApprovals, checkClock, checkPrices, checkRules, checkUsage, checkVersion } from './doctor.ts';

const HEALTH = { status: 'ok', version: '1.2.3', db: { ok: true, latencyMs: 1 } };
const ME = { tenantId: 'acme', keyName: 'ops', scopes: ['read'], version: '1.2.3', now: '2026-11-25T10:00:00.000Z' };
const stream = (text: string, type = 'text/event-stream') => new Response(text, { headers: { 'content-type': type } });

async function doctor(answers: Readonly<Record<string, () => unknown>>) {
  const usual: Readonly<Record<string, () => unknown>> = {
    '/api/health': () => HEALTH,
    '/api/me': () => ME,
    '/api/guardrails': () => ({ rules: [], total: 0, hasMore: false }),
    '/api/prices': () => ({ table: { version: '1', source: 'shipped', ageDays: 3 } }),
    '/api/usage/unpriced': () => ({ from: '', to: '', models: [] }),
    '/api/usage/sources': () => ({ sources: [] }),
    '/api/stream': () => stream('event: heartbeat\ndata: {}\n\n'),
  };
  const answer = ({ path }: SentRequest) => {
    const [name = ''] = path.split('?');
    return (answers[name] ?? usual[name])?.();
  };
  const { exitCode, stdout, stderr } = await runCli(['doctor', '--json'], { answer });
  const findings = JSON.parse(stdout) as { check: string; result: string; what: string; advice?: string }[];
  const of = (check: string) => findings.find((finding) => finding.check === check);
  return { exitCode, stderr, of, results: Object.fromEntries(findings.map(({ check, result }) => [check, result])) };
}

describe('doctor', () => {
  it('reports no problem for a working connection', async () => {
    const { exitCode, results } = await doctor({});
    expect(exitCode).toBe(0);
    const expected = {
      connection: 'ok',
      key: 'ok',
      clock: 'ok',
      version: 'ok',
      stream: 'ok',
      rules: 'ok',
      approvals: 'ok',
      prices: 'ok',
      usage: 'ok',
    };
    expect(results).toEqual(expected);
  });

  it('names the address and its source if nothing listens there, and skips dependent checks', async () => {
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    const refuse = () => Promise.reject(new TypeError('fetch failed', { cause }));
    const { exitCode, of, results } = await doctor({ '/api/health': refuse });
    expect(exitCode).toBe(6);
    expect(results).toMatchObject({ connection: 'failed', key: 'skipped', stream: 'skipped' });
    expect(of('connection')?.what).toContain('http://platform.test');
    expect(of('connection')?.advice).toContain('AGENTLENS_URL');
  });

  it('detects another program at the address', async () => {
    const { exitCode, of } = await doctor({ '/api/health': () => stream('<html>', 'text/html') });
    expect(exitCode).toBe(6);
    expect(of('connection')?.what).toContain('not the AgentLens API');
  });

  it("passes on the platform's message about the key", async () => {
    const expired = () => refusal(401, { error: 'API key expired', hint: 'Use the key that replaced it.' });
    const { exitCode, of } = await doctor({ '/api/me': expired });
    expect(exitCode).toBe(4);
    expect(of('key')).toMatchObject({ what: '401: API key expired', advice: 'Use the key that replaced it.' });
  });

  it('detects a proxy that answers for the stream', async () => {
    const { exitCode, of } = await doctor({ '/api/stream': () => stream('<html>', 'text/html') });
    expect(exitCode).toBe(6);
    expect(of('stream')).toMatchObject({ result: 'failed', what: 'the response was 200 with text/html' });
  });

  it('detects a stream that ends before its first message', async () => {
    const { of } = await doctor({ '/api/stream': () => stream('') });
    expect(of('stream')).toMatchObject({ result: 'failed', what: 'the stream ended before the first message' });
  });
});

describe('the clock', () => {
  const platform = '2026-11-25T10:00:00.000Z';
  const at = Date.parse(platform);

  it('accepts a platform time between request and response, however slow the network', () => {
    expect(checkClock(platform, at - 20_000, at + 20_000).result).toBe('ok');
  });

  it('reports a difference that the network cannot explain', () => {
    expect(checkClock(platform, at + 60_000, at + 61_000).what).toContain('1 min 0 s ahead of');
    expect(checkClock(platform, at - 61_000, at - 60_000).what).toContain('1 min 0 s behind');
  });
});

describe('the version', () => {
  it('accepts a different patch version', () => {
    expect(checkVersion('1.2.3', '1.2.9', 'https://lens.test').result).toBe('ok');
    expect(checkVersion('1.2.3', '1.3.0', 'https://lens.test')).toMatchObject({
      result: 'warning',
      advice: expect.stringContaining('npx https://lens.test/packages/cli-1.3.0.tgz'),
    });
  });
});

describe('the check of rules', () => {
  it('warns of rules that let unreadable calls pass', () => {
    expect(checkRules([])).toMatchObject({ result: 'ok' });
    expect(checkRules(['Payments'])).toMatchObject({ result: 'warning', what: expect.stringContaining('"Payments"') });
  });
});

describe('the check of approvals', () => {
  it('warns of rules that let calls pass if approval cannot be requested', () => {
    expect(checkApprovals([])).toMatchObject({ result: 'ok' });
    expect(checkApprovals(['Payments'])).toMatchObject({
      result: 'warning',
      advice: 'Set onUnavailable to block for each of these rules.',
    });
  });
});

describe('the prices', () => {
  const table = { version: '1', source: 'shipped', ageDays: 30 } as const;

  it('are fine while the table is young and every call has one', () => {
    expect(checkPrices(table, [])).toMatchObject({ result: 'ok', what: 'price table 1, 30 days old' });
  });

  it.each([
    [{ ...table, ageDays: 200 }, [], 'agentlens prices update'],
    [table, [{ model: 'new', calls: 3 }], 'agentlens prices unpriced'],
  ])('warn about an old table and about calls without a price', (read, unpriced, advice) => {
    expect(checkPrices(read, unpriced)).toMatchObject({ result: 'warning', advice: expect.stringContaining(advice) });
  });
});

describe('the usage', () => {
  const source = { name: 'opentelemetry.util.genai.handler', version: '0.4b0', calls: 5, withoutTokens: 0, gaps: [] };

  it('names libraries that report less than the provider answered', () => {
    expect(checkUsage([source])).toMatchObject({ result: 'ok' });
    expect(checkUsage([source, { ...source, gaps: ['does not report cached tokens'] }])).toMatchObject({
      result: 'warning',
      what: 'opentelemetry.util.genai.handler 0.4b0 does not report cached tokens',
    });
  });
});
