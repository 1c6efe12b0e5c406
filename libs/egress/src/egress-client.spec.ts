import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createEgressClient, type EgressClient, type EgressRequest, type ResolveName } from './index.ts';

const opened: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

async function serve(listener: RequestListener): Promise<{ server: Server; port: number; requests: () => number }> {
  let count = 0;
  const server = createServer((request, response) => {
    count += 1;
    listener(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, port: (server.address() as AddressInfo).port, requests: () => count };
}

function client(allow: readonly string[], resolve?: ResolveName): EgressClient {
  const made = createEgressClient({ allow }, { resolve });
  opened.push(() => made.close());
  return made;
}

function post(url: string, more: Partial<EgressRequest> = {}): EgressRequest {
  return { method: 'POST', url, headers: { 'content-type': 'application/json' }, body: '{}', ...more };
}

const names =
  (table: Record<string, string[]>): ResolveName =>
  async (name) => {
    const found = table[name];
    if (found === undefined) throw Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
    return found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  };

describe('request to an allowed address', () => {
  it('returns status, headers and body', async () => {
    const { port } = await serve((request, response) => {
      response.writeHead(202, { 'retry-after': '7', 'x-method': request.method });
      request.pipe(response);
    });
    const answer = await client(['127.0.0.1/32']).send(post(`http://127.0.0.1:${port}/hook`, { body: '{"a":1}' }));
    expect(answer).toMatchObject({
      kind: 'answered',
      status: 202,
      headers: { 'retry-after': '7', 'x-method': 'POST' },
      body: '{"a":1}',
    });
  });

  it('reaches a name if all its addresses are allowed', async () => {
    const { port } = await serve((_request, response) => response.end('ok'));
    const egress = client(['127.0.0.1/32'], names({ 'gate.internal': ['127.0.0.1'] }));
    expect(await egress.send(post(`http://gate.internal:${port}/`))).toMatchObject({ kind: 'answered', body: 'ok' });
  });

  it('returns a redirect and does not follow it', async () => {
    const target = await serve((_request, response) => response.end());
    const { port } = await serve((_request, response) => {
      response.writeHead(307, { location: `http://127.0.0.1:${target.port}/` });
      response.end();
    });
    const answer = await client(['127.0.0.1/32']).send(post(`http://127.0.0.1:${port}/`));
    expect(answer).toMatchObject({ kind: 'answered', status: 307 });
    expect(target.requests()).toBe(0);
  });

  it('ignores proxy variables', async () => {
    const proxy = await serve((_request, response) => response.end('proxy'));
    const { port } = await serve((_request, response) => response.end('direct'));
    process.env.HTTP_PROXY = `http://127.0.0.1:${proxy.port}`;
    opened.push(() => {
      delete process.env.HTTP_PROXY;
    });
    const answer = await client(['127.0.0.1/32']).send(post(`http://127.0.0.1:${port}/`));
    expect(answer).toMatchObject({ body: 'direct' });
    expect(proxy.requests()).toBe(0);
  });

  it('truncates an endless answer at 64 KB', async () => {
    const { port } = await serve((_request, response) => {
      const chunk = Buffer.alloc(16 * 1024, 'x');
      const more = () => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', more);
      more();
    });
    const answer = await client(['127.0.0.1/32']).send(post(`http://127.0.0.1:${port}/`));
    expect(answer.kind === 'answered' && answer.body.length).toBe(64 * 1024);
  });
});

describe('misbehaving receiver', () => {
  it.each<[string, RequestListener]>([
    ['never answers', () => undefined],
    [
      'sends its body slowly',
      (_request, response) => {
        const drip = setInterval(() => response.write('x'), 20);
        response.on('close', () => clearInterval(drip));
      },
    ],
    [
      'sends its headers slowly',
      (request) => {
        request.socket.write('HTTP/1.1 200 OK\r\n');
        const drip = setInterval(() => request.socket.write('x: y\r\n'), 20);
        request.socket.on('close', () => clearInterval(drip));
      },
    ],
  ])('times out if it %s', async (_what, listener) => {
    const { port } = await serve(listener);
    const answer = await client(['127.0.0.1/32']).send(post(`http://127.0.0.1:${port}/`, { timeoutMs: 200 }));
    expect(answer).toEqual({ kind: 'unreachable', reason: 'no complete answer within 200 ms' });
  });

  it('is unreachable if it closes the connection without an answer', async () => {
    const { port } = await serve((request) => request.socket.destroy());
    const answer = await client(['127.0.0.1/32']).send(post(`http://127.0.0.1:${port}/`));
    expect(answer).toMatchObject({ kind: 'unreachable', reason: expect.stringMatching(/connection/) });
  });

  it('is unreachable if its headers are too large', async () => {
    const { port } = await serve((_request, response) => {
      response.writeHead(200, { 'x-large': 'x'.repeat(32 * 1024) });
      response.end();
    });
    const answer = await client(['127.0.0.1/32']).send(post(`http://127.0.0.1:${port}/`));
    expect(answer).toMatchObject({ kind: 'unreachable', reason: expect.stringMatching(/headers/) });
  });

  it('is unreachable if nothing listens or the name does not exist', async () => {
    const { port, server } = await serve((_request, response) => response.end());
    await new Promise((resolve) => server.close(resolve));
    const egress = client(['127.0.0.1/32'], names({}));
    expect(await egress.send(post(`http://127.0.0.1:${port}/`))).toEqual({
      kind: 'unreachable',
      reason: 'connection refused',
    });
    expect(await egress.send(post('https://nowhere.example/'))).toEqual({
      kind: 'unreachable',
      reason: 'the host name does not exist',
    });
  });

  it('gets a limited number of connections', async () => {
    let open = 0;
    let most = 0;
    const { port, server } = await serve((_request, response) => setImmediate(() => response.end()));
    server.on('connection', (socket) => {
      open += 1;
      most = Math.max(most, open);
      socket.on('close', () => {
        open -= 1;
      });
    });
    const egress = client(['127.0.0.1/32']);
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => egress.send(post(`http://127.0.0.1:${port}/`))),
    );
    expect(answers.every((answer) => answer.kind === 'answered')).toBe(true);
    expect(most).toBeLessThanOrEqual(64);
  });
});

