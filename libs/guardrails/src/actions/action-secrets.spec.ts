import { describe, expect, it } from '@jest/globals';
import { mapActionSecrets, maskSecret } from './index.ts';

describe('mapActionSecrets', () => {
  it('changes only the secrets of the type, including each value of a map', () => {
    const config = { url: 'https://a.b', secret: 's', headers: { one: '1', two: '2' } };
    expect(mapActionSecrets('notify_webhook', config, (text, path) => `${path}=${text}`)).toEqual({
      url: 'https://a.b',
      secret: 'secret=s',
      headers: { one: 'headers.one=1', two: 'headers.two=2' },
    });
  });

  it('treats every text of an unknown type as a secret', () => {
    expect(mapActionSecrets('gone', { a: 'b', n: 1 }, () => '!')).toEqual({ a: '!', n: 1 });
  });
});

describe('maskSecret', () => {
  it.each([
    ['abcdefghijkl', '***ijkl'],
    ['short', '***'],
    ['***ijkl', '***ijkl'],
  ])('shows %s as %s', (plain, shown) => expect(maskSecret(plain)).toBe(shown));
});
