import { RepairedId, unknownName } from '@agentlens/contracts';
import { ProblemException } from '@agentlens/platform';
import { LIMITS } from '../intake/limits.ts';

/** The events of a request body. @throws ProblemException 400 that describes the envelope */
export function eventsOf(body: unknown): readonly unknown[] {
  const events = (body as { events?: unknown } | null | undefined)?.events;
  if (!Array.isArray(events)) throw envelopeProblem('must be an array of events: {"events": [...]}');
  if (events.length === 0) throw envelopeProblem('must hold at least one event');
  if (events.length > LIMITS.eventsPerRequest) {
    throw envelopeProblem(`holds ${events.length} events; send at most ${LIMITS.eventsPerRequest} at once`);
  }
  return events;
}

function envelopeProblem(message: string): ProblemException {
  return new ProblemException(400, 'Validation failed', { details: [{ path: 'events', message }] });
}

const KEY = /^[\x21-\x7e][\x20-\x7e]{0,254}$/;

/** The client's name for this batch, with or without the quotes of a structured field. */
export function idempotencyKeyOf(header: string | readonly string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const key = typeof header === 'string' ? unquoted(header) : '';
  if (KEY.test(key)) return key;
  throw new ProblemException(400, 'Validation failed', {
    details: [{ path: 'headers.idempotency-key', message: 'must be 1-255 printable ASCII characters' }],
  });
}

/**
 * The client's name for a question. An invalid key still names the question, which must not be rejected because of it.
 */
export function questionKeyOf(header: string | readonly string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const text = typeof header === 'string' ? header : header.join();
  return KEY.test(unquoted(text)) ? unquoted(text) : RepairedId.parse(`key ${text}`);
}

function unquoted(header: string): string {
  return header.trim().replace(/^"(.*)"$/, '$1');
}

/** `?partial=true` accepts the valid events of a request and answers for each. */
export function isPartial(query: Readonly<Record<string, unknown>>): boolean {
  for (const name in query) if (name !== 'partial') throw unknownParameter(name);
  const { partial } = query;
  if (partial === undefined || partial === 'false') return false;
  if (partial === 'true' || partial === '') return true;
  throw new ProblemException(400, 'Validation failed', {
    details: [{ path: 'query.partial', message: 'must be true or false' }],
  });
}

function unknownParameter(name: string): ProblemException {
  return new ProblemException(400, 'Validation failed', {
    details: [{ path: `query.${name}`, message: unknownName('parameter', name, ['partial']) }],
  });
}
