import { type Database, recordChanges, type Tables } from '@agentlens/database';
import { endProviderSessions } from '@agentlens/operations';
import { type Clock, type Platform, ProblemException, parseOr400, port, Serves } from '@agentlens/platform';
import { Controller, Inject, type OnModuleInit, Req } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Transaction } from 'kysely';
import { z } from 'zod';
import { foundOr404 } from '../http/tenant-reads.ts';
import { type IdentityProvider, IdentityProviders } from '../people/identity-providers.ts';
import { PersonKeys } from '../people/person-keys.ts';
import { ProviderClient } from '../sign-in/provider-client.ts';
import { ProviderUnreachable } from '../sign-in/sign-in-refused.ts';

const MAX_FORM_BYTES = 64 * 1024;
const Form = z.object({ logout_token: z.string().min(1).max(16_000) });
const Path = z.object({ id: z.string() });

type Verified = Awaited<ReturnType<ProviderClient['verifyLogout']>>;

/** Ends sessions when the provider says that a person signed out or was disabled there. */
@Controller()
export class ProviderLogoutController implements OnModuleInit {
  constructor(
    private readonly providers: IdentityProviders,
    private readonly keys: PersonKeys,
    private readonly client: ProviderClient,
    private readonly host: HttpAdapterHost,
    @Inject(port('database')) private readonly database: Database,
    @Inject(port('clock')) private readonly clock: Clock,
    @Inject(port('logger')) private readonly logger: Platform['logger'],
  ) {}

  /** The standard sends a form. Other routes keep refusing forms, which any page may post across sites. */
  onModuleInit(): void {
    const server: FastifyInstance = this.host.httpAdapter.getInstance();
    server.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: MAX_FORM_BYTES },
      async (request: FastifyRequest, body: string) => {
        if (request.routeOptions.config.decodesBodies !== true) {
          throw new ProblemException(415, 'Unsupported content type', { hint: 'Send JSON.' });
        }
        if (request.routeOptions.config.keepsText === true) request.bodyText = body;
        return Object.fromEntries(new URLSearchParams(body));
      },
    );
  }

  @Serves(endProviderSessions, { decodesBodies: true })
  async end(@Req() request: FastifyRequest): Promise<{ ended: number }> {
    const { id } = parseOr400(Path, request.params);
    const provider = foundOr404('Identity provider', await this.providers.find(id));
    const { logout_token: token } = parseOr400(Form, request.body);
    return { ended: await this.#endSessions(provider, await this.#verify(provider, token)) };
  }

  async #verify(provider: IdentityProvider, token: string): Promise<Verified> {
    try {
      return await this.client.verifyLogout(provider, token);
    } catch (error) {
      if (error instanceof ProviderUnreachable) {
        throw new ProblemException(503, 'The keys of the identity provider cannot be read now');
      }
      this.logger.warn({ provider: provider.id, err: error }, 'a logout token was refused');
      throw new ProblemException(400, 'This is not a valid logout token of the provider');
    }
  }

  /** The token is remembered together with what it ended, so that a failed attempt can be repeated. */
  async #endSessions({ tenantId, id: providerId }: IdentityProvider, { jti, sub, sid }: Verified): Promise<number> {
    const at = new Date(this.clock.now()).toISOString();
    const ended = await this.database.db.transaction().execute(async (tx) => {
      const isNew = await tx
        .insertInto('logout_tokens')
        .values({ tenant_id: tenantId, provider_id: providerId, jti, received_at: at })
        .onConflict((conflict) => conflict.doNothing())
        .returning('jti')
        .executeTakeFirst();
      if (isNew === undefined) return [];
      const personId = await findPerson(tx, tenantId, providerId, { sub, sid });
      if (personId === undefined) return [];
      const of = { personId, providerId, via: 'console' } as const;
      const named = sid === undefined ? [] : await this.keys.revoke(tx, tenantId, { ...of, sid });
      // Without a subject only the named session ends; with one, also those that its ID tokens did not name.
      const others =
        sub === undefined ? [] : await this.keys.revoke(tx, tenantId, sid === undefined ? of : { ...of, sid: null });
      const revoked = [...named, ...others];
      const after = { ended: revoked.length, by: 'the identity provider' };
      await recordChanges(tx, [{ tenantId, at, kind: 'session.ended', targetId: personId, after }]);
      return revoked;
    });
    await this.keys.announce(tenantId, ended);
    return ended.length;
  }
}

/** The person of the subject, or of the session if the token names only that. */
async function findPerson(
  tx: Transaction<Tables>,
  tenantId: string,
  providerId: string,
  { sub, sid }: Pick<Verified, 'sub' | 'sid'>,
): Promise<string | undefined> {
  if (sub === undefined) {
    const query = tx.selectFrom('api_keys').select('person_id').where('tenant_id', '=', tenantId);
    const key = await query
      .where('provider_id', '=', providerId)
      .where('sid', '=', sid ?? '')
      .limit(1)
      .executeTakeFirst();
    return key?.person_id ?? undefined;
  }
  const identity = await tx
    .selectFrom('person_identities')
    .select('person_id')
    .where('tenant_id', '=', tenantId)
    .where('provider_id', '=', providerId)
    .where('subject', '=', sub)
    .executeTakeFirst();
  return identity?.person_id;
}
