import { displayName, PERSON_SCOPES, Way } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';

const TAG = 'Session';
/** 32 bytes in base64url: a SHA-256, or the secret that it was made from. */
const Bytes32 = z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'must be 32 bytes in base64url');

export const confirmLogin = operation({
  id: 'confirmLogin',
  method: 'post',
  path: '/api/me/logins',
  tag: TAG,
  summary:
    'Let the program that made this challenge have a personal key of yours. It must collect the key within five ' +
    'minutes. Only from a console session.',
  scope: 'read',
  body: z.strictObject({
    challenge: Bytes32.meta({ description: 'SHA-256 of the secret that only the program knows, in base64url.' }),
    name: displayName(z.string().trim()),
    via: z.enum(['cli', 'mcp']).default('cli'),
    scopes: z.array(z.enum(PERSON_SCOPES)).min(1).max(PERSON_SCOPES.length).default(['read', 'review']),
    days: z.int().min(1).max(90).default(30),
  }),
  response: z.object({ confirmed: z.literal(true) }),
  problems: [409],
});

export const collectLogin = operation({
  id: 'collectLogin',
  method: 'post',
  path: '/api/login',
  tag: TAG,
  summary: 'Collect the personal key of a confirmed login, once. `pending` until a person confirms it in the console.',
  scope: null,
  body: z.strictObject({
    verifier: Bytes32.meta({ description: 'The secret whose SHA-256 is the challenge.' }),
  }),
  response: z.object({
    status: z.enum(['pending', 'confirmed']),
    key: z.string().optional().meta({ description: 'The personal key, shown only here.' }),
    person: z.string().optional(),
    via: Way.optional(),
  }),
  problems: [410],
});
