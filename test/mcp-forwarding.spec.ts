// What the MCP proxy forwards was decided: here without the frameworks, so that `npm test` holds it.
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { block, TestPlatform } from '@agentlens/sdk/testing';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { proxyStreams } from '../integrations/js/mcp-proxy/src/proxy-stdio.ts';
import { served } from './mcp-http-world.ts';

const EVIL = 'evil';
const call = (id: unknown, params: unknown) => ({ jsonrpc: '2.0', id, method: 'tools/call', params });
const evilCall = JSON.stringify(call(99, { name: 'run', arguments: { path: EVIL } }));

async function aPlatform() {
  const platform = new TestPlatform();
  platform.rule({ when: ({ args }) => JSON.stringify(args).includes(EVIL), answer: block('evil') });
  return { platform, lens: await platform.client({ failMode: 'closed', logger: { warn: () => undefined } }) };
}

/** What reaches the server and the client when the client writes these chunks. */
async function proxied(chunks: readonly (string | Buffer)[], answers: readonly string[] = []) {
  const { platform, lens } = await aPlatform();
  const [input, output, toServer, fromServer] = [
    new PassThrough(),
    new PassThrough(),
    new PassThrough(),
    new PassThrough(),
  ];
  const reached = text(toServer);
  const told = text(output);
  const done = proxyStreams(
    lens,
    { server: 's', waitForApproval: false },
    { client: { input, output }, server: { input: toServer, output: fromServer } },
  );
  for (const answer of answers) fromServer.write(`${answer}\n`);
  for (const chunk of chunks) input.write(chunk);
  if (answers.length > 0) {
    fromServer.end();
    await done;
  }
  input.end();
  if (!toServer.writableFinished) await once(toServer, 'finish');
  fromServer.end();
  await done;
  output.end();
  await lens.shutdown();
  return { reached: await reached, told: await told, platform };
}

/** As readers split a stream that take every kind of line end for one. */
function asEveryReaderSees(stream: string): readonly Record<string, unknown>[] {
  const lines = stream.split(/\r\n|[\n\r\u0085\u2028\u2029]/).filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

const isDecided = ({ method }: Record<string, unknown>) =>
  typeof method === 'string' && !['initialize', 'ping', 'tools/list'].includes(method);

/** A call as its name and arguments, for forwarded messages and for questions alike. */
function calledBy({ method, params }: Record<string, unknown>): string {
  const { _meta, ...args } = (params ?? {}) as Record<string, unknown>;
  if (method === 'tools/call') return JSON.stringify([`s.${String(args.name)}`, args.arguments ?? {}]);
  return JSON.stringify([`s.${String(method).replaceAll('/', '.')}`, args]);
}

function allowed(platform: TestPlatform): readonly string[] {
  return platform.questions
    .filter(({ phase, args }) => phase === 'tool.before' && !JSON.stringify(args).includes(EVIL))
    .map(({ tool, args }) => JSON.stringify([tool?.name, args]));
}

const strings = fc.oneof(
  fc.string({ maxLength: 6 }),
  fc.constantFrom(EVIL, `\u2028${evilCall}\u2028`, `\u0085${evilCall}`, '\r', 'ſ', '__proto__'),
);
const values = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    strings,
    fc.double(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(strings, tie('value'), { maxKeys: 3 }),
  ),
})).value;
const methods = fc.constantFrom(
  ...['tools/call', 'tools/call', 'tools/call', 'resources/read', 'prompts/get', 'completion/complete', 'x/y', ''],
  ...['ping', 'initialize', 'tools/list', 'notifications/initialized', 'Tools/call', 'tools/call\u0000'],
);
const messages = fc.record(
  {
    jsonrpc: fc.constantFrom('2.0', '2.0', '2.0', '1.0', null),
    id: fc.oneof({ weight: 5, arbitrary: fc.nat(30) }, strings, fc.constantFrom(null, 1.5, {})),
    method: methods,
    params: fc.oneof(
      { weight: 4, arbitrary: fc.record({ name: strings, arguments: fc.dictionary(strings, values) }) },
      fc.record({ uri: strings, _meta: fc.constant({ progressToken: 1 }) }),
      values,
    ),
    result: values,
    Method: methods,
  },
  { requiredKeys: ['jsonrpc'] },
);
const validMessages = fc.record({
  jsonrpc: fc.constant('2.0'),
  id: fc.nat(30),
  method: methods,
  params: fc.record({ name: strings, arguments: fc.dictionary(strings, values, { maxKeys: 3 }) }),
});
/** A message as text, then broken as attackers and strange clients break it. */
const written = fc
  .tuple(
    fc.oneof(
      { weight: 8, arbitrary: validMessages },
      { weight: 4, arbitrary: messages },
      fc.array(messages, { maxLength: 3 }),
      values,
    ),
    fc.constantFrom(
      (line: string) => line,
      (line: string) => line,
      (line: string) => line.replace(/\d+/, 'NaN'),
      (line: string) => line.replace(/\d+/, '-Infinity'),
      (line: string) => line.replace(/\d+/, '1e999'),
      (line: string) => line.replace(/\d+/, '12345678901234567890'),
      (line: string) => line.replace('{', `{"method":"tools/call",`),
      (line: string) => line.replace('"params":{', '"params":{"NAME":"run",'),
      (line: string) => `${line}\r${evilCall}`,
      (line: string) => `${line}${evilCall}`,
      (line: string) => `\ufeff${line}`,
      (line: string) => line.slice(0, -1),
      (line: string) => line.replaceAll(':', ' :\r\t'),
    ),
    fc.constantFrom('\n', '\r\n', '\n\n', '\r', ''),
  )
  .map(([value, broken, end]) => `${broken(JSON.stringify(value))}${end}`);

