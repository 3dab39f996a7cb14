import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { figure } from './support/figures.ts'

/**
 * How long `passes --version` takes against the least program that oclif can be: one command that does nothing, with a manifest
 * of its own. Both run in turn, each as a process; the best of each counts, since whatever else the machine does only adds.
 * Needs the built program. Run: npx tsx bench/version.ts
 */

const RUNS = Number(process.env.PASSES_BENCH_RUNS ?? 20)
const LIMIT = 2.5

const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'passes-bench-'))
try {
  await makeEmptyProgram()
  const programs = {
    empty: [join(folder, 'bin/run.js'), 'nothing'],
    '--version': [join(root, 'bin/run.js'), '--version'],
    '--help': [join(root, 'bin/run.js'), '--help'],
  }
  const best = new Map<string, number>()
  for (let run = 0; run < RUNS; run += 1) {
    for (const [name, args] of Object.entries(programs)) {
      best.set(name, Math.min(best.get(name) ?? Number.POSITIVE_INFINITY, await time(args)))
    }
  }
  const empty = best.get('empty')!
  for (const [name, ms] of best) console.log(`${name}: ${ms.toFixed(0)} ms, best of ${RUNS}`)
  figure('passes --version to an empty oclif command', best.get('--version')! / empty, { atMost: LIMIT }, 'x')
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function makeEmptyProgram(): Promise<void> {
  for (const name of ['bin', 'commands']) mkdirSync(join(folder, name))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const manifest = {
    name: 'empty',
    version: '1.0.0',
    type: 'module',
    files: [],
    oclif: { bin: 'empty', commands: './commands' },
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  writeFileSync(
    join(folder, 'commands/nothing.js'),
    `import { Command } from '@oclif/core'\nexport default class Nothing extends Command { async run() {} }\n`,
  )
  writeFileSync(
    join(folder, 'bin/run.js'),
    `import { execute } from '@oclif/core'\nawait execute({ dir: import.meta.url })\n`,
  )
  await execa('node', [join(root, 'node_modules/oclif/bin/run.js'), 'manifest'], { cwd: folder })
}

async function time(args: string[]): Promise<number> {
  const start = performance.now()
  await execa('node', args, { cwd: folder })
  return performance.now() - start
}
