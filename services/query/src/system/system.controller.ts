import { getSystemLag, listDeadLetters, type RequestOf } from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, ProblemException, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { SystemReads } from './system.reads.ts';

@Controller()
export class SystemController {
  constructor(private readonly system: SystemReads) {}

  @Serves(getSystemLag)
  lag() {
    return this.system.lag();
  }

  @Serves(listDeadLetters)
  async deadLetters(@CurrentCaller() caller: Caller, @FromRequest() { query }: RequestOf<typeof listDeadLetters>) {
    if (!caller.scopes.includes('platform')) return this.system.deadLetters(query, caller.tenantId);
    if (query.content !== true) return this.system.deadLetters(query);
    throw new ProblemException(403, 'The scope "platform" cannot read data of tenants', {
      hint: 'Leave "content" out, or use an admin key of the tenant.',
    });
  }
}
