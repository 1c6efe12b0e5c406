import type { HostId } from '../hosts/host.ts';
import type { Journal } from '../state.ts';

/** Who reports a model call: a session or one of its sub-agents. */
export interface UsageOwner {
  readonly host: HostId;
  /** The session. */
  readonly id: string;
  readonly agent: string | undefined;
}

const REMEMBER_MS = 30 * 24 * 3_600_000;
const MAX_CLAIMS = 200_000;

/**
 * Which session a model call belongs to. A forked or resumed session begins with a copy of an earlier transcript, and
 * each call was paid once: the first session that reports it keeps it, also over a restart.
 */
export class UsageClaims {
  readonly #journal: Journal;
  readonly #now: () => number;
  #owners: Map<string, string> | undefined;

  constructor(journal: Journal, now: () => number) {
    this.#journal = journal;
    this.#now = now;
  }

  /** @returns whether the call is this owner's; a second report by the same one is its own as well */
  claim(owner: UsageOwner, call: string): boolean {
    const owners = this.#known();
    const key = `${owner.host} ${call}`;
    const claimed = owners.get(key);
    if (claimed !== undefined) return claimed === nameOf(owner);
    if (owners.size >= MAX_CLAIMS) forgetOldest(owners);
    owners.set(key, nameOf(owner));
    const { host, id: session, agent } = owner;
    this.#journal.write({ t: this.#now(), k: 'usage', host, session, agent, call });
    return true;
  }

  has(host: HostId, call: string): boolean {
    return this.#known().has(`${host} ${call}`);
  }

  #known(): Map<string, string> {
    if (this.#owners !== undefined) return this.#owners;
    const owners = new Map<string, string>();
    for (const { k, host, session, agent, call = '' } of this.#journal.read(this.#now() - REMEMBER_MS, '"usage"'))
      if (k === 'usage' && !owners.has(`${host} ${call}`))
        owners.set(`${host} ${call}`, nameOf({ id: session, agent }));
    this.#owners = owners;
    return owners;
  }
}

function nameOf({ id, agent }: Pick<UsageOwner, 'id' | 'agent'>): string {
  return agent === undefined ? id : `${id} ${agent}`;
}

function forgetOldest(owners: Map<string, string>): void {
  const [oldest] = owners.keys();
  if (oldest !== undefined) owners.delete(oldest);
}
