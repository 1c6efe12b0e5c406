import { type ChangeAuthor, signatureOf } from '@agentlens/contracts';
import type { Caller } from '@agentlens/platform';
import { Injectable } from '@nestjs/common';
import { TenantReads } from '../http/tenant-reads.ts';

/** Names the author of a change that was made with a key. */
@Injectable()
export class KeyNames {
  constructor(private readonly reads: TenantReads) {}

  /** Returns names of keys by id. */
  async namesOf(tenantId: string, keyIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (keyIds.length === 0) return new Map();
    const rows = await this.reads.read(tenantId, (db) =>
      db
        .selectFrom('api_keys')
        .select(['key_id', 'name'])
        .where('tenant_id', '=', tenantId)
        .where('key_id', 'in', keyIds)
        .execute(),
    );
    return new Map(rows.map(({ key_id, name }) => [key_id, name]));
  }

  /** Returns the author for the audit log and the text to show for the author. */
  async authorOf({ tenantId, keyId, person, signedIn }: Caller): Promise<{ author: ChangeAuthor; by: string }> {
    if (signedIn !== undefined) {
      const { personId, name, via, sessionId } = signedIn;
      const author = {
        keyId,
        keyName: name,
        person: name,
        personId,
        via,
        ...(sessionId === undefined ? {} : { sessionId }),
      };
      return { author, by: signatureOf(author) };
    }
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
