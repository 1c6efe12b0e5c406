import type { FastifyInstance } from 'fastify';
import { parse } from 'secure-json-parse';
import { ProblemException } from './problem-exception.ts';

/**
 * JSON is the only body there is. No body at all is allowed with any content type: clients send the header with every
 * DELETE, and routes that need a body say so.
 */
export function acceptJsonOnly(fastify: FastifyInstance): void {
  fastify.removeAllContentTypeParsers();
  fastify.decorateRequest('bodyText');
  fastify.addContentTypeParser(
    /^application\/(?:json|[\w.+-]+\+json)(?:;|$)/,
    { parseAs: 'string' },
    (request, body, done) => {
      if (body === '') return done(null, undefined);
      try {
        if (request.routeOptions.config.keepsText === true) request.bodyText = body as string;
        const action = request.routeOptions.config.checksKeys === true ? 'ignore' : 'error';
        done(null, parse(body as string, { protoAction: action, constructorAction: action }));
      } catch (error) {
        done(invalidJson(error as SyntaxError));
      }
    },
  );
  fastify.addHook('onRequest', (request, _reply, done) => {
    const encoding = request.headers['content-encoding'];
    const isPlain = encoding === undefined || encoding === 'identity';
    if (isPlain || request.routeOptions.config.decodesBodies === true) return done();
    done(new ProblemException(415, 'Unsupported content encoding', { hint: 'Send the body uncompressed.' }));
  });
}

/** Says where, but quotes nothing: bodies hold secrets and answers end up in logs. */
function invalidJson({ message }: SyntaxError): ProblemException {
  if (message.includes('forbidden prototype property')) {
    return new ProblemException(400, 'Invalid JSON body', {
      hint: 'The keys "__proto__" and "constructor.prototype" are refused: rename them.',
    });
  }
  const position = /position (\d+)/.exec(message)?.[1];
  const where = position === undefined ? 'It ends too early or is not JSON at all' : `Look at position ${position}`;
  return new ProblemException(400, 'Invalid JSON body', { hint: `${where}.` });
}
