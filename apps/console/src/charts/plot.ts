import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { type Frame, isInScale, type ReferenceLine, stacked, tickLabel, timeTicks, type Unit } from './data.ts';

/** Everything that is drawn. */
export interface Drawing {
  readonly frame: Frame;
  readonly unit: Unit;
  readonly lines: readonly ReferenceLine[];
  readonly zone: string;
  readonly height: number;
  /** Leaves room between the axis and its times for what happened. */
  readonly hasMarkers: boolean;
}

interface Listeners {
  /** The bucket under the pointer changed. */
  readonly onPoint: (index: number | null) => void;
  readonly onBrush?: ((from: number, to: number) => void) | undefined;
  /** The plotting area in pixels of the box, after each layout. */
  readonly onLayout: (area: { left: number; width: number }) => void;
}

export interface Plot {
  update(drawing: Drawing): void;
  /** Shows the cursor at a bucket, or hides it. */
  point(index: number | null): void;
  /** Reads the colours of the theme again. */
  repaint(): void;
  destroy(): void;
}

const FONT = '11px "Inter Variable", system-ui, sans-serif';
const TICK_PX = 72;
const MAX_BAR_PX = 40;
const MIN_BRUSH_PX = 8;
/** Height of the markers below the axis; chart.css places them by it. */
const LANE_PX = 13;

/** Draws a chart into a box with uPlot and keeps it at the box's width. */
export function makePlot(box: HTMLElement, first: Drawing, { onPoint, onBrush, onLayout }: Listeners): Plot {
  let drawing = first;
  let colors = readColors(box, drawing);
  let plot = build();
  const observer = new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: drawing.height }));
  observer.observe(box);

  function build(): uPlot {
    const { frame } = drawing;
    // The highest stack is drawn first, those below it cover it.
    const order = drawOrder(frame);
    const bars = uPlot.paths.bars?.({ size: [0.8, MAX_BAR_PX], align: 0 });
    return new uPlot(
      {
        width: box.clientWidth,
        height: drawing.height,
        // Room for half of the last time on the axis.
        padding: [8, 20, 0, 0],
        legend: { show: false },
        cursor: {
          points: { show: false },
          y: false,
          drag: { x: onBrush !== undefined, y: false, setScale: false, dist: MIN_BRUSH_PX },
        },
        scales: {
          x: { time: false, range: () => [drawing.frame.range.from, drawing.frame.range.to] },
          y: { range: (_, __, max) => [0, upperEnd(max ?? 0)] },
        },
        axes: [timeAxis(), valueAxis()],
        series: [
          {},
          ...order.map((index): uPlot.Series => {
            const { shape, id } = frame.series[index] ?? { shape: 'line', id: '' };
            const color = () => colors.series.get(id) ?? 'gray';
            if (shape === 'line')
              return { stroke: color, width: 1.5, points: { show: true, size: 4, filter: lonely, fill: color } };
            if (shape === 'area') return { stroke: color, fill: color, width: 1 };
            return {
              stroke: color,
              fill: color,
              width: 0,
              points: { show: false },
              ...(bars === undefined ? {} : { paths: bars }),
            };
          }),
        ],
        hooks: {
          setCursor: [({ cursor: { idx, left = -1 } }) => onPoint(left < 0 ? null : (idx ?? null))],
          setSelect: [
            (self) => {
              const { left, width } = self.select;
              if (width < MIN_BRUSH_PX) return;
              self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
              onBrush?.(Math.round(self.posToVal(left, 'x')), Math.round(self.posToVal(left + width, 'x')));
            },
          ],
          draw: [drawLines],
          drawClear: [
            (self) => onLayout({ left: self.bbox.left / uPlot.pxRatio, width: self.bbox.width / uPlot.pxRatio }),
          ],
        },
      },
      dataOf(frame, order),
      box,
    );
  }

  function upperEnd(highest: number): number {
    const lines = drawing.lines.filter(({ value }) => isInScale(value, highest)).map(({ value }) => value);
    const top = Math.max(highest, ...lines);
    return top <= 0 ? 1 : top * 1.06;
  }

  function timeAxis(): uPlot.Axis {
    return {
      font: FONT,
      size: 26 + (drawing.hasMarkers ? LANE_PX : 0),
      gap: 4 + (drawing.hasMarkers ? LANE_PX : 0),
      stroke: () => colors.label,
      grid: { show: false },
      ticks: { stroke: () => colors.grid, width: 1, size: 4 },
      splits: (self) =>
        timeTicks(
          drawing.frame.range,
          drawing.zone,
          Math.max(2, Math.floor(self.bbox.width / uPlot.pxRatio / TICK_PX)),
        ),
      values: (_, splits) => splits.map((at) => tickLabel(at, drawing.zone)),
    };
  }

  function valueAxis(): uPlot.Axis {
    return {
      font: FONT,
      gap: 4,
      space: 34,
      stroke: () => colors.label,
      grid: { stroke: () => colors.grid, width: 1 },
      ticks: { show: false },
      ...(drawing.unit.increments === undefined ? {} : { incrs: [...drawing.unit.increments] }),
      values: (_, splits) => splits.map((value) => drawing.unit.format(value)),
      size: (self, values) => {
        self.ctx.font = FONT;
        return 10 + Math.max(0, ...(values ?? []).map((text) => self.ctx.measureText(text).width / uPlot.pxRatio));
      },
    };
  }

  function drawLines(self: uPlot): void {
    const { ctx, bbox } = self;
    const top = self.scales.y?.max ?? 0;
    ctx.save();
    ctx.font = `${11 * uPlot.pxRatio}px "Inter Variable", system-ui, sans-serif`;
    ctx.textAlign = 'right';
    drawing.lines.forEach(({ value, label }, index) => {
      if (value > top) return;
      const y = Math.round(self.valToPos(value, 'y', true)) + 0.5;
      const color = colors.lines[index] ?? 'gray';
      ctx.strokeStyle = color;
      ctx.fillStyle = color;
      ctx.lineWidth = uPlot.pxRatio;
      ctx.setLineDash([4 * uPlot.pxRatio, 3 * uPlot.pxRatio]);
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      ctx.textBaseline = y - bbox.top > 16 * uPlot.pxRatio ? 'bottom' : 'top';
      ctx.fillText(label, bbox.left + bbox.width - 2, y + (ctx.textBaseline === 'top' ? 3 : -2) * uPlot.pxRatio);
    });
    ctx.restore();
  }

  return {
    update(next) {
      const rebuilt = shapeOf(next) !== shapeOf(drawing);
      drawing = next;
      if (!rebuilt) {
        plot.setData(dataOf(next.frame, drawOrder(next.frame)));
        return;
      }
      plot.destroy();
      colors = readColors(box, next);
      plot = build();
    },
    point(index) {
      const at = index === null ? undefined : plot.data[0][index];
      plot.setCursor(at === undefined ? { left: -10, top: -10 } : { left: plot.valToPos(at, 'x'), top: 0 }, false);
    },
    repaint() {
      colors = readColors(box, drawing);
      plot.redraw();
    },
    destroy() {
      observer.disconnect();
      plot.destroy();
    },
  };
}

