import type { LoadReport } from '../harness/load-protocol.ts';
import type { FigureCheck } from './figure.ts';
import type { BenchOnRecord } from './on-record.ts';

/** What must be so of a load before what it cost is worth reading: something was accepted, and all of that is on record. */
export function loadChecks(report: LoadReport, record: BenchOnRecord): FigureCheck[] {
  const { acceptedEvents: expected } = report;
  const { evaluated } = record;
  return [
    // Else nothing would equal nothing, at no cost at all.
    { name: 'loads of which something was accepted', expected: 1, actual: Math.min(1, expected) },
    { name: 'rows stored', expected, actual: record.rows },
    { name: 'events counted by agent', expected, actual: record.counted },
    { name: 'events counted by run', expected, actual: record.countedInRuns },
    { name: 'errors counted by agent', expected: report.acceptedErrors, actual: record.countedErrors },
    ...(evaluated === undefined ? [] : [{ name: 'events evaluated', expected, actual: evaluated }]),
    { name: 'triggers recorded', expected: Object.keys(report.markers).length, actual: record.triggers },
  ];
}
