import {
  AgentPattern,
  ClientId,
  displayName,
  IdentityProviderDraft,
  Instant,
  PERSON_SCOPES,
  Role,
  RoleGrant,
  TeamId,
  Way,
} from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation, VersionHeaders } from '../operation.ts';
import { Flag, IdPath } from '../parameters.ts';

const SIGN_IN = 'Sign-in';
const PROVIDERS = 'Identity providers';
const PEOPLE = 'People';
const TEAMS = 'Teams';

export const getSignInOptions = operation({
  id: 'getSignInOptions',
  method: 'get',
  path: '/api/sign-in',
  tag: SIGN_IN,
  summary: 'Ways to sign in to the console: the providers of a tenant, and whether keys are accepted.',
  scope: null,
  query: z.object({ tenant: z.string().max(40).optional().meta({ description: 'Default: `default`.' }) }),
  response: z.object({
    providers: z.array(z.object({ id: z.string(), name: z.string() })),
    keys: z.enum(['allowed', 'break_glass']).meta({ description: '`break_glass`: only marked keys can sign in.' }),
  }),
  problems: [400],
});

export const startSignIn = operation({
  id: 'startSignIn',
  method: 'get',
  path: '/api/auth/oidc/:id/start',
  tag: SIGN_IN,
  summary: 'Send the browser to the provider. Binds the attempt to this browser with a cookie for ten minutes.',
  scope: null,
  params: IdPath,
  query: z.object({
    returnTo: z.string().max(2_000).optional().meta({ description: 'Path of the console to open afterwards.' }),
    fresh: Flag.optional().meta({ description: 'The provider asks for credentials again.' }),
  }),
  status: 302,
  response: z.string(),
  contentType: 'text/html',
  problems: [400, 404],
});

export const finishSignIn = operation({
  id: 'finishSignIn',
  method: 'get',
  path: '/api/auth/oidc/callback',
  tag: SIGN_IN,
  summary: 'The provider returns the browser here, with `code` and `state`, or with `error`.',
  scope: null,
  tolerant: true,
  status: 302,
  response: z.string(),
  contentType: 'text/html',
});

export const endProviderSessions = operation({
  id: 'endProviderSessions',
  method: 'post',
  path: '/api/auth/oidc/:id/logout',
  tag: SIGN_IN,
  summary: 'Back-channel logout: the provider sends a logout token, and the sessions of its `sid` or `sub` end.',
  scope: null,
  tolerant: true,
  params: IdPath,
  response: z.object({ ended: z.int() }),
  problems: [404],
});

const providerFields = IdentityProviderDraft.shape;

export const IdentityProviderView = z
  .object({
    id: z.string(),
    ...{ name: z.string(), issuer: z.string(), clientId: z.string(), scopes: z.string() },
    require: providerFields.require,
    mapping: providerFields.mapping,
    defaultRole: Role.optional(),
    ...{ sessionHours: z.number(), idleHours: z.number(), enabled: z.boolean(), required: z.boolean() },
    hasSecret: z.boolean(),
    readOnly: z.boolean().meta({ description: 'Set by the environment of the platform.' }),
    redirectUri: z
      .string()
      .optional()
      .meta({ description: 'Register it at the provider. Absent: AGENTLENS_PUBLIC_URL is not set.' }),
    version: z.int(),
  })
  .meta({ id: 'IdentityProvider' });
export type IdentityProviderView = z.infer<typeof IdentityProviderView>;

const ProviderDraft = IdentityProviderDraft.meta({ id: 'IdentityProviderDraft' });

export const listIdentityProviders = operation({
  id: 'listIdentityProviders',
  method: 'get',
  path: '/api/identity-providers',
  tag: PROVIDERS,
  summary: 'Identity providers of the tenant. Client secrets are never returned.',
  scope: 'admin',
  response: z.object({ providers: z.array(IdentityProviderView) }),
});

