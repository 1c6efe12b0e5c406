import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef } from 'react';
import type { TimelineEntry } from '../api/model.ts';
import { clock } from '../time/zone.ts';

const LINE_PX = 22;

/** Everything as it came, one line each. */
export function Log({ entries }: { entries: readonly TimelineEntry[] }) {
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: entries.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_PX,
    overscan: 20,
  });
  return (
    // A region that scrolls has to be reachable by keys.
    <div ref={box} className="tree lg2" role="region" aria-label="Log" tabIndex={0}>
      <div style={{ height: `${virtual.getTotalSize()}px`, position: 'relative' }}>
        {virtual.getVirtualItems().map((item) => {
          const entry = entries[item.index];
          if (entry === undefined) return null;
          const { kind, tone, text } = lineOf(entry);
          return (
            <div key={item.key} className="lgl mono" style={{ transform: `translateY(${item.start}px)` }}>
              <span className="t3">{clock(entry.at, true)}</span> <span className={`lgk ${tone}`}>{kind}</span>{' '}
              <bdi>{text}</bdi>
            </div>
          );
        })}
      </div>
    </div>
  );
}

const MOST_TEXT = 400;

function lineOf(entry: TimelineEntry): { kind: string; tone: string; text: string } {
  switch (entry.type) {
    case 'event': {
      const { event } = entry;
      const name = event.toolName ?? event.model ?? '';
      return {
        kind: event.kind,
        tone: event.isError ? 'bad' : 't2',
        text: `${name} ${JSON.stringify(event.payload).slice(0, MOST_TEXT)}`,
      };
    }
    case 'decision':
      return {
        kind: 'decision',
        tone: entry.decision.verdict === 'BLOCK' ? 'bad' : 't2',
        text: `${entry.decision.verdict} ${entry.decision.toolName ?? ''}: ${entry.decision.message}`,
      };
    case 'trigger':
      return { kind: 'trigger', tone: 'warn', text: `${entry.trigger.ruleName}: ${entry.trigger.metadata.message}` };
    case 'alert':
      return { kind: `alert ${entry.moment}`, tone: 'warn', text: entry.alert.title };
    case 'order':
      return { kind: 'order', tone: 'bad', text: `${entry.order.state} by ${entry.order.by}: ${entry.order.reason}` };
    case 'breaker':
      return { kind: 'breaker', tone: 'bad', text: entry.breaker.state.kind };
  }
}
