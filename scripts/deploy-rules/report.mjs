/** Prints the problems, one per line, and exits with 1. Without problems, prints what was checked and exits with 0. */
export function report(name, problems, checked) {
  if (problems.length === 0) {
    console.log(`${name}: ${checked}`);
    return;
  }
  console.error(`${name}: ${problems.length} problem${problems.length === 1 ? '' : 's'}`);
  for (const problem of problems) console.error(`  ${problem}`);
  process.exitCode = 1;
}
