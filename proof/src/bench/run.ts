import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { compare } from './compare.ts';
import { type Figure, isSound } from './figure.ts';
import { describeMachine } from './machine.ts';
import type { BenchOptions } from './options.ts';
import type { Bench, Scenario } from './scenario.ts';
import { SCENARIOS } from './scenarios/index.ts';
import { Stages } from './stages.ts';
import { describe } from './table.ts';
import { whenInterrupted } from './when-interrupted.ts';

/** Runs what was asked for; answers whether all of it was right. */
export async function run(root: string, options: BenchOptions): Promise<boolean> {
  const startedAt = performance.now();
  const progress = (text: string) => {
    console.error(`${((performance.now() - startedAt) / 1000).toFixed(0).padStart(4)} s  ${text}`);
  };
  if (options.list) {
    for (const { name, title } of SCENARIOS) console.log(`${name.padEnd(16)} ${title}`);
    return true;
  }
  const machine = describeMachine(root);
  console.error(
    `${machine.cores} x ${machine.cpu}, ${machine.memoryGb} GB, Node ${machine.node}, yardstick ${machine.parseMicros} µs, commit ${machine.commit}, load ${machine.loadBefore.toFixed(1)}`,
  );
  if (options.against !== undefined) {
    const comparison = await compare(root, options.against, options, progress);
    console.log(`CPU per event, this build / ${options.against}: ${comparison.ratio.toFixed(3)}`);
    await write(options.json, { machine, comparison });
    return comparison.ok;
  }
  const figures = await runScenarios(root, options, progress);
  await write(options.json, { machine, figures });
  const failed = figures.filter((figure) => !isSound(figure));
  progress(`${figures.length} figures, ${failed.length} of them wrong`);
  return failed.length === 0 && figures.length > 0;
}

async function runScenarios(
  root: string,
  options: BenchOptions,
  progress: (text: string) => void,
): Promise<readonly Figure[]> {
  const nodeOptions = options.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(options.profile)}`];
  const stages = new Stages(root, nodeOptions, progress);
  const figures: Figure[] = [];
  const bench: Bench = {
    seconds: options.seconds,
    rows: options.rows,
    smoke: options.smoke,
    stage: (shape) => stages.shared(shape),
    freshStage: (shape) => stages.fresh(shape),
    progress,
    found: (figure) => {
      figures.push(figure);
      console.log(describe(figure));
    },
  };
  const calm = whenInterrupted(() => stages.close());
  try {
    for (const scenario of chosen(options)) {
      progress(`${scenario.name}: ${scenario.title}`);
      await scenario.run(bench);
    }
  } finally {
    await stages.close();
    calm();
  }
  return figures;
}

function chosen({ only, smoke }: BenchOptions): readonly Scenario[] {
  const unknown = only.filter((name) => !SCENARIOS.some((scenario) => scenario.name === name));
  if (unknown.length > 0) throw new Error(`there is no scenario ${unknown.join(', ')}; see --list`);
  if (only.length > 0) return SCENARIOS.filter(({ name }) => only.includes(name));
  return SCENARIOS.filter((scenario) => scenario.smoke || !smoke);
}

async function write(file: string | undefined, content: object): Promise<void> {
  if (file === undefined) return;
  await mkdir(dirname(resolve(file)), { recursive: true });
  await writeFile(file, `${JSON.stringify(content, null, 2)}\n`);
}
