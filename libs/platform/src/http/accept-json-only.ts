import { BrokenJson, type ParsedJson, parseInSteps, TooMuchJson } from '@agentlens/contracts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { parse, scan } from 'secure-json-parse';
import type { RouteSettings } from '../auth/route-config.ts';
import { readInSlices } from '../time-slices.ts';
import { ProblemException } from './problem-exception.ts';

/** Maximum number of characters to parse synchronously, which takes well under a millisecond. */
const MAX_CHARS_AT_ONCE = 5_000;
/** Maximum number of keys, values and lists in a body (docs/security.md, "Work per request"). */
const MAX_JSON_UNITS = 50_000;
const MAX_QUESTION_JSON_UNITS = 100_000;
const MAX_BATCH_JSON_UNITS = 300_000;

/**
 * Accepts only JSON bodies. An empty body may have any content type, because clients send the header with every DELETE,
 * and routes that require a body report that themselves.
 */
export function acceptJsonOnly(fastify: FastifyInstance): void {
  fastify.removeAllContentTypeParsers();
  fastify.decorateRequest('bodyText');
  fastify.decorateRequest('leftOutOfBody');
  fastify.addContentTypeParser(
    /^application\/(?:json|[\w.+-]+\+json)(?:;|$)/,
    { parseAs: 'string' },
    async (request: FastifyRequest, body: string) => {
      if (body === '') return undefined;
      if (request.routeOptions.config.keepsText === true) request.bodyText = body;
      return body.length > MAX_CHARS_AT_ONCE ? parseLarge(request, body) : parseSmall(request, body);
    },
  );
  fastify.addHook('onRequest', (request, _reply, done) => {
    const encoding = request.headers['content-encoding'];
    const isPlain = encoding === undefined || encoding === 'identity';
    if (isPlain || request.routeOptions.config.decodesBodies === true) return done();
    done(new ProblemException(415, 'Unsupported content encoding', { hint: 'Send the body uncompressed.' }));
  });
}

/** @throws ProblemException 400 */
function parseSmall(request: FastifyRequest, text: string): unknown {
  const action = keyActionOf(request);
  try {
    return parse(text, { protoAction: action, constructorAction: action });
  } catch (error) {
    throw invalidJson(error as SyntaxError);
  }
}

/** @throws ProblemException 400, 413 */
async function parseLarge(request: FastifyRequest, text: string): Promise<unknown> {
  const { config } = request.routeOptions;
  const maxUnits = maxUnitsOf(config);
  const withoutMark = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  try {
    const parsed = await readInSlices(parseInSteps(withoutMark, { maxUnits, mayLeaveOut: config.mayLeaveOut }));
    request.leftOutOfBody = parsed.leftOut;
    return withSafeKeys(parsed, text, keyActionOf(request));
  } catch (error) {
    if (error instanceof TooMuchJson) throw tooMuch(error);
    throw error instanceof SyntaxError ? invalidJson(error) : error;
  }
}

function maxUnitsOf({ takesBatches, takesLargeBodies }: RouteSettings): number {
  if (takesBatches === true) return MAX_BATCH_JSON_UNITS;
  return takesLargeBodies === true ? MAX_QUESTION_JSON_UNITS : MAX_JSON_UNITS;
}

function withSafeKeys({ value }: ParsedJson, text: string, action: 'ignore' | 'error'): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const isSuspect = action === 'error' && /proto|\\u/i.test(text);
  return isSuspect ? scan(value, { protoAction: action, constructorAction: action }) : value;
}

function keyActionOf({ routeOptions }: FastifyRequest): 'ignore' | 'error' {
  return routeOptions.config.checksKeys === true ? 'ignore' : 'error';
}

function tooMuch({ maxUnits }: TooMuchJson): ProblemException {
  return new ProblemException(413, 'Request body holds too many values', {
    hint: `A request of this route may contain ${maxUnits} keys, values and lists in total: split it.`,
    extra: { maxValues: maxUnits },
  });
}

/** Names the position but quotes nothing, because bodies contain secrets and responses end up in logs. */
function invalidJson(error: SyntaxError): ProblemException {
  const { message } = error;
  if (message.includes('forbidden prototype property')) {
    return new ProblemException(400, 'Invalid JSON body', {
      hint: 'The keys "__proto__" and "constructor.prototype" are not allowed: rename them.',
    });
  }
  const position = error instanceof BrokenJson ? error.position : /position (\d+)/.exec(message)?.[1];
  const where = position === undefined ? 'It is truncated or not JSON' : `Look at position ${position}`;
  return new ProblemException(400, 'Invalid JSON body', { hint: `${where}.` });
}
