import type { ClaimRequirement, MappingLine, Role, RoleGrant } from '@agentlens/contracts';

/** Claims of a sign-in as the provider sent them. */
export type Claims = Readonly<Record<string, unknown>>;

/** Returns the claim at a path. A text is one key, so names with dots and slashes work. */
export function findClaim(claims: Claims, path: string | readonly string[]): unknown {
  let found: unknown = claims;
  for (const key of typeof path === 'string' ? [path] : path) {
    if (typeof found !== 'object' || found === null || Array.isArray(found) || !Object.hasOwn(found, key)) {
      return undefined;
    }
    found = (found as Record<string, unknown>)[key];
  }
  return found;
}

/** Returns the texts of a claim: itself, or its elements. Objects, numbers and nested lists have none. */
function textsOf(claim: unknown): readonly string[] {
  if (typeof claim === 'string') return [claim];
  return Array.isArray(claim) ? claim.filter((one) => typeof one === 'string') : [];
}

/**
 * Names of claims that the provider left out of the token because they are too long (`_claim_names` of OpenID Connect
 * Core, 5.6.2; Entra announces `groups` this way above 200 groups).
 */
function overageClaims(claims: Claims): readonly string[] {
  const names = claims._claim_names;
  return typeof names === 'object' && names !== null ? Object.keys(names) : [];
}

/** Characters that reorder or hide text, which a name in an audit entry must not contain. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u2800]+/gu;

/** Returns the name to show for a person. Names are not unique; the subject is. */
export function displayNameFrom(claims: Claims, subject: string): string {
  for (const claim of [claims.name, claims.preferred_username, claims.email, subject]) {
    if (typeof claim !== 'string') continue;
    const name = claim.replace(HIDDEN, '').trim().slice(0, 200).toWellFormed();
    if (name !== '') return name;
  }
  return 'unnamed';
}

/** What the claims of a sign-in give. */
export type ClaimResult =
  | { readonly kind: 'mapped'; readonly grants: readonly RoleGrant[]; readonly teams: readonly string[] }
  /** The provider left out a claim that the mapping uses. */
  | { readonly kind: 'overage'; readonly claim: string };

interface Mapping {
  readonly mapping: readonly MappingLine[];
  readonly defaultRole?: Role | undefined;
}

/** Applies every line that matches. There is no expression language: values are compared exactly. */
export function mapClaims({ mapping, defaultRole }: Mapping, claims: Claims): ClaimResult {
  const left = overageClaims(claims);
  const missing = mapping.map(({ claim }) => first(claim)).find((name) => left.includes(name) && !(name in claims));
  if (missing !== undefined) return { kind: 'overage', claim: missing };

  const grants = new Map<string, RoleGrant>();
  const teams = new Set<string>();
  const matching = mapping.filter(({ claim, is }) => textsOf(findClaim(claims, claim)).includes(is));
  for (const { role, team } of matching) {
    if (team !== undefined) teams.add(team);
    if (role !== undefined) grants.set(`${role} ${team ?? ''}`, team === undefined ? { role } : { role, team });
  }
  if (grants.size === 0 && defaultRole !== undefined) grants.set(defaultRole, { role: defaultRole });
  return { kind: 'mapped', grants: [...grants.values()], teams: [...teams] };
}

/** Returns the first requirement that the claims do not meet. */
export function unmetRequirement(require: readonly ClaimRequirement[], claims: Claims): ClaimRequirement | undefined {
  return require.find((one) => !textsOf(findClaim(claims, one.claim)).some((text) => one.in.includes(text)));
}

function first(claim: string | readonly string[]): string {
  return typeof claim === 'string' ? claim : (claim[0] ?? '');
}
