import { createTenant, listTenants, type RequestOf } from '@agentlens/operations';
import { FromRequest, ProblemException, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { TenantsRepository } from './tenants.repository.ts';

@Controller()
export class TenantsController {
  constructor(private readonly tenants: TenantsRepository) {}

  @Serves(createTenant)
  async create(@FromRequest() { body: { id, name = id } }: RequestOf<typeof createTenant>) {
    const made = await this.tenants.create(id, name);
    if (made === null) {
      throw new ProblemException(409, `There is a tenant "${id}" already`, { hint: 'Choose another id.' });
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
