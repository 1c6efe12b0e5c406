import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ProblemException } from './problem-exception.ts';

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
