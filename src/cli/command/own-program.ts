import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { z } from 'zod'
import { parseJson } from '../../core/json.ts'
import { environmentWithoutSettings } from '../settings/settings.ts'
import { CliError } from './errors.ts'

/** The program itself as a child process, as a user would call it. */

/** What a call of this program is made with. */
export interface OwnProgram {
  /** Its working folder, where it also looks for profiles. */
  cwd: string
  /** PASSES_* variables; those of whoever runs this change nothing. */
  settings?: Record<string, string>
  /** Where it logs: to our stderr by default, or to an open file. */
  log?: number
}

/** A server that runs. */
export interface OwnServer {
  url: string
  /** Of the first owner, where the database was empty. */
  token: string
  /** SIGTERM, and waits for the end. */
  stop(): Promise<void>
}

const alive = new Set<ChildProcess>()

function startProgram(args: string[], { cwd, settings = {}, log }: OwnProgram): ChildProcess {
  const child = spawn(process.execPath, [process.argv[1]!, ...args], {
    cwd,
    env: { ...environmentWithoutSettings(), ...settings, XDG_CONFIG_HOME: cwd },
    stdio: ['ignore', 'pipe', log ?? 'inherit'],
  })
  alive.add(child)
  child.once('close', () => alive.delete(child))
  return child
}

const PATIENCE_MS = 10_000

/** Ends all that still run, as a service manager does: SIGTERM, and SIGKILL to what does not end by it. */
export async function endOwnPrograms(): Promise<void> {
  await Promise.all([...alive].map(endProgram))
}

async function endProgram(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS)
  await ended
  clearTimeout(timer)
}

/**
 * Starts `passes serve` on a free port, and waits until it answers.
 * @throws CliError where it does not start
 */
export async function startOwnServer(args: string[], program: OwnProgram): Promise<OwnServer> {
  const child = startProgram(['serve', '--port', '0', '--json', ...args], program)
  let text = ''
  for await (const chunk of child.stdout!) {
    text += chunk
    if (text.endsWith('}\n')) break
  }
  if (!text.endsWith('}\n')) throw new CliError('A server did not start; it said why in its log.')
  const { url, token } = JSON.parse(text) as { url: string; token: string }
  return {
    url,
    token,
    stop: () => endProgram(child),
  }
}

/**
 * Runs one command with --json and returns what it printed.
 * @throws CliError where it ends with another exit code than 0
 */
export async function runOwnProgram<T>(args: string[], program: OwnProgram): Promise<T> {
  const child = startProgram([...args, '--json'], program)
  const ended = once(child, 'exit')
  let text = ''
  for await (const chunk of child.stdout!) text += chunk
  const [exitCode] = await ended
  if (exitCode !== 0) throw new CliError(`passes ${args.join(' ')} ended with ${exitCode}: ${reasonIn(text)}`)
  return JSON.parse(text) as T
}

/** What a command that failed said with --json: its sentence, or all of it where it is of another form. */
function reasonIn(text: string): string {
  return Failed.safeParse(parseJson(text)).data?.error.message ?? text.trim()
}

const Failed = z.object({ error: z.object({ message: z.string() }) })
