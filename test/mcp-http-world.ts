import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { AgentLensClient } from '@agentlens/sdk';
import { serveHttp } from '../integrations/js/mcp-proxy/src/serve-http.ts';

interface Received {
  readonly method: string | undefined;
  readonly body: string;
  readonly type?: string;
}

/** The MCP proxy over HTTP in front of a server that records what reaches it and answers every request. */
export async function served(lens: AgentLensClient) {
  const received: Received[] = [];
  const upstream = createServer((asked, response) => {
    void text(asked).then((body) => {
      const type = asked.headers['content-type'];
      received.push({ method: asked.method, body, ...(type === undefined ? {} : { type }) });
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc":"2.0","id":1,"result":{}}');
    });
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const { port } = upstream.address() as AddressInfo;
  const endpoint = { host: '127.0.0.1', port: 0, upstream: new URL(`http://127.0.0.1:${port}/mcp`) };
  const proxy = await serveHttp(lens, endpoint, { server: 's', waitForApproval: false });
  /** Sends a body piece by piece, without its length unless a header gives it. Answers the status. */
  const send = (method: string, headers: Readonly<Record<string, string>>, pieces: readonly string[]) =>
    new Promise<number | undefined>((resolve, reject) => {
      const sent = request(proxy.url, { method, headers });
      sent.once('response', (answer) => {
        answer.resume();
        resolve(answer.statusCode);
        sent.destroy();
      });
      sent.on('error', reject);
      for (const piece of pieces) sent.write(piece);
      sent.end();
    });
  return {
    url: proxy.url,
    received,
    send,
    async [Symbol.asyncDispose]() {
      await proxy.close();
      upstream.closeAllConnections();
      await new Promise((resolve) => upstream.close(resolve));
      await lens.shutdown();
    },
  };
}
