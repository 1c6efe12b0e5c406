import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { foldedName, globMatches, mixesScripts } from './names.ts';

describe('a name as rules compare it', () => {
  it.each([
    ['pay '],
    [' pay'],
    ['PAY'],
    ['pay\u200b'],
    ['p\u00ada\u2060y'],
    ['\ufeffpay\ufe0f'],
    ['pa\u202ey'],
    ['ｐａｙ'],
    ['𝐩𝐚𝐲'],
    ['pay\u00a0'],
    ['p\u115fay\u3164'],
    ['pa\u{e0061}y'],
    ['pay\u0000\n'],
  ])('is pay for %j', (name) => {
    expect(foldedName(name)).toBe('pay');
  });

  it('is the same for composed and decomposed accents and for any space', () => {
    expect(foldedName('cafe\u0301')).toBe(foldedName('caf\u00e9'));
    expect(foldedName('send\u2003 mail')).toBe('send mail');
  });

  it('differs for letters that only look the same', () => {
    expect(foldedName('p\u0430y')).not.toBe('pay');
  });
});

describe('a name of mixed scripts', () => {
  it.each(['p\u0430y', '\u0440ay', 'pa\u03bd', 'оplata_v', '𝐩\u0430𝐲', 'ра\u0443x'])('is %j', (name) => {
    expect(mixesScripts(name)).toBe(true);
  });

  it.each([
    'pay',
    'pay_2',
    'оплата',
    'πληρωμή',
    'search_日本',
    '検索Ａ',
    '검색api',
    'תשלום',
    'จ่าย',
    'überweisung',
    '💸pay',
    '',
  ])('is not %j', (name) => {
    expect(mixesScripts(name)).toBe(false);
  });
});

/** Reference implementation of a glob, exponential in the worst case. */
function naive(glob: string, text: string): boolean {
  if (glob === '') return text === '';
  if (glob[0] === '*') return naive(glob.slice(1), text) || (text !== '' && naive(glob, text.slice(1)));
  return text !== '' && glob[0] === text[0] && naive(glob.slice(1), text.slice(1));
}

describe('globMatches', () => {
  it('equals the reference implementation', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 12 });
    const glob = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 8 });
    fc.assert(fc.property(glob, letters, (g, text) => globMatches(g, text) === naive(g, text)));
  });

  it('matches whole names, ignores case, and has no other special character', () => {
    expect(globMatches('Deploy_*', 'deploy_prod')).toBe(true);
    expect(globMatches('deploy', 'redeploy')).toBe(false);
    expect(globMatches('a?c', 'abc')).toBe(false);
    expect(globMatches('a.c', 'abc')).toBe(false);
  });
});