describe('the MCP proxy over stdio', () => {
  it('forwards only what was decided, for all bytes a client can write', async () => {
    const bytes = fc.uint8Array({ maxLength: 4 }).map((array) => Buffer.from(array));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof({ weight: 8, arbitrary: written }, bytes), { maxLength: 8 }),
        fc.infiniteStream(fc.integer({ min: 1, max: 200 })),
        async (pieces, sizes) => {
          const stream = Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
          const chunks: Buffer[] = [];
          for (let at = 0; at < stream.length; ) {
            const size = sizes.next().value ?? 1;
            chunks.push(stream.subarray(at, at + size));
            at += size;
          }
          const { reached, platform } = await proxied(chunks);
          const seen = asEveryReaderSees(reached);
          expect(
            seen
              .filter(isDecided)
              .filter(({ id }) => id !== undefined)
              .map(calledBy)
              .sort(),
          ).toEqual([...allowed(platform)].sort());
          for (const message of seen) {
            expect(message.jsonrpc).toBe('2.0');
            if (message.id === undefined) expect(message.method).toMatch(/^notifications\//);
            expect(Object.keys(message)).not.toContain('Method');
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it.each([
    ['NaN', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run","arguments":{"n":NaN}}}'],
    ['-Infinity', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run","arguments":{"n":-Infinity}}}'],
    [
      'an infinite number',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run","arguments":{"n":1e999}}}',
    ],
    ['two messages between \\r', `{"jsonrpc":"2.0","id":1,"method":"ping"}\r${evilCall}`],
    ['an id of null', JSON.stringify(call(null, { name: 'run' }))],
    ['no id', JSON.stringify(call(undefined, { name: 'run' }))],
    [
      'a key that is there twice',
      '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"run"}}',
    ],
    ['a key in other case', '{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call","params":{"name":"run"}}'],
    ['a parameter in other case', JSON.stringify(call(1, { name: 'run', argumentſ: { path: EVIL } }))],
    [
      'an integer that would lose digits',
      JSON.stringify(call(1, { name: 'run' })).replace('"run"', '"run","arguments":{"n":9007199254740993}'),
    ],
    [
      'deep nesting',
      JSON.stringify(call(1, { name: 'run' })).replace(
        '"run"',
        `"run","arguments":{"n":${'['.repeat(200)}${']'.repeat(200)}}`,
      ),
    ],
    ['arguments as text', JSON.stringify(call(1, { name: 'run', arguments: '{}' }))],
  ])('refuses %s with a JSON-RPC error and forwards nothing', async (_, line) => {
    const { reached, told, platform } = await proxied([`${line}\n`]);
    expect(reached).toBe('');
    expect(JSON.parse(told)).toMatchObject({ error: { message: expect.stringContaining('did not forward') } });
    expect(platform.questions).toEqual([]);
  });

  it.each(['resources/read', 'resources/subscribe', 'prompts/get', 'completion/complete', 'vendor/method'])(
    'decides %s as a call, and refuses it with a JSON-RPC error',
    async (method) => {
      const ask = (id: number, uri: string) => JSON.stringify({ jsonrpc: '2.0', id, method, params: { uri } });
      const { reached, told, platform } = await proxied([`${ask(1, 'file:///a')}\n${ask(2, EVIL)}\n`]);
      expect(asEveryReaderSees(reached)).toEqual([JSON.parse(ask(1, 'file:///a'))]);
      expect(JSON.parse(told)).toMatchObject({ id: 2, error: { message: expect.stringContaining('evil') } });
      expect(platform.questions.map(({ tool }) => tool?.name)).toContain(`s.${method.replaceAll('/', '.')}`);
    },
  );

  it.each(['sampling/createMessage', 'elicitation/create'])('decides %s of the server', async (method) => {
    const ask = (id: number, said: string) => JSON.stringify({ jsonrpc: '2.0', id, method, params: { said } });
    const { reached, told } = await proxied([], [ask(1, 'hello'), ask(2, EVIL)]);
    expect(asEveryReaderSees(told)).toEqual([JSON.parse(ask(1, 'hello'))]);
    expect(asEveryReaderSees(reached)).toMatchObject([{ id: 2, error: { message: expect.stringContaining('evil') } }]);
  });

  it('refuses a request under the id of one that has no answer yet', async () => {
    const ask = (method: string) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: {} });
    const { reached, told } = await proxied([`${ask('tools/list')}\n${ask('ping')}\n`]);
    expect(asEveryReaderSees(reached)).toHaveLength(1);
    expect(told).toContain('the id 1 is of a request without an answer');
  });

  it('drops answers to what the client did not ask, and lines of a server that are no messages', async () => {
    const answer = JSON.stringify({ jsonrpc: '2.0', id: 7, result: {} });
    const { told } = await proxied([], [answer, 'Listening on stdio', '{"jsonrpc":"2.0","method":"notifications/x"}']);
    expect(asEveryReaderSees(told)).toEqual([{ jsonrpc: '2.0', method: 'notifications/x' }]);
  });
});

describe('the MCP proxy over HTTP', () => {
  const headers = { 'content-type': 'application/json' };
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';

  it.each([
    ['id null', 'POST', JSON.stringify(call(null, { name: 'run', arguments: { path: EVIL } })), 400],
    ['no id', 'POST', JSON.stringify(call(undefined, { name: 'run', arguments: { path: EVIL } })), 400],
    ['NaN', 'POST', evilCall.replace(`"${EVIL}"`, 'NaN'), 400],
    ['a batch', 'POST', `[${ping},${evilCall}]`, 400],
    ['nothing', 'POST', '', 400],
    ['another method', 'PUT', evilCall, 405],
    ['PATCH', 'PATCH', evilCall, 405],
  ])('refuses %s', async (_, method, body, status) => {
    const { platform, lens } = await aPlatform();
    await using world = await served(lens);
    const answer = await fetch(world.url, { method, headers, body });
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ error: { code: expect.any(Number) } });
    expect(world.received).toEqual([]);
    expect(platform.questions).toEqual([]);
  });

  it('forwards no body of a request that has none', async () => {
    const { lens } = await aPlatform();
    await using world = await served(lens);
    await world.send('DELETE', { 'content-length': String(evilCall.length) }, [evilCall]);
    expect(world.received).toEqual([{ method: 'DELETE', body: '' }]);
  });

  it('refuses a chunked body that never ends', async () => {
    const { lens } = await aPlatform();
    await using world = await served(lens);
    const megabyte = 'x'.repeat(1024 * 1024);
    const status = await world.send(
      'POST',
      headers,
      Array.from({ length: 20 }, () => megabyte),
    );
    expect(status).toBe(413);
    expect(world.received).toEqual([]);
  });

  it('writes the body itself, as UTF-8 JSON, regardless of the headers', async () => {
    const { lens } = await aPlatform();
    await using world = await served(lens);
    const odd = { 'content-type': 'application/json; charset=utf-16' };
    await fetch(world.url, { method: 'POST', headers: odd, body: `\r\n${ping}\r\n` });
    expect(world.received).toEqual([{ method: 'POST', body: ping, type: 'application/json' }]);
    const encoded = await fetch(world.url, { method: 'POST', headers: { 'content-encoding': 'deflate' }, body: ping });
    expect(encoded.status).toBe(415);
  });

  it('refuses a header that names another method than the body', async () => {
    const { lens } = await aPlatform();
    await using world = await served(lens);
    const lying = await fetch(world.url, {
      method: 'POST',
      headers: { ...headers, 'mcp-method': 'tools/call' },
      body: ping,
    });
    expect(lying.status).toBe(400);
    expect(world.received).toEqual([]);
  });
});
