import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { CliError } from '../command/errors.ts'
import { environmentWithoutSettings } from '../settings/settings.ts'

/** The program itself as a child process, as a user would call it. */

const script = process.argv[1]!

export interface DemoServer {
  url: string
  token: string
  stop(): Promise<void>
}

/** Starts `passes serve` on a free port with a database of its own in the folder. */
export async function startServer(folder: string): Promise<DemoServer> {
  // The receiver of webhooks is on this machine.
  const flags = ['--rate-limit', '0', '--log-level', 'warn', '--allow-insecure-webhooks']
  const child = start(['serve', '--port', '0', '--json', ...flags], folder, {
    PASSES_DATABASE_URL: 'sqlite:./passes.db',
    PASSES_DRAIN_SECONDS: '0',
  })
  let text = ''
  for await (const chunk of child.stdout!) {
    text += chunk
    if (text.endsWith('}\n')) break
  }
  if (!text.endsWith('}\n')) throw new CliError('The server of the demo did not start; what it said stands above.')
  const { url, token } = JSON.parse(text) as { url: string; token: string }
  return {
    url,
    token,
    async stop() {
      if (child.exitCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}

/** Runs one client command with --json and returns what it printed; its progress goes to our stderr. */
export async function runCommand<T>(args: string[], folder: string, server: DemoServer): Promise<T> {
  const child = start([...args, '--json'], folder, { PASSES_URL: server.url, PASSES_TOKEN: server.token })
  const ended = once(child, 'exit')
  let text = ''
  for await (const chunk of child.stdout!) text += chunk
  const [exitCode] = await ended
  if (exitCode !== 0) throw new CliError(`passes ${args.join(' ')} ended with ${exitCode}: ${text}`)
  return JSON.parse(text) as T
}

function start(args: string[], cwd: string, settings: Record<string, string>): ChildProcess {
  return spawn(process.execPath, [script, ...args], {
    cwd,
    // No PASSES_* variable of the person who tries the demo may change what it does.
    env: { ...environmentWithoutSettings(), ...settings, XDG_CONFIG_HOME: cwd },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}
