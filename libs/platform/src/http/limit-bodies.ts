import type { FastifyInstance } from 'fastify';
import { USUAL_BODY_BYTES } from '../auth/route-config.ts';

/**
 * Routes take bodies of `USUAL_BODY_BYTES`, and of `mostBytes` where they ask for it.
 */
export function limitBodies(fastify: FastifyInstance, mostBytes: number): void {
  fastify.addHook('onRoute', (route) => {
    const isLarge = route.config?.takesLargeBodies === true;
    route.bodyLimit = isLarge ? mostBytes : Math.min(mostBytes, USUAL_BODY_BYTES);
  });
}
