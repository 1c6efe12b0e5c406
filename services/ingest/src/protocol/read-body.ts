import { ClientId } from '@agentlens/contracts';
import { ProblemException, parseOr400 } from '@agentlens/platform';
import type { z } from 'zod';
import { sanitise } from '../sanitise.ts';

/** A call's body, safe to store. @throws ProblemException 400 naming the place. */
export function readBody<T extends z.ZodType>(schema: T, body: unknown): z.output<T> {
  const unsafe = sanitise(body);
  if (unsafe !== undefined) throw new ProblemException(400, 'Validation failed', { details: [unsafe] });
  return parseOr400(schema, body ?? {});
}

/** An id in the path. @throws ProblemException 400 */
export function readId(name: string, value: string): string {
  return parseOr400(ClientId, value, `path.${name}`);
}
