import { Instant, SCOPES } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';

export const Me = z
  .object({
    tenantId: z.string(),
    keyId: z.string(),
    keyName: z.string(),
    scopes: z.array(z.enum(SCOPES)).meta({ description: '`admin` includes all others.' }),
    version: z.string().meta({ description: 'Version of the platform.' }),
    now: z.string().meta({ description: "The platform's clock, for countdowns." }),
  })
  .meta({ id: 'Me' });

export const getMe = operation({
  id: 'getMe',
  method: 'get',
  path: '/api/me',
  tag: 'Session',
  summary: 'Tenant, key and scopes of the caller.',
  scope: 'read',
  response: Me,
});

export const createSession = operation({
  id: 'createSession',
  method: 'post',
  path: '/api/session',
  tag: 'Session',
  summary: 'Exchange an API key, or the code of a sign-in link, for a browser session cookie.',
  scope: null,
  body: z
    .strictObject({ key: z.string().max(200).optional(), code: z.string().max(1_000).optional() })
    .refine(({ key, code }) => (key === undefined) !== (code === undefined), {
      message: 'needs either "key" or "code"',
    }),
  response: z.object({
    ok: z.literal(true),
    pageSecret: z.string().meta({
      description:
        'The page sends it as `x-agentlens-page` with every request of this session that changes something. The cookie alone only reads: browsers send it to every port of the host.',
    }),
  }),
  problems: [401, 403],
});

export const endSession = operation({
  id: 'endSession',
  method: 'delete',
  path: '/api/session',
  tag: 'Session',
  summary: 'End the session of this browser. The key is not affected.',
  scope: null,
  response: z.object({ ok: z.literal(true) }),
});

export const createSignInCode = operation({
  id: 'createSignInCode',
  method: 'post',
  path: '/api/session/codes',
  tag: 'Session',
  summary: 'Create a code that signs in one browser with this key, within an hour: /sign-in#code=…',
  scope: 'read',
  once: true,
  status: 201,
  response: z.object({ code: z.string(), expiresAt: Instant }),
});
