import { COMMANDS, type QuestionOf, sha256Hex } from '@agentlens/contracts';
import { BackgroundWork, type EventBus } from '@agentlens/messaging';
import type { Platform } from '@agentlens/platform';
import { BoundedMap } from '@agentlens/state';

/** Alerts that are remembered as raised. Forgetting one costs a question that the dispatcher ignores. */
const MAX_REMEMBERED = 10_000;

type RaisedAlert = QuestionOf<typeof COMMANDS.raiseAlert>;

interface DailyAlert extends Omit<RaisedAlert, 'about' | 'at'> {
  /** Two alerts of a tenant and a day with equal values are the same one. */
  readonly identity: readonly unknown[];
  readonly occurredAt: string;
}

/** Raises an alert at most once per UTC day. */
export class DailyAlerts {
  readonly #bus: Pick<EventBus, 'request'>;
  readonly #logger: Platform['logger'];
  readonly #kind: string;
  readonly #raised = new BoundedMap<true>(MAX_REMEMBERED);
  readonly #asking = new BackgroundWork();

  /** @param kind begins the subject of each alert, such as `unpriced` */
  constructor(bus: Pick<EventBus, 'request'>, logger: Platform['logger'], kind: string) {
    this.#bus = bus;
    this.#logger = logger;
    this.#kind = kind;
  }

  /** Does not wait for the answer: the next occurrence tries again if the dispatcher could not be reached. */
  raise({ identity, occurredAt, ...alert }: DailyAlert): void {
    const { tenantId } = alert;
    const day = occurredAt.slice(0, 10);
    const digest = sha256Hex(JSON.stringify([...identity, day]));
    const key = `${tenantId}/${digest}`;
    if (this.#raised.has(key)) return;
    this.#raised.set(key, true);
    const asked = this.#bus
      .request(COMMANDS.raiseAlert, { ...alert, about: `${this.#kind}:${digest}`, at: `${day}T00:00:00.000Z` })
      .then((answer) => {
        if (!answer.ok) throw new Error(answer.problem.error);
      })
      .catch((err: unknown) => {
        this.#raised.delete(key);
        this.#logger.warn({ err, tenantId, kind: this.#kind }, 'raising an alert failed');
      });
    this.#asking.add(asked);
  }

  async stop(): Promise<void> {
    await this.#asking.ended();
  }
}
