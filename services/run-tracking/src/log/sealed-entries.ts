import type { LogPendingTable } from '@agentlens/database';
import {
  type ChangeRow,
  type DecisionRow,
  digestMembers,
  digestPayload,
  type EntryKind,
  readErasableMembers,
  SALT_BYTES,
  type WithheldDigests,
  writeChangePayload,
  writeDecisionPayload,
  writeLeaf,
  writePayload,
} from '@agentlens/log';
import type { Selectable } from 'kysely';

export type PendingEntry = Selectable<LogPendingTable>;

/** An entry with everything that is stored of it. */
export interface SealedEntry {
  readonly index: number;
  readonly kind: EntryKind;
  readonly id: string;
  readonly leaf: string;
  readonly salt: Buffer;
  readonly memberSalt: Buffer | null;
  readonly withheld: WithheldDigests | null;
  readonly body: string | null;
  readonly runId: string | null;
  readonly runEntry: number | null;
}

/** The rows that payloads are built from. */
export interface EntrySources {
  readonly decisions: ReadonlyMap<string, DecisionRow>;
  readonly changes: ReadonlyMap<string, ChangeRow>;
}

/** An entry whose row was removed before it was sealed has nothing to prove. */
export function canSeal({ kind, entry_id: id }: PendingEntry, { decisions, changes }: EntrySources): boolean {
  if (kind === 'decision') return decisions.has(id);
  return kind !== 'change' || changes.has(id);
}

interface Place {
  readonly index: number;
  readonly runEntry: number | undefined;
  readonly writer: string;
  /** Random bytes of this entry alone: its salt, and the salt of its members. */
  readonly salts: Buffer;
}

/** Random bytes that `sealEntry` needs. */
export const SALTS_BYTES = 2 * SALT_BYTES;

/** Makes the leaf of a pending entry. The entry must be one that can be sealed. */
export function sealEntry(
  pending: PendingEntry,
  sources: EntrySources,
  { index, runEntry, writer, salts }: Place,
): SealedEntry {
  const { entry_id: id, at, run_id: runId } = pending;
  // Only our services and triggers write pending entries, with kinds of the same list.
  const kind = pending.kind as EntryKind;
  const run = runId === null || runEntry === undefined ? undefined : { id: runId, entry: runEntry };
  const decision = kind === 'decision' ? sources.decisions.get(id) : undefined;
  const change = kind === 'change' ? sources.changes.get(id) : undefined;
  const salt = salts.subarray(0, SALT_BYTES);
  const members = decision === undefined ? {} : readErasableMembers(decision);
  const memberSalt = Object.keys(members).length === 0 ? null : salts.subarray(SALT_BYTES);
  const withheld = memberSalt === null ? null : digestMembers(memberSalt, members);
  const payload = () => {
    if (decision !== undefined && run !== undefined) return writeDecisionPayload(decision, run, withheld ?? {});
    if (change !== undefined) return writeChangePayload(change);
    return writePayload(kind, pending.payload, run);
  };
  const text = payload();
  return {
    ...{ index, kind, id, salt, memberSalt, withheld, runId },
    leaf: writeLeaf({ kind, id, at, digest: digestPayload(salt, text), writer }),
    body: decision === undefined && change === undefined ? text : null,
    runEntry: runEntry ?? null,
  };
}
