import { checkLog, type LogCheck, type LogCheckPosition, readDecisionRows, tilesFrom } from '@agentlens/database';
import {
  countTileHashes,
  HASH_BYTES,
  isMissingTile,
  type ProofPart,
  planConsistency,
  planInclusion,
  planSharedProof,
  readErasableMembers,
  TILE_WIDTH,
  type TileResource,
  TreeReader,
  writeDecisionPayload,
  writeEntryBundle,
  writeProof,
  writeVerifierKey,
} from '@agentlens/log';
import type { Evidence } from '@agentlens/operations';
import { ProblemException } from '@agentlens/platform';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type ReadOnly, TenantReads } from '../http/tenant-reads.ts';
import {
  countPendingFacts,
  type EntryRow,
  type EvidenceSubject,
  MAX_ENTRIES,
  readSubjectEntries,
} from './subject-entries.ts';

interface SignedTree {
  readonly size: number;
  readonly note: string;
  readonly at: string;
}

/** Reads a tenant's provable log. Proofs are against the newest checkpoint. */
@Injectable()
export class LogQueries {
  constructor(private readonly reads: TenantReads) {}

  key(tenantId: string) {
    return this.reads.read(tenantId, async (db) => {
      const { rows } = await sql<{ log_id: string; public_key: Buffer; note: string }>`
        select h.log_id, k.public_key, c.note from log_heads h, log_keys k, log_checkpoints c
        where h.tenant_id = ${tenantId} and c.tenant_id = ${tenantId} order by c.size desc limit 1`.execute(db);
      const [row] = rows;
      const origin = row?.note.slice(0, row.note.indexOf('\n'));
      return row && origin !== undefined ? { origin, key: writeVerifierKey(origin, row.public_key) } : undefined;
    });
  }

  /** @param witnessed the newest one that a witness cosigned */
  checkpoint(tenantId: string, witnessed = false) {
    return this.reads.read(tenantId, async (db) => {
      const tree = await (witnessed ? readWitnessed(db, tenantId) : readNewest(db, tenantId));
      if (tree === undefined) return undefined;
      const { rows } = await sql<{ pending: number }>`
        select count(*)::int as pending from log_pending where tenant_id = ${tenantId}`.execute(db);
      return { ...tree, pending: rows[0]?.pending ?? 0, broken: await readBroken(db, tenantId) };
    });
  }

  tile(tenantId: string, level: number, n: number): Promise<readonly string[] | undefined> {
    return this.reads.read(tenantId, async (db) => {
      const width = countTileHashes(level, n, (await readNewest(db, tenantId))?.size ?? 0);
      if (width === 0) return undefined;
      const bytes = await tilesFrom(db, tenantId).readTile(level, n, width);
      return Array.from({ length: bytes.length / HASH_BYTES }, (_, at) =>
        bytes.toString('base64', at * HASH_BYTES, (at + 1) * HASH_BYTES),
      );
    });
  }

  /** Bytes of a tile or an entry bundle that the newest checkpoint needs, or needed; undefined if there is none. */
  resource(tenantId: string, { level, n, width }: TileResource): Promise<Buffer | undefined> {
    return this.reads.read(tenantId, async (db) => {
      const size = (await readNewest(db, tenantId))?.size ?? 0;
      if (countTileHashes(level === 'entries' ? 0 : level, n, size) < width) return undefined;
      if (level !== 'entries') return tilesFrom(db, tenantId).readTile(level, n, width);
      const from = n * TILE_WIDTH;
      const { rows } = await sql<{ leaf: string }>`
        select leaf from log_leaves where tenant_id = ${tenantId} and index >= ${from} and index < ${from + width}
        order by index`.execute(db);
      return writeEntryBundle(rows.map(({ leaf }) => leaf));
    });
  }

