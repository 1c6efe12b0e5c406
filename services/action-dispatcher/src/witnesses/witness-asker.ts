import { type Database, tilesFrom } from '@agentlens/database';
import type { EgressClient } from '@agentlens/egress';
import { isMissingTile, planConsistency, TreeReader } from '@agentlens/log';
import {
  openCheckpoint,
  readVerifierKey,
  UnreadableInput,
  type VerifierKey,
  WrongSignature,
} from '@agentlens/log-verify';
import { Repeating } from '@agentlens/messaging';
import { LoopProgress, type Platform } from '@agentlens/platform';
import { metrics } from '@opentelemetry/api';
import { sql } from 'kysely';

const ROUND_MS = 60_000;
const FIRST_MS = 5_000;
const REQUEST_MS = 5_000;
const LOGS_AT_ONCE = 100;
/** Logs of one round. Others are first in the next one. */
const MAX_LOGS = 1_000;
const SIZE = /^(0|[1-9]\d{0,15})\n?$/;

interface AskerDependencies extends Pick<Platform, 'clock' | 'logger'> {
  readonly database: Pick<Database, 'db'>;
  readonly egress: EgressClient;
  /** Keys and addresses, as `AGENTLENS_LOG_WITNESSES` names them. */
  readonly witnesses: readonly { readonly key: string; readonly url: string }[];
  readonly progress?: LoopProgress;
}

interface Witness {
  /** Name and key id: what a cosignature says of its key. */
  readonly id: string;
  readonly key: VerifierKey;
  readonly url: string;
}

/** The newest checkpoint of a log that not every witness cosigned. */
interface Log {
  readonly tenantId: string;
  readonly size: number;
  readonly note: string;
  /** Size that each witness cosigned last, by id. */
  readonly signed: Readonly<Record<string, number | null>>;
}

type Outcome =
  | { readonly result: 'signed' }
  /** Another process asked with a newer checkpoint. */
  | { readonly result: 'later' }
  | { readonly result: 'away' | 'refused' | 'contradicted'; readonly reason: string };

/**
 * Asks the witnesses to cosign the newest checkpoint of each log, once a minute (C2SP tlog-witness). Sealing never waits
 * for it: a witness that is away is asked again with a newer checkpoint.
 */
export class WitnessAsker {
  readonly #dependencies: AskerDependencies;
  readonly #witnesses: readonly Witness[];
  readonly #progress: LoopProgress;
  readonly #asking = new Repeating(() => this.ask());
  /** Logs that a witness does not accept as the one it cosigned before, by witness. */
  readonly #contradicted = new Map<string, Set<string>>();
  #failing = 0;
  #after = '';
  #isStopping = false;

