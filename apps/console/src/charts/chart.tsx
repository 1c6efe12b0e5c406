import { type HTMLAttributes, type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react';
import { zone as chosenZone, offset } from '../time/zone.ts';
import {
  bucketLabel,
  type ChartSeries,
  type Frame,
  foldMarkers,
  frameOf,
  type Marker,
  type MarkerGroup,
  type ReferenceLine,
  summaryOf,
  type TimeSpan,
  type Unit,
} from './data.ts';
import type { Plot } from './plot.ts';
import './chart.css';

interface ChartProps<T> {
  readonly title: string;
  /** One row per bucket; missing buckets are drawn as gaps, or as 0 where the series says so. */
  readonly rows: readonly T[];
  /** Start of a row's bucket, ms. */
  readonly at: (row: T) => number;
  readonly bucketMs: number;
  readonly range: TimeSpan;
  readonly series: readonly ChartSeries<T>[];
  readonly unit: Unit;
  readonly lines?: readonly ReferenceLine[];
  readonly markers?: readonly Marker[];
  /** Called with the part of the range that was dragged over or chosen with Shift and the arrow keys. */
  readonly onBrush?: (from: number, to: number) => void;
  readonly height?: number;
  readonly zone?: string;
}

const NO_LINES: readonly ReferenceLine[] = [];
const NO_MARKERS: readonly Marker[] = [];
/** From this share of the width on, the text of a marker stands on its left. */
const TAG_TURNS_AT = 0.75;

/** Values over time: stacked bars and areas, lines, a legend with the values under the cursor, and a table. */
export function Chart<T>({
  title,
  rows,
  at,
  bucketMs,
  range,
  series,
  unit,
  lines = NO_LINES,
  markers = NO_MARKERS,
  onBrush,
  height = 180,
  zone = chosenZone(),
}: ChartProps<T>) {
  const frame = useMemo(() => frameOf(rows, at, bucketMs, range, series), [rows, at, bucketMs, range, series]);
  const [asTable, setAsTable] = useState(false);
  const [index, setIndex] = useState<number | null>(null);
  const [anchor, setAnchor] = useState<number | null>(null);
  const last = frame.times.length - 1;
  const chosen = index === null ? undefined : frame.times[Math.min(index, last)];

  const onKeyDown = (event: KeyboardEvent) => {
    const from = index ?? (event.key === 'ArrowRight' ? -1 : last + 1);
    const moves: Readonly<Record<string, number>> = {
      ArrowLeft: from - 1,
      ArrowRight: from + 1,
      PageUp: from - 10,
      PageDown: from + 10,
      Home: 0,
      End: last,
    };
    const next = moves[event.key];
    if (next !== undefined && last >= 0) {
      const to = Math.max(0, Math.min(last, next));
      setAnchor(event.shiftKey ? (anchor ?? index ?? to) : null);
      setIndex(to);
    } else if (event.key === 'Escape') {
      setAnchor(null);
      setIndex(null);
    } else if (event.key === 'Enter' && anchor !== null && index !== null) {
      const [start = 0, end = 0] = [frame.times[Math.min(anchor, index)], frame.times[Math.max(anchor, index)]];
      onBrush?.(start, end + bucketMs);
      setAnchor(null);
    } else return;
    event.preventDefault();
  };
  const spoken =
    chosen === undefined
      ? summaryText(frame, unit)
      : `${bucketLabel(chosen, bucketMs, zone)}: ${frame.series
          .map(({ name, values }) => `${name} ${valueText(values[index ?? 0] ?? null, unit)}`)
          .join(', ')}${anchor === null ? '' : '. Press Enter to show only the chosen part'}`;
  return (
    <figure className="chart">
      <figcaption className="chart-head">
        <span className="chart-title">{title}</span>
        <span className="chart-time num">
          {chosen === undefined ? offset(frame.range.to, zone) : bucketLabel(chosen, bucketMs, zone)}
        </span>
        <button
          type="button"
          className="chart-switch"
          aria-pressed={asTable}
          aria-label={`${title} as a table`}
          onClick={() => setAsTable(!asTable)}
        >
          Table
        </button>
      </figcaption>
      <ul className="chart-legend num">
        {frame.series.map(({ id, name, tone, shape, values }) => {
          const { value, word } =
            index === null ? summaryOf(values, unit) : { value: values[Math.min(index, last)] ?? null, word: '' };
          return (
            <li key={id}>
              <i className={`chart-key ${shape}`} style={{ background: `var(--${tone})` }} />
              {name} <b>{valueText(value, unit)}</b> {word !== '' && <span className="t3">{word}</span>}
            </li>
          );
        })}
        {lines.map(({ label, value, tone }) => (
          <li key={label}>
            <i className="chart-key dashed" style={{ color: `var(--${tone})` }} />
            {label} <b>{unit.format(value)}</b>
          </li>
        ))}
      </ul>
      {asTable ? (
        <ChartTable title={title} frame={frame} unit={unit} zone={zone} markers={markers} />
      ) : (
        <Canvas
          frame={frame}
          unit={unit}
          lines={lines}
          zone={zone}
          height={height}
          index={index}
          onPoint={setIndex}
          onBrush={onBrush}
          markers={markers}
          hasMarkers={markers !== NO_MARKERS}
          role="slider"
          tabIndex={0}
          aria-label={`${title}, time`}
          aria-valuemin={0}
          aria-valuemax={Math.max(0, last)}
          aria-valuenow={index ?? Math.max(0, last)}
          aria-valuetext={spoken}
          onKeyDown={onKeyDown}
          onBlur={() => setIndex(null)}
        />
      )}
    </figure>
  );
}

interface CanvasProps extends Omit<HTMLAttributes<HTMLDivElement>, 'className' | 'style'> {
  readonly frame: Frame;
  readonly unit: Unit;
  readonly lines: readonly ReferenceLine[];
  readonly zone: string;
  readonly height: number;
  readonly index: number | null;
  readonly markers: readonly Marker[];
  /** Whether the chart may have markers; its axis does not jump when they arrive. */
  readonly hasMarkers: boolean;
  readonly onPoint: (index: number | null) => void;
  readonly onBrush: ((from: number, to: number) => void) | undefined;
}

/** Loads the library on first use and hands it each change. */
function Canvas(props: CanvasProps) {
  const { frame, unit, lines, zone, height, index, markers, hasMarkers, onBrush, onPoint: _, ...slider } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const [area, setArea] = useState({ left: 0, width: 0 });
  const brushable = onBrush !== undefined;
  useEffect(() => {
    let gone = false;
    void import('./plot.ts').then(({ makePlot }) => {
      if (gone || box.current === null) return;
      plot.current = makePlot(box.current, latest.current, {
        onPoint: (at) => latest.current.onPoint(at),
        onBrush: brushable ? (from, to) => latest.current.onBrush?.(from, to) : undefined,
        onLayout: (next) => setArea((old) => (old.left === next.left && old.width === next.width ? old : next)),
      });
    });
    const repaint = () => plot.current?.repaint();
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const chosen = new MutationObserver(repaint);
    dark.addEventListener('change', repaint);
    chosen.observe(document.documentElement, { attributes: true, attributeFilter: ['style'] });
    return () => {
      gone = true;
      dark.removeEventListener('change', repaint);
      chosen.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [brushable]);
  const drawn = useMemo(
    () => JSON.stringify([frame, lines, zone, height, unit.format(1.5)]),
    [frame, lines, zone, height, unit],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text holds everything that is drawn
  useEffect(() => plot.current?.update({ frame, unit, lines, zone, height, hasMarkers }), [drawn]);
  useEffect(() => plot.current?.point(index), [index]);
  return (
    <div className={hasMarkers ? 'chart-plot marked' : 'chart-plot'}>
      <div {...slider} ref={box} className="chart-canvas" style={{ height }} />
      {frame.series.every(({ values }) => values.every((value) => value === null)) && (
        <p className="chart-none">No data in this range</p>
      )}
      {area.width > 0 && <Markers markers={markers} range={frame.range} area={area} />}
    </div>
  );
}

/** Space of one marker with its number, px. */
const MARKER_PX = 24;

/** Deploys as lines with their version, and what else changed as points on the axis. */
function Markers({
  markers,
  range,
  area,
}: {
  markers: readonly Marker[];
  range: TimeSpan;
  area: { readonly left: number; readonly width: number };
}) {
  const span = range.to - range.from;
  const shown = markers.filter(({ at }) => at >= range.from && at <= range.to);
  return foldMarkers(shown, (span / area.width) * MARKER_PX).map((group) => {
    const share = (group.at - range.from) / span;
    return <Mark key={`${group.at}${group.label}`} group={group} share={share} left={area.left + share * area.width} />;
  });
}

function Mark({
  group: { label, href, tag, count },
  share,
  left,
}: {
  group: MarkerGroup;
  share: number;
  left: number;
}) {
  const place = { style: { left: `${left}px` }, title: label };
  const className = `chart-mark ${tag !== undefined ? '' : count > 1 ? 'point many' : 'point'}`;
  const text = (
    <>
      {tag !== undefined && (
        <bdi className={`chart-tag ${share > TAG_TURNS_AT ? 'turned' : ''}`} aria-hidden>
          {tag}
        </bdi>
      )}
      {count > 1 && (
        <b className="chart-folded num" aria-hidden>
          {count}
        </b>
      )}
    </>
  );
  if (href === undefined)
    return (
      <i className={className} {...place}>
        {text}
      </i>
    );
  return (
    <a className={className} {...place} href={href} rel="noreferrer">
      {text}
      <span className="vh">{label}</span>
    </a>
  );
}

function ChartTable({
  title,
  frame,
  unit,
  zone,
  markers,
}: {
  title: string;
  frame: Frame;
  unit: Unit;
  zone: string;
  markers: readonly Marker[];
}) {
  return (
    // A region that scrolls has to take the focus.
    <div className="chart-table" role="region" aria-label={title} tabIndex={0}>
      <table className="tb flush num">
        <thead>
          <tr>
            <th scope="col">Time</th>
            {frame.series.map(({ id, name }) => (
              <th key={id} scope="col" className="r">
                {name}
              </th>
            ))}
            {markers.length > 0 && <th scope="col">Changes</th>}
          </tr>
        </thead>
        <tbody>
          {frame.times.map((at, index) => (
            <tr key={at}>
              <th scope="row">{bucketLabel(at, frame.bucketMs, zone)}</th>
              {frame.series.map(({ id, values }) => (
                <td key={id} className="r">
                  {valueText(values[index] ?? null, unit)}
                </td>
              ))}
              {markers.length > 0 && (
                <td>
                  {markers
                    .filter((marker) => marker.at >= at && marker.at < at + frame.bucketMs)
                    .map(({ label }) => label)
                    .join('; ')}
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function valueText(value: number | null, unit: Unit): string {
  return value === null ? '—' : unit.format(value);
}

function summaryText({ series }: Frame, unit: Unit): string {
  return series
    .map(({ name, values }) => {
      const { value, word } = summaryOf(values, unit);
      return `${name} ${valueText(value, unit)} ${word}`.trim();
    })
    .join(', ');
}
