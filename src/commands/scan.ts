import { hostname } from 'node:os'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { Flags } from '@oclif/core'
import { namedFlag } from '../cli/arguments/named.ts'
import { InterruptedError, UsageError } from '../cli/command/cli-error.ts'
import { ClientCommand } from '../cli/command/client-command.ts'
import { counted, printable, writeOut } from '../cli/command/output.ts'
import { onInterrupt, programName } from '../cli/command/program.ts'
import { createDoor, type DoorOptions } from '../cli/console/console-door.ts'
import { TIMEOUT_MS } from '../cli/console/environment.ts'
import { enter } from '../cli/console/offline/door-folder.ts'
import { commandBell, silentBell, terminalBell } from '../cli/console/outcome.ts'
import { canAnimate, canColor, doorsFolder, prepareDrawing } from '../cli/settings/settings.ts'
import { ScanCreate } from '../core/contract/scans/scans.ts'
import { newId } from '../core/ids.ts'
import type { Outcome } from '../core/rules/door/outcome.ts'
import { directions } from '../core/rules/zones/presence.ts'

const clock = () => new Date()

export default class Scan extends ClientCommand {
  static override summary = 'Scan passes at the door, with a hardware scanner or by hand.'
  static override description =
    'Opens a console that shows a decision for each code from a scanner or the keyboard. If the server does not ' +
    'respond, the console decides with the list that it downloaded last, and uploads the decisions later. Keys: F2 ' +
    'searches by name, F3 undoes the last scan, F4 sets a scan context or a date, F5 admits others of the group, F6 ' +
    'switches between in and out with --zone, F8 locks the keys, Ctrl-C ends the console.'
  static override examples = [
    '<%= config.bin %> scan --project 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --context day-1 --gate North',
    "<%= config.bin %> scan --sound 'paplay /sounds/$PASSES_VERDICT.wav'",
    '<%= config.bin %> scan --project "Spring fair" --zone Hall --direction out',
    'cat payloads.txt | <%= config.bin %> scan --stdin > decisions.jsonl',
  ]
  static override flags = {
    project: namedFlag('project', ' whose passes are admitted (default: the project of --zone, or every project)', {
      ask: { orNone: 'Every project', unless: 'zone' },
      isFoundByCommand: true,
    }),
    zone: namedFlag('zone', ' whose entries or exits are scanned (default: no zone)', { isFoundByCommand: true }),
    direction: Flags.option({
      summary: 'With --zone: direction of the scans (default: in).',
      options: directions,
      dependsOn: ['zone'],
    })(),
    context: Flags.string({
      summary: 'Scan context, such as an event day: a pass without a policy is admitted once in each context.',
    }),
    date: Flags.string({ summary: 'Date for which passes are evaluated (YYYY-MM-DD), instead of the time.' }),
    'device-id': Flags.string({ summary: 'Name of this device in the ledger (default: the name of the machine).' }),
    gate: Flags.string({ summary: 'Gate, which the ledger stores with each scan.' }),
    lane: Flags.string({ summary: 'Lane, which the ledger stores with each scan.' }),
    location: Flags.string({ summary: 'Location, which the ledger stores with each scan.' }),
    sound: Flags.string({
      summary: 'Shell command that replaces the bell; its variable PASSES_VERDICT is yes, no, or ask.',
      exclusive: ['mute', 'stdin'],
    }),
    mute: Flags.boolean({
      summary: 'Turn off the bell, which rings once if a pass is accepted, and otherwise three times.',
      exclusive: ['stdin'],
    }),
    stdin: Flags.boolean({
      summary: 'Read one payload per line from stdin, and write one decision per line as JSON, without a console.',
    }),
  }

  async run() {
    const { flags } = await this.parse(Scan)
    if (!flags.stdin) this.#requireTerminal()
    const client = this.connect(flags)
    const { url, token } = this.connection!
    const checked = this.#checked(flags)
    const entrance = await enter({
      client,
      url: url.value,
      token: token!.value,
      project: flags.project,
      zone: flags.zone,
      folder: doorsFolder(),
    })
    const { deviceId, context, scanContextKey = null, validityDate = null } = checked
    const { zone } = entrance.place
    const door = {
      client,
      clock,
      folder: entrance.folder,
      isReached: entrance.isReached,
      station: { projectId: entrance.place.projectId, deviceId, context: context! },
      ...(zone && { movement: { zoneId: zone.id, direction: flags.direction ?? 'in' } }),
      overrides: { scanContextKey, validityDate },
    }
    if (flags.stdin) return this.#pipe(door)
    // Call `canColor` first: `prepareDrawing` sets FORCE_COLOR, which would hide NO_COLOR.
    const color = canColor(process.stdout) && !flags['no-color']
    prepareDrawing(process.stdout)
    const { runConsole } = await import('../cli/console/run-console.tsx')
    const { sound, mute } = flags
    const left = await runConsole({
      ...door,
      place: entrance.place,
      color,
      bell: (onProblem) => {
        if (mute) return silentBell
        return sound ? commandBell(sound, onProblem) : terminalBell((text) => process.stdout.write(text))
      },
    })
    throw new InterruptedError(`Stopped.${leftover(left)}`)
  }

