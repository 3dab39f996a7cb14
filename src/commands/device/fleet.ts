import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Flags } from '@oclif/core'
import { filterFlag } from '../../cli/arguments/list.ts'
import { parseDuration } from '../../cli/arguments/moment.ts'
import { named } from '../../cli/arguments/named.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { type Column, count, duration, table } from '../../cli/command/output.ts'
import { onInterrupt, startNewLine } from '../../cli/command/program.ts'
import type { Fleet } from '../../cli/device/fleet/fleet.ts'
import type { BehaviourReport } from '../../cli/device/fleet/report.ts'

const columns: Column<BehaviourReport>[] = [
  { title: 'behaviour', value: ({ behaviour }) => behaviour },
  { title: 'phones', value: ({ phones }) => count(phones) },
  { title: 'passes', value: ({ passes }) => count(passes) },
  { title: 'current', value: ({ current }) => count(current) },
  { title: 'not pushed', value: ({ stale }) => count(stale.not_pushed) },
  { title: 'refused', value: ({ stale }) => count(stale.refused) },
  { title: 'silent', value: ({ stale }) => count(stale.silent) },
  { title: 'behind', value: ({ stale }) => count(stale.behind) },
  { title: 'unlisted', value: ({ unlisted }) => count(unlisted) },
  { title: 'wrongly listed', value: ({ wronglyListed }) => count(wronglyListed) },
]

const SECONDS_BETWEEN_LINES = 5

export default class DeviceFleet extends ClientCommand {
  static override summary = 'Run many virtual iPhones at once, of which some sleep, ignore pushes or answer slowly.'
  static override description =
    'Each opens the link of an issued pass, registers, receives pushes and fetches what changed, by its behaviour: awake, at once; ' +
    'asleep, after days; deaf, never; throttled, once an hour; slow, after up to two minutes; stuck, it asks and keeps the old ' +
    'pass. --speed lets their clocks run faster. At the end a table compares what they hold with what the server lists of them: ' +
    'unlisted are those that are behind and that the server does not know of. The platform must run in the sandbox; serve with ' +
    '--rate-limit 0, since all of them have one address. They stay registered unless --remove is given; the same --seed is the ' +
    'same phones again.'
  static override examples = [
    { description: 'Until Ctrl-C', command: '<%= config.bin %> device fleet --phones 500' },
    {
      description: 'A hostile crowd, a day of whose time takes 10 s',
      command:
        '<%= config.bin %> device fleet --phones 100000 --mix awake=90,asleep=5,deaf=2,slow=2,stuck=1 --speed 8640 --for 10m',
    },
  ]
  static override flags = {
    phones: Flags.integer({ summary: 'How many (100).', min: 1, max: 1_000_000, default: 100 }),
    mix: Flags.string({
      summary: 'Shares of behaviours.',
      default: 'awake=90,asleep=4,deaf=2,throttled=2,slow=1,stuck=1',
    }),
    project: named('project', filterFlag('Only passes of this project.')),
    template: named('template', filterFlag('Only passes of this template.')),
    for: Flags.string({ summary: 'End after that time: 30s, 10m, 2h; with Ctrl-C where it is left out.' }),
    seed: Flags.string({ summary: 'Where chance begins; made up where it is left out, and said.' }),
    speed: Flags.integer({
      summary: 'How much faster the clocks of the phones run.',
      min: 1,
      max: 1_000_000,
      default: 1,
    }),
    connections: Flags.integer({ summary: 'Requests at once.', min: 1, max: 1_000, default: 32 }),
    remove: Flags.boolean({ summary: 'Remove the passes from the phones at the end, which the server is told.' }),
  }

  async run() {
    const { flags } = await this.parse(DeviceFleet)
    const { phones, speed, connections, seed = randomBytes(4).toString('hex') } = flags
    const [{ parseMix }, { installFleet }, { reportFleet }, { createRandom }, { startProgress }] = await Promise.all([
      import('../../cli/device/fleet/behaviour.ts'),
      import('../../cli/device/fleet/install.ts'),
      import('../../cli/device/fleet/report.ts'),
      import('../../cli/device/fleet/seeded-random.ts'),
      import('../../cli/command/progress.ts'),
    ])
    const mix = parseMix(flags.mix)
    const seconds = flags.for === undefined ? undefined : parseDuration(flags.for, '--for')
    const client = this.connect(flags)
    const stop = new AbortController()
    const release = onInterrupt(() => {
      process.exitCode = 130
      startNewLine()
      stop.abort()
    })
    try {
      const start = { done: 0, rows: 0, failed: 0 }
      const progress = await startProgress({ total: phones, start, unit: 'phones' })
      const { fleet, passIds } = await installFleet({
        client,
        query: { projectId: flags.project, templateId: flags.template },
        fleetId: createHash('sha256').update(seed).digest('hex').slice(0, 16),
        phones,
        mix,
        random: createRandom(seed),
        speed,
        connections,
        signal: stop.signal,
        onProgress: (done) => progress.update({ done, rows: done, failed: 0 }),
        onProblem: (message) => this.note(`Problem: ${message}`),
      }).finally(() => progress[Symbol.dispose]())
      try {
        this.note(
          `${count(fleet.phones.length)} phones are registered (--seed ${seed}) and receive pushes; Ctrl-C ends it.`,
        )
        await this.#watch(fleet, seconds, stop.signal)
        const behaviours = await reportFleet(fleet, { client, passIds })
        this.log(table(behaviours, columns))
        this.#tellDelays(fleet)
        if (flags.remove)
          for (const phone of fleet.phones) for (const pass of phone.passes) await fleet.unregister(phone, pass)
        return { seed, phones: fleet.phones.length, ...fleet.counts, behaviours }
      } finally {
        await fleet.close()
      }
    } finally {
      release()
    }
  }

  async #watch({ counts }: Fleet, seconds: number | undefined, signal: AbortSignal): Promise<void> {
    const endsAt = seconds === undefined ? Number.POSITIVE_INFINITY : Date.now() + seconds * 1000
    let told = ''
    while (Date.now() < endsAt && !signal.aborted) {
      const wait = Math.min(SECONDS_BETWEEN_LINES * 1000, endsAt - Date.now())
      await sleep(wait, undefined, { signal }).catch(() => undefined)
      const line = `${count(counts.pushes)} pushes, ${count(counts.asked)} times asked, ${count(counts.fetched)} fetched, ${count(counts.busy)} times turned away`
      if (line !== told) this.note(line)
      told = line
    }
  }

  #tellDelays({ delays }: Fleet): void {
    if (delays.length === 0) return
    const sorted = delays.toSorted((a, b) => a - b)
    const at = (share: number) =>
      duration(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]! / 1000)
    this.note(`From push to fetched: half within ${at(0.5)}, 99 % within ${at(0.99)}, the last after ${at(1)}.`)
  }
}
