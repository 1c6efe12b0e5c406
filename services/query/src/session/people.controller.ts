import { type AccessWay, DAY_MS, MINUTE_MS, PERSON_SCOPES } from '@agentlens/contracts';
import type { Database } from '@agentlens/database';
import { refuseAddress } from '@agentlens/egress';
import {
  collectLogin,
  confirmLogin,
  createIdentityProvider,
  createPersonalKey,
  deleteIdentityProvider,
  deletePersonalKey,
  deleteTeam,
  endPersonSessions,
  listIdentityProviders,
  listPeople,
  listPersonalKeys,
  listTeams,
  type RequestOf,
  setTeam,
  testIdentityProvider,
  updateIdentityProvider,
  updatePerson,
} from '@agentlens/operations';
import {
  type Caller,
  type Clock,
  CurrentCaller,
  FromRequest,
  type Platform,
  ProblemException,
  port,
  Serves,
  type SignedInPerson,
} from '@agentlens/platform';
import { Controller, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { foundOr404 } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';
import { type IdentityProvider, IdentityProviders } from '../people/identity-providers.ts';
import { People } from '../people/people.repository.ts';
import { PersonKeys } from '../people/person-keys.ts';
import { Teams } from '../people/teams.repository.ts';
import { SignInAttempts } from '../sign-in/attempts.ts';
import { ProviderClient } from '../sign-in/provider-client.ts';
import { refusalFrom } from '../sign-in/sign-in-refused.ts';
import { Logins } from './logins.ts';

const PROVIDER = 'Identity provider';
/** Single sign-on can be required this long after a sign-in that proves it works. */
const PROOF_MS = 15 * MINUTE_MS;
/** A break-glass key that was not used for longer may be lost. */
const KNOWN_KEY_MS = 90 * DAY_MS;
const MAX_PERSONAL_KEYS = 10;

type ProviderBody = RequestOf<typeof createIdentityProvider>['body'];

@Controller()
export class IdentityProvidersController {
  constructor(
    private readonly providers: IdentityProviders,
    private readonly keys: PersonKeys,
    private readonly attempts: SignInAttempts,
    private readonly client: ProviderClient,
    private readonly names: KeyNames,
    @Inject(port('database')) private readonly database: Database,
    @Inject(port('clock')) private readonly clock: Clock,
    @Inject(port('egressPolicy')) private readonly egressPolicy: Platform['egressPolicy'],
  ) {}

  @Serves(listIdentityProviders)
  async list(@CurrentCaller() { tenantId }: Caller) {
    const providers = await this.providers.list(tenantId);
    return { providers: providers.map((one) => this.providers.view(one)) };
  }

  @Serves(createIdentityProvider)
  async create(@CurrentCaller() caller: Caller, @FromRequest() { body }: RequestOf<typeof createIdentityProvider>) {
    this.#refuseAddress(body);
    if (body.required) throw notProven('Sign in through it first: a new provider has proved nothing yet.');
    const { author } = await this.names.authorOf(caller);
    return this.providers.view(await this.providers.create(body, { tenantId: caller.tenantId, author }));
  }

  @Serves(updateIdentityProvider)
  async update(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id }, body, headers }: RequestOf<typeof updateIdentityProvider>,
  ) {
    this.#refuseAddress(body);
    const { tenantId } = caller;
    const stored = foundOr404(PROVIDER, await this.#changeable(tenantId, id));
    if (body.required && !stored.settings.required) await this.#requireProof(caller, stored);
    const { author } = await this.names.authorOf(caller);
    const change = { tenantId, author, ifVersion: headers['if-match'] };
    const changed = foundOr404(PROVIDER, await this.providers.replace(id, body, change));
    if (!body.enabled) await this.#endSessions(tenantId, id);
    return this.providers.view(changed);
  }

  @Serves(deleteIdentityProvider)
  async delete(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id } }: RequestOf<typeof deleteIdentityProvider>,
  ) {
    const { tenantId } = caller;
    foundOr404(PROVIDER, await this.#changeable(tenantId, id));
    const { author } = await this.names.authorOf(caller);
    foundOr404(PROVIDER, (await this.providers.delete(id, { tenantId, author })) || null);
    await this.#endSessions(tenantId, id);
    return { id, deleted: true as const };
  }

  @Serves(testIdentityProvider)
  async test(
    @CurrentCaller() { tenantId }: Caller,
    @FromRequest() { params: { id } }: RequestOf<typeof testIdentityProvider>,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const provider = foundOr404(PROVIDER, await this.#own(tenantId, id));
    const { redirectUri } = this.providers;
    if (redirectUri === undefined) throw new ProblemException(503, 'AGENTLENS_PUBLIC_URL is not set');
    const { attempt, cookies } = this.attempts.start(request, {
      providerId: id,
      purpose: 'test',
      isFresh: false,
      returnTo: '/',
    });
    try {
      const url = await this.client.authorizationUrl(provider, redirectUri, attempt);
      void reply.header('set-cookie', cookies);
      return { url };
    } catch (error) {
      const refused = refusalFrom(error);
      throw new ProblemException(refused.status === 400 ? 503 : refused.status, refused.message, {
        hint: 'Check the issuer, and that the platform can reach it.',
      });
    }
  }

  async #own(tenantId: string, id: string): Promise<IdentityProvider | undefined> {
    const provider = await this.providers.find(id);
    return provider?.tenantId === tenantId ? provider : undefined;
  }

  /** @throws ProblemException 409 for the provider of the environment */
  async #changeable(tenantId: string, id: string): Promise<IdentityProvider | undefined> {
    const provider = await this.#own(tenantId, id);
    if (provider?.isReadOnly !== true) return provider;
    throw new ProblemException(409, 'The environment of the platform defines this provider', {
      hint: 'Change AGENTLENS_OIDC_ISSUER and its neighbours, and restart the platform.',
    });
  }

  /** @throws ProblemException 422 if the egress guard would refuse every request */
  #refuseAddress({ issuer }: ProviderBody): void {
    const message = refuseAddress(issuer, this.egressPolicy);
    if (message !== null)
      throw new ProblemException(422, 'The platform may not call this issuer', {
        details: [{ path: 'issuer', message }],
      });
  }

  /** Otherwise a wrong setting locks everybody out. @throws ProblemException 409 */
  async #requireProof({ tenantId, keyId, scopes }: Caller, { id }: IdentityProvider): Promise<void> {
    const now = this.clock.now();
    const session = await this.database.db
      .selectFrom('api_keys')
      .select(['provider_id', 'created_at'])
      .where('tenant_id', '=', tenantId)
      .where('key_id', '=', keyId)
      .executeTakeFirst();
    const isProven =
      session?.provider_id === id && scopes.includes('admin') && now - Date.parse(session.created_at) <= PROOF_MS;
    if (!isProven)
      throw notProven('Sign in through this provider as an administrator, and require it within 15 minutes.');
    const since = new Date(now - KNOWN_KEY_MS).toISOString();
    const key = await this.database.db
      .selectFrom('api_keys')
      .select('key_id')
      .where('tenant_id', '=', tenantId)
      .where('break_glass', '=', true)
      .where('revoked_at', 'is', null)
      .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', new Date(now).toISOString())]))
      .where((eb) => eb.or([eb('created_at', '>', since), eb('last_used_at', '>', since)]))
      .executeTakeFirst();
    if (key === undefined)
      throw notProven(
        'Create a break-glass key and keep it offline, or use the one you have once, to prove that it works.',
      );
  }

  async #endSessions(tenantId: string, providerId: string): Promise<void> {
    const ended = await this.keys.revoke(this.database.db, tenantId, { providerId });
    await this.keys.announce(tenantId, ended);
  }
}

