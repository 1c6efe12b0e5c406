import { describe, expect, it } from '@jest/globals';
import { newApiKey } from '../auth/api-key.ts';
import { createLogger, humanLine } from './create-logger.ts';

function logged(write: (logger: ReturnType<typeof createLogger>) => void): string {
  const lines: string[] = [];
  write(createLogger({ name: 'test', level: 'info', stream: { write: (line) => lines.push(line) } }));
  return lines.join('');
}

describe('log', () => {
  const { id, key } = newApiKey();

  it.each([
    ['an API key in the text', `key ${key} was used`, key],
    ['a webhook secret', 'signing with whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'MfKQ9r8'],
    ['an AgentLens key', `sent als_${'0f'.repeat(32)}`, '0f0f'],
    ['a Hugging Face key', `sent hf_${'aB'.repeat(17)}`, 'aBaB'],
    ['a SendGrid key', `sent SG.${'a1'.repeat(11)}.${'b2'.repeat(21)}`, 'a1a1'],
    ['a private key', '-----BEGIN PRIVATE KEY-----\nMIIEabc', 'MIIEabc'],
    ['a bearer token', 'sent Authorization: Bearer abc.def.ghi', 'abc.def'],
    ['a password in a URL', 'connecting to postgres://app:hunter2@db/agentlens', 'hunter2'],
  ])('never shows %s', (_name, text, secret) => {
    expect(logged((logger) => logger.info(text))).not.toContain(secret);
    expect(logged((logger) => logger.error({ err: new Error(text) }, 'failed'))).not.toContain(secret);
  });

  it('still shows the id of a key', () => {
    expect(logged((logger) => logger.info(key))).toContain(`agk_***_${id}_***`);
  });

  it('leaves out what drivers attach to their errors', () => {
    const error = Object.assign(new Error('terminating connection', { cause: new Error('socket closed') }), {
      code: '57P01',
      client: { secretKey: 123456789, buffer: 'x'.repeat(20_000) },
      detail: 'Key (email)=(ada@example.com) already exists.',
    });
    const line = logged((logger) => logger.warn({ err: error }, 'idle database connection lost'));
    expect(line).toContain('57P01');
    expect(line).toContain('terminating connection: socket closed');
    expect(line).not.toMatch(/123456789|xxxx|ada@/);
    expect(line.length).toBeLessThan(4_000);
  });

  it('redacts secret fields by name', () => {
    const line = logged((logger) => logger.info({ config: { secret: 'open sesame', url: 'https://a' } }, 'rule'));
    expect(line).not.toContain('open sesame');
    expect(line).toContain('https://a');
  });

  it('is one short line for people', () => {
    const json = logged((logger) => logger.warn({ err: new Error('no route') }, 'webhook failed'));
    expect(humanLine(json)).toMatch(/^\d\d:\d\d:\d\d WARN webhook failed \(no route\)\n$/);
    expect(humanLine('not json\n')).toBe('not json\n');
    expect(humanLine('42\n')).toBe('42\n');
  });

  it('shows people every field, truncated', () => {
    const fields = {
      reason: 'too late',
      notStoredIds: ['a', 'b'],
      count: 2,
      tenantId: 'acme',
      err: { message: 'no route' },
    };
    const json = logged((logger) =>
      logger.warn({ ...fields, ids: Array.from({ length: 200 }, () => 'id') }, 'differs'),
    );
    const line = humanLine(json).slice(9);
    const expected =
      'WARN differs (no route) reason="too late" notStoredIds=["a","b"] count=2 tenantId=acme ids=["id",';
    expect(line).toContain(expected);
    expect(line).toMatch(/\.\.\.\n$/);
    expect(line.length).toBeLessThan(500);
  });
});
