import { setTimeout as pause } from 'node:timers/promises';
import { type COMMANDS, DAY_MS, HOUR_MS, type Problem, type QuestionOf } from '@agentlens/contracts';
import { isDataError } from '@agentlens/database';
import {
  type EvidenceNote,
  type IncompleteLabels,
  isSessionLine,
  type LabelCause,
  type LabelledLine,
  type LabelStore,
  labelledSession,
  type RunLabels,
  rootOf,
  type SharedPrints,
} from '@agentlens/guardrails';
import { BackgroundWork } from '@agentlens/messaging';
import { LoopProgress, type Platform, withDeadline } from '@agentlens/platform';
import { BoundedMap, SingleFlight, StateUnavailable } from '@agentlens/state';
import { metrics } from '@opentelemetry/api';
import type { EvaluatorDropMetrics } from '../evaluator-metrics.ts';
import { type ClearedLabel, keptSinceMs, type LabelsRepository } from './labels.repository.ts';

/** If one question needs more than this many restorations, the store does not keep its data. */
const MAX_RESTORATIONS = 2;
/** What a failover or a restart of the store can lose at most. */
const UNVERIFIED_MS = HOUR_MS;
/** Runs that started before a loss may still be unknown to the database for this long. */
const SETTLING_MS = 60_000;
/** After a loss, the gateways may not know the parents of runs that started before it. */
const LINEAGE_LOST_MS = 7 * DAY_MS;
/** A source call waits for the record of its label this long. */
const RECORD_MS = 100;
const RETRY_MS = 1_000;
/** Records that wait for the database. */
const MAX_WAITING = 10_000;
const MAX_LINES = 20_000;
const LINE_KNOWN_MS = 60_000;
const LINE_UNKNOWN_MS = 5_000;

interface RecordedLabelsDependencies {
  readonly store: LabelStore;
  readonly records: Pick<LabelsRepository, 'record' | 'remove' | 'clear' | 'pages' | 'noteStore' | 'ancestors'>;
  readonly now: () => number;
  readonly logger: Platform['logger'];
  readonly drops: Pick<EvaluatorDropMetrics, 'dropped'>;
  readonly progress?: LoopProgress;
}

interface KnownLine {
  readonly above: readonly string[];
  readonly untilMs: number;
}

/**
 * Labels in shared memory with a record in the database. A store that is new, has lost its data or may have lost the
 * latest labels is restored before it answers; meanwhile the labels of the tenant are unavailable.
 */
export class RecordedLabels implements RunLabels {
  readonly #parts: RecordedLabelsDependencies;
  readonly #restoring = new SingleFlight<void>();
  readonly #lostAtMs = new Map<string, number>();
  readonly #salts = new Map<string, string>();
  readonly #lines = new BoundedMap<KnownLine>(MAX_LINES);
  readonly #recording = new BackgroundWork();
  readonly #progress: LoopProgress;
  readonly #stopping = new AbortController();
  readonly #losses = metrics
    .getMeter('@agentlens/guardrail-evaluator')
    .createCounter('agentlens.evaluator.labels.lost', {
      description: 'Times that the labels of a tenant were lost in shared memory and restored from the database',
    });

  constructor(parts: RecordedLabelsDependencies) {
    this.#parts = parts;
    this.#progress = parts.progress ?? new LoopProgress();
  }