describe('check when connecting', () => {
  const table = {
    'rebound.example': ['127.0.0.1'],
    'six.example': ['::1'],
    'mapped.example': ['::ffff:127.0.0.1'],
    'metadata.example': ['169.254.169.254'],
    'mixed.example': ['93.184.215.14', '10.0.0.1'],
    'mixed-six.example': ['2606:2800:21f:cb07:6820:80da:af6b:8b2c', 'fd00::1'],
    'empty.example': [],
    'nonsense.example': ['not-an-address'],
  };

  it.each(Object.keys(table))('refuses %s if one of its addresses is refused', async (name) => {
    const answer = await client([], names(table)).send(post(`https://${name}/`));
    expect(answer).toMatchObject({ kind: 'refused' });
  });

  it('names the kind of address found, not the address', async () => {
    const answer = await client([], names(table)).send(post('https://mixed.example/'));
    expect(answer).toMatchObject({
      reason: expect.stringMatching(/resolves to a private address.*AGENTLENS_EGRESS_ALLOW/),
    });
    expect(JSON.stringify(answer)).not.toContain('10.0.0.1');
  });

  it('sends nothing to a name that resolves to loopback', async () => {
    const { port, requests } = await serve((_request, response) => response.end());
    const egress = client(['10.0.0.0/8'], names(table));
    expect(await egress.send(post(`http://rebound.example:${port}/`))).toMatchObject({ kind: 'refused' });
    expect(requests()).toBe(0);
  });

  it('requires https and public ports for public names even if some network is allowed', async () => {
    const egress = client(['10.0.0.0/8'], names({ 'public.example': ['93.184.215.14'] }));
    expect(await egress.send(post('http://public.example/'))).toMatchObject({
      kind: 'refused',
      reason: expect.stringMatching(/must use https/),
    });
    expect(await egress.send(post('https://public.example:25/'))).toMatchObject({
      kind: 'refused',
      reason: expect.stringMatching(/port 443/),
    });
  });

  it('connects to the addresses it has checked, without a second lookup', async () => {
    const { port, requests } = await serve((_request, response) => response.end());
    let asked = 0;
    const turning: ResolveName = async () => {
      asked += 1;
      return asked === 1 ? [{ address: '127.0.0.1', family: 4 }] : [{ address: '10.0.0.1', family: 4 }];
    };
    const egress = client(['127.0.0.1/32'], turning);
    expect(await egress.send(post(`http://turning.example:${port}/`))).toMatchObject({ kind: 'answered' });
    expect([asked, requests()]).toEqual([1, 1]);
  });

  it('shares one lookup between requests for a name that does not resolve', async () => {
    let asked = 0;
    const silent: ResolveName = () => {
      asked += 1;
      return new Promise(() => undefined);
    };
    const egress = client([], silent);
    const wanted = post('https://silent.example/', { timeoutMs: 100 });
    const answers = await Promise.all([egress.send(wanted), egress.send(wanted), egress.send(wanted)]);
    expect(answers.every((answer) => answer.kind === 'unreachable')).toBe(true);
    expect(asked).toBe(1);
  });
});

describe('headers chosen by a tenant', () => {
  it.each<Record<string, string>>([
    { Host: 'internal' },
    { 'transfer-encoding': 'chunked' },
    { 'Content-Length': '0' },
    { 'x-a': 'b\r\nx-injected: c' },
    { 'x a': 'b' },
    { 'x-a': '→' },
  ])('refuses %j without quoting the value', async (headers) => {
    const answer = await client(['127.0.0.1/32']).send(post('http://127.0.0.1:9/', { headers }));
    expect(answer).toMatchObject({ kind: 'refused' });
    expect(JSON.stringify(answer)).not.toMatch(/injected|chunked|internal/);
  });
});