function notProven(hint: string): ProblemException {
  return new ProblemException(409, 'Single sign-on cannot be required yet', { code: 'not_proven', hint });
}

@Controller()
export class PeopleController {
  constructor(
    private readonly people: People,
    private readonly teams: Teams,
    private readonly names: KeyNames,
  ) {}

  @Serves(listPeople)
  async list(@CurrentCaller() { tenantId }: Caller) {
    return { people: await this.people.list(tenantId) };
  }

  @Serves(updatePerson)
  async update(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id }, body, headers }: RequestOf<typeof updatePerson>,
  ) {
    const { author } = await this.names.authorOf(caller);
    const change = { tenantId: caller.tenantId, author, ifVersion: headers['if-match'] };
    return foundOr404('Person', await this.people.change(id, body, change));
  }

  @Serves(endPersonSessions)
  async endSessions(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id } }: RequestOf<typeof endPersonSessions>,
  ) {
    const { author } = await this.names.authorOf(caller);
    return { ended: foundOr404('Person', await this.people.endSessions(id, { tenantId: caller.tenantId, author })) };
  }

  @Serves(listTeams)
  async listTeams(@CurrentCaller() { tenantId }: Caller) {
    return { teams: await this.teams.list(tenantId) };
  }

  @Serves(setTeam)
  async setTeam(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id }, body, headers }: RequestOf<typeof setTeam>,
  ) {
    const { author } = await this.names.authorOf(caller);
    return this.teams.set(id, body, { tenantId: caller.tenantId, author, ifVersion: headers['if-match'] });
  }

  @Serves(deleteTeam)
  async deleteTeam(@CurrentCaller() caller: Caller, @FromRequest() { params: { id } }: RequestOf<typeof deleteTeam>) {
    const { author } = await this.names.authorOf(caller);
    foundOr404('Team', (await this.teams.delete(id, { tenantId: caller.tenantId, author })) || null);
    return { id, deleted: true as const };
  }
}

