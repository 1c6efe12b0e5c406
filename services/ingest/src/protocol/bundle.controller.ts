import { ProblemException, Scopes } from '@agentlens/platform';
import { Controller, Get } from '@nestjs/common';

/** Rules for guards inside agents. */
@Controller('v1/rules')
export class BundleController {
  /** An agent without a bundle asks the server about every call. */
  @Get('bundle')
  @Scopes('decide')
  bundle(): never {
    throw new ProblemException(404, 'No rule bundle', {
      hint: 'This server offers no rules to be evaluated in the agent: ask POST /v1/runs/{runId}/evaluate.',
    });
  }
}
