import { setTimeout as sleep } from 'node:timers/promises'
import { Flags } from '@oclif/core'
import { ClientCommand } from '../cli/command/client-command.ts'
import { UsageError } from '../cli/command/errors.ts'
import { writeOut } from '../cli/command/output.ts'
import { untilStopped } from '../cli/command/program.ts'
import { canAnimate, metricsAddresses } from '../cli/settings/settings.ts'

export default class Watch extends ClientCommand {
  static override summary = 'Watch the life of a server: requests, queues, deliveries, doors.'
  static override description =
    'Deliveries and scans are those of the workspace of the token. Requests and queues are those of the server, and stand ' +
    'at /metrics, which has an address of its own and no token: serve --metrics-port opens it, --metrics says where it is, ' +
    'once for each process of a fleet. What cannot be seen is named. Ends with Ctrl-C. With --json one look a line.'
  static override examples = [
    '<%= config.bin %> watch',
    {
      description: 'With requests and queues',
      command: '<%= config.bin %> watch --metrics http://127.0.0.1:9464/metrics',
    },
    {
      description: 'A line a minute, for a log',
      command: '<%= config.bin %> watch --interval 60 --json >> life.jsonl',
    },
  ]
  static override flags = {
    interval: Flags.integer({ summary: 'Seconds between two looks.', min: 1, max: 3_600, default: 2 }),
    metrics: Flags.string({
      summary: 'Address of /metrics (PASSES_METRICS_URL, several with commas). Repeatable: one for each process.',
      multiple: true,
      multipleNonGreedy: true,
    }),
  }

  async run() {
    const { flags } = await this.parse(Watch)
    const metrics = metricsAddresses(flags.metrics)
    const bad = metrics.find((url) => !/^https?:/i.test(url) || !URL.canParse(url))
    if (bad !== undefined) {
      throw new UsageError(`--metrics ${bad} is not an address`, {
        hint: 'write it like http://127.0.0.1:9464/metrics.',
      })
    }
    // Looking again is trying again.
    const client = this.connect(flags, { attempts: 1 })
    const { createLook } = await import('../cli/watch.ts')
    return untilStopped(async (signal) => {
      const look = createLook({ client, metrics, signal })
      const write = await this.#writer()
      for (;;) {
        if (!(await write(await look()))) return
        await sleep(flags.interval * 1_000, undefined, { signal })
      }
    })
  }

  /** Resolves to false where nobody reads any more. */
  async #writer() {
    const { lookLine, lookScreen } = await import('../cli/watch.ts')
    type Look = Parameters<typeof lookLine>[0]
    if (this.jsonEnabled()) return (look: Look) => writeOut(`${JSON.stringify(look)}\n`)
    if (!canAnimate(process.stdout)) {
      let noted = ''
      return (look: Look) => {
        if (look.missing.join() !== noted) for (const why of look.missing) this.note(why)
        noted = look.missing.join()
        return writeOut(`${lookLine(look)}\n`)
      }
    }
    let drawn = 0
    return (look: Look) => {
      const { columns = 80, rows = 24 } = process.stdout
      const lines = lookScreen(look, this.connection!.url.value, { columns, rows })
      const back = drawn > 0 ? `\u001B[${Math.min(drawn, rows - 1)}A\r\u001B[0J` : ''
      drawn = lines.length
      return writeOut(`${back}${lines.join('\n')}\n`)
    }
  }
}
