import { type Kysely, sql } from 'kysely';

export const INGEST = 'agentlens_ingest';
export const RUN_TRACKING = 'agentlens_run_tracking';
export const EVALUATOR = 'agentlens_guardrail_evaluator';
export const DISPATCHER = 'agentlens_action_dispatcher';
export const BACKTESTER = 'agentlens_backtester';
export const QUERY = 'agentlens_query';
export const MODEL_GATEWAY = 'agentlens_model_gateway';
export const READER = 'agentlens_reader';
export const ROLES = [INGEST, RUN_TRACKING, EVALUATOR, DISPATCHER, QUERY, READER];

/** Who may write a table, and which services besides `query` read it across tenants. */
export interface Access {
  readonly writers: readonly string[];
  readonly readers: readonly string[];
}

/** Opens a tenant table to its writer, its readers and the tenant-bound reader; row level security must be forced on it. */
export async function openTable(db: Kysely<unknown>, table: string, { writers, readers }: Access): Promise<void> {
  const readingServices = [...new Set([...readers, QUERY])].filter((role) => !writers.includes(role));
  const reading = readingServices.length === 0 ? '' : readingServices.join(', ');
  await sql
    .raw(`
    grant select, insert, update, delete on ${table} to ${writers.join(', ')};
    grant select on ${table} to ${[...readingServices, READER].join(', ')};
    create policy ${table}_writer on ${table} for all to ${writers.join(', ')} using (true) with check (true);
    ${reading === '' ? '' : `create policy ${table}_services on ${table} for select to ${reading} using (true);`}
    create policy ${table}_tenant on ${table} for all to ${READER}
      using (tenant_id = current_setting('agentlens.tenant', true))
      with check (tenant_id = current_setting('agentlens.tenant', true));
  `)
    .execute(db);
}
