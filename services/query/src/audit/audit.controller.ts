import { createDeploy, listAudit, listDeploys, type RequestOf } from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { KeyNames } from '../keys/key-names.ts';
import { AuditQueries, Deploys } from './audit.queries.ts';

@Controller()
export class AuditController {
  constructor(
    private readonly audit: AuditQueries,
    private readonly deploys: Deploys,
    private readonly names: KeyNames,
  ) {}

  @Serves(listAudit)
  async list(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof listAudit>) {
    const { items, ...page } = await this.audit.list(caller.tenantId, query);
    return { entries: items, ...page };
  }

  @Serves(listDeploys)
  async listDeploys(@CurrentCaller() { tenantId }: Caller, @FromRequest() { query }: RequestOf<typeof listDeploys>) {
    return { deploys: await this.deploys.list(tenantId, query) };
  }

  @Serves(createDeploy)
  async recordDeploy(@CurrentCaller() caller: Caller, @FromRequest() { body }: RequestOf<typeof createDeploy>) {
    const { author } = await this.names.authorOf(caller);
    return this.deploys.record(body, caller.tenantId, author);
  }
}
