import type { FastifyInstance } from 'fastify';

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
