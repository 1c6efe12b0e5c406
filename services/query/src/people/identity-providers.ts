import { randomUUID } from 'node:crypto';
import { type ChangeAuthor, IdentityProviderDraft } from '@agentlens/contracts';
import {
  type Database,
  type IdentityProvidersTable,
  lockUntilEnd,
  recordChanges,
  type Tables,
} from '@agentlens/database';
import type { IdentityProviderView } from '@agentlens/operations';
import {
  type Clock,
  DEFAULT_TENANT,
  type Platform,
  type PlatformConfig,
  ProblemException,
  port,
  type SecretBox,
} from '@agentlens/platform';
import { Inject, Injectable } from '@nestjs/common';
import type { Selectable, Transaction } from 'kysely';
import { requireVersion } from '../http/tenant-reads.ts';
import { requireTeams } from './teams.repository.ts';

/** A provider with its secret, as signing in needs it. */
export interface IdentityProvider {
  readonly id: string;
  readonly tenantId: string;
  readonly version: number;
  readonly settings: Omit<IdentityProviderDraft, 'clientSecret'>;
  readonly clientSecret: string | undefined;
  readonly isReadOnly: boolean;
}

interface ProviderChange {
  readonly tenantId: string;
  readonly author: ChangeAuthor;
  readonly ifVersion?: number | undefined;
}

const MAX_PROVIDERS = 5;
/** Id of the provider that the environment defines. */
const FROM_ENVIRONMENT = 'environment';
const CALLBACK_PATH = '/api/auth/oidc/callback';

/** Identity providers of tenants. This service is their only writer. */
@Injectable()
export class IdentityProviders {
  readonly #fromEnvironment: IdentityProvider | undefined;

