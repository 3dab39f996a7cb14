import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { figure } from './support/figures.ts'
import { median, ROUNDS, rounds } from './support/rounds.ts'
import { startServer } from './support/server.ts'

/**
 * Measures the start time of commands. The reference of `passes --version` is the smallest possible oclif program: a
 * manifest, and one command that does nothing. The reference of `passes pass list` is the same request with undici. All
 * run in turn, each as a process. A round compares two consecutive runs, and the figure is the median of the rounds.
 * Also prints CPU time, because it depends less on other programs than elapsed time. Needs the built program. Run: npx
 * tsx bench/version.ts
 */

const root = join(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'passes-bench-'))
const server = await startServer(`sqlite:${join(folder, 'passes.db')}`)
try {
  await makeEmptyProgram()
  writeFileSync(join(folder, 'report.cjs'), reportScript())
  writeFileSync(join(folder, 'bare.js'), bareScript())
  const passes = join(root, 'bin/run.js')
  const empty = [join(folder, 'bin/run.js'), 'nothing']
  const bare = [join(folder, 'bare.js')]
  await compare('passes --version to an empty oclif command', [passes, '--version'], empty, 1.3)
  await compare('passes pass list to the same request in undici', [passes, 'pass', 'list'], bare, 1.5)
} finally {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}

interface Spent {
  cpu: number
  wall: number
}

async function compare(what: string, ours: string[], other: string[], atMost: number): Promise<void> {
  const found: { ours: Spent; other: Spent }[] = []
  for (const round of rounds(ROUNDS + 1)) {
    const [first, second] = [await spent(ours), await spent(other)]
    // Discard the first round, which warms the caches of the system.
    if (round > 0) found.push({ ours: first, other: second })
  }
  for (const kind of ['cpu', 'wall'] as const) {
    const ratios = found.map((round) => round.ours[kind] / round.other[kind]).sort((a, b) => a - b)
    const [mine, its] = [
      median(found.map((round) => round.ours[kind])),
      median(found.map((round) => round.other[kind])),
    ]
    const spread = `${ratios[0]!.toFixed(2)} to ${ratios.at(-1)!.toFixed(2)}`
    console.log(`${kind}: ${mine.toFixed(0)} ms to ${its.toFixed(0)} ms, ratios ${spread} in ${found.length} rounds`)
    figure(`${what}, ${kind}`, median(ratios), { atMost }, 'x')
  }
}

async function spent(args: string[]): Promise<Spent> {
  const start = performance.now()
  const { stdio } = await execa('node', ['--require', join(folder, 'report.cjs'), ...args], {
    cwd: folder,
    env: { PASSES_URL: server.url, PASSES_TOKEN: server.token, XDG_CONFIG_HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  return { wall: performance.now() - start, cpu: Number(stdio[3]) / 1000 }
}

/** Returns a script that prints the CPU time of its process, in microseconds. */
function reportScript(): string {
  return `process.on('exit', () => {
  const { user, system } = process.cpuUsage()
  require('node:fs').writeSync(3, String(user + system))
})
`
}

function bareScript(): string {
  return `import { request } from 'undici'
const { body } = await request(process.env.PASSES_URL + '/v1/passes', {
  headers: { authorization: 'Bearer ' + process.env.PASSES_TOKEN },
})
console.log(JSON.stringify(await body.json()))
`
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
