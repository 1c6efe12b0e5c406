/** What a rule's status says of one agent. */
export interface AgentReading {
  readonly agentId: string;
  readonly value: number;
  /** Why the value is less than there was. */
  readonly degradedReason?: string;
}

/** One look at a rule's status. */
export interface StatusLook {
  readonly atMs: number;
  readonly agents: readonly AgentReading[];
}

/** What the status of a rule that counts, and never counts less, said after its windows were lost. Times from the loss. */
export interface LossAccount {
  /** Until an agent is first said to be degraded; undefined: none ever was. */
  readonly saidMs: number | undefined;
  /** Until no agent is shown less than before the loss without being said to be degraded. */
  readonly untoldMs: number;
  /** Until no agent is said to be degraded or shown less than before any more; undefined: some still are. */
  readonly wholeMs: number | undefined;
  /** The furthest that the end of a degradation was said to be away. */
  readonly longestMs: number;
}

const UNTIL = /degraded until (\S+?): /;

/** @param looks in the order they were taken */
export function accountOfLoss(looks: readonly StatusLook[], lostAtMs: number): LossAccount {
  const before = valuesBefore(looks, lostAtMs);
  const after = looks.filter(({ atMs }) => atMs > lostAtMs);
  const isShort = ({ agentId, value }: AgentReading) => value < (before.get(agentId) ?? 0);
  const isTold = ({ degradedReason }: AgentReading) => degradedReason !== undefined;
  const since = (look: StatusLook | undefined) => (look === undefined ? undefined : look.atMs - lostAtMs);
  const lastWrong = after.findLastIndex(({ agents }) => agents.some((agent) => isTold(agent) || isShort(agent)));
  return {
    saidMs: since(after.find(({ agents }) => agents.some(isTold))),
    untoldMs: since(after.findLast(({ agents }) => agents.some((one) => isShort(one) && !isTold(one)))) ?? 0,
    wholeMs: lastWrong === -1 ? 0 : since(after[lastWrong + 1]),
    longestMs: Math.max(0, ...after.flatMap(({ atMs, agents }) => agents.map((agent) => untilOf(agent) - atMs))),
  };
}

function valuesBefore(looks: readonly StatusLook[], lostAtMs: number): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  for (const { atMs, agents } of looks) {
    if (atMs > lostAtMs) break;
    for (const { agentId, value } of agents) values.set(agentId, value);
  }
  return values;
}

function untilOf({ degradedReason }: AgentReading): number {
  return Date.parse(UNTIL.exec(degradedReason ?? '')?.[1] ?? '') || 0;
}