  inclusion(tenantId: string, kind: string, id: string) {
    return this.reads.read(tenantId, async (db) => {
      const tree = await readNewest(db, tenantId);
      const row = await db
        .selectFrom('log_leaves')
        .select(['index', 'leaf'])
        .where('tenant_id', '=', tenantId)
        .where('kind', '=', kind)
        .where('entry_id', '=', id)
        .executeTakeFirst();
      if (tree === undefined || row === undefined || row.index >= tree.size) return undefined;
      const proof = await prove(db, tenantId, tree.size, planInclusion(row.index, tree.size));
      const text = writeProof(row.index, proof, tree.note);
      return { index: row.index, size: tree.size, leaf: row.leaf, proof: toTexts(proof), text };
    });
  }

  consistency(tenantId: string, from: number, to: number | undefined) {
    return this.reads.read(tenantId, async (db) => {
      const newest = await readNewest(db, tenantId);
      if (newest === undefined) return undefined;
      const size = to ?? newest.size;
      if (from < 1) throw refuse('from must be at least 1: every log starts with the empty one');
      if (size > newest.size) throw refuse(`to must be at most ${newest.size}, the size of the newest checkpoint`);
      if (from > size) throw refuse(`from must be at most ${size}`);
      return { from, to: size, proof: await proveConsistency(db, tenantId, from, size) };
    });
  }

  check(tenantId: string, position: LogCheckPosition): Promise<LogCheck> {
    return this.reads.read(tenantId, (db) => checkLog(db, tenantId, position));
  }

  /**
   * What the newest checkpoint contains about the subject. A run that goes on has always facts that it does not contain.
   *
   * @throws ProblemException 404 if nothing is recorded, 409 `not_sealed` if no checkpoint contains any of it yet
   */
  evidence(tenantId: string, subject: EvidenceSubject, since: number | undefined, made: string) {
    return this.reads.read(tenantId, async (db): Promise<Evidence> => {
      // First, so that a fact that is sealed meanwhile is among the entries.
      const waiting = await countPendingFacts(db, tenantId, subject);
      const rows = await readSubjectEntries(db, tenantId, subject);
      if (rows.length > MAX_ENTRIES)
        throw new ProblemException(409, `The ${subject.kind} has more than ${MAX_ENTRIES} entries`, {
          hint: 'Ask for the evidence of single decisions.',
        });
      const newest = await readNewest(db, tenantId);
      const signed = rows.filter(({ index }) => index < (newest?.size ?? 0));
      const pending = waiting + rows.length - signed.length;
      if (newest === undefined || signed.length === 0)
        throw pending === 0 ? nothingAbout(subject) : await explainWaiting(db, tenantId, subject);
      if (since !== undefined && (since < 1 || since > newest.size))
        throw refuse(`since must be from 1 to ${newest.size}, the size of the newest checkpoint`);
      const indices = signed.map(({ index }) => index);
      const witnessed = await readWitnessed(db, tenantId);
      const needed = Math.max(since ?? 0, ...indices.map((index) => index + 1));
      // A little older, and worth more: as long as it contains all that the newest one would show.
      const tree = witnessed !== undefined && witnessed.size >= needed ? witnessed : newest;
      const hashes = await prove(db, tenantId, tree.size, planSharedProof(indices, tree.size));
      return {
        format: 'agentlens-evidence/v1',
        ...{ made, subject },
        entries: await showEntries(db, tenantId, signed),
        hashes: toTexts(hashes),
        checkpoint: tree.note,
        ...(since !== undefined && {
          consistency: [{ from: since, hashes: await proveConsistency(db, tenantId, since, tree.size) }],
        }),
        pending,
      };
    });
  }
}

const refuse = (error: string) => new ProblemException(400, error);
const nothingAbout = ({ kind }: EvidenceSubject) =>
  new ProblemException(404, 'Evidence not found', {
    hint: `The log has nothing about this ${kind}. It records decisions, approvals, orders and acknowledgements, a few seconds after they happened.`,
  });

