import { type ChangeAuthor, signatureOf } from '@agentlens/contracts';
import type { Caller } from '@agentlens/platform';
import { Injectable } from '@nestjs/common';
import { TenantReads } from '../http/tenant-reads.ts';

/** How a key signs what was done with it. */
@Injectable()
export class KeyNames {
  constructor(private readonly reads: TenantReads) {}

  /** Who makes a change: for the audit, and as the text that is shown beside it. */
  async authorOf({ tenantId, keyId, person }: Caller): Promise<{ author: ChangeAuthor; by: string }> {
    const key = await this.reads.read(tenantId, (db) =>
      db
        .selectFrom('api_keys')
        .select('name')
        .where('tenant_id', '=', tenantId)
        .where('key_id', '=', keyId)
        .executeTakeFirst(),
    );
    const author = { keyId, keyName: key?.name ?? keyId, ...(person === undefined ? {} : { person }) };
    return { author, by: signatureOf(author) };
  }
}
