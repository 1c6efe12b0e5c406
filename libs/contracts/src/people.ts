import { z } from 'zod';
import { ClientId, displayName, Instant } from './ids.ts';
import type { Scope } from './scopes.ts';

/** What a person may do. The list is fixed: each role is a set of scopes. */
export const ROLES = ['viewer', 'approver', 'operator', 'editor', 'admin'] as const;
export const Role = z.enum(ROLES);
export type Role = z.infer<typeof Role>;

const SCOPES_OF_ROLES: Readonly<Record<Role, readonly Scope[]>> = {
  viewer: ['read'],
  approver: ['read', 'review'],
  operator: ['read', 'review', 'operate'],
  editor: ['read', 'edit'],
  admin: ['read', 'review', 'operate', 'edit', 'admin'],
};

/** Returns the scopes of these roles, each once. */
export function findScopes(roles: readonly Role[]): Scope[] {
  return [...new Set(roles.flatMap((role) => SCOPES_OF_ROLES[role]))];
}

/** Returns the roles that have this scope. */
export function findRolesWith(scope: Scope): Role[] {
  return ROLES.filter((role) => SCOPES_OF_ROLES[role].includes(scope));
}

/** Scopes that a key of a person can have. It never reports for agents and never administers the platform. */
export const PERSON_SCOPES = ['read', 'review', 'operate', 'edit', 'admin'] as const satisfies readonly Scope[];

/** How a person reached the platform. The key states it, never the request. */
export const WAYS = ['console', 'cli', 'mcp', 'api', 'slack'] as const;
export const Way = z.enum(WAYS);
export type AccessWay = z.infer<typeof Way>;

export const TeamId = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9_-]{0,39}$/,
    'must be 1-40 characters of a-z, 0-9, "-" and "_", and start with a letter or digit',
  );

/** A role everywhere, or for the agents of one team. */
export const RoleGrant = z.strictObject({ role: Role, team: TeamId.optional() });
export type RoleGrant = z.infer<typeof RoleGrant>;

/** An agent id, or a pattern in which `*` stands for any text. */
export const AgentPattern = ClientId.refine((text) => (text.match(/\*/g) ?? []).length <= 4, 'must have at most 4 "*"');

const ClaimPath = z.union([z.string().min(1).max(200), z.array(z.string().min(1).max(200)).min(1).max(8)]);

/**
 * A line of a mapping: if the claim, or one of its elements, equals `is`, the person gets the role or joins the team. A
 * line with both grants the role for the agents of that team.
 */
export const MappingLine = z
  .strictObject({
    claim: ClaimPath.meta({
      description: 'Name of a claim, or the keys that lead to it. A text is one key, dots and slashes included.',
    }),
    is: z
      .string()
      .min(1)
      .max(500)
      .meta({ description: 'Compared exactly with the claim, or with each of its elements.' }),
    role: Role.optional(),
    team: TeamId.optional(),
  })
  .refine(({ role, team }) => role !== undefined || team !== undefined, {
    path: ['role'],
    message: 'needs a role, a team or both',
  });
export type MappingLine = z.infer<typeof MappingLine>;

/** A claim that must be present before anyone may sign in. */
export const ClaimRequirement = z.strictObject({
  claim: ClaimPath,
  in: z.array(z.string().min(1).max(500)).min(1).max(50).meta({ description: 'The claim must equal one of these.' }),
});
export type ClaimRequirement = z.infer<typeof ClaimRequirement>;

export const MAX_MAPPING_LINES = 200;

const DISCOVERY =
  'must be the issuer, such as https://login.example.com/realms/acme, and not the address of its discovery document';

/** An OpenID Connect provider as an administrator describes it. */
export const IdentityProviderDraft = z
  .strictObject({
    name: displayName(z.string().trim()),
    issuer: z
      .url({ protocol: /^https?$/ })
      .max(500)
      .refine((url) => !url.includes('/.well-known/'), DISCOVERY),
    clientId: z.string().min(1).max(300),
    clientSecret: z
      .string()
      .min(1)
      .max(2_000)
      .optional()
      .meta({ description: 'Stored sealed and never returned. Omit it to keep the stored one.' }),
    scopes: z
      .string()
      .max(500)
      .default('openid profile email')
      .refine((text) => text.split(' ').includes('openid'), 'must contain "openid"'),
    require: z.array(ClaimRequirement).max(20).default([]),
    mapping: z.array(MappingLine).max(MAX_MAPPING_LINES).default([]),
    defaultRole: Role.optional().meta({
      description: 'Role of people whom no line matches. Without it they may not sign in.',
    }),
    sessionHours: z.number().min(1).max(168).default(12),
    idleHours: z.number().min(0.25).max(168).default(8),
    enabled: z.boolean().default(true),
    required: z
      .boolean()
      .default(false)
      .meta({ description: 'People may no longer sign in with keys, except with a break-glass key.' }),
  })
  .refine(
    ({ issuer, require }) =>
      !isSharedIssuer(issuer) ||
      require.some(({ claim }) => claim === 'tid' || (Array.isArray(claim) && claim.join() === 'tid')),
    {
      path: ['require'],
      message: 'must name the claim "tid": this issuer signs in people of every Entra tenant',
    },
  );
export type IdentityProviderDraft = z.infer<typeof IdentityProviderDraft>;