  /**
   * Waits until the new labels are recorded, for a short time. Without the database, the record is written later: only
   * a loss of both stores would then lose the labels.
   */
  async set(line: LabelledLine, labels: readonly string[], cause: LabelCause): Promise<readonly string[]> {
    const { store } = this.#parts;
    const { known, added, rejected } = await this.#complete(line, async (known) => {
      const answer = await store.set(known, labels, cause);
      return typeof answer === 'string' ? answer : { known, ...answer };
    });
    if (added.length === 0) return rejected;
    const recorded = this.#record(known, added, cause);
    this.#recording.add(recorded);
    await withDeadline(recorded, RECORD_MS).catch(() => undefined);
    return rejected;
  }

  read(line: LabelledLine): Promise<ReadonlyMap<string, LabelCause>> {
    return this.#complete(line, (known) => this.#parts.store.read(known));
  }

  async clear(line: LabelledLine, labels: readonly string[]): Promise<void> {
    const known = await this.#lineOf(line);
    await this.#parts.records.remove(known.tenantId, known.runIds, labels);
    await this.#parts.store.clear(known, labels);
  }

  async note(line: LabelledLine, labels: readonly string[], note: EvidenceNote): Promise<void> {
    await this.#parts.store.note(await this.#lineOf(line), labels, note);
  }

  async compare(line: LabelledLine, label: string, prints: readonly string[]): Promise<SharedPrints> {
    return this.#parts.store.compare(await this.#lineOf(line), label, prints);
  }

  /** Known once labels of the tenant were read or set. */
  async salt(tenantId: string): Promise<string> {
    const salt = this.#salts.get(tenantId);
    if (salt === undefined) throw new StateUnavailable('labels', 'the store was not restored');
    return salt;
  }

  /**
   * Clears a label of a run tree and of its session for a person, with one audit entry. Returns false if it does not
   * stand.
   */
  async clearFor(
    line: LabelledLine,
    session: LabelledLine | undefined,
    cleared: Omit<ClearedLabel, 'cause'>,
  ): Promise<boolean> {
    const { label } = cleared;
    const ofSession = session === undefined ? undefined : (await this.read(session)).get(label);
    const cause = (await this.read(line)).get(label) ?? ofSession;
    if (cause === undefined) return false;
    const known = await this.#lineOf(line);
    await this.#parts.records.clear(known, { ...cleared, cause }, this.#parts.now());
    await this.#parts.store.clear(known, [label]);
    if (session !== undefined && ofSession !== undefined) await this.clear(session, [label]);
    return true;
  }

  /** Tries to write the waiting records and stops retrying. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#recording.ended();
  }

  /** Adds ancestors that the gateway may not know after a loss. @throws if they cannot be known yet */
  async #lineOf(line: LabelledLine): Promise<LabelledLine> {
    const { tenantId, runIds } = line;
    const nowMs = this.#parts.now();
    const lostAtMs = this.#lostAtMs.get(tenantId);
    if (isSessionLine(line) || lostAtMs === undefined || lostAtMs < nowMs - LINEAGE_LOST_MS) return line;
    const top = rootOf(line);
    const name = JSON.stringify([tenantId, top]);
    const cached = this.#lines.get(name);
    let above = cached !== undefined && cached.untilMs > nowMs ? cached.above : undefined;
    if (above === undefined) {
      const found = await this.#parts.records.ancestors(tenantId, top);
      if (found === undefined && nowMs < lostAtMs + SETTLING_MS)
        throw new Error('the parents of the run are unknown since the state store lost its data');
      above = found ?? [];
      this.#lines.set(name, { above, untilMs: nowMs + (found === undefined ? LINE_UNKNOWN_MS : LINE_KNOWN_MS) });
    }
    const [first, ...others] = runIds;
    return { tenantId, runIds: [first, ...others, ...above.filter((runId) => !runIds.includes(runId))] };
  }

  /** Asks the store again after each restoration. @throws StateUnavailable if the store does not keep its data */
  async #complete<T extends object>(
    line: LabelledLine,
    ask: (line: LabelledLine) => Promise<T | IncompleteLabels>,
  ): Promise<T> {
    for (let restorations = 0; ; restorations++) {
      const answer = await ask(await this.#lineOf(line));
      if (typeof answer !== 'string') return answer;
      if (restorations === MAX_RESTORATIONS) throw new StateUnavailable('labels', 'the store does not keep its data');
      await this.#restoring.run(line.tenantId, () => this.#restore(line.tenantId, answer));
    }
  }

  async #restore(tenantId: string, why: IncompleteLabels): Promise<void> {
    const { store, records, now, logger } = this.#parts;
    const nowMs = now();
    const { lostAtMs, salt } = await records.noteStore(tenantId, why === 'lost', nowMs);
    this.#salts.set(tenantId, salt);
    if (lostAtMs !== undefined) this.#lostAtMs.set(tenantId, lostAtMs);
    const sinceMs = why === 'lost' ? keptSinceMs(nowMs) : nowMs - UNVERIFIED_MS;
    let labels = 0;
    const pages = async function* () {
      for await (const page of records.pages(tenantId, sinceMs)) {
        labels += page.length;
        yield page;
      }
    };
    await store.restore(tenantId, pages());
    if (why !== 'lost' || lostAtMs === undefined) return;
    this.#losses.add(1);
    logger.warn({ tenantId, labels }, 'labels of run trees were lost in the state store and restored');
  }

  /** Retries until the labels are recorded, unless the database rejects them. Never rejects. */
  async #record(line: LabelledLine, labels: readonly string[], cause: LabelCause): Promise<void> {
    const { store, records, now, logger, drops } = this.#parts;
    const { tenantId } = line;
    const rows = labels.map((label) => ({ runId: rootOf(line), label, cause }));
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#progress.attempt(() => records.record(tenantId, rows, now()));
        // The store may have lost the labels before they were recorded, and been restored without them.
        await store.set(line, labels, cause);
        return;
      } catch (error) {
        const isRefused = isDataError(error);
        if (isRefused) this.#progress.succeeded();
        if (isRefused || this.#stopping.signal.aborted || this.#recording.size > MAX_WAITING) {
          drops.dropped('label_record', labels.length);
          logger.error({ err: error, tenantId, labels }, 'labels were not recorded');
          return;
        }
        logger.warn({ err: error, tenantId, attempt }, 'recording labels failed, will retry');
        await pause(RETRY_MS, undefined, { signal: this.#stopping.signal, ref: false }).catch(() => undefined);
      }
    }
  }
}

const NOT_STANDING: Problem = {
  error: 'The run has no such label',
  status: 404,
  hint: 'GET /api/runs/:id/labels lists the labels that stand.',
};

/** Handles commands on the labels of run trees. */
export class LabelCommands {
  constructor(private readonly labels: Pick<RecordedLabels, 'read' | 'clearFor'>) {}

  async read(question: QuestionOf<typeof COMMANDS.readLabels>) {
    const session = labelledSession(question);
    const ofSession = session === undefined ? [] : [...(await this.labels.read(session))];
    const standing = new Map([...ofSession, ...(await this.labels.read(lineOf(question)))]);
    const labels = [...standing].map(([label, { atMs, ...source }]) => ({
      label,
      source: { ...source, at: new Date(atMs).toISOString() },
    }));
    return { ok: true, value: { labels } } as const;
  }

  async clear({ label, author, reason, ...question }: QuestionOf<typeof COMMANDS.clearLabel>) {
    const cleared = { label, author, reason };
    const isCleared = await this.labels.clearFor(lineOf(question), labelledSession(question), cleared);
    return isCleared ? ({ ok: true, value: { ok: true } } as const) : ({ ok: false, problem: NOT_STANDING } as const);
  }
}

function lineOf({ tenantId, runIds }: { readonly tenantId: string; readonly runIds: readonly string[] }): LabelledLine {
  const [runId = '', ...ancestors] = runIds;
  return { tenantId, runIds: [runId, ...ancestors] };
}
