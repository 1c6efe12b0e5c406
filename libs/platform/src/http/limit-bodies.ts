import type { FastifyInstance } from 'fastify';
import { USUAL_BODY_BYTES } from '../auth/route-config.ts';

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
