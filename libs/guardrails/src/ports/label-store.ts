import type { DecisionRequest } from '@agentlens/contracts';
import type { PrintPlace } from '../flow/fingerprints.ts';

/** A run and its ancestors, nearest first. Its labels are those of any of these runs. */
export interface LabelledLine {
  readonly tenantId: string;
  readonly runIds: readonly [string, ...string[]];
}

/** The call that first set a label. */
export interface LabelCause {
  readonly runId: string;
  readonly agentId: string;
  readonly toolName: string;
  /** The client's id of the call, if it has one. */
  readonly callId?: string;
  readonly atMs: number;
}

/** What becomes known about a source call. */
export type EvidenceNote =
  /** It was allowed; its result is not known yet. */
  | { readonly kind: 'called'; readonly call: string }
  /** Its result is known. */
  | {
      readonly kind: 'returned';
      readonly call: string;
      readonly cause: LabelCause;
      readonly prints: ReadonlyMap<string, PrintPlace>;
      readonly isComplete: boolean;
    };

/** Fingerprints of a call that results of source calls have too. */
export interface SharedPrints {
  /** False if a source call has no result yet, or not all of its fingerprints are stored. */
  readonly isComplete: boolean;
  readonly found: readonly { readonly print: string; readonly place: PrintPlace; readonly source: LabelCause }[];
}

/** Labels of run trees as rules see them. Every method is atomic per run and idempotent. */
export interface RunLabels {
  /**
   * Sets labels on the tree. A label that stands keeps its first cause.
   * @returns the labels for which the tree has no room; the others are set
   */
  set(line: LabelledLine, labels: readonly string[], cause: LabelCause): Promise<readonly string[]>;
  /** The labels that stand for the run, with their first cause. */
  read(line: LabelledLine): Promise<ReadonlyMap<string, LabelCause>>;
  /** Removes labels from the run and its ancestors. */
  clear(line: LabelledLine, labels: readonly string[]): Promise<void>;
  /** Notes a source call of labels that stand. */
  note(line: LabelledLine, labels: readonly string[], note: EvidenceNote): Promise<void>;
  compare(line: LabelledLine, label: string, prints: readonly string[]): Promise<SharedPrints>;
  /** Salt of the tenant's fingerprints. */
  salt(tenantId: string): Promise<string>;
}

/** A label and the run that it is stored with. */
export interface StoredLabel {
  readonly runId: string;
  readonly label: string;
  readonly cause: LabelCause;
}

/**
 * Why a store must be restored before it answers. `lost`: it has no record of ever being complete, because it is new
 * or lost its data. `unverified`: it may have lost its latest labels, because this process has just connected or
 * another process restored it.
 */
export type IncompleteLabels = 'lost' | 'unverified';

/**
 * Shared memory for the labels of run trees: at most 64 per tree, kept for 7 days after they were last set or read. A
 * label is stored with the topmost known run, so that every run of the tree finds it. At most 4,000 fingerprints are
 * kept for each label of a tree; clearing the label removes them. The store notices if it loses its data, and then
 * answers only after it was restored.
 */
export interface LabelStore extends Pick<RunLabels, 'clear' | 'note' | 'compare'> {
  /** @returns the labels that did not stand before, and those for which the tree has no room */
  set(
    line: LabelledLine,
    labels: readonly string[],
    cause: LabelCause,
  ): Promise<{ readonly added: readonly string[]; readonly rejected: readonly string[] } | IncompleteLabels>;
  read(line: LabelledLine): Promise<ReadonlyMap<string, LabelCause> | IncompleteLabels>;
  /**
   * Adds labels that do not stand, and then counts as complete for this process.
   * @returns false if the store lost its data meanwhile
   */
  restore(tenantId: string, pages: AsyncIterable<readonly StoredLabel[]>): Promise<boolean>;
}

export function labelledLine({ tenantId, runId, ancestors = [] }: DecisionRequest): LabelledLine {
  return { tenantId, runIds: [runId, ...ancestors] };
}

/** Labels of a session are stored as those of a run with an id that no client can send. */
const SESSION_RUN = '\u0001session\u0001';
/** The name of a label is without a colon. */
const SESSION_LABEL = 'session:';

/** The line that holds the labels of a session; undefined for a run without a session. */
export function labelledSession({
  tenantId,
  sessionId,
}: Pick<DecisionRequest, 'tenantId' | 'sessionId'>): LabelledLine | undefined {
  return sessionId === undefined ? undefined : { tenantId, runIds: [`${SESSION_RUN}${sessionId}`] };
}

/** Names a label of the session in facts and needs, where labels of the run tree have their own name. */
export function nameSessionLabel(label: string): string {
  return `${SESSION_LABEL}${label}`;
}

/** Splits names of labels into those of the run tree and those of the session. */
export function splitLabels(names: readonly string[]): { readonly tree: string[]; readonly session: string[] } {
  const isSession = (name: string) => name.startsWith(SESSION_LABEL);
  return {
    tree: names.filter((name) => !isSession(name)),
    session: names.filter(isSession).map((name) => name.slice(SESSION_LABEL.length)),
  };
}

/** True if the line holds labels of a session, which has no ancestors. */
export function isSessionLine({ runIds: [first] }: LabelledLine): boolean {
  return first.startsWith(SESSION_RUN);
}

/** The topmost known run of a line. */
export function rootOf({ runIds }: LabelledLine): string {
  return runIds.at(-1) ?? runIds[0];
}

/** Returns the cause that came first; of two at the same time, the first argument. */
export function firstCause(one: LabelCause | undefined, other: LabelCause): LabelCause {
  return one === undefined || other.atMs < one.atMs ? other : one;
}
