import { otherVersion } from '@agentlens/contracts';
import type { Database, Tables } from '@agentlens/database';
import { ProblemException, port } from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import { type Kysely, sql } from 'kysely';

export type ReadOnly = Kysely<Tables>;

/** SQLSTATE of a statement that the server cancelled because it ran too long. */
const QUERY_CANCELED = '57014';

/** Runs every read of this service: one transaction, in which row level security shows one tenant only. */
@Injectable()
export class TenantReads {
  constructor(@Inject(port('database')) private readonly database: Database) {}

  /** @throws ProblemException 503 if the statement timed out. The platform's filter handles an unavailable database. */
  async read<T>(tenantId: string, work: (db: ReadOnly) => Promise<T>): Promise<T> {
    try {
      return await this.database.asTenant(tenantId, work);
    } catch (error) {
      if (!isCanceled(error)) throw error;
      throw new ProblemException(503, 'The query took too long', {
        hint: 'Ask for a shorter time range, or filter by agent or session.',
      });
    }
  }

  /** Like `read`, but each statement may run for `maxMs` only. Returns undefined if one timed out. */
  async readWithin<T>(tenantId: string, maxMs: number, work: (db: ReadOnly) => Promise<T>): Promise<T | undefined> {
    try {
      return await this.database.asTenant(tenantId, async (db) => {
        await sql`select set_config('statement_timeout', ${String(Math.ceil(maxMs))}, true)`.execute(db);
        return work(db);
      });
    } catch (error) {
      if (isCanceled(error)) return undefined;
      throw error;
    }
  }
}

function isCanceled(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === QUERY_CANCELED;
}

/** Returns the value or throws 404. Data of another tenant gets the same answer as data that does not exist. */
export function foundOr404<T>(thing: string, found: T | null | undefined): T {
  if (found !== null && found !== undefined) return found;
  throw new ProblemException(404, `${thing} not found`, {
    hint: 'Check the id, and that the API key belongs to the tenant in which it was created.',
  });
}

/** @param wanted of `If-Match`; undefined changes any version. @throws ProblemException 412 */
export function requireVersion(what: string, wanted: number | undefined, current: number): void {
  if (wanted === undefined || wanted === current) return;
  throw ProblemException.from(otherVersion(what, wanted, current).problem);
}