  constructor(
    @Inject(port('database')) private readonly database: Database,
    @Inject(port('secrets')) private readonly secrets: SecretBox,
    @Inject(port('config')) private readonly config: PlatformConfig,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {
    this.#fromEnvironment = readEnvironment(config);
  }

  /** Where a provider returns browsers to. Undefined: AGENTLENS_PUBLIC_URL is not set, so no provider can be used. */
  get redirectUri(): string | undefined {
    return this.config.publicUrl === undefined
      ? undefined
      : `${this.config.publicUrl.replace(/\/+$/, '')}${CALLBACK_PATH}`;
  }

  /** The id is all that a sign-in knows: the provider determines the tenant. */
  async find(id: string): Promise<IdentityProvider | undefined> {
    if (id === FROM_ENVIRONMENT) return this.#fromEnvironment;
    const row = await this.database.db
      .selectFrom('identity_providers')
      .selectAll()
      .where('provider_id', '=', id)
      .executeTakeFirst();
    return row === undefined ? undefined : this.#open(row);
  }

  async list(tenantId: string): Promise<IdentityProvider[]> {
    const rows = await this.database.db
      .selectFrom('identity_providers')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .orderBy('created_at')
      .execute();
    const own = rows.map((row) => this.#open(row));
    return tenantId === DEFAULT_TENANT && this.#fromEnvironment !== undefined ? [this.#fromEnvironment, ...own] : own;
  }

  /** True if people of the tenant may sign in only with a provider. */
  async isRequired(tenantId: string): Promise<boolean> {
    return (await this.list(tenantId)).some(({ settings: { enabled, required } }) => enabled && required);
  }

  create(draft: IdentityProviderDraft, { tenantId, author }: ProviderChange): Promise<IdentityProvider> {
    return this.database.db.transaction().execute(async (tx) => {
      await lockUntilEnd(tx, 'identity providers', tenantId);
      const rows = await tx
        .selectFrom('identity_providers')
        .select('provider_id')
        .where('tenant_id', '=', tenantId)
        .execute();
      if (rows.length >= MAX_PROVIDERS)
        throw new ProblemException(422, `A tenant has at most ${MAX_PROVIDERS} identity providers`);
      await requireTeams(tx, tenantId, 'mapping', draft.mapping);
      const id = randomUUID();
      const row = await tx
        .insertInto('identity_providers')
        .values({
          tenant_id: tenantId,
          provider_id: id,
          version: 1,
          created_at: this.#now(),
          ...this.#columns(tenantId, id, draft),
        })
        .returningAll()
        .executeTakeFirstOrThrow();
      const after = shownSettings(draft);
      await recordChanges(tx, [{ tenantId, at: this.#now(), kind: 'provider.created', targetId: id, author, after }]);
      return this.#open(row);
    });
  }

  /** Returns undefined if there is no such provider. @throws ProblemException 412 if it has another version */
  replace(
    id: string,
    draft: IdentityProviderDraft,
    { tenantId, author, ifVersion }: ProviderChange,
  ): Promise<IdentityProvider | undefined> {
    return this.database.db.transaction().execute(async (tx) => {
      const stored = await lockProvider(tx, tenantId, id);
      if (stored === undefined) return undefined;
      requireVersion('identity provider', ifVersion, stored.version);
      requireOwnSecret(draft, stored);
      await requireTeams(tx, tenantId, 'mapping', draft.mapping);
      const columns = this.#columns(tenantId, id, draft);
      const row = await tx
        .updateTable('identity_providers')
        .set({ settings: columns.settings, version: stored.version + 1, secret: columns.secret ?? stored.secret })
        .where('tenant_id', '=', tenantId)
        .where('provider_id', '=', id)
        .returningAll()
        .executeTakeFirstOrThrow();
      const change = { before: stored.settings, after: shownSettings(draft) };
      await recordChanges(tx, [
        { tenantId, at: this.#now(), kind: 'provider.changed', targetId: id, author, ...change },
      ]);
      return this.#open(row);
    });
  }

  delete(id: string, { tenantId, author }: ProviderChange): Promise<boolean> {
    return this.database.db.transaction().execute(async (tx) => {
      const stored = await lockProvider(tx, tenantId, id);
      if (stored === undefined) return false;
      await tx
        .deleteFrom('identity_providers')
        .where('tenant_id', '=', tenantId)
        .where('provider_id', '=', id)
        .execute();
      const change = { tenantId, at: this.#now(), kind: 'provider.deleted', targetId: id, author } as const;
      await recordChanges(tx, [{ ...change, before: stored.settings }]);
      return true;
    });
  }

  view({ id, settings, version, clientSecret, isReadOnly }: IdentityProvider): IdentityProviderView {
    const { redirectUri } = this;
    return {
      ...{ id, version, readOnly: isReadOnly, hasSecret: clientSecret !== undefined },
      ...settings,
      ...(redirectUri === undefined ? {} : { redirectUri }),
    };
  }

  #columns(tenantId: string, id: string, { clientSecret, ...settings }: IdentityProviderDraft) {
    const secret =
      clientSecret === undefined ? null : this.secrets.seal(clientSecret, [tenantId, 'identity_providers', id]);
    return { settings: JSON.stringify(settings), secret };
  }

  #open(row: Selectable<IdentityProvidersTable>): IdentityProvider {
    const { tenant_id: tenantId, provider_id: id, secret, version } = row;
    const { clientSecret: _, ...settings } = IdentityProviderDraft.parse(row.settings);
    const clientSecret = secret === null ? undefined : this.secrets.open(secret, [tenantId, 'identity_providers', id]);
    return { id, tenantId, version, settings, clientSecret, isReadOnly: false };
  }

  #now(): string {
    return new Date(this.clock.now()).toISOString();
  }
}

function readEnvironment({ oidc }: Pick<Platform['config'], 'oidc'>): IdentityProvider | undefined {
  if (oidc === undefined) return undefined;
  const { issuer, clientId, clientSecret, groupsClaim, adminGroup } = oidc;
  const { clientSecret: _, ...settings } = IdentityProviderDraft.parse({
    ...{ name: 'Single sign-on', issuer, clientId },
    mapping: [{ claim: groupsClaim, is: adminGroup, role: 'admin' }],
  });
  return { id: FROM_ENVIRONMENT, tenantId: DEFAULT_TENANT, version: 1, settings, clientSecret, isReadOnly: true };
}

function lockProvider(tx: Transaction<Tables>, tenantId: string, id: string) {
  return tx
    .selectFrom('identity_providers')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .where('provider_id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

/** The secret that is stored is for the provider that it was given for. @throws ProblemException 422 */
function requireOwnSecret(draft: IdentityProviderDraft, stored: Selectable<IdentityProvidersTable>): void {
  if (stored.secret === null || draft.clientSecret !== undefined) return;
  if (IdentityProviderDraft.parse(stored.settings).issuer === draft.issuer) return;
  throw new ProblemException(422, 'Validation failed', {
    details: [{ path: 'clientSecret', message: 'is required with another issuer: the stored one is not sent there' }],
  });
}

/** For the audit, which never contains the secret. */
function shownSettings(draft: IdentityProviderDraft): object {
  const { clientSecret: _, ...settings } = draft;
  return settings;
}
