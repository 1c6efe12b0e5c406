import { describe, expect, it } from '@jest/globals';
import { cleanText } from './alerts.repository.ts';

describe('cleanText', () => {
  it.each([
    ['plain', 'plain'],
    ['a\u0000b\u001bc', 'a b c'],
    ['two\nlines\tand a tab', 'two\nlines\tand a tab'],
    ['half \ud800 character', 'half \ufffd character'],
    ['  around  ', 'around'],
  ])('of %j is %j', (text, clean) => expect(cleanText(text, 100)).toBe(clean));

  it('truncates without leaving half a character', () => expect(cleanText('abc😀', 4)).toBe('abc\ufffd'));
});
