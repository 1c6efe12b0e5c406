import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type ChannelNoticeConfig, inPlaceOf, type NewNotice } from './notice-queue.ts';

const notice = (fields: Partial<NewNotice>): NewNotice => ({
  ...{ tenantId: 'acme', channelId: 'ops', reason: 'repeat', route: 'all', groupId: 'g', group: {}, orderKey: 'k' },
  ...{ firing: [], resolved: [], everyMs: 0, about: { alertId: 'a', ruleId: '', agentId: '' } },
  ...fields,
});
const older = (fields: Partial<ChannelNoticeConfig>): ChannelNoticeConfig => ({
  ...{ channelId: 'ops', noticeId: 'n', reason: 'new', route: 'all', group: {}, firing: [], resolved: [], more: 0 },
  ...{ everyMs: 0, ...fields },
});

const IDS: readonly string[] = ['a', 'b', 'c', 'd'];

describe('a notice in place of an older one', () => {
  it('keeps the ends that only the older one says', () => {
    const merged = inPlaceOf(notice({ firing: ['b'] }), older({ firing: ['b'], resolved: ['a'] }));
    expect(merged).toMatchObject({ firing: ['b'], resolved: ['a'] });
  });

  it('says that an alert fires again, not that it ended before', () => {
    expect(inPlaceOf(notice({ firing: ['a'] }), older({ resolved: ['a'] }))).toMatchObject({
      ...{ firing: ['a'], resolved: [] },
    });
  });

  it.each([
    ['first', 'repeat', ['a'], 'first'],
    ['escalation', 'changed', ['a'], 'escalation'],
    ['new', 'first', ['a'], 'first'],
    ['first', 'resolved', [], 'resolved'],
  ] as const)('after "%s", a "%s" about %j is "%s"', (before, now, firing, reason) => {
    const ended = firing.length === 0 ? ['a'] : [];
    const merged = inPlaceOf(
      notice({ reason: now, firing, resolved: ended }),
      older({ reason: before, firing: ['a'] }),
    );
    expect(merged.reason).toBe(reason);
  });

  it('says of every alert of both what the newest of them says', () => {
    const ids = fc.uniqueArray(fc.constantFrom(...IDS));
    const said = fc
      .tuple(ids, ids)
      .map(([firing, some]) => ({ firing, resolved: some.filter((id) => !firing.includes(id)) }));
    fc.assert(
      fc.property(said, said, (before, now) => {
        const merged = inPlaceOf(notice(now), older(before));
        for (const id of IDS) {
          const newest = [now, before].find(({ firing, resolved }) => firing.includes(id) || resolved.includes(id));
          expect([merged.firing.includes(id), merged.resolved.includes(id)]).toEqual([
            newest?.firing.includes(id) ?? false,
            newest?.resolved.includes(id) ?? false,
          ]);
        }
      }),
    );
  });
});
