import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef } from 'react';
import { visible } from '../../../../libs/contracts/src/visible.ts';
import { clock } from '../time/zone.ts';
import type { EventContents } from './event-contents.ts';
import { useVisibleEntries } from './use-event-contents.ts';
import type { RunEntry } from './use-run.ts';

const LINE_PX = 22;

/** The log view: every entry as one line. */
export function Log({ entries, contents }: { entries: readonly RunEntry[]; contents: EventContents }) {
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: entries.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_PX,
    overscan: 20,
  });
  const shown = virtual.getVirtualItems();
  useVisibleEntries(
    contents,
    shown.flatMap(({ index }) => entries[index] ?? []),
  );
  return (
    // A scrolling region must be focusable.
    <div ref={box} className="tree lg2" role="region" aria-label="Log" tabIndex={0} aria-busy={contents.state().busy}>
      <div style={{ height: `${virtual.getTotalSize()}px`, position: 'relative' }}>
        {shown.map((item) => {
          const entry = entries[item.index];
          if (entry === undefined) return null;
          const { kind, tone, text } = lineOf(entry, contents);
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

const MAX_TEXT_CHARS = 400;

function lineOf(entry: RunEntry, contents: EventContents): { kind: string; tone: string; text: string } {
  const { name = '', message = '' } = entry;
  switch (entry.type) {
    case 'event': {
      const payload = contents.of(entry)?.payload;
      return {
        kind: entry.kind ?? 'event',
        tone: entry.isError ? 'bad' : 't2',
        text: `${name} ${payload === undefined ? '' : visible(JSON.stringify(payload).slice(0, MAX_TEXT_CHARS))}`,
      };
    }
    case 'decision':
      return {
        kind: 'decision',
        tone: entry.verdict === 'BLOCK' ? 'bad' : 't2',
        text: `${entry.verdict} ${name}: ${message}`,
      };
    case 'trigger':
      return { kind: 'trigger', tone: 'warn', text: `${name}: ${message}` };
    case 'alert':
      return { kind: `alert ${entry.moment}`, tone: 'warn', text: name };
    case 'order':
      return { kind: 'order', tone: 'bad', text: visible(`${entry.status} by ${entry.by}: ${message}`) };
    case 'breaker':
      return { kind: 'breaker', tone: 'bad', text: entry.status ?? '' };
  }
}