  async #pipe(door: Omit<Parameters<typeof runPipe>[0], 'input' | 'write' | 'signal'>): Promise<void> {
    using stop = onInterrupt()
    const { pending, failed } = await runPipe({
      ...door,
      input: process.stdin,
      write: (outcome) => writeOut(`${JSON.stringify(outcome)}\n`),
      signal: stop.signal,
    })
    if (pending > 0) this.note(leftover({ unevaluated: [], pending }).trim())
    if (stop.signal.aborted) throw new InterruptedError('Stopped.')
    if (failed > 0) process.exitCode = 1
  }

  #requireTerminal(): void {
    if (this.jsonEnabled())
      throw new UsageError('The console does not support --json', { hint: 'add --stdin for scans in a pipe.' })
    if (process.stdin.isTTY && canAnimate(process.stdout)) return
    const what = process.stdin.isTTY ? 'stdout is not a terminal that supports drawing' : 'stdin is not a terminal'
    throw new UsageError(`The console needs a terminal, but ${what}`, {
      hint: `for pipes, add --stdin: cat payloads.txt | ${programName()} scan --stdin`,
    })
  }

  /** Checks the flags that apply to every scan of the command, with the schema of a scan. */
  #checked(flags: Record<'context' | 'date' | 'device-id' | 'gate' | 'lane' | 'location', string | undefined>) {
    const { gate, lane, location } = flags
    const sessionId = newId(clock())
    const names: Record<string, string> = {
      scanContextKey: '--context',
      validityDate: '--date',
      deviceId: '--device-id',
      gate: '--gate',
      lane: '--lane',
      location: '--location',
    }
    const checked = ScanCreate.safeParse({
      // The payload is a placeholder, because the schema requires one. Only the other fields are validated here.
      qrPayload: 'payload',
      scanContextKey: flags.context,
      validityDate: flags.date,
      deviceId: flags['device-id'] ?? hostname().slice(0, 128),
      context: { sessionId, ...(gate && { gate }), ...(lane && { lane }), ...(location && { location }) },
    })
    if (checked.success) return checked.data
    const [issue] = checked.error.issues
    throw new UsageError(`${names[String(issue!.path.at(-1))]}: ${issue!.message}`)
  }
}

function leftover({ unevaluated, pending }: { unevaluated: readonly string[]; pending: number }): string {
  const read =
    unevaluated.length > 0
      ? ` ${counted(unevaluated.length, 'scan was', 'scans were')} read and not evaluated. Scan again: ${unevaluated.map(printable).join(', ')}.`
      : ''
  const waits =
    pending > 0
      ? ` ${counted(pending, 'decision is', 'decisions are')} not uploaded yet: the next console on this machine uploads them.`
      : ''
  return read + waits
}

interface PipeOptions extends Omit<DoorOptions, 'onOutcome' | 'onChange' | 'sameScanMs'> {
  input: Readable
  /** Writes an outcome to the output. Resolves to `false` if the program that reads the output closed the pipe. */
  write: (outcome: Outcome) => Promise<boolean>
  signal: AbortSignal
}

interface PipeSummary {
  /** The number of offline decisions that are not uploaded yet. */
  pending: number
  failed: number
}

/** Reads one payload per line, and writes one outcome per line in the same order. Each line is a separate scan. */
async function runPipe({ input, write, signal, ...options }: PipeOptions): Promise<PipeSummary> {
  const door = await createDoor({ ...options, sameScanMs: 0, onOutcome: () => undefined, onChange: () => undefined })
  let failed = 0
  try {
    // Upload the decisions of earlier runs first, so that the server evaluates new scans with them.
    if (options.isReached) await door.whenOnline(TIMEOUT_MS)
    for await (const line of createInterface({ input, signal, crlfDelay: Number.POSITIVE_INFINITY })) {
      if (signal.aborted) break
      if (line === '') continue
      const outcome = await door.scan(line)
      if (outcome.result === 'error') failed += 1
      if (!(await write(outcome))) break
    }
    await door.flush(TIMEOUT_MS)
  } finally {
    await door.stop()
  }
  return { pending: door.state.pending, failed }
}