/** Why there is no evidence of what is recorded, and when there will be. */
async function explainWaiting(db: ReadOnly, tenantId: string, { kind }: EvidenceSubject): Promise<ProblemException> {
  const broken = await readBroken(db, tenantId);
  return broken === undefined
    ? new ProblemException(409, `The log does not contain this ${kind} yet`, {
        ...{ code: 'not_sealed', headers: { 'retry-after': '1' } },
        hint: 'It takes up a fact within a few seconds. Try again in a second.',
      })
    : new ProblemException(409, `The log does not grow, so it does not contain this ${kind}: ${broken}`, {
        hint: 'agentlens log verify names the first entry that differs.',
      });
}

async function readBroken(db: ReadOnly, tenantId: string): Promise<string | undefined> {
  const head = await db.selectFrom('log_heads').select('broken').where('tenant_id', '=', tenantId).executeTakeFirst();
  return head?.broken ?? undefined;
}
const toTexts = (hashes: readonly Buffer[]) => hashes.map((hash) => hash.toString('base64'));

/** The newest checkpoint with the cosignatures that it has. */
async function readNewest(db: ReadOnly, tenantId: string): Promise<SignedTree | undefined> {
  const tree = await db
    .selectFrom('log_checkpoints')
    .select(['size', 'note', 'at'])
    .where('tenant_id', '=', tenantId)
    .orderBy('size', 'desc')
    .executeTakeFirst();
  return tree && withCosignatures(db, tenantId, tree);
}

/** The newest checkpoint that a witness cosigned: the newest of all is cosigned up to a minute later. */
async function readWitnessed(db: ReadOnly, tenantId: string): Promise<SignedTree | undefined> {
  const tree = await db
    .selectFrom('log_checkpoints')
    .select(['size', 'note', 'at'])
    .where('tenant_id', '=', tenantId)
    .where('size', '=', (of) =>
      of
        .selectFrom('log_cosignatures')
        .select((sizes) => sizes.fn.max('size').as('size'))
        .where('tenant_id', '=', tenantId),
    )
    .executeTakeFirst();
  return tree && withCosignatures(db, tenantId, tree);
}

async function withCosignatures(db: ReadOnly, tenantId: string, tree: SignedTree): Promise<SignedTree> {
  const lines = await db
    .selectFrom('log_cosignatures')
    .select('line')
    .where('tenant_id', '=', tenantId)
    .where('size', '=', tree.size)
    .orderBy('witness')
    .execute();
  return { ...tree, note: tree.note + lines.map(({ line }) => `${line}\n`).join('') };
}

async function proveConsistency(db: ReadOnly, tenantId: string, from: number, to: number): Promise<string[]> {
  return toTexts(await prove(db, tenantId, to, planConsistency(from, to)));
}

/** @throws ProblemException 409 if parts of the log are missing */
async function prove(db: ReadOnly, tenantId: string, size: number, parts: readonly ProofPart[]): Promise<Buffer[]> {
  try {
    return await new TreeReader(tilesFrom(db, tenantId), size).prove(parts);
  } catch (error) {
    if (!isMissingTile(error)) throw error;
    throw new ProblemException(409, `Parts of the log of ${size} entries are missing`, {
      hint: 'agentlens log verify names the first of them.',
    });
  }
}

async function showEntries(db: ReadOnly, tenantId: string, rows: readonly EntryRow[]): Promise<Evidence['entries']> {
  const ids = rows.filter(({ kind }) => kind === 'decision').map(({ entry_id: id }) => id);
  const decisions = await readDecisionRows(db, tenantId, ids);
  return rows.map(({ index, leaf, entry_id: id, salt, member_salt: memberSalt, withheld, body, run_entry: entry }) => {
    const decision = decisions.get(id);
    const payload =
      decision === undefined
        ? body
        : writeDecisionPayload(decision, { id: decision.run_id, entry: entry ?? 0 }, withheld ?? {});
    if (salt === null || payload === null) return { index, leaf, withheld: 'erased' as const };
    const members = decision === undefined || memberSalt === null ? {} : readErasableMembers(decision);
    return {
      ...{ index, leaf, salt: salt.toString('base64'), payload },
      ...(memberSalt !== null && { memberSalt: memberSalt.toString('base64'), members }),
    };
  });
}
