import type { BreakerLimits } from '@agentlens/contracts';
import { type Breaker, type EventMark, joinTrees, type RunLine, type StoredBreaker } from '@agentlens/guardrails';
import type { BreakerTransactions, Revision } from './breaker-transactions.ts';

/** Maximum number of times that a tree is found to have become part of a further one. */
const MAX_READS = 32;

interface TreeQuestion {
  readonly tenantId: string;
  /** The agent that asks, or that reported the last event. */
  readonly agentId: string;
  readonly lines: readonly RunLine[];
  readonly events?: readonly EventMark[];
}

interface TreesNow {
  /** The topmost known run above a run of `lines`. */
  rootOf(runId: string): string;
  /** The breaker of a tree, with everything that was counted for its parts. */
  of(root: string): StoredBreaker;
}

interface ChangedTree {
  readonly breaker: Breaker;
  /** The agent whose usage led to the change. */
  readonly agentId?: string | undefined;
  readonly limits: BreakerLimits | null;
}

/**
 * Breakers of run trees. They are stored with the topmost known run; each transaction moves what was counted before a
 * run's ancestors were known.
 */
export class TreeBreakers {
  constructor(private readonly transactions: Pick<BreakerTransactions, 'revise'>) {}

  /** @throws StateUnavailable */
  async revise<T>(
    { lines, ...question }: TreeQuestion,
    work: (
      trees: TreesNow,
      counted: readonly number[],
    ) => {
      /** By topmost run. */
      readonly changes: ReadonlyMap<string, ChangedTree>;
      readonly events?: readonly EventMark[];
      readonly answer: T;
    },
  ): Promise<T> {
    let ids = [...new Set(lines.flat())];
    for (let reads = 0; reads < MAX_READS; reads++) {
      const refs = ids.map((scopeId) => ({ scope: 'tree', scopeId }) as const);
      const result = await this.transactions.revise<{ readonly missing: readonly string[] } | { readonly answer: T }>(
        { ...question, refs },
        (breakers, counted) => {
          const stored = new Map(breakers.map((one, at) => [ids[at] ?? '', one]));
          const known = new Map([...stored].map(([id, { breaker }]) => [id, breaker]));
          const { missing, rootOf, joined } = joinTrees(lines, known);
          if (missing.length > 0) return { revisions: [], answer: { missing } };
          const from = (id: string) => stored.get(id) as StoredBreaker;
          const of = (id: string) => ({ ...from(id), breaker: joined.get(id) ?? from(id).breaker });
          const { changes, events, answer } = work({ rootOf: (id) => rootOf.get(id) ?? id, of }, counted);
          const all = new Map<string, ChangedTree>([...joined].map(([id, breaker]) => [id, { breaker, limits: null }]));
          for (const [id, change] of changes) all.set(id, change);
          const revisions = [...all].map(
            ([id, { breaker, ...how }]): Revision => ({
              ref: { scope: 'tree', scopeId: id },
              from: from(id),
              to: breaker,
              ...how,
            }),
          );
          return { revisions, events, answer: { answer } };
        },
      );
      if ('answer' in result) return result.answer;
      ids = [...ids, ...result.missing];
    }
    throw new Error(`more than ${MAX_READS} run trees were joined one after another`);
  }
}
