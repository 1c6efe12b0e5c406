import { Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { Flag, IdPath } from '../parameters.ts';

const TAG = 'Log';

const POSITION_RANGE = 'must be a whole number from 0 to 999999999999';
/** A position or a size in a log. */
const position = z
  .string(POSITION_RANGE)
  .regex(/^\d{1,12}$/, POSITION_RANGE)
  .transform(Number)
  .meta({ type: 'integer', minimum: 0, maximum: 999_999_999_999 });

export const getLogKey = operation({
  id: 'getLogKey',
  method: 'get',
  path: '/api/log/key',
  tag: TAG,
  summary: "The key that verifies checkpoints of the tenant's log. Keep it apart from the evidence.",
  scope: 'read',
  response: z.object({
    origin: z.string(),
    key: z.string().meta({ description: 'C2SP verifier key: name, key id and key, joined by plus signs.' }),
  }),
  problems: [404],
});

export const getLogCheckpoint = operation({
  id: 'getLogCheckpoint',
  method: 'get',
  path: '/api/log/checkpoint',
  tag: TAG,
  summary: "The newest signed checkpoint of the tenant's log. Keep it: later evidence must contain this log.",
  scope: 'read',
  query: z.object({
    witnessed: Flag.optional().meta({ description: 'The newest one that a witness cosigned. Default: the newest.' }),
  }),
  response: z.object({
    size: z.int(),
    at: Instant,
    note: z.string().meta({ description: 'C2SP signed note, with the cosignatures of witnesses that it has.' }),
    pending: z.int().meta({ description: 'Facts that are recorded and not in the log yet.' }),
    broken: z.string().optional().meta({ description: 'Why the log does not grow.' }),
  }),
  problems: [404],
});

export const getLogTile = operation({
  id: 'getLogTile',
  method: 'get',
  path: '/api/log/tiles/:level/:n',
  tag: TAG,
  summary: 'Hashes of a tile of the tree: 256, or fewer at its right edge.',
  scope: 'read',
  params: z.object({
    level: z
      .string()
      .regex(/^[0-5]$/, 'must be a number from 0 to 5')
      .transform(Number),
    n: position,
  }),
  response: z.object({ hashes: z.array(z.string()) }),
  problems: [404],
});

export const getLogInclusion = operation({
  id: 'getLogInclusion',
  method: 'get',
  path: '/api/log/inclusion',
  tag: TAG,
  summary: 'Proof that an entry is in the log, against the newest checkpoint.',
  scope: 'read',
  query: z.object({
    kind: z.string().min(1).max(40).default('decision'),
    id: z.string().min(1).max(200).meta({ description: 'Id of the decision or the change.' }),
  }),
  response: z.object({
    index: z.int(),
    size: z.int(),
    leaf: z.string(),
    proof: z.array(z.string()).meta({ description: 'Hashes in base64, nearest first.' }),
    text: z.string().meta({ description: 'The proof with its checkpoint, as C2SP tlog-proof.' }),
  }),
  problems: [404],
});

export const getLogConsistency = operation({
  id: 'getLogConsistency',
  method: 'get',
  path: '/api/log/consistency',
  tag: TAG,
  summary: 'Proof that a larger tree of the log starts with a smaller one.',
  scope: 'read',
  query: z.object({ from: position, to: position.optional().meta({ description: 'Default: the newest checkpoint.' }) }),
  response: z.object({ from: z.int(), to: z.int(), proof: z.array(z.string()) }),
  problems: [404],
});

export const LogFinding = z
  .object({
    problem: z.string().meta({
      description:
        'payload_differs, payload_missing, leaf_differs, leaf_missing, tile_differs, head_differs, checkpoint_differs, checkpoint_ahead, signature_differs, unsealed or log_broken.',
    }),
    index: z.int().optional(),
    kind: z.string().optional(),
    id: z.string().optional(),
    reason: z.string().optional(),
  })
  .meta({ id: 'LogFinding' });

/** Where a comparison goes on. */
const LogPosition = z.strictObject({
  from: z.int().min(0).max(999_999_999_999).default(0),
  fact: z
    .string()
    .regex(/^(decision|change):/, 'must be the "fact" of the last answer')
    .max(300)
    .optional()
    .meta({ description: 'Set once the log itself was compared: the last stored fact that was looked up in it.' }),
});

export const verifyLog = operation({
  id: 'verifyLog',
  method: 'post',
  path: '/api/log/verify',
  tag: TAG,
  summary:
    'Compare a part of the log with the rows of the database: 2,048 entries from `from` on with their tiles and ' +
    'checkpoints, at the end the head, then 4,096 stored facts at a time that must have an entry. Repeat with `next` ' +
    'as the body until it is absent.',
  scope: 'read',
  body: LogPosition.meta({ id: 'LogVerification' }),
  response: z.object({
    size: z.int(),
    checked: z.int(),
    erased: z.int(),
    next: z.object({ from: z.int(), fact: z.string().optional() }).optional(),
    findings: z.array(LogFinding),
  }),
});

const SINCE = z.object({
  since: position.optional().meta({ description: 'Size of a checkpoint that you kept; adds its consistency proof.' }),
});

export const Evidence = z
  .object({
    format: z.literal('agentlens-evidence/v1'),
    made: Instant,
    subject: z.object({ kind: z.enum(['run', 'decision', 'approval', 'order']), id: z.string() }),
    entries: z.array(
      z.object({
        index: z.int(),
        leaf: z.string(),
        salt: z.string().optional(),
        payload: z.string().optional(),
        memberSalt: z.string().optional(),
        members: z.record(z.string(), z.string()).optional(),
        withheld: z.enum(['redacted', 'erased']).optional(),
      }),
    ),
    hashes: z.array(z.string()),
    checkpoint: z.string(),
    consistency: z.array(z.object({ from: z.int(), hashes: z.array(z.string()) })).optional(),
    pending: z
      .int()
      .min(0)
      .meta({
        description:
          'Facts about the subject that are recorded and not in the checkpoint yet, so not in this evidence; at most ' +
          '1,000. The log takes up a fact within a few seconds: ask again until this is 0.',
      }),
  })
  .meta({ id: 'Evidence' });
export type Evidence = z.infer<typeof Evidence>;

export const getRunEvidence = operation({
  id: 'getRunEvidence',
  method: 'get',
  path: '/api/runs/:id/evidence',
  tag: TAG,
  summary: 'Every entry of a run with one proof, for the offline verifier.',
  scope: 'read',
  params: IdPath,
  query: SINCE,
  response: Evidence,
  problems: [404, 409],
});

export const getDecisionEvidence = operation({
  id: 'getDecisionEvidence',
  method: 'get',
  path: '/api/decisions/:id/evidence',
  tag: TAG,
  summary: 'The entry of a decision with its proof, for the offline verifier.',
  scope: 'read',
  params: IdPath,
  query: SINCE,
  response: Evidence,
  problems: [404, 409],
});

export const getApprovalEvidence = operation({
  id: 'getApprovalEvidence',
  method: 'get',
  path: '/api/approvals/:id/evidence',
  tag: TAG,
  summary: 'How an approval was asked for, decided and used, and the decisions about it, for the offline verifier.',
  scope: 'read',
  params: IdPath,
  query: SINCE,
  response: Evidence,
  problems: [404, 409],
});

export const getOrderEvidence = operation({
  id: 'getOrderEvidence',
  method: 'get',
  path: '/api/control/:id/evidence',
  tag: TAG,
  summary:
    'How an order was given and which instances acknowledged it, with the signature of each connection, for the ' +
    'offline verifier.',
  scope: 'read',
  params: IdPath,
  query: SINCE,
  response: Evidence,
  problems: [404, 409],
});
