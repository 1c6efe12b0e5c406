import { otherVersion, type Scope } from '@agentlens/contracts';
import { createKey, KEYS_LIST, listKeys, type RequestOf, revokeKey, rotateKey } from '@agentlens/operations';
import {
  type ApiKey,
  ApiKeys,
  type Caller,
  type Clock,
  CurrentCaller,
  FromRequest,
  type NewApiKey,
  ProblemException,
  port,
  Serves,
} from '@agentlens/platform';
import { Controller, Inject } from '@nestjs/common';
import { pageOf } from '../http/page.ts';
import { foundOr404 } from '../http/tenant-reads.ts';
import { KeyNames } from './key-names.ts';

const KEY = 'API key';

@Controller()
export class KeysController {
  constructor(
    private readonly keys: ApiKeys,
    private readonly names: KeyNames,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  @Serves(createKey)
  async create(@CurrentCaller() caller: Caller, @FromRequest() { body: draft }: RequestOf<typeof createKey>) {
    if (draft.expiresAt !== undefined && Date.parse(draft.expiresAt) <= this.clock.now()) {
      throw new ProblemException(400, 'Validation failed', {
        details: [{ path: 'expiresAt', message: 'must lie in the future' }],
      });
    }
    const { author } = await this.names.authorOf(caller);
    return secretView(await this.keys.create({ tenantId: caller.tenantId, author, ...draft }));
  }

  @Serves(listKeys)
  async list(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof listKeys>) {
    const { limit, offset, cursor } = query;
    const rows = await this.keys.list(caller.tenantId, { limit: limit + 1, offset, after: cursor });
    const positionOf = ({ createdAt, id }: ApiKey) => ({ at: createdAt, id });
    const { items, ...page } = pageOf(KEYS_LIST, rows, limit, positionOf, (key) => ({
      ...view(key),
      lastUsedAt: key.lastUsedAt,
      revokedAt: key.revokedAt,
    }));
    return { keys: items, ...page };
  }

  @Serves(rotateKey)
  async rotate(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id }, headers }: RequestOf<typeof rotateKey>,
  ) {
    const { author } = await this.names.authorOf(caller);
    const ifVersion = headers['if-match'];
    const rotated = await this.keys.rotate(caller.tenantId, id, { author, ifVersion });
    switch (rotated.kind) {
      case 'other_version':
        throw changedMeanwhile(ifVersion, rotated.current);
      case 'unknown':
        return foundOr404(KEY, null);
      case 'not_live':
        throw new ProblemException(409, 'API key is revoked or expired', { hint: 'Create a new key instead.' });
      case 'rotated': {
        const { id: previousId, expiresAt, version } = rotated.previous;
        return { ...secretView(rotated.key), previous: { id: previousId, expiresAt, version } };
      }
    }
  }

  @Serves(revokeKey)
  async revoke(
    @CurrentCaller() caller: Caller,
    @FromRequest() { params: { id }, headers }: RequestOf<typeof revokeKey>,
  ) {
    const { author } = await this.names.authorOf(caller);
    const ifVersion = headers['if-match'];
    const revoked = await this.keys.revoke(caller.tenantId, id, { author, ifVersion });
    switch (revoked.kind) {
      case 'other_version':
        throw changedMeanwhile(ifVersion, revoked.current);
      case 'last_of_scope':
        throw new ProblemException(409, `This is the last ${makerOf(caller)} key of the tenant`, {
          hint: 'Create another or rotate this one first. Otherwise no key could create another.',
        });
      case 'already_revoked':
        throw new ProblemException(409, 'API key is already revoked');
      case 'unknown':
        return foundOr404(KEY, null);
      case 'revoked':
        return { id, revoked: true };
    }
  }
}

/** The scope that lets the caller revoke keys. The last key with this scope cannot be revoked. */
function makerOf({ scopes }: Caller): Scope {
  return scopes.includes('platform') ? 'platform' : 'admin';
}

function changedMeanwhile(wanted: number | undefined, current: number): ProblemException {
  return ProblemException.from(otherVersion(KEY, wanted, current).problem);
}

function view(key: ApiKey) {
  const { id, name, scopes, agents, tenantId, eventsPerSecond, createdAt, expiresAt, breakGlass, version } = key;
  return { id, name, scopes, agents, tenantId, eventsPerSecond, createdAt, expiresAt, breakGlass, version };
}

function secretView(key: NewApiKey) {
  return { ...view(key), key: key.key };
}