/** Issuers of Entra that accept accounts of any organization. */
function isSharedIssuer(issuer: string): boolean {
  const url = URL.parse(issuer);
  return (
    url !== null &&
    /^(login\.microsoftonline\.|sts\.windows\.)/.test(url.hostname) &&
    /^\/(common|organizations|consumers)(\/|$)/.test(url.pathname)
  );
}

const Names = z.array(ClientId).max(100);

/** Who may decide: people, members of teams, and people on call that it names. `anyone` is everybody with the right to review. */
const Approvers = z.strictObject({
  teams: z.array(TeamId).max(50).default([]),
  people: Names.default([]),
  onCall: z
    .array(TeamId)
    .min(1)
    .max(20)
    .optional()
    .meta({ description: 'On-call schedules: the person who is on call when the approval opens, or at the vote.' }),
  anyone: z.boolean().default(false),
});

export const MAX_DEPUTY_DAYS = 30;
export const MAX_DEPUTIES = 10;

export const SEPARATIONS = ['none', 'starter', 'owner'] as const;

/** Rules about who decides an approval. An approval keeps a copy: later changes do not affect it. */
export const ApprovalPolicy = z
  .strictObject({
    name: displayName(z.string().trim()),
    match: z
      .strictObject({
        tools: z.array(AgentPattern).max(100).default([]),
        agents: z.array(AgentPattern).max(100).default([]),
        rules: Names.default([]),
      })
      .prefault({})
      .meta({ description: 'Patterns with `*`. An empty list matches everything.' }),
    approvers: Approvers.prefault({}),
    quorum: z.int().min(1).max(5).default(1),
    separation: z.enum(SEPARATIONS).default('none'),
    via: z.array(Way).min(1).max(WAYS.length).default(['console']),
    freshSignInSeconds: z.int().min(30).max(86_400).optional(),
    mode: z
      .enum(['enforce', 'report'])
      .default('enforce')
      .meta({ description: '`report`: shows what would be refused, and refuses nothing.' }),
  })
  .refine(
    ({ approvers: { anyone, teams, people, onCall = [] } }) =>
      anyone || teams.length + people.length + onCall.length > 0,
    {
      path: ['approvers'],
      message: 'needs a team, a person, an on-call schedule, or "anyone": true',
    },
  );
export type ApprovalPolicy = z.infer<typeof ApprovalPolicy>;

export const MAX_APPROVAL_POLICIES = 100;

/** A policy as it was when the approval was opened. */
export const AppliedPolicy = z.object({ id: z.string(), version: z.int(), policy: ApprovalPolicy });
export type AppliedPolicy = z.infer<typeof AppliedPolicy>;

/** A policy as stored. */
export const StoredPolicy = z.object({
  id: z.string(),
  place: z.int().meta({ description: 'The first policy that matches a call applies.' }),
  version: z.int(),
  policy: ApprovalPolicy,
});
export type StoredPolicy = z.infer<typeof StoredPolicy>;

/** Who votes, as the key of the request says. Everything else is read when the vote is judged. */
export const VoterRef = z.object({
  keyId: z.string(),
  /** Absent: a key of a program. */
  personId: z.string().optional(),
  /** The key reports for agents. */
  isAgent: z.boolean(),
  via: Way,
  sessionId: z.string().optional(),
  signedInAt: Instant.optional(),
});
export type VoterRef = z.infer<typeof VoterRef>;

export const ApprovalVote = z.object({
  voter: z.string().meta({ description: 'Id of the person, or of the key.' }),
  name: z.string(),
  verdict: z.enum(['approve', 'deny']),
  at: Instant,
  via: z.string(),
  standsInFor: z
    .array(z.object({ person: z.string(), name: z.string() }))
    .optional()
    .meta({ description: 'People in whose place the voter decided, as their deputy.' }),
  counts: z.boolean().meta({ description: 'False: the voter may no longer decide, so the vote does not count.' }),
});
export type ApprovalVote = z.infer<typeof ApprovalVote>;

/** How far the decision of an approval is, and what the caller can do. */
export const ApprovalVotes = z.object({
  alertId: z.string(),
  policy: ApprovalPolicy.nullable().meta({ description: 'Null: everyone who may review decides alone.' }),
  quorum: z.int(),
  needs: z.int().meta({ description: 'Approvals that are still missing.' }),
  votes: z.array(ApprovalVote),
  eligible: z.int().meta({
    description: 'People whose approvals would count together now. A person and a deputy of that person are one.',
  }),
  awaited: z
    .array(
      z.object({
        person: z.string(),
        name: z.string(),
        onCall: z
          .array(z.string())
          .optional()
          .meta({ description: 'Names of the schedules that the policy names, where this person is on call.' }),
      }),
    )
    .meta({ description: 'Those of them who have not voted, by name, at most 20.' }),
  unreachable: z
    .boolean()
    .meta({ description: 'Fewer people may decide than the quorum needs: the approval will expire as a denial.' }),
  mayVote: z.boolean(),
  because: z
    .string()
    .optional()
    .meta({ description: 'Why the caller may not vote: `not_named`, `own_request`, `not_here`, …' }),
  explanation: z.string().optional().meta({ description: 'The same in a sentence.' }),
});
export type ApprovalVotes = z.infer<typeof ApprovalVotes>;
