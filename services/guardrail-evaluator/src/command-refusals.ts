import { detailsOf, type Problem } from '@agentlens/contracts';
import type { z } from 'zod';

export interface CommandRefusal {
  readonly ok: false;
  readonly problem: Problem;
}

/** The body of a command is not what it should be. */
export function invalid(error: z.ZodError): CommandRefusal {
  return { ok: false, problem: { error: 'Validation failed', status: 400, details: detailsOf(error) } };
}
