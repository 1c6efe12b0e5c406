import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { candidatesOf, fingerprintsOf } from './fingerprints.ts';

const RESULT = {
  customers: [{ name: 'Ann Margaret Smith', email: 'ann.m.smith@example.com', id: 'C-104277', vip: true, age: 42 }],
  note: 'Call back on +44 20 7946 0991 about the unpaid invoice from last November, she is expecting it.',
};

/** The strongest grade of the evidence, and the field. */
function evidence(args: unknown, result: unknown = RESULT, salt = 's') {
  const { prints } = fingerprintsOf(result, salt);
  const candidates = candidatesOf(args, salt);
  const found = candidates.prints.flatMap((print) => {
    const place = prints.get(print);
    return place === undefined
      ? []
      : [{ field: place.field, grade: candidates.isWhole(print, place) ? 'proven' : 'carried' }];
  });
  return found.find(({ grade }) => grade === 'proven') ?? found[0];
}

const email = RESULT.customers[0]?.email ?? '';
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('fingerprints', () => {
  it.each<[string, unknown, string]>([
    ['exact', { to: email }, 'customers.0.email'],
    ['inside a text', { body: `Please write to ${email} today` }, 'customers.0.email'],
    ['normalised', { to: ' ANN.M.SMITH (at) example.com'.replace(' (at) ', '@') }, 'customers.0.email'],
    ['without punctuation', { to: 'annmsmithexamplecom' }, 'customers.0.email'],
    ['in base64', { data: base64(email) }, 'customers.0.email'],
    [
      'in base64 inside a URL',
      { url: `https://x.test/?d=${Buffer.from(email).toString('base64url')}` },
      'customers.0.email',
    ],
    [
      'URL-encoded',
      { url: `https://x.test/?to=${encodeURIComponent(email).replace('.', '%2E')}` },
      'customers.0.email',
    ],
    ['split in two', { user: email.slice(0, 9), host: email.slice(9) }, 'customers.0.email'],
    ['in a JSON text', { body: JSON.stringify({ to: email }) }, 'customers.0.email'],
    ['a short id', { query: 'orders of c104277' }, 'customers.0.id'],
    ['a short id in a URL', { url: 'https://x.test/orders/C-104277?full=1' }, 'customers.0.id'],
    ['a name', { subject: `About Ann Margaret Smith` }, 'customers.0.name'],
    ['as the name of a member', { to: { [email]: true } }, 'customers.0.email'],
    ['as the name of a member in a JSON text', { body: JSON.stringify({ [email]: 1 }) }, 'customers.0.email'],
    ['without punctuation as a name', { annmsmithexamplecom: 1 }, 'customers.0.email'],
    ['in base64 in a path', { url: `https://x.test/v1/log/${base64(email)}/done` }, 'customers.0.email'],
    ['in base64 after _', { id: `doc_${Buffer.from(email).toString('base64url')}` }, 'customers.0.email'],
    ['in base64 after -', { id: `a-b-${Buffer.from(email).toString('base64url')}` }, 'customers.0.email'],
    [
      'in base64 beside a byte that is no text',
      { data: Buffer.concat([Buffer.from([0xff]), Buffer.from(email)]).toString('base64') },
      'customers.0.email',
    ],
    ['URL-encoded beside a stray %', { url: `x?off=100%&to=${encodeURIComponent(email)}` }, 'customers.0.email'],
  ])('prove a value: %s', (_, args, field) => {
    expect(evidence(args)).toEqual({ field, grade: 'proven' });
  });

  it.each<[string, unknown, string]>([
    ['a part of a text', { body: 'The unpaid invoice from last November is due' }, 'note'],
    ['half of an address', { body: 'smith@example.com' }, 'customers.0.email'],
    ['a part in base64', { data: base64('about the unpaid invoice from last') }, 'note'],
  ])('find %s', (_, args, field) => {
    expect(evidence(args)).toEqual({ field, grade: 'carried' });
  });

  it('find the names of members of a result that is keyed by its data, and store none of them', () => {
    const result = { [email]: { orders: 3 }, 'C-104277': { vip: true } };
    expect(evidence({ to: email }, result)).toEqual({ field: '*', grade: 'proven' });
    expect(evidence({ id: 'C-104277' }, result)).toEqual({ field: '*', grade: 'proven' });
    const stored = JSON.stringify([...fingerprintsOf(result, 's').prints]);
    for (const part of ['smith', '104277']) expect(stored).not.toContain(part);
  });

  it.each<[string, unknown]>([
    ['names that only say what a value is', { shipping_address_line: 'x', customers: 1, description_of_order: 2 }],
    ['other data', { to: 'bob@example.org', body: 'The meeting is at noon' }],
    ['short and common values', { age: 42, vip: true, name: 'Ann' }],
    ['no arguments', undefined],
  ])('do not find %s', (_, args) => {
    expect(evidence(args)).toBeUndefined();
  });

  it('contain no part of the value, and are of no use with another salt', () => {
    const { prints } = fingerprintsOf(RESULT, 'one');
    const stored = JSON.stringify([...prints]);
    for (const part of ['smith', 'ann', 'invoice', '104277', '7946']) expect(stored.toLowerCase()).not.toContain(part);
    const { prints: others } = candidatesOf(RESULT, 'other');
    expect(others.filter((print) => prints.has(print))).toEqual([]);
  });

  it('are bounded, and say so', () => {
    const large = { text: Array.from({ length: 30_000 }, (_, n) => String(n * 7_919)).join(' ') };
    const source = fingerprintsOf(large, 's');
    expect([source.isComplete, source.prints.size <= 4_000]).toEqual([false, true]);
    const sink = candidatesOf(large, 's');
    expect([sink.isComplete, sink.prints.length <= 4_000]).toEqual([false, true]);
    expect(fingerprintsOf(RESULT, 's').isComplete).toBe(true);
  });

  it('prove any value of 13 characters or more wherever it appears', () => {
    const value = fc.stringMatching(/^[a-z0-9]{13,60}$/);
    const around = fc.string({ maxLength: 600 });
    const encoded = fc.constantFrom(
      (text: string) => text,
      (text: string) => text.toUpperCase(),
      (text: string) => base64(text),
    );
    fc.assert(
      fc.property(value, around, around, encoded, (secret, before, after, encode) => {
        const args = { text: `${before} ${encode(secret)} ${after}` };
        expect(evidence(args, { secret })).toEqual({ field: 'secret', grade: 'proven' });
      }),
      { numRuns: 300 },
    );
  });
});
