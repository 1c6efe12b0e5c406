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

/** A change that was meant for another version than the one that stands. @param what a word: `rule`, `budget` */
export function otherVersion(what: string, wanted: number | undefined, current: number): CommandRefusal {
  return {
    ok: false,
    problem: {
      error: `The ${what} was changed meanwhile`,
      status: 412,
      currentVersion: current,
      details: [{ path: 'If-Match', message: `names version ${wanted}, and the ${what} is at version ${current}` }],
      hint: `Read the ${what} again, and repeat the change with If-Match: "${current}" if it still makes sense`,
    },
  };
}
