import type { Problem } from '@agentlens/contracts';
import { isDataError } from '@agentlens/database';
import { isDatabaseAway } from '@agentlens/platform';
import { Catch, type ExceptionFilter } from '@nestjs/common';
import { type Observable, of, throwError } from 'rxjs';

/** Answer of a command: what was done, or why it was refused. */
export type CommandAnswer<T> = { readonly ok: true; readonly value: T } | CommandRefusal;

interface CommandRefusal {
  readonly ok: false;
  readonly problem: Problem;
}

export function refusal(status: number, error: string, hint?: string): CommandRefusal {
  return { ok: false, problem: { error, status, ...(hint === undefined ? {} : { hint }) } };
}

/** Answers commands that Postgres cannot store (400) or does not answer (503); other errors keep their class. */
@Catch()
export class DatabaseErrorFilter implements ExceptionFilter {
  catch(error: unknown): Observable<CommandRefusal> {
    if (isDataError(error)) {
      const remedy =
        'Remove control characters and lone surrogates, and shorten text that is very long or deeply nested.';
      return of(refusal(400, 'The request holds text that cannot be stored', remedy));
    }
    if (isDatabaseAway(error)) {
      return of(refusal(503, 'The database does not answer now', 'Nothing was changed. Send the same request again.'));
    }
    return throwError(() => error);
  }
}
