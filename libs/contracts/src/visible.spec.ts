import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { visible, visibleJson, visibleName } from './visible.ts';

/** Letters of other scripts that most fonts draw like a Latin one. */
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  ...{ а: 'a', с: 'c', е: 'e', о: 'o', р: 'p', х: 'x', у: 'y', і: 'i', ѕ: 's', ј: 'j', ԁ: 'd', һ: 'h' },
  ...{ α: 'a', ο: 'o', ρ: 'p', ν: 'v', ι: 'i', Α: 'A', Β: 'B', Ε: 'E', օ: 'o', ս: 'u', ɑ: 'a', ɡ: 'g', ⲟ: 'o', ꓳ: 'O' },
};

/** Returns what a reader perceives of a name: a simplified skeleton of Unicode Technical Standard 39. */
function looksLike(name: string): string {
  const seen = name
    .normalize('NFKC')
    .replace(/[\p{Default_Ignorable_Code_Point}\p{C}\p{M}\u2800]/gu, '')
    .replace(/\s+/g, ' ')
    .trim();
  const drawn = Array.from(seen, (letter) => LOOK_ALIKES[letter] ?? letter);
  // Next to right-to-left letters, digits and marks are reordered.
  return drawn.some((letter) => /[\p{Script=Hebrew}\p{Script=Arabic}]/u.test(letter)) &&
    drawn.some((letter) => /[^\p{Script=Hebrew}\p{Script=Arabic}]/u.test(letter))
    ? drawn.toSorted().join('')
    : drawn.join('');
}

const letters = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...Array.from('payl0 \\u{}202e‹›Cyrilc_.-')) },
  { weight: 4, arbitrary: fc.constantFrom(...Object.keys(LOOK_ALIKES)) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '\u202e',
      '\u2066',
      '\u200b',
      '\u200d',
      '\ufe0f',
      '\u00ad',
      '\u3164',
      '\u{e0041}',
      '\u0085',
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      'e\u0301',
      'é',
      '\u00a0',
      '\u2003',
      'ａ',
      'ﬁ',
      'K',
      'ſ',
      'א',
      '1',
      'ع',
      '\ud800',
      '\u2800',
    ),
  },
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
);
const names = fc.array(letters, { maxLength: 6 }).map((parts) => parts.join(''));

describe('a name as displayed', () => {
  it('distinguishes any two different names', () => {
    fc.assert(
      fc.property(names, names, (one, other) => {
        fc.pre(one !== other);
        expect(looksLike(visibleName(one))).not.toBe(looksLike(visibleName(other)));
      }),
      { numRuns: 5_000 },
    );
  });

  it('distinguishes a name from its look-alikes', () => {
    fc.assert(
      fc.property(names, (name) => {
        for (const twin of [looksLike(name), name.normalize('NFC'), name.normalize('NFD'), visibleName(name)])
          if (twin !== name) expect(looksLike(visibleName(twin))).not.toBe(looksLike(visibleName(name)));
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    ['files.write_file', 'files.write_file'],
    ['pay\u202eyap', 'pay\\u202eyap'],
    ['pay\u200b', 'pay\\u200b'],
    ['pаy', 'p\\u0430y'],
    ['рау', 'рау ‹Cyrillic›'],
    ['größe', 'größe'],
    ['检索', '检索'],
    ['חיפוש', 'חיפוש'],
    ['a\\u202eb', 'a\\u005cu202eb'],
    ['a  b ', 'a\\u0020 b\\u0020'],
  ])('shows %j as %j', (name, shown) => {
    expect(visibleName(name)).toBe(shown);
  });
});

describe('text as displayed', () => {
  it('escapes invisible characters and keeps lines, joiners and emoji', () => {
    expect(visible('pay \u202e001\u200b\u0000\u{e0041}\u0085')).toBe('pay \\u202e001\\u200b\\u0000\\u{e0041}\\u0085');
    expect(visible('a\n\tb 👩‍💻 ❤️ می‌خواهم')).toBe('a\n\tb 👩‍💻 ❤️ می‌خواهم');
  });

  it('contains nothing that moves the cursor or reverses text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(visible(text)).not.toMatch(/[[\p{Cc}\p{Bidi_Control}]--[\n\t]]/v);
      }),
    );
  });
});

describe('JSON for a terminal', () => {
  it('is the same value without raw control and direction characters', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        const shown = visibleJson(JSON.stringify(value));
        expect(JSON.parse(shown)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(shown).not.toMatch(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u);
      }),
    );
  });
});
