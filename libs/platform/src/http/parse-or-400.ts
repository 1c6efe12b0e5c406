import { detailsOf } from '@agentlens/contracts';
import type { z } from 'zod';
import { ProblemException } from './problem-exception.ts';

/**
 * The value as the schema reads it.
 * @param pathPrefix where the value stands in the request, for the paths of the answer (`'events.3'`).
 * @throws ProblemException 400 naming every path that is wrong.
 */
export function parseOr400<T extends z.ZodType>(schema: T, value: unknown, pathPrefix = ''): z.output<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const prefix = pathPrefix === '' ? [] : pathPrefix.split('.');
  throw new ProblemException(400, 'Validation failed', { details: detailsOf(parsed.error, prefix) });
}
