// Stands between an exporter and a gateway, and spoils the first attempts of every request: the gateway takes the request
// and its answer is lost; then it says that it cannot; then all goes well.
import { createServer } from 'node:http';

const FORWARDED = ['authorization', 'content-type'];

/** @returns {Promise<{url: string, lost: number, refused: number, close: () => Promise<void>}>} */
export async function startUnreliableWay(target) {
  const attempts = new Map();
  const way = { lost: 0, refused: 0 };
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      passOn(request, response, Buffer.concat(chunks)).catch((error) => response.destroy(error));
    });
  });
  const passOn = async (request, response, body) => {
    const name = body.toString('base64');
    const attempt = (attempts.get(name) ?? 0) + 1;
    attempts.set(name, attempt);
    if (attempt === 2) {
      way.refused += 1;
      return response.writeHead(503, { 'retry-after': '1' }).end();
    }
    const headers = Object.fromEntries(FORWARDED.map((header) => [header, request.headers[header] ?? '']));
    const answer = await fetch(`${target}${request.url}`, { method: 'POST', headers, body });
    if (attempt === 1) {
      way.lost += 1;
      return request.socket.destroy();
    }
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    return response.end(Buffer.from(await answer.arrayBuffer()));
  };
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(way, {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => new Promise((resolve) => server.close(resolve).closeAllConnections()),
  });
}
