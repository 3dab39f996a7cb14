import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import type { BenchServer } from './server.ts'

const program = new URL('../../bin/run.js', import.meta.url).pathname

/** Runs a command of the client with --json. Returns its result and its peak memory, as the kernel measures it. */
export async function runClient<T>(
  args: string[],
  { url, token }: BenchServer,
  folder: string,
): Promise<{ result: T; peakMb: number }> {
  const status = join(folder, 'status')
  const reporter = `import { readFileSync, writeFileSync } from 'node:fs'
    process.on('exit', () => writeFileSync(${JSON.stringify(status)}, readFileSync('/proc/self/status')))`
  const { stdout } = await execa(
    'node',
    ['--import', `data:text/javascript,${encodeURIComponent(reporter)}`, program, ...args, '--json'],
    { cwd: folder, env: { PASSES_URL: url, PASSES_TOKEN: token, XDG_CONFIG_HOME: folder }, stderr: 'inherit' },
  )
  const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(status, 'utf8'))
  if (!peak) throw new Error('The kernel does not report peak memory')
  return { result: JSON.parse(stdout), peakMb: Number(peak[1]) / 1024 }
}
