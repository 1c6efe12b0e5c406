import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestPlatform } from '@agentlens/sdk/testing';

/** Serves the SDK's test server on a local port, for adapters that run in their own process. */
export async function served(test: TestPlatform): Promise<{ readonly url: string; close(): Promise<void> }> {
  const answered = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const call = {
      method: request.method as 'GET' | 'POST' | 'PUT',
      url: `http://test.invalid${request.url}`,
      headers: flat(request.headers),
      body: (await text(request)) || undefined,
      signal: gone.signal,
    };
    try {
      if (request.url?.startsWith('/v1/control/stream')) {
        const { status, contentType, chunks } = await test.http.stream(call);
        response.writeHead(status, { 'content-type': contentType });
        for await (const chunk of chunks) response.write(chunk);
        response.end();
        return;
      }
      const answer = await test.http.call(call);
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(answer.text);
    } catch {
      // Behave like an unreachable server.
      response.destroy();
    }
  };
  const server = createServer((request, response) => void answered(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${port}`, close };
}

function flat(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
