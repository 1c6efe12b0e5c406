import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ProblemException } from './problem-exception.ts';

/**
 * JSON is the only body there is. No body at all is allowed with any content type: clients send the header with every
 * DELETE, and routes that need a body say so.
 */
export function acceptJsonOnly(fastify: FastifyInstance): void {
  const parseJson = fastify.getDefaultJsonParser('error', 'error');
  const parseAnyKeys = fastify.getDefaultJsonParser('ignore', 'ignore');
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser(
    /^application\/(?:json|[\w.+-]+\+json)(?:;|$)/,
    { parseAs: 'string' },
    (request, body, done) => {
      if (body === '') return done(null, undefined);
      // The parser Fastify would use itself; it answers through the callback.
      const parse = checksKeys(request) ? parseAnyKeys : parseJson;
      void parse(request, body as string, (error, value) => {
        if (error === null) done(null, value);
        else done(invalidJson(body as string));
      });
    },
  );
  fastify.addHook('onRequest', (request, _reply, done) => {
    const encoding = request.headers['content-encoding'];
    if (encoding === undefined || encoding === 'identity') return done();
    done(new ProblemException(415, 'Unsupported content encoding', { hint: 'Send the body uncompressed.' }));
  });
}

/**
 * A route with the config `checksKeys: true` refuses `__proto__` itself: it can name the path, and need not refuse
 * the whole body for it.
 */
function checksKeys(request: FastifyRequest): boolean {
  return (request.routeOptions.config as { readonly checksKeys?: unknown }).checksKeys === true;
}

/** Says where, but quotes nothing: bodies hold secrets and answers end up in logs. */
function invalidJson(body: string): ProblemException {
  try {
    JSON.parse(body);
  } catch (error) {
    const position = /position (\d+)/.exec((error as Error).message)?.[1];
    const where = position === undefined ? 'It ends too early or is not JSON at all' : `Look at position ${position}`;
    return new ProblemException(400, 'Invalid JSON body', { hint: `${where}.` });
  }
  return new ProblemException(400, 'Invalid JSON body', {
    hint: 'The keys "__proto__" and "constructor.prototype" are refused: rename them.',
  });
}