  /** @throws UnreadableInput if a key of a witness is wrong */
  constructor(dependencies: AskerDependencies) {
    this.#dependencies = dependencies;
    this.#progress = dependencies.progress ?? new LoopProgress();
    this.#witnesses = dependencies.witnesses.map(({ key: text, url }) => {
      const key = readVerifierKey(text);
      return { key, url, id: `${key.name}+${key.id}` };
    });
    const meter = metrics.getMeter('@agentlens/action-dispatcher');
    meter
      .createObservableGauge('agentlens.log.contradicted', {
        description: 'Provable logs that a witness does not accept as the ones it cosigned before',
      })
      .addCallback((result) => result.observe(this.contradicted));
    meter
      .createObservableGauge('agentlens.log.witnesses_failing', {
        description: 'Witnesses that did not cosign a provable log in the last round',
      })
      .addCallback((result) => result.observe(this.#failing));
  }

  /** Number of logs that contradict what a witness cosigned. */
  get contradicted(): number {
    return new Set([...this.#contradicted.values()].flatMap((tenants) => [...tenants])).size;
  }

  get failing(): number {
    return this.#failing;
  }

  start(): void {
    this.#isStopping = false;
    if (this.#witnesses.length > 0) this.#asking.start(FIRST_MS);
  }

  /** Waits for the running requests, and sends no others. */
  stop(): Promise<void> {
    this.#isStopping = true;
    return this.#asking.stop();
  }

  /** Asks about each log once. Never throws. @returns when the next round is due, ms */
  async ask(): Promise<number> {
    const failing = new Set<string>();
    const away = new Set<string>();
    try {
      for (let asked = 0; asked < MAX_LOGS && !this.#isStopping; ) {
        const logs = await this.#findLogs();
        for (const log of logs) {
          if (this.#isStopping) break;
          await this.#askAll(log, away, failing);
          this.#after = log.tenantId;
        }
        asked += logs.length;
        if (logs.length < LOGS_AT_ONCE) {
          this.#after = '';
          break;
        }
      }
      this.#failing = failing.size;
      this.#progress.succeeded();
    } catch (err) {
      this.#progress.failed();
      this.#dependencies.logger.warn({ err }, 'asking witnesses of the provable logs failed, will retry');
    }
    return ROUND_MS;
  }

  async #askAll(log: Log, away: Set<string>, failing: Set<string>): Promise<void> {
    const due = this.#witnesses.filter(({ id }) => (log.signed[id] ?? 0) !== log.size && !away.has(id));
    await Promise.all(
      due.map(async (witness) => {
        const outcome = await this.#askOne(log, witness);
        this.#note(log, witness, outcome);
        if (outcome.result === 'away') away.add(witness.id);
        if (outcome.result !== 'signed' && outcome.result !== 'later') failing.add(witness.id);
      }),
    );
  }

  #note({ tenantId, size }: Log, { id }: Witness, outcome: Outcome): void {
    const contradicted = this.#contradicted.get(id) ?? new Set();
    this.#contradicted.set(id, contradicted);
    if (outcome.result === 'signed') contradicted.delete(tenantId);
    if (outcome.result === 'signed' || outcome.result === 'later') return;
    const { logger } = this.#dependencies;
    const fields = { tenantId, size, witness: id, reason: outcome.reason };
    if (outcome.result === 'contradicted') {
      contradicted.add(tenantId);
      logger.error(fields, 'a provable log contradicts what a witness cosigned: it was put back or forked');
    } else logger.warn(fields, 'a witness did not cosign a provable log, will ask again');
  }

  async #askOne(log: Log, witness: Witness): Promise<Outcome> {
    const known = log.signed[witness.id] ?? 0;
    if (known > log.size) return explainAhead(known, log.size);
    const first = await this.#send(log, witness, known);
    // The witness knows more than this database: another process asked, or the database is a copy.
    if (typeof first === 'object' || this.#isStopping) return typeof first === 'object' ? first : { result: 'later' };
    if (first > log.size) return this.#compareWithNewest(log, first);
    if (first === known) return { result: 'contradicted', reason: `it cosigned another log of ${known} entries` };
    const second = await this.#send(log, witness, first);
    return typeof second === 'object' ? second : { result: 'later' };
  }

  /** The log may have grown since it was read; if not, the witness saw a log that this database does not have. */
  async #compareWithNewest({ tenantId }: Log, size: number): Promise<Outcome> {
    const { rows } = await sql<{ size: number | null }>`
      select max(size) as size from log_checkpoints where tenant_id = ${tenantId}`.execute(
      this.#dependencies.database.db,
    );
    const newest = rows[0]?.size ?? 0;
    if (size <= newest) return { result: 'later' };
    return explainAhead(size, newest);
  }

  /** @returns the size that the witness knows, if it is not `old` */
  async #send(log: Log, witness: Witness, old: number): Promise<Outcome | number> {
    const { egress } = this.#dependencies;
    const body = await this.#writeRequest(log, old);
    if (body === undefined) return { result: 'refused', reason: 'parts of the log are missing' };
    const answer = await egress.send({
      ...{ method: 'POST', url: `${witness.url}/add-checkpoint`, body, timeoutMs: REQUEST_MS },
      headers: { 'content-type': 'text/plain; charset=utf-8' },
    });
    if (answer.kind !== 'answered') return { result: 'away', reason: answer.reason };
    const { status } = answer;
    if (status === 200) return this.#store(log, witness, answer.body);
    const [, size] = SIZE.exec(answer.body) ?? [];
    if (status === 409 && size !== undefined) return Number(size);
    if (status === 422) return { result: 'contradicted', reason: 'the log does not continue the one that it cosigned' };
    return { result: status >= 500 ? 'away' : 'refused', reason: `it answered ${status}` };
  }

  async #writeRequest({ tenantId, size, note }: Log, old: number): Promise<string | undefined> {
    try {
      const tree = new TreeReader(tilesFrom(this.#dependencies.database.db, tenantId), size);
      const proof = old === 0 || old >= size ? [] : await tree.prove(planConsistency(old, size));
      return `old ${old}\n${proof.map((hash) => `${hash.toString('base64')}\n`).join('')}\n${note}`;
    } catch (error) {
      if (isMissingTile(error)) return undefined;
      throw error;
    }
  }

  /** Keeps the line of this witness, once it is checked. Others that it sends are ignored. */
  async #store({ tenantId, size, note }: Log, { id, key }: Witness, body: string): Promise<Outcome> {
    const line = body.split('\n').find((one) => isCosignature(note, one, key));
    if (line === undefined) return { result: 'refused', reason: 'it answered without a valid cosignature' };
    const at = new Date(this.#dependencies.clock.now()).toISOString();
    await this.#dependencies.database.db
      .insertInto('log_cosignatures')
      .values({ tenant_id: tenantId, witness: id, size, line, at })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    return { result: 'signed' };
  }

  async #findLogs(): Promise<Log[]> {
    const ids = this.#witnesses.map(({ id }) => id);
    const { rows } = await sql<Log>`
      select h.tenant_id as "tenantId", newest.size, newest.note, signed.sizes as signed
      from log_heads h
      cross join lateral (
        select c.size, c.note from log_checkpoints c where c.tenant_id = h.tenant_id order by c.size desc limit 1
      ) as newest
      cross join lateral (
        select jsonb_object_agg(w.id, (
          select max(s.size) from log_cosignatures s where s.tenant_id = h.tenant_id and s.witness = w.id)) as sizes
        from unnest(${ids}::text[]) as w(id)
      ) as signed
      where h.tenant_id > ${this.#after} and exists (
        select from unnest(${ids}::text[]) as w(id) where coalesce((signed.sizes ->> w.id)::bigint, 0) <> newest.size)
      order by h.tenant_id limit ${LOGS_AT_ONCE}`.execute(this.#dependencies.database.db);
    return rows;
  }
}

const explainAhead = (cosigned: number, size: number): Outcome => ({
  result: 'contradicted',
  reason: `it cosigned a log of ${cosigned} entries, and this one has ${size}`,
});

function isCosignature(note: string, line: string, key: VerifierKey): boolean {
  try {
    return openCheckpoint(`${note}${line}\n`, [key]).signedBy.length > 0;
  } catch (error) {
    if (error instanceof UnreadableInput || error instanceof WrongSignature) return false;
    throw error;
  }
}
