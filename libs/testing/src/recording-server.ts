import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';

export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface RecordingServer {
  readonly url: string;
  readonly port: number;
  readonly requests: readonly RecordedRequest[];
  /** Answers for the next requests; the default is 200 with an empty body. */
  answer(handler: (request: RecordedRequest, response: ServerResponse) => void): void;
  close(): Promise<void>;
}

/** HTTP server on loopback that records the requests it receives. */
export async function recordingServer(): Promise<RecordingServer> {
  const requests: RecordedRequest[] = [];
  let handler: (request: RecordedRequest, response: ServerResponse) => void = (_request, response) => {
    response.writeHead(200).end();
  };
  const server = createServer((message: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    message.on('data', (chunk: Buffer) => chunks.push(chunk));
    message.on('end', () => {
      const request: RecordedRequest = {
        method: message.method ?? '',
        path: message.url ?? '',
        headers: message.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      };
      requests.push(request);
      handler(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port was assigned');
  return {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    requests,
    answer: (next) => {
      handler = next;
    },
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      }),
  };
}
