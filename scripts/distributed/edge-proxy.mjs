import { Agent, createServer, request } from 'node:http';

/** Headers that apply to a single connection. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade'];

/**
 * Serves all edges at one address: agent traffic goes to `ingest`, model calls to `model-gateway`, everything else to
 * `query`. Streams in both
 * directions, so that event streams work. `targets` may be filled in later; until then the response is 503.
 */
export async function startEdgeProxy({ port, host, targets }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const server = createServer((incoming, answer) => {
    const target = targets[findService(incoming)];
    if (isInternal(incoming)) notFound(answer);
    else if (target === undefined) unavailable(answer);
    else forward(incoming, answer, target, agent);
  });
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: server.address().port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => {
          agent.destroy();
          resolve();
        });
        server.closeIdleConnections();
        // Event streams end with the services behind them. This ends the others.
        setTimeout(() => server.closeAllConnections(), 5_000).unref();
      }),
  };
}

function findService({ method, url }) {
  const path = url.split('?', 1)[0];
  if (path.startsWith('/gw/')) return 'model-gateway';
  const isForIngest =
    path.startsWith('/v1/') || (method === 'POST' && (path === '/api/events' || path === '/api/events/'));
  return isForIngest ? 'ingest' : 'query';
}

/** Paths that only probes and Prometheus may reach, directly at the services, as in `deploy/edge`. */
function isInternal({ url }) {
  return /^\/+(?:readyz|metrics)(?:\/|$)/.test(decoded(url.split('?', 1)[0]));
}

/** Decodes a path like the services do. */
function decoded(path) {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function notFound(answer) {
  answer.writeHead(404, { 'content-type': 'application/json' });
  answer.end(JSON.stringify({ error: 'Not found', status: 404 }));
}

function forward(incoming, answer, target, agent) {
  const headers = Object.fromEntries(Object.entries(incoming.headers).filter(([name]) => !HOP_BY_HOP.includes(name)));
  const outgoing = request(
    { host: target.host, port: target.port, method: incoming.method, path: incoming.url, headers, agent },
    (response) => {
      const kept = Object.entries(response.headers).filter(([name]) => !HOP_BY_HOP.includes(name));
      answer.writeHead(response.statusCode, Object.fromEntries(kept));
      response.pipe(answer);
      response.once('error', () => answer.destroy());
    },
  );
  outgoing.once('error', () => {
    if (answer.headersSent) answer.destroy();
    else unavailable(answer);
  });
  answer.once('close', () => outgoing.destroy());
  incoming.pipe(outgoing);
}

/** The service died or is starting. Whether it processed the request is unknown, hence the hint. */
function unavailable(answer) {
  answer.writeHead(503, { 'content-type': 'application/json', 'retry-after': '1' });
  answer.end(
    JSON.stringify({
      error: 'The service behind this address does not answer now',
      status: 503,
      hint: 'Send the same request again; events with ids of their own are never counted twice.',
    }),
  );
}
