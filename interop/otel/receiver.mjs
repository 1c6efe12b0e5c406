// Takes OTLP over HTTP and keeps the requests as they came.
import { createServer } from 'node:http';
import { gunzipSync } from 'node:zlib';

/** @returns {Promise<{url: string, requests: {path: string, contentType: string, body: Buffer}[], close: () => Promise<void>}>} */
export async function startReceiver() {
  const requests = [];
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const sent = Buffer.concat(chunks);
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
      const contentType = request.headers['content-type'];
      requests.push({ path: request.url, contentType, body });
      response.writeHead(200, { 'content-type': contentType }).end(contentType.includes('json') ? '{}' : '');
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    requests,
    close: () => new Promise((resolve) => server.close(resolve).closeAllConnections()),
  };
}
