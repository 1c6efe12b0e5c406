import { type Figure, GENERATOR, isSound, perSecond, serverCpu } from './scenario.ts';

const BYTES_PER_MB = 1_000_000;
const NOTES_PER_LINE = 4;

/** Formats a figure for people. Shows numbers only if every check passed. */
export function describe(figure: Figure): string {
  const title = `${figure.scenario} · ${figure.variant} (${figure.shape})`;
  if (!isSound(figure)) {
    const wrong = figure.checks.filter(({ expected, actual }) => expected !== actual);
    return [
      `FAILED  ${title}`,
      ...wrong.map(({ name, expected, actual }) => `        ${name}: expected ${expected}, found ${actual}`),
    ].join('\n');
  }
  return [
    `ok      ${title}`,
    ...[rates(figure), cpu(figure), ...latencies(figure), memory(figure), ...notes(figure)]
      .filter((line) => line !== '')
      .map((line) => `        ${line}`),
  ].join('\n');
}

function rates(figure: Figure): string {
  if (figure.unit === 'process') return '';
  const rate = Math.round(perSecond(figure)).toLocaleString('en');
  return `${rate} ${figure.unit === 'flush' ? 'flushes' : `${figure.unit}s`}/s (${figure.count.toLocaleString('en')} in ${figure.seconds.toFixed(1)} s, drained)`;
}

function cpu(figure: Figure): string {
  if (figure.unit === 'process') return '';
  const parts = Object.entries(figure.cpuMicros)
    .filter(([name]) => name !== GENERATOR)
    .map(([name, micros]) => `${name} ${micros.toFixed(1)}`);
  const generator = figure.cpuMicros[GENERATOR];
  const aside = generator === undefined ? '' : `; generator ${generator.toFixed(1)}`;
  return `CPU µs/${figure.unit}: ${serverCpu(figure).toFixed(1)} = ${parts.join(' + ')}${aside}`;
}

function latencies({ latency }: Figure): string[] {
  return Object.entries(latency).map(([name, { p50, p95, p99, count }]) => {
    const { unit, shown } = scaleOf(p50);
    return `${name} p50 ${shown(p50)} · p95 ${shown(p95)} · p99 ${shown(p99)} ${unit} (${count})`;
  });
}

/** Shows very short latencies in microseconds. */
function scaleOf(ms: number): { readonly unit: string; readonly shown: (ms: number) => string } {
  if (ms >= 0.1 || Number.isNaN(ms)) return { unit: 'ms', shown: (value) => value.toFixed(1) };
  return { unit: 'µs', shown: (value) => (value * 1_000).toFixed(3) };
}

function memory({ rssBytes }: Figure): string {
  const parts = Object.entries(rssBytes).map(([name, bytes]) => `${name} ${Math.round(bytes / BYTES_PER_MB)}`);
  return parts.length === 0 ? '' : `RSS MB: ${parts.join(' · ')}`;
}

/** On one line, or one line each if they are too many. */
function notes({ notes: known }: Figure): string[] {
  const parts = Object.entries(known)
    .filter(([name]) => name !== 'sendingSeconds')
    .map(([name, value]) => `${name} ${value}`);
  return parts.length > NOTES_PER_LINE ? parts : [parts.join(' · ')];
}
