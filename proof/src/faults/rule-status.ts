import { request } from 'undici';
import { RepeatedLook } from '../harness/time.ts';
import type { StatusLook } from './lost-windows.ts';
import type { Site } from './site.ts';

const EVERY_MS = 100;
const DEADLINE_MS = 5_000;

interface RuleStatus {
  readonly agents: readonly {
    readonly agentId: string;
    readonly currentValue?: number;
    readonly degradedReason?: string;
  }[];
}

/** Polls a rule's status through the API, like an operator would, and records the readings of some agents. */
export class RuleStatusWatch {
  readonly looks: StatusLook[] = [];
  readonly #site: Site;
  readonly #ruleId: string;
  readonly #agents: string;
  readonly #watching: RepeatedLook;

  /** @param agents prefix of the agents' ids */
  constructor(site: Site, ruleId: string, agents: string) {
    this.#site = site;
    this.#ruleId = ruleId;
    this.#agents = agents;
    this.#watching = new RepeatedLook(async () => void this.looks.push(await this.#look()), EVERY_MS);
  }

  /** Stops polling. */
  stop(): void {
    this.#watching.stop();
  }

  /** Stops polling. @throws the error of a failed poll: the status must be available, even without Redis */
  close(): Promise<void> {
    return this.#watching.close();
  }

  async #look(): Promise<StatusLook> {
    const { queryUrl, key } = this.#site.stack;
    const answer = await request(`${queryUrl}/api/guardrails/${this.#ruleId}/status`, {
      headers: { authorization: `Bearer ${key}` },
      headersTimeout: DEADLINE_MS,
      bodyTimeout: DEADLINE_MS,
    });
    // The status refers to the time of the request, not of the response.
    const atMs = Date.now();
    if (answer.statusCode !== 200) throw new Error(`a rule's status: ${answer.statusCode} ${await answer.body.text()}`);
    const { agents } = (await answer.body.json()) as RuleStatus;
    const own = agents.filter(({ agentId }) => agentId.startsWith(this.#agents));
    return { atMs, agents: own.map(({ currentValue = 0, ...agent }) => ({ ...agent, value: currentValue })) };
  }
}
