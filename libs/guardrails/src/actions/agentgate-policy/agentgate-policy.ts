import { HttpAddress } from '@agentlens/contracts';
import { z } from 'zod';
import type { ExecutedAction } from '../../catalog/action-module.ts';
import { outcomeOfSilence, retryLater } from '../http-outcome.ts';

const AgentgateConfig = z.strictObject({
  agentgateUrl: HttpAddress.meta({ title: 'AgentGate address' }),
  policyId: z.string().trim().min(1).max(200).default('default').meta({ title: 'Policy' }),
  action: z.string().trim().min(1).max(100).default('restrict').meta({ title: 'Policy action' }),
  apiKey: z.string().min(1).max(4096).optional().meta({ title: 'API key', secret: true }),
});
type AgentgateConfig = z.infer<typeof AgentgateConfig>;

/** Retryable statuses besides 5xx: timeout, too early, too many requests. */
const PASSING = new Set([408, 425, 429]);

/** Changes a policy on an AgentGate server. Idempotent. */
export const agentgatePolicy: ExecutedAction<AgentgateConfig> = {
  type: 'agentgate_policy',
  title: 'Change an AgentGate policy',
  description: 'Sets the action of a policy on an AgentGate server for the agent.',
  config: AgentgateConfig,
  example: { agentgateUrl: 'https://agentgate.example.com', policyId: 'default', action: 'restrict' },
  phases: ['stream'],
  urgency: 'control',
  secrets: ['apiKey'],
  addresses: ['agentgateUrl'],
  async execute(config, trigger, tools) {
    const response = await tools.send({
      method: 'PUT',
      url: policyAddress(config),
      headers: {
        'content-type': 'application/json',
        ...(config.apiKey === undefined ? {} : { authorization: `Bearer ${config.apiKey}` }),
      },
      body: JSON.stringify({
        action: config.action,
        reason: trigger.message,
        agentId: trigger.agentId,
        triggeredBy: 'agentlens-guardrail',
        ruleId: trigger.ruleId,
      }),
    });
    if (response.kind !== 'answered') return outcomeOfSilence(response);
    const { status } = response;
    if (status >= 200 && status < 300) return { kind: 'delivered', httpStatus: status, detail: `HTTP ${status}` };
    if (status >= 500 || PASSING.has(status)) return retryLater(response, tools.now());
    return { kind: 'rejected', httpStatus: status, reason: `HTTP ${status}` };
  },
};

function policyAddress({ agentgateUrl, policyId }: AgentgateConfig): string {
  const url = new URL(agentgateUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/api/policies/${encodeURIComponent(policyId)}`;
  return url.href;
}