export const createIdentityProvider = operation({
  id: 'createIdentityProvider',
  method: 'post',
  path: '/api/identity-providers',
  tag: PROVIDERS,
  summary: 'Add an OpenID Connect provider.',
  scope: 'admin',
  once: true,
  body: ProviderDraft,
  examples: {
    keycloak: {
      ...{
        name: 'Keycloak',
        issuer: 'https://login.example.com/realms/acme',
        clientId: 'agentlens',
        clientSecret: 'secret',
      },
      mapping: [{ claim: 'groups', is: '/agentlens-admins', role: 'admin' }],
    },
  },
  status: 201,
  versioned: true,
  response: IdentityProviderView,
  problems: [409, 422],
});

export const updateIdentityProvider = operation({
  id: 'updateIdentityProvider',
  method: 'put',
  path: '/api/identity-providers/:id',
  tag: PROVIDERS,
  summary: 'Replace the settings of a provider. Without `clientSecret` the stored secret stays.',
  scope: 'admin',
  params: IdPath,
  headers: VersionHeaders,
  body: ProviderDraft,
  versioned: true,
  response: IdentityProviderView,
  problems: [404, 409, 412, 422],
});

export const deleteIdentityProvider = operation({
  id: 'deleteIdentityProvider',
  method: 'delete',
  path: '/api/identity-providers/:id',
  tag: PROVIDERS,
  summary: 'Remove a provider. Sessions that it started end.',
  scope: 'admin',
  params: IdPath,
  response: z.object({ id: z.string(), deleted: z.literal(true) }),
  problems: [404, 409],
});

export const testIdentityProvider = operation({
  id: 'testIdentityProvider',
  method: 'post',
  path: '/api/identity-providers/:id/test',
  tag: PROVIDERS,
  summary: 'Start a sign-in that only shows the claims, and the roles and teams that they give. It changes nothing.',
  scope: 'admin',
  params: IdPath,
  response: z.object({ url: z.string() }),
  problems: [404, 503],
});

const SourcedGrant = RoleGrant.extend({ source: z.enum(['provider', 'manual']) });

export const PersonView = z
  .object({
    id: z.string(),
    name: z.string(),
    email: z.string().nullable(),
    emailVerified: z.boolean(),
    state: z.enum(['active', 'disabled']),
    grants: z.array(SourcedGrant),
    teams: z.array(TeamId),
    identities: z.array(z.object({ provider: z.string(), subject: z.string() })),
    claimsUntil: Instant.nullable().meta({
      description: 'Roles and teams from claims end then, unless the person signs in again.',
    }),
    lastSeenAt: Instant.nullable().meta({ description: 'Last sign-in.' }),
    version: z.int(),
  })
  .meta({ id: 'Person' });
export type PersonView = z.infer<typeof PersonView>;

export const listPeople = operation({
  id: 'listPeople',
  method: 'get',
  path: '/api/people',
  tag: PEOPLE,
  summary: 'People who have signed in, by name, at most 1,000.',
  scope: 'admin',
  response: z.object({ people: z.array(PersonView) }),
});

export const updatePerson = operation({
  id: 'updatePerson',
  method: 'patch',
  path: '/api/people/:id',
  tag: PEOPLE,
  summary: 'Disable or enable a person, or replace the roles given by hand. A disabled person is out within 5 seconds.',
  scope: 'admin',
  params: IdPath,
  headers: VersionHeaders,
  body: z.strictObject({
    state: z.enum(['active', 'disabled']).optional(),
    grants: z.array(RoleGrant).max(50).optional().meta({ description: 'Roles given by hand. Roles from claims stay.' }),
  }),
  examples: { approver: { grants: [{ role: 'approver', team: 'finance' }] } },
  versioned: true,
  response: PersonView,
  problems: [404, 409, 412, 422],
});

export const endPersonSessions = operation({
  id: 'endPersonSessions',
  method: 'post',
  path: '/api/people/:id/end-sessions',
  tag: PEOPLE,
  summary: 'Sign a person out everywhere, and revoke the personal keys. Rights are not affected.',
  scope: 'admin',
  params: IdPath,
  response: z.object({ ended: z.int() }),
  problems: [404],
});

