import { detailsOf, type Problem } from '@agentlens/contracts';
import { isDatabaseAway } from '@agentlens/platform';
import { StateUnavailable } from '@agentlens/state';
import { Catch, type ExceptionFilter } from '@nestjs/common';
import { type Observable, of, throwError } from 'rxjs';
import type { z } from 'zod';

export interface CommandRefusal {
  readonly ok: false;
  readonly problem: Problem;
}

const UNAVAILABLE: Problem = {
  error: 'Changes cannot be stored at the moment',
  status: 503,
  hint: 'It is not known whether the change was made: read it back, then send the same request again',
};

/** Rejects the invalid body of a command. */
export function invalid(error: z.ZodError): CommandRefusal {
  return { ok: false, problem: { error: 'Validation failed', status: 400, details: detailsOf(error) } };
}

/** Answers commands with 503 while Postgres or Redis is unavailable; other errors keep their class. */
@Catch()
export class StoreErrorFilter implements ExceptionFilter {
  catch(error: unknown): Observable<CommandRefusal> {
    if (isDatabaseAway(error) || error instanceof StateUnavailable) return of({ ok: false, problem: UNAVAILABLE });
    return throwError(() => error);
  }
}
