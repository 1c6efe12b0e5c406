import { type ChangeAuthor, DAY_MS } from '@agentlens/contracts';
import { type Database, recordChanges, runLine, type Tables } from '@agentlens/database';
import type { LabelCause, LabelledLine, StoredLabel } from '@agentlens/guardrails';
import { type Kysely, sql } from 'kysely';

const PAGE = 500;
/** A tree that runs longer loses its labels if the shared memory loses them. */
const KEPT_DAYS = 30;
/** Processes that use a new store at the same time do not report a loss. */
const FIRST_USE_MS = 5_000;

/** A label that a person cleared. */
export interface ClearedLabel {
  readonly label: string;
  readonly cause: LabelCause;
  readonly author?: ChangeAuthor | undefined;
  readonly reason: string;
}

/**
 * The tables `run_labels` and `run_label_stores`. This service is their only writer. Every label is recorded here before
 * its source call is allowed, so that a loss of the shared memory loses none.
 */
export class LabelsRepository {
  readonly #db: Kysely<Tables>;

  constructor({ db }: Pick<Database, 'db'>) {
    this.#db = db;
  }

  /** Records labels that did not stand. */
  async record(tenantId: string, labels: readonly StoredLabel[], nowMs: number): Promise<void> {
    await this.#db
      .insertInto('run_labels')
      .values(
        labels.map(({ runId, label, cause }) => ({
          ...{ tenant_id: tenantId, run_id: runId, label },
          ...{ cause: JSON.stringify(cause), set_at: new Date(nowMs).toISOString() },
        })),
      )
      .onConflict((conflict) =>
        conflict
          .columns(['tenant_id', 'run_id', 'label'])
          .doUpdateSet((eb) => ({ cause: eb.ref('excluded.cause'), set_at: eb.ref('excluded.set_at') })),
      )
      .execute();
  }

  async remove(tenantId: string, runIds: readonly string[], labels: readonly string[]): Promise<void> {
    await removeFrom(this.#db, tenantId, runIds, labels);
  }

  /** Removes a label for a person, with an audit entry. */
  async clear({ tenantId, runIds }: LabelledLine, cleared: ClearedLabel, nowMs: number): Promise<void> {
    const { label, cause, author, reason } = cleared;
    const at = new Date(nowMs).toISOString();
    await this.#db.transaction().execute(async (transaction) => {
      await removeFrom(transaction, tenantId, runIds, [label]);
      const [targetId] = runIds;
      const before = { label, source: cause };
      await recordChanges(transaction, [{ tenantId, at, kind: 'label.cleared', targetId, author, reason, before }]);
    });
  }

  /** All recorded labels of a tenant set since then, in pages. */
  async *pages(tenantId: string, sinceMs: number): AsyncGenerator<readonly StoredLabel[]> {
    const since = new Date(sinceMs).toISOString();
    let last = { run_id: '', label: '' };
    for (;;) {
      const { run_id, label } = last;
      const rows = await this.#db
        .selectFrom('run_labels')
        .select(['run_id', 'label', 'cause'])
        .where('tenant_id', '=', tenantId)
        .where('set_at', '>=', since)
        .where(sql<boolean>`(run_id, label) > (${run_id}, ${label})`)
        .orderBy('run_id')
        .orderBy('label')
        .limit(PAGE)
        .execute();
      if (rows.length > 0)
        yield rows.map((row) => ({
          runId: row.run_id,
          label: row.label,
          cause: row.cause as unknown as LabelCause,
        }));
      const next = rows.at(-1);
      if (next === undefined || rows.length < PAGE) return;
      last = next;
    }
  }

  /**
   * Notes that the tenant's store is used, and that it lost its data unless it is new. Removes what is no longer
   * restored.
   * @returns when the store last lost its data, and the salt of the tenant's fingerprints
   */
  async noteStore(
    tenantId: string,
    wasEmpty: boolean,
    nowMs: number,
  ): Promise<{ readonly lostAtMs?: number; readonly salt: string }> {
    const now = new Date(nowMs).toISOString();
    const before = new Date(nowMs - FIRST_USE_MS).toISOString();
    const { rows } = await sql<{ lost_at: string | null; salt: string }>`
      insert into run_label_stores as store (tenant_id, first_used_at) values (${tenantId}, ${now})
      on conflict (tenant_id) do update set lost_at =
        case when ${wasEmpty}::boolean and store.first_used_at < ${before} then ${now}::timestamptz else store.lost_at end
      returning lost_at, salt`.execute(this.#db);
    await this.#db
      .deleteFrom('run_labels')
      .where('tenant_id', '=', tenantId)
      .where('set_at', '<', new Date(keptSinceMs(nowMs)).toISOString())
      .execute();
    const [store] = rows;
    if (store === undefined) throw new Error('the label store of the tenant was not noted');
    return { salt: store.salt, ...(store.lost_at === null ? {} : { lostAtMs: Date.parse(store.lost_at) }) };
  }

  /** The ancestors of a run, nearest first; undefined if no event of the run has been stored. */
  async ancestors(tenantId: string, runId: string): Promise<readonly string[] | undefined> {
    return (await runLine(this.#db, tenantId, runId))?.slice(1);
  }
}

/** Labels set since then are restored. */
export function keptSinceMs(nowMs: number): number {
  return nowMs - KEPT_DAYS * DAY_MS;
}

async function removeFrom(
  db: Kysely<Tables>,
  tenantId: string,
  runIds: readonly string[],
  labels: readonly string[],
): Promise<void> {
  await db
    .deleteFrom('run_labels')
    .where('tenant_id', '=', tenantId)
    .where('run_id', 'in', [...runIds])
    .where('label', 'in', [...labels])
    .execute();
}
