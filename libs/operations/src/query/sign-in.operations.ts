import { Instant, RoleGrant, SCOPES, Way } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { IdPath } from '../parameters.ts';

export const Me = z
  .object({
    tenantId: z.string(),
    keyId: z.string(),
    keyName: z.string(),
    scopes: z.array(z.enum(SCOPES)).meta({ description: '`admin` includes all others.' }),
    version: z.string().meta({ description: 'Version of the platform.' }),
    now: z.string().meta({ description: "The platform's clock, for countdowns." }),
    person: z
      .object({
        id: z.string(),
        name: z.string(),
        via: Way,
        signedInAt: Instant,
        grants: z.array(RoleGrant),
        teams: z.array(z.string()),
      })
      .optional()
      .meta({ description: 'The signed-in person. Absent for a key of a program.' }),
    breakGlass: z.literal(true).optional().meta({ description: 'The session of a break-glass key.' }),
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
    .strictObject({ key: z.string().max(200).optional(), code: z.string().max(2_000).optional() })
    .refine(({ key, code }) => (key === undefined) !== (code === undefined), {
      message: 'needs either "key" or "code"',
    }),
  response: z.object({
    ok: z.literal(true),
    returnTo: z.string().optional().meta({ description: 'Path of the console that the sign-in began at.' }),
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
  summary: 'End the session of this browser, on the server too. The key is not affected.',
  scope: null,
  response: z.object({ ok: z.literal(true) }),
});

const BrowserSession = z
  .object({
    id: z.string(),
    keyId: z.string(),
    keyName: z.string(),
    userAgent: z.string().meta({ description: 'As the browser sent it.' }),
    createdAt: Instant,
    expiresAt: Instant,
    isCurrent: z.boolean().meta({ description: 'True for the session of this request.' }),
  })
  .meta({ id: 'BrowserSession' });

export const listBrowserSessions = operation({
  id: 'listBrowserSessions',
  method: 'get',
  path: '/api/browser-sessions',
  tag: 'Session',
  summary:
    'Browsers that are signed in, newest first, at most 100. Without the scope admin: with the key of the caller.',
  scope: 'read',
  response: z.object({ sessions: z.array(BrowserSession) }),
});

export const endBrowserSession = operation({
  id: 'endBrowserSession',
  method: 'delete',
  path: '/api/browser-sessions/:id',
  tag: 'Session',
  summary: 'Sign a browser out. Its cookie is rejected everywhere within 5 seconds. The key is not affected.',
  scope: 'read',
  params: IdPath,
  response: z.object({ id: z.string(), ended: z.literal(true) }),
  problems: [404],
});

export const endOwnSessions = operation({
  id: 'endOwnSessions',
  method: 'post',
  path: '/api/me/end-sessions',
  tag: 'Session',
  summary: 'Sign the caller out in every browser, this one included: all sessions of the person, or of the key.',
  scope: 'read',
  body: z
    .strictObject({
      personalKeys: z.boolean().default(false).meta({ description: 'Also revoke the personal keys of the person.' }),
    })
    .prefault({}),
  response: z.object({ ended: z.int() }),
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