export const TeamView = z
  .object({
    id: TeamId,
    name: z.string(),
    agents: z.array(z.string()).meta({ description: 'Agents that the team owns, by id or pattern with `*`.' }),
    members: z.array(z.object({ person: z.string(), name: z.string(), source: z.enum(['provider', 'manual']) })),
    version: z.int(),
  })
  .meta({ id: 'Team' });
export type TeamView = z.infer<typeof TeamView>;

export const listTeams = operation({
  id: 'listTeams',
  method: 'get',
  path: '/api/teams',
  tag: TEAMS,
  summary: 'Teams with their members and agents.',
  scope: 'read',
  response: z.object({ teams: z.array(TeamView) }),
});

export const setTeam = operation({
  id: 'setTeam',
  method: 'put',
  path: '/api/teams/:id',
  tag: TEAMS,
  summary: 'Create or replace a team: its name, the agents that it owns, and the members added by hand.',
  scope: 'admin',
  params: z.object({ id: TeamId }),
  headers: VersionHeaders,
  body: z.strictObject({
    name: displayName(z.string().trim()),
    agents: z.array(AgentPattern).max(200).default([]),
    members: z.array(ClientId).max(1_000).default([]),
  }),
  examples: { finance: { name: 'Finance', agents: ['billing-*'], members: [] } },
  versioned: true,
  response: TeamView,
  problems: [412, 422],
});

export const deleteTeam = operation({
  id: 'deleteTeam',
  method: 'delete',
  path: '/api/teams/:id',
  tag: TEAMS,
  summary: 'Delete a team. 409 if an approval policy or a mapping names it.',
  scope: 'admin',
  params: z.object({ id: TeamId }),
  response: z.object({ id: z.string(), deleted: z.literal(true) }),
  problems: [404, 409],
});

const PersonalKeyView = z.object({
  id: z.string(),
  name: z.string(),
  scopes: z.array(z.enum(PERSON_SCOPES)),
  via: Way,
  createdAt: Instant,
  lastUsedAt: Instant.nullable(),
  expiresAt: Instant.nullable(),
});

export const listPersonalKeys = operation({
  id: 'listPersonalKeys',
  method: 'get',
  path: '/api/me/keys',
  tag: PEOPLE,
  summary: 'Personal keys of the signed-in person.',
  scope: 'read',
  response: z.object({ keys: z.array(PersonalKeyView.meta({ id: 'PersonalKey' })) }),
});

export const createPersonalKey = operation({
  id: 'createPersonalKey',
  method: 'post',
  path: '/api/me/keys',
  tag: PEOPLE,
  summary: 'Create a key that acts as you, with at most your roles of the time. Only from a console session.',
  scope: 'read',
  once: true,
  body: z.strictObject({
    name: displayName(z.string().trim()),
    via: z
      .enum(['cli', 'mcp', 'api'])
      .default('cli')
      .meta({ description: 'Where the key is used. A policy of approvals can exclude it.' }),
    scopes: z.array(z.enum(PERSON_SCOPES)).min(1).max(PERSON_SCOPES.length).default(['read', 'review']),
    days: z.int().min(1).max(90).default(30),
  }),
  examples: { laptop: { name: 'My laptop', via: 'cli' } },
  status: 201,
  response: PersonalKeyView.extend({ key: z.string().meta({ description: 'The key, shown only here.' }) }).meta({
    id: 'NewPersonalKey',
  }),
  problems: [409],
});

export const deletePersonalKey = operation({
  id: 'deletePersonalKey',
  method: 'delete',
  path: '/api/me/keys/:id',
  tag: PEOPLE,
  summary: 'Revoke a personal key of yours.',
  scope: 'read',
  params: IdPath,
  response: z.object({ id: z.string(), revoked: z.literal(true) }),
  problems: [404],
});