/** Keys that act as a person, for the command line and MCP. */
@Controller()
export class PersonalKeysController {
  constructor(
    private readonly keys: PersonKeys,
    private readonly logins: Logins,
    @Inject(port('database')) private readonly database: Database,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  @Serves(listPersonalKeys)
  async list(@CurrentCaller() caller: Caller) {
    const { tenantId, signedIn } = caller;
    const own = signedIn === undefined ? [] : await this.#live(tenantId, signedIn.personId);
    return { keys: own.map(personalKeyView) };
  }

  @Serves(createPersonalKey)
  async create(@CurrentCaller() caller: Caller, @FromRequest() { body }: RequestOf<typeof createPersonalKey>) {
    const { tenantId } = caller;
    const { personId, credentialsAt } = await this.#requireRoom(caller);
    const made = await this.keys.create(this.database.db, {
      ...{ tenantId, personId, name: body.name, via: body.via, scopes: body.scopes },
      ...{ signedInAtMs: parseTime(credentialsAt), expiresAtMs: this.clock.now() + body.days * DAY_MS },
    });
    const row = (await this.#live(tenantId, personId)).find(({ key_id }) => key_id === made.id);
    return { ...personalKeyView(foundOr404('Key', row)), key: made.key };
  }

  @Serves(confirmLogin)
  async confirm(@CurrentCaller() caller: Caller, @FromRequest() { body }: RequestOf<typeof confirmLogin>) {
    const { personId, name: person, credentialsAt } = await this.#requireRoom(caller);
    const { challenge, ...wanted } = body;
    const { tenantId } = caller;
    await this.logins.confirm(challenge, {
      ...wanted,
      tenantId,
      personId,
      person,
      signedInAtMs: parseTime(credentialsAt),
    });
    return { confirmed: true as const };
  }

  @Serves(collectLogin)
  async collect(@FromRequest() { body }: RequestOf<typeof collectLogin>) {
    const login = await this.logins.collect(body.verifier);
    if (login === undefined) return { status: 'pending' as const };
    const { days, person, ...key } = login;
    const made = await this.keys.create(this.database.db, {
      ...key,
      expiresAtMs: this.clock.now() + days * DAY_MS,
    });
    return { status: 'confirmed' as const, key: made.key, person, via: login.via };
  }

  /**
   * The person of a console session who may have another personal key.
   *
   * @throws ProblemException 403, 409
   */
  async #requireRoom(caller: Caller): Promise<SignedInPerson> {
    const person = requirePerson(caller);
    // A stolen personal key must not be able to make others that outlive it.
    if (person.via !== 'console')
      throw new ProblemException(403, 'A personal key is created in the console', {
        hint: 'Sign in to the console and open You.',
      });
    if ((await this.#live(caller.tenantId, person.personId)).length < MAX_PERSONAL_KEYS) return person;
    throw new ProblemException(409, `A person has at most ${MAX_PERSONAL_KEYS} personal keys`, {
      hint: 'Revoke one that you no longer use.',
    });
  }

  @Serves(deletePersonalKey)
  async delete(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id } }: RequestOf<typeof deletePersonalKey>,
  ) {
    const personId = foundOr404('Personal key', caller.signedIn?.personId);
    const own = (await this.#live(caller.tenantId, personId)).find(({ key_id }) => key_id === id);
    foundOr404('Personal key', own);
    const revoked = await this.keys.revoke(this.database.db, caller.tenantId, { personId, keyId: id });
    await this.keys.announce(caller.tenantId, revoked);
    return { id, revoked: true as const };
  }

  #live(tenantId: string, personId: string) {
    return this.database.db
      .selectFrom('api_keys')
      .select(['key_id', 'name', 'scopes', 'via', 'created_at', 'last_used_at', 'expires_at'])
      .where('tenant_id', '=', tenantId)
      .where('person_id', '=', personId)
      .where('via', '!=', 'console')
      .where('revoked_at', 'is', null)
      .where('expires_at', '>', new Date(this.clock.now()).toISOString())
      .orderBy('created_at', 'desc')
      .execute();
  }
}

function personalKeyView(row: {
  readonly key_id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly via: AccessWay | null;
  readonly created_at: string;
  readonly last_used_at: string | null;
  readonly expires_at: string | null;
}) {
  return {
    ...{ id: row.key_id, name: row.name, via: row.via ?? ('api' as const) },
    scopes: PERSON_SCOPES.filter((scope) => row.scopes.includes(scope)),
    ...{ createdAt: row.created_at, lastUsedAt: row.last_used_at, expiresAt: row.expires_at },
  };
}

function requirePerson({ signedIn, scopes }: Caller): SignedInPerson {
  if (signedIn !== undefined) return signedIn;
  throw new ProblemException(403, 'Personal keys belong to people', {
    hint: 'Sign in with your identity provider: this key belongs to a program.',
    // No scope suffices.
    extra: { required: [], current: [...scopes] },
  });
}

function parseTime(at: string | undefined): number | undefined {
  return at === undefined ? undefined : Date.parse(at);
}
