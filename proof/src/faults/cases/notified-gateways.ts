import type { ServiceProcess } from '../../harness/service-process.ts';
import { until } from '../../harness/time.ts';
import { blockRule } from '../record.ts';
import type { Site } from '../site.ts';

/** Time for a change to reach every gateway, on a busy machine. */
const FOLLOWED_MS = 30_000;

interface Answer {
  readonly verdict: string;
  readonly cause: { readonly kind: string };
}

type Outcome = 'ALLOW' | 'RULE_VIOLATION' | 'LOCKDOWN';

/** Gateways that learn of a rule and of orders, and must each answer by them. */
export class NotifiedGateways {
  /** Changes that every gateway followed. */
  followed = 0;
  #turns = 0;
  readonly #site: Site;
  readonly #gateways: readonly ServiceProcess[];

  constructor(site: Site, gateways: readonly ServiceProcess[]) {
    this.#site = site;
    this.#gateways = gateways;
  }

  /** Makes a rule, kills an agent and lets it run again. @throws an error that names what a gateway did not follow */
  async follow(when: string): Promise<void> {
    this.#turns += 1;
    const agentId = `notified-${this.#turns}`;
    const tool = `pay-${this.#turns}`;
    await this.#all('ALLOW', agentId, tool, when);
    const rule = await this.#site.addRule(blockRule(tool));
    await this.#all('RULE_VIOLATION', agentId, tool, `${when}, a new rule`);
    await this.#site.removeRule(rule);
    await this.#all('ALLOW', agentId, tool, `${when}, the rule removed`);
    await this.#site.order(agentId, 'killed');
    await this.#all('LOCKDOWN', agentId, tool, `${when}, the agent killed`);
    await this.#site.order(agentId, 'running');
    await this.#all('ALLOW', agentId, tool, `${when}, the agent running again`);
  }

  async #all(outcome: Outcome, agentId: string, tool: string, when: string): Promise<void> {
    for (const gateway of this.#gateways) {
      let last: Outcome | undefined;
      await until(
        `${gateway.name} to answer ${outcome} (${when})`,
        async () => {
          last = await this.#ask(gateway, agentId, tool);
          return last === outcome ? true : undefined;
        },
        FOLLOWED_MS,
        async () => `and got ${last}`,
      );
    }
    this.followed += 1;
  }

  async #ask(gateway: ServiceProcess, agentId: string, tool: string): Promise<Outcome | undefined> {
    const question = { phase: 'tool.before', agentId, tool: { name: tool }, args: {}, deadlineMs: 2_000 };
    const { status, text } = await this.#site.post(gateway.url, `/v1/runs/${agentId}/evaluate`, question);
    if (status !== 200) throw new Error(`${gateway.name} answered ${status}: ${text}`);
    const { verdict, cause } = JSON.parse(text) as Answer;
    if (verdict === 'ALLOW') return 'ALLOW';
    return cause.kind === 'RULE_VIOLATION' || cause.kind === 'LOCKDOWN' ? cause.kind : undefined;
  }
}
