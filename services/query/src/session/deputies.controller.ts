import { endDeputy, listDeputies, type RequestOf, setDeputy } from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, ProblemException, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { foundOr404 } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';
import { Deputies } from '../people/deputies.repository.ts';

/** Whom a person lets decide in their place. */
@Controller()
export class DeputiesController {
  constructor(
    private readonly deputies: Deputies,
    private readonly names: KeyNames,
  ) {}

  @Serves(listDeputies)
  async list(@CurrentCaller() { tenantId, signedIn }: Caller) {
    if (signedIn === undefined) return { deputies: [], standsInFor: [], candidates: [] };
    return this.deputies.list(tenantId, signedIn.personId);
  }

  @Serves(setDeputy)
  async set(@CurrentCaller() caller: Caller, @FromRequest() { params: { id }, body }: RequestOf<typeof setDeputy>) {
    // First, so that an id of another tenant looks as if it did not exist.
    foundOr404('Person', (await this.deputies.isPerson(caller.tenantId, id)) || null);
    return this.deputies.set(id, body, await this.#change(caller));
  }

  @Serves(endDeputy)
  async end(@CurrentCaller() caller: Caller, @FromRequest() { params: { id } }: RequestOf<typeof endDeputy>) {
    const { tenantId, signedIn } = caller;
    const personId = foundOr404('Deputy', signedIn?.personId);
    const { author } = await this.names.authorOf(caller);
    foundOr404('Deputy', (await this.deputies.end(id, { tenantId, personId, author })) || null);
    return { id, ended: true as const };
  }

  /** @throws ProblemException 403 for a key of a program */
  async #change(caller: Caller) {
    const { tenantId, signedIn, scopes } = caller;
    if (signedIn === undefined)
      throw new ProblemException(403, 'Only people have deputies', {
        hint: 'Sign in with your identity provider: this key belongs to a program.',
        // No scope suffices.
        extra: { required: [], current: [...scopes] },
      });
    const { author } = await this.names.authorOf(caller);
    return { tenantId, personId: signedIn.personId, author };
  }
}
