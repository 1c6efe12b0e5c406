import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef } from 'react';
import { visible } from '../../../../libs/contracts/src/visible.ts';
import { clock } from '../time/zone.ts';
import type { Told } from './use-run.ts';
import { useWanted } from './use-words.ts';
import type { Words } from './words.ts';

const LINE_PX = 22;

/** Everything as it came, one line each. */
export function Log({ entries, words }: { entries: readonly Told[]; words: Words }) {
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: entries.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_PX,
    overscan: 20,
  });
  const shown = virtual.getVirtualItems();
  useWanted(
    words,
    shown.flatMap(({ index }) => entries[index] ?? []),
  );
  return (
    // A region that scrolls has to be reachable by keys.
    <div ref={box} className="tree lg2" role="region" aria-label="Log" tabIndex={0} aria-busy={words.state().busy}>
      <div style={{ height: `${virtual.getTotalSize()}px`, position: 'relative' }}>
        {shown.map((item) => {
          const entry = entries[item.index];
          if (entry === undefined) return null;
          const { kind, tone, text } = lineOf(entry, words);
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

function lineOf(entry: Told, words: Words): { kind: string; tone: string; text: string } {
  const { name = '', message = '' } = entry;
  switch (entry.type) {
    case 'event': {
      const payload = words.of(entry)?.payload;
      return {
        kind: entry.kind ?? 'event',
        tone: entry.isError ? 'bad' : 't2',
        text: `${name} ${payload === undefined ? '' : visible(JSON.stringify(payload).slice(0, MOST_TEXT))}`,
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
      return { kind: 'order', tone: 'bad', text: `${entry.status} by ${entry.by}: ${message}` };
    case 'breaker':
      return { kind: 'breaker', tone: 'bad', text: entry.status ?? '' };
  }
}
