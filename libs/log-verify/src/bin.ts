#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { runVerifier } from './command.ts';

process.exitCode = runVerifier(process.argv.slice(2), {
  readText: (path) => readFileSync(path, 'utf8'),
  print: (line) => console.log(line),
});
