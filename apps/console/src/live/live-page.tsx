import { Link } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, useState } from 'react';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { StoredEvent } from '../api/model.ts';
import { count, shortId } from '../figures/figures.ts';
import { live, useLive, useLiveEvents, useRead } from '../live-data/live-store.ts';
import { Page } from '../shell/page.tsx';
import { clock } from '../time/zone.ts';
import { Empty } from '../ui/faces.tsx';
import { FilterChip, FilterField } from '../ui/filters.tsx';
import { Icon } from '../ui/icon.tsx';
import { Moment, useNow } from '../ui/moment.tsx';
import { useListSearch } from '../ui/use-list-search.ts';

type Name = 'agent' | 'kind' | 'q';
const ROW_PX = 26;
const RATE_MS = 10_000;

/** Live events, newest last. Scrolling up pauses the list. */
export function LivePage() {
  const all = useLiveEvents();
  const { state, gaps } = useLive();
  const { search, change, clear } = useListSearch<Name>();
  const before = useRead(['events', 'latest'], (signal) => client.listEvents({ query: { limit: 1 }, signal }));
  const latest = before.data?.events[0];
  const [held, setHeld] = useState<readonly StoredEvent[]>();
  const now = useNow();
  const shown = (held ?? all).filter(
    (event) =>
      (search.agent === undefined || event.agentId === search.agent) &&
      (search.kind === undefined || event.kind === search.kind) &&
      (search.q === undefined || textOf(event).includes(search.q.toLowerCase())),
  );
  const rate = all.filter(({ receivedAt }) => now - Date.parse(receivedAt) < RATE_MS).length / (RATE_MS / 1000);
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  });
  useEffect(() => {
    if (held === undefined && shown.length > 0) virtual.scrollToIndex(shown.length - 1);
  }, [held, shown.length, virtual]);
  const onScroll = () => {
    const element = box.current;
    if (element === null) return;
    const atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < ROW_PX * 2;
    if (atEnd) setHeld(undefined);
    else setHeld((before) => before ?? all);
  };
  const choices = (of: 'agentId' | 'kind') =>
    [...new Set(all.map((event) => event[of]))].sort().map((id) => ({ id, name: id }));
  return (
    <Page name="live" title="Live" time="Live">
      <div className="bar0">
        <FilterField label="Filter by text" value={search.q ?? ''} onChange={(q) => change({ q }, true)} />
        <FilterChip
          name="Agent"
          value={search.agent}
          choices={choices('agentId')}
          onChange={(agent) => change({ agent })}
        />
        <FilterChip name="Kind" value={search.kind} choices={choices('kind')} onChange={(kind) => change({ kind })} />
        <span className="sp" />
        {held !== undefined && (
          <button type="button" className="b sm new" onClick={() => setHeld(undefined)}>
            <Icon name="dn" size={12} />
            {count(Math.max(0, all.length - held.length))} new
          </button>
        )}
        <span className="t3 num">
          {rate.toFixed(1)} a second · {count(live.received())} seen ·{' '}
          <span className={gaps === 0 ? '' : 'warn'}>{gaps} gaps</span>
        </span>
      </div>
      {/* A scrolling region must be focusable. */}
      <div ref={box} className="vt" role="region" aria-label="Events" tabIndex={0} onScroll={onScroll}>
        {shown.length === 0 ? (
          <div className="pad">
            {all.length > 0 ? (
              <Empty
                title="No events match."
                act={
                  <button type="button" className="b" onClick={clear}>
                    Clear filter
                  </button>
                }
              >
                {count(all.length)} received since this page was opened.
              </Empty>
            ) : (
              <Empty
                title={
                  state === 'connecting'
                    ? 'Connecting.'
                    : state !== 'live'
                      ? 'Not connected.'
                      : latest === undefined
                        ? 'No events yet.'
                        : 'No events since you opened this page.'
                }
                act={
                  latest === undefined ? (
                    <Link className="b" to="/connect">
                      Connect an agent
                    </Link>
                  ) : (
                    <Link className="b" to="/runs">
                      See runs
                    </Link>
                  )
                }
              >
                {latest === undefined ? (
                  'Events appear here within a second of being sent.'
                ) : (
                  <>
                    The latest event arrived at <Moment at={latest.receivedAt} />. New ones appear here within a second.
                  </>
                )}
              </Empty>
            )}
          </div>
        ) : (
          <div style={{ height: `${virtual.getTotalSize()}px`, position: 'relative' }}>
            {virtual.getVirtualItems().map((item) => {
              const event = shown[item.index];
              if (event === undefined) return null;
              return (
                <div
                  key={event.id + event.timestamp}
                  className="lv"
                  style={{ transform: `translateY(${item.start}px)` }}
                >
                  <span className="t3 num">{clock(event.timestamp, true)}</span>
                  <span className={event.isError ? 'bad' : 't2'}>{event.kind}</span>
                  <bdi>{visibleName(event.agentId)}</bdi>
                  <bdi className="mono t2">
                    <b>{visibleName(event.toolName ?? event.model ?? '')}</b>{' '}
                    {visible(JSON.stringify(event.payload)).slice(0, 300)}
                  </bdi>
                  <Link className="mono link" to="/runs/$id" params={{ id: event.sessionId }}>
                    {shortId(event.sessionId)}
                  </Link>
                </div>
              );
            })}
          </div>
        )}
      </div>
    </Page>
  );
}

function textOf(event: StoredEvent): string {
  return `${event.agentId} ${event.kind} ${event.sessionId} ${event.toolName ?? ''} ${event.model ?? ''} ${JSON.stringify(event.payload)}`.toLowerCase();
}
