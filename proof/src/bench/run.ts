import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { whenInterrupted } from '../harness/program.ts';
import { compare, NotComparable } from './against/compare.ts';
import { describeComparison } from './against/compared-shape.ts';
import { SCARCE } from './against/contention.ts';
import { describeMachine, type Machine } from './machine.ts';
import type { BenchOptions } from './options.ts';
import { type Bench, type Figure, isSound, type Scenario } from './scenario.ts';
import { SCENARIOS } from './scenarios/index.ts';
import { Stages } from './stages.ts';
import { describe } from './table.ts';

/** Runs the requested scenarios. Returns true if all checks passed. */
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
    return compared(root, options.against, options, machine, progress);
  }
  const { figures, errors } = await runScenarios(root, options, progress);
  await write(options.json, { machine, figures, errors });
  const wrong = figures.filter((figure) => !isSound(figure));
  progress(`${figures.length} figures, ${wrong.length} of them wrong, ${errors.length} scenarios failed`);
  return wrong.length === 0 && errors.length === 0;
}

async function compared(
  root: string,
  against: string,
  options: BenchOptions,
  machine: Machine,
  progress: (text: string) => void,
): Promise<boolean> {
  try {
    const comparison = await compare(root, against, options, progress);
    console.log(describeComparison(against, comparison.shapes));
    if (comparison.contention >= SCARCE) {
      const times = comparison.contention.toFixed(1);
      console.log(`the CPU was scarce (each process took ${times} times as long), so the ratios say little`);
    }
    await write(options.json, { machine, comparison });
    return comparison.ok || options.report;
  } catch (error) {
    // In the short set, a comparison that this machine or that commit does not allow is not a failure.
    if (!(error instanceof NotComparable)) throw error;
    if (!options.smoke) throw new Error(`${error.message}\n${causeOf(error)}`, { cause: error });
    console.log(`not compared: ${error.message}\n${causeOf(error)}`);
    return true;
  }
}

function causeOf({ cause }: Error): string {
  return cause instanceof Error ? cause.message : '';
}

interface Results {
  readonly figures: readonly Figure[];
  /** Errors of scenarios that could not be completed. */
  readonly errors: readonly { readonly scenario: string; readonly error: string }[];
}

async function runScenarios(root: string, options: BenchOptions, progress: (text: string) => void): Promise<Results> {
  const scenarios = chosen(options);
  const nodeOptions = options.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${resolve(options.profile)}`];
  const stages = new Stages(root, nodeOptions, progress);
  const figures: Figure[] = [];
  const errors: Results['errors'][number][] = [];
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
    for (const scenario of scenarios) {
      progress(`${scenario.name}: ${scenario.title}`);
      try {
        await scenario.run(bench);
      } catch (error) {
        const text = error instanceof Error ? error.message : String(error);
        errors.push({ scenario: scenario.name, error: text });
        console.log(`FAILED  ${scenario.name}\n        ${text}`);
        // Leftovers of the failed scenario must not affect the next one.
        await stages.close();
      }
    }
  } finally {
    await stages.close();
    calm();
  }
  return { figures, errors };
}

function chosen({ only, smoke }: BenchOptions): readonly Scenario[] {
  const unknown = only.filter((name) => !SCENARIOS.some((scenario) => scenario.name === name));
  if (unknown.length > 0) throw new Error(`unknown scenario ${unknown.join(', ')}; see --list`);
  if (only.length > 0) return SCENARIOS.filter(({ name }) => only.includes(name));
  return SCENARIOS.filter((scenario) => scenario.smoke || !smoke);
}

async function write(file: string | undefined, content: object): Promise<void> {
  if (file === undefined) return;
  await mkdir(dirname(resolve(file)), { recursive: true });
  await writeFile(file, `${JSON.stringify(content, null, 2)}\n`);
}
