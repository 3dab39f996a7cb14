import { appendFileSync, chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { expect, inject, onTestFinished } from 'vitest'
import { temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { freePort } from '../../support/ports.ts'
import { type Guide, root } from './guide.ts'
import { hostProgram, program, run } from './program.ts'

export interface GuideRun {
  /** The reader's working directory, which looks like the top folder of the project. */
  folder: string
  /** Returns the stdout of the first command whose text contains `part`. */
  output(part: string): string | undefined
}

export interface GuideOptions {
  /** The actions of other parties, by their names in the guide. */
  meanwhile?: Record<string, (folder: string) => Promise<void> | void>
  /** Replacements for words of the guide, such as the address of a database. */
  words?: Record<string, string>
  env?: Record<string, string>
  /** Prepares the folder before the reader starts. */
  prepare?: (folder: string) => void
}

/** Commands that run until they are stopped, and what each prints when it is ready. */
const services: [start: RegExp, ready: RegExp][] = [
  [/(^|\s)passes serve\b/, /passes is running/],
  [/node-http\.js$/, /Listening on /],
  [/^passes webhook listen/, /Listening for events of /],
]

/** Commands that return before their passes are issued. */
const makesPasses = /^passes (pass create|issue)\b(?!.* --dry-run)/

/** Follows a guide in a separate folder, and checks the exit code and the documented output of each command. */
export async function runGuide({ path, steps }: Guide, options: GuideOptions = {}): Promise<GuideRun> {
  const shell = await setUp(options)
  options.prepare?.(shell.cwd)
  // Work in the reader's folder, against which a server in this process resolves relative paths.
  const before = process.cwd()
  process.chdir(shell.cwd)
  onTestFinished(() => process.chdir(before))
  const words = new Map(Object.entries(options.words ?? {}))
  const outputs: [command: string, stdout: string][] = []
  const running = new Map<RegExp, Service>()
  /** The output of the previous block, or undefined if that block was not run. */
  let printed: string | undefined = ''
  for (const step of steps) {
    const where = `${path}:${step.line}`
    if (step.kind === 'meanwhile') {
      expect(Object.keys(options.meanwhile ?? {}), where).toContain(step.name)
      await options.meanwhile![step.name]!(shell.cwd)
    }
    if (step.kind === 'file') writeFileSync(join(shell.cwd, step.name), withWords(step.content, words))
    if (step.kind === 'output' && printed !== undefined) {
      for (const line of step.lines) expectPrinted(withWords(line, words), printed, where)
    }
    if (step.kind === 'not-run') printed = undefined
    if (step.kind !== 'run') continue
    const missing = await findMissing(step.commands, shell)
    printed = missing === undefined ? '' : undefined
    if (missing !== undefined) {
      console.warn(`${where} is not run: ${missing} is not installed`)
      continue
    }
    for (const command of step.commands) {
      const line = withWords(command, words)
      const [, name] = /^export (\w+)=/.exec(line) ?? []
      if (name) {
        const { stdout } = await execa(`${line}; printf %s "$${name}"`, shell)
        shell.env[name] = stdout
        continue
      }
      const service = step.exitCode === 0 ? services.find(([start]) => start.test(line)) : undefined
      let text: string
      if (service) {
        await stop(running.get(service[0]), where)
        const started = await start(line, service[1], shell)
        running.set(service[0], started)
        text = started.text
      } else {
        const { exitCode, stdout, stderr } = await runLine(line, shell)
        expect([where, command, exitCode, stderr]).toEqual([where, command, step.exitCode, expect.any(String)])
        outputs.push([command, stdout])
        text = `${stdout}\n${stderr}`
        if (exitCode === 0 && makesPasses.test(line)) await untilIssued(shell)
      }
      printed += `${text}\n`
      learn(words, text)
      if (/^passes login/.test(line)) words.set('http://127.0.0.1:8080/', `http://127.0.0.1:${shell.env.PORT}/`)
    }
  }
  return { folder: shell.cwd, output: (part) => outputs.find(([command]) => command.includes(part))?.[1] }
}

type Shell = Awaited<ReturnType<typeof setUp>>

/** Creates a folder with the files of the project that guides use, and a shell in which the program is installed. */
async function setUp({ env }: GuideOptions) {
  const folder = temporaryFolder()
  cpSync(join(root, 'examples'), join(folder, 'examples'), { recursive: true })
  cpSync(join(root, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(root, 'dist'), join(folder, 'dist'))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(join(root, 'packages/client'), join(folder, 'node_modules/wallet-passes-client'))
  // Copy the sandbox, because creating one takes a second.
  cpSync(inject('sandboxFolder'), join(folder, 'passes.db.sandbox'), { recursive: true })
  mkdirSync(join(folder, 'bin'))
  writeFileSync(join(folder, 'bin', 'passes'), `#!/bin/sh\nexec node ${program} "$@"\n`)
  chmodSync(join(folder, 'bin', 'passes'), 0o755)
  const environment: Record<string, string> = {
    PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
    HOME: folder,
    // Use a terminal that is wide enough for all values.
    COLUMNS: '200',
    XDG_CONFIG_HOME: join(folder, 'config'),
    PASSES_PORT: String(await freePort()),
    PASSES_RATE_LIMIT: '0',
    PASSES_LOG_LEVEL: 'warn',
    // The port of the receiver, to which the webhook of a guide sends.
    PORT: String(await freePort()),
    ...env,
  }
  return { cwd: folder, env: environment, extendEnv: false, shell: true, reject: false } as const
}

/**
 * Runs a command of a guide. A command of the program that uses the shell only to redirect input or output runs in this
 * process, because a separate process costs fifty times as much.
 */
async function runLine(
  line: string,
  shell: Shell,
): Promise<{ exitCode?: number | undefined; stdout: string; stderr: string }> {
  const [, assignments, call, sign, name] =
    /^((?:\w+=\w+ )*)passes ([^'\\`$|<>;&()]+?)(?: (<|>>?) ([\w./-]+))?$/.exec(line) ?? []
  if (call === undefined || /^demo\b/.test(call)) return execa(line, shell)
  const file = join(shell.cwd, name ?? '')
  const own = Object.fromEntries([...assignments!.matchAll(/(\w+)=(\w+) /g)].map(([, name, value]) => [name!, value!]))
  const args = [...call.matchAll(/(?:"[^"]*"|[^\s"])+/g)].map(([word]) => word.replaceAll('"', ''))
  const input = sign === '<' ? { input: readFileSync(file) } : {}
  const ended = await run(args, undefined, { cwd: shell.cwd, env: { ...nothing(), ...shell.env, ...own }, ...input })
  if (sign === undefined || sign === '<') return ended
  const write = sign === '>' ? writeFileSync : appendFileSync
  write(file, ended.stdout && `${ended.stdout}\n`)
  return { ...ended, stdout: '' }
}

/** Waits until all passes are issued, as they are by the time a person has typed the next command. */
async function untilIssued(shell: Shell): Promise<void> {
  await eventually(async () => {
    const { stdout } = await runLine('passes pass list --status QUEUED --status ISSUING --limit 1 --json', shell)
    expect(JSON.parse(stdout)).toMatchObject({ total: 0 })
  })
}

/** Returns an environment that removes every variable of the tests. */
function nothing(): Record<string, undefined> {
  return Object.fromEntries(Object.keys(process.env).map((name) => [name, undefined]))
}

/** Guides use these programs, which a machine might not have. CI has them. */
const OPTIONAL = ['curl', 'unzip']

async function findMissing(commands: string[], shell: Shell): Promise<string | undefined> {
  for (const name of OPTIONAL.filter((program) => commands.some((command) => command.startsWith(`${program} `)))) {
    const { exitCode } = await execa(`command -v ${name}`, shell)
    if (exitCode !== 0 && process.env.CI !== 'true') return name
  }
  return undefined
}

/** Replaces placeholders and addresses with the values printed last. */
function withWords(text: string, words: Map<string, string>): string {
  return [...words].reduce(
    (line, [word, value]) =>
      /^[A-Z_]+$/.test(word)
        ? line.replaceAll(new RegExp(`(?<![A-Z_])${word}(?![A-Z_])`, 'g'), value)
        : line.replaceAll(word, value),
    text,
  )
}

/** Collects IDs, links, secrets, and the address of the server from the output. Later values replace earlier ones. */
function learn(words: Map<string, string>, text: string): void {
  for (const [, kind, id] of text.matchAll(/^(Project|Template|Pass|Webhook|Delivery|Scan) +([0-9a-f-]{36})$/gm)) {
    words.set(`${kind!.toUpperCase()}_ID`, id!)
  }
  for (const [, kind, link] of text.matchAll(/^(Apple|Google|Smart) link +(http\S+)$/gm)) {
    words.set(`${kind!.toUpperCase()}_LINK`, link!)
  }
  const [, secret] = /^Secret +(\S+)$/m.exec(text) ?? []
  if (secret) words.set('SECRET', secret)
  const [, address] = /^Address +(\S+)$/m.exec(text) ?? []
  if (address) words.set('http://127.0.0.1:3000', address)
  const [, token] = /(psk_\w+)\s/.exec(text) ?? []
  if (token) words.set('TOKEN', token)
}

function expectPrinted(line: string, printed: string, where: string): void {
  const pattern = line
    .trim()
    .split(/(…|\s+)/)
    .map((part) => (part === '…' ? '.*' : /^\s+$/.test(part) ? '\\s+' : part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')))
    .join('')
  expect(printed, where).toMatch(new RegExp(pattern))
}

/** A command that keeps running. */
interface Service {
  /** The output until it was ready. */
  text: string
  /** Stops the command like Ctrl-C does. Resolves to the exit code. */
  stop(): Promise<number | undefined>
}

/** Returns the variables of a file such as passes.env. */
function readVariables(file: string): Record<string, string> {
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  return Object.fromEntries(lines.map((line) => [line.split('=')[0]!, line.slice(line.indexOf('=') + 1)]))
}

/**
 * Starts a command that keeps running, and waits until it prints that it is ready. A server whose command needs no shell runs
 * in this process.
 */
async function start(line: string, ready: RegExp, shell: Shell): Promise<Service> {
  const [, file, flags] = /^(?:env \$\(cat ([\w.]+)\) )?passes serve((?: [^'"\\`$|<>;&() ]+)*)$/.exec(line) ?? []
  if (flags !== undefined) {
    const args = ['serve', ...flags.split(' ').filter(Boolean)]
    const server = await hostProgram(args, ready, {
      cwd: shell.cwd,
      env: { ...nothing(), ...shell.env, ...(file && readVariables(join(shell.cwd, file))) },
      isInteractive: true,
    })
    let ended: Promise<number> | undefined
    const stop = () => (ended ??= server.stop())
    onTestFinished(async () => void (await stop()))
    return { text: server.text, stop }
  }
  const [, assignments = '', call = ''] = /^((?:\w+=\S+ )*)(.*)$/s.exec(line) ?? []
  const child = execa(`${assignments}exec ${call}`, { ...shell, buffer: false, all: true, forceKillAfterDelay: false })
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await child
  })
  let text = ''
  for await (const chunk of child.all) {
    text += chunk
    if (!ready.test(text)) continue
    const stop = async () => {
      child.kill('SIGINT')
      return (await child).exitCode
    }
    return { text, stop }
  }
  throw new Error(`${line} did not start: ${text}`)
}

async function stop(service: Service | undefined, where: string): Promise<void> {
  if (service) expect(await service.stop(), `${where}: the server that ran before`).toBe(0)
}
