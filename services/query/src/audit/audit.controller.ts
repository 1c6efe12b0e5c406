import { listAudit, type RequestOf } from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { AuditQueries } from './audit.queries.ts';

@Controller()
export class AuditController {
  constructor(private readonly audit: AuditQueries) {}

  @Serves(listAudit)
  async list(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof listAudit>) {
    const { items, ...page } = await this.audit.list(caller.tenantId, query);
    return { entries: items, ...page };
  }
}
