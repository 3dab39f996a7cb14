import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { z } from 'zod'
import { parseJson } from '../../core/json.ts'
import { environmentWithoutSettings } from '../settings/settings.ts'
import { CliError } from './cli-error.ts'

export interface OwnProgram {
  /** The working folder, which is also the base folder of profiles. */
  cwd: string
  /** The `PASSES_*` variables of the process, which does not inherit any from its parent. */
  settings?: Record<string, string>
}

export interface OwnServer {
  url: string
  /** The token of the first owner. The server prints the token only if the database was empty. */
  token: string
  /** Ends the server and waits for its process to exit. */
  stop(): Promise<void>
}

function startProgram(args: string[], { cwd, settings = {} }: OwnProgram): ChildProcess {
  return spawn(process.execPath, [process.argv[1]!, ...args], {
    cwd,
    env: { ...environmentWithoutSettings(), ...settings, XDG_CONFIG_HOME: cwd },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

const TIMEOUT_MS = 10_000

/** Sends SIGTERM, and SIGKILL if the process does not exit in time. */
async function endProgram(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS)
  await ended
  clearTimeout(timer)
}

/** @throws CliError if the server does not start */
export async function startOwnServer(args: string[], program: OwnProgram): Promise<OwnServer> {
  const child = startProgram(['serve', '--port', '0', '--json', ...args], program)
  let text = ''
  for await (const chunk of child.stdout!) {
    text += chunk
    if (text.endsWith('}\n')) break
  }
  if (!text.endsWith('}\n')) throw new CliError('A server did not start; its log shows the reason.')
  const { url, token } = JSON.parse(text) as { url: string; token: string }
  return {
    url,
    token,
    stop: () => endProgram(child),
  }
}

/** @throws CliError if the exit code is not 0 */
export async function runOwnProgram<T>(args: string[], program: OwnProgram): Promise<T> {
  const child = startProgram([...args, '--json'], program)
  const ended = once(child, 'exit')
  let text = ''
  for await (const chunk of child.stdout!) text += chunk
  const [exitCode] = await ended
  if (exitCode !== 0) throw new CliError(`passes ${args.join(' ')} exited with ${exitCode}: ${reasonIn(text)}`)
  return JSON.parse(text) as T
}

/** Whether a process on this machine runs. Also `true` if another program has the id of an ended process. */
export function isProcessRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function reasonIn(text: string): string {
  return Failed.safeParse(parseJson(text)).data?.error.message ?? text.trim()
}

const Failed = z.object({ error: z.object({ message: z.string() }) })
