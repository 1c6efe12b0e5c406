import { getSettings, updateSettings } from '@agentlens/operations';
import { type Caller, CurrentCaller, parseOr400, Serves } from '@agentlens/platform';
import { Body, Controller } from '@nestjs/common';
import { foundOr404 } from '../http/found-or-404.ts';
import { SettingsRepository } from './settings.repository.ts';

const TENANT = 'Tenant';

@Controller()
export class SettingsController {
  constructor(private readonly settings: SettingsRepository) {}

  @Serves(getSettings)
  async get(@CurrentCaller() { tenantId }: Caller) {
    return foundOr404(TENANT, await this.settings.read(tenantId));
  }

  @Serves(updateSettings)
  async put(@CurrentCaller() { tenantId }: Caller, @Body() body: unknown) {
    return foundOr404(TENANT, await this.settings.write(tenantId, parseOr400(updateSettings.body, body)));
  }
}
