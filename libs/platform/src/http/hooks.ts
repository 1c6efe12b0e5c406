import type { Socket } from 'node:net';
import { InFlight } from '@agentlens/messaging';
import { OPERATIONS } from '@agentlens/operations';
import { metrics, trace } from '@opentelemetry/api';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { USUAL_BODY_BYTES } from '../auth/route-config.ts';
import type { Platform } from '../platform.ts';
import { ProblemException } from './problem-exception.ts';

/**
 * Limits request bodies to `USUAL_BODY_BYTES`, or to `mostBytes` or a limit of their own for routes that declare it.
 */
export function limitBodies(fastify: FastifyInstance, mostBytes: number): void {
  fastify.addHook('onRoute', (route) => {
    const { takesLargeBodies, bodyLimitBytes } = route.config ?? {};
    const usual = takesLargeBodies === true ? mostBytes : Math.min(mostBytes, USUAL_BODY_BYTES);
    route.bodyLimit = bodyLimitBytes ?? usual;
  });
}

/**
 * Headers for every response. `nosniff` keeps browsers from rendering agents' text as a page or script; `no-store`
 * keeps responses of the API, which belong to one key, out of caches. Must run before keys are checked.
 */
export function addSecurityHeaders(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    // Set on the raw response, because event streams bypass Fastify.
    reply.raw.setHeader('x-content-type-options', 'nosniff');
    if (request.url.startsWith('/api/')) void reply.header('cache-control', 'no-store');
    done();
  });
}

/**
 * Names the route on the request's span, records its duration and returns the request id. When the process drains, ends
 * open event streams.
 */
export function trackRequests(fastify: FastifyInstance, platform: Platform): void {
  const duration = metrics.getMeter('agentlens').createHistogram('agentlens.http.request.duration_seconds', {
    description: 'Time from the first byte of a request to the end of its response, by route and status',
    unit: 's',
    advice: { explicitBucketBoundaries: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] },
  });
  const open = new InFlight<{ readonly headersSent: boolean; end(): void }>();

  fastify.addHook('onRequest', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'unknown';
    trace.getActiveSpan()?.setAttribute('http.route', route).updateName(`${request.method} ${route}`);
    reply.header('x-request-id', request.id);
    if (platform.health.draining) reply.header('connection', 'close');
    if (request.routeOptions.config.endsItself !== true) {
      const place = open.add(reply.raw);
      reply.raw.once('close', () => open.delete(place));
    }
    done();
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'unknown';
    duration.record(reply.elapsedTime / 1000, { method: request.method, route, status: reply.statusCode });
    done();
  });
  platform.health.onDrain(() => {
    for (const response of open) if (response.headersSent) response.end();
  });
}

interface Route {
  readonly segments: readonly string[];
  readonly methods: readonly string[];
}

/**
 * Rejects requests without a route before their body is read: 421 if the route belongs to another service, 405 with
 * `Allow` if the path has other methods, otherwise 404. Must be called before routes are added.
 */
export function refuseUnrouted(fastify: FastifyInstance): void {
  const routes: Route[] = [];
  fastify.addHook('onRoute', ({ url, method }) => {
    routes.push({ segments: segmentsOf(url), methods: [method].flat() });
  });
  fastify.addHook('onRequest', (request, _reply, done) => {
    done(request.is404 ? refusal(request, routes) : undefined);
  });
}

function refusal({ method, url }: FastifyRequest, routes: readonly Route[]): ProblemException {
  const path = url.split('?')[0] ?? '';
  const asked = segmentsOf(path);
  if (isServedElsewhere(method, asked)) {
    const hint = 'A proxy used an address that another service had before. Nothing was done; send the request again.';
    return new ProblemException(421, `Another service has the route ${method} ${path}`, { hint });
  }
  const matching = routes.filter(({ segments }) => matches(segments, asked));
  // `/rules/catalog` matches itself, not `/rules/:id`.
  const fewest = Math.min(...matching.map(({ segments }) => parametersIn(segments)));
  const methods = matching
    .filter(({ segments }) => parametersIn(segments) === fewest)
    .flatMap((route) => route.methods);
  const allow = [...new Set(methods)].sort().join(', ');
  const listed = 'All routes are listed in /openapi.json.';
  if (allow === '') {
    return new ProblemException(404, 'Route not found', { hint: `There is no ${method} ${path}. ${listed}` });
  }
  return new ProblemException(405, 'Method not allowed', {
    hint: `${path} takes ${allow}. ${listed}`,
    headers: { allow },
  });
}

/** Whether this is a route of the platform. A process calls this only for requests that it has no route for. */
function isServedElsewhere(method: string, asked: readonly string[]): boolean {
  const sought = method === 'HEAD' ? 'get' : method.toLowerCase();
  return OPERATIONS.some((operation) => operation.method === sought && matches(segmentsOf(operation.path), asked));
}

/** The router also ignores a trailing slash. */
function segmentsOf(path: string): string[] {
  return path.replace(/\/$/, '').split('/');
}

function parametersIn(segments: readonly string[]): number {
  return segments.filter((segment) => segment.startsWith(':')).length;
}

function matches(route: readonly string[], asked: readonly string[]): boolean {
  if (route.length !== asked.length) return false;
  return route.every((segment, i) => (segment.startsWith(':') ? asked[i] !== '' : segment === asked[i]));
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};

/** Answers requests that Node's HTTP parser rejects with a Problem, then closes the connection. */
export function refuseUnreadable({ code }: { readonly code?: string }, socket: Socket): void {
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const problem = problemOf(code);
  const status = problem.getStatus();
  const body = JSON.stringify({ ...(problem.getResponse() as object), requestId: crypto.randomUUID() });
  socket.end(
    `HTTP/1.1 ${status} ${REASONS[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

function problemOf(code: string | undefined): ProblemException {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const hint = 'The headers and the URL with its parameters may have 16 kB in total.';
    return new ProblemException(431, 'The headers or the address are too long', { hint });
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new ProblemException(408, 'The request did not arrive in time', { hint: 'Send it again without pauses.' });
  }
  return new ProblemException(400, 'The request is not valid HTTP', { hint: 'Check the client that sends it.' });
}
