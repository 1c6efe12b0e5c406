import { describe, expect, it } from '@jest/globals';
import { answerTo } from '../../decisions/call.testing.ts';

const args = { to: 'ada@corp.example', note: { text: ['pay 4111 1111 1111 1111', 'see ftp://files.example/x'] } };
const ask = (config: object, request: object = { args }) => answerTo('sensitive_data', config, request);

describe('sensitive_data', () => {
  it('searches everything below a path', () => {
    expect(ask({ detectors: [{ detector: 'credit_card' }] })).toBe(true);
    expect(ask({ path: 'to', detectors: [{ detector: 'credit_card' }] })).toBe(false);
    expect(ask({ path: 'nowhere', detectors: [{ detector: 'credit_card' }] })).toBe('missing');
  });

  it('searches for any or all detectors', () => {
    const detectors = [{ detector: 'credit_card' }, { detector: 'iban' }];
    expect(ask({ operator: 'anyOf', detectors })).toBe(true);
    expect(ask({ operator: 'allOf', detectors })).toBe(false);
  });

  it.each([
    [{ detector: 'email', check: 'domain', operator: 'eq', value: 'Corp.example' }, true],
    [{ detector: 'email', check: 'domain', operator: 'neq', value: 'corp.example' }, false],
    [{ detector: 'email', check: 'domain', operator: 'endsWith', value: '.example' }, true],
    [{ detector: 'email', check: 'tld', operator: 'in', value: ['com', 'example'] }, true],
    [{ detector: 'url', check: 'scheme', operator: 'neq', value: 'https' }, true],
    [{ detector: 'url', check: 'domain', operator: 'eq', value: 'files.example' }, true],
  ])('compares parts of a match: %j is %s', (detection, answer) =>
    expect(ask({ detectors: [detection] })).toBe(answer),
  );

  it('searches results after a call', () => {
    const after = { phase: 'tool.after', args: {}, result: 'ok, a@b.example' };
    expect(ask({ in: 'result', detectors: [{ detector: 'email' }] }, after)).toBe(true);
    expect(ask({ in: 'result', detectors: [{ detector: 'email' }] })).toBe('missing');
  });

  it.each([
    [{ detector: 'phone', check: 'tld', operator: 'eq', value: 'x' }, 'has no tld'],
    [{ detector: 'email', check: 'domain' }, 'goes together'],
    [{ detector: 'email', check: 'domain', operator: 'in', value: 'x' }, 'must be a list'],
  ])('rejects %j: %s', (detection, message) => expect(() => ask({ detectors: [detection] })).toThrow(message));
});
