import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { NOW, type OperatorApi, startOperatorApi } from './operator-api.ts';
import { anEventRow } from './rows.ts';

let api: OperatorApi;

const hoursAgo = (n: number) => new Date(Date.parse(NOW) - n * 3_600_000).toISOString();
const event = (id: string, ago: number, payload: object, fields = {}) =>
  api.insert('events', anEventRow({ event_id: id, occurred_at: hoursAgo(ago), payload, ...fields }));

beforeAll(async () => {
  api = await startOperatorApi();
  await event('prompt', 1, { messages: [{ role: 'user', content: 'Where is my Order?' }] });
  await event('result', 2, { result: 'the order was shipped', quoted: 'say "hello\\world"' });
  await event('percent', 3, { text: '100% sure' });
  await event('old', 24 * 6, { text: 'an order of last week' });
  await event('older', 24 * 9, { text: 'an order before that' });
  await event('foreign', 1, { text: 'order' }, { tenant_id: 'globex' });
});
afterAll(() => api.close());

const search = async (query: string) => (await api.get(`/api/search/text?${query}`)).body;
const found = async (query: string) =>
  (await search(query)).hits.map(({ eventId }: { readonly eventId: string }) => eventId);

describe('search by text', () => {
  it('finds prompts and results of the last seven days in any case, newest first, of one tenant', async () => {
    expect(await found('text=order')).toEqual(['prompt', 'result', 'old']);
    expect(await search('text=order')).toMatchObject({ complete: true });
  });

  it('takes a range, and special characters as they are', async () => {
    expect(await found(`text=order&from=${hoursAgo(24 * 10)}&to=${hoursAgo(24 * 8)}`)).toEqual(['older']);
    expect(await found('text=100%25')).toEqual(['percent']);
    expect(await found('text=1_0')).toEqual([]);
    expect(await found(`text=${encodeURIComponent('"hello\\world"')}`)).toEqual(['result']);
  });

  it('shows the text around the match', async () => {
    const { hits } = await search('text=shipped');
    expect(hits[0].excerpt).toContain('the order was shipped');
    expect(hits[0]).toMatchObject({ runId: expect.any(String), kind: expect.any(String), isError: false });
  });

  it('continues where a limit stopped it', async () => {
    const first = await search('text=order&limit=1');
    expect(first).toMatchObject({ complete: false, hits: [{ eventId: 'prompt' }] });
    const before = new Date(Date.parse(first.searchedFrom) - 1).toISOString();
    expect(await found(`text=order&from=${hoursAgo(24 * 7)}&to=${before}`)).toEqual(['result', 'old']);
  });

  it('answers with what it has read if a part of the range is not readable in time', async () => {
    const owner = new pg.Client({ connectionString: api.databaseUrl });
    await owner.connect();
    try {
      await owner.query("select ensure_partition('events', '2026-02-23Z', '2026-02-24Z')");
      // Postgres waits for the lock, as it would for a slow disk.
      await owner.query('begin; lock table events_20260223 in access exclusive mode');
      const answer = await search('text=order');
      expect(answer).toMatchObject({ complete: false, hits: [{ eventId: 'prompt' }, { eventId: 'result' }] });
      expect(answer.searchedFrom >= '2026-02-24' && answer.searchedFrom < '2026-03-01').toBe(true);
    } finally {
      await owner.end();
    }
    expect(await found('text=order')).toEqual(['prompt', 'result', 'old']);
  });

  it('finds a word in letters of any script', async () => {
    await event('umlaut', 1, { text: 'Prüfung der STRASSE' });
    expect(await found('text=Prüfung')).toEqual(['umlaut']);
    expect(await found('text=strasse')).toEqual(['umlaut']);
    expect(await found('text=PRÜFUNG')).toEqual(['umlaut']);
    await event('han', 1, { text: '请查明订单' });
    expect(await found(`text=${encodeURIComponent('订单')}`)).toEqual(['han']);
  });

  it('finds accents in any composition', async () => {
    await event('composed', 1, { text: 'Caf\u00e9 Zo\u00eb' });
    await event('decomposed', 2, { text: 'Cafe\u0301 Zoe\u0308' });
    for (const text of ['caf\u00e9 zo', 'cafe\u0301 zo', 'CAF\u00c9 ZO'])
      expect(await found(`text=${encodeURIComponent(text)}`)).toEqual(['composed', 'decomposed']);
  });

  it('finds what texts inside JSON texts say, at any depth and with any escapes', async () => {
    const ascii = (value: unknown) =>
      JSON.stringify(value).replace(/[\u0080-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
    const said = { note: 'first line\nhe said "naïve \u{1f600}" twice' };
    await event('inner', 1, { result: JSON.stringify(said) });
    await event('python', 2, { result: ascii(said) });
    await event('nested', 3, { result: JSON.stringify({ body: ascii(said) }) });
    for (const text of ['line\nhe said', 'said "naïve', 'NAÏVE \u{1f600}" twice']) {
      const { hits } = await search(`text=${encodeURIComponent(text)}`);
      expect(hits.map(({ eventId }: { readonly eventId: string }) => eventId)).toEqual(['inner', 'python', 'nested']);
      for (const { excerpt } of hits) expect(excerpt).toContain('he said "naïve \u{1f600}" twice');
    }
  });

  it.each(['a.c', 'f(x)', '[ab]+', 'C:\\temp', '50 % {x}', "it's", 'née|là', 'a*é?'])(
    'takes %j as it is, and nothing that only resembles it',
    async (text) => {
      await event(`exact ${text}`, 1, { text: `see ${text} there`, inner: JSON.stringify({ text }) });
      await event(`other ${text}`, 1, { text: text.replace(/./gu, '$&x') });
      expect(await found(`text=${encodeURIComponent(text)}`)).toEqual([`exact ${text}`]);
    },
  );

  it('rejects a text that is too short', async () => {
    expect((await api.get('/api/search/text?text=ab')).status).toBe(400);
    expect((await api.get(`/api/search/text?text=${encodeURIComponent('单')}`)).status).toBe(400);
  });
});
