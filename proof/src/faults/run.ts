import { resolve } from 'node:path';
import { describeMachine } from '../bench/machine.ts';
import { whenInterrupted } from '../harness/program.ts';
import type { ServiceProcess } from '../harness/service-process.ts';
import { FAULTS } from './cases/index.ts';
import { type Fault, type FaultFinding, mayBeTheMachine } from './fault.ts';
import { Laboratory } from './laboratory.ts';
import type { FaultOptions } from './options.ts';
import { writeOutput, writeReports } from './report.ts';

/** Runs the requested faults. Returns true if all passed. */
export async function run(root: string, options: FaultOptions): Promise<boolean> {
  if (options.list) {
    for (const { id, title, smoke } of FAULTS) console.log(`${id.padEnd(6)} ${smoke ? 'smoke' : '     '} ${title}`);
    return true;
  }
  const chosen = choose(options);
  const machine = describeMachine(root);
  const progress = (text: string) => console.log(text);
  const { seed, smoke, minutes } = options;
  const reports = resolve(options.reports);
  const onFailed = async (id: string, services: readonly ServiceProcess[]) => {
    if (services.length > 0) progress(`output of the services: ${await writeOutput(reports, id, services)}`);
  };
  const laboratory = new Laboratory({ root, seed, smoke, minutes, progress, onFailed });
  const findings: FaultFinding[] = [];
  const startedAt = performance.now();
  const calm = whenInterrupted(() => laboratory.close());
  try {
    for (const fault of chosen) {
      const gone = (performance.now() - startedAt) / 60_000;
      console.log(`[${findings.length + 1} of ${chosen.length}, ${gone.toFixed(1)} min so far]`);
      let finding = await laboratory.run(fault);
      print(finding);
      if (smoke && mayBeTheMachine(finding)) {
        console.log('retrying, because the machine may have caused the failure');
        finding = { ...(await laboratory.run(fault)), earlier: finding };
        print(finding);
      }
      findings.push(finding);
      await writeReports(reports, { machine, smoke, minutes, findings });
    }
  } finally {
    await laboratory.close();
    calm();
  }
  const failed = findings.filter(({ outcome }) => outcome === 'failed');
  const impossible = findings.filter(({ outcome }) => outcome === 'not here');
  console.log(
    `${findings.length} faults, ${failed.length} failed${failed.map(({ id }) => ` ${id}`).join('')}, ` +
      `${impossible.length} not possible here${impossible.map(({ id }) => ` ${id}`).join('')}; seed ${options.seed}`,
  );
  return failed.length === 0;
}

function choose({ only, all }: FaultOptions): readonly Fault[] {
  const unknown = only.filter((id) => !FAULTS.some((fault) => fault.id === id));
  if (unknown.length > 0) throw new Error(`unknown fault ${unknown.join(', ')}; see --list`);
  if (only.length > 0) return FAULTS.filter(({ id }) => only.includes(id));
  return all ? FAULTS : FAULTS.filter(({ smoke }) => smoke);
}

function print({ id, outcome, reason, checks, measures, seconds }: FaultFinding): void {
  for (const { name, wanted, found, ok } of checks) {
    if (!ok) console.log(`  NO  ${name}: wanted ${wanted}, found ${found}`);
  }
  for (const [name, value] of Object.entries(measures)) console.log(`      ${name}: ${value}`);
  if (reason !== undefined) console.log(`      ${reason}`);
  const good = checks.filter(({ ok }) => ok).length;
  console.log(`${id} ${outcome}: ${good} of ${checks.length} checks, ${seconds.toFixed(0)} s\n`);
}
