import {
  type ChangeRow,
  type DecisionRow,
  digestMembers,
  digestPayload,
  readErasableMembers,
  TILE_WIDTH,
  type WithheldDigests,
  writeChangePayload,
  writeDecisionPayload,
  writeLeaf,
} from '@agentlens/log';
import { type Kysely, type Selectable, sql } from 'kysely';
import type { LogPayloadsTable, Tables } from '../schema/tables.ts';
import { checkCheckpoints, checkEnds, checkTiles, checkUpperTiles } from './check-tree.ts';
import { FIRST_FACT, findUnsealed } from './find-unsealed.ts';
import { readChangeRows, readDecisionRows } from './log-rows.ts';

/** What can be wrong with a log, from the entry outwards. */
const LOG_PROBLEMS = [
  'payload_differs',
  'payload_missing',
  'leaf_differs',
  'leaf_missing',
  'tile_differs',
  'head_differs',
  'checkpoint_differs',
  'checkpoint_ahead',
  'signature_differs',
  'unsealed',
  'log_broken',
] as const;

export interface LogFinding {
  readonly problem: (typeof LOG_PROBLEMS)[number];
  readonly index?: number;
  readonly kind?: string;
  readonly id?: string;
  /** Why the log does not grow. */
  readonly reason?: string;
}

/** Where a check goes on: at a position of the log, then at a stored fact that must have an entry. */
export interface LogCheckPosition {
  readonly from: number;
  readonly fact?: string | undefined;
}

export interface LogCheck {
  readonly size: number;
  /** Entries that this call checked. */
  readonly checked: number;
  /** Entries whose content was erased or is past retention. */
  readonly erased: number;
  /** Where the next call goes on; absent when everything is checked. */
  readonly next?: LogCheckPosition;
  readonly findings: readonly LogFinding[];
}

/** Entries of one call: bounded work, whole tiles. */
const ENTRIES_AT_ONCE = 8 * TILE_WIDTH;
const FINDINGS_AT_ONCE = 100;

type PayloadRow = Selectable<LogPayloadsTable>;

/**
 * Compares a part of a tenant's log with the rows it is about: payloads, leaves, tiles and checkpoints from `from` on;
 * after the last part the head, and then, part by part, stored facts that have no entry. Call it in one transaction.
 */
export async function checkLog(
  db: Kysely<Tables>,
  tenantId: string,
  { from, fact }: LogCheckPosition = { from: 0 },
): Promise<LogCheck> {
  const head = await db.selectFrom('log_heads').selectAll().where('tenant_id', '=', tenantId).executeTakeFirst();
  const size = head?.size ?? 0;
  if (fact !== undefined) {
    const { findings, next } = await findUnsealed(db, tenantId, fact);
    return { ...{ size, checked: 0, erased: 0, findings }, ...(next !== undefined && { next: { from, fact: next } }) };
  }
  const start = Math.floor(from / TILE_WIDTH) * TILE_WIDTH;
  const end = Math.min(size, start + ENTRIES_AT_ONCE);
  const part = await checkPart(db, tenantId, start, end);
  const isLast = end >= size;
  const findings = isLast ? [...part.findings, ...(await checkEnds(db, tenantId, head))] : part.findings;
  return {
    ...{ size, checked: Math.max(0, end - start), erased: part.erased },
    next: isLast ? { from: size, fact: FIRST_FACT } : { from: end },
    findings: findings.slice(0, FINDINGS_AT_ONCE),
  };
}