function drawOrder({ series }: Frame): number[] {
  const indexes = series.map((_, index) => index);
  const isLine = (index: number) => series[index]?.shape === 'line';
  return [...indexes.filter((index) => !isLine(index)).reverse(), ...indexes.filter(isLine)];
}

/** Values stand in the middle of their bucket. */
function dataOf(frame: Frame, order: readonly number[]): uPlot.AlignedData {
  const edges = stacked(frame);
  return [frame.times.map((at) => at + frame.bucketMs / 2), ...order.map((index) => [...(edges[index] ?? [])])];
}

/** A known value between two gaps, of which no line would be seen. */
function lonely(self: uPlot, seriesIndex: number): number[] {
  const values = self.data[seriesIndex] ?? [];
  const known = (index: number) => values[index] !== null && values[index] !== undefined;
  return Array.from(values.keys()).filter((index) => known(index) && !known(index - 1) && !known(index + 1));
}

function shapeOf({ frame, unit, lines, zone, height, hasMarkers }: Drawing): string {
  const series = frame.series.map(({ id, shape, tone }) => [id, shape, tone]);
  return JSON.stringify([series, unit.increments, lines, zone, height, hasMarkers, unit.format(1.5)]);
}

/** Colours as the canvas takes them: custom properties are resolved by an element of the page. */
function readColors(box: HTMLElement, { frame, lines }: Drawing) {
  const probe = document.createElement('span');
  box.append(probe);
  const resolve = (name: string) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const colors = {
    label: resolve('text-3'),
    grid: resolve('line-faint'),
    series: new Map(frame.series.map(({ id, tone }) => [id, resolve(tone)])),
    lines: lines.map(({ tone }) => resolve(tone)),
  };
  probe.remove();
  return colors;
}
