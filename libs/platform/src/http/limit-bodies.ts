import type { FastifyInstance } from 'fastify';
import { USUAL_BODY_BYTES } from '../auth/route-config.ts';
import { routeNotFound } from './route-not-found.ts';

/**
 * Routes take bodies of `USUAL_BODY_BYTES`, and of `mostBytes` where they ask for it. The body of a request that no route
 * takes is not read at all.
 */
export function limitBodies(fastify: FastifyInstance, mostBytes: number): void {
  fastify.addHook('onRoute', (route) => {
    const isLarge = route.config?.takesLargeBodies === true;
    route.bodyLimit = isLarge ? mostBytes : Math.min(mostBytes, USUAL_BODY_BYTES);
  });
  fastify.addHook('onRequest', (request, _reply, done) => {
    done(request.is404 ? routeNotFound(request) : undefined);
  });
}
