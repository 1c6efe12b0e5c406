import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef, useState } from 'react';
import { visible } from '../../../../libs/contracts/src/visible.ts';
import { bytes } from '../figures/figures.ts';
import { Copy } from './copy.tsx';
import { Icon } from './icon.tsx';
import { type Line, linesOf, sizeOf } from './json-lines.ts';
import { saveFile } from './save-file.ts';

const LINE_PX = 22;
const MAX_HEIGHT_PX = 420;
/** Larger values are truncated; the whole value can be copied or downloaded. */
const MAX_SIZE_UNITS = 2_000_000;

interface JsonViewProps {
  readonly value: unknown;
  readonly label: string;
  /** Inserts a value into the rule that is being edited. */
  readonly onUse?: (path: string, value: unknown) => void;
}

/** JSON viewer. Shows content as text only and renders only visible lines. */
export function JsonView({ value, label, onUse }: JsonViewProps) {
  const box = useRef<HTMLDivElement>(null);
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const [all, setAll] = useState<ReadonlySet<string>>(new Set());
  const [find, setFind] = useState('');
  const size = useMemo(() => sizeOf(value, MAX_SIZE_UNITS), [value]);
  const lines = useMemo(() => linesOf(value, toggled, all), [value, toggled, all]);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_PX,
    overscan: 12,
    initialRect: { width: 400, height: MAX_HEIGHT_PX },
  });
  const hits = useMemo(
    () =>
      find === ''
        ? []
        : lines.flatMap((line, index) =>
            `${line.key ?? ''}${line.text}`.toLowerCase().includes(find.toLowerCase()) ? [index] : [],
          ),
    [find, lines],
  );
  const flip = (path: string) =>
    setToggled((before) =>
      before.has(path) ? new Set([...before].filter((one) => one !== path)) : new Set([...before, path]),
    );
  const download = () =>
    saveFile(`${label.toLowerCase().replaceAll(/\W+/g, '-')}.json`, 'application/json', [
      JSON.stringify(value, null, 2),
    ]);
  return (
    <div className="jv">
      <div className="jt">
        <Icon name="search" size={14} />
        <input
          aria-label={`Find in ${label}`}
          placeholder="Find"
          value={find}
          onChange={(event) => setFind(event.target.value)}
          onKeyDown={(event) =>
            event.key === 'Enter' &&
            hits[0] !== undefined &&
            virtual.scrollToIndex(hits.find((hit) => hit > (virtual.range?.startIndex ?? 0) + 1) ?? hits[0], {
              align: 'center',
            })
          }
        />
        {find !== '' && <span className="t3 num">{hits.length} found</span>}
        {size > 20_000 && <span className="t3 num">{size > MAX_SIZE_UNITS ? 'over 2 MB' : bytes(size)}</span>}
        <Copy text={() => JSON.stringify(value, null, 2) ?? 'null'} />
        <button type="button" className="b quiet sm" onClick={download}>
          <Icon name="dl" size={14} />
          Download
        </button>
      </div>
      {/* A scrolling region must be focusable. */}
      <div
        ref={box}
        className="jls"
        role="region"
        aria-label={label}
        tabIndex={0}
        style={{ height: `${Math.min(MAX_HEIGHT_PX, lines.length * LINE_PX + 4)}px` }}
      >
        <div style={{ height: `${virtual.getTotalSize()}px` }}>
          {virtual.getVirtualItems().map((item) => {
            const line = lines[item.index];
            return line === undefined ? null : (
              <JsonLine
                key={item.key}
                line={line}
                number={item.index + 1}
                top={item.start}
                hit={hits.includes(item.index)}
                onFlip={flip}
                onMore={(path) => setAll((before) => new Set([...before, path]))}
                onUse={onUse}
              />
            );
          })}
        </div>
      </div>
    </div>
  );
}

interface JsonLineProps {
  readonly line: Line;
  readonly number: number;
  readonly top: number;
  readonly hit: boolean;
  readonly onFlip: (path: string) => void;
  readonly onMore: (path: string) => void;
  readonly onUse: JsonViewProps['onUse'];
}

function JsonLine({ line, number, top, hit, onFlip, onMore, onUse }: JsonLineProps) {
  const isMore = line.value === undefined && line.tone === 'k';
  return (
    <div className={`jl ${hit ? 'hit' : ''}`} style={{ transform: `translateY(${top}px)` }}>
      <span className="ln">{number}</span>
      <span style={{ width: `${Math.min(line.depth, 40) * 14}px`, flex: 'none' }} />
      {line.open === undefined ? (
        <span className="tw" />
      ) : (
        <button
          type="button"
          className="tw"
          aria-label={`${line.open ? 'Collapse' : 'Expand'} ${line.path || 'all'}`}
          aria-expanded={line.open}
          onClick={() => onFlip(line.path)}
        >
          <Icon name={line.open ? 'down' : 'right'} size={12} />
        </button>
      )}
      {line.key !== undefined && <bdi className="k">{visible(JSON.stringify(line.key))}: </bdi>}
      {isMore ? (
        <button type="button" className="b quiet sm" onClick={() => onMore(line.path)}>
          {line.text}
        </button>
      ) : (
        <bdi className={line.tone}>{line.text}</bdi>
      )}
      {line.value !== undefined && (
        <span className="ja">
          <Copy text={() => (typeof line.value === 'string' ? line.value : JSON.stringify(line.value))} label="Value" />
          {onUse !== undefined && line.open === undefined && (
            <button type="button" className="b quiet sm" onClick={() => onUse(line.path, line.value)}>
              Use in rule
            </button>
          )}
        </span>
      )}
    </div>
  );
}
