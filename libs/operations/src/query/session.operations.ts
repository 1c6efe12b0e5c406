import { Instant, SCOPES } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';

export const Me = z
  .object({
    tenantId: z.string(),
    keyId: z.string(),
    keyName: z.string(),
    scopes: z.array(z.enum(SCOPES)).meta({ description: '`admin` may do everything.' }),
    version: z.string().meta({ description: 'Of the platform.' }),
    now: z.string().meta({ description: "The platform's clock, for countdowns." }),
  })
  .meta({ id: 'Me' });

export const getMe = operation({
  id: 'getMe',
  method: 'get',
  path: '/api/me',
  tag: 'Session',
  summary: 'Who is asking: the tenant and the key, and what the key may do.',
  scope: 'read',
  response: Me,
});

export const createSession = operation({
  id: 'createSession',
  method: 'post',
  path: '/api/session',
  tag: 'Session',
  summary: 'Exchanges an API key, or the code of a sign-in link, for the session cookie of a browser.',
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
  summary: 'Ends the session of this browser. The key stays as it is.',
  scope: null,
  response: z.object({ ok: z.literal(true) }),
});

export const createSignInCode = operation({
  id: 'createSignInCode',
  method: 'post',
  path: '/api/session/codes',
  tag: 'Session',
  summary: 'A code that signs a browser in once with this key, within an hour: /sign-in#code=…',
  scope: 'read',
  once: true,
  status: 201,
  response: z.object({ code: z.string(), expiresAt: Instant }),
});
