import { ClientId, RepairedId } from '@agentlens/contracts';
import { ProblemException, parseOr400 } from '@agentlens/platform';
import type { z } from 'zod';
import { sanitise } from '../intake/sanitise.ts';

/** The body of a call, safe to store. @throws ProblemException 400 with the path */
export function readBody<T extends z.ZodType>(schema: T, body: unknown): z.output<T> {
  const { problem: unsafe } = sanitise(body);
  if (unsafe !== undefined) throw new ProblemException(400, 'Validation failed', { details: [unsafe] });
  return parseOr400(schema, body === undefined ? {} : body);
}

/**
 * Reads the id of a run from the path. An id that cannot be stored is replaced by its hash, because a rejection would
 * make older clients continue without asking.
 */
export function readRunId(value: string): string {
  return parseOr400(RepairedId, value, 'path.runId');
}

/** Reads an id from the path. @throws ProblemException 400 */
export function readId(name: string, value: string): string {
  return parseOr400(ClientId, value, `path.${name}`);
}
