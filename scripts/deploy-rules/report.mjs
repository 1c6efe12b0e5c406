/** Prints what was found and ends the process accordingly: 1 with every problem on a line of its own, else 0. */
export function report(name, problems, checked) {
  if (problems.length === 0) {
    console.log(`${name}: ${checked}`);
    return;
  }
  console.error(`${name}: ${problems.length} problem${problems.length === 1 ? '' : 's'}`);
  for (const problem of problems) console.error(`  ${problem}`);
  process.exitCode = 1;
}
