/** A rule's status for one agent. */
export interface AgentReading {
  readonly agentId: string;
  readonly value: number;
  /** Why the value is low. */
  readonly degradedReason?: string;
}

/** One reading of a rule's status. */
export interface StatusLook {
  readonly atMs: number;
  readonly agents: readonly AgentReading[];
}

/**
 * What the status of a rule with an increasing count showed after its windows were lost. Times are relative to the
 * loss.
 */
export interface LossAccount {
  /** Time until an agent is first marked as degraded; undefined if none was. */
  readonly markedMs: number | undefined;
  /** Time until no agent has a lower value than before the loss without being marked as degraded. */
  readonly unmarkedMs: number;
  /** Time until no agent is marked as degraded or has a lower value than before; undefined if some still are. */
  readonly wholeMs: number | undefined;
  /** The longest announced time until the end of a degradation. */
  readonly longestMs: number;
}

const UNTIL = /degraded until (\S+?): /;

/** @param looks in chronological order */
export function accountOfLoss(looks: readonly StatusLook[], lostAtMs: number): LossAccount {
  const before = valuesBefore(looks, lostAtMs);
  const after = looks.filter(({ atMs }) => atMs > lostAtMs);
  const isShort = ({ agentId, value }: AgentReading) => value < (before.get(agentId) ?? 0);
  const isMarked = ({ degradedReason }: AgentReading) => degradedReason !== undefined;
  const since = (look: StatusLook | undefined) => (look === undefined ? undefined : look.atMs - lostAtMs);
  const lastWrong = after.findLastIndex(({ agents }) => agents.some((agent) => isMarked(agent) || isShort(agent)));
  return {
    markedMs: since(after.find(({ agents }) => agents.some(isMarked))),
    unmarkedMs: since(after.findLast(({ agents }) => agents.some((one) => isShort(one) && !isMarked(one)))) ?? 0,
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
