import type { Caller } from '@agentlens/platform';
import { Injectable } from '@nestjs/common';
import { TenantReads } from '../http/tenant-reads.ts';

/** How a key signs what was done with it. */
@Injectable()
export class KeyNames {
  constructor(private readonly reads: TenantReads) {}

  /** Name and id: names may occur twice, and ids say nothing to people. */
  async of({ tenantId, keyId }: Caller): Promise<string> {
    const key = await this.reads.read(tenantId, (db) =>
      db
        .selectFrom('api_keys')
        .select('name')
        .where('tenant_id', '=', tenantId)
        .where('key_id', '=', keyId)
        .executeTakeFirst(),
    );
    return key === undefined ? keyId : `${key.name} (${keyId})`;
  }
}
