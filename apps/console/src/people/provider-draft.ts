import type { IdentityProvider, ProviderBody } from '../api/model.ts';

export type MappingLine = NonNullable<ProviderBody['mapping']>[number];
type ClaimPath = MappingLine['claim'];

/** Where to start for a kind of provider. */
interface Kind {
  readonly id: string;
  readonly name: string;
  readonly issuer: string;
  readonly claim: string;
  readonly is: string;
  readonly hint: string;
}

export const KINDS: readonly Kind[] = [
  {
    id: 'keycloak',
    name: 'Keycloak',
    issuer: 'https://login.example.com/realms/acme',
    claim: 'groups',
    is: '/agentlens-admins',
    hint: 'Add a mapper of the type Group Membership to the client. Group names begin with /.',
  },
  {
    id: 'entra',
    name: 'Microsoft Entra ID',
    issuer: 'https://login.microsoftonline.com/<tenant id>/v2.0',
    claim: 'roles',
    is: 'AgentLens.Admin',
    hint: 'Use app roles: above 200 groups, Entra sends no groups.',
  },
  {
    id: 'okta',
    name: 'Okta',
    issuer: 'https://acme.okta.com',
    claim: 'groups',
    is: 'agentlens-admins',
    hint: 'Add a groups claim with a filter to the application, and the scope groups below.',
  },
  {
    id: 'google',
    name: 'Google',
    issuer: 'https://accounts.google.com',
    claim: 'email',
    is: 'ann@example.com',
    hint: 'Google sends no groups. Require the claim hd, and give roles by hand under People.',
  },
  {
    id: 'other',
    name: 'Another provider',
    issuer: 'https://login.example.com',
    claim: 'groups',
    is: 'agentlens-admins',
    hint: 'Any provider of OpenID Connect with the authorization code flow.',
  },
];

/** A claim as text: its name, or the list of keys that lead to it, as JSON. */
export function claimText(claim: ClaimPath): string {
  return typeof claim === 'string' ? claim : JSON.stringify(claim);
}

/** Reads a claim. A text that is a JSON list of keys leads to a nested claim. */
export function readClaim(text: string): ClaimPath {
  const trimmed = text.trim();
  if (!trimmed.startsWith('[')) return trimmed;
  try {
    const keys: unknown = JSON.parse(trimmed);
    if (Array.isArray(keys) && keys.every((key) => typeof key === 'string')) return keys;
  } catch {
    // Not JSON, so the text is the name of a claim.
  }
  return trimmed;
}

/** The settings of a provider as they are sent. The secret stays unless one is given. */
export function draftFrom({
  id: _id,
  hasSecret: _has,
  readOnly: _readOnly,
  redirectUri: _uri,
  version: _version,
  ...settings
}: IdentityProvider): ProviderBody {
  return settings;
}
