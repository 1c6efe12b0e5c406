import { mayDo, PersonName, type Scope } from '@agentlens/contracts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ProblemException } from '../http/problem-exception.ts';
import { bearerOf } from './api-key.ts';
import { browserSessionOf } from './browser-sessions.ts';
import type { KeyCheck, KeyDirectory } from './cached-key-directory.ts';
import { type Caller, setCaller } from './caller.ts';
import { USUAL_BODY_BYTES } from './route-config.ts';

const HOW_TO_SEND = 'Send your API key as "Authorization: Bearer agk_..."';
/** Names the person who uses the key. */
const ACTOR_HEADER = 'x-agentlens-actor';
const NEEDS_ADMIN: readonly Scope[] = ['admin'];

/**
 * Requires a key with one of the route's scopes, and rejects other requests before reading their body, so that
 * unauthenticated requests cost neither memory nor parsing. A route that declares nothing requires `admin`.
 */
export function authorizeRequests(fastify: FastifyInstance, keys: KeyDirectory): void {
  fastify.addHook('onRequest', async (request, reply) => {
    const { isPublic, scopes = NEEDS_ADMIN, allowsTeams } = request.routeOptions.config;
    if (isPublic === true || request.is404) return;
    try {
      const caller = await authenticate(request, keys);
      requireScope(caller, scopes, allowsTeams === true);
      setCaller(request, nameCaller(caller, request));
    } catch (error) {
      if (!isCheapToDiscard(request)) reply.header('connection', 'close');
      throw error;
    }
  });
}

async function authenticate(request: FastifyRequest, keys: KeyDirectory): Promise<Caller> {
  const { allowsQueryToken, takesKeyHeader } = request.routeOptions.config;
  const key =
    bearerOf(request) ??
    (takesKeyHeader === true ? keyHeaderOf(request) : undefined) ??
    (allowsQueryToken === true ? tokenOf(request) : undefined);
  if (key === undefined) throw unauthorized('Authentication required', HOW_TO_SEND);
  return callerOrRefusal(await keys.check(key, browserSessionOf(request)));
}

/** Discards a short body of known length, so that the connection can be reused. */
function isCheapToDiscard({ headers }: FastifyRequest): boolean {
  if (headers['transfer-encoding'] !== undefined) return false;
  return Number(headers['content-length'] ?? 0) <= USUAL_BODY_BYTES;
}

/** A signed-in person keeps the own name; a program may name the person behind it. */
function nameCaller(caller: Caller, request: FastifyRequest): Caller {
  const { signedIn } = caller;
  if (signedIn === undefined) {
    const person = readPerson(request);
    return person === undefined ? caller : { ...caller, person };
  }
  const sessionId = browserSessionOf(request);
  return {
    ...caller,
    person: signedIn.name,
    signedIn: { ...signedIn, ...(sessionId === undefined ? {} : { sessionId }) },
  };
}

/** @throws ProblemException 400 if the header holds no name */
function readPerson({ headers }: FastifyRequest): string | undefined {
  const sent = headers[ACTOR_HEADER];
  if (typeof sent !== 'string') return undefined;
  // Node reads headers as Latin-1; names are sent in UTF-8.
  const person = PersonName.safeParse(Buffer.from(sent, 'latin1').toString('utf8'));
  if (person.success) return person.data;
  throw new ProblemException(400, 'Validation failed', {
    details: person.error.issues.map(({ message }) => ({ path: 'X-AgentLens-Actor', message })),
  });
}

/** Used only without other credentials: two different ones are a mistake that the client should see. */
function keyHeaderOf({ headers }: FastifyRequest): string | undefined {
  const key = headers['x-api-key'];
  return headers.authorization === undefined && typeof key === 'string' && key !== '' ? key.trim() : undefined;
}

function tokenOf(request: FastifyRequest): string | undefined {
  const token = (request.query as Record<string, unknown>).token;
  return typeof token === 'string' && token !== '' ? token : undefined;
}

function callerOrRefusal(check: KeyCheck): Caller {
  if (check.kind === 'accepted') return check.caller;
  if (check.kind === 'unavailable') {
    throw new ProblemException(503, 'API keys cannot be checked now', {
      hint: 'This is a fault of the platform. Your key may be valid: send the same request again.',
    });
  }
  switch (check.reason) {
    case 'malformed':
      throw unauthorized('Invalid API key', `The key is not complete or mistyped. ${HOW_TO_SEND}`);
    case 'unknown':
      throw unauthorized('Invalid API key', 'Unknown key: check that it belongs to this platform.');
    case 'revoked':
      throw unauthorized('API key revoked', 'Use another key, or ask an admin for a new one.');
    case 'signed_out':
      throw unauthorized('This browser session was ended', 'Sign in again.');
    case 'no_rights':
      throw unauthorized('You have no role any more', 'Sign in again, or ask an administrator for a role.');
    case 'expired':
      throw unauthorized('API key expired', 'Use the key that replaced it, or ask an admin for a new one.');
  }
}

function unauthorized(error: string, hint: string): ProblemException {
  return new ProblemException(401, error, { hint, headers: { 'www-authenticate': 'Bearer' } });
}

/** @param allowsTeams a role for the agents of a team suffices; the handler checks the agent */
function requireScope(caller: Caller, required: readonly Scope[], allowsTeams: boolean): void {
  if (mayDo(caller.scopes, required)) return;
  if (allowsTeams && caller.signedIn?.forAgents.some(({ scope }) => required.includes(scope)) === true) return;
  if (caller.signedIn !== undefined) {
    throw new ProblemException(403, 'Insufficient permissions', {
      hint: `This needs a role with the scope ${required.map((scope) => `"${scope}"`).join(' or ')}. Ask an administrator.`,
      extra: { required: [...required], current: [...caller.scopes] },
    });
  }
  throw new ProblemException(403, 'Insufficient permissions', {
    hint: `This needs a key with the scope ${required.map((scope) => `"${scope}"`).join(' or ')}.`,
    extra: { required: [...required], current: [...caller.scopes] },
  });
}
