import { createTenant, listTenants, type RequestOf } from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, ProblemException, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { KeyNames } from '../keys/key-names.ts';
import { TenantsRepository } from './tenants.repository.ts';

@Controller()
export class TenantsController {
  constructor(
    private readonly tenants: TenantsRepository,
    private readonly names: KeyNames,
  ) {}

  @Serves(createTenant)
  async create(@CurrentCaller() caller: Caller, @FromRequest() { body }: RequestOf<typeof createTenant>) {
    const { id, name = id } = body;
    const { author } = await this.names.authorOf(caller);
    const made = await this.tenants.create(id, name, author);
    if (made === null) {
      throw new ProblemException(409, `A tenant "${id}" exists already`, { hint: 'Choose another id.' });
    }
    const { id: keyId, key } = made.adminKey;
    return { ...made.tenant, adminKey: { id: keyId, key } };
  }

  @Serves(listTenants)
  async list(@FromRequest() { query }: RequestOf<typeof listTenants>) {
    const { items, ...page } = await this.tenants.list(query);
    return { tenants: items, ...page };
  }
}
