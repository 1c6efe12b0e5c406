import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { redactDeep } from './redact-deep.ts';
import { redactJson } from './redact-json.ts';

describe('redacting JSON text', () => {
  it('keeps the digits of numbers beyond double precision', () => {
    const text = '{"amount":9007199254740993,"rate":1.10,"big":1e400,"list":[-0.30,12345678901234567890]}';
    expect(redactJson(text)).toBe(text);
  });

  it('redacts detector matches and values under secret names, including numbers', () => {
    const text = '{"to":"ann@example.com","password":90071992547409931,"card":4111111111111111}';
    expect(redactJson(text)).toBe('{"to":"[email]","password":"[secret]","card":"[credit_card]"}');
  });

  it('never turns a string into a number', () => {
    const text = String.raw`{"a":"\ue0005","b":"5","c":"\"7"}`;
    expect(JSON.parse(redactJson(text))).toEqual(JSON.parse(text));
  });

  it('equals redaction of the value if no digits are lost', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(JSON.parse(redactJson(text))).toEqual(JSON.parse(JSON.stringify(redactDeep(JSON.parse(text)))));
      }),
    );
  });
});
