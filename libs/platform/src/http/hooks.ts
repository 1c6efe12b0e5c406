import type { Socket } from 'node:net';
import { InFlight } from '@agentlens/messaging';
import { metrics, trace } from '@opentelemetry/api';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { USUAL_BODY_BYTES } from '../auth/route-config.ts';
import type { Platform } from '../platform.ts';
import { ProblemException } from './problem-exception.ts';

/**
 * Routes take bodies of `USUAL_BODY_BYTES`, and of `mostBytes` or a limit of their own where they ask for it.
 */
export function limitBodies(fastify: FastifyInstance, mostBytes: number): void {
  fastify.addHook('onRoute', (route) => {
    const { takesLargeBodies, bodyLimitBytes } = route.config ?? {};
    const usual = takesLargeBodies === true ? mostBytes : Math.min(mostBytes, USUAL_BODY_BYTES);
    route.bodyLimit = bodyLimitBytes ?? usual;
  });
}

/**
 * On every answer, refusals too: a browser takes it for what it says it is, so that no text of an agent becomes a page or
 * a script; and answers of the API belong to one key, so that no cache keeps them. Must come before keys are checked.
 */
export function addSecurityHeaders(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    // Of the answer itself: event streams write their head past Fastify.
    reply.raw.setHeader('x-content-type-options', 'nosniff');
    if (request.url.startsWith('/api/')) void reply.header('cache-control', 'no-store');
    done();
  });
}

/**
 * Names the route on the request's span, measures every answer, and answers with the request's id. When the process
 * drains, answers that have begun and never end by themselves (event streams) are ended here.
 */
export function trackRequests(fastify: FastifyInstance, platform: Platform): void {
  const duration = metrics.getMeter('agentlens').createHistogram('agentlens.http.request.duration_seconds', {
    description: 'Time from the first byte of a request to the end of its answer, by route and status',
    unit: 's',
    advice: { explicitBucketBoundaries: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] },
  });
  const open = new InFlight<{ readonly headersSent: boolean; end(): void }>();

  fastify.addHook('onRequest', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'unknown';
    trace.getActiveSpan()?.setAttribute('http.route', route).updateName(`${request.method} ${route}`);
    reply.header('x-request-id', request.id);
    if (platform.health.draining) reply.header('connection', 'close');
    const place = open.add(reply.raw);
    reply.raw.once('close', () => open.delete(place));
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
 * A request that no route takes is refused before its body is read: 405 with `Allow` where its path takes other methods,
 * else 404. Called before any route is added.
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
  const matching = routes.filter(({ segments }) => matches(segments, asked));
  // Of `/rules/:id` and `/rules/catalog` the second is what this path is.
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

/** A slash at the end makes no other path, as for the router. */
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

/** What Node's HTTP parser gives up on before there is a request: answered as a Problem too, then hung up on. */
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
    const hint = 'Headers, and the address with its parameters, may have 16 kB together.';
    return new ProblemException(431, 'The headers or the address are too long', { hint });
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new ProblemException(408, 'The request did not arrive in time', { hint: 'Send it again, and at once.' });
  }
  return new ProblemException(400, 'This is not HTTP as it can be read', { hint: 'Check what sends it.' });
}
