import { createHash } from 'node:crypto';
import { canonicalJson } from '@agentlens/contracts';

/** Kinds of entries. A verifier accepts kinds that it does not know. */
const ENTRY_KINDS = [
  'decision',
  'change',
  'approval',
  'control',
  'ack',
  'erasure',
  'retention',
  'log_key',
  'epoch',
] as const;
export type EntryKind = (typeof ENTRY_KINDS)[number];

export const SALT_BYTES = 16;
const DIGEST_PREFIX = 'agentlens/entry/v2\n';
const MEMBER_PREFIX = 'agentlens/member/v2\n';

/**
 * What a leaf says. It outlives the erasure of its payload, so it names no person, agent or run. `id` is an id of the
 * platform; clients do not choose it.
 */
export interface Leaf {
  readonly kind: EntryKind;
  readonly id: string;
  readonly at: string;
  /** Digest of salt and payload, in hex. */
  readonly digest: string;
  readonly writer: string;
}

/** Exact text of a leaf: canonical JSON with the version of its form. */
export function writeLeaf({ kind, id, at, digest, writer }: Leaf): string {
  return canonicalJson({ v: 2, kind, id, at, digest, writer });
}

/** Digest of an entry's payload. The salt prevents guessing a small payload after its erasure. */
export function digestPayload(salt: Uint8Array, payload: string): string {
  return createHash('sha256').update(DIGEST_PREFIX).update(salt).update(payload, 'utf8').digest('hex');
}

/** Digest of a member that can be withheld. Its salt is erased with the member, while the payload stays provable. */
export function digestMember(salt: Uint8Array, name: string, value: string): string {
  return createHash('sha256')
    .update(MEMBER_PREFIX)
    .update(salt)
    .update(`${JSON.stringify(name)}\n${value}`, 'utf8')
    .digest('hex');
}
