import type { Suppression } from '@agentlens/contracts';

/** What a group has sent to its receiver. Times in ms. */
export interface GroupState {
  readonly notBeforeMs: number;
  /** Null: nothing was sent yet. */
  readonly lastSentAtMs: number | null;
  /** Ids of alerts that the receiver was given as firing. Each id is one episode. */
  readonly shown: readonly string[];
}

export interface GroupMember {
  readonly alertId: string;
  readonly firing: boolean;
  readonly suppressed?: Suppression | undefined;
}

export interface GroupTiming {
  readonly groupIntervalMs: number;
  /** Null: never. */
  readonly repeatMs: number | null;
}

export type SendReason = 'first' | 'new' | 'resolved' | 'repeat' | 'rerouted';

export interface FlushStep {
  /** Undefined: nothing is sent. */
  readonly send?: {
    readonly reason: SendReason;
    /** Alerts that the notice gives as firing; `added` of them were not shown before. */
    readonly firing: readonly string[];
    readonly added: readonly string[];
    readonly ended: readonly string[];
  };
  readonly group: GroupState;
  /** When to look at the group again. Null: it is empty and can be removed. */
  readonly dueAtMs: number | null;
}

/**
 * Decides what to send now. Every alert that was shown is shown as ended once, silenced or not; no suppressed alert is
 * shown as firing; nothing is sent before `notBeforeMs` or repeated before `repeatMs`.
 *
 * @param members every alert of the group that fires; alerts that are shown and missing have ended
 */
export function flushGroup(
  group: GroupState,
  members: readonly GroupMember[],
  { groupIntervalMs, repeatMs }: GroupTiming,
  nowMs: number,
): FlushStep {
  if (nowMs < group.notBeforeMs) return { group, dueAtMs: group.notBeforeMs };
  const firing = members.filter((one) => one.firing);
  const burning = new Set(firing.map(({ alertId }) => alertId));
  const shown = new Set(group.shown);
  const visible = firing.filter(({ suppressed }) => suppressed === undefined).map(({ alertId }) => alertId);
  const added = visible.filter((id) => !shown.has(id));
  const ended = group.shown.filter((id) => !burning.has(id));
  const reason = chooseReason();
  const kept = group.shown.filter((id) => burning.has(id));
  const isEmpty = firing.length === 0;
  if (reason === undefined) return { group, dueAtMs: isEmpty ? null : nextLook() };
  return {
    send: { reason, firing: visible, added, ended },
    group: { notBeforeMs: group.notBeforeMs, lastSentAtMs: nowMs, shown: [...new Set([...kept, ...visible])] },
    dueAtMs: isEmpty ? null : nowMs + groupIntervalMs,
  };

  function chooseReason(): SendReason | undefined {
    if (added.length > 0) return shown.size === 0 ? 'first' : 'new';
    if (ended.length > 0) return 'resolved';
    if (visible.length === 0 || repeatMs === null || group.lastSentAtMs === null) return undefined;
    return nowMs - group.lastSentAtMs >= repeatMs ? 'repeat' : undefined;
  }

  /** Silences and windows begin and end between looks. */
  function nextLook(): number {
    return nowMs + groupIntervalMs;
  }
}

/** Ends a group whose route or channel is gone: what it has shown is shown as ended. */
export function endGroup(group: GroupState, nowMs: number): FlushStep {
  const after = { notBeforeMs: group.notBeforeMs, lastSentAtMs: nowMs, shown: [] };
  if (group.shown.length === 0) return { group: after, dueAtMs: null };
  return { send: { reason: 'rerouted', firing: [], added: [], ended: group.shown }, group: after, dueAtMs: null };
}

/** When a group is due after one of its alerts began or ended. */
export function dueAfterChange(
  { notBeforeMs, lastSentAtMs }: Pick<GroupState, 'notBeforeMs' | 'lastSentAtMs'>,
  { groupIntervalMs }: Pick<GroupTiming, 'groupIntervalMs'>,
  nowMs: number,
): number {
  return Math.max(nowMs, notBeforeMs, lastSentAtMs === null ? 0 : lastSentAtMs + groupIntervalMs);
}
