import type { FastifyInstance } from 'fastify';
import { ProblemException } from './problem-exception.ts';

/**
 * JSON is the only body there is. No body at all is allowed with any content type: clients send the header with every
 * DELETE, and routes that need a body say so.
 */
export function acceptJsonOnly(fastify: FastifyInstance): void {
  const parseJson = fastify.getDefaultJsonParser('error', 'error');
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser(
    /^application\/(?:json|[\w.+-]+\+json)(?:;|$)/,
    { parseAs: 'string' },
    (request, body, done) => {
      if (body === '') return done(null, undefined);
      // The parser Fastify would use itself; it answers through `done`.
      void parseJson(request, body as string, done);
    },
  );
  fastify.addHook('onRequest', (request, _reply, done) => {
    const encoding = request.headers['content-encoding'];
    if (encoding === undefined || encoding === 'identity') return done();
    done(new ProblemException(415, 'Unsupported content encoding', { hint: 'Send the body uncompressed.' }));
  });
}
