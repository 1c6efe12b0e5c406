import { ClientId, RepairedId } from '@agentlens/contracts';
import { ProblemException, parseOr400 } from '@agentlens/platform';
import type { z } from 'zod';
import { sanitise } from '../intake/sanitise.ts';

/** A call's body, safe to store. @throws ProblemException 400 naming the place. */
export function readBody<T extends z.ZodType>(schema: T, body: unknown): z.output<T> {
  const { problem: unsafe } = sanitise(body);
  if (unsafe !== undefined) throw new ProblemException(400, 'Validation failed', { details: [unsafe] });
  return parseOr400(schema, body === undefined ? {} : body);
}

/**
 * The id of a run in the path. One that cannot be kept stands under its hash: a refusal would make clients in the field go on
 * without asking.
 */
export function readRunId(value: string): string {
  return parseOr400(RepairedId, value, 'path.runId');
}

/** An id in the path. @throws ProblemException 400 */
export function readId(name: string, value: string): string {
  return parseOr400(ClientId, value, `path.${name}`);
}