async function checkPart(db: Kysely<Tables>, tenantId: string, start: number, end: number) {
  const inPart = sql<boolean>`tenant_id = ${tenantId} and index >= ${start} and index < ${end}`;
  const leaves = await db.selectFrom('log_leaves').selectAll().where(inPart).orderBy('index').execute();
  const payloads = await db.selectFrom('log_payloads').selectAll().where(inPart).execute();
  const byIndex = new Map(payloads.map((row) => [row.index, row]));
  const idsOf = (kind: string) => leaves.filter((leaf) => leaf.kind === kind).map((leaf) => leaf.entry_id);
  const decisions = await readDecisionRows(db, tenantId, idsOf('decision'));
  const changes = await readChangeRows(db, tenantId, idsOf('change'));
  const removed = await readRemoved(db, tenantId, start, end);

  const findings: LogFinding[] = [];
  let erased = 0;
  const leafAt = new Map(leaves.map((row) => [row.index, row]));
  for (let index = start; index < end; index++) {
    const row = leafAt.get(index);
    if (row === undefined) {
      findings.push({ problem: 'leaf_missing', index });
      continue;
    }
    const place = { index, kind: row.kind, id: row.entry_id };
    const leaf = parseLeaf(row.leaf);
    const { kind = '', id = '', at = '', digest = '', writer = '' } = leaf;
    const isOurs =
      kind === row.kind &&
      id === row.entry_id &&
      writeLeaf({ kind: row.kind as Parameters<typeof writeLeaf>[0]['kind'], id, at, digest, writer }) === row.leaf;
    if (!isOurs) findings.push({ problem: 'leaf_differs', ...place });
    const payload = byIndex.get(index);
    const text = payload && rebuild(payload, decisions, changes);
    if (payload === undefined || text === undefined) {
      if (removed(index)) erased += 1;
      else findings.push({ problem: 'payload_missing', ...place });
    } else if (digestPayload(payload.salt, text) !== digest) findings.push({ problem: 'payload_differs', ...place });
    else if (hidesOtherMembers(payload, decisions)) findings.push({ problem: 'payload_differs', ...place });
  }
  const leafTexts = leaves.map(({ index, leaf }) => ({ index, leaf }));
  findings.push(...(await checkTiles(db, tenantId, start, end, leafTexts)));
  findings.push(...(await checkUpperTiles(db, tenantId, start, end)));
  findings.push(...(await checkCheckpoints(db, tenantId, start, end, leafTexts)));
  return { findings, erased };
}

/** The members of a leaf; none if it is not JSON, because the table was tampered with. */
function parseLeaf(text: string): Readonly<Record<string, string>> {
  try {
    const leaf: unknown = JSON.parse(text);
    return typeof leaf === 'object' && leaf !== null ? (leaf as Record<string, string>) : {};
  } catch {
    return {};
  }
}

/** The text of a payload, or undefined if the row that it is built from is gone. */
function rebuild(
  { kind, entry_id: id, body, run_id: runId, run_entry: entry, withheld }: PayloadRow,
  decisions: ReadonlyMap<string, DecisionRow & { readonly run_id: string }>,
  changes: ReadonlyMap<string, ChangeRow>,
): string | undefined {
  if (kind === 'decision') {
    const row = decisions.get(id);
    // The row's own run, so that a decision that was moved to another run is found.
    const run = { id: row?.run_id ?? runId ?? '', entry: entry ?? 0 };
    return row && writeDecisionPayload(row, run, (withheld ?? {}) as WithheldDigests);
  }
  if (kind === 'change') {
    const row = changes.get(id);
    return row && writeChangePayload(row);
  }
  return body ?? undefined;
}

/** Arguments that were changed, not erased. */
function hidesOtherMembers(payload: PayloadRow, decisions: ReadonlyMap<string, DecisionRow>): boolean {
  const row = payload.kind === 'decision' ? decisions.get(payload.entry_id) : undefined;
  if (row === undefined || payload.member_salt === null) return false;
  const found = digestMembers(payload.member_salt, readErasableMembers(row));
  const expected = (payload.withheld ?? {}) as WithheldDigests;
  return [...new Set([...Object.keys(found), ...Object.keys(expected)])].some((name) => found[name] !== expected[name]);
}

/** Whether an entry of erasure or retention covers an index. */
async function readRemoved(db: Kysely<Tables>, tenantId: string, start: number, end: number) {
  const { rows } = await sql<{ first: number; last: number }>`
    select (r->>0)::bigint as first, (r->>1)::bigint as last
    from log_payloads p cross join lateral jsonb_array_elements(coalesce(
      p.body::jsonb->'erasure'->'ranges', p.body::jsonb->'retention'->'ranges', '[]'::jsonb)) as r
    where p.tenant_id = ${tenantId} and p.kind in ('erasure', 'retention')
      and (r->>0)::bigint < ${end} and (r->>1)::bigint >= ${start}`.execute(db);
  const covered = new Set<number>();
  for (const { first, last } of rows)
    for (let index = Math.max(first, start); index <= Math.min(last, end - 1); index++) covered.add(index);
  return (index: number) => covered.has(index);
}
