import { type Caller, CurrentCaller, parseOr400 } from '@agentlens/platform';
import { Body, Controller } from '@nestjs/common';
import { foundOr404 } from '../http/found-or-404.ts';
import { Serves } from '../http/operation.ts';
import { getSettings, putSettings } from './settings.operations.ts';
import { SettingsRepository } from './settings.repository.ts';

const TENANT = 'Tenant';

@Controller()
export class SettingsController {
  constructor(private readonly settings: SettingsRepository) {}

  @Serves(getSettings)
  async get(@CurrentCaller() { tenantId }: Caller) {
    return foundOr404(TENANT, await this.settings.read(tenantId));
  }

  @Serves(putSettings)
  async put(@CurrentCaller() { tenantId }: Caller, @Body() body: unknown) {
    return foundOr404(TENANT, await this.settings.write(tenantId, parseOr400(putSettings.body, body)));
  }
}
