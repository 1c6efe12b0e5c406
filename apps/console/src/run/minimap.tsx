import { useEffect, useRef } from 'react';
import type { View } from './scale.ts';
import type { Step } from './story.ts';

const COLOURS: Readonly<Record<string, string>> = { model: '--bar-model', tool: '--bar-tool' };

/** The whole run as a strip, on a canvas because it may have ten thousand bars. */
export function Minimap({
  steps,
  endMs,
  at,
  view,
}: {
  steps: readonly Step[];
  endMs: number;
  at: (ms: number) => number;
  view: View;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (element === null || context === null || context === undefined) return;
    const { width, height } = element.getBoundingClientRect();
    element.width = width * devicePixelRatio;
    element.height = height * devicePixelRatio;
    context.scale(devicePixelRatio, devicePixelRatio);
    const style = getComputedStyle(element);
    const colours = new Map<string, string>();
    const colourOf = (name: string) => {
      const known = colours.get(name) ?? style.getPropertyValue(name);
      colours.set(name, known);
      return known;
    };
    const rowPx = height / Math.max(steps.length, 12);
    for (const [index, step] of steps.entries()) {
      const [x0, x1] = [at(step.startMs) * width, at(step.endMs ?? endMs) * width];
      const name =
        step.state === 'failed' || step.state === 'blocked'
          ? '--bad'
          : step.state === 'waiting'
            ? '--warn'
            : (COLOURS[step.kind] ?? '--mute');
      context.fillStyle = colourOf(name);
      context.fillRect(x0, index * rowPx, Math.max(1.5, x1 - x0), Math.max(1, rowPx * 0.8));
    }
    if (view.from > 0 || view.to < 1) {
      context.strokeStyle = style.getPropertyValue('--accent');
      context.strokeRect(view.from * width + 0.5, 0.5, (view.to - view.from) * width - 1, height - 1);
    }
  }, [steps, endMs, at, view]);
  return (
    <span className="mini" aria-hidden="true">
      <canvas ref={canvas} />
    </span>
  );
}
